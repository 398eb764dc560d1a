"""Learn from labels of nodes on Spark: features as blocks, learning on the driver, predicting on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from scipy.special import expit

from hopsight.checks import Refusal, shortened
from hopsight.detectors.table import UNLABELED
from hopsight.feedback.features import JUDGED_NAMES, Features, node_features
from hopsight.feedback.learner import MOST_LABELS, MOST_REFERENCE, Learned, learn, probable
from hopsight.feedback.reasons import given_away
from hopsight.feedback.teaching import in_words
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import LEARNED_COMPONENTS, MOST_LEARNED, CrossHCM
from hopsight.hcm.evidence import KINDS
from hopsight.io.labels import label_word, meaning_of
from hopsight.io.notices import notice
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    Row,
    computed,
    gather_rows,
    group_rows,
    in_order,
    map_columns,
    map_rows,
    matrix_of,
    on_cells,
    ordered_columns,
    pack_blocks,
    piece_matrix,
    pieces,
    quantiles,
    send,
    sum_over_cells,
)
from hopsight.spark.evidence import SampledNodes
from hopsight.spark.graph import PlacedNodes
from hopsight.spark.tables import column_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_WORDS = 1000  # different values of a column of labels
MOST_FLAGGED = 1 << 20  # nodes that the driver reads to decide how many are flagged
OWN = sorted(KINDS)  # the order in which a learner sees kinds of evidence
LOG_DEGREE, SCORE = 1, 2 + len(OWN)  # columns of the blocks "known": degree, log degree, evidence, score, label


@dataclass(frozen=True)
class Taught:
    """What was learned: the scores of nodes with it and before, their thresholds, and in words how well it predicts."""

    scores: DataFrame  # with the columns anomaly_probability and rank_before
    threshold: float
    before: DataFrame
    threshold_before: float
    learned: Learned
    words: str


def label_rows(nodes: DataFrame, name: str, anomalous_value: object) -> DataFrame:
    """Return ``id, anomalous`` (1 or 0) of the nodes that a column labels; column ``c`` is called ``_c``."""
    from pyspark.sql import functions as F  # noqa: N812

    labels = nodes.select("id", F.trim(column_of(nodes, name).cast("string")).alias("word"))
    words = [row["word"] for row in labels.select("word").distinct().limit(MOST_WORDS).collect()]
    means = meaning_of({label_word(word) for word in words}, anomalous_value)
    known = [(word, int(means[label_word(word)])) for word in words if label_word(word) in means]
    if not known:
        raise Refusal("learn_from", f"names the column {shortened(name)}, which has no label in it")
    table = nodes.sparkSession.createDataFrame(known, "word string, anomalous int")
    return labels.join(F.broadcast(table), "word").select("id", "anomalous")


def teach(
    labels: DataFrame,
    scores: DataFrame,
    seen: tuple[DataFrame, list[str]],
    cells: DataFrame,
    nodes: PlacedNodes,
    sample: SampledNodes,
    detector: CrossHCM,
    limit_before: float,
    name: str,
    notices: list[str],
) -> Taught | None:
    """Learn from labels as :func:`hopsight.feedback.teaching.taught` does; None if they are all of one kind.

    ``scores`` has a row per node, ``seen`` is what :func:`learner_attributes` returned, and labels are called ``name``.
    """
    from pyspark.sql import functions as F  # noqa: N812

    (raw, names), layout = seen, nodes.layout
    judged = labels.join(nodes.rows.select("id", "number", "hash"), "id")
    first = judged.orderBy(F.shiftrightunsigned("hash", 1))
    chosen = [first.filter(f"anomalous = {kind}").limit(MOST_LABELS).collect() for kind in (1, 0)]
    if not all(chosen):
        word = "anomalous" if chosen[0] else "normal"
        notice(f"All labels are {word}: label some nodes of the other kind as well. The ranking stays.", notices)
        return None
    known = computed(_known_blocks(scores, judged, nodes.rows), large=True)
    template = _template(names)
    rows = computed(_learner_blocks(raw, known, cells, layout, len(names)), large=True)
    places = [row for some in chosen for row in some]
    hash_of = dict(zip(sample.numbers[:MOST_REFERENCE].tolist(), sample.hashes.tolist(), strict=False))
    hash_of |= {row["number"]: row["hash"] % 2**64 for row in places}
    numbers = np.array(sorted(hash_of))
    features = replace(template, values=gather_rows(rows, layout, numbers))
    labeled = np.searchsorted(numbers, [row["number"] for row in places])
    anomalous = np.array([row["anomalous"] == 1 for row in places])
    for question in given_away(features.values[labeled, : len(names)], names, anomalous, name):
        notice(question, notices)
    found = learn(
        features.rows, gather_rows(known, layout, numbers)[:, SCORE], labeled, anomalous,
        np.array([hash_of[number] for number in numbers.tolist()], dtype=np.uint64),
        detector.seed % 2**32 if isinstance(detector.seed, int) else 0,
    ).without_labels()  # fmt: skip
    taught = _predicted(scores, rows, nodes, template, found)
    if detector.contamination == "auto":
        top = taught.orderBy(F.desc("score")).limit(MOST_FLAGGED).select("score", "anomaly_probability").toArrow()
        score, probability = (column.to_numpy() for column in top.columns)
        limit = probable(score, probability, detector.false_alarms)
    else:
        level = 1.0 - float(detector.contamination)
        limit = float(quantiles(ordered_columns(taught, ["score"]), [level], layout.n_nodes)[0])
    return Taught(taught, limit, scores, limit_before, found, in_words(found))


def _template(names: list[str]) -> Features:
    """Return the names of the features of a graph with these attributes, and no rows."""
    two, none = AttributedGraph.from_edges([0], [1], np.zeros((2, 1))), np.zeros(2)
    made = node_features(two, np.zeros((2, len(names))), names, dict.fromkeys(OWN, none), none)
    return made.with_columns(np.zeros((2, len(JUDGED_NAMES))), JUDGED_NAMES).rows(np.zeros(0, dtype=np.int64))


def _known_blocks(scores: DataFrame, judged: DataFrame, nodes: DataFrame) -> DataFrame:
    """Return blocks ``known``: degree, its logarithm, evidence, score, and whether known as anomalous and as normal."""
    columns = ["degree", *OWN, "score", "anomalous"]

    def make(rows: pa.RecordBatch) -> dict[str, Array]:
        degree, *others, label = (rows.column(name).to_numpy() for name in columns)
        values = np.column_stack([degree, np.log1p(degree), *others, label == 1, label == 0])
        return {"known": np.nan_to_num(values.astype(np.float64))}

    placed = nodes.select("number", "block", "position").join(scores, "number")
    labeled = placed.join(judged.select("number", "anomalous"), "number", "left").na.fill(-1, ["anomalous"])
    return pack_blocks(labeled.select("block", "position", *columns), make)


def _learner_blocks(raw: DataFrame, known: DataFrame, cells: DataFrame, layout: Layout, n_own: int) -> DataFrame:
    """Return blocks ``learner``: features as :func:`hopsight.feedback.features.node_features`, and judged neighbors."""
    both = raw.unionAll(known)
    near = _neighbor_means(both, cells, layout, "near", lambda kinds: np.hstack([kinds["raw"], kinds["known"]]))
    near = computed(near, large=True)
    far = _neighbor_means(near.unionAll(known), cells, layout, "far", lambda kinds: kinds["near"][:, :n_own])

    def assemble(rows: list[Row]) -> Iterator[Row]:
        parts = {row["kind"]: piece_matrix(row, layout) for row in rows}
        own, about, means = parts["raw"], parts["known"], parts["near"]
        degree, strengths = about[:, :1], slice(LOG_DEGREE + 1, SCORE + 1)
        counts = np.round(means[:, -2:] * degree)
        share = (counts[:, :1] + 0.1) / (counts.sum(axis=1, keepdims=True) + 1.0)
        values = [
            own, means[:, :n_own], parts["far"], about[:, [LOG_DEGREE]], means[:, [n_own + LOG_DEGREE]],
            about[:, strengths], means[:, n_own:][:, strengths], counts, share,
        ]  # fmt: skip
        yield rows[0] | {"kind": "learner", "payload": np.nan_to_num(np.hstack(values)).astype(np.float32)}

    keys = ("block", "piece")
    every = both.unionAll(near).unionAll(far).repartition(layout.n_tasks, *keys)
    return group_rows(every, keys, assemble, BLOCK)


def _neighbor_means(
    blocks: DataFrame, cells: DataFrame, layout: Layout, kind: str, values: Callable[[dict[str, Array]], Array]
) -> DataFrame:
    """Return blocks of a kind: the mean of ``values`` over the neighbors of each node, 0 without any."""

    def spread(fold: int, cell: int, given: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        i, j = layout.pairs[cell]
        sides = [{name[:-1]: each for name, each in given.items() if name.endswith(str(side))} for side in (0, 1)]
        shape = layout.sizes[i], layout.sizes[j]
        matrix = sp.coo_array((np.ones(edges["u"].size), (edges["u"], edges["v"])), shape=shape).tocsr()
        matrix = matrix + matrix.T if i == j else matrix
        parts = [(i, 0, matrix @ values(sides[1]))] + ([] if i == j else [(j, 1, matrix.T @ values(sides[0]))])
        for block, side, sums in parts:
            means = sums / np.maximum(sides[side]["known"][:, :1], 1.0)
            yield from ({**piece, "cell": cell} for piece in pieces(NO_FOLD, block, kind, means))

    ends = cells.select("cell", "slice", "u", "v")
    return sum_over_cells(on_cells(send(blocks, layout), ends, layout, [NO_FOLD], spread, SENT), layout)


def _predicted(scores: DataFrame, rows: DataFrame, nodes: PlacedNodes, template: Features, found: Learned) -> DataFrame:
    """Return the scores with the columns ``anomaly_probability`` and ``rank_before``, ranked by what was learned."""
    layout, learned = nodes.layout, rows.sparkSession.sparkContext.broadcast(found)
    score = template.names.index(UNLABELED)

    def predict(row: Row) -> list[Array]:
        values = piece_matrix(row, layout)
        log_odds = learned.value.log_odds(replace(template, values=values), values[:, score].astype(np.float64))
        number = layout.offsets[row["block"]] + row["piece"] * PIECE + np.arange(len(values))
        return [number, expit(log_odds), learned.value.scores(np.full(len(values), np.nan), log_odds)]

    judged = map_columns(rows, predict, "number long, anomaly_probability double, learned double")
    placed = scores.join(nodes.rows.selectExpr("number", "row as place"), "number")
    before = in_order(placed, score=False, place=True).selectExpr("number", "row + 1 as rank_before")
    new = "score" if found.kept[0] else "learned"
    others = [name for name in scores.columns if name != "score"]
    joined = scores.join(judged, "number").join(before, "number")
    return joined.selectExpr(*others, f"{new} as score", "anomaly_probability", "rank_before")


def learner_attributes(
    x: DataFrame, nodes: DataFrame, placed: PlacedNodes, names: list[str], n_outputs: int
) -> tuple[DataFrame, list[str]]:
    """Return blocks ``raw`` of the attributes that a learner sees, or of components if they are many, and their names.

    ``x`` are those of :func:`hopsight.spark.graph.attribute_blocks`, with ``n_outputs`` columns.
    """
    layout = placed.layout
    if len(names) > MOST_LEARNED:

        def cut(row: Row) -> Iterator[Row]:
            yield row | {"kind": "raw", "payload": piece_matrix(row, layout)[:, :LEARNED_COMPONENTS]}

        kept = [f"component {number + 1}" for number in range(min(LEARNED_COMPONENTS, n_outputs))]
        return map_rows(x.filter("kind = 'exact'"), cut, BLOCK), kept

    def make(rows: pa.RecordBatch) -> dict[str, Array]:
        return {"raw": matrix_of(rows).astype(np.float32).astype(np.float64)}  # as the local engine

    rows = placed.rows.select("id", "block", "position").join(nodes.select("id", "features"), "id")
    return pack_blocks(rows.drop("id"), make), names
