"""The state of a stream: everything that the next events are judged by, saved as one file, and the files beside it.

Lengths of the output files are part of the state, so that a killed process leaves no trace in them.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.runs.folder import STATE
from hopsight.streams.memory import N_EXAMPLES, N_ORDER, N_TRAINED, SMALL_ARRAYS, TABLES, Memory, new_memory
from hopsight.streams.network import Network, new_network
from hopsight.system.cells import guarded_frame
from hopsight.system.files import checksum, read_regular, replacing
from hopsight.system.lazy_polars import pl
from hopsight.system.threads import check_polars

VERSION = 9
TAIL = 4096  # bytes at the end of a table by which it is recognized
MOST_WAITING = 2**30  # bytes that may be appended between two commits
DATETIME = "%Y-%m-%dT%H:%M:%S%.f"


@dataclass
class State:
    """What is kept between events; the compiled code changes ``memory`` in place.

    ``notes`` are plain values: settings, fits of the network, lengths of the output files, pieces processed.
    """

    memory: Memory
    network: Network
    notes: dict[str, Any]
    tallies: dict[str, pl.DataFrame] = field(default_factory=dict)

    @classmethod
    def new(cls, notes: dict[str, Any], *, seed: int) -> State:
        """Return the state before the first event."""
        return cls(new_memory(), new_network(seed), notes)

    def save(self, path: Path) -> None:
        """Replace the saved state; after a power cut there is the old one or the new one.

        Only used entries of the tables are written, so that a short stream has a small file.
        """
        memory = self.memory
        values: dict[str, Any] = {name: getattr(memory, name) for name in SMALL_ARRAYS}
        for name in TABLES:
            used = np.flatnonzero(getattr(memory, name).key)
            values |= {f"{name}_slots": used} | {key: array[used] for key, array in _rows(memory, name).items()}
        values["order"] = memory.order[: min(int(memory.clock[N_ORDER]), memory.order.size)]
        values["examples"] = memory.examples[: min(int(memory.clock[N_TRAINED]), N_EXAMPLES)]
        values |= {f"network_{name}": array for name, array in self.network._asdict().items()}
        values |= {f"tally_{name}": _packed(frame) for name, frame in self.tallies.items()}
        text = json.dumps({"version": VERSION, "tallies": list(self.tallies)} | self.notes)
        values["notes"] = np.frombuffer(text.encode(), np.uint8)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **values)

    @classmethod
    def load(cls, path: Path) -> State:
        """Read a saved state; refuse one that is damaged or was written by another version."""
        check_polars()
        try:
            with np.load(_as_written(read_regular(path)), allow_pickle=False) as values:
                return cls._of({name: values[name] for name in values.files})
        except FileNotFoundError:
            raise ValueError(
                f"there is no run over time in {path.parent}: {STATE} is missing; start one with hopsight stream"
            ) from None
        except MemoryError:
            raise
        except Exception as error:  # whatever was changed in the file
            raise ValueError(f"{path} is damaged or of another version: {error}") from None

    @classmethod
    def _of(cls, values: dict[str, Any]) -> State:
        notes = json.loads(values["notes"].tobytes())
        if (version := notes.pop("version")) != VERSION:
            raise ValueError(f"it has version {version}, not {VERSION}; start again with hopsight stream")
        memory = new_memory()
        for name in SMALL_ARRAYS:
            getattr(memory, name)[...] = values[name]
        for table in TABLES:
            for name, array in _rows(memory, table).items():
                array[values[f"{table}_slots"]] = values[name]
        memory.order[: len(values["order"])] = values["order"]
        memory.examples[: len(values["examples"])] = values["examples"]
        network = Network(*(values[f"network_{name}"] for name in Network._fields))
        return cls(memory, network, notes, {name: _unpacked(values[f"tally_{name}"]) for name in notes.pop("tallies")})


class Journal:
    """The tables of a run over time, most of which only grow; what was appended counts from :meth:`commit` on.

    Rows are written to a file of their own before they are appended, so that what a killed process left can be told
    from what somebody else wrote. A table that was changed is left as it is: new rows go to another one beside it.
    """

    def __init__(self, folder: Path, state: State) -> None:
        self.folder, self.state = folder, state

    def begin_missing(self, columns: Mapping[str, Iterable[str]]) -> list[str]:
        """Begin tables that somebody removed anew, with their columns; return the names of the files."""
        notes = self.state.notes
        missing = [name for name in notes["sizes"] if not os.path.lexists(self.own(name))]
        for name in missing:
            header = _as_csv(pl.DataFrame(schema=list(columns[name])), header=True)
            self.own(name).write_bytes(header)
            notes["sizes"][name], notes["tails"][name] = len(header), _digest(header)
        if missing:
            self.state.save(self.folder / STATE)
        return [self.own(name).name for name in missing]

    def recover(self, still_open: Mapping[str, pl.DataFrame]) -> list[str]:
        """Cut off rows that were not committed, or belong to the open window; return the tables that were changed."""
        changed = []
        for name, size in self.state.notes["sizes"].items():
            path, waiting = self.own(name), self._waiting(name)
            content = b""
            if path.is_file():
                with path.open("rb") as file:
                    file.seek(max(0, size - TAIL))
                    content = file.read(min(size, TAIL) + MOST_WAITING)
            tail, beyond = content[: min(size, TAIL)], content[min(size, TAIL) :]
            ours = (waiting.read_bytes() if waiting.is_file() else b"", _as_csv(still_open.get(name), header=not size))
            if _digest(tail) != self.state.notes["tails"][name] or not any(each.startswith(beyond) for each in ours):
                changed.append(self._leave(name))
            elif beyond:
                os.truncate(path, size)
            waiting.unlink(missing_ok=True)
        return changed

    def recover_whole(self, name: str, rows: pl.DataFrame, digests: Mapping[str, Any]) -> list[str]:
        """Return the table if it was changed; a killed process may have left it with the ``rows`` of the state."""
        path = self.own(name)
        known = (digests.get(path.name), _digest(_as_csv(rows, header=True)))
        return [self._leave(name)] if path.is_file() and checksum(path) not in known else []

    def append(self, name: str, rows: pl.DataFrame) -> None:
        """Append rows to a table, with a header at its beginning, and wait until they are on the disk."""
        path = self.own(name)
        content = _as_csv(rows, header=not path.exists() or path.stat().st_size == 0)
        for place, mode in ((self._waiting(name), "wb"), (path, "ab")):
            with place.open(mode) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())

    def commit(self, names: tuple[str, ...]) -> None:
        """Save the state with the present lengths of the tables."""
        notes = self.state.notes
        for name in names:
            path = self.own(name)
            notes["sizes"][name] = path.stat().st_size
            with path.open("rb") as file:
                file.seek(max(0, notes["sizes"][name] - TAIL))
                notes["tails"][name] = _digest(file.read())
        self.state.save(self.folder / STATE)
        for name in names:
            self._waiting(name).unlink(missing_ok=True)

    def show_open(self, still_open: Mapping[str, pl.DataFrame]) -> None:
        """Append the rows of the open window, which the next call cuts off."""
        for name, rows in still_open.items():
            with self.own(name).open("ab") as file:
                file.write(_as_csv(rows, header=file.tell() == 0))

    def paths(self, name: str) -> list[Path]:
        """Return the files of a table: the first, and those beside it where one was changed."""
        return [self.folder / each for each in (name, *self.state.notes["files"].get(name, ()))]

    def own(self, name: str) -> Path:
        """Return the file that a table goes on in; never through a link, which could lead anywhere."""
        path = self.paths(name)[-1]
        if Path(path.name) != path.relative_to(self.folder) or path.is_symlink():
            raise ValueError(f"{path} is not a file of this run: remove it, and start again with hopsight stream")
        return path

    def _waiting(self, name: str) -> Path:
        return self.folder / f".{Path(name).name}.rows"

    def _leave(self, name: str) -> str:
        """Let a table go on in another file beside it, which no other has; return the name of the one before."""
        before, stem, suffix = self.own(name).name, Path(name).stem, Path(name).suffix
        names = (f"{stem}-{number}{suffix}" for number in itertools.count(2))
        free = next(each for each in names if not os.path.lexists(self.folder / each))
        self.state.notes["files"].setdefault(name, []).append(free)
        return before


def _as_csv(rows: pl.DataFrame | None, *, header: bool) -> bytes:
    if rows is None:
        return b""
    file = io.BytesIO()
    write_rows(file, rows, header=header)
    return file.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_rows(file: Any, frame: pl.DataFrame, *, header: bool = True) -> None:
    """Write rows as CSV, in which no text cell can be taken for a formula."""
    guarded_frame(frame).write_csv(file, include_header=header, datetime_format=DATETIME)


def _as_written(content: bytes) -> io.BytesIO:
    """Return the content of a file that was saved as we do: uncompressed, so that it unpacks to no more than it is."""
    file = io.BytesIO(content)
    with zipfile.ZipFile(file) as archive:
        if any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist()):
            raise ValueError("it is compressed")
    file.seek(0)
    return file


def _rows(memory: Memory, table: str) -> dict[str, Any]:
    """Return the arrays with a row per entry of a table, by a name for each."""
    own = getattr(memory, table)._asdict()
    return {f"{table}_{name}": array for name, array in own.items()} | {
        name: getattr(memory, name) for name in TABLES[table]
    }


def _packed(frame: pl.DataFrame) -> Any:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return np.frombuffer(buffer.getvalue(), np.uint8)


def _unpacked(values: Any) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(values.tobytes()))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # their messages are long
        raise ValueError("a table in it cannot be read") from None
