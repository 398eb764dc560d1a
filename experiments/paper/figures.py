"""The figures of the paper, drawn from measured rows: comparison, mean scores, sweeps, optimizers, epochs, growth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.benchmark.results import Row
from paper.growth_figure import draw_growth, growth_caption
from paper.published import paper_value
from paper.rows import distinct, mean_of, select
from paper.setups import setup_of
from paper.studies import SWEEPS
from paper.study_tables import SCORES, SWEEP_HELD, SWEEP_TITLES, curve_runs
from paper.style import COLORS, PAGE, bar_style, journal_style, line_style, new_figure, save_figure

Drawing = Callable[[Sequence[Row]], Any]  # None where there is nothing to draw

_CHANCE = {"color": "#777777", "linewidth": 0.8, "linestyle": (0, (1, 1))}


def draw_figures(folder: Path, rows: Sequence[Row]) -> list[tuple[str, str, Path]]:
    """Draw every figure that has any data; return the name, caption and PNG file of each."""
    drawings: list[tuple[str, Drawing, str]] = [
        ("comparison", draw_comparison, _COMPARISON),
        ("mean_scores", draw_mean_scores, _MEAN_SCORES),
        ("sweeps", draw_sweeps, _SWEEPS),
        ("optimizers", draw_optimizers, _OPTIMIZERS),
        ("epochs", draw_epochs, _EPOCHS),
        ("growth", draw_growth, growth_caption(rows)),
    ]
    drawn = []
    for name, draw, caption in drawings:
        with journal_style():
            figure = draw(rows)
            if figure is not None:
                drawn.append((name, caption, save_figure(figure, folder, name)))
    return drawn


_COMPARISON = (
    "ROC-AUC of every detector: mean over repetitions, with the 95% interval of one ranking (DeLong, averaged). Open "
    "diamonds are the paper's values, the dotted line is chance. If anomalies are planted, the paper's detectors see "
    "20 principal components. Gray squares are trivial scores, which use next to nothing of the graph."
)


def draw_comparison(rows: Sequence[Row]) -> Any:
    """Draw one panel per graph, with a point and its interval for every detector and score."""
    compared = [row for row in select(rows, experiment="comparison", second=False) if "auc" in row]
    graphs = [graph for (graph,) in distinct(compared, "graph")]
    if not graphs:
        return None
    entries = [(row, score) for row, score in distinct(compared, "row", "score")]
    figure = new_figure(PAGE, 1.0 + 0.17 * len(entries))
    axes = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    for axis, graph in zip(axes, graphs, strict=True):
        for position, (row, score) in enumerate(entries):
            here = select(compared, graph=graph, row=row, score=score)
            _draw_entry(axis, position, here, paper_value(row, score, graph))
        axis.axvline(0.5, **_CHANCE)
        axis.set(title=setup_of(graph).title, xlabel="ROC-AUC", xlim=(_left_end(compared), 1.02))
        axis.grid(axis="y", visible=False)
    labels = [f"{row}, {SCORES[score]}" if score in SCORES else row for row, score in entries]
    axes[0].set_yticks(range(len(entries)), labels)
    axes[0].set_ylim(len(entries) - 0.5, -0.5)
    _legend_below(figure, ncols=4)
    return figure


def _left_end(rows: Sequence[Row]) -> float:
    """Return a round number left of all intervals, 0.4 at most."""
    return min(0.4, math.floor(10 * min(float(row["auc_low"]) for row in rows)) / 10)


def _draw_entry(axis: Any, position: int, here: Sequence[Row], paper: float | None) -> None:
    auc, low, high = (mean_of(here, name) for name in ("auc", "auc_low", "auc_high"))
    if paper is not None:
        axis.plot(paper, position, "D", color="black", fillstyle="none", markersize=4, label="paper", zorder=4)
    if auc is None or low is None or high is None:
        return
    trivial = here[0]["detector"] in ("random", "degree", "attribute_norm")
    color, mark = ("#777777", "s") if trivial else (COLORS[1], "^") if here[0]["uses_labels"] else (COLORS[0], "o")
    label = "trivial" if trivial else "uses the labels" if here[0]["uses_labels"] else "measured"
    reach = [[max(0.0, auc.mean - low.mean)], [max(0.0, high.mean - auc.mean)]]
    axis.errorbar(auc.mean, position, xerr=reach, fmt=mark, color=color, markersize=3.5, elinewidth=0.8, label=label)


_MEAN_SCORES = (
    "Mean AHP and HAV of anomalous and of normal nodes (HCM with the paper's settings). Bars are means over "
    "repetitions, lines their standard deviation."
)


def draw_mean_scores(rows: Sequence[Row]) -> Any:
    """Draw two panels, AHP and HAV, with a pair of bars per graph."""
    ours = [row for row in select(rows, experiment="comparison", row="HCM (paper)") if "mean_normal" in row]
    graphs = [graph for (graph,) in distinct(ours, "graph")]
    if not graphs:
        return None
    figure = new_figure(PAGE, 2.4)
    for axis, score in zip(figure.subplots(1, 2), SCORES, strict=True):
        values = {
            name: [mean_of(select(ours, graph=graph, score=score), measure) for graph in graphs]
            for name, measure in (("anomalous nodes", "mean_anomalous"), ("normal nodes", "mean_normal"))
        }
        _grouped_bars(axis, [setup_of(graph).title for graph in graphs], values)
        axis.set(ylabel=f"mean {SCORES[score]}" + (" (hops)" if score == "ahp" else ""), title=SCORES[score])
    _legend_below(figure, ncols=2)
    return figure


_SWEEPS = (
    "ROC-AUC of HCM (paper's settings) as drop ratio R, number of classes C and sampling ratio S change, with the "
    f"other two fixed ({'; '.join(SWEEP_HELD.values())}). "
    "Mean over injections, one seed each; the band is the standard deviation."
)


def draw_sweeps(rows: Sequence[Row]) -> Any:
    """Draw one row per parameter and one column per graph, with a line each for AHP and HAV."""
    swept = [row for row in rows if row["experiment"] in SWEEPS and "auc" in row]
    graphs = [graph for (graph,) in distinct(swept, "graph")]
    names = [name for name in SWEEPS if select(swept, experiment=name)]
    if not graphs or not names:
        return None
    figure = new_figure(PAGE if len(graphs) > 1 else PAGE / 2, 0.3 + 1.75 * len(names))
    grid = figure.subplots(len(names), len(graphs), squeeze=False, sharey="col")
    for line, name in enumerate(names):
        for column, graph in enumerate(graphs):
            here = select(swept, experiment=name, graph=graph)
            _draw_sweep(grid[line][column], here)
            grid[line][column].set_xlabel(SWEEP_TITLES[name])
            if line == 0:
                grid[line][column].set_title(setup_of(graph).title)
        grid[line][0].set_ylabel("ROC-AUC")
    _legend_below(figure, ncols=2)
    return figure


def _draw_sweep(axis: Any, rows: Sequence[Row]) -> None:
    for position, score in enumerate(SCORES):
        mine = select(rows, score=score)
        values = sorted({float(row["row"]) for row in mine})
        summaries = [mean_of([row for row in mine if float(row["row"]) == value], "auc") for value in values]
        means = np.array([summary.mean for summary in summaries if summary])
        spread = np.array([summary.sd for summary in summaries if summary])
        axis.plot(values, means, label=SCORES[score], **line_style(position))
        axis.fill_between(values, means - spread, means + spread, color=line_style(position)["color"], alpha=0.15, lw=0)
        axis.set_xticks(values)


_OPTIMIZERS = (
    "ROC-AUC of AHP and HAV by optimizer: preconditioned SGLD, the same step without noise, plain SGLD, SGD at the "
    "paper's rate and at the rate with the smallest training loss. Bars are means over repetitions, lines their "
    "standard deviation, the dotted line is chance."
)


def draw_optimizers(rows: Sequence[Row]) -> Any:
    """Draw two panels, AHP and HAV, with a group of bars per graph and one bar per optimizer."""
    compared = [row for row in select(rows, experiment="optimizers") if "auc" in row]
    graphs = [graph for (graph,) in distinct(compared, "graph")]
    if not graphs:
        return None
    figure = new_figure(PAGE, 2.6)
    for axis, score in zip(figure.subplots(1, 2, sharey=True), SCORES, strict=True):
        values = {
            name: [mean_of(select(compared, graph=graph, score=score, row=name), "auc") for graph in graphs]
            for (name,) in distinct(compared, "row")
        }
        _grouped_bars(axis, [setup_of(graph).title for graph in graphs], values)
        axis.axhline(0.5, **_CHANCE)
        axis.set(title=SCORES[score], ylim=(0.0, 1.0))
        if score == "ahp":
            axis.set_ylabel("ROC-AUC")
    _legend_below(figure, ncols=3)
    return figure


_EPOCHS = (
    "ROC-AUC of each epoch's own prediction (not averaged over samples) during training. Lines are means over "
    "repetitions with other seeds on the same injection, bands their standard deviation."
)


def draw_epochs(rows: Sequence[Row]) -> Any:
    """Draw one panel per graph, with a line and its band for every optimizer."""
    runs = curve_runs(rows)
    graphs = list(dict.fromkeys(graph for graph, _ in runs))
    if not graphs:
        return None
    figure = new_figure(PAGE if len(graphs) > 1 else PAGE / 2, 2.8)
    axes = figure.subplots(1, len(graphs), squeeze=False, sharey=True)[0]
    for axis, graph in zip(axes, graphs, strict=True):
        here = {name: curves for (place, name), curves in runs.items() if place == graph}
        for position, (name, curves) in enumerate(here.items()):
            epochs = np.arange(1, curves.shape[1] + 1)
            mean, spread = curves.mean(axis=0), curves.std(axis=0, ddof=1) if len(curves) > 1 else 0.0
            style = line_style(position) | {"markevery": max(1, len(epochs) // 8)}
            axis.plot(epochs, mean, label=name, **style)
            axis.fill_between(epochs, mean - spread, mean + spread, color=style["color"], alpha=0.2, lw=0)
        axis.axhline(0.5, **_CHANCE)
        axis.set(title=setup_of(graph).title, xlabel="epoch")
    axes[0].set_ylabel("ROC-AUC")
    _legend_below(figure, ncols=2)
    return figure


def _grouped_bars(axis: Any, groups: Sequence[str], values: dict[str, list[Any]]) -> None:
    width = min(0.2, 0.8 / max(1, len(values)))
    for position, (name, summaries) in enumerate(values.items()):
        places = np.arange(len(groups)) + (position - (len(values) - 1) / 2) * width
        heights = [summary.mean if summary else 0.0 for summary in summaries]
        spread = [summary.sd if summary else 0.0 for summary in summaries]
        error = {"elinewidth": 0.8, "capsize": 2}
        axis.bar(places, heights, width, yerr=spread, label=name, error_kw=error, **bar_style(position))
    axis.set_xticks(range(len(groups)), groups)
    axis.set_xlim(-0.6, len(groups) - 0.4)
    axis.grid(axis="x", visible=False)


def _legend_below(figure: Any, *, ncols: int) -> None:
    """Add one legend for all panels, each name once."""
    found: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=ncols)
