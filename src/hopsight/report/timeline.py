"""``report.html`` of a run over time: windows, alerts and the course of each node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hopsight.report.shell import write_page
from hopsight.report.words import details

SCRIPTS = ("charts.js", "timeline.js")


def write_timeline(path: str | Path, page: Mapping[str, Any]) -> None:
    """Write the page.

    Parameters
    ----------
    path
        File to write.
    page
        ``name``, ``summary`` (sentences), ``windows`` (number, start, events, new pairs, flagged, mean surprise, score,
        what decided it), ``n_windows``, ``alerts`` (window, source, target, time, score, decided by, hop, reason),
        ``nodes`` (id, score, decided by, events, flagged, story, rows of window, start, events and score), ``fits``
        (event, time, reason, loss before and after), and ``run``, the record.
    """
    data = {key: value for key, value in page.items() if key != "run"}
    run = page.get("run") or {}
    request = run.get("request") or {}
    shown = {**run, "request": {"source": {"path": request.get("path")}}}
    data |= {"details": details(shown), "warnings": list(run.get("warnings") or ())}
    write_page(Path(path), f"{page['name']} over time · hopsight", data, SCRIPTS)
