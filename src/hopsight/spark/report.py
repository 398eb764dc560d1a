"""Write the explanations and the HTML report of a detection on Spark from an excerpt of the graph."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import plural
from hopsight.explanations import Explainer, Explanation
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.hcm.groups import Group
from hopsight.report.page import SCRIPTS, report_data
from hopsight.report.shell import write_page
from hopsight.runs.results import write_groups
from hopsight.spark.excerpt import NEIGHBORS, Excerpt
from hopsight.spark.results import EDGE_VALUES


class ShownCrossHCM(CrossHCM):
    """A CrossHCM with the values of an excerpt, whose groups were found on the cluster."""

    groups_: list[Group] = []  # noqa: RUF012
    stability_: NDArray[np.float64]  # after several fits


ShownCrossHCM.__name__ = CrossHCM.__name__  # the name that explanations and the report print


def write_reasons(
    folder: Path,
    excerpt: Excerpt,
    detector: Any,
    names: list[str],
    fitted: Mapping[str, Any],
    record: Mapping[str, Any],
) -> None:
    """Write ``explanations.json``, ``groups.csv`` and ``report.html``; ``fitted`` is that of the detection.

    The excerpt is explained as if it were the whole graph. Ranks, degrees and sizes are then replaced by those in the
    whole graph, and percentiles by those among the sampled nodes.
    """
    graph, model = _fitted(excerpt, detector, names, fitted, record)
    explainer = Explainer(model, graph)
    n_nodes = record["graph"]["n_nodes"]
    explanations = [_in_whole_graph(explainer, excerpt, position, n_nodes) for position in excerpt.top.tolist()]
    reasons = json.dumps([reason.to_dict() for reason in explanations], indent=1, ensure_ascii=False)
    (folder / "explanations.json").write_text(reasons, encoding="utf-8")
    write_groups(folder / "groups.csv", graph, model)
    data = report_data(model, graph, explanations, record)
    write_page(folder / "report.html", f"{graph.name} · hopsight", _corrected(data, excerpt, record), SCRIPTS)


def _fitted(
    excerpt: Excerpt, detector: Any, names: list[str], fitted: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[AttributedGraph, Any]:
    """Return the excerpt as a graph, and a detector with the fitted values of that graph."""
    path = (record.get("request") or {}).get("source", {}).get("path")
    source, target = excerpt.edges["source"], excerpt.edges["target"]
    graph = AttributedGraph.from_edges(
        source,
        target,
        excerpt.features,
        node_ids=excerpt.nodes["node"],
        attribute_names=names,
        directed=record["graph"].get("directed", False),
        name=Path(path).stem if path else "Graph",
    )
    model = ShownCrossHCM(**{field.name: getattr(detector, field.name) for field in dataclasses.fields(detector)})
    model.groups_ = excerpt.groups
    for name, value in fitted.items():
        setattr(model, name, value)
    model.decision_score_, model.label_ = excerpt.nodes["score"], excerpt.nodes["flagged"]
    model.judged_ = excerpt.nodes["judged"].astype(bool)
    model.ahp_, model.iv_, model.hav_ = (excerpt.nodes[name] for name in ("ahp", "iv", "hav"))
    model.evidence_ = {kind: excerpt.nodes[kind] for kind in KINDS}
    if "decided_by" in excerpt.nodes:
        model.decided_by_ = np.array([detector.evidence.index(kind) for kind in excerpt.nodes["decided_by"]])
    if "stability" in excerpt.nodes:
        model.stability_ = excerpt.nodes["stability"]
    model.edge_index_, model.directed_ = graph.edges, graph.directed
    ends = (source, target) if graph.directed else (np.minimum(source, target), np.maximum(source, target))
    order = np.lexsort(ends[::-1])  # that of graph.edges
    for name in EDGE_VALUES:
        setattr(model, f"edge_{name}_", excerpt.edges[name][order])
    model.edge_label_ = excerpt.edges["flagged"][order]
    return graph, model


def _in_whole_graph(explainer: Explainer, excerpt: Excerpt, position: int, n_nodes: int) -> Explanation:
    """Explain a node of the excerpt, with its rank and degree in the whole graph."""
    reasons = explainer.node(excerpt.nodes["node"][position], absent=0)
    place = {node: number for number, node in enumerate(excerpt.nodes["node"])}
    degrees, ranks = excerpt.nodes["degree"], excerpt.nodes["rank"]
    sample = excerpt.background
    neighbors = tuple(
        dataclasses.replace(each, rank=int(ranks[place[each.node]]), degree=int(degrees[place[each.node]]))
        for each in reasons.neighbors
    )
    values = tuple(
        dataclasses.replace(each, percentile=_percentile(excerpt.nodes[each.name][sample], each.value))
        for each in reasons.values
        if each.name in excerpt.nodes
    )
    notes = [*reasons.notes, f"Percentiles are those in a sample of {plural(sample.size, 'node')}."]
    if degrees[position] > len(neighbors):
        notes.append(f"Only the {NEIGHBORS} neighbors along its most anomalous edges are listed.")
    return dataclasses.replace(
        reasons,
        rank=int(ranks[position]),
        n_nodes=n_nodes,
        degree=int(degrees[position]),
        degree_percentile=_percentile(degrees[sample], degrees[position]),
        neighbors=neighbors,
        values=values,
        notes=tuple(notes),
    )


def _corrected(data: dict[str, Any], excerpt: Excerpt, record: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the sizes, ranks and degrees on the page by those of the whole graph."""
    sizes, n_flagged = record["graph"], record["n_flagged"]
    place = {str(node): position for position, node in enumerate(excerpt.nodes["node"])}
    nodes = [*data["nodes"], *data["more"]["nodes"]]
    for row in nodes:
        position = place.get(row[0])
        if position is not None:
            row[2:4] = int(excerpt.nodes["rank"][position]), int(excerpt.nodes["degree"][position])
    for number, around in (data["egos"] | data["more"]["egos"]).items():
        around["total"] = nodes[number][3]
    data["facts"] = [["Nodes", sizes["n_nodes"]], ["Edges", sizes["n_edges"]]]
    data["facts"] += [["Attributes", sizes["n_attributes"]], ["Flagged", n_flagged]]
    data["summary"][0] = (
        f"{data['detector']} examined {plural(sizes['n_nodes'], 'node')} and {plural(sizes['n_edges'], 'edge')} on "
        f"Spark and flagged {plural(n_flagged, 'node')} ({100 * n_flagged / sizes['n_nodes']:.2g}%) with a score above "
        f"{record['threshold']:.4g}. This page shows the top nodes with their neighbors, and the distribution of "
        f"scores in a sample of {plural(excerpt.background.size, 'node')}."
    )
    return data


def _percentile(values: Any, value: float) -> float:
    return 100 * float(np.mean(values < value))
