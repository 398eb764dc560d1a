"""Repeat a finished run from its record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopsight.runs.detect import detect
from hopsight.runs.progress import Progress
from hopsight.runs.record import checksums, read_record
from hopsight.runs.request import Request, Source
from hopsight.runs.results import Result
from hopsight.runs.score import score


def rerun(record_path: Path, folder: Path | None = None, *, progress: Progress | None = None) -> Result:
    """Repeat the run of a ``run.json``, into ``folder`` or next to the first one with ``-rerun`` after its name."""
    record = read_record(record_path)
    target = folder or default_folder(record_path)
    if record.get("command") != "score":
        return detect(request_of(record, progress), target, progress=progress)
    source = Source.from_record(record.get("source"))
    if not isinstance(record.get("model"), str):
        raise ValueError("the record does not say how to repeat the run: no model")
    report_changes(record, progress)
    return score(
        Path(record["model"]),
        source,
        target,
        top=record.get("top", 20),
        csv=record.get("csv", False),
        progress=progress,
    )


def request_of(record: Mapping[str, Any], progress: Progress | None = None) -> Request:
    """Return the request of a finished detection, and say which of its files have changed since."""
    request = Request.from_record(record)
    report_changes(record, progress)
    return request


def default_folder(record_path: Path) -> Path:
    """Return where a run is repeated if no folder is given."""
    run = record_path.resolve()
    run = run if run.is_dir() else run.parent
    return run.with_name(f"{run.name}-rerun")


def report_changes(record: Mapping[str, Any], progress: Progress | None) -> None:
    """Say which files of a finished run have changed since."""
    before = record["inputs"] if isinstance(record.get("inputs"), dict) else {}
    for path, checksum in checksums(*before).items():
        if progress is not None and checksum != before[path]:
            progress.say(f"{path} has changed since the first run, so the result will differ")
