"""The page of one benchmark: its tables, its figures and every cell, in the style of the report."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopsight.report.shell import write_page
from hopsight.report.words import details

SCRIPTS = ("bench.js",)


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
        The file to write.
    results
        One mapping a cell, as in ``results.csv``; all of them can be sorted and searched on the page.
    tables
        Each ``{"title", "columns", "rows", "note"}``: rows are sequences of strings, numbers or None, as long as
        ``columns``; ``note`` is optional.
    figures
        Each ``{"title", "svg", "note"}``: ``svg`` is the text of an SVG file, or a path to one.
    title
        The heading.
    summary
        Sentences below the heading.
    run
        What was recorded, see :func:`hopsight.report.page.write_report`.

    Raises
    ------
    ValueError
        If a row of a table is not as long as its columns.
    """
    for table in tables:
        for row in table["rows"]:
            if len(row) != len(table["columns"]):
                raise ValueError(
                    f"a row of {table['title']!r} must have {len(table['columns'])} values, one has {len(row)}"
                )
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
    write_page(Path(path), f"{title} · hopsight", data, SCRIPTS)


def _image(svg: str | Path) -> str:
    """Return a figure as a data address: inside an image no script runs and no id meets another figure's."""
    text = svg.read_text(encoding="utf-8") if isinstance(svg, Path) else svg
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
