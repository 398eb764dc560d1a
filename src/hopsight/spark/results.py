"""The result of a detection on Spark: ranked nodes and edges, with the columns that the local engine writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.detectors.tails import flag_limit
from hopsight.explanations.attributes import Places
from hopsight.explanations.edges import edge_reasons
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EDGE_SHAPE, KINDS, EdgeBaseline, EdgeFeatures
from hopsight.hcm.groups import Group, find_groups
from hopsight.metrics import ranks
from hopsight.spark.blocks import (
    Array,
    Layout,
    OrderedColumn,
    Row,
    arc_ends,
    column,
    double,
    in_order,
    map_columns,
    ordered_columns,
)
from hopsight.spark.labels import Taught
from hopsight.spark.model import edge_features, edge_values
from hopsight.spark.session import splitting_hubs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHARES = np.linspace(0.02, 0.98, 49)  # of the nodes, below the quantiles that a model keeps
EDGE_VALUES = ("hop", "probability", "variance", "surprise", "score")
NODE_VALUES = ("degree", "ahp", "iv", "hav", *KINDS)
GROUP_KINDS = ("ring", "lockstep")
MOST_SUSPECTS = 1 << 20
MOST_EDGES = 1 << 23


@dataclass(frozen=True)
class Detection:
    """A finished detection, with its tables on the cluster.

    Attributes
    ----------
    scores
        One row per node, most anomalous first: node, rank, score, flagged, judged, degree, ahp, iv, hav, each kind of
        evidence, and decided_by, the kind that adds most to the score.
    edges
        One row per edge, most anomalous first: source, target, rank, hop, probability, variance, surprise, score,
        flagged, reason.
    groups
        Rings and lockstep groups; their members are ids.
    fitted
        What does not grow with the graph of the values that the local engine sets on a fitted CrossHCM, by their names
        there: thresholds, posterior samples, loss, and what is usual among nodes and edges.
    graph
        Number of nodes, edges, attributes and blocks, and of merged duplicates and removed self-loops, and whether
        edges are directed.
    seconds
        How long each stage took.
    notices
        Sentences about what was changed or left out.
    nodes, attribute_names
        The attributes as numbers, ``id, features``, and the name of each.
    detector
        The hyperparameters.
    taught
        What was learned from labels.
    """

    scores: DataFrame
    edges: DataFrame
    groups: list[Group]
    fitted: dict[str, Any]
    graph: dict[str, Any]
    seconds: dict[str, float]
    notices: list[str]
    nodes: DataFrame
    attribute_names: list[str]
    detector: CrossHCM
    taught: Taught | None = None

    def model(self) -> CrossHCM:
        """Return a detector that judges other graphs on one machine, and can be saved.

        It has the scores of this graph as coarse quantiles, and explains nothing.
        """
        model = replace(self.detector)
        for name, value in self.fitted.items():
            setattr(model, name, value)
        model.decision_score_ = _coarse(self.scores, "score")
        model.label_ = (model.decision_score_ > self.threshold).astype(np.int64)
        vars(model)["without_graph_"], model.learned_, model.edge_learned_ = True, None, None
        if self.taught is not None:
            before, limit = _coarse(self.taught.before, "score"), self.taught.threshold_before
            label = (before > limit).astype(np.int64)
            vars(model).update(
                learned_=self.taught.learned,
                before_={"decision_score_": before, "label_": label, "threshold_": np.array([limit])},
                probability_=_coarse(self.scores, "anomaly_probability"),
                rank_before_=ranks(before),
            )
        model.flow_baseline_ = model.relation_baseline_ = None  # the engine reads neither events nor relations
        return model

    @property
    def threshold(self) -> float:
        """The score above which a node is flagged."""
        return float(self.fitted["threshold_"])

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of each epoch."""
        return np.asarray(self.fitted["loss_"])


def _coarse(rows: DataFrame, column: str) -> NDArray[np.float64]:
    """Return the numbers of a column as 1,001 interpolated quantiles."""
    found = rows.approxQuantile(column, SHARES.tolist(), 1e-3)
    return np.interp(np.linspace(0.0, 1.0, 1001), SHARES, found)


def node_table(rows: DataFrame, nodes: DataFrame, detector: CrossHCM, threshold: float) -> DataFrame:
    """Return the scores with ids and ranks; ties keep the order of the node table."""
    decided = ", ".join(f"'{kind}'" for kind in detector.evidence)
    values = ["cast(1 as int) as judged", *NODE_VALUES]
    values += [f"element_at(array({decided}), decided_by + 1) as decided_by"] if detector.score == "evidence" else []
    values += [name for name in ("anomaly_probability", "rank_before") if name in rows.columns]
    named = rows.join(nodes.selectExpr("id", "number", "row as place"), "number").drop("number")
    ordered = in_order(named, score=False, place=True)
    return ordered.selectExpr("id as node", "row + 1 as rank", "score", _flagged(threshold), *values)


def edge_rows(judged: DataFrame, layout: Layout, baseline: EdgeBaseline) -> DataFrame:
    """Return one row per edge: the numbers of both ends, the values and the score."""
    names = (*EDGE_VALUES, "dissimilarity")

    def unpack(row: Row) -> tuple[Array, ...]:
        known = edge_values(row) | {"score": baseline.scores(edge_features(row))}
        return (*arc_ends(layout.ends(row), column(row, "way")), *(known[name] for name in names))

    schema = ", ".join(["one long, other long", *(f"{name} double" for name in names)])
    return map_columns(judged, unpack, schema)


def edge_threshold(edges: DataFrame, n_edges: int, false_alarms: float) -> float:
    """Return the score above which an edge is flagged."""
    return flag_limit(OrderedColumn(ordered_columns(edges, ["score"]), n_edges), false_alarms, EDGE_SHAPE)


def edge_table(edges: DataFrame, nodes: DataFrame, threshold: float, *, directed: bool) -> DataFrame:
    """Return the edges with ids and ranks, the highest score first; the column ``dissimilarity`` comes last."""
    for end in ("one", "other"):
        ids = nodes.selectExpr(f"number as {end}", f"id as {end}_id", f"row as {end}_row")
        edges = edges.join(ids, end)
    # as in the local engine without events, the source of an edge without direction is the end with the first id
    first = "true" if directed else "one_id < other_id"
    named = edges.selectExpr(
        f"if({first}, one_id, other_id) as source",
        f"if({first}, other_id, one_id) as target",
        f"if({first}, one_row, other_row) as source_row",
        f"if({first}, other_row, one_row) as target_row",
        *EDGE_VALUES,
        "dissimilarity",
    )
    with splitting_hubs(edges.sparkSession):
        ordered = in_order(named, score=False, hop=False, probability=True, source_row=True, target_row=True)
    flagged = _flagged(threshold)
    return ordered.selectExpr("source", "target", "row + 1 as rank", *EDGE_VALUES, flagged, "dissimilarity")


def with_reasons(edges: DataFrame, sample: NDArray[np.float64]) -> DataFrame:
    """Replace the column ``dissimilarity``, the last one, by the reasons of the local engine.

    A reason compares the edge with a ``sample`` of dissimilarities; in a graph that fits on one machine this has all.
    """
    from pyspark.sql.types import StructType

    schema = StructType(edges.schema.fields[:-1]).add("reason", "string")
    known = edges.sparkSession.sparkContext.broadcast(sample)

    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        places = Places(known.value)
        for batch in batches:
            hop, dissimilarity = (batch.column(name).to_numpy() for name in ("hop", "dissimilarity"))
            values = SimpleNamespace(edge_hop_=hop, edge_dissimilarity_=dissimilarity)
            reasons: Any = edge_reasons(values, np.arange(batch.num_rows), places)
            columns = [*batch.columns[:-1], reasons.to_arrow().cast(pa.string())]
            yield pa.RecordBatch.from_arrays(columns, schema.names)

    return edges.mapInArrow(add, schema)


def collect_groups(
    scores: DataFrame, edges: DataFrame, nodes: DataFrame, baseline: EdgeBaseline, thresholds: Array, notices: list[str]
) -> list[Group]:
    """Return the groups of the local engine, with ids as members: collect the suspects and the edges among them.

    If the suspects or their edges are too many for the driver, a notice says so and no group is returned.
    """
    from pyspark.sql import functions as F  # noqa: N812

    limits = {kind: float(thresholds[KINDS.index(kind)]) for kind in GROUP_KINDS}
    suspects = scores.filter(" or ".join(f"{kind} > {double(limit)}" for kind, limit in limits.items()))
    n_suspects = suspects.count()
    if n_suspects > MOST_SUSPECTS:
        notices.append(f"Searched for no groups: more than {MOST_SUSPECTS:,} nodes may belong to one.")
        return []
    if n_suspects == 0:
        return []
    known = suspects.select("number", *GROUP_KINDS).join(nodes.select("number", "id", "row"), "number")
    rows = known.orderBy("row").toArrow()
    numbers = rows.column("number").to_numpy()
    few = F.broadcast(edges.sparkSession.createDataFrame(pa.table({"number": numbers})))
    for end in ("one", "other"):
        edges = edges.join(few.withColumnRenamed("number", end), end, "left_semi")
    if edges.count() > MOST_EDGES:
        notices.append(f"Searched for no groups: more than {MOST_EDGES:,} edges connect nodes that may belong to one.")
        return []
    table = edges.select("one", "other", "hop", "surprise", "dissimilarity").toArrow()
    one, other, *values = (each.to_numpy() for each in table.columns)
    features, order = EdgeFeatures(*values), np.argsort(numbers)
    ends = order[np.searchsorted(numbers, np.stack([one, other]), sorter=order)]
    ids = np.array(rows.column("id").to_pylist(), dtype=None if pa.types.is_integer(rows.column("id").type) else object)
    found: list[Group] = []
    for kind, side in zip(GROUP_KINDS, (baseline.strangeness(features), baseline.alikeness(features)), strict=True):
        evidence = rows.column(kind).to_numpy()
        found += find_groups(kind, ends, side, evidence, evidence > limits[kind])
    return [replace(group, members=ids[group.members]) for group in found]


def _flagged(threshold: float) -> str:
    return f"cast(score > {double(threshold)} as int) as flagged"
