"""The paper's other experiments from the packed cells: optimizers, sweeps of R, C and S, and growth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fair.plan import GROWING, GROWTH, HELD, OPTIMIZERS, REPETITIONS, SWEEPS, SWEPT
from fair.stats import Results, Row
from fair.tables import NAMES, amount, digits, markdown, marked

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#777777")  # Okabe and Ito's
NOT_ENDED = "over the limit of time"


def optimizers(results: Results) -> str:
    """Print both scores of the paper's HCM by optimizer and temperature."""
    lines = []
    for name in OPTIMIZERS:
        line = [name]
        for graph in SWEPT:
            rows = [row for row in ended(results, "optimizers", graph) if row["row"] == name]
            line += [spread([row["auc"] for row in rows if row["ranking"] == ranking]) for ranking in ("ahp", "hav")]
        lines.append(line)
    return markdown(["", *both_scores()], lines)


def sweeps(results: Results) -> str:
    """Print both scores by R, C and S, with the hop classes that the graph really has and the pairs of an epoch."""
    lines = []
    for letter, (parameter, values) in SWEEPS.items():
        for value in values:
            wanted = HELD | {parameter: value}
            line = [f"{letter} = {value:g}{', held' if value == HELD[parameter] else ''}"]
            for graph in SWEPT:
                rows = [row for row in ended(results, "sweep", graph) if wanted.items() <= changes(row).items()]
                line += [
                    spread([row["auc"] for row in rows if row["ranking"] == "ahp"]),
                    spread([row["auc"] for row in rows if row["ranking"] == "hav"]),
                    ", ".join(usual(rows, name) for name in ("n_classes", "n_pairs")) if rows else "–",
                ]
            lines.append(line)
    head = [text for graph in SWEPT for text in (f"{marked(graph)}, AHP", "HAV", "classes, pairs")]
    return markdown(["", *head], lines)


def growth(results: Results) -> str:
    """Print the median seconds of a fit by the number of nodes, and the slope of their logarithms at the last step."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in results.rows:
        if row["experiment"] == "growth":
            mine = found.setdefault((row["detector"], row["graph"]), [])
            mine += [float(row["seconds"])] if row["status"] == "ok" else []
    lines = []
    for detector in GROWING:
        runs = [found.get((detector, f"{nodes} nodes")) for nodes in GROWTH]
        seconds = [float(np.median(each)) if each else float("nan") for each in runs]
        texts = [
            amount(each) if each == each else "–" if run is None else NOT_ENDED
            for run, each in zip(runs, seconds, strict=True)
        ]
        known = [(nodes, each) for nodes, each in zip(GROWTH, seconds, strict=True) if each == each][-2:]
        slope = np.diff(np.log([each for _, each in known]))[0] / np.diff(np.log([nodes for nodes, _ in known]))[0]
        lines.append([NAMES[detector], *texts, f"{slope:.2f}"])
    return markdown(["seconds", *(f"{nodes:,} nodes" for nodes in GROWTH), "slope of the last step"], lines)


def draw_curves(file: Path) -> Any:
    """Draw the ROC-AUC of each epoch's network by optimizer, as means over the repetitions."""
    from fair.figures import canvas

    curves = json.loads(file.read_text(encoding="utf-8"))
    figure, _ = canvas(8.2, 2.9, (0, 0, 1, 1))
    figure.clear()
    for number, graph in enumerate(SWEPT):
        axis = figure.add_axes((0.055 + 0.345 * number, 0.135, 0.3, 0.78))
        for color, name in zip(COLORS, OPTIMIZERS, strict=True):
            mine = [curve["auc"] for curve in curves if (curve["graph"], curve["row"]) == (graph, name)]
            axis.plot(np.mean(mine, axis=0) / 1e4, color=color, linewidth=0.9, label=name)
        axis.set(title=marked(graph), xlabel="epoch", ylim=(0.35, 0.85))
        axis.grid(color="#eeeeee")
    figure.axes[0].set_ylabel("ROC-AUC of the epoch's own AHP")
    figure.axes[-1].legend(loc="center left", bbox_to_anchor=(1.03, 0.5), frameon=False, fontsize=6)
    return figure


def ended(results: Results, experiment: str, graph: str) -> list[Row]:
    """Return the rows of an experiment on a graph that have a figure."""
    return [
        row for row in results.rows if (row["experiment"], row["graph"], row["status"]) == (experiment, graph, "ok")
    ]


def changes(row: Row) -> dict[str, Any]:
    """Return the parameters that a cell sets."""
    found: dict[str, Any] = json.loads(row["changes"])
    return found


def spread(values: Sequence[float]) -> str:
    """Return mean and standard deviation of all repetitions.

    >>> spread([0.5, 0.6, 0.5, 0.6, 0.5]), spread([0.5])
    ('.540 ± .055', 'over the limit of time')
    """
    if len(values) < REPETITIONS:
        return NOT_ENDED
    return f"{digits(float(np.mean(values)))} ± {digits(float(np.std(values, ddof=1)))}"


def usual(rows: Sequence[Row], name: str) -> str:
    """Return the median of a count."""
    return f"{np.median([float(row[name]) for row in rows]):,.0f}"


def both_scores() -> list[str]:
    """Return a column for each graph and score."""
    return [f"{marked(graph)}, {score}" for graph in SWEPT for score in ("AHP", "HAV")]
