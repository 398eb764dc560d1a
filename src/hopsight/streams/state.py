"""The state of a stream: everything that the next events are judged by, saved as one file, and the files beside it.

Lengths of the output files are part of the state, so that a killed process leaves no trace in them.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.runs.folder import STATE
from hopsight.streams.memory import N_EXAMPLES, N_ORDER, N_TRAINED, SMALL_ARRAYS, TABLES, Memory, new_memory
from hopsight.streams.network import Network, new_network
from hopsight.system.cells import guarded_frame
from hopsight.system.files import read_regular, replacing
from hopsight.system.lazy_polars import pl
from hopsight.system.threads import check_polars

VERSION = 5
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
        if notes.pop("version") != VERSION:
            raise ValueError("another version")
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
    """The files of a run over time; what was appended counts from :meth:`commit` on."""

    def __init__(self, folder: Path, state: State) -> None:
        self.folder, self.state = folder, state

    def recover(self) -> None:
        """Cut off what a killed process appended after its last commit."""
        for name, size in self.state.notes["sizes"].items():
            path = self._own(name)
            if not path.is_file() or path.stat().st_size < size:
                raise ValueError(f"{path} is shorter than it was: restore it, or start again with hopsight stream")
            if path.stat().st_size > size:
                os.truncate(path, size)

    def append(self, name: str, rows: pl.DataFrame) -> None:
        """Append rows to a file, with a header at its beginning, and wait until they are on the disk."""
        with self._own(name).open("ab") as file:
            write_rows(file, rows, header=file.tell() == 0)
            file.flush()
            os.fsync(file.fileno())

    def _own(self, name: str) -> Path:
        """Return the path of a file in the folder; never through a link, which could lead anywhere."""
        path = self.folder / name
        if Path(name).name != name or path.is_symlink():
            raise ValueError(f"{path} is not a file of this run: remove it, and start again with hopsight stream")
        return path

    def commit(self, names: tuple[str, ...]) -> None:
        """Save the state with the present lengths of the files."""
        self.state.notes["sizes"] = {name: (self.folder / name).stat().st_size for name in names}
        self.state.save(self.folder / STATE)


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
