"""Tables of the studies: mean scores, sweeps, optimizers, variation over the epochs, growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from hopsight.benchmark.results import ResultTable, Row
from hopsight.checks import plural
from paper.published import COMPLEXITY, COMPLEXITY_NOTE
from paper.rows import Summary, distinct, mean_of, mean_sd, number, seconds, select, size, unique
from paper.setups import setup_of
from paper.studies import SWEEPS

SCORES = {"ahp": "AHP", "hav": "HAV"}
SWEEP_TITLES = {"sweep R": "Drop ratio R", "sweep C": "Classes C", "sweep S": "Sampling ratio S"}
SWEEP_HELD = {"sweep R": "C = 5, S = 0.3", "sweep C": "R = 0.2, S = 0.3", "sweep S": "R = 0.2, C = 5"}


def study_tables(rows: Sequence[Row]) -> list[ResultTable]:
    """Return the tables of the studies."""
    return [
        _mean_scores(rows),
        *(_sweep(rows, name) for name in SWEEPS),
        _optimizers(rows),
        _variation(rows),
        *(_growth(rows, experiment) for experiment in ("growth nodes", "growth edges")),
    ]


def _mean_scores(rows: Sequence[Row]) -> ResultTable:
    lines = []
    ours = [row for row in select(rows, experiment="comparison", row="HCM (paper)") if row["score"] in SCORES]
    for graph, score in distinct(ours, "graph", "score"):
        here = select(ours, graph=graph, score=score)
        anomalous, normal = mean_of(here, "mean_anomalous"), mean_of(here, "mean_normal")
        if anomalous is None or normal is None:
            continue
        higher = sum(row["mean_anomalous"] > row["mean_normal"] for row in here)
        cells = [mean_sd(anomalous), mean_sd(normal), f"{higher} of {len(here)}"]
        lines.append([setup_of(graph).title, SCORES[score], *cells])
    columns = ["graph", "score", "anomalous nodes", "normal nodes", "anomalous higher in"]
    return ResultTable("mean_scores", "Mean score of anomalous and normal nodes (HCM, paper)", columns, lines)


def _sweep(rows: Sequence[Row], name: str) -> ResultTable:
    swept = select(rows, experiment=name)
    graphs = [graph for (graph,) in distinct(swept, "graph")]
    lines = []
    for (value,) in distinct(swept, "row"):
        cells = []
        for graph in graphs:
            here = select(swept, row=value, graph=graph)
            cells += [mean_sd(mean_of(select(here, score=score), "auc")) for score in SCORES]
            cells += [_counts(here, "n_classes"), _counts(here, "n_pairs")]
        lines.append([value, *cells])
    columns = [SWEEP_TITLES[name]]
    for graph in graphs:
        kinds = (*SCORES.values(), "classes used", "pairs per class")
        columns += [f"{setup_of(graph).title}, {kind}" for kind in kinds]
    n = max(
        (len(unique(select(swept, row=value, graph=graphs[0]), name)) for (value,) in distinct(swept, "row")),
        default=0,
    )
    note = (
        f"ROC-AUC, mean ± sd over {plural(n, 'injection')} with one seed each, {SWEEP_HELD[name]}. Hop classes with "
        "too few pairs are merged: the last columns show how many remained, and the pairs drawn from each in an epoch."
    )
    return ResultTable(name.replace(" ", "_"), f"Sweep: {SWEEP_TITLES[name]}", columns, lines, note)


def _counts(rows: Sequence[Row], name: str) -> str:
    """Return a count that fits reported: one number, or the range over the injections."""
    used = sorted({int(row["details"][name]) for row in rows if name in (row.get("details") or {})})
    return " to ".join(f"{count:,}" for count in dict.fromkeys((*used[:1], *used[-1:])))


def _optimizers(rows: Sequence[Row]) -> ResultTable:
    compared = select(rows, experiment="optimizers")
    lines = []
    for graph, row in distinct(compared, "graph", "row"):
        here = select(compared, graph=graph, row=row)
        rates = sorted({entry["parameters"].get("lr") for entry in here} - {None})
        losses = Summary.of((entry.get("details") or {}).get("loss") for entry in unique(here, "optimizers"))
        lines.append(
            [
                setup_of(graph).title,
                row,
                ", ".join(f"{rate:g}" for rate in rates),
                *(mean_sd(mean_of(select(here, score=score), "auc")) for score in SCORES),
                mean_sd(losses),
                str(len([entry for entry in unique(here, "optimizers") if entry["status"] == "ok"])),
            ]
        )
    note = (
        "The tuned rate is the one with the smallest loss at the end of training on the first injection; labels are "
        "not used. The loss is the mean over the last tenth of the epochs."
    )
    columns = ["graph", "optimizer", "rate", "AHP", "HAV", "loss", "repetitions"]
    return ResultTable("optimizers", "SGLD against SGD: ROC-AUC", columns, lines, note)


def _variation(rows: Sequence[Row]) -> ResultTable:
    lines = []
    for (graph, name), runs in curve_runs(rows).items():
        later = runs[:, runs.shape[1] // 2 :]
        band = float(later.std(axis=0, ddof=1).mean()) if len(runs) > 1 else None
        last = Summary.of(float(value) for value in runs[:, -1])
        cells = [mean_sd(last), mean_sd(mean_step(runs), 4), number(band, 4), str(len(runs))]
        lines.append([setup_of(graph).title, name, *cells])
    note = (
        "ROC-AUC of each epoch's own prediction, not averaged over samples. Step: mean change from one epoch to the "
        "next; band: sd over the repetitions; both over the second half of training."
    )
    columns = ["graph", "optimizer", "ROC-AUC of the last epoch", "step", "band", "repetitions"]
    return ResultTable("variation", "Variation over the epochs", columns, lines, note)


def curve_runs(rows: Sequence[Row]) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Return the ROC-AUC over the epochs, (n_repetitions, n_epochs), by graph and optimizer."""
    recorded = [row for row in unique(rows, "curves") if row["points"] and "auc" in row["points"][0]]
    return {
        (graph, name): np.array([[p["auc"] for p in r["points"]] for r in select(recorded, graph=graph, row=name)])
        for graph, name in distinct(recorded, "graph", "row")
    }


def mean_step(runs: NDArray[np.float64]) -> Summary | None:
    """Return the mean change from one epoch to the next in the second half of training."""
    later = runs[:, runs.shape[1] // 2 :]
    return Summary.of(float(value) for value in np.abs(np.diff(later, axis=1)).mean(axis=1))


def _growth(rows: Sequence[Row], experiment: str) -> ResultTable:
    measured = unique(rows, experiment)
    sizes = sorted({size_of(row, experiment) for row in measured})
    lines = []
    for (name,) in distinct(measured, "row"):
        mine = {size_of(row, experiment): row for row in select(measured, row=name)}
        cells = [_growth_cell(mine.get(amount)) for amount in sizes]
        done = [row for row in mine.values() if row["status"] == "ok"]
        slopes = [
            number(slope([(size_of(row, experiment), row[what]) for row in done]), 2) for what in ("seconds", "memory")
        ]
        formula = COMPLEXITY.get("HCM" if name.startswith("HCM") else name, "")
        lines.append([name, formula, *cells, *slopes])
    unit = "nodes" if experiment == "growth nodes" else "edges"
    held = "10 edges per node" if unit == "nodes" else f"{_fixed_nodes(measured):,} nodes"
    columns = ["detector", "paper's formula, O(…)", *(f"{amount:,} {unit}" for amount in sizes)]
    columns += ["slope of time", "slope of memory"]
    note = (
        f"Seconds of the fit and memory that it added, with {held} and 20 attributes, one run each. Slopes are those "
        f"of a line through the logarithms of the larger half of the sizes. {COMPLEXITY_NOTE}"
    )
    return ResultTable(experiment.replace(" ", "_"), f"Measured growth with {unit}", columns, lines, note)


def _growth_cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row["status"] != "ok":
        return str(row["status"])
    return f"{seconds(row['seconds'])} s, {size(row['memory'])}"


def _fixed_nodes(rows: Sequence[Row]) -> int:
    return int(rows[0]["settings"]["generate"]["n_nodes"]) if rows else 0


def size_of(row: Row, experiment: str) -> int:
    """Return the size that a growth experiment varies."""
    return int(row["settings"]["generate"]["n_nodes" if experiment == "growth nodes" else "n_edges"])


def slope(points: Sequence[tuple[float, float | None]]) -> float | None:
    """Return the slope of log value against log size over the larger half of the sizes, ``None`` below two points.

    >>> slope([(1, 1), (10, 2), (100, 200), (1000, 20000)])
    2.0
    """
    usable = sorted((x, y) for x, y in points if y is not None and y > 0)
    usable = usable[len(usable) // 2 :] if len(usable) > 3 else usable
    if len(usable) < 2:
        return None
    x, y = [math.log(a) for a, _ in usable], [math.log(b) for _, b in usable]
    spread = sum((value - fmean(x)) ** 2 for value in x)
    rise = sum((a - fmean(x)) * (b - fmean(y)) for a, b in zip(x, y, strict=True))
    return round(rise / spread, 6)
