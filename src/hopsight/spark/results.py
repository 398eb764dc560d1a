"""The result of a detection on Spark: ranked nodes and edges, groups, a model, and a report of an excerpt."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.checks import plural
from hopsight.detectors.tails import flag_limit
from hopsight.explanations import Explainer, Explanation
from hopsight.explanations.attributes import Places
from hopsight.explanations.edges import edge_reasons
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EDGE_SHAPE, KINDS, EdgeBaseline, EdgeFeatures
from hopsight.hcm.groups import Group, find_groups
from hopsight.metrics import ranks
from hopsight.report.nodes import PageNodes
from hopsight.report.page import excerpt_page
from hopsight.runs.results import write_groups
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
from hopsight.spark.evidence import Feedback
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
    feedback
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
    feedback: Feedback | None = None

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
        if self.feedback is not None:
            before, limit = _coarse(self.feedback.before, "score"), self.feedback.threshold_before
            label = (before > limit).astype(np.int64)
            vars(model).update(
                learned_=self.feedback.learned,
                before_={"decision_score_": before, "label_": label, "threshold_": np.array([limit])},
                probability_=_coarse(self.scores, "anomaly_probability"),
                rank_before_=ranks(before),
            )
        for name in ("flow_baseline_", "relation_baseline_", "relation_weights_"):
            setattr(model, name, None)  # the engine reads neither events nor relations
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


NEIGHBORS = 60  # of each top node, along its most anomalous edges
BACKGROUND = 2000  # sampled nodes, evenly spread over the ranking
EDGES = 25_000
GROUP_MEMBERS = 5000  # of the first groups; further groups are not shown


@dataclass(frozen=True)
class Excerpt:
    """The top nodes with the neighbors that fit them least, and a sample of all nodes; nodes are given by position."""

    nodes: dict[str, Any]  # one array per column of the scores; ``node`` holds the ids
    features: NDArray[np.float64]
    edges: dict[str, NDArray[Any]]  # among the top nodes and their neighbors: the columns of the edges but the rank
    top: NDArray[np.int64]  # most anomalous first
    background: NDArray[np.int64]  # the sample
    groups: list[Group]  # the first ones


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
