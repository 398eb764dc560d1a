"""Explain nodes and edges of a finished run from its folder alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopsight.checks import option
from hopsight.explanations import EdgeExplanation, Explainer, Explanation, GroupExplanation
from hopsight.explanations.near import near_names, no_node
from hopsight.graph import AttributedGraph
from hopsight.runs.folder import OVER_TIME, RECORD
from hopsight.runs.record import read_record
from hopsight.runs.repeats import read_repeats
from hopsight.runs.tables import table_of
from hopsight.system.cells import unguarded


def explain(
    folder: Path, node: str | None = None, target: str | None = None, *, group: int | None = None
) -> Explanation | EdgeExplanation | GroupExplanation:
    """Explain a node of a finished run, the edge from one node to another, or a group by its number."""
    if (node is None) == (group is None):
        raise ValueError(f"explain takes a node, the two nodes of an edge, or {option('group')}")
    model, graph = open_run(folder)
    explainer = Explainer(model, graph)
    if node is None:
        return explainer.group(group or 0)
    if target is None:
        return explainer.node(find_node(graph, node))
    return explainer.edge(find_node(graph, node), find_node(graph, target))


def open_run(folder: Path) -> tuple[Any, AttributedGraph]:
    """Return the model of a finished run, ready to be explained, and its graph."""
    from hopsight.detectors.storage import load_detector, with_edges
    from hopsight.loading import load

    record = read_record(folder)
    if (folder / OVER_TIME).is_file():
        raise ValueError(
            f"{folder} is a run over time, which has no model of nodes: see its report.html and alerts.csv, or pass a "
            "node to hopsight explain"
        )
    if not (folder / "graph.npz").is_file() or not (folder / "model").is_dir():
        raise ValueError(
            f"{folder} lacks graph.npz or model, which explain needs: Spark does not write both, nor did the score "
            "command of older versions; repeat the run on one machine"
        )
    graph = load(folder / "graph.npz")
    model = load_detector(folder / "model")
    if model.decision_score_.shape != (graph.n_nodes,):
        raise ValueError(f"the model and the graph in {folder} do not belong together: repeat the run")
    if hasattr(model, "edge_hop_"):
        model = with_edges(model, graph.edges)
    if record.get("repeat") not in (None, 1):
        limit = record.get("threshold")
        if not isinstance(limit, float | int):
            raise ValueError(f"{folder / RECORD} is damaged: it has no threshold; repeat the run")
        model = read_repeats(model, graph, table_of(folder, "scores"), float(limit))
    return model, graph


def find_node(graph: AttributedGraph, text: str) -> Any:
    """Return the node id that a text means: an id as in the graph or in ``scores.csv``, or the name of one node."""
    for written in dict.fromkeys((text, unguarded(text))):
        try:
            return graph.node_ids[graph.index_of(written)]
        except ValueError:
            continue
    names = [str(name) for name in graph.node_ids.tolist()]
    titles = [] if graph.node_names is None else [str(name) for name in graph.node_names.tolist()]
    same = [place for place, name in enumerate(names) if name.casefold() == text.casefold()]
    same = same or [place for place, name in enumerate(titles) if name.casefold() == text.casefold()]
    if len(same) == 1:
        return graph.node_ids[same[0]]
    near = [names[place] for place in same] or near_names(text, names)
    raise ValueError(no_node(text, near))
