"""``run.json``: everything that determined a run and everything that was measured."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.detectors.registry import CLASSES
from hopsight.graph import AttributedGraph
from hopsight.runs.folder import FORMAT, PUBLISHING, RECORD, STAGING, WRITTEN
from hopsight.system.arrays import plain
from hopsight.system.files import naming, read_regular

VERSION = 1
NOT_FOR_USERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a run's record as JSON; a number that is not finite becomes null.

    The record of a new run is written last, and lists the files beside it: only these may a later run replace.
    """
    whole = {"format": FORMAT, "version": VERSION} | record
    if path.parent.name == STAGING:
        staged = {each.name for each in path.parent.iterdir() if not each.name.startswith(".")}
        whole[WRITTEN] = sorted({*staged, RECORD} - {PUBLISHING})
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
    if "detector" in record:  # older versions recorded the class in a score
        record["detector"] = detector_name(record["detector"])
    return record


def detector_name(kind: Any) -> Any:
    """Return the name in the registry of a detector, given that of its class; anything else as it is.

    >>> detector_name("CrossHCM"), detector_name("cross_hcm"), detector_name("another")
    ('cross_hcm', 'cross_hcm', 'another')
    """
    return next((name for name, address in CLASSES.items() if address.partition(":")[2] == kind), kind)


def checksums(*paths: str | None) -> dict[str, str]:
    """Return the SHA-256 of each path that is a file, so that a rerun can tell whether it has changed."""
    found = {}
    for path in paths:
        if path is not None and Path(path).is_file():
            with Path(path).open("rb") as file:
                found[path] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


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
        self.seconds[name] = time.perf_counter() - start
        self._end(name, self.seconds[name])


@contextmanager
def notices(say: Callable[[str], None]) -> Iterator[list[str]]:
    """Collect log messages of hopsight and warnings of any library, each once, and pass them to ``say``."""
    seen: list[str] = []

    def note(text: str) -> None:
        if text not in seen:
            seen.append(text)
            say(text)

    handler = _Collector(note)
    logger = logging.getLogger("hopsight")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in NOT_FOR_USERS:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *_args, **_kwargs: note(str(message))
        try:
            yield seen
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagate


class _Collector(logging.Handler):
    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self.note = note

    def emit(self, record: logging.LogRecord) -> None:
        self.note(record.getMessage())
