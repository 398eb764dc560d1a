"""``report.html``: the results of one detection as a self-contained page."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.detectors.table import decided_by, evidence_of
from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.attributes import AttributeComparison
from hopsight.explanations.edge_explanation import compared, edge_values, plainest
from hopsight.explanations.evidence import MEANINGS
from hopsight.explanations.groups import Shared
from hopsight.graph import AttributedGraph
from hopsight.report.archive import archive, packed_json
from hopsight.report.flagged import with_flagged
from hopsight.report.glossary import GLOSSARY
from hopsight.report.neighborhood import MAX_DRAWN, MAX_DRAWN_FOR_OTHERS, Neighborhoods, cut
from hopsight.report.shell import embedded_json, write_page
from hopsight.report.words import details, summary
from hopsight.system.arrays import plain

SCRIPTS = ("charts.js", "ego.js", "node.js", "overview.js", "archive.js", "report.js")
SPACE = 4_850_000  # characters of the data of a page; scripts and styles take less than 100,000 more
N_BINS = 48
N_EDGES = 100
N_FIRST = 20  # nodes that the page shows before it unpacks the rest, with larger drawings
N_DRAWN, MAX_DRAWN_MEMBERS = 6, 16  # groups on the first screen, and members of each
MAX_LOSSES = 600
N_GROUPS = 50
N_DIFFERENCES = 2  # attributes in which the ends of an edge differ most
N_EDGE_VALUES = 3  # columns of the edge list in the table of edges
MAX_MEMBERS = 40  # of one group
MAX_NEIGHBORS = 100  # rows in the table of one node


def write_report(
    path: str | Path,
    model: Any,
    graph: AttributedGraph,
    explanations: Sequence[Explanation],
    run: Mapping[str, Any],
    *,
    files: Sequence[str] = (),
    explainer: Explainer | None = None,
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
    files
        Files in the same folder that the page links to.
    explainer
        What explained the nodes; it saves sorting edges and attributes again.
    """
    name = graph.name or "Graph"
    data = full_data(explainer or Explainer(model, graph), explanations, run) | {"files": list(files)}
    write_page(Path(path), f"{name} · hopsight", data, SCRIPTS)


def full_data(explainer: Explainer, explanations: Sequence[Explanation], run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the contents of the page as plain values, with all nodes of the graph if they fit."""
    model, graph = explainer.model, explainer.graph
    explanations, sentences = with_flagged(explainer, explanations)
    shown = Neighborhoods(graph, model, explainer.edges)
    data = report_data(model, graph, explanations, run, shown)
    more = packed_json(plain(data.pop("more"), digits=6))
    found = archive(model, graph, sentences, SPACE - len(more) - len(embedded_json(data)), shown.edges)
    return data | {"more": more, "archive": found, "n_explained": data["n_explained"] + len(sentences)}


def report_data(
    model: Any,
    graph: AttributedGraph,
    explanations: Sequence[Explanation],
    run: Mapping[str, Any],
    shown: Neighborhoods | None = None,
) -> dict[str, Any]:
    """Return the contents of the page as plain values: the explained nodes and what is around them.

    ``more`` has what is not on the first screens: further nodes, drawings and reasons.
    """
    shown = shown or Neighborhoods(graph, model)
    positions = [graph.index_of(each.node) for each in explanations]
    top = [shown.number(position) for position in positions]
    groups = list(getattr(model, "groups_", ()))
    edges = shown.edges.first(N_EDGES)
    differing, shared = AttributeComparison(graph), Shared(graph)
    first = _around(shown, graph, positions[:N_FIRST], explanations[:N_FIRST])
    listed = {
        "edges": [[*shown.edge(edge), *_out_of_place(shown, differing, edge)] for edge in edges.tolist()],
        "groups": [_group(shown, shared, number, group) for number, group in enumerate(groups[:N_GROUPS], start=1)],
        "n_groups": len(groups),
        "edge_data": [each.name for each in edge_values(graph, 0)[:N_EDGE_VALUES]] if graph.n_edges else [],
    }
    drawn = [position for group in groups[:N_DRAWN] for position in group.members[:MAX_DRAWN_MEMBERS].tolist()]
    first["egos"] |= shown.around_others((), drawn)
    n_first = len(shown.nodes)
    more = _around(shown, graph, positions[N_FIRST:], explanations[N_FIRST:])
    members = [position for group in groups[:N_GROUPS] for position in group.members[:MAX_MEMBERS].tolist()]
    ends = [*graph.edges[:, edges].T.ravel().tolist(), *members]
    more["egos"] |= shown.around_others([*positions, *drawn], ends)
    kinds = evidence_of(model)
    columns = [] if kinds else [name for name in getattr(type(model), "node_values", {}) if hasattr(model, f"{name}_")]
    return {
        **_about(model, graph, explanations, run),
        "columns": columns,
        "kinds": [[kind, kind in model.evidence, MEANINGS[kind]] for kind in kinds],
        "evidence": _evidence(model, positions, top),
        "stability": dict(zip(top, model.stability_[positions], strict=True)) if hasattr(model, "stability_") else {},
        **listed,
        **first,
        "top": [
            [number, *(getattr(model, f"{column}_")[position] for column in columns)]
            for number, position in zip(top, positions, strict=True)
        ],
        "nodes": shown.nodes[:n_first],
        "truth": _labels(graph, shown.positions[:n_first]),
        "more": {**more, "nodes": shown.nodes[n_first:], "truth": _labels(graph, shown.positions[n_first:])},
        "n_explained": sum(each.flagged for each in explanations),  # of the flagged nodes
        "glossary": GLOSSARY,
        "files": [],
        "archive": None,
    }


def _about(
    model: Any, graph: AttributedGraph, explanations: Sequence[Explanation], run: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the page says about the run as a whole."""
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
        "losses": _thinned(getattr(model, "loss_", ())),
        "burn_in": getattr(model, "burn_in", None),
        "warnings": list(run.get("warnings") or ()),
        "details": details(run),
    }


def _around(
    shown: Neighborhoods, graph: AttributedGraph, positions: Sequence[int], explanations: Sequence[Explanation]
) -> dict[str, Any]:
    """Return drawings and reasons of explained nodes; those after the first ones have fewer neighbors."""
    egos, reasons = {}, {}
    for position, each in zip(positions, explanations, strict=True):
        number = shown.number(position)
        drawn, listed = (MAX_DRAWN, MAX_NEIGHBORS) if number < N_FIRST else (MAX_DRAWN_FOR_OTHERS, MAX_DRAWN_FOR_OTHERS)
        egos[number] = shown.around(position, drawn)
        reasons[number] = node_reasons(shown, graph, each, listed)
    return {"egos": egos, "reasons": reasons}


def _evidence(model: Any, positions: Sequence[int], numbers: Sequence[int]) -> dict[int, list[Any]]:
    """Return what decided and the strength of each kind, by the numbers of nodes."""
    kinds, decided = evidence_of(model), decided_by(model)
    return {
        number: [None if decided is None else str(decided[position]), *(each[position] for each in kinds.values())]
        for position, number in zip(positions, numbers, strict=True)
        if kinds
    }


def _labels(graph: AttributedGraph, positions: Sequence[int]) -> list[int]:
    """Return what is known of nodes: 1 anomalous, 0 normal, -1 unknown; nothing without labels."""
    return [] if graph.labels is None else graph.labels[list(positions)].tolist()


def _facts(graph: AttributedGraph, model: Any) -> list[list[Any]]:
    return [
        ["Nodes", graph.n_nodes],
        ["Edges", graph.n_edges],
        ["Attributes", graph.n_attributes],
        ["Flagged", int((model.decision_score_ > model.threshold_).sum())],
    ]


def _group(shown: Neighborhoods, shared: Shared, number: int, group: Any) -> list[Any]:
    """Return number, kind, members, size, density, score and what the members share."""
    members = [shown.number(position) for position in group.members[:MAX_MEMBERS].tolist()]
    about = cut(shared.among(group.members))
    return [number, group.kind, members, group.members.size, group.density, group.score, about]


def _out_of_place(shown: Neighborhoods, differing: AttributeComparison, edge: int) -> list[Any]:
    """Return the score of an edge, whether it is flagged, how unlike its ends are, what differs most, and its data."""
    model = shown.model
    start, end = shown.graph.edges[:, edge].tolist()
    gaps = differing.gaps(start, np.array([end]), 4 * N_DIFFERENCES)
    rows = [compared(gap) for gap in plainest(gaps, N_DIFFERENCES)]
    return [
        shown.edges.optional("score", edge),
        int(model.edge_label_[edge]) if hasattr(model, "edge_label_") else 0,
        shown.edges.unlikeness(np.array([edge]))[0],
        cut("; ".join(f"{name} {own} / {theirs}" for name, own, theirs, _ in rows)),
        [[each.value, each.text] for each in edge_values(shown.graph, edge)[:N_EDGE_VALUES]],
    ]


def node_reasons(
    shown: Neighborhoods, graph: AttributedGraph, explanation: Explanation, most: int = MAX_NEIGHBORS
) -> dict[str, Any]:
    """Return what the panel of one node shows beside its neighborhood, with at most so many neighbors."""
    neighbors = explanation.neighbors[:most]
    without = explanation.without
    return {
        "summary": explanation.summary,
        "why": explanation.in_short,
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
