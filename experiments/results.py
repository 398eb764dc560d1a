"""Rebuild the tables and figures of RESULTS.md and docs/results/ from the raw results under ``experiments/results/``.

    python experiments/results.py            rewrite the tables between the marks, and the figures in docs/
    python experiments/results.py --check    exit with 1 if the page or a figure is not what the raw results say

A table stands between ``<!-- table NAME -->`` and ``<!-- end -->``. Rows of ``evidence_others.json`` come from
``experiments/others.py``: DOMINANT on the development graphs, CrossHCM of commit afb7e4c on all of them. The tables of
the comparison are made in ``experiments/fair/``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import labels
import thresholds as generators
from fair import coverage, figures, paper, tables
from fair.stats import SECTIONS, Results
from fair.tables import digits, markdown

ROOT = Path(__file__).resolve().parents[1]
RAW = ROOT / "experiments" / "results"
DEVELOPMENT = ("BlogCatalog", "Flickr", "inj_cora", "amazon_fraud", "Amazon", "Disney", "Enron")
RESERVED = ("tolokers", "bitcoin_alpha", "enron_bond", "gen_1000")
SHOWN = {name: f"{name} †" for name in DEVELOPMENT} | {"Amazon": "Amazon (books) †", "enron_bond": "Enron (BOND) ‡"}
FILES = (
    "cells.csv", "curves.json", "draws.npz", "evidence_dev.json", "evidence_others.json", "evidence_reserved.json",
    "evidence_steady.json", "evidence_textbook.json", "gpu.json", "growth.json", "growth_large.json", "thresholds.json",
    "thresholds_labeled.json", "thresholds_older.npz", "hcm_speed.json", "older.json", "older_demo.json",
    "older_xeon.json", "over_time.json", "over_time_published.json", "runs.json", "speed.json", "labels.json",
    "flags.json", "p2p.json", "typed.json", "bank.json",
)  # fmt: skip
FIRST = "cross_hcm afb7e4c"
NAMES = {"cross_hcm": "**CrossHCM**", "dominant": "DOMINANT", FIRST: "CrossHCM, first version (commit afb7e4c)"}
SETTINGS = {"5x12": "5 communities, 12 attributes", "12x40": "12 and 40, weakly separated", "2x2": "2 and 2"}

Row = dict[str, Any]


def main() -> int:
    """Rewrite or check RESULTS.md, the pages under docs/results/ and their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    missing = [name for name in FILES if not (RAW / name).is_file()]
    if missing:
        print(
            f"raw results are missing: {', '.join(missing)}. Restore them under experiments/results/.", file=sys.stderr
        )
        return 1
    files = {page: filled(page.read_text(encoding="utf-8")).encode() for page in pages()}
    files |= {ROOT / "docs" / f"{name}.svg": drawing for name, drawing in drawings().items()}
    if not check:
        for file, content in files.items():
            file.write_bytes(content)
        return 0
    stale = [file.name for file, content in files.items() if not file.is_file() or file.read_bytes() != content]
    if stale:
        print(f"not what the raw results say: {', '.join(stale)}. Run make results.", file=sys.stderr)
    return int(bool(stale))


def pages() -> list[Path]:
    """Return RESULTS.md and the pages with the complete tables."""
    return [ROOT / "RESULTS.md", *sorted((ROOT / "docs" / "results").glob("*.md"))]


def drawings() -> dict[str, bytes]:
    """Return every figure of the page as SVG, by its name."""
    with figures.style():
        own = {
            "reliability": draw_reliability(raw("evidence_dev")),
            "optimizers": figures.svg(paper.draw_curves(RAW / "curves.json")),
        }
        return own | figures.figures(compared())


def compared() -> Results:
    """Return the cells of the comparison."""
    return _read(RAW)


@lru_cache(maxsize=2)
def _read(folder: Path) -> Results:
    return Results.read(folder)


def filled(text: str) -> str:
    """Return the page with every marked table made again from the raw results."""
    return re.sub(
        r"(<!-- table (\w+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{TABLES[match[2]]()}\n\n{match[3]}",
        text,
        flags=re.DOTALL,
    )


def raw(name: str) -> list[Row]:
    """Return the rows of one file of raw results."""
    rows: list[Row] = json.loads((RAW / f"{name}.json").read_text(encoding="utf-8"))
    return rows


def development() -> str:
    """ROC-AUC on the development graphs, every ablation, every kind alone, and the calibration error."""
    rows, others = raw("evidence_dev"), raw("evidence_others")
    found: dict[str, list[float]] = {}
    for detector, source in (("cross_hcm", rows), (FIRST, others), ("dominant", others)):
        chosen = [row for row in source if row["detector"] == detector]
        found[NAMES[detector]] = [mean([row["auc"] for row in chosen if row["graph"] == g]) for g in DEVELOPMENT]
    for name in rows[0]["ablation"]:
        found[name] = [mean([row["ablation"][name] for row in rows if row["graph"] == g]) for g in DEVELOPMENT]
    for kind in rows[0]["evidence"]:
        found[f"{kind} alone"] = [
            mean([row["evidence"][kind] for row in rows if row["graph"] == g]) for g in DEVELOPMENT
        ]
    found["calibration error of p(one hop)"] = [
        mean([row["calibration"]["error"] for row in rows if row["graph"] == g and row["calibration"]])
        for g in DEVELOPMENT
    ]
    counts = [sum(row["graph"] == g for row in rows) for g in DEVELOPMENT]
    head = ["", *(f"{SHOWN[graph]} ({count})" for graph, count in zip(DEVELOPMENT, counts, strict=True)), "mean"]
    return markdown(head, [[name, *map(digits, values), digits(mean(values))] for name, values in found.items()])


def steady() -> str:
    """ROC-AUC over seeds of the fit, and over injections of BlogCatalog."""
    lines = []
    for (graph, injection), mine in groupby(raw("evidence_steady"), key=lambda row: (row["graph"], row["injection"])):
        found = [row["auc"] for row in mine]
        spread = f"{np.std(found, ddof=1):.4f}".removeprefix("0") if len(found) > 1 else ""
        name = f"{graph}, injection {injection}" if injection else graph
        lines.append([name, str(len(found)), digits(mean(found)), spread])
    return markdown(["", "seeds", "ROC-AUC", "standard deviation"], lines)


def reserved() -> str:
    """ROC-AUC on the reserved graphs."""
    rows = raw("evidence_reserved") + raw("evidence_others")
    lines = []
    for detector, name in NAMES.items():
        values = [[row["auc"] for row in rows if (row["graph"], row["detector"]) == (g, detector)] for g in RESERVED]
        count = min(len(each) for each in values)
        means = [mean(each) for each in values]
        lines.append([f"{name} ({count})", *map(digits, means), digits(mean(means))])
    return markdown(["", *(SHOWN.get(graph, graph) for graph in RESERVED), "mean"], lines)


def textbook() -> str:
    """Percentile of the planted nodes, and the share of them among the first 2k."""
    rows = raw("evidence_textbook")
    kinds = list(dict.fromkeys(row["graph"].split("/")[1] for row in sorted(rows, key=lambda row: row["graph"])))
    lines = []
    for kind in kinds:
        line = [kind]
        for setting in SETTINGS:
            mine = [row for row in rows if row["graph"] == f"{setting}/{kind}"]
            figures = [mean([row[name] for row in mine]) for name in ("percentile", "among_first_2k")]
            line.append(" / ".join(map(digits, figures)))
        lines.append(line)
    return markdown(["", *SETTINGS.values()], lines)


def thresholds(parts: bool) -> str:
    """Show what is flagged without and with planted anomalies: in all generators, or (``parts``) in each."""
    rows = raw("thresholds")
    chosen = [name for name in generators.GENERATORS if name not in generators.HELD_OUT]
    groups = {"generators that the rule was chosen on": chosen, "generators kept aside": list(generators.HELD_OUT)}
    if parts:
        groups = {f"{name} *" if name in generators.HELD_OUT else name: [name] for name in generators.GENERATORS}
    lines = []
    for title, names in groups.items():
        mine = [row for row in rows if row["graph"] in names]
        noise, planted = ([row for row in mine if bool(row["planted"]) == wanted] for wanted in (False, True))
        flagged, false, older, kept = (
            sum(row[name] for row in planted) for name in ("n_flagged", "n_false", "older_true", "older_kept")
        )
        lines.append(
            [
                title,
                f"{sum(row['n_flagged'] > 0 for row in noise)} of {len(noise)}",
                f"{sum(row['n_flagged'] for row in noise) / sum(row['n_nodes'] for row in noise):.3%}",
                f"{sum(row['edges_flagged'] > 0.001 * row['n_edges'] for row in noise)} of {len(noise)}",
                f"{sum(row['groups'] > 0 for row in noise)} of {len(noise)}",
                f"{flagged:,}",
                digits(false / flagged) if flagged else "–",
                digits(kept / older) if older else "–",
            ]
        )
    head = ["", "fits with flags", "nodes flagged", "fits with edges", "fits with groups", "flagged", "false", "kept"]
    return markdown(head, lines)


def thresholds_labeled() -> str:
    """Show what is flagged in graphs with labels, summed over three fits."""
    lines = []
    for graph in generators.LABELED:
        mine = [row for row in raw("thresholds_labeled") if row["graph"] == graph]
        flagged, false, anomalies = (sum(row[name] for row in mine) for name in ("n_flagged", "n_false", "n_planted"))
        lines.append([graph, f"{anomalies // len(mine):,}", str(flagged), digits(false / flagged) if flagged else "–"])
    return markdown(["", "anomalies", "flagged in three fits", "false"], lines)


def flags() -> str:
    """Show how many nodes are flagged after learning and how many of them wrongly: means over draws, summed."""
    rows, lines = raw("flags"), []
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        mine = [row for row in rows if row["protocol"] == protocol]
        graphs = dict.fromkeys(row["graph"] for row in mine)
        counts = [
            sum(np.mean([row[name] for row in mine if row["graph"] == graph]) for graph in graphs)
            for name in ("flagged", "false")
        ]
        said = sum(row["estimated"] for row in mine)
        cells = [protocol, str(len(graphs)), *(f"{count:.0f}" for count in counts), digits(counts[1] / counts[0])]
        lines.append([*cells, f"{said} of {len(mine)}"])
    return markdown(["labels", "graphs", "flagged", "false", "share false", "draws with an estimate"], lines)


def labels_short() -> str:
    """Show the means over graphs for four ways of labeling."""
    lines = labeled(0).splitlines()
    chosen = ("| 20+80 |", "| random 100 |", "| queue 20 |", "| queue 100 |")
    return "\n".join([*lines[:2], *(line for line in lines[2:] if line.startswith(chosen))])


def labeled(part: int) -> str:
    """Show what labels are worth: means over graphs (part 0), or single graphs (part 1)."""
    return labels.tables(raw("labels")).split("\n\n")[part]


def several_types() -> str:
    """ROC-AUC over the users of p2p without and with labels, and what a run takes by size."""
    rows = raw("p2p")
    found = {"no labels": [row["auc"] for row in rows if row["what"] == "default"]}
    for method in ("learned", "forest", "forest on neighborhoods"):
        found[f"100 labels: {method}"] = [row[method][0] for row in rows if row["what"] == "20+80"]
    lines = [
        [
            name,
            str(len(values)),
            f"{digits(mean(values))} ± {digits(1.96 * np.std(values, ddof=1) / np.sqrt(len(values)))}",
        ]
        for name, values in found.items()
    ]
    sizes = [
        [f"{row['edge rows']:,}", f"{row['processor']:.0f} s", f"{row['memory'] / 1e9:.2f} GB"]
        for row in rows
        if row["what"] == "sizes"
    ]
    cost = markdown(["rows of edges", "processor time of two cores, tables to report", "peak memory"], sizes)
    return markdown(["", "seeds or draws", "ROC-AUC over users"], lines) + "\n\n" + cost


def typed_graphs() -> str:
    """ROC-AUC over the users of generated graphs of several types, read in three ways, without and with labels."""
    ways, rows = ("typed", "users alone", "as one"), raw("typed")
    lines = []
    for nature in dict.fromkeys(row["nature"] for row in rows):
        mine = [row for row in rows if row["nature"] == nature]
        lines.append([nature, *(digits(mean([row[way][at] for row in mine])) for at in (0, 1) for way in ways)])
    return markdown(["what anomalies differ in", *ways, *(f"{way}, 100 labels" for way in ways)], lines)


def over_time() -> str:
    """ROC-AUC of injected edges and of labeled flows."""
    published = json.loads((RAW / "over_time_published.json").read_text(encoding="utf-8"))["rows"]
    rows = raw("over_time") + published
    columns = sorted({(row["data"], row.get("share") or 0.0) for row in rows})
    columns.sort(key=lambda each: each[0] == "darpa")
    methods = list(dict.fromkeys(row["method"] for row in rows))
    found = {(row["method"], row["data"], row.get("share") or 0.0): row["roc_auc"] for row in rows}
    lines = [[method, *(digits(found.get((method, *column), np.nan)) for column in columns)] for method in methods]
    return markdown(["", *(f"{data} {share:.0%}" if share else data for data, share in columns)], lines)


def banks() -> str:
    """Show what is found in each generated bank, at once and over time."""
    lines = [
        [str(row["seed"]), row["times"], row["hubs"], ", ".join(map(str, row["hub_ranks"])), digits(row["takeovers"]),
         digits(row["mules"]), f"{row['rings']} of 5", str(row["ordinary_of_20"]),
         f"{row['flagged']}, {row['flagged_planted']}",
         f"{row['edges_15']} / {row['edges_50']}", f"{row['edges_15_alone']} / {row['edges_50_alone']}",
         f"{row['hub_alerted']}, {row['takeover_alerted']}, {row['mule_alerted']}", str(row["false_alerts"])]
        for row in raw("bank")
    ]  # fmt: skip
    header = [
        "seed", "times", "hubs", "their ranks", "takeovers", "mules", "rings listed", "ordinary of the first 20",
        "flagged, planted", "first 15 / 50 edges", "without accounts", "hubs, takeovers, mules alerted", "false alerts",
    ]  # fmt: skip
    return markdown(header, lines)


def grown(file: str) -> str:
    """Seconds of every stage, memory and disk traffic of one run per size."""
    found = json.loads((RAW / file).read_text(encoding="utf-8"))
    runs, slopes = list(found["runs"].values()), found["slopes"]
    lines = [
        [name, *(f"{run['seconds'][name]:.1f}" for run in runs), _slope(slopes, name)]
        for name in ("load", "write", "explain")
    ]
    fitted = [
        [f"fit: {name}", *(f"{run['fit'][name]:.1f}" for run in runs), _slope(slopes, f"fit: {name}")]
        for name in runs[0]["fit"]
    ]
    others = {
        "whole command, s": "wall",
        "most memory, GB": "peak_gb",
        "read from disk, GB": "read_gb",
        "written to disk, GB": "written_gb",
    }
    rest = [[title, *(f"{run[name]:.1f}" for run in runs), _slope(slopes, name)] for title, name in others.items()]
    files = ["temporary files, GB", *(f"{run['expected'].get('disk', 0) / 1e9:.1f}" for run in runs), ""]
    auc = ["ROC-AUC", *(digits(run["roc_auc"]) for run in runs), ""]
    titles = [f"{int(size):,} nodes" for size in found["runs"]]
    return markdown(["s", *titles, "slope"], [lines[0], *fitted, *lines[1:], *rest, files, auc])


def ratios(file: str, theirs: str, title: str) -> str:
    """Seconds of another form and of ours, and how many times as fast ours is."""
    rows = json.loads((RAW / file).read_text(encoding="utf-8"))["rows"]
    lines = [[name, f"{row[theirs]:.3g}", f"{row['ours']:.3g}", f"{row['ratio']:.1f}"] for name, row in rows.items()]
    return markdown(["s", title, "ours", "ratio"], lines)


def hcm_speed() -> str:
    """Seconds of HCM in a straightforward form and in ours."""
    rows = json.loads((RAW / "hcm_speed.json").read_text(encoding="utf-8"))
    names = {
        "straightforward": "straightforward form of HCM", "same": "HCM, the same epochs, pairs and samples",
        "default": "HCM", "cross": "CrossHCM",
    }  # fmt: skip
    slow = rows["straightforward"]["seconds"]
    lines = [[names[name], f"{rows[name]['seconds']:.3g}", f"{slow / rows[name]['seconds']:.1f}"] for name in names]
    return markdown(["", "s", "times as fast"], lines)


def on_gpu() -> str:
    """Seconds of the stages of a fit on a GPU."""
    rows = json.loads((RAW / "gpu.json").read_text(encoding="utf-8"))["rows"]
    stages = list(rows[0]["seconds"])
    lines = [
        [row["graph"], *(f"{row['seconds'][stage]:.2f}" for stage in stages), f"{row['all']:.2f}",
         ", ".join(f"{row['fits'][fit]:.2f}" for fit in (0, 2, 3))]
        for row in rows
    ]  # fmt: skip
    return markdown(["s", *stages, "whole fit", "others"], lines)


def _slope(slopes: dict[str, float], name: str) -> str:
    known = {"peak_gb": "memory"}.get(name, name)
    return f"{slopes[known]:.2f}" if known in slopes else ""


TABLES: dict[str, Callable[[], str]] = {
    "development": development, "reserved": reserved, "steady": steady, "textbook": textbook,
    "thresholds": partial(thresholds, False),
    "thresholds_each": partial(thresholds, True), "thresholds_labeled": thresholds_labeled,
    "labels": partial(labeled, 0), "labels_short": labels_short, "labels_single": partial(labeled, 1),
    "labels_found": partial(labeled, 2), "flags": flags,
    "several_types": several_types,
    "typed_graphs": typed_graphs,
    "banks": banks, "over_time": over_time,
    "large": partial(grown, "growth_large.json"), "million": partial(grown, "growth.json"),
    "gpu": on_gpu, "older": partial(ratios, "older.json", "older", "commit afb7e4c"),
    "hcm_speed": hcm_speed, "older_demo": partial(ratios, "older_demo.json", "older", "commit afb7e4c"),
    "older_xeon": partial(ratios, "older_xeon.json", "older", "commit afb7e4c"),
    "speed": partial(ratios, "speed.json", "theirs", "other form"),
    **{
        f"{table.__name__}_{section}": partial(lambda table, section: table(compared(), section), table, section)
        for table in (tables.comparison, tables.precision, tables.paired) for section in SECTIONS
    },
    **{
        table.__name__: partial(lambda table: table(compared()), table)
        for table in (
            tables.summary, tables.ranks, tables.views, tables.cost, tables.table1, tables.scores_compared,
            coverage.counts, coverage.missing, paper.optimizers, paper.sweeps, paper.growth,
        )
    },
    "runs": lambda: tables.runs(RAW),
}  # fmt: skip


def draw_reliability(rows: Sequence[Row]) -> bytes:
    """Draw the share of edges among pairs against their predicted probability of being one hop apart."""
    figure = Figure(figsize=(12, 2.2), layout="constrained")
    axes = figure.subplots(1, len(DEVELOPMENT), sharey=True)
    for axis, graph in zip(axes, DEVELOPMENT, strict=True):
        mine = [row["calibration"] for row in rows if row["graph"] == graph and row["calibration"]]
        axis.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        axis.set(title=SHOWN[graph], xlim=(0, 1), ylim=(0, 1), xlabel="predicted")
        if mine:
            count = np.array([each["n"] for each in mine], dtype=float)
            x, y = (
                (np.array([each[name] for each in mine]) * count).sum(0) / np.maximum(count.sum(0), 1)
                for name in ("mean", "share")
            )
            shown = count.sum(0) >= 50
            axis.plot(x[shown], y[shown], marker="o", markersize=3, color="#0072B2")
    axes[0].set_ylabel("share one hop apart")
    return figures.svg(figure)


def mean(values: Sequence[float]) -> float:
    """Return the mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def signed(value: float, error: float | None = None) -> str:
    """Return a change with its sign, and what it may be off by."""
    text = ("−" if value < 0 else "+") + digits(abs(float(value)))
    return text if error is None else f"{text} ± {digits(float(error))}"


if __name__ == "__main__":
    sys.exit(main())
