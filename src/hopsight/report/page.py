"""``report.html``: the results of one detection as a self-contained page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.detectors.table import decided_by, evidence_of
from hopsight.explanations import Explanation
from hopsight.explanations.attributes import AttributeComparison
from hopsight.explanations.evidence import MEANINGS
from hopsight.explanations.groups import shared
from hopsight.explanations.reasons import compared
from hopsight.graph import AttributedGraph
from hopsight.report.flagged import with_flagged
from hopsight.report.neighborhood import MAX_DRAWN, MAX_DRAWN_FOR_OTHERS, Neighborhoods, cut
from hopsight.report.shell import write_page
from hopsight.report.words import details, summary

SCRIPTS = ("charts.js", "ego.js", "node.js", "overview.js", "report.js")
N_BINS = 48
N_EDGES = 100
MAX_LOSSES = 600
N_GROUPS = 50
N_DIFFERENCES = 2  # attributes in which the ends of an edge differ most
MAX_MEMBERS = 40  # of one group
MAX_NEIGHBORS = 100  # rows in the table of one node


def write_report(
    path: str | Path,
    model: Any,
    graph: AttributedGraph,
    explanations: Sequence[Explanation],
    run: Mapping[str, Any],
) -> None:
    """Write the HTML report of one detection.

    Parameters
    ----------
    path
        The file to write.
    model
        The fitted detector.
    graph
        The graph it was fitted on.
    explanations
        The explanations of the nodes to show, most anomalous first.
    run
        The record of the run: any of ``started``, ``parameters``, ``seed``, ``versions``, ``machine``, ``graph``,
        ``seconds``, ``labels`` and ``warnings`` is shown.
    """
    name = graph.name or "Graph"
    write_page(Path(path), f"{name} · hopsight", report_data(model, graph, explanations, run), SCRIPTS)


def report_data(
    model: Any, graph: AttributedGraph, explanations: Sequence[Explanation], run: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the contents of the page as plain values."""
    shown = Neighborhoods(graph, model)
    n_first = len(explanations)
    explanations = with_flagged(model, graph, explanations)
    positions = [graph.index_of(each.node) for each in explanations]
    egos = {
        shown.number(position): shown.around(position, MAX_DRAWN if place < n_first else MAX_DRAWN_FOR_OTHERS)
        for place, position in enumerate(positions)
    }
    reasons = {
        shown.number(position): node_reasons(shown, graph, each)
        for position, each in zip(positions, explanations, strict=True)
    }
    edges = shown.edges.ranking[:N_EDGES]
    groups = list(getattr(model, "groups_", ()))
    members = [position for group in groups[:N_GROUPS] for position in group.members[:MAX_MEMBERS].tolist()]
    egos |= shown.around_others(positions, [*graph.edges[:, edges].T.ravel().tolist(), *members])
    kinds, decided = evidence_of(model), decided_by(model)
    columns = [] if kinds else [name for name in getattr(type(model), "node_values", {}) if hasattr(model, f"{name}_")]
    differing = AttributeComparison(graph)
    scores = np.asarray(model.decision_score_, dtype=np.float64)
    return {
        "name": graph.name or "Graph",
        "detector": type(model).__name__,
        "method": next((each.method for each in explanations if each.method), None),
        "started": run.get("started"),
        "summary": summary(model, graph, explanations, run),
        "facts": _facts(graph, model),
        "scores": _histogram(scores) | {"threshold": float(model.threshold_)},
        "range": {"scores": np.quantile(scores, (0.5, 0.995)), "hops": hop_range(model)},
        "columns": columns,
        "kinds": [[kind, kind in model.evidence, MEANINGS[kind]] for kind in kinds],
        "evidence": {
            shown.number(position): [
                None if decided is None else str(decided[position]),
                *(values[position] for values in kinds.values()),
            ]
            for position in positions
            if kinds
        },
        "stability": {
            shown.number(position): model.stability_[position] for position in positions if hasattr(model, "stability_")
        },
        "groups": [_group(shown, graph, number, group) for number, group in enumerate(groups[:N_GROUPS], start=1)],
        "n_groups": len(groups),
        "nodes": shown.nodes,
        "top": [
            [shown.number(position), *(getattr(model, f"{column}_")[position] for column in columns)]
            for position in positions
        ],
        "edges": [[*shown.edge(edge), *_out_of_place(shown, differing, edge)] for edge in edges.tolist()],
        "egos": egos,
        "reasons": reasons,
        "losses": _thinned(getattr(model, "loss_", ())),
        "burn_in": getattr(model, "burn_in", None),
        "warnings": list(run.get("warnings") or ()),
        "details": details(run),
    }


def _facts(graph: AttributedGraph, model: Any) -> list[list[Any]]:
    return [
        ["Nodes", graph.n_nodes],
        ["Edges", graph.n_edges],
        ["Attributes", graph.n_attributes],
        ["Flagged", int((model.decision_score_ > model.threshold_).sum())],
    ]


def _group(shown: Neighborhoods, graph: AttributedGraph, number: int, group: Any) -> list[Any]:
    """Return number, kind, members, size, density, score and what the members share."""
    members = [shown.number(position) for position in group.members[:MAX_MEMBERS].tolist()]
    about = cut(shared(graph, group.members))
    return [number, group.kind, members, group.members.size, group.density, group.score, about]


def _out_of_place(shown: Neighborhoods, differing: AttributeComparison, edge: int) -> list[Any]:
    """Return the score of an edge, whether it is flagged, how unlike its ends are, and what differs most."""
    model = shown.model
    start, end = shown.graph.edges[:, edge].tolist()
    rows = [compared(gap) for gap in differing.gaps(start, np.array([end]), N_DIFFERENCES)]
    unlike = shown.edges.unlikeness
    return [
        shown.edges.optional("score", edge),
        int(model.edge_label_[edge]) if hasattr(model, "edge_label_") else 0,
        None if unlike is None else unlike[edge],
        cut("; ".join(f"{name} {own} / {theirs}" for name, own, theirs, _ in rows)),
    ]


def node_reasons(shown: Neighborhoods, graph: AttributedGraph, explanation: Explanation) -> dict[str, Any]:
    """Return what the panel of one node shows beside its neighborhood."""
    neighbors = explanation.neighbors[:MAX_NEIGHBORS]
    without = explanation.without
    return {
        "summary": explanation.summary,
        "own": [[cut(each.name), each.value, each.place] for each in explanation.own_values],
        "degree_percentile": explanation.degree_percentile,
        "neighbors": [
            [
                shown.number(graph.index_of(each.node)),
                *(each.hop, each.variance, each.probability, each.contribution, each.unlikeness),
            ]
            for each in neighbors
        ],
        "attributes": [
            # name, value, low, median, high, difference, percentile, share, category
            [cut(each.name), *dataclasses.astuple(each)[1:]]
            for each in explanation.attributes
        ],
        "values": [[each.name, each.value, each.percentile, each.meaning] for each in explanation.values],
        "without": None
        if without is None
        else {
            "neighbors": [shown.number(graph.index_of(node)) for node in without.neighbors],
            "score": without.score,
            "rank": without.rank,
        },
        "notes": list(explanation.notes),
    }


def _histogram(scores: Any) -> dict[str, Any]:
    counts, edges = np.histogram(scores, bins=min(N_BINS, max(5, int(np.sqrt(scores.size)))))
    return {"edges": edges, "counts": counts}


def hop_range(model: Any) -> list[float]:
    """Return the hop counts that are drawn nearest and farthest."""
    hops = getattr(model, "edge_hop_", None)
    return [1.0, 2.0] if hops is None or not len(hops) else [1.0, max(2.0, float(np.max(hops)))]


def _thinned(losses: Any) -> list[list[float]]:
    """Return at most a few hundred [epoch, loss] pairs, always including the last."""
    values = np.asarray(losses, dtype=np.float64)
    if not values.size:
        return []
    epochs = np.unique(np.linspace(0, values.size - 1, min(values.size, MAX_LOSSES)).astype(np.int64))
    return [[int(epoch) + 1, float(values[epoch])] for epoch in epochs]
