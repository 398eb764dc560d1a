"""Write the explanations and the HTML report of a detection on Spark from an excerpt of the graph."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import plural
from hopsight.explanations import Explainer, Explanation
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.hcm.groups import Group
from hopsight.report.nodes import PageNodes
from hopsight.report.page import excerpt_page
from hopsight.runs.results import write_groups
from hopsight.spark.results import EDGE_VALUES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from hopsight.spark.results import Detection

NEIGHBORS = 60  # of each top node, along its most anomalous edges
BACKGROUND = 2000  # sampled nodes, evenly spread over the ranking
EDGES = 25_000
GROUP_MEMBERS = 5000  # of the first groups; further groups are not shown


@dataclass(frozen=True)
class Excerpt:
    """The top nodes with the neighbors that fit them least, and a sample of all nodes.

    Attributes
    ----------
    nodes
        One array per column of the scores; ``node`` holds the ids.
    features
        Attributes of these nodes, (n_nodes, n_attributes).
    edges
        Edges among the top nodes and their neighbors: ``source`` and ``target`` (positions in ``nodes``), and the other
        columns of the edges but the rank.
    top
        Positions of the top nodes, most anomalous first.
    background
        Positions of the sample.
    groups
        The first groups, with positions as members.
    """

    nodes: dict[str, Any]
    features: NDArray[np.float64]
    edges: dict[str, NDArray[Any]]
    top: NDArray[np.int64]
    background: NDArray[np.int64]
    groups: list[Group]


def collect_excerpt(found: Detection, n_top: int) -> Excerpt:
    """Return the excerpt with the ``n_top`` most anomalous nodes of a detection."""
    step = max(1, -(-found.graph["n_nodes"] // BACKGROUND))
    top = [row["node"] for row in found.scores.filter(f"rank <= {n_top}").orderBy("rank").select("node").collect()]
    groups = _first_groups(found.groups)
    shown = {*top, *_neighbors(found.edges, top), *(node for group in groups for node in group.members.tolist())}
    members = _ids(found.scores, sorted(shown))
    sampled = (found.scores["rank"] % step) == 0
    rows = found.scores.filter(sampled).unionAll(found.scores.join(members, "node", "left_semi")).distinct().collect()
    rows.sort(key=lambda row: row["rank"])
    ids = [row["node"] for row in rows]
    place = {node: position for position, node in enumerate(ids)}
    pairs = _edges(found.edges, members)
    features = {row["id"]: row["features"] for row in _chosen(found.nodes, _ids(found.scores, ids)).collect()}
    ends = {end: np.array([place[row[end]] for row in pairs], dtype=np.int64) for end in ("source", "target")}
    values = {name: np.array([row[name] for row in pairs]) for name in (*EDGE_VALUES, "flagged")}
    return Excerpt(
        {name: np.array([row[name] for row in rows]) for name in found.scores.columns if name != "node"}
        | {"node": ids},
        np.array([features[node] for node in ids]),
        ends | values,
        np.array([place[node] for node in top]),
        np.flatnonzero([row["rank"] % step == 0 for row in rows]),
        [replace(group, members=np.array([place[node] for node in group.members.tolist()])) for group in groups],
    )


def _first_groups(groups: list[Group]) -> list[Group]:
    """Return the first groups, as many as have few members together."""
    n_members = np.cumsum([group.members.size for group in groups])
    return groups[: int(np.searchsorted(n_members, GROUP_MEMBERS, side="right"))]


def _ids(scores: DataFrame, ids: list[Any]) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    field = next(field for field in scores.schema.fields if field.name == "node")
    return F.broadcast(scores.sparkSession.createDataFrame([(node,) for node in ids], StructType([field])))


def _neighbors(edges: DataFrame, top: list[Any]) -> list[Any]:
    """Return the other ends of the top nodes' most anomalous edges."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    forth, back = (
        edges.select(F.col(one).alias("node"), F.col(other).alias("other"), "rank")
        for one, other in (("source", "target"), ("target", "source"))
    )
    both = forth.unionAll(back).filter(F.col("node").isin(top))
    place = F.row_number().over(Window.partitionBy("node").orderBy("rank"))
    near = both.withColumn("place", place).filter(f"place <= {NEIGHBORS}")
    return [row["other"] for row in near.select("other").distinct().collect()]


def _edges(edges: DataFrame, members: DataFrame) -> list[Any]:
    for end in ("source", "target"):
        edges = edges.join(members.withColumnRenamed("node", end), end, "left_semi")
    return edges.orderBy("rank").limit(EDGES).collect()


def _chosen(nodes: DataFrame, ids: DataFrame) -> DataFrame:
    return nodes.join(ids.withColumnRenamed("node", "id"), "id", "left_semi").select("id", "features")


class ShownCrossHCM(CrossHCM):
    """A CrossHCM with the values of an excerpt, whose groups were found on the cluster."""

    groups_: list[Group] = []  # noqa: RUF012


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
    shown = PageNodes(explainer, ranks=excerpt.nodes["rank"], degrees=excerpt.nodes["degree"])
    page = excerpt_page(shown, explainer, explanations, record, _of_the_whole(excerpt, record))
    page.write(folder / "report.html")


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


def _of_the_whole(excerpt: Excerpt, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page says about the whole graph instead of the excerpt."""
    sizes, n_flagged = record["graph"], record["n_flagged"]
    facts = [["Nodes", sizes["n_nodes"]], ["Edges", sizes["n_edges"]]]
    facts += [["Attributes", sizes["n_attributes"]], ["Flagged", n_flagged]]
    examined = (
        f"CrossHCM examined {plural(sizes['n_nodes'], 'node')} and {plural(sizes['n_edges'], 'edge')} on "
        f"Spark and flagged {plural(n_flagged, 'node')} ({100 * n_flagged / sizes['n_nodes']:.2g}%) with a score above "
        f"{record['threshold']:.4g}. This page shows the top nodes with their neighbors, and the distribution of "
        f"scores in a sample of {plural(excerpt.background.size, 'node')}."
    )
    return {"facts": facts, "examined": examined}


def _percentile(values: Any, value: float) -> float:
    return 100 * float(np.mean(values < value))
