"""The output folder: filled by one run at a time, and complete or as it was before."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LOCK = ".hopsight-lock"
STAGING = ".hopsight-partial"
CHECKPOINT = ".hopsight-checkpoint"
PUBLISHING = "publishing"  # stands in the staging folder while its files move
RECORD = "run.json"  # always last: a folder without it is no finished run
FORMAT = "hopsight-run"  # the first value in run.json


@dataclass(frozen=True)
class Claim:
    """A locked output folder: write into ``staging``, then :meth:`publish`."""

    folder: Path
    names: tuple[str, ...]

    @property
    def staging(self) -> Path:
        """Where files grow; the same disk as the folder, so that publishing is a rename."""
        return self.folder / STAGING

    @property
    def checkpoint(self) -> Path:
        """Where a detector may keep what ``--resume`` needs; gone once the run is finished."""
        return self.folder / CHECKPOINT

    def publish(self) -> None:
        """Move every staged file into the folder, ``run.json`` last, and drop what an earlier run left.

        ``run.json`` is taken away first: a run killed between the two renames is not mistaken for a finished one.
        """
        self.staging.joinpath(PUBLISHING).touch()
        (self.folder / RECORD).unlink(missing_ok=True)
        for name in sorted(self.names, key=lambda name: name == RECORD):
            target, staged = self.folder / name, self.staging / name
            _remove(target)
            if staged.exists():
                staged.replace(target)
        self.staging.joinpath(PUBLISHING).unlink()
        self.discard_checkpoint()

    def discard_checkpoint(self) -> None:
        """Remove what an interrupted run kept."""
        _remove(self.checkpoint)


@contextmanager
def claim(folder: Path, names: Sequence[str]) -> Iterator[Claim]:
    """Lock ``folder`` for one run that will write ``names``, creating it if need be.

    An earlier run in the folder stays untouched until :meth:`Claim.publish`. If the block fails, what it staged
    goes, and the folder too if it was made here (a checkpoint of an interrupted run stays).

    Raises
    ------
    ValueError
        If another run holds the folder, or it has a file of one of the ``names`` that hopsight did not write.
    OSError
        If the folder cannot be made or written to.
    """
    made = _missing_folders(folder)
    lock = _lock(folder)
    try:
        _refuse_foreign(folder, names)
        claimed = Claim(folder, tuple(names))
        _remove(claimed.staging)
        claimed.staging.mkdir()
        yield claimed
    except ValueError:
        _remove(folder / CHECKPOINT)  # bad input or parameters: nothing to go on from
        raise
    finally:
        if not (folder / STAGING / PUBLISHING).exists():  # else it is half done: the folder must be known as ours
            _remove(folder / STAGING)
        with suppress(PermissionError):  # Windows keeps a file that is open
            (folder / LOCK).unlink(missing_ok=True)
        lock.close()
        for path in made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()


def _missing_folders(folder: Path) -> list[Path]:
    """Return the folders that would have to be made, deepest first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _lock(folder: Path) -> IO[str]:
    """Hold the lock file; the system lets go of it when the process ends, however it ends."""
    path = folder / LOCK
    for _ in range(10):
        folder.mkdir(parents=True, exist_ok=True)
        handle = open(path, "a+", encoding="utf-8", opener=_open_itself)  # noqa: SIM115 (held while the run lasts)
        if not _try_lock(handle):
            handle.seek(0)
            process = handle.read().strip() or "unknown"
            handle.close()
            raise ValueError(
                f"another run (process {process}) is writing into {folder}: wait for it or choose another folder"
            )
        if path.exists() and os.path.samestat(os.fstat(handle.fileno()), path.stat()):
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
            return handle
        handle.close()  # its owner removed it between our opening and our locking: once more
    raise OSError(f"cannot lock {folder}")


def _open_itself(path: str, flags: int) -> int:
    """Open a file but not what an edge of that name points to: it will be emptied."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: IO[str]) -> bool:
        try:
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(handle: IO[str]) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _refuse_foreign(folder: Path, names: Collection[str]) -> None:
    """Refuse to overwrite somebody's own file: an earlier run has our run.json, a killed one a staging folder."""
    record = folder / RECORD
    ours = record.is_file() and FORMAT.encode() in record.read_bytes()[:200]
    if ours or (folder / STAGING).is_dir():
        return
    foreign = [name for name in names if (folder / name).exists()]
    if foreign:
        raise ValueError(f"{folder} already has a {foreign[0]} of another origin: choose another output folder")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
