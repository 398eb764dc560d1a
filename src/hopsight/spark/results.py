"""The result of a detection on Spark: ranked nodes and edges, with the columns that the local engine writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.spark.blocks import Layout, cached, rows_of
from hopsight.spark.graph import hub_degree, salted_join
from hopsight.spark.inputs import with_row_numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Detection:
    """A finished detection, with its tables on the cluster.

    Attributes
    ----------
    scores
        One row per node, most anomalous first: node, rank, score, flagged, judged, degree, ahp, iv, hav.
    edges
        One row per edge, farthest first: source, target, rank, hop, probability, variance.
    threshold
        The score above which a node is flagged.
    losses
        Loss of each epoch.
    graph
        Number of nodes, edges, attributes and blocks, and of merged duplicates and removed self-loops.
    stages
        Seconds, tasks, and rows and bytes shuffled, for each stage.
    notices
        Sentences about what was changed or left out.
    nodes, attribute_names
        The attributes as numbers, ``id, features``, and the name of each.
    """

    scores: DataFrame
    edges: DataFrame
    threshold: float
    losses: NDArray[np.float64]
    graph: dict[str, Any]
    stages: dict[str, dict[str, float]]
    notices: list[str]
    nodes: DataFrame
    attribute_names: list[str]

    @property
    def network(self) -> dict[str, Any]:
        """The old name of ``graph``."""
        warnings.warn("Detection.network is now called Detection.graph", DeprecationWarning, stacklevel=2)
        return self.graph


PLACES = 1 << 32  # more than the positions in a block
_PLACE = f"block * {PLACES} + position"


def node_table(rows: DataFrame, nodes: DataFrame, threshold: float) -> DataFrame:
    """Return the scores with ids and ranks; ties keep the order of the node table."""
    named = rows.join(nodes.select("id", "row", "block", "position"), ["block", "position"])
    ordered = cached(named.orderBy("score", "row", ascending=[False, True]).drop("block", "position", "row"))
    flagged = f"cast(score > cast('{threshold!r}' as double) as int) as flagged"
    return with_row_numbers(ordered).selectExpr(
        "id as node", "row + 1 as rank", "score", flagged, "judged", "degree", "ahp", "iv", "hav"
    )


def edge_table(edges: DataFrame, layout: Layout, nodes: DataFrame, rows: DataFrame, n_edges: int) -> DataFrame:
    """Return the edges with ids and ranks, ordered by hop count from the largest; ``rows`` tell the hubs."""
    schema = "one long, other long, hop double, probability double, variance double"
    names = [part.split()[0] for part in schema.split(", ")]

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                u, v = (np.frombuffer(row[name], dtype=np.int32) for name in ("u", "v"))
                hop, variance, probability, _ = np.frombuffer(row["values"]).reshape(4, -1)
                i, j = layout.pairs[row["cell"]]
                columns = (i * PLACES + u.astype(np.int64), j * PLACES + v.astype(np.int64), hop, probability, variance)
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)

    many = rows.filter(rows["degree"] > hub_degree(n_edges, layout.n_tasks))
    hubs = [row["place"] for row in many.selectExpr(f"{_PLACE} as place").collect()]
    ends = edges.mapInArrow(unpack, schema)
    for end, other in (("one", "other"), ("other", "one")):
        ids = nodes.selectExpr(f"{_PLACE} as {end}", f"id as {end}_id", f"row as {end}_row")
        ends = salted_join(ends, ids, end, other, hubs, layout.n_tasks)
    first = "one_row < other_row"  # as in the local engine, the source is the node that comes first in the table
    ends = ends.selectExpr(
        f"if({first}, one_id, other_id) as source",
        f"if({first}, other_id, one_id) as target",
        f"if({first}, one_row, other_row) as source_row",
        f"if({first}, other_row, one_row) as target_row",
        "hop",
        "probability",
        "variance",
    )
    keys = ("hop", "probability", "source_row", "target_row")
    ordered = cached(ends.orderBy(*keys, ascending=[False, True, True, True]).drop("source_row", "target_row"))
    return with_row_numbers(ordered).selectExpr("source", "target", "row + 1 as rank", "hop", "probability", "variance")
