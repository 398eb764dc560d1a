"""Choose the pool of node pairs to train on: drop edges, search from sampled sources, sample each hop class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.splits import Splits, drop_chances
from hopsight.hops.pool import POOL_PER_FOLD, PairPool, PoolPlan, allowed, plan_pool, source_count, source_places
from hopsight.hops.search import WORD, below, count, scramble
from hopsight.preprocess import edge_similarity
from hopsight.preprocess.similarity import References
from hopsight.spark.blocks import (
    BACK,
    BLOCK,
    EDGES,
    LATE,
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    Row,
    arc_ends,
    cached,
    collect_arrays,
    column,
    computed,
    group_rows,
    hash_limit,
    in_order,
    map_columns,
    map_rows,
    on_cells,
    piece_matrix,
    pieces,
    rows_at,
    send,
    slices,
    sum_over_cells,
    sum_to_driver,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PORTION = 8 * WORD  # sources that one task searches from
COMPARED = f"{EDGES}, similarity binary, dissimilarity binary"
WITH_KEPT = f"{EDGES}, kept binary, dissimilarity binary"
KEPT = "cell int, slice int, u binary, v binary, way binary"


@dataclass(frozen=True)
class Sources:
    """The nodes to search from: block, position and hash of each, those with the smallest hashes first."""

    block: NDArray[np.int64]
    position: NDArray[np.int64]
    hash: NDArray[np.uint64]

    @classmethod
    def choose(cls, nodes: DataFrame, n_nodes: int, n_networks: int) -> list[Sources]:
        """Choose the sources of each network as the local engine does."""
        most = n_networks * source_count(n_nodes, n_networks)
        found = nodes.orderBy("order").limit(most).select("block", "position", "hash").collect()
        block, position, hashes = (np.array([row[i] for row in found], dtype=np.int64) for i in range(3))
        places = source_places(np.arange(n_nodes), n_networks)
        return [cls(block[mine], position[mine], hashes[mine].view(np.uint64)) for mine in places]

    @property
    def portions(self) -> range:
        """The numbers of the portions that are searched from side by side."""
        return range(-(-self.hash.size // PORTION))

    def n_words(self, portion: int) -> int:
        """Return the number of words that hold one bit for each source of a portion."""
        return -(-min(PORTION, self.hash.size - portion * PORTION) // WORD)

    def bits(self, portion: int, block: int, piece: int, n_rows: int) -> Array:
        """Return the words of a piece in which each source of the portion reaches only itself."""
        words = np.zeros((n_rows, self.n_words(portion)), dtype=np.uint64)
        mine = slice(portion * PORTION, (portion + 1) * PORTION)
        here = np.flatnonzero((self.block[mine] == block) & (self.position[mine] // PIECE == piece))
        bit = np.uint64(1) << (here % WORD).astype(np.uint64)
        np.bitwise_or.at(words, (self.position[mine][here] % PIECE, here // WORD), bit)
        return words


def compare_ends(x: DataFrame, cells: DataFrame, layout: Layout, measure: str, references: References) -> DataFrame:
    """Add to each edge the similarity of its ends and their relative dissimilarity."""

    def compare(fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        rows, ends = layout.stacked(cell, blocks, "exact"), layout.places(cell, edges)
        similarity = edge_similarity(rows, ends, measure)
        dissimilarity = references.relative_dissimilarity(rows, ends)
        yield from slices(cell, {"similarity": similarity, "dissimilarity": dissimilarity, **edges})

    edges = cells.drop("counts")
    return on_cells(send(x.filter("kind = 'exact'"), layout), edges, layout, [NO_FOLD], compare, COMPARED)


def drop_edges(cells: DataFrame, n_edges: int, drop_ratio: float, seed: np.uint64) -> DataFrame:
    """Add a column ``kept``, 0 for the share ``drop_ratio`` of the edges whose ends are least similar.

    Of equally similar edges those of the smallest chances are dropped, which the ``seed`` of the pool decides.
    """
    n_drop = int(np.floor(drop_ratio * n_edges + 1e-9))

    def keys(row: Row) -> tuple[Array, Array]:
        hashes, way = column(row, "hash"), column(row, "way")
        late = (way & LATE) > 0 if way.size else np.zeros(hashes.size, dtype=np.bool_)
        chances = drop_chances(hashes, late, seed) ^ np.uint64(1 << 63)  # signed numbers in the unsigned order
        return column(row, "similarity"), chances.view(np.int64)

    last, chance = -np.inf, 0
    if n_drop:
        ordered = in_order(map_columns(cells, keys, "similarity double, chance long"), similarity=True, chance=True)
        last, chance, _ = rows_at(ordered, [n_drop - 1])[n_drop - 1]

    def mark(row: Row) -> Iterator[Row]:
        similarity, chances = keys(row)
        kept = (similarity > last) | ((similarity == last) & (chances > chance))
        yield {**row, "kept": kept.astype(np.uint8)}

    return map_rows(cells, mark, WITH_KEPT)


def kept_edges(cells: DataFrame, splits: Splits, network: int) -> DataFrame:
    """Return the cells with the edges that a network counts hops along, and only the columns that the search needs."""

    def choose(row: Row) -> Iterator[Row]:
        kept, way = _shown(row, splits, network), column(row, "way")
        ends = {end: column(row, end)[kept] for end in ("u", "v")}
        yield {**row, **ends, "way": way[kept] if way.size else way}

    return map_rows(cells, choose, KEPT)


def search_hops(hashes: DataFrame, cells: DataFrame, layout: Layout, sources: Sources, n_hops: int) -> DataFrame:
    """Search from all sources at once along the edges of ``cells``, with one bit per source.

    The sources are divided into portions, each a "fold" of its own. A step is a product with A + I in which OR replaces
    the addition; bits follow the direction of arcs. The result is blocks ``reach`` with the columns [hash, C₀, C₁, …],
    where bit b of Cₕ says that source b of the portion is at most h hops away.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def start(row: Row) -> Iterator[Row]:
        place = row["block"], row["piece"]
        for portion in sources.portions:
            bits = sources.bits(portion, *place, layout.rows(*place))
            yield row | {"fold": portion}
            yield row | {"fold": portion, "kind": "newest", "payload": bits}

    def widen(portion: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]) -> Iterator[Row]:
        i, j = layout.pairs[cell]
        newest = [blocks["newest0"], blocks["newest1"]]
        into = _exchanged(edges["u"], edges["v"], edges["way"], newest)
        parts = [(i, into[0] | into[1] | newest[0])] if i == j else [(i, into[0]), (j, into[1])]
        for block, rows in parts:
            yield from ({**row, "cell": cell} for row in pieces(portion, block, "newest", rows))

    def side_by_side(rows: list[Row]) -> Iterator[Row]:
        n_rows = layout.rows(rows[0]["block"], rows[0]["piece"])
        ordered = sorted(rows, key=lambda row: row["kind"])
        words = [np.frombuffer(row["payload"], dtype=np.uint64).reshape(n_rows, -1) for row in ordered]
        yield rows[0] | {"kind": "reach", "payload": np.hstack(words)}

    first = cached(map_rows(hashes, start, BLOCK), large=True)
    steps = [first.filter("kind = 'newest'")]
    for _ in range(n_hops):
        partial = on_cells(send(steps[-1], layout), cells, layout, sources.portions, widen, SENT)
        steps.append(cached(sum_over_cells(partial, layout, op=np.bitwise_or), large=True))
    named = [step.withColumn("kind", F.lit(f"within {hop}")) for hop, step in enumerate(steps)]
    together = reduce(lambda one, other: one.unionAll(other), named, first.filter("kind = 'hash'"))
    keys = ("fold", "block", "piece")
    reached = computed(group_rows(together.repartition(layout.n_tasks, *keys), keys, side_by_side, BLOCK), large=True)
    for frame in (first, *steps[1:]):
        frame.unpersist()
    return reached


def choose_pool(
    reached: Sequence[DataFrame],
    cells: DataFrame,
    layout: Layout,
    splits: Splits,
    sources: Sequence[Sources],
    seed: np.uint64,
    **settings: Any,
) -> PairPool:
    """Choose the pool of :func:`hopsight.hops.pool.pair_pool`; nodes are numbered block by block.

    ``reached`` is what :func:`search_hops` returned for each network, ``cells`` are those of :func:`drop_edges`, and
    ``settings`` those of :func:`hopsight.hops.pool.plan_pool`.
    """
    networks = range(splits.n_folds)
    counts = [
        _class_counts(each, layout, mine, settings["n_classes"]) for each, mine in zip(reached, sources, strict=True)
    ]

    def sums(row: Row) -> list[int]:
        shown = [_shown(row, splits, network).sum() for network in networks]
        return [*(_positives(row, splits, fold).sum() for fold in splits.folds), sum(shown)]

    *n_positives, n_shown = sum_to_driver(cells, sums).tolist()
    if n_shown == 0:
        raise ValueError("the graph has no edges to learn hop counts from")
    n_edges = n_shown / splits.n_folds
    plan = plan_pool(
        np.concatenate(counts), layout.n_nodes, n_edges, splits.n_inner, splits.n_folds, **settings
    )  # fmt: skip
    found = [_far_pairs(each, layout, mine, splits, seed, plan) for each, mine in zip(reached, sources, strict=True)]
    edges = _edges_among(cells, layout, np.concatenate([pairs for far, _ in found for pairs in far], axis=1))
    taught = [
        allowed(far, [part == network for part in parts], edges, layout.n_nodes)
        for network, (far, parts) in enumerate(found)
    ]
    return plan.pool(_near_pairs(cells, layout, splits, seed, n_positives), taught)


def _shown(row: Row, splits: Splits, network: int) -> NDArray[np.bool_]:
    """Return the edges of a slice that a network counts hops along."""
    return np.asarray((column(row, "kept") > 0) & (splits.of(column(row, "hash")).part != network))


def _positives(row: Row, splits: Splits, fold: int) -> NDArray[np.bool_]:
    """Return the edges of a slice that a fold learns one hop from; one that is set aside also takes dropped edges."""
    mine = splits.of(column(row, "hash")).positives(fold)
    return mine if fold % splits.n_inner == 0 else mine & (column(row, "kept") > 0)


def _class_counts(reached: DataFrame, layout: Layout, sources: Sources, n_classes: int) -> NDArray[np.int64]:
    """Return the number of nodes at 1, …, C−1 and ≥ C hops from each source."""
    width = WORD * (n_classes - 1)

    def counts(row: Row) -> Array:
        total = np.zeros((len(sources.portions), PORTION // WORD * width))
        mine = _near_counts(piece_matrix(row, layout), sources.n_words(row["fold"])).ravel()
        total[row["fold"], : mine.size] = mine
        return total.ravel()

    near = sum_to_driver(reached, counts).reshape(-1, n_classes - 1)[: sources.hash.size].astype(np.int64)
    return np.column_stack([near, layout.n_nodes - 1 - near.sum(axis=1)])


def _far_pairs(
    reached: DataFrame, layout: Layout, sources: Sources, splits: Splits, seed: np.uint64, plan: PoolPlan
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return the pairs of each class beyond one hop, ordered by their hashes, and the network that judges each."""
    first = layout.offsets

    def find(row: Row) -> Array:
        rows, n_words = piece_matrix(row, layout), sources.n_words(row["fold"])
        start, found = first[row["block"]] + row["piece"] * PIECE, []
        for word in range(n_words):
            before = row["fold"] * PORTION + word * WORD
            mine = sources.hash[before : before + WORD]
            bit, node, kind, rank = _chosen(rows, word, n_words, mine, seed, plan)
            part = splits.of(mine[bit] + rows[node, 0]).part
            found.append(np.stack([bit + before, node + start, kind, part, rank.view(np.int64)]))
        return np.concatenate(found, axis=1)

    source, target, kind, part, rank = collect_arrays(reached, find, np.int64)
    order = np.lexsort([sources.hash[source], rank.view(np.uint64)])  # both orders of two ends have one hash
    number = first[sources.block] + sources.position
    pairs, kind, part = np.stack([number[source], target])[:, order], kind[order], part[order]
    classes = [kind == far for far in range(1, plan.n_classes)]
    return [pairs[:, mine] for mine in classes], [part[mine] for mine in classes]


def _edges_among(cells: DataFrame, layout: Layout, pairs: Array) -> NDArray[np.int64]:
    """Return those of some pairs that are edges."""
    n_nodes = layout.n_nodes
    wanted = cells.sparkSession.sparkContext.broadcast(np.unique(pairs.min(axis=0) * n_nodes + pairs.max(axis=0)))

    def find(row: Row) -> Array:
        ends = layout.ends(row)
        return ends[:, np.isin(ends.min(axis=0) * n_nodes + ends.max(axis=0), wanted.value)]

    return collect_arrays(cells, find, np.int64)


def _near_pairs(
    cells: DataFrame, layout: Layout, splits: Splits, seed: np.uint64, n_positives: list[float]
) -> list[NDArray[np.int64]]:
    """Return the edges with the smallest hashes that each fold learns one hop from, ordered by their hashes."""
    limits = [hash_limit(POOL_PER_FOLD, size) for size in n_positives]

    def find(row: Row) -> Array:
        way, rank = column(row, "way"), scramble(column(row, "hash") ^ seed)
        ends = arc_ends(layout.ends(row), way)
        late = way & LATE if way.size else np.zeros(rank.size)
        edges, found = np.stack([*ends, late, rank.view(np.int64)]).astype(np.int64), []
        for fold in splits.folds:
            chosen = edges[:, _positives(row, splits, fold) & (rank <= limits[fold])]
            found.append(np.stack([np.full(chosen.shape[1], fold), *chosen]))
        return np.concatenate(found, axis=1)

    fold_of, *edges = collect_arrays(cells, find, np.int64)
    source, target, late, rank = edges
    order = np.lexsort([late, rank.view(np.uint64)])  # opposite arcs have one hash
    ends, fold_of = np.stack([source, target])[:, order], fold_of[order]
    return [ends[:, fold_of == fold][:, :POOL_PER_FOLD] for fold in splits.folds]


def _exact(rows: Array, word: int, n_words: int) -> Array:
    """Return, for 64 sources, the nodes reached in exactly 0, 1, … hops as (n_hops + 1, n_rows) words."""
    within = rows[:, 1:].reshape(len(rows), -1, n_words)[:, :, word].T
    return np.ascontiguousarray(np.concatenate([within[:1], within[1:] & ~within[:-1]]))


# Spark pickles module functions by name, but a compiled function by value, and every worker would compile it again.
# Compiled functions are therefore called only from the following functions.


def _near_counts(rows: Array, n_words: int) -> Array:
    """Return the number of nodes at 1, …, C−1 hops from each source of a portion."""
    return np.concatenate([count(_exact(rows, word, n_words), WORD)[:, :-1] for word in range(n_words)])


def _chosen(rows: Array, word: int, n_words: int, source_hashes: Array, seed: np.uint64, plan: PoolPlan) -> Any:
    """Return the pairs of 64 sources and all nodes whose hash is below the limit of their class."""
    hashes = np.ascontiguousarray(rows[:, 0])
    return below(_exact(rows, word, n_words), source_hashes, hashes, seed, plan.class_of_hop, plan.limits)


def _exchanged(u: Array, v: Array, way: Array, newest: list[Array]) -> list[Array]:
    """Return the bits that each node receives from the other ends of its edges, or from the sources of its arcs."""
    into = [np.zeros_like(bits) for bits in newest]
    back = (way & BACK) > 0
    forth: Any = ~back if way.size else slice(None)
    _pass_on(u[forth], v[forth], newest[0], into[1])
    forth = back if way.size else slice(None)
    _pass_on(v[forth], u[forth], newest[1], into[0])
    return into


def _pass_on(source: Array, target: Array, bits: Array, into: Array) -> None:
    """OR the bits of the source of each edge into those of its target."""
    order = np.argsort(target, kind="stable")
    nodes, first = np.unique(target[order], return_index=True)
    if nodes.size:
        into[nodes] |= np.bitwise_or.reduceat(bits[source[order]], first, axis=0)
