"""The pages of a benchmark (its tables, figures and cells) and of a run over time (windows, alerts and nodes)."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopsight.report.shell import write_page
from hopsight.report.words import details

BENCH_SCRIPTS = ("bench.js",)
TIMELINE_SCRIPTS = ("charts.js", "timeline.js")


def write_bench_page(
    path: str | Path,
    results: Sequence[Mapping[str, Any]],
    tables: Sequence[Mapping[str, Any]],
    figures: Sequence[Mapping[str, Any]],
    *,
    title: str = "Benchmark",
    summary: Sequence[str] = (),
    run: Mapping[str, Any] | None = None,
) -> None:
    """Write the HTML page of a benchmark.

    Parameters
    ----------
    path
        File to write.
    results
        One mapping per cell, as in ``results.csv``; the page can sort and search them.
    tables
        Each has ``title``, ``columns``, ``rows`` and optionally ``note``; every row has one string, number or None
        per column.
    figures
        Each has ``title``, ``svg`` and optionally ``note``; ``svg`` is the text of an SVG file or a path to one.
    title
        Heading of the page.
    summary
        Sentences to show below the heading.
    run
        The record of the run, see :func:`hopsight.report.page.report_page`.
    """
    columns = list(dict.fromkeys(str(name) for result in results for name in result))
    data = {
        "title": title,
        "summary": list(summary),
        "tables": [{"note": "", **table} for table in tables],
        "figures": [
            {"title": each["title"], "note": each.get("note", ""), "image": _image(each["svg"])} for each in figures
        ],
        "results": {"columns": columns, "rows": [[result.get(name) for name in columns] for result in results]},
        "warnings": list((run or {}).get("warnings") or ()),
        "details": details(run or {}),
    }
    write_page(Path(path), f"{title} · hopsight", data, BENCH_SCRIPTS)


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
    write_page(Path(path), f"{page['name']} over time · hopsight", data, TIMELINE_SCRIPTS)


def _image(svg: str | Path) -> str:
    """Return a figure as a data URL: scripts do not run inside an image, and ids of different figures cannot clash."""
    text = svg.read_text(encoding="utf-8") if isinstance(svg, Path) else svg
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
