"""The journal: one line a finished cell, on disk before the next begins, so that `kill -9` costs no finished work."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

FILE_NAME = "cells.jsonl"

Record = dict[str, Any]


class Journal:
    """Append-only results of one folder.

    A record is a JSON object with the ``key`` of its cell; of two records with one key the later counts. A last line
    that a kill cut short is dropped when the journal is opened, so that the next record starts on a line of its own.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        folder.mkdir(parents=True, exist_ok=True)
        self._repair()

    def append(self, record: Record) -> None:
        """Write one record and wait until the disk has it."""
        line = json.dumps(_plain(record), allow_nan=False) + "\n"
        with self.path.open("ab") as file:
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
                    raise ValueError(f"{self.path.name}, line {number}: this is not a record of a benchmark")
                records[record["key"]] = record
        return records

    def _repair(self) -> None:
        """Drop a torn last line: everything after the last newline, or a last line that is no record."""
        if not self.path.exists():
            return
        with self.path.open("rb+") as file:
            content = file.read()
            end = content.rfind(b"\n") + 1
            last = content.rfind(b"\n", 0, max(end - 1, 0)) + 1
            if end and _parsed(content[last:end]) is None:
                end = last
            if end < len(content):
                file.truncate(end)
                file.flush()
                os.fsync(file.fileno())


@contextlib.contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold the folder for this process; a second benchmark into it is refused.

    The lock is the operating system's (``flock``), so that a killed run leaves none behind. Where the system has no
    such lock nothing is held.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"another benchmark is writing to {folder}; wait for it or choose another folder"
            ) from None
        yield


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a text file that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: numbers that are not finite become null, NumPy's become Python's."""
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parsed(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and isinstance(record.get("key"), str) else None
