"""The output folder: written by one run at a time, and either complete or unchanged."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hopsight.system.files import open_own, read_regular, sync, try_lock

LOCK = ".hopsight-lock"
STAGING = ".hopsight-partial"
CHECKPOINT = ".hopsight-checkpoint"
DAMAGED = "-damaged"  # the end of the name of a checkpoint that could not be read
PUBLISHING = "publishing"  # exists in the staging folder while its files are being moved
RECORD = "run.json"  # written last: a folder without it is not a finished run
ALERTS, WINDOWS, TRAJECTORIES, STATE = "alerts.csv", "windows.csv", "trajectories.csv", "state.npz"
OVER_TIME_FILES = (ALERTS, WINDOWS, TRAJECTORIES, STATE)  # only a run over time has them
OVER_TIME = TRAJECTORIES  # by which it is recognized
FORMAT = "hopsight-run"  # the first value in run.json
WRITTEN = "files"  # the value in run.json that lists the files of the run
LEARNED, REDACTED, KEY = "scores-learned.csv", "report-redacted.html", "redacted.csv"
LATER = (LEARNED, REDACTED, KEY)  # what is added to a finished run


@dataclass(frozen=True)
class Claim:
    """A locked output folder: write into ``staging``, then :meth:`publish`."""

    folder: Path
    names: tuple[str, ...]

    @property
    def staging(self) -> Path:
        """Where files are written first; on the same disk as the folder, so that publishing is a rename."""
        return self.folder / STAGING

    @property
    def checkpoint(self) -> Path:
        """Where a detector may keep what ``--resume`` needs, until a run that owns it succeeds."""
        return self.folder / CHECKPOINT

    def checkpoint_of(self, number: int) -> Path:
        """Return the checkpoint of one of several fits, numbered from 0."""
        return self.checkpoint.with_name(f"{CHECKPOINT}-{number}") if number else self.checkpoint

    def publish(self) -> None:
        """Move every staged file into the folder, ``run.json`` last, and remove the files of an earlier run.

        The old ``run.json`` is removed first, so that a run killed in between is not mistaken for a finished one.
        """
        for path in self.staging.rglob("*"):
            if path.is_file():
                sync(path)  # before run.json says that they are complete
        self.staging.joinpath(PUBLISHING).touch()
        old = [name for name in OVER_TIME_FILES if name in _written(self.folder, ())]
        (self.folder / RECORD).unlink(missing_ok=True)
        for name in sorted({*self.names, *old}, key=lambda name: (name == RECORD, name)):
            target, staged = self.folder / name, self.staging / name
            _remove(target)
            if staged.exists():
                staged.replace(target)
        self.staging.joinpath(PUBLISHING).unlink()

    @property
    def has_checkpoint(self) -> bool:
        """Whether an interrupted run left a checkpoint."""
        return any(not path.name.endswith(DAMAGED) for path in _checkpoints(self.folder))

    def discard_checkpoint(self) -> None:
        """Remove the checkpoints of an interrupted run; only a run that owns them may."""
        for path in _checkpoints(self.folder):
            _remove(path)


@contextmanager
def claim(folder: Path, names: Sequence[str]) -> Iterator[Claim]:
    """Lock ``folder`` for one run that will write ``names``, creating it if necessary.

    An earlier run in the folder is not touched before :meth:`Claim.publish`. If the block fails, the staged files are
    removed, and the folder too if it was created here. The checkpoint of an interrupted run is kept, and one of this
    run if it was interrupted; after a ``ValueError`` (bad input or parameters) this run has nothing to resume.

    Raises
    ------
    ValueError
        If another run is writing to the folder, or it has a file of one of the ``names`` that hopsight did not write.
    OSError
        If the folder cannot be created or written to.
    """
    created = _missing_folders(folder)
    lock = _lock(folder)
    try:
        _refuse_foreign(folder, names)
        claimed = Claim(folder, tuple(names))
        before, publishing = claimed.has_checkpoint, (claimed.staging / PUBLISHING).exists()
        _remove(claimed.staging)
        claimed.staging.mkdir()
        if publishing:  # a killed run moved some of its files here: they stay ours until a run succeeds
            (claimed.staging / PUBLISHING).touch()
        try:
            yield claimed
        except ValueError:
            if not before and claimed.has_checkpoint:
                claimed.discard_checkpoint()
            raise
    finally:
        if not (folder / STAGING / PUBLISHING).exists():  # otherwise the folder must stay recognizable as ours
            _remove(folder / STAGING)
        with suppress(PermissionError):  # Windows does not remove an open file
            (folder / LOCK).unlink(missing_ok=True)
        lock.close()
        for path in created:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder of a finished run, so that only one process changes it."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    lock = _lock(folder)
    try:
        yield
    finally:
        with suppress(PermissionError):  # Windows does not remove an open file
            (folder / LOCK).unlink(missing_ok=True)
        lock.close()


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders that do not exist yet, deepest first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _lock(folder: Path) -> IO[str]:
    """Lock the folder; the system releases the lock when the process ends, however it ends."""
    path = folder / LOCK
    for _ in range(10):
        folder.mkdir(parents=True, exist_ok=True)
        handle = open_own(path, "a+")  # held until the run ends
        if not try_lock(handle):
            handle.seek(0)
            process = handle.read().strip() or "unknown"
            handle.close()
            raise ValueError(
                f"another run (process {process}) is writing to {folder}: wait for it or choose another folder"
            )
        if path.exists() and os.path.samestat(os.fstat(handle.fileno()), path.stat()):
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
            return handle
        handle.close()  # its owner removed it between our opening and locking it: try again
    raise OSError(f"cannot lock {folder}")


def _refuse_foreign(folder: Path, names: Collection[str]) -> None:
    """Refuse to overwrite the user's own files, which are all but those that an earlier run wrote."""
    ours = names if (folder / STAGING / PUBLISHING).exists() else _written(folder, names)
    foreign = [name for name in names if name not in ours and os.path.lexists(folder / name)]
    if foreign:
        raise ValueError(f"{folder} already has a {foreign[0]} that hopsight did not write: choose another folder")


def _written(folder: Path, names: Collection[str]) -> Collection[str]:
    """Return the files of a finished run; ``names`` if its record does not list them, as older versions did not."""
    try:
        record = json.loads(read_regular(folder / RECORD))
    except (OSError, ValueError, RecursionError):
        return ()
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return ()
    listed = record.get(WRITTEN)
    return (*listed, *LATER) if isinstance(listed, list) else names


def _checkpoints(folder: Path) -> list[Path]:
    return list(folder.glob(f"{CHECKPOINT}*"))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
