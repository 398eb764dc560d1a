"""``report.html``: the results of one detection as a self-contained page, written to a file or shown in a notebook.

The page carries the flagged and the first nodes, with their reasons; ``hopsight explain`` knows all others.
"""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.detectors.table import decided_by, evidence_of, weights_of
from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.events import Calendar
from hopsight.explanations.explainer import label_of
from hopsight.explanations.groups import around, within
from hopsight.explanations.reasons import MEANINGS, OwnValue, compared, edge_values, moved, plainest
from hopsight.explanations.text import chance_of, shown_name, shown_value
from hopsight.graph import AttributedGraph
from hopsight.io.derive import FOR_COUNT
from hopsight.metrics import found_first, ranking, ranks
from hopsight.report.nodes import MAX_DRAWN, PageNodes, cut
from hopsight.report.shell import render_page
from hopsight.report.words import GLOSSARY, details, summary, title_of
from hopsight.system.files import write_whole
from hopsight.system.machine import versions

SCRIPTS = ("charts.js", "ego.js", "events.js", "node.js", "overview.js", "report.js")
MAX_SIZE = 5_000_000  # characters of a page
N_NODES = 2000  # that a page carries, or fewer if it would be too large
N_FIRST = 20  # nodes with larger drawings
MAX_DRAWN_FOR_OTHERS = 24  # neighbors
MAX_EDGES = 200_000  # of the nodes that are explained beside the first ones: a hub takes long
N_BINS = 48
MAX_SHARED = 600  # characters about what a group shares
N_EDGES = 100
N_GROUPS, MAX_MEMBERS = 50, 40  # groups that are listed, and members of each
N_DIFFERENCES = 2  # attributes in which the ends of an edge differ most
MOST_EVENTS, FEWER_EVENTS = 150, 40  # events that are drawn of each of the first nodes, and of each other one
N_EDGE_VALUES = 3  # columns of the edge list in the table of edges
HEIGHT = 720  # pixels of the frame in a notebook

IntArray = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class ReportPage:
    """A report as one HTML text; a notebook shows it in a frame of its own."""

    title: str
    text: str

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file and return its path; the file appears complete or not at all."""
        write_whole(Path(path), self.text)
        return Path(path)

    def __repr__(self) -> str:
        return f"ReportPage({self.title!r}, {len(self.text):,} characters; write(path) saves it)"

    def _repr_html_(self) -> str:
        # Its scripts run under the policy of the page; the frame keeps them and its styles away from the notebook.
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="{HEIGHT}" style="border:0" srcdoc="{html.escape(self.text)}"></iframe>'
        )


def report(model: Any, graph: AttributedGraph | None = None, *, top: int = 20, redact: bool = False) -> ReportPage:
    """Return the report of a fitted detector; as the last line of a cell, a notebook shows it.

    Parameters
    ----------
    model
        A fitted detector.
    graph
        The graph it was fitted on; needed for a detector loaded from disk, which does not keep it.
    top
        Number of nodes to explain.
    redact
        Replace the ids and names of nodes by numbers, so that the report can be shared. Attributes keep their names
        and values.
    """
    check_count("top", top)
    explainer = Explainer(model, graph)
    if redact:
        explainer = Explainer(model, redacted(explainer.graph, explainer.scores))
    known = explainer.graph
    first = list(explainer.many(ranking(explainer.scores, known.id_places)[:top].tolist()))
    run = {
        "detector": type(model).__name__,
        "seed": model.seed,
        "parameters": dataclasses.asdict(model),
        "versions": versions(),
        "labels": None if known.labels is None else found_first(known.labels, explainer.scores),
    }
    return report_page(explainer, first, run)


def redacted(graph: AttributedGraph, scores: Any) -> AttributedGraph:
    """Return the graph with numbers for ids, 1 for the most anomalous node, and without the names of nodes and graph.

    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["Ada", "Bo", "Cy"])
    >>> redacted(path, np.array([0.1, 0.9, 0.5])).node_ids.tolist()
    ['node 3', 'node 1', 'node 2']
    """
    numbers = [f"node {rank}" for rank in ranks(scores, graph.id_places).tolist()]
    context = graph.context
    if context is not None:  # cards and devices have names
        context = dataclasses.replace(context, others=[str(number + 1) for number in range(len(context.others))])
    return dataclasses.replace(graph, node_ids=numbers, node_names=None, context=context, name="", n_self_loops=0)


def report_page(
    explainer: Explainer, first: Sequence[Explanation], run: Mapping[str, Any], files: Sequence[str] = ()
) -> ReportPage:
    """Return the report of one detection, with as many nodes as fit.

    Parameters
    ----------
    explainer
        What explains the fitted detector.
    first
        The explanations of the first nodes, most anomalous first.
    run
        The record of the run: any of ``started``, ``parameters``, ``seed``, ``versions``, ``machine``, ``graph``,
        ``seconds``, ``labels`` and ``warnings`` is shown.
    files
        Files in the same folder that the page links to.
    """
    positions = [explainer.graph.index_of(each.node) for each in first]
    flagged = _flagged(explainer, positions)
    explained = dict(zip(positions, map(node_reasons, first), strict=True))
    explained |= zip(flagged, map(node_reasons, explainer.many(flagged, absent=0, influences=False)), strict=True)
    about = _about(explainer, first, run) | {"files": list(files)}
    order, n_nodes = ranking(explainer.scores, explainer.graph.id_places)[:N_NODES].tolist() if first else [], N_NODES
    while True:
        data = about | page_nodes(PageNodes(explainer), explainer, explained, order, n_nodes)
        page = ReportPage(f"{about['name']} · hopsight", render_page(f"{about['name']} · hopsight", data, SCRIPTS))
        if len(page.text) <= MAX_SIZE or n_nodes <= len(first):
            return page
        n_nodes = max(len(first), min(n_nodes, len(data["egos"])) * MAX_SIZE * 9 // (10 * len(page.text)))


def excerpt_page(
    shown: PageNodes,
    explainer: Explainer,
    explanations: Sequence[Explanation],
    run: Mapping[str, Any],
    whole: Mapping[str, Any],
) -> ReportPage:
    """Return the report of an excerpt of a graph; ``whole`` has the ``facts`` and the first paragraph, ``examined``."""
    positions = [explainer.graph.index_of(each.node) for each in explanations]
    explained = dict(zip(positions, map(node_reasons, explanations), strict=True))
    data = _about(explainer, explanations, run) | page_nodes(shown, explainer, explained, (), N_NODES)
    data |= {
        "facts": whole["facts"],
        "n_ranked": whole["facts"][0][1],
        "summary": [whole["examined"], *data["summary"][1:]],
    }
    return ReportPage(f"{data['name']} · hopsight", render_page(f"{data['name']} · hopsight", data, SCRIPTS))


def page_nodes(
    shown: PageNodes, explainer: Explainer, explained: Mapping[int, Any], order: Iterable[int], n_nodes: int
) -> dict[str, Any]:
    """Return the part of the page about nodes, edges and groups, as plain values.

    ``explained`` has the reasons of some nodes, by position. After them come the members of groups and the ends of the
    edges most out of place, then the nodes in ``order``, until ``n_nodes`` are on the page.
    """
    model, graph = explainer.model, explainer.graph
    groups, edges = explainer.groups.found[:N_GROUPS], explainer.edges.order[:N_EDGES]
    members = [position for group in groups for position in group.members[:MAX_MEMBERS].tolist()]
    ends = graph.edges[:, edges].T.ravel().tolist()
    carried = list(dict.fromkeys([*explained, *members, *ends, *order]))[:n_nodes]
    keys = {position: shown.key(position) for position in carried}
    drawn = dict.fromkeys(carried, MAX_DRAWN_FOR_OTHERS) | dict.fromkeys(carried[:N_FIRST], MAX_DRAWN)
    kinds, decided = evidence_of(model), decided_by(model)
    own = {} if kinds else {name: getattr(model, f"{name}_") for name in _own_columns(model)}
    labels, stability = graph.labels, getattr(model, "stability_", None)
    listed = {
        "edges": [_edge(shown, explainer, edge) for edge in edges.tolist()],
        "edge_data": [each.name for each in edge_values(graph, 0, explainer.calendar)[:N_EDGE_VALUES]]
        if graph.n_edges
        else [],
        "groups": [_group(shown, explainer, number, group) for number, group in enumerate(groups, start=1)],
        "n_groups": len(explainer.groups.found),
    }
    return listed | {
        "columns": list(own),
        "kinds": [[kind, weights_of(model)[kind] * (kind in model.evidence), MEANINGS[kind]] for kind in kinds],
        "top": [keys[position] for position in explained if position in keys],
        "reasons": {keys[position]: reasons for position, reasons in explained.items() if position in keys},
        "egos": {key: shown.around(position, drawn[position]) for position, key in keys.items()},
        "evidence": {
            key: [None if decided is None else str(decided[position]), *(each[position] for each in kinds.values())]
            for position, key in keys.items()
            if kinds
        },
        "values": {key: [each[position] for each in own.values()] for position, key in keys.items() if own},
        "stability": {} if stability is None else {key: stability[position] for position, key in keys.items()},
        "labeled": {key: word for position, key in keys.items() if (word := label_of(model, "learned_", position))},
        "truth": {} if labels is None else {key: labels[position] for position, key in keys.items()},
        "events": {
            keys[position]: shown.events(position, MOST_EVENTS if rank < N_FIRST else FEWER_EVENTS)
            for rank, position in enumerate(explained)
            if position in keys
        },
        "nodes": shown.rows,
    }


def node_reasons(explanation: Explanation) -> dict[str, Any]:
    """Return what the panel of one node shows beside its neighborhood."""
    without = explanation.without
    level = chance_of if explanation.flagged_from is not None else float
    return {
        "summary": explanation.summary,
        "why": explanation.in_short,
        # name, value as text, place among all nodes, value
        "own": [
            [cut(shown_name(each.name)), _own_text(each), each.place, each.value] for each in explanation.own_values
        ],
        "degree_percentile": explanation.degree_percentile,
        "attributes": [
            # name, value, neighbors as text; then value, low, median, high, difference, percentile, share
            [*(cut(cell) for cell in each.cells()[:3]), *dataclasses.astuple(each)[1:-1]]
            for each in explanation.attributes
        ],
        "values": [[each.name, each.value, each.percentile, each.meaning] for each in explanation.values],
        # the edges to the first neighbors are those most out of place, which the drawing begins with
        "without": None if without is None else [len(without.neighbors), level(without.score), without.rank],
        "notes": list(explanation.notes),
    }


def _own_text(own: OwnValue) -> str:
    return own.value if isinstance(own.value, str) else shown_value(own.name, own.value)


def level_range(explainer: Explainer) -> dict[str, Any]:
    """Return whether nodes have probabilities, the threshold, and the range of what drawings show."""
    least, hops = explainer.flagged_from, getattr(explainer.model, "edge_hop_", None)
    farthest = 2.0 if hops is None or not len(hops) else max(2.0, float(np.max(hops)))
    return {
        "probable": least is not None,
        "threshold": float(explainer.model.threshold_) if least is None else least,
        "range": {"scores": np.quantile(explainer.levels, (0.5, 0.995)), "hops": [1.0, farthest]},
    }


def _flagged(explainer: Explainer, known: Sequence[int]) -> list[int]:
    """Return the flagged nodes to explain beside those that are known, most anomalous first."""
    order = explainer.flagged
    order = order[~np.isin(order, known)]
    within = np.cumsum(explainer.graph.degrees[order]) <= MAX_EDGES
    found: list[int] = order[within][: max(0, N_NODES - len(known))].tolist() if known else []
    return found


def _about(explainer: Explainer, first: Sequence[Explanation], run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page says about the run as a whole."""
    model, graph, levels = explainer.model, explainer.graph, explainer.levels
    counts, edges = np.histogram(levels, bins=min(N_BINS, max(5, int(np.sqrt(levels.size)))))
    n_flagged = explainer.flagged.size
    sizes = [["Nodes", graph.n_nodes], ["Edges", graph.n_edges], ["Attributes", graph.n_attributes]]
    return {
        "name": title_of(graph, run),
        "detector": type(model).__name__,
        "method": next((each.method for each in first if each.method), None),
        "started": run.get("started"),
        "summary": summary(explainer, first, run),
        "facts": [*sizes, ["Flagged", n_flagged]],
        "n_ranked": graph.n_nodes if graph.ranked is None else int(graph.ranked.sum()),
        "scores": {"edges": edges, "counts": counts},
        **level_range(explainer),
        "warnings": list(run.get("warnings") or ()),
        "details": details(run),
        "glossary": GLOSSARY,
        "dates": Calendar.of(graph).pattern,
        "files": [],
    }


def _own_columns(model: Any) -> list[str]:
    return [name for name in getattr(type(model), "node_values", {}) if hasattr(model, f"{name}_")]


def _group(shown: PageNodes, explainer: Explainer, number: int, group: Any) -> list[Any]:
    """Return number, kind, members, size, density, score, what the members share, and the types of what is around."""
    graph = explainer.graph
    members = [shown.key(position) for position in group.members[:MAX_MEMBERS].tolist()]
    said, alike = (around(graph, group), within(graph, group)), explainer.groups.shared.among(group.members)
    about = cut(" ".join(filter(None, (*said, alike[0].upper() + alike[1:] if any(said) else alike))), MAX_SHARED)
    types = [] if graph.context is None else graph.context.other_types[list(group.around)].tolist()
    return [number, group.kind, members, group.members.size, group.density, group.score, about, types]


def _edge(shown: PageNodes, explainer: Explainer, edge: int) -> list[Any]:
    """Return ends, hops, variance, P(1 hop), unlikeness, score, flagged, why, its data, probability, rows.

    Of the first edges, what labels say is part of the reason. Data of several rows come with what these are in all.
    """
    model, graph, edges, learned = explainer.model, explainer.graph, explainer.edges, explainer.learned_edges
    start, end = graph.directions[:, edge].tolist()
    gaps = explainer.attributes.gaps(start, np.array([end])[edges.compared(np.array([edge]))], 4 * N_DIFFERENCES)
    seen = [gap for gap in gaps if not gap.name.endswith(FOR_COUNT)]  # in a table, at once
    rows = [compared(gap) for gap in plainest(seen or gaps, N_DIFFERENCES)]
    about = [] if edges.events is None else [edges.events.about(edges.events.strongest[edge])]
    if learned is not None and edges.ranks[edge] <= N_FIRST:
        about = [*moved(learned.influences(edge), "edge"), *about]
    differs = [f"{name} {own} / {theirs}" for name, own, theirs, _ in rows]
    return [
        *(shown.key(start), shown.key(end)),
        *(column[0] for column in edges.values(np.array([edge]))),
        edges.score(edge),
        int(model.edge_label_[edge]) if hasattr(model, "edge_label_") else 0,
        "; ".join(filter(None, (*about, *map(cut, differs)))),
        [[each.value, each.text] for each in edge_values(graph, edge, explainer.calendar)[:N_EDGE_VALUES]],
        None if learned is None else float(model.edge_anomaly_probability_[edge]),
        edges.merged(edge),
    ]
