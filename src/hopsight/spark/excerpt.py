"""Collect the part of a graph that the report shows; its size is bounded for graphs of any size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.groups import Group
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
