"""What a detection on Spark returns: tables of nodes and edges with the columns that one machine writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.spark.blocks import Layout, kept, rows_of
from hopsight.spark.graph import hub_edges, looked_up
from hopsight.spark.tables import numbered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Detection:
    """A finished detection; both tables are still on the cluster.

    Attributes
    ----------
    scores
        One row a node, most anomalous first: node, rank, score, flagged, judged, degree, ahp, iv, hav.
    edges
        One row an edge, farthest-looking first: source, target, rank, hop, probability, variance.
    threshold
        The score above which a node is flagged.
    losses
        Of every epoch.
    network
        Sizes, and what was merged or removed.
    stages
        Seconds, tasks, rows and bytes shuffled, by stage.
    notices
        What the user may want to know.
    nodes, attribute_names
        Attributes as numbers: ``id, features``, and what each is called.
    """

    scores: DataFrame
    edges: DataFrame
    threshold: float
    losses: NDArray[np.float64]
    network: dict[str, Any]
    stages: dict[str, dict[str, float]]
    notices: list[str]
    nodes: DataFrame
    attribute_names: list[str]


PLACES = 1 << 32  # more than a block has positions
_PLACE = f"block * {PLACES} + position"


def node_table(rows: DataFrame, nodes: DataFrame, threshold: float) -> DataFrame:
    """Return the scores with ids and ranks; equal scores keep the order of the node table."""
    named = rows.join(nodes.select("id", "row", "block", "position"), ["block", "position"])
    ordered = kept(named.orderBy("score", "row", ascending=[False, True]).drop("block", "position", "row"))
    flagged = f"cast(score > cast('{threshold!r}' as double) as int) as flagged"
    return numbered(ordered).selectExpr(
        "id as node", "row + 1 as rank", "score", flagged, "judged", "degree", "ahp", "iv", "hav"
    )


def edge_table(edges: DataFrame, layout: Layout, nodes: DataFrame, rows: DataFrame, n_edges: int) -> DataFrame:
    """Return the edges with ids and ranks, the farther end hop first; ``rows`` say which nodes are hubs."""
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

    many = rows.filter(rows["degree"] > hub_edges(n_edges, layout.n_tasks))
    hubs = [row["place"] for row in many.selectExpr(f"{_PLACE} as place").collect()]
    ends = edges.mapInArrow(unpack, schema)
    for end, other in (("one", "other"), ("other", "one")):
        ids = nodes.selectExpr(f"{_PLACE} as {end}", f"id as {end}_id", f"row as {end}_row")
        ends = looked_up(ends, ids, end, other, hubs, layout.n_tasks)
    first = "one_row < other_row"  # as on one machine, where an edge begins at the node that comes first in the table
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
    ordered = kept(ends.orderBy(*keys, ascending=[False, True, True, True]).drop("source_row", "target_row"))
    return numbered(ordered).selectExpr("source", "target", "row + 1 as rank", "hop", "probability", "variance")
