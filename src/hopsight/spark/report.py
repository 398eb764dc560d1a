"""Reasons and the HTML report for the top nodes of a detection on Spark, from an excerpt of the network."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.explain import Explainer, Explanation
from hopsight.graph import AttributedGraph
from hopsight.report.page import SCRIPTS, report_data
from hopsight.report.shell import write_page
from hopsight.spark.excerpt import NEIGHBORS, Excerpt


def write_reasons(
    folder: Path, part: Excerpt, detector: Any, names: list[str], threshold: float, record: Mapping[str, Any]
) -> None:
    """Write ``explanations.json`` and ``report.html``.

    The excerpt is explained as if it were the network; then ranks, degrees and sizes get their values in the whole
    one, and percentiles those among the sample of all nodes.
    """
    graph, model = _fitted(part, detector, names, threshold, record)
    explainer = Explainer(model, graph)
    whole = record["graph"]["n_nodes"]
    explanations = [_in_the_whole(explainer, part, position, whole) for position in part.top.tolist()]
    reasons = json.dumps([reason.to_dict() for reason in explanations], indent=1, ensure_ascii=False)
    (folder / "explanations.json").write_text(reasons, encoding="utf-8")
    data = report_data(model, graph, explanations, record)
    write_page(folder / "report.html", f"{graph.name} · hopsight", _corrected(data, part, record), SCRIPTS)


def _fitted(
    part: Excerpt, detector: Any, names: list[str], threshold: float, record: Mapping[str, Any]
) -> tuple[AttributedGraph, Any]:
    """Return the excerpt as a network, and a detector that has judged it."""
    path = (record.get("request") or {}).get("source", {}).get("path")
    graph = AttributedGraph.from_edges(
        part.edges["source"],
        part.edges["target"],
        part.features,
        node_ids=part.nodes["node"],
        attribute_names=names,
        name=Path(path).stem if path else "network",
    )
    model = dataclasses.replace(detector)
    first, second = (np.minimum, np.maximum)
    ends = np.stack([op(part.edges["source"], part.edges["target"]) for op in (first, second)])
    order = np.lexsort(ends[::-1])
    model.decision_score_, model.threshold_ = part.nodes["score"], threshold
    model.label_ = part.nodes["flagged"]
    model.judged_ = part.nodes["judged"].astype(bool)
    model.ahp_, model.iv_, model.hav_ = (part.nodes[name] for name in ("ahp", "iv", "hav"))
    model.edge_index_, model.loss_ = graph.edges, np.asarray(record["losses"])
    for name in ("hop", "probability", "variance"):
        setattr(model, f"edge_{name}_", part.edges[name][order])
    return graph, model


def _in_the_whole(explainer: Explainer, part: Excerpt, position: int, n_nodes: int) -> Explanation:
    """Explain a node of the excerpt, and put it where it stands in the whole network."""
    reasons = explainer.node(part.nodes["node"][position], absent=0)
    place = {node: number for number, node in enumerate(part.nodes["node"])}
    degrees, ranks = part.nodes["degree"], part.nodes["rank"]
    neighbors = tuple(
        dataclasses.replace(each, rank=int(ranks[place[each.node]]), degree=int(degrees[place[each.node]]))
        for each in reasons.neighbors
    )
    values = tuple(
        dataclasses.replace(each, percentile=_percentile(part.nodes[each.name][part.background], each.value))
        for each in reasons.values
        if each.name in part.nodes
    )
    notes = [*reasons.notes, f"Percentiles are those among {part.background.size:,} nodes that stand for all."]
    if degrees[position] > len(neighbors):
        notes.append(f"Only the {NEIGHBORS} neighbors that look farthest are listed.")
    return dataclasses.replace(
        reasons,
        rank=int(ranks[position]),
        n_nodes=n_nodes,
        degree=int(degrees[position]),
        degree_percentile=_percentile(degrees[part.background], degrees[position]),
        neighbors=neighbors,
        values=values,
        notes=tuple(notes),
    )


def _corrected(data: dict[str, Any], part: Excerpt, record: Mapping[str, Any]) -> dict[str, Any]:
    """Give the page the sizes, ranks and degrees of the whole network."""
    sizes, flagged = record["graph"], record["n_flagged"]
    by_name = {str(node): at for at, node in enumerate(part.nodes["node"])}
    for row in data["nodes"]:
        at = by_name.get(row[0])
        if at is not None:
            row[2:4] = int(part.nodes["rank"][at]), int(part.nodes["degree"][at])
    for number, around in data["egos"].items():
        around["total"] = data["nodes"][number][3]
    data["facts"] = [["Nodes", sizes["n_nodes"]], ["Edges", sizes["n_edges"]]]
    data["facts"] += [["Attributes", sizes["n_attributes"]], ["Flagged", flagged]]
    data["summary"][0] = (
        f"{data['detector']} looked at {sizes['n_nodes']:,} nodes and {sizes['n_edges']:,} edges on Spark and flags "
        f"{flagged:,} nodes ({100 * flagged / sizes['n_nodes']:.2g} %), those with a score above "
        f"{record['threshold']:.4g}. Shown are the top nodes with their neighbors; the distribution of scores is that "
        f"of {part.background.size:,} nodes that stand for all."
    )
    return data


def _percentile(values: Any, value: float) -> float:
    return 100 * float(np.mean(values < value))
