"""The result of a detection on Spark: ranked nodes and edges, with the columns that the local engine writes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.groups import Group
from hopsight.spark.blocks import cached, rows_of
from hopsight.spark.cells import arc_ends
from hopsight.spark.edge_reasons import EdgeReasons
from hopsight.spark.graph import EDGE_TYPES, SparkGraph, hub_degree, salted_join
from hopsight.spark.inputs import with_row_numbers
from hopsight.spark.judging import edge_readings, edge_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHARES = np.linspace(0.02, 0.98, 49)  # of the nodes, below the quantiles that a model keeps


@dataclass(frozen=True)
class Detection:
    """A finished detection, with its tables on the cluster.

    Attributes
    ----------
    scores
        One row per node, most anomalous first: node, rank, score, flagged, judged, degree, ahp, iv, hav, each kind of
        evidence, decided_by, the strongest kind that counts, and, after several fits, stability.
    edges
        One row per edge, most anomalous first: source, target, rank, hop, probability, variance, surprise, score,
        flagged, reason.
    groups
        Rings and lockstep groups; their members are ids.
    fitted
        What does not grow with the graph of the values that the local engine sets on a fitted CrossHCM, by their names
        there: laws, thresholds, posterior samples, loss.
    graph
        Number of nodes, edges, attributes and blocks, and of merged duplicates and removed self-loops, and whether
        edges are directed.
    stages
        Seconds, tasks, and rows and bytes shuffled, for each stage.
    notices
        Sentences about what was changed or left out.
    nodes, attribute_names
        The attributes as numbers, ``id, features``, and the name of each.
    detector
        The hyperparameters.
    """

    scores: DataFrame
    edges: DataFrame
    groups: list[Group]
    fitted: dict[str, Any]
    graph: dict[str, Any]
    stages: dict[str, dict[str, float]]
    notices: list[str]
    nodes: DataFrame
    attribute_names: list[str]
    detector: CrossHCM

    def model(self) -> CrossHCM:
        """Return a detector that judges other graphs on one machine, and can be saved.

        It has the scores of this graph as coarse quantiles, and explains nothing. It still reveals what every model
        does: the extremes of some columns and the attributes of a few nodes.
        After several fits it judges with the networks of the first and the threshold of the mean.
        """
        model = replace(self.detector)
        for name, value in self.fitted.items():
            setattr(model, name, value)
        found = self.scores.approxQuantile("score", SHARES.tolist(), 1e-3)
        model.decision_score_ = np.interp(np.linspace(0.0, 1.0, 1001), SHARES, found)
        model.label_ = (model.decision_score_ > self.threshold).astype(np.int64)
        vars(model)["without_graph_"], model.learned_ = True, None
        return model

    @property
    def threshold(self) -> float:
        """The score above which a node is flagged."""
        return float(self.fitted["threshold_"])

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of each epoch."""
        return np.asarray(self.fitted["loss_"])

    @property
    def network(self) -> dict[str, Any]:
        """The old name of ``graph``."""
        warnings.warn("Detection.network is now called Detection.graph", DeprecationWarning, stacklevel=2)
        return self.graph


EDGE_VALUES = ("hop", "probability", "variance", "surprise", "score")
PLACES = 1 << 32  # more than the positions in a block
_PLACE = f"block * {PLACES} + position"


def node_table(rows: DataFrame, nodes: DataFrame, threshold: float) -> DataFrame:
    """Return the scores with ids and ranks; ties keep the order of the node table."""
    values = [name for name in rows.columns if name not in ("block", "position", "score")]
    named = rows.join(nodes.select("id", "row", "block", "position"), ["block", "position"])
    ordered = cached(named.orderBy("score", "row", ascending=[False, True]).drop("block", "position", "row"))
    return with_row_numbers(ordered).selectExpr("id as node", "row + 1 as rank", "score", _flagged(threshold), *values)


def edge_table(edges: DataFrame, graph: SparkGraph, rows: DataFrame, fitted: dict[str, Any]) -> DataFrame:
    """Return the edges with ids, ranks and reasons, the highest score first; ``rows`` tell the hubs."""
    layout, nodes, laws = graph.layout, graph.nodes, fitted["edge_baseline_"]
    reasons = EdgeReasons.of(edges, graph.n_edges)
    schema = f"one long, other long, {', '.join(f'{name} double' for name in EDGE_VALUES)}, about int"
    names = [part.split()[0] for part in schema.split(", ")]

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in rows_of(batch):
                u, v, way = (np.frombuffer(row[name], dtype=EDGE_TYPES[name]) for name in ("u", "v", "way"))
                known = edge_values(row) | {"score": laws.scores(edge_readings(row))}
                i, j = layout.pairs[row["cell"]]
                ends = arc_ends(i * PLACES + u.astype(np.int64), j * PLACES + v.astype(np.int64), way)
                columns = (*ends, *(known[name] for name in EDGE_VALUES), reasons.numbers(known["dissimilarity"]))
                yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], names)

    many = rows.filter(rows["degree"] > hub_degree(graph.n_edges, layout.n_tasks))
    hubs = [row["place"] for row in many.selectExpr(f"{_PLACE} as place").collect()]
    ends = edges.mapInArrow(unpack, schema)
    for end, other in (("one", "other"), ("other", "one")):
        ids = nodes.selectExpr(f"{_PLACE} as {end}", f"id as {end}_id", f"row as {end}_row")
        ends = salted_join(ends, ids, end, other, hubs, layout.n_tasks)
    # as in the local engine, the source of an edge without direction is the node that comes first in the table
    first = "true" if graph.directed else "one_row < other_row"
    ends = ends.selectExpr(
        f"if({first}, one_id, other_id) as source",
        f"if({first}, other_id, one_id) as target",
        f"if({first}, one_row, other_row) as source_row",
        f"if({first}, other_row, one_row) as target_row",
        *EDGE_VALUES,
        "about",
    )
    keys = {"score": False, "hop": False, "probability": True, "source_row": True, "target_row": True}
    ordered = cached(ends.orderBy(*keys, ascending=list(keys.values())).drop("source_row", "target_row"))
    flagged = _flagged(fitted["edge_threshold_"])  # texts are made last, so that they are not shuffled
    ranked = with_row_numbers(ordered).selectExpr("*", "row + 1 as rank", flagged)
    return ranked.select(
        "source", "target", "rank", *EDGE_VALUES, "flagged", reasons.column("hop", "about").alias("reason")
    )


def _flagged(threshold: float) -> str:
    return f"cast(score > cast('{threshold!r}' as double) as int) as flagged"
