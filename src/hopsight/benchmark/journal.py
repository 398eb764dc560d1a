"""The journal: one line per finished cell, on disk before the next cell starts, so that a kill loses no result."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hopsight.system.arrays import plain
from hopsight.system.files import open_own, try_lock

FILE_NAME = "cells.jsonl"

Record = dict[str, Any]


class Journal:
    """Append-only results of one folder.

    A record is a JSON object with the ``key`` of its cell; of two records with the same key the later one counts. A
    last line that a kill cut short is removed when the journal is opened, so that the next record starts on a line of
    its own.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        folder.mkdir(parents=True, exist_ok=True)
        self._repair()

    def append(self, record: Record) -> None:
        """Write one record and wait until it is on disk."""
        line = json.dumps(plain(record), allow_nan=False) + "\n"
        with open_own(self.path, "ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> dict[str, Record]:
        """Return the latest record of every cell, in the order in which cells were first finished."""
        records: dict[str, Record] = {}
        if not self.path.exists():
            return records
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                record = _parsed(line)
                if record is None:
                    raise ValueError(
                        f"{self.path}, line {number}: this is not a benchmark record; choose another folder"
                    )
                if "network" in record.get("cell", {}):
                    raise ValueError(f"{self.path} was written by an older version of hopsight; choose another folder")
                records[record["key"]] = record
        return records

    def _repair(self) -> None:
        """Remove an incomplete last line: everything after the last newline, or a last line that is not a record.

        A file that does not begin with a record is somebody else's and stays as it is; :meth:`read` refuses it.
        """
        if not (self.path.exists() or self.path.is_symlink()):
            return
        with open_own(self.path, "rb+") as file:
            content = file.read()
            if not _begins_with_record(content):
                return
            end = content.rfind(b"\n") + 1
            last = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
            if end and _parsed(content[last:end]) is None:
                end = last
            if end < len(content):
                file.truncate(end)
                file.flush()
                os.fsync(file.fileno())


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Lock the folder for this process, and refuse if another benchmark is writing to it."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_own(folder / ".lock", "a") as file:
        if not try_lock(file):
            raise ValueError(f"another benchmark is writing to {folder}; wait for it or choose another folder")
        yield


def _begins_with_record(content: bytes) -> bool:
    """Return whether the first line is a record, or the beginning of one that a kill cut short."""
    first, newline, _ = content.partition(b"\n")
    return _parsed(first) is not None or (not newline and first.startswith(b'{"') and not first.endswith(b"}"))


def _parsed(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("key"), str) else None
