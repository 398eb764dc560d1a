"""Append to output files so that a killed process leaves no trace: their lengths are part of the saved state."""

from __future__ import annotations

import os
from pathlib import Path

from hopsight.runs.folder import STATE
from hopsight.streams.outputs import write_rows
from hopsight.streams.state import State
from hopsight.system.lazy_polars import pl


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
