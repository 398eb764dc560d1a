"""The tables of the comparison and of the paper's Table 1, as Markdown, from the packed cells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fair.graphs import GRAPHS, VIEWS
from fair.plan import DETECTORS, NO_MODEL, OWN, PAPER_GRAPHS, TRIVIAL
from fair.stats import SAME_LABELS, SECTIONS, STRICT, FloatArray, Results, Row, interval, mean_ranks

NAMES = {
    "random": "random", "degree": "degree", "attribute_norm": "attribute norm",
    "fair.trivial:DistanceFromMean": "distance from the mean", NO_MODEL: "no model", "cross_hcm": "**CrossHCM**",
    "hcm": "HCM", "dominant": "DOMINANT", "lof": "LOF", "amen": "AMEN", "radar": "Radar", "anomalous": "ANOMALOUS",
    "resgcn": "ResGCN", "madan": "MADAN",
}  # fmt: skip
LIBRARIES = {"paper.pygod": "PyGOD", "paper.pyod": "PyOD"}
OURS = "cross_hcm"
COSTED = ("inj_cora", "BlogCatalog", "Enron", "tolokers")
PAPER_NAMES = {"Flickr": "flickr", "BlogCatalog": "blogcatalog", "Amazon (books)": "amazon", "Enron": "enron"}
PAPER_ROWS = {"hcm-paper": "HCM.paper", "hcm-authors": "HCM.authors"}


def named(detector: str) -> str:
    """Return a detector's name in a table.

    >>> named("paper.pygod:GAE"), named("lof")
    ('GAE (PyGOD)', 'LOF')
    """
    module, _, name = detector.partition(":")
    return f"{name} ({LIBRARIES[module]})" if module in LIBRARIES else NAMES[detector]


def marked(graph: str) -> str:
    """Return a graph's name, with a mark if its labels helped to choose a default of ours, here or in another graph."""
    if graph == SAME_LABELS:
        return f"{graph} ‡"
    return graph if GRAPHS[graph].reserved else f"{graph} †"


def comparison(results: Results, section: str) -> str:
    """ROC-AUC of all detectors with 95% intervals."""
    graphs, lines = SECTIONS[section], []
    for detector in shown(results, graphs):
        samples = {graph: results.samples(detector, graph) for graph in graphs}
        cells = [with_interval(results.value(detector, graph), samples[graph]) for graph in graphs]
        for part in averaged(section).values():
            mean = float(np.mean([results.value(detector, graph) for graph in part]))
            cells.append(with_interval(mean, np.mean([samples[graph] for graph in part], axis=0)))
        lines.append([named(detector), *cells])
    return markdown(["ROC-AUC", *map(marked, graphs), *averaged(section)], lines)


def summary(results: Results) -> str:
    """Mean ROC-AUC of the detectors that finished on every graph, the three best of each library only."""
    chosen = {"7 in-sample graphs †": SECTIONS["in_sample"], "4 reserved graphs": SECTIONS["reserved"]}
    chosen["3 reserved graphs without ‡"] = STRICT
    complete = results.complete(DETECTORS, [graph for graphs in chosen.values() for graph in graphs])
    means = {
        detector: [float(np.mean([results.value(detector, graph) for graph in part])) for part in chosen.values()]
        for detector in complete
    }
    for module in LIBRARIES:
        theirs = sorted((name for name in means if name.startswith(f"{module}:")), key=lambda name: -means[name][1])
        for name in theirs[3:]:
            del means[name]
    lines = [
        [
            named(detector),
            *(
                with_interval(value, np.mean([results.samples(detector, graph) for graph in part], axis=0))
                for value, part in zip(values, chosen.values(), strict=True)
            ),
        ]
        for detector, values in means.items()
    ]
    return markdown(["mean ROC-AUC", *chosen], lines)


def averaged(section: str) -> dict[str, tuple[str, ...]]:
    """Return the graphs of each mean of a section."""
    return {"mean": SECTIONS[section]} | ({"mean without ‡": STRICT} if section == "reserved" else {})


def precision(results: Results, section: str) -> str:
    """Average precision, and precision at the number of anomalies."""
    graphs, lines = SECTIONS[section], []
    for detector in shown(results, graphs):
        pairs = np.array(
            [
                [results.value(detector, graph, name) for name in ("average_precision", "precision_at_n")]
                for graph in graphs
            ]
        )
        cells = [
            "–" if np.isnan(pair).all() else " / ".join(map(digits, pair)) for pair in [*pairs, pairs.mean(axis=0)]
        ]
        lines.append([named(detector), *cells])
    return markdown(["average precision / at n", *map(marked, graphs), "mean"], lines)


def paired(results: Results, section: str) -> str:
    """Differences of ROC-AUC between CrossHCM and each other detector, with 95% intervals."""
    graphs, lines = SECTIONS[section], []
    ours = {graph: (results.value(OURS, graph), results.samples(OURS, graph)) for graph in graphs}
    for detector in shown(results, graphs):
        if detector == OURS:
            continue
        gaps = {
            graph: (value - results.value(detector, graph), samples - results.samples(detector, graph))
            for graph, (value, samples) in ours.items()
        }
        cells = [signed_interval(*gap) for gap in gaps.values()]
        cells += [signed_interval(*mean_gap([gaps[graph] for graph in part])) for part in averaged(section).values()]
        lines.append(
            [named(detector), *cells, outcome([samples for value, samples in gaps.values() if not np.isnan(value)])]
        )
    means = [f"{title}, where both ran" for title in averaged(section)]
    return markdown(["CrossHCM minus", *map(marked, graphs), *means, "ahead, behind, undecided"], lines)


def mean_gap(gaps: Sequence[tuple[float, FloatArray]]) -> tuple[float, FloatArray]:
    """Return the mean of the differences that exist, and of their samples; NaN if there is none."""
    there = [gap for gap in gaps if not np.isnan(gap[0])] or [(float("nan"), gaps[0][1])]
    return float(np.mean([value for value, _ in there])), np.mean([samples for _, samples in there], axis=0)


def outcome(samples: Sequence[FloatArray]) -> str:
    """Count the intervals above 0, below 0, and around it.

    >>> outcome([np.array([0.1, 0.2]), np.array([-0.1, 0.1])])
    '1, 0, 1'
    """
    bounds = [interval(each) for each in samples]
    ahead, behind = sum(low > 0 for low, _ in bounds), sum(high < 0 for _, high in bounds)
    return f"{ahead}, {behind}, {len(bounds) - ahead - behind}"


def ranks(results: Results) -> str:
    """Mean ranks by ROC-AUC among the detectors that ended on every graph of a section."""
    sections = {"in_sample": "7 in-sample graphs †", "reserved": "4 reserved graphs", "leak_free": "2 leak-free †"}
    found = {
        section: mean_ranks(results, results.complete(DETECTORS, SECTIONS[section]), SECTIONS[section])
        for section in sections
    }
    order = sorted(found["in_sample"], key=lambda name: found["in_sample"][name])
    order += [name for name in found["reserved"] if name not in order]
    lines = [
        [named(name), *(f"{each[name]:.1f}" if name in each else "–" for each in found.values())] for name in order
    ]
    heads = [f"{title} (of {len(found[section])})" for section, title in sections.items()]
    return markdown(["mean rank", *heads], lines)


def views(results: Results) -> str:
    """ROC-AUC by view on small graphs, over the repetitions that all shown views have; the best is an oracle."""
    graphs = [name for name, graph in GRAPHS.items() if len(graph.views) > 1]
    found = by_view(results)
    lines = []
    for detector in shown(results, graphs):
        line = [named(detector)]
        for graph in graphs:
            mine = {view: found[detector, graph, view] for view in VIEWS if (detector, graph, view) in found}
            common = set.intersection(*(set(each) for each in mine.values())) if len(mine) > 1 else set()
            means = {view: float(np.mean([each[seed] for seed in common])) for view, each in mine.items() if common}
            line.append(best_marked(means, GRAPHS[graph].views) + f" ({len(common)})" if common else "–")
        lines.append(line)
    heads = [f"{marked(graph)}: {' / '.join(GRAPHS[graph].views)}" for graph in graphs]
    return markdown(["view", *heads], lines)


def best_marked(means: dict[str, float], views: Sequence[str]) -> str:
    """Return the values of all views, the best one in bold.

    >>> best_marked({"20": 0.5, "raw": 0.75}, ("20", "256", "raw"))
    '.500 / – / **.750**'
    """
    best = max(means.values())
    texts = [digits(means.get(view, np.nan)) for view in views]
    return " / ".join(
        f"**{text}**" if means.get(view) == best else text for view, text in zip(views, texts, strict=True)
    )


def by_view(results: Results) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return the ROC-AUC of every repetition by detector, graph and view."""
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in results.rows:
        own = row["ranking"] == OWN.get(row["detector"], "score")
        if row["experiment"] == "comparison" and row["status"] == "ok" and own:
            found.setdefault((row["detector"], row["graph"], row["view"]), {})[row["seed"]] = row["auc"]
    return found


def cost(results: Results) -> str:
    """Medians of seconds, memory and GPU memory in the fixed view."""
    lines = []
    for detector in shown(results, COSTED):
        line = [named(detector)]
        for graph in COSTED:
            rows = results.fixed(detector, graph)
            columns = ([row[name] for row in rows if row[name] != ""] for name in ("seconds", "memory_mb", "gpu_mb"))
            line.append(
                " / ".join(amount(float(np.median(each))) if each else "–" for each in columns) if rows else "–"
            )
        lines.append(line)
    return markdown(["seconds / MB / MB of the GPU", *map(marked, COSTED)], lines)


def amount(value: float) -> str:
    """Return three significant digits of a small number, all digits of a large one.

    >>> amount(0.01234), amount(1234.5)
    ('0.0123', '1,234')
    """
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def table1(results: Results) -> str:
    """Print the paper's Table 1: the printed value, and ours with its interval."""
    from paper.published import paper_value

    lines = []
    for detector in ("lof", "amen", "radar", "anomalous", "dominant", "madan", "resgcn"):
        line = [NAMES[detector]]
        for graph in PAPER_GRAPHS:
            printed = paper_value(NAMES[detector], "score", PAPER_NAMES[graph])
            line.append(beside(printed, results.value(detector, graph), results.samples(detector, graph)))
        lines.append(line)
    for recipe, name in PAPER_ROWS.items():
        for ranking in ("ahp", "hav"):
            line = [f"{name}, {ranking.upper()}"]
            for graph in PAPER_GRAPHS:
                rows = paper_rows(results, recipe, graph, ranking)
                printed = paper_value("HCM", ranking, PAPER_NAMES[graph])
                value = float(np.mean([row["auc"] for row in rows]))
                line.append(beside(printed, value, results.resampled(rows, graph)))
            lines.append(line)
    for detector in (*TRIVIAL, NO_MODEL):
        cells = [beside(None, results.value(detector, g), results.samples(detector, g)) for g in PAPER_GRAPHS]
        lines.append([NAMES[detector], *cells])
    return markdown(["printed → ours", *map(marked, PAPER_GRAPHS)], lines)


def scores_compared(results: Results) -> str:
    """Print HAV minus AHP in the paper's setting, and the mean scores of anomalies and normal nodes."""
    lines = []
    for recipe, name in PAPER_ROWS.items():
        line = [f"{name}: HAV − AHP"]
        for graph in PAPER_GRAPHS:
            hav, ahp = (paper_rows(results, recipe, graph, ranking) for ranking in ("hav", "ahp"))
            value = float(np.mean([row["auc"] for row in hav]) - np.mean([row["auc"] for row in ahp]))
            line.append(signed_interval(value, results.resampled(hav, graph) - results.resampled(ahp, graph)))
        lines.append(line)
        for ranking in ("ahp", "hav"):
            line = [f"{name}, {ranking.upper()}: mean of anomalies, of the others"]
            for graph in PAPER_GRAPHS:
                rows = paper_rows(results, recipe, graph, ranking)
                line.append(
                    ", ".join(f"{np.mean([row[m] for row in rows]):.3g}" for m in ("mean_anomalous", "mean_normal"))
                )
            lines.append(line)
    return markdown(["", *map(marked, PAPER_GRAPHS)], lines)


def paper_rows(results: Results, recipe: str, graph: str, ranking: str) -> list[Row]:
    """Return the repetitions of the paper's HCM on a graph."""
    rows = [
        row for row in results.rows
        if (row["experiment"], row["detector"], row["graph"], row["ranking"], row["status"])
        == ("table1", recipe, graph, ranking, "ok")
    ]  # fmt: skip
    return sorted(rows, key=lambda row: int(row["seed"]))


def runs(folder: Path) -> str:
    """Versions and machine of every run."""
    lines = []
    for number, run in enumerate(json.loads((folder / "runs.json").read_text(encoding="utf-8"))):
        machine, versions = run["machine"], run["versions"]
        kind = f"{machine['device']}, {machine['cores']} cores ({machine['processor']}), {machine['memory_gb']:.0f} GB"
        together = f"{run['workers']} with one thread each, {run['gpu_slots']} of them on the GPU"
        lines.append(
            [
                str(number),
                run["commit"],
                kind,
                together,
                ", ".join(f"{name} {versions[name]}" for name in sorted(versions)),
            ]
        )
    return markdown(["run", "commit", "machine", "cells side by side", "versions"], lines)


def shown(results: Results, graphs: Sequence[str]) -> list[str]:
    """Return the detectors that ended on one of the graphs."""
    return [name for name in DETECTORS if any(results.fixed(name, graph) for graph in graphs)]


def with_interval(value: float, samples: FloatArray) -> str:
    """Return a value with its 95% interval.

    >>> with_interval(0.9031, np.array([0.88, 0.9, 0.92]))
    '.903 [.88, .92]'
    """
    if np.isnan(value):
        return "–"
    return f"{digits(value)} [{', '.join(f'{bound:.2f}'.removeprefix('0') for bound in interval(samples))}]"


def signed_interval(value: float, samples: FloatArray) -> str:
    """Return a difference with its 95% interval.

    >>> signed_interval(-0.012, np.array([-0.03, 0.0, 0.004]))
    '−.012 [−.028, +.004]'
    """
    if np.isnan(value):
        return "–"
    low, high = interval(samples)
    return f"{signed(value, 3)} [{signed(low, 3)}, {signed(high, 3)}]"


def beside(printed: float | None, value: float, samples: FloatArray) -> str:
    """Return the printed value and ours."""
    ours = with_interval(value, samples)
    return ours if printed is None else f"{digits(printed)} → {ours}"


def signed(value: float, places: int) -> str:
    """Return a number with its sign and without the zero before the point."""
    return ("−" if value < 0 else "+") + f"{abs(value):.{places}f}".removeprefix("0")


def digits(value: float) -> str:
    """Return three digits, without the zero before the point."""
    return "–" if np.isnan(value) else f"{value:.3f}".removeprefix("0")


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    rule = "|---" * len(head) + "|"
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(line)} |" for line in lines)])
