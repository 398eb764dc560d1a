"""Table 1 and what goes with it: one table a network, mean ranks, networks, and what did not work."""

from __future__ import annotations

from collections.abc import Sequence

from hopsight.benchmark.graphs import N_COMPONENTS, setup_of
from hopsight.benchmark.measure import CUTS
from hopsight.benchmark.published import NOTES, SIZES, paper_value
from hopsight.benchmark.results import Row, distinct, mean_of, select, unique
from hopsight.benchmark.tables import Table, difference, mean_sd, number, seconds, size
from hopsight.metrics import mid_ranks

VIEW_NAMES = {"raw": "as given", "scaled": "standardized", "reduced": f"{N_COMPONENTS} components"}
SCORE_NAMES = {"ahp": "AHP", "hav": "HAV", "score": "", None: ""}


def comparison_tables(suite: str, rows: Sequence[Row]) -> list[Table]:
    """Return the tables about detectors on networks."""
    compared = select(rows, experiment="comparison")
    networks = [network for (network,) in distinct(compared, "network")]
    tables = [_overview(compared, networks)]
    if suite == "peers":
        tables.append(_mean_ranks(compared, networks))
    tables += [_one_network(select(compared, network=network), network) for network in networks]
    return [*tables, _networks(compared, networks), _failures(rows)]


def _overview(rows: Sequence[Row], networks: Sequence[str]) -> Table:
    lines = []
    for row, second, score in _entries(rows):
        cells = []
        for network in networks:
            here = _of_score(select(rows, row=row, second=second, network=network), score)
            auc, paper = mean_of(here, "auc"), paper_value(row, score, network)
            cells.append(_overview_cell(mean_sd(auc), paper, difference(auc, paper), here))
        if any(cells):
            lines.append([_label(row, score), "raw" if second else "usual", *cells])
    note = (
        "Ours (mean ± sd over repetitions) / the paper's (difference). Usual attributes: where anomalies are planted, "
        f"{N_COMPONENTS} principal components, the same for all methods of the paper; elsewhere, and for plain HCM and "
        "CrossHCM, what the detector makes of the network's own. Detectors that no seed changes are run once for each "
        "injection. " + " ".join(NOTES)
    )
    columns = ["detector", "attributes", *(setup_of(network).title for network in networks)]
    return Table("table1", "Table 1: ROC-AUC", columns, lines, note)


def _overview_cell(ours: str, paper: float | None, gap: str, here: Sequence[Row]) -> str:
    if not ours:
        ours = ", ".join(status for (status,) in distinct(here, "status") if status != "ok")
    if paper is None:
        return ours
    return f"{ours} / {paper:.3f}" + (f" ({gap})" if gap else "")


def _one_network(rows: Sequence[Row], network: str) -> Table:
    cut = CUTS[-1] if any(f"precision_at_{CUTS[-1]}" in row for row in rows) else CUTS[0]
    columns = [
        "detector", "attributes", "paper", "ROC-AUC", "difference", "95 % interval", "average precision",
        "precision at n", f"precision at {cut}", f"recall at {cut}", "AUC structure", "AUC attribute", "seconds",
        "peak memory", "repetitions",
    ]  # fmt: skip
    lines = [_line(rows, row, second, score, network, cut) for row, second, score in _entries(rows)]
    first = next((row for row in rows if row.get("anomalies")), None)
    note = (
        "The interval is DeLong's for one ranking, averaged over the repetitions; n is the number of anomalies"
        + (f", {first['anomalies']} of {first['nodes']:,} nodes here" if first else "")
        + ". AUC structure and attribute: anomalies of that kind against all normal nodes. Peak memory is that of the "
        "whole process, libraries and network included; seconds are those of the fit."
    )
    return Table(f"network_{network}", setup_of(network).title, columns, lines, note)


def _line(rows: Sequence[Row], row: str, second: bool, score: str | None, network: str, cut: int) -> list[str]:
    here = _of_score(select(rows, row=row, second=second), score)
    auc, paper = mean_of(here, "auc"), paper_value(row, score, network)
    low, high = mean_of(here, "auc_low"), mean_of(here, "auc_high")
    done = select(here, status="ok")
    time, memory = mean_of(done, "seconds"), mean_of(done, "memory_peak_mb")
    name = _label(row, score)
    if any(entry["uses_labels"] for entry in here):
        name += " (uses the labels)"
    return [
        name,
        VIEW_NAMES[here[0]["view"]],
        number(paper),
        mean_sd(auc) or _reason(here),
        difference(auc, paper),
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


def _mean_ranks(rows: Sequence[Row], networks: Sequence[str]) -> Table:
    """Rank all detectors on each network (1 = best); one that failed there shares the last place."""
    usual = [row for row in rows if not row["uses_labels"]]
    entries = [(row, score) for row, _, score in _entries(usual) if score is not None]
    columns: dict[str, list[float]] = {}
    for network in networks:
        means = [mean_of(select(usual, row=row, score=score, network=network), "auc") for row, score in entries]
        if any(means):
            columns[network] = list(mid_ranks([-mean.mean if mean else 1.0 for mean in means]))
    mean_rank = [sum(ranks[i] for ranks in columns.values()) / max(1, len(columns)) for i in range(len(entries))]
    lines = [
        [_label(*entries[i]), number(mean_rank[i], 1), *(f"{ranks[i]:g}" for ranks in columns.values())]
        for i in sorted(range(len(entries)), key=mean_rank.__getitem__)
    ]
    note = (
        "Rank of the mean ROC-AUC among all rows, 1 = best. What failed on a network shares the last place there; rows "
        "that use the labels are left out."
    )
    titles = [setup_of(network).title for network in columns]
    return Table("ranks", "Mean rank over the networks", ["detector", "mean rank", *titles], lines, note)


def _networks(rows: Sequence[Row], networks: Sequence[str]) -> Table:
    lines = []
    for network in networks:
        known = [row for row in select(rows, network=network, view="raw") if row.get("nodes")]
        ours = [known[0][name] for name in ("nodes", "edges", "attributes", "anomalies")] if known else [None] * 4
        paper = SIZES.get(network, (None,) * 4)
        cells = [_pair(a, b) for a, b in zip(ours, paper, strict=True)]
        lines.append([setup_of(network).title, _planting(rows, network), *cells])
    note = (
        "Ours, and in brackets the paper's where it differs. Edges are counted once; planted cliques add edges. The "
        "files of Amazon and Enron have 21 and 18 attributes, not 28 and 20; Flickr has 12,047, the paper's 12,074 has "
        "two digits exchanged."
    )
    columns = ["network", "anomalies are", "nodes", "edges", "attributes", "anomalies"]
    return Table("networks", "Networks", columns, lines, note)


def _planting(rows: Sequence[Row], network: str) -> str:
    planted = [row for row in select(rows, network=network) if row["protocol"] != "as found"]
    if not planted:
        return "as found"
    planting = planted[0]["settings"]["planting"]
    return (
        f"planted ({planted[0]['protocol']}): {planting['n_cliques']} cliques of {planting['clique_size']}, "
        f"{planting['n_attribute']} attribute rows"
    )


def _pair(ours: int | None, paper: int | None) -> str:
    if ours is None:
        return "not at hand" if paper is None else f"not at hand ({paper:,})"
    return f"{ours:,}" + (f" ({paper:,})" if paper is not None and paper != ours else "")


def _failures(rows: Sequence[Row]) -> Table:
    seen: dict[tuple[str, ...], int] = {}
    for experiment in dict.fromkeys(row["experiment"] for row in rows):
        for row in unique(rows, experiment):
            if row["status"] != "ok":
                network = setup_of(row["network"]).title
                if row["network"] == "generated":
                    network += " ({n_nodes:,} nodes, {n_edges:,} edges)".format(**row["settings"])
                key = (experiment, network, row["row"], VIEW_NAMES[row["view"]], row["status"], row["reason"] or "")
                seen[key] = seen.get(key, 0) + 1
    columns = ["experiment", "network", "detector", "attributes", "what", "reason", "cells"]
    return Table("failures", "What did not end well", columns, [[*key, str(n)] for key, n in seen.items()])


def _entries(rows: Sequence[Row]) -> list[tuple[str, bool, str | None]]:
    """Return row name, whether a second row, and score, without the empty score of a row that has others."""
    entries = distinct(rows, "row", "second", "score")
    with_scores = {entry[:2] for entry in entries if entry[2] is not None}
    kept = [entry for entry in entries if entry[2] is not None or entry[:2] not in with_scores]
    order = {row: position for position, (row,) in enumerate(distinct(rows, "row"))}
    return sorted(kept, key=lambda entry: (order[entry[0]], entry[1]))


def _of_score(rows: Sequence[Row], score: str | None) -> list[Row]:
    """Return the rows of one ranking, with those of fits that failed and so have none."""
    return [row for row in rows if row["score"] in (score, None)]


def _label(row: str, score: str | None) -> str:
    name = SCORE_NAMES.get(score, score or "")
    return f"{row}, {name}" if name else row


def _reason(here: Sequence[Row]) -> str:
    reasons = [f"{status}: {reason}" if reason else status for status, reason in distinct(here, "status", "reason")]
    return "; ".join(reason for reason in reasons if not reason.startswith("ok"))
