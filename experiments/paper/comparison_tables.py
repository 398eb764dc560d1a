"""Tables that compare detectors: an overview, mean ranks, one table per graph, the graphs, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hopsight.benchmark.cells import CUTS, N_COMPONENTS
from hopsight.benchmark.results import ResultTable, Row
from hopsight.metrics import mid_ranks
from paper.rows import difference, distinct, mean_of, mean_sd, number, seconds, select, size, unique

VIEW_NAMES = {"raw": "as given", "scaled": "standardized", "reduced": f"{N_COMPONENTS} components"}
SCORE_NAMES = {"ahp": "AHP", "hav": "HAV", "score": "", None: ""}


@dataclass(frozen=True, kw_only=True)
class PublishedFigures:
    """What a paper printed, to stand beside what was measured."""

    titles: Mapping[str, str] = field(default_factory=dict)  # of graphs, where they differ from the names in the plan
    auc: Callable[[str, str | None, str], float | None] | None = None  # ROC-AUC of a row, a score and a graph
    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # nodes, edges, attributes, anomalies by graph
    note: str = ""  # below the overview
    sizes_note: str = ""  # below the sizes

    def title(self, graph: str) -> str:
        """Return the name of a graph in tables."""
        return self.titles.get(graph, graph)

    def value(self, row: str, score: str | None, graph: str) -> float | None:
        """Return the printed ROC-AUC, or None."""
        return None if self.auc is None else self.auc(row, score, graph)


NOTHING_PUBLISHED = PublishedFigures()


def comparison_tables(
    rows: Sequence[Row], published: PublishedFigures = NOTHING_PUBLISHED, *, mean_ranks: bool = True
) -> list[ResultTable]:
    """Return the tables about detectors on graphs that have any rows."""
    compared = select(rows, experiment="comparison")
    graphs = [graph for (graph,) in distinct(compared, "graph")]
    tables = [_overview(compared, graphs, published)]
    if mean_ranks and len(graphs) > 1:
        tables.append(_mean_ranks(compared, graphs, published))
    tables += [_one_graph(select(compared, graph=graph), graph, published) for graph in graphs]
    tables += [_sizes(compared, graphs, published), _failures(rows, published)]
    return [table for table in tables if table.rows]


def _overview(rows: Sequence[Row], graphs: Sequence[str], published: PublishedFigures) -> ResultTable:
    lines = []
    for row, second, score in _entries(rows):
        cells = []
        for graph in graphs:
            here = _of_score(select(rows, row=row, second=second, graph=graph), score)
            cells.append(_overview_cell(here, published.value(row, score, graph)))
        if any(cells):
            lines.append([_label(row, score), "raw" if second else "usual", *cells])
    columns = ["detector", "attributes", *map(published.title, graphs)]
    note = (
        "Mean ± standard deviation over repetitions; detectors that do not depend on the seed run once per injection."
    )
    return ResultTable("overview", "ROC-AUC", columns, lines, published.note or note)


def _overview_cell(here: Sequence[Row], printed: float | None) -> str:
    auc = mean_of(here, "auc")
    text = mean_sd(auc)
    if not text:
        ends = ["no labels" if status == "ok" else str(status) for (status,) in distinct(here, "status")]
        text = ", ".join(ends)
    if printed is None:
        return text
    gap = difference(auc, printed)
    return f"{text} / {printed:.3f}" + (f" ({gap})" if gap else "")


def _one_graph(rows: Sequence[Row], graph: str, published: PublishedFigures) -> ResultTable:
    cut = CUTS[-1] if any(f"precision_at_{CUTS[-1]}" in row for row in rows) else CUTS[0]
    beside = published.auc is not None
    columns = [
        "detector", "attributes", *(["paper"] if beside else []), "ROC-AUC", *(["difference"] if beside else []),
        "95% interval", "average precision", "precision at n", f"precision at {cut}", f"recall at {cut}",
        "AUC structure", "AUC attribute", "seconds", "peak memory", "repetitions",
    ]  # fmt: skip
    lines = []
    for row, second, score in _entries(rows):
        here = _of_score(select(rows, row=row, second=second), score)
        cells = _line(here, _label(row, score), cut)
        if beside:
            printed = published.value(row, score, graph)
            cells.insert(3, difference(mean_of(here, "auc"), printed))
            cells.insert(2, number(printed))
        lines.append(cells)
    first = next((row for row in rows if row.get("anomalies")), None)
    note = (
        "The interval is DeLong's for one ranking, averaged over the repetitions; n is the number of anomalies"
        + (f", {first['anomalies']} of {first['nodes']:,} nodes here" if first else "")
        + ". AUC structure and AUC attribute compare anomalies of that kind with all normal nodes. Peak memory is that "
        "of the whole process, including libraries and the graph; seconds are those of the fit."
    )
    return ResultTable(f"graph_{graph}", published.title(graph), columns, lines, note)


def _line(here: Sequence[Row], label: str, cut: int) -> list[str]:
    low, high = mean_of(here, "auc_low"), mean_of(here, "auc_high")
    done = select(here, status="ok")
    time, memory = mean_of(done, "seconds"), mean_of(done, "memory_peak_mb")
    uses_labels = any(entry["uses_labels"] for entry in here)
    return [
        label + (" (uses the labels)" if uses_labels else ""),
        VIEW_NAMES[here[0]["view"]],
        mean_sd(mean_of(here, "auc")) or _reasons(here),
        f"{low.mean:.3f} to {high.mean:.3f}" if low and high else "",
        mean_sd(mean_of(here, "average_precision")),
        mean_sd(mean_of(here, "precision_at_n")),
        mean_sd(mean_of(here, f"precision_at_{cut}")),
        mean_sd(mean_of(here, f"recall_at_{cut}")),
        mean_sd(mean_of(here, "auc_structure")),
        mean_sd(mean_of(here, "auc_attribute")),
        seconds(time.mean if time else None),
        size(memory.mean if memory else None),
        f"{len(done)}" + (f" of {len(here)}" if len(done) < len(here) else ""),
    ]


def _mean_ranks(rows: Sequence[Row], graphs: Sequence[str], published: PublishedFigures) -> ResultTable:
    """Rank all detectors on each graph (1 = best); detectors that failed on a graph share its last place."""
    honest = [row for row in rows if not row["uses_labels"]]
    entries = [(row, score) for row, _, score in _entries(honest) if score is not None]
    columns: dict[str, list[float]] = {}
    for graph in graphs:
        means = [mean_of(select(honest, row=row, score=score, graph=graph), "auc") for row, score in entries]
        if any(means):
            columns[graph] = list(mid_ranks([-mean.mean if mean else 1.0 for mean in means]))
    mean_rank = [sum(column[i] for column in columns.values()) / max(1, len(columns)) for i in range(len(entries))]
    lines = [
        [_label(*entries[i]), number(mean_rank[i], 1), *(f"{column[i]:g}" for column in columns.values())]
        for i in sorted(range(len(entries)), key=mean_rank.__getitem__)
    ]
    note = (
        "Rank of the mean ROC-AUC among all rows, 1 = best. Detectors that failed on a graph share the last place "
        "there; rows that use the labels are left out."
    )
    titles = [published.title(graph) for graph in columns]
    return ResultTable("ranks", "Mean rank over the graphs", ["detector", "mean rank", *titles], lines, note)


def _sizes(rows: Sequence[Row], graphs: Sequence[str], published: PublishedFigures) -> ResultTable:
    lines = []
    for graph in graphs:
        known = [row for row in select(rows, graph=graph, view="raw") if row.get("nodes")]
        ours = [known[0][name] for name in ("nodes", "edges", "attributes", "anomalies")] if known else [None] * 4
        printed = published.sizes.get(graph, (None,) * 4)
        cells = [_pair(a, b) for a, b in zip(ours, printed, strict=True)]
        lines.append([published.title(graph), _planting(rows, graph), *cells])
    note = f"Each edge is counted once; planted cliques add edges. {published.sizes_note}".rstrip()
    columns = ["graph", "anomalies are", "nodes", "edges", "attributes", "anomalies"]
    return ResultTable("graphs", "Graphs", columns, lines, note)


def _planting(rows: Sequence[Row], graph: str) -> str:
    planted = [row for row in select(rows, graph=graph) if row["protocol"] != "as found"]
    if not planted:
        return "as found"
    arguments = ", ".join(f"{name} {value}" for name, value in planted[0]["settings"]["planting"].items())
    return f"planted ({planted[0]['protocol']}): {arguments}"


def _pair(ours: int | None, printed: int | None) -> str:
    if ours is None:
        return "unknown" if printed is None else f"unknown ({printed:,})"
    return f"{ours:,}" + (f" ({printed:,})" if printed is not None and printed != ours else "")


def _failures(rows: Sequence[Row], published: PublishedFigures) -> ResultTable:
    count: dict[tuple[str, ...], int] = {}
    for experiment in dict.fromkeys(row["experiment"] for row in rows):
        for row in unique(rows, experiment):
            if row["status"] != "ok":
                graph = published.title(row["graph"])
                if "generate" in row["settings"]:
                    graph += " ({n_nodes:,} nodes)".format(**row["settings"]["generate"])
                key = (experiment, graph, row["row"], VIEW_NAMES[row["view"]], row["status"], row["reason"] or "")
                count[key] = count.get(key, 0) + 1
    columns = ["experiment", "graph", "detector", "attributes", "status", "reason", "cells"]
    return ResultTable("failures", "Failures", columns, [[*key, str(n)] for key, n in count.items()])


def _entries(rows: Sequence[Row]) -> list[tuple[str, bool, str | None]]:
    """Return row name, whether it is a second row, and score; a score of None only for rows that have no other."""
    entries = distinct(rows, "row", "second", "score")
    with_scores = {entry[:2] for entry in entries if entry[2] is not None}
    kept = [entry for entry in entries if entry[2] is not None or entry[:2] not in with_scores]
    order = {row: position for position, (row,) in enumerate(distinct(rows, "row"))}
    return sorted(kept, key=lambda entry: (order[entry[0]], entry[1]))


def _of_score(rows: Sequence[Row], score: str | None) -> list[Row]:
    """Return the rows of one ranking, including those of failed fits, which have no ranking."""
    return [row for row in rows if row["score"] in (score, None)]


def _label(row: str, score: str | None) -> str:
    name = SCORE_NAMES.get(score, score or "")
    return f"{row}, {name}" if name else row


def _reasons(here: Sequence[Row]) -> str:
    reasons = [f"{status}: {reason}" if reason else status for status, reason in distinct(here, "status", "reason")]
    return "; ".join(reason for reason in reasons if not reason.startswith("ok"))
