"""The growth figure: time and memory of every detector against the number of nodes and of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopsight.benchmark.results import Row
from paper.published import COMPLEXITY_NOTE
from paper.rows import distinct, select, unique
from paper.study_tables import size_of, slope
from paper.style import PAGE, line_style, new_figure

_EXPERIMENTS = {"growth nodes": "number of nodes", "growth edges": "number of edges"}
_MEASURES = {"seconds": "time of one fit (s)", "memory": "memory added by the fit (MB)"}
_LEAST_MEMORY = 1.0  # MB: smaller values are noise


def draw_growth(rows: Sequence[Row]) -> Any:
    """Draw time (top) and memory (bottom) against nodes (left) and edges (right)."""
    experiments = [name for name in _EXPERIMENTS if any(row["status"] == "ok" for row in unique(rows, name))]
    if not experiments:
        return None
    figure = new_figure(PAGE, 5.6)
    grid = figure.subplots(2, len(experiments), squeeze=False, sharey="row", sharex="col")
    names = [name for (name,) in distinct([row for e in experiments for row in unique(rows, e)], "row")]
    for column, experiment in enumerate(experiments):
        for line, measure in enumerate(_MEASURES):
            axis = grid[line][column]
            _draw_panel(axis, unique(rows, experiment), experiment, measure, names)
            axis.set(xscale="log", yscale="log")
            _mark_sizes(axis, sorted({size_of(row, experiment) for row in unique(rows, experiment)}))
            if column == 0:
                axis.set_ylabel(_MEASURES[measure])
        grid[1][column].set_xlabel(_EXPERIMENTS[experiment])
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    return figure


def growth_caption(rows: Sequence[Row]) -> str:
    """Describe the figure, the measured slope of HCM, and where the paper's formula is incomplete."""
    nodes = unique(rows, "growth nodes")
    hcm = [row for row in nodes if row["status"] == "ok" and row["detector"] == "hcm"]
    found = (
        slope([(size_of(row, "growth nodes"), row["seconds"]) for row in select(hcm, row=hcm[0]["row"])])
        if hcm
        else None
    )
    measured = f" Here the time of HCM grows with the power {found:.2f} of the nodes." if found is not None else ""
    return (
        "Time and memory of one fit on generated graphs with 20 attributes: left with 10 edges per node, right with a "
        "fixed number of nodes. A line ends early if the detector exceeded a limit or refused the graph; the table "
        "gives the reason. "
        f"{COMPLEXITY_NOTE}{measured}"
    )


def _draw_panel(axis: Any, rows: Sequence[Row], experiment: str, measure: str, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        mine = [row for row in select(rows, row=name, status="ok") if row.get(measure) is not None]
        points = sorted((size_of(row, experiment), row[measure]) for row in mine)
        if measure == "memory":
            points = [(size, max(value, _LEAST_MEMORY)) for size, value in points]
        if points:
            axis.plot([size for size, _ in points], [value for _, value in points], label=name, **line_style(position))


def _mark_sizes(axis: Any, sizes: Sequence[int]) -> None:
    """Put a tick at every size that was run, without powers of ten."""
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.set_xticks([], minor=True)
    axis.grid(which="minor", visible=False)
