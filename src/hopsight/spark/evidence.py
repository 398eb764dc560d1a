"""Weigh the evidence: what is usual among nodes and edges, triangles, the scores of nodes, and what labels teach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from hopsight.checks import Refusal, check_choice, shortened
from hopsight.detectors.table import UNLABELED, weights_for
from hopsight.detectors.tails import flag_limit, group_limit
from hopsight.feedback.features import JUDGED_NAMES, Features, node_features
from hopsight.feedback.learner import MOST_LABELS, MOST_REFERENCE, Learned, learn, probable
from hopsight.feedback.reasons import given_away
from hopsight.feedback.teaching import in_words
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import LEARNED_COMPONENTS, MOST_LEARNED, CrossHCM
from hopsight.hcm.evidence import (
    KINDS,
    NO_TRIANGLES,
    AttributeBaseline,
    EdgeBaseline,
    EdgeFeatures,
    NodeBaseline,
    NodeFeatures,
    combine,
    strengths,
)
from hopsight.hcm.splits import BASELINE_EDGES, BASELINE_NODES, node_folds
from hopsight.io.labels import label_word, meaning_of
from hopsight.io.notices import notice
from hopsight.preprocess.similarity import References
from hopsight.preprocess.transform import AttributeTransform
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    OrderedColumn,
    Row,
    arrow_schema,
    cached,
    collect_arrays,
    column,
    computed,
    double,
    first_arcs,
    gather_rows,
    group_rows,
    hash_limit,
    in_order,
    map_columns,
    map_rows,
    matrix_of,
    on_cells,
    one_row,
    ordered_columns,
    pack_blocks,
    piece_matrix,
    pieces,
    quantiles,
    rows_of,
    send,
    slices,
    sum_over_cells,
    sum_parts,
    sum_to_driver,
)
from hopsight.spark.graph import PlacedNodes
from hopsight.spark.model import edge_features, edge_values
from hopsight.spark.tables import column_of
from hopsight.system.kernels import compiled, meet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIDES = ("strangeness", "alikeness")
BOTH_SIDES = "strangeness binary, alikeness binary"
LISTS = f"block int, cell int, slice int, source binary, target binary, {BOTH_SIDES}"
MEANS = ("hop", "variance", "surprise", "dissimilarity")  # over the edges of a node
FEATURES = ("degree", *MEANS, "strangers", "lookalikes", "deviation", "residual")  # columns of the blocks "features"
FROM_EDGES = ("ahp", "iv", "hav")  # a node without edges has the median of the others
SCORES = ("degree", *FROM_EDGES, *KINDS, "score", "decided_by")


@dataclass(frozen=True)
class SampledNodes:
    """The nodes that tell what is usual, in the order of the hashes of their ids."""

    numbers: NDArray[np.int64]  # over all blocks
    hashes: NDArray[np.uint64]
    attributes: NDArray[np.float64]  # as the model sees them

    @classmethod
    def of(cls, nodes: PlacedNodes) -> SampledNodes:
        """Collect the nodes of :func:`hopsight.hcm.splits.baseline_nodes`."""
        limit = int(hash_limit(BASELINE_NODES, nodes.layout.n_nodes) >> np.uint64(1))
        chosen = nodes.rows.filter(f"shiftrightunsigned(hash, 1) <= {limit}").select("number", "hash", "x").toArrow()
        hashes = chosen.column("hash").to_numpy().view(np.uint64)
        order = np.argsort(hashes, kind="stable")[:BASELINE_NODES]
        attributes = matrix_of(chosen.combine_chunks().to_batches()[0], "x")[order]
        attributes = attributes if nodes.magnitude == 1.0 else attributes / nodes.magnitude
        return cls(chosen.column("number").to_numpy()[order], hashes[order], attributes)

    def attribute_baseline(self, degrees: DataFrame, layout: Layout) -> AttributeBaseline:
        """Fit what is usual of attributes, given the blocks ``degree``."""
        degree = gather_rows(degrees, layout, self.numbers)[:, 0].astype(np.int64)
        return AttributeBaseline.fit(self.attributes, degree, node_folds(self.hashes))

    def references(self, similarity: str) -> References:
        """Choose the references of the local engine."""
        return References.choose(self.attributes, np.arange(self.numbers.size), cosine=similarity == "cosine")


def sample_edges(judged: DataFrame, n_edges: int) -> EdgeFeatures:
    """Collect the edges of :func:`hopsight.hcm.splits.baseline_edges`, which tell what is usual among edges."""
    limit = hash_limit(BASELINE_EDGES, n_edges)

    def choose(row: Row) -> Array:
        hashes, edges = column(row, "hash"), edge_features(row)
        known = np.stack([hashes.view(np.float64), edges.hop, edges.surprise, edges.dissimilarity])
        return known[:, hashes <= limit]

    found = collect_arrays(judged, choose)
    order = np.argsort(found[0].view(np.uint64), kind="stable")[:BASELINE_EDGES]
    return EdgeFeatures(*found[1:, order])


def triangle_blocks(judged: DataFrame, degrees: DataFrame, layout: Layout, baseline: EdgeBaseline) -> DataFrame:
    """Return partial blocks ``triangles``: for each node, two sums over its triangles.

    The first is that of the products of the sides' strangeness, the second that of their alikeness.

    A triangle u → v → w is found where the lists of u and v meet, in the task of their two blocks. No list is longer
    than √(2m), not even that of a hub.
    """
    lists, n_blocks, names = _lists_by_degree(judged, degrees, layout, baseline), layout.n_blocks, arrow_schema(SENT)

    def route(as_first: bool) -> DataFrame:
        def copies(row: Row) -> Iterator[Row]:
            for other in range(n_blocks):
                ends = (row["block"], other) if as_first else (other, row["block"])
                yield {**row, "first": ends[0], "second": ends[1]}

        return map_rows(lists, copies, f"first int, second int, {LISTS}")

    def close(key: Any, left: pa.Table, right: pa.Table) -> pa.Table:
        first, second = (part.as_py() for part in key)
        total = triangle_sums(_sorted_lists(left), _sorted_lists(right), layout.offsets, second)
        batches = []
        for block, start in enumerate(layout.offsets[:-1]):
            part = total[start : start + layout.sizes[block]]
            if part.any():
                rows = pieces(NO_FOLD, block, "triangles", part)
                batches += [one_row({**row, "cell": first * n_blocks + second}, names) for row in rows]
        return pa.Table.from_batches(batches, names)

    n_tasks, keys = max(2, min(layout.n_tasks, n_blocks**2)), ("first", "second")
    left, right = (route(as_first).repartition(n_tasks, *keys).groupBy(*keys) for as_first in (True, False))
    return left.cogroup(right).applyInArrow(close, SENT)


def _lists_by_degree(judged: DataFrame, degrees: DataFrame, layout: Layout, baseline: EdgeBaseline) -> DataFrame:
    """Return the edges as lists that start at the end of smaller degree; nodes are numbered over all blocks.

    Two opposite arcs are one edge with the means of their numbers.
    """

    def only_degree(row: Row) -> Iterator[Row]:
        yield {**row, "payload": np.ascontiguousarray(piece_matrix(row, layout)[:, :1])}

    def with_sides(row: Row) -> Iterator[Row]:
        edges = edge_features(row)
        yield {**row, "strangeness": baseline.strangeness(edges), "alikeness": baseline.alikeness(edges)}

    def direct(fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        (i, j), first = layout.pairs[cell], np.flatnonzero(first_arcs(edges["u"], edges["v"]))
        n_arcs = np.diff(first, append=edges["u"].size)
        sides = {side: np.add.reduceat(edges[side], first) / n_arcs if first.size else edges[side] for side in SIDES}
        u, v = (edges[end][first].astype(np.int64) for end in ("u", "v"))
        forward = blocks["degree0"][u, 0] <= blocks["degree1"][v, 0]  # ties go to u: blocks and positions are in order
        ends = np.stack([layout.offsets[i] + u, layout.offsets[j] + v])
        for block, mask, (source, target) in ((i, forward, ends), (j, ~forward, ends[::-1])):
            lists = {"source": source[mask], "target": target[mask], **{side: sides[side][mask] for side in SIDES}}
            yield from ({"block": block, **part} for part in slices(cell, lists))

    slim = map_rows(degrees, only_degree, BLOCK)
    edges = map_rows(judged, with_sides, "cell int, slice int, u binary, v binary, " + BOTH_SIDES)
    return on_cells(send(slim, layout), edges, layout, [NO_FOLD], direct, LISTS)


def _sorted_lists(table: pa.Table) -> tuple[Array, Array, Array, Array]:
    """Return the sorted sources, the start of each source's list, the targets and the sides toward them."""
    names = ("source", "target", *SIDES)
    empty: Row = dict.fromkeys(names, b"")
    rows = [empty, *rows_of(table)]
    source, target, *sides = (np.concatenate([column(row, name) for row in rows]) for name in names)
    order = np.lexsort((target, source))
    nodes, start = np.unique(source[order], return_index=True)
    return nodes, np.append(start, source.size), target[order], np.stack(sides, axis=1)[order]


def triangle_sums(left: tuple[Array, ...], right: tuple[Array, ...], offsets: Array, second: int) -> Array:
    """Return each node's sums over triangles with u in the left lists and v in the right ones (block ``second``)."""
    total = np.zeros((offsets[-1], len(SIDES)))
    _close(*left, *right, offsets[second], offsets[second + 1], total)
    return total


@compiled(nogil=True)
def _close(
    left_nodes: Any, left_start: Any, left_target: Any, left_value: Any,
    right_nodes: Any, right_start: Any, right_target: Any, right_value: Any,
    low: int, high: int, total: Any,
) -> None:  # fmt: skip
    for at in range(left_nodes.size):
        for edge in range(left_start[at], left_start[at + 1]):
            v = left_target[edge]
            if v < low or v >= high:
                continue
            where = np.searchsorted(right_nodes, v)
            if where == right_nodes.size or right_nodes[where] != v:
                continue
            meet(
                left_nodes[at], edge, left_start[at], left_start[at + 1], left_target, left_value,
                right_start[where], right_start[where + 1], right_target, right_value, total,
            )  # fmt: skip


def feature_blocks(
    judged: DataFrame, triangles: DataFrame, x: DataFrame, layout: Layout, baseline: AttributeBaseline, deviation: str
) -> DataFrame:
    """Return blocks ``features`` with the columns of :data:`FEATURES`; a mean over no edges is NaN.

    ``triangles`` are those of :func:`triangle_blocks`, ``x`` has the attributes of each node and the hash of its id.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def sums(rows: list[Row]) -> Iterator[Row]:
        cell = rows[0]["cell"]
        totals = {block: np.zeros((layout.sizes[block], 1 + len(MEANS))) for block in layout.pairs[cell]}
        for row in sorted(rows, key=lambda row: row["slice"]):
            values = edge_values(row)
            if deviation == "std":
                values["variance"] = np.sqrt(values["variance"])
            for block, end in zip(layout.pairs[cell], ("u", "v"), strict=True):
                for place, value in enumerate((np.ones_like(values["hop"]), *(values[name] for name in MEANS))):
                    totals[block][:, place] += np.bincount(column(row, end), value, layout.sizes[block])
        for block, total in totals.items():
            yield from ({**piece, "cell": cell} for piece in pieces(NO_FOLD, block, "sums", total))

    def gather(rows: list[Row]) -> Iterator[Row]:
        n_rows, found = layout.rows(rows[0]["block"], rows[0]["piece"]), dict[str, Array]()
        for kind, width in (("sums", 1 + len(MEANS)), ("triangles", 2), ("exact", -1), ("hash", -1)):
            parts = [row for row in rows if row["kind"] == kind]
            found[kind] = (sum_parts(parts, layout) if parts else np.zeros(n_rows * width)).reshape(n_rows, width)
        degree, attributes = found["sums"][:, :1], found["exact"]
        means = found["sums"][:, 1:] / np.where(degree > 0, degree, np.nan)
        residual = baseline.residual(attributes, degree[:, 0].astype(np.int64), node_folds(found["hash"][:, 0]))
        own = np.column_stack([baseline.deviation(attributes), residual])
        yield {**rows[0], "kind": "features", "payload": np.hstack([degree, means, found["triangles"], own])}

    by_cell = judged.select("cell", "slice", "u", "v", "values")
    partial = group_rows(by_cell, ["cell"], sums, SENT).unionAll(triangles)
    partial = partial.unionByName(x.filter("kind != 'x'").withColumn("cell", F.lit(0)))
    keys = ("block", "piece")
    return group_rows(partial.repartition(layout.n_tasks, *keys), keys, gather, BLOCK)


def features_of(rows: Array) -> NodeFeatures:
    """Return rows of the blocks ``features`` in the form that evidence is computed from."""
    known = dict(zip(FEATURES, rows.T, strict=True))
    means = np.stack([known[name] for name in ("hop", "dissimilarity")])
    others = (known[name] for name in ("strangers", "lookalikes", "deviation", "residual"))
    return NodeFeatures(known["degree"].astype(np.int64), means, *others)


def weigh_nodes(
    features: DataFrame, layout: Layout, sample: NDArray[np.int64], detector: CrossHCM, names: Sequence[str],
    notices: list[str],
) -> tuple[DataFrame, dict[str, Any]]:  # fmt: skip
    """Return one row per node, ``number`` and the columns of :data:`SCORES`, and the fitted values by name.

    ``sample`` holds the numbers of the nodes that tell what is usual, and ``names`` are those of the attributes;
    ``decided_by`` is a position in the evidence.
    """
    check_choice("score", detector.score, CrossHCM.scores)
    weights = weights_for(names)
    used = [FEATURES.index(name) for name in ("hop", "variance", "strangers", "lookalikes")]
    highest = sum_to_driver(
        features, lambda row: np.nanmax(piece_matrix(row, layout)[:, used], axis=0, initial=0.0), op=np.maximum
    )
    triangles = bool(highest[2:].any())
    if not triangles:
        notice(NO_TRIANGLES, notices)
    baseline = NodeBaseline.fit(features_of(gather_rows(features, layout, sample)), triangles=triangles)

    def scored(row: Row) -> list[Array]:
        rows = piece_matrix(row, layout)
        nodes, (hop, variance) = features_of(rows), rows[:, used[:2]].T
        shares = [v / top if top > 0 else np.zeros_like(v) for v, top in zip((hop, variance), highest, strict=False)]
        from_edges = dict(zip(FROM_EDGES, (hop, variance, shares[0] + shares[1]), strict=True))
        evidence = strengths(nodes, baseline)
        strength, decided_by = combine(evidence, detector.evidence, weights)
        number = layout.offsets[row["block"]] + row["piece"] * PIECE + np.arange(len(rows))
        columns = [number, nodes.degrees, *from_edges.values(), *evidence.values()]
        return [*columns, from_edges.get(detector.score, strength), decided_by]

    kinds = {"degree": "long", "decided_by": "int"}
    schema = ", ".join(["number long", *(f"{name} {kinds.get(name, 'double')}" for name in SCORES)])
    scores = _filled(cached(map_columns(features, scored, schema)), layout.n_nodes, detector.score)
    limit, limits = score_thresholds(scores, layout.n_nodes, detector)
    return scores, {"node_baseline_": baseline, "threshold_": limit, "kind_thresholds_": limits}


def _filled(scores: DataFrame, n_nodes: int, score: str) -> DataFrame:
    """Give nodes without edges the median AHP, IV and HAV of the others, and the score that is one of these."""
    judged = scores.filter("degree > 0")
    n_judged = judged.count()
    if n_judged == n_nodes:
        return scores
    medians = quantiles(ordered_columns(judged, FROM_EDGES), [0.5] * len(FROM_EDGES), n_judged).tolist()
    known = dict(zip(FROM_EDGES, medians, strict=True))
    if score in known:
        known["score"] = known[score]
    filled = {name: f"if(degree = 0, {double(value)}, {name}) as {name}" for name, value in known.items()}
    return cached(scores.selectExpr(*(filled.get(name, name) for name in scores.columns)))


def score_thresholds(scores: DataFrame, n_nodes: int, detector: CrossHCM) -> tuple[float, NDArray[np.float64]]:
    """Return the score above which a node is flagged, and the evidence of each kind that members of a group have."""
    ordered = ordered_columns(scores, ["score", *KINDS])
    kinds = [OrderedColumn(ordered, n_nodes, column) for column in range(1, len(KINDS) + 1)]
    limits = np.array([group_limit(kind, detector.false_alarms) for kind in kinds])
    if detector.contamination == "auto":
        order = OrderedColumn(ordered, n_nodes)
        return flag_limit(order, detector.false_alarms, strengths=detector.scores_are_strengths), limits
    level = 1.0 - float(detector.contamination)
    return float(quantiles(ordered, [level], n_nodes)[0]), limits


MOST_WORDS = 1000  # different values of a column of labels
MOST_FLAGGED = 1 << 20  # nodes that the driver reads to decide how many are flagged
OWN = sorted(KINDS)  # the order in which a learner sees kinds of evidence
LOG_DEGREE, SCORE = 1, 2 + len(OWN)  # columns of the blocks "known": degree, log degree, evidence, score, label


@dataclass(frozen=True)
class Feedback:
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


def give_feedback(
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
) -> Feedback | None:
    """Learn from labels as :func:`hopsight.feedback.teaching.with_labels` does; None if they are all of one kind.

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
    feedback = _predicted(scores, rows, nodes, template, found)
    if detector.contamination == "auto":
        top = feedback.orderBy(F.desc("score")).limit(MOST_FLAGGED).select("score", "anomaly_probability").toArrow()
        score, probability = (column.to_numpy() for column in top.columns)
        limit = probable(score, probability, detector.false_alarms)
    else:
        level = 1.0 - float(detector.contamination)
        limit = float(quantiles(ordered_columns(feedback, ["score"]), [level], layout.n_nodes)[0])
    return Feedback(feedback, limit, scores, limit_before, found, in_words(found))


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
    x: DataFrame, nodes: DataFrame, placed: PlacedNodes, names: list[str], transform: AttributeTransform
) -> tuple[DataFrame, list[str]]:
    """Return blocks ``raw`` of the attributes that a learner sees, or of components if they are many, and their names.

    ``x`` are those of :func:`hopsight.spark.graph.attribute_blocks`, made by ``transform``.
    """
    layout = placed.layout
    if len(names) > MOST_LEARNED:

        def cut(row: Row) -> Iterator[Row]:
            yield row | {"kind": "raw", "payload": piece_matrix(row, layout)[:, :LEARNED_COMPONENTS]}

        return map_rows(x.filter("kind = 'exact'"), cut, BLOCK), transform.output_names[:LEARNED_COMPONENTS]

    def make(rows: pa.RecordBatch) -> dict[str, Array]:
        return {"raw": matrix_of(rows).astype(np.float32).astype(np.float64)}  # as the local engine

    rows = placed.rows.select("id", "block", "position").join(nodes.select("id", "features"), "id")
    return pack_blocks(rows.drop("id"), make), names
