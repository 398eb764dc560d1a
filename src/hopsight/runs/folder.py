"""The run folder, written by one run at a time and either complete or unchanged, and its record, ``run.json``."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.detectors.registry import CLASSES
from hopsight.graph import AttributedGraph
from hopsight.system.arrays import plain
from hopsight.system.files import checksum, held, naming, read_regular, replacing, sync

STAGING = ".hopsight-partial"
CHECKPOINT = ".hopsight-checkpoint"
DAMAGED = "-damaged"  # the end of the name of a checkpoint that could not be read
PUBLISHING = "publishing"  # exists in the staging folder while its files are being moved
RECORD = "run.json"  # written last: a folder without it is not a finished run
ALERTS, WINDOWS, TRAJECTORIES, STATE = "alerts.csv", "windows.csv", "trajectories.csv", "state.npz"
OVER_TIME_FILES = (ALERTS, WINDOWS, TRAJECTORIES, STATE)  # only a run over time has them
OVER_TIME = TRAJECTORIES  # by which it is recognized
FORMAT = "hopsight-run"  # the first value in run.json
WRITTEN = "files"  # the value in run.json that lists the files of the run, each with its SHA-256
REDACTED, KEY = "report-redacted.html", "redacted.csv"
LEARNED = "scores-learned.csv"  # the ranking that a review has learned
LATER = (REDACTED, KEY, LEARNED)  # what may be added to a finished run
VERSION = 1


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

        The old ``run.json`` is removed first, so that a run killed in between is not mistaken for a finished one. What
        the user made or changed while this run computed is not replaced either.
        """
        try:
            _refuse_foreign(self.folder, self.names)
        except ValueError as error:
            raise FileExistsError(str(error)) from None  # unlike bad input, it leaves the checkpoint for --resume
        for path in self.staging.rglob("*"):
            if path.is_file():
                sync(path)  # before run.json says that they are complete
        self.staging.joinpath(PUBLISHING).touch()
        old = [name for name in OVER_TIME_FILES if name in _written(self.folder)]
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
    created = [path for path in (folder, *folder.parents) if not path.exists()]  # deepest first
    with held(folder, created):
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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the folder of a finished run, so that only one process changes it."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    with held(folder):
        yield


def _refuse_foreign(folder: Path, names: Collection[str]) -> None:
    """Refuse to overwrite the user's own files: those that no earlier run wrote, and those that were changed since."""
    if (folder / STAGING / PUBLISHING).exists():
        return
    ours = _written(folder)
    inside = [each.relative_to(folder).as_posix() for name in names for each in (folder / name).rglob("*")]
    foreign = [name for name in (*names, *inside) if name not in ours and os.path.lexists(folder / name)]
    if foreign:
        raise ValueError(f"{folder} already has {foreign[0]}, which hopsight did not write: choose another folder")
    replaced = {*names, *OVER_TIME_FILES}
    for name, digest in ours.items():
        file = folder / name
        if (
            name.partition("/")[0] in replaced
            and digest
            and (file.is_symlink() or (file.is_file() and checksum(file) != digest))
        ):
            changed = f"{folder} has {name}, which was changed since hopsight wrote it"
            raise ValueError(f"{changed}: move or delete it, or choose another folder")


def _written(folder: Path) -> Mapping[str, str | None]:
    """Return the files of a finished run, as its record lists them."""
    try:
        record = json.loads(read_regular(folder / RECORD))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return {}
    listed = record.get(WRITTEN)
    return listed if isinstance(listed, dict) else {}


@contextmanager
def adding(folder: Path, *names: str) -> Iterator[None]:
    """List the files that the block adds to a finished run, or removes, in its record; refuse the user's own."""
    _refuse_foreign(folder, names)
    _list(folder, names, dict.fromkeys(names))  # if killed while it writes, the files are known as ours
    try:
        yield
    finally:
        _list(folder, names, {name: _checksum_of(folder / name) for name in names if (folder / name).exists()})


def _list(folder: Path, names: Collection[str], files: dict[str, str | None]) -> None:
    record = json.loads(read_regular(folder / RECORD))
    record[WRITTEN] = {name: file for name, file in record.get(WRITTEN, {}).items() if name not in names} | files
    with replacing(folder / RECORD) as file:
        write_record(file, record)


def _checksum_of(path: Path) -> str | None:
    """Return the checksum of a file; None of a folder, of the record, which has them, and of a state, which changes."""
    return checksum(path) if path.is_file() and path.name not in (RECORD, STATE) else None


def _checkpoints(folder: Path) -> list[Path]:
    return list(folder.glob(f"{CHECKPOINT}*"))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a run's record as JSON; a number that is not finite becomes null.

    The record of a new run is written last, and lists the files beside it: only these may a later run replace.
    """
    whole = {"format": FORMAT, "version": VERSION} | record
    if path.parent.name == STAGING:
        staged = [each.relative_to(path.parent).as_posix() for each in path.parent.rglob("*")]
        names = sorted({*staged, RECORD} - {PUBLISHING})
        whole[WRITTEN] = {name: _checksum_of(path.parent / name) for name in names}
    with naming(path):
        path.write_text(json.dumps(plain(whole), indent=1, allow_nan=False, ensure_ascii=False), encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a finished run, given its ``run.json`` or its folder.

    Raises
    ------
    ValueError
        If there is no finished run, or the file was written by something else or by a newer hopsight.
    """
    file = path / RECORD if path.is_dir() else path
    try:
        content = read_regular(file)
    except FileNotFoundError:
        raise ValueError(f"there is no finished run in {path}: {RECORD} is missing") from None
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise ValueError(f"{file} is damaged: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{file} is not the record of a hopsight run")
    if record.get("version") != VERSION:
        raise ValueError(f"{file} has version {record.get('version')}, this hopsight reads {VERSION}: update hopsight")
    return record


def detector_name(kind: Any) -> Any:
    """Return the name in the registry of a detector, given that of its class; anything else as it is.

    >>> detector_name("CrossHCM"), detector_name("cross_hcm"), detector_name("another")
    ('cross_hcm', 'cross_hcm', 'another')
    """
    return next((name for name, address in CLASSES.items() if address.partition(":")[2] == kind), kind)


def checksums(*paths: str | None) -> dict[str, str]:
    """Return the SHA-256 of each path that is a file, so that a rerun can tell whether it has changed."""
    return {path: checksum(Path(path)) for path in paths if path is not None and Path(path).is_file()}


def graph_statistics(graph: AttributedGraph) -> dict[str, Any]:
    """Return the sizes of a graph and what was merged or removed while reading it."""
    degrees = graph.degrees
    return {
        "name": graph.name,
        "directed": graph.directed,
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_attributes": graph.n_attributes,
        "n_duplicates": graph.n_duplicates,
        "n_self_loops": graph.n_self_loops,
        "n_isolated": int((degrees == 0).sum()),
        "mean_degree": float(degrees.mean()) if degrees.size else 0.0,
        "max_degree": int(degrees.max(initial=0)),
        "sparse_attributes": not isinstance(graph.attributes, np.ndarray),
        "labeled": graph.labels is not None,
    }


class Stages:
    """Seconds spent in each stage of a run."""

    def __init__(self, begin: Callable[[str], None], end: Callable[[str, float], None]) -> None:
        self.seconds: dict[str, float] = {}
        self._begin, self._end = begin, end

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one stage and report its beginning and end."""
        self._begin(name)
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds  # a stage may run once for each of several fits
        self._end(name, seconds)
