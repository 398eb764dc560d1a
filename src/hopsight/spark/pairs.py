"""Choose the pool of node pairs to train on: drop edges, search from sampled sources, sample each hop class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.splits import Splits
from hopsight.hops.pool import POOL_PER_FOLD, PairPool, PoolPlan, plan_pool, source_count, without
from hopsight.hops.search import WORD, below, count, scramble
from hopsight.preprocess import edge_similarity
from hopsight.preprocess.references import References
from hopsight.spark.blocks import (
    NO_FOLD,
    PIECE,
    SENT,
    Array,
    Layout,
    cached,
    each_row,
    piece_matrix,
    pieces,
    send,
    sum_over_cells,
    sum_to_driver,
)
from hopsight.spark.cells import BACK, LATE, arc_ends, on_cells, slices
from hopsight.spark.drops import DropLimit, column, kept_mask
from hopsight.spark.graph import EDGE_TYPES
from hopsight.spark.quantiles import hash_limit, sortable
from hopsight.system.compiled import compiled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


PORTION = 8 * WORD  # sources that one task searches from

COMPARED = "cell int, slice int, u binary, v binary, hash binary, way binary, similarity binary, dissimilarity binary"
KEPT_EDGES = "cell int, slice int, u binary, v binary, way binary"
TYPES: dict[str, Any] = {
    "exact": np.float64,
    "hash": np.uint64,
    "reach": np.uint64,
    **EDGE_TYPES,
}


def with_similarity(x: DataFrame, cells: DataFrame, layout: Layout, measure: str, references: References) -> DataFrame:
    """Add to each edge the similarity of its ends, as a word that sorts like it, and their relative dissimilarity."""

    def compare(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        rows = blocks["exact0"] if i == j else np.concatenate([blocks["exact0"], blocks["exact1"]])
        ends = np.stack([edges["u"], edges["v"] + (0 if i == j else layout.sizes[i])]).astype(np.int64)
        similarity = sortable(edge_similarity(rows, ends, measure))
        dissimilarity = references.relative_dissimilarity(rows, ends)
        yield from slices(cell, {"similarity": similarity, "dissimilarity": dissimilarity, **edges})

    edges = cells.select("cell", "slice", "u", "v", "hash", "way")
    return on_cells(send(x.filter("kind = 'exact'"), layout), edges, layout, [NO_FOLD], compare, TYPES, COMPARED)


def choose_sources(nodes: DataFrame, n_nodes: int) -> tuple[Array, Array, Array]:
    """Return the block, position and hash of each node to search from."""
    found = nodes.orderBy("order").limit(source_count(n_nodes)).select("block", "position", "hash").collect()
    block, position, hashes = (np.array([row[i] for row in found], dtype=np.int64) for i in range(3))
    return block, position, hashes.view(np.uint64)


def kept_edges(cells: DataFrame, limit: DropLimit) -> DataFrame:
    """Return the cells with the edges that are kept, and only the columns that the search needs."""

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        kept = kept_mask(row, limit)
        way = column(row, "way")
        ends = {end: column(row, end)[kept] for end in ("u", "v")}
        yield {**row, **ends, "way": way[kept] if way.size else way}

    return cells.mapInArrow(each_row(choose, KEPT_EDGES), KEPT_EDGES)


def search_hops(
    x: DataFrame, cells: DataFrame, layout: Layout, sources: tuple[Array, Array, Array], n_hops: int
) -> DataFrame:
    """Search from all sources at once along the edges of ``cells``, with one bit per source.

    The sources are divided into portions, each a "fold" of its own. The result is blocks [hash, C₀, C₁, …], where bit
    b of Cₕ says that source b of the portion is at most h hops away. A step is a product with A + I in which OR
    replaces the addition. A single block takes all steps in one task; several exchange the newest bits after each.
    Bits follow the direction of arcs.
    """
    at_once = n_hops if layout.n_blocks == 1 else 1
    portions = list(range(-(-sources[0].size // PORTION)))

    def widen(
        layout: Layout, portion: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        n_words = _n_words(sources[0].size, portion)
        known = [
            blocks[f"reach{side}"]
            if f"reach{side}" in blocks
            else np.hstack([blocks[f"hash{side}"], _start(sources, portion, block, layout.sizes[block])])
            for side, block in enumerate((i, j))
        ]
        for _ in range(at_once):
            newest = [np.ascontiguousarray(rows[:, -n_words:]) for rows in known]
            into = _exchanged(edges["u"], edges["v"], edges["way"], newest)
            if i == j:
                known[0] = known[1] = np.hstack([known[0], into[0] | into[1] | newest[0]])
        parts = [(i, known[0])] if i == j else [(i, into[0]), (j, into[1])]
        for block, rows in parts:
            yield from ({**row, "cell": cell} for row in pieces(portion, block, "reach", rows))

    sent = send(x.filter("kind = 'hash'"), layout, portions)
    for step in range(1, n_hops + 1, at_once):
        partial = on_cells(sent, cells, layout, portions, widen, TYPES, SENT)
        state = sum_over_cells(partial, layout, np.uint64, op=_or_last(step + 1))
        sent = state.mapInArrow(each_row(_to_cells(layout, sources[0].size), SENT), SENT)
    return cached(state, large=True)


def choose_pool(
    state: DataFrame,
    cells: DataFrame,
    layout: Layout,
    splits: Splits,
    sources: tuple[Array, Array, Array],
    limit: DropLimit,
    seed: np.uint64,
    **settings: Any,
) -> PairPool:
    """Choose the pool of :func:`hopsight.hops.pool.pair_pool`; nodes are numbered block by block."""
    n_classes = settings["n_classes"]
    n_sources = sources[0].size
    counts = _class_counts(state, layout, n_sources, n_classes)
    *n_positives, n_kept = sum_to_driver(cells, _positive_counter(splits, limit))[0].tolist()
    if n_kept == 0:
        raise ValueError("the graph has no edges to learn hop counts from")
    plan = plan_pool(counts, layout.n_nodes, int(n_kept), splits.n_inner, **settings)
    far = _far_pairs(state, layout, sources, seed, plan)
    dropped = _dropped_among(cells, layout, limit, np.concatenate(far, axis=1))
    far = [without(pairs, dropped, layout.n_nodes) for pairs in far]
    near = _near_pairs(cells, layout, splits, limit, seed, n_positives)
    return plan.pool(near, far, splits.n_folds)


def _n_words(n_sources: int, portion: int) -> int:
    """Return the number of words that hold the bits of a portion of the sources."""
    return -(-min(PORTION, n_sources - portion * PORTION) // WORD)


def _start(sources: tuple[Array, Array, Array], portion: int, block: int, n_rows: int) -> Array:
    """Return C₀ of a block, where each source of the portion reaches only itself."""
    bits = np.zeros((n_rows, _n_words(sources[0].size, portion)), dtype=np.uint64)
    home, position = (part[portion * PORTION : (portion + 1) * PORTION] for part in sources[:2])
    here = np.flatnonzero(home == block)
    np.bitwise_or.at(bits, (position[here], here // WORD), np.uint64(1) << (here % WORD).astype(np.uint64))
    return bits


def _to_cells(layout: Layout, n_sources: int) -> Any:
    """Send the newest bits to every cell that touches a block, and all bits to the block's own cell (i, i)."""

    def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        n_words = _n_words(n_sources, row["fold"])
        newest = np.ascontiguousarray(piece_matrix(row, layout, np.uint64)[:, -n_words:])
        for cell in layout.cells_of(row["block"]):
            i, j = layout.pairs[cell]
            yield {**row, "cell": cell, "payload": row["payload"] if i == j else newest}

    return copies


def _or_last(n_matrices: int) -> Any:
    """Return the function that ORs two flat matrices; the narrower of [hash, C₀, …] and Cₕ goes to the last columns."""

    def either(a: Array, b: Array) -> Array:
        if a.size == b.size:
            return a | b
        wide, narrow = (a, b) if a.size > b.size else (b, a)
        n_rows = wide.size - n_matrices * narrow.size
        total = wide.reshape(n_rows, -1).copy()
        rows = narrow.reshape(n_rows, -1)
        total[:, -rows.shape[1] :] |= rows
        return total.ravel()

    return either


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


def _class_counts(state: DataFrame, layout: Layout, n_sources: int, n_classes: int) -> NDArray[np.int64]:
    """Return the number of nodes at 1, …, C−1 and ≥ C hops from each source."""

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        rows, n_words = piece_matrix(row, layout, np.uint64), _n_words(n_sources, row["fold"])
        yield row["fold"], _near_counts(rows, n_words).astype(np.float64).ravel()

    found = sum_to_driver(state, counts)
    near = np.concatenate([found[portion] for portion in sorted(found)]).reshape(-1, n_classes - 1)
    near = near[:n_sources].astype(np.int64)
    return np.column_stack([near, layout.n_nodes - 1 - near.sum(axis=1)])


def _positives(row: dict[str, Any], kept: NDArray[np.bool_], splits: Splits, fold: int) -> NDArray[np.bool_]:
    """Return the edges of a slice that a fold learns one hop from; one that is set aside takes dropped edges, too."""
    mine = splits.of(column(row, "hash")).positives(fold)
    return mine if fold % splits.n_inner == 0 else mine & kept


def _positive_counter(splits: Splits, limit: DropLimit) -> Any:
    """Return the function that counts the edges each fold learns from, and all kept edges."""

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        kept = kept_mask(row, limit)
        positives = [_positives(row, kept, splits, fold).sum() for fold in splits.folds]
        yield 0, np.array([*positives, kept.sum()], dtype=np.float64)

    return counts


def _dropped_among(cells: DataFrame, layout: Layout, limit: DropLimit, pairs: Array) -> Array:
    """Return those of some pairs that are dropped edges."""
    first, n_nodes = layout.offsets, layout.n_nodes
    wanted = cells.sparkSession.sparkContext.broadcast(np.unique(pairs.min(axis=0) * n_nodes + pairs.max(axis=0)))

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[row["cell"]]
        dropped = ~kept_mask(row, limit)
        u, v = (np.frombuffer(row[end], dtype=np.int32)[dropped].astype(np.int64) for end in ("u", "v"))
        ends = np.stack([first[i] + u, first[j] + v])  # NumPy 1 would leave int32 as it is
        keys = ends.min(axis=0) * n_nodes + ends.max(axis=0)
        places = np.minimum(np.searchsorted(wanted.value, keys), wanted.value.size - 1)
        yield {"payload": ends[:, wanted.value[places] == keys] if wanted.value.size else ends[:, :0]}

    schema = "payload binary"
    collected = cells.mapInArrow(each_row(find, schema), schema).collect()
    return np.concatenate([np.frombuffer(row["payload"], dtype=np.int64).reshape(2, -1) for row in collected], axis=1)


def _far_pairs(
    state: DataFrame, layout: Layout, sources: tuple[Array, Array, Array], seed: np.uint64, plan: PoolPlan
) -> list[Array]:
    """Return the pairs of each class beyond one hop, ordered by their hashes."""
    first = layout.offsets

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        rows, n_words = piece_matrix(row, layout, np.uint64), _n_words(sources[0].size, row["fold"])
        start = first[row["block"]] + row["piece"] * PIECE
        for word in range(n_words):
            before = row["fold"] * PORTION + word * WORD
            bit, node, kind, rank = _chosen(rows, word, n_words, sources[2][before : before + WORD], seed, plan)
            yield {"payload": np.stack([bit + before, node + start, kind, rank.view(np.int64)])}

    schema = "payload binary"
    collected = state.mapInArrow(each_row(find, schema), schema).collect()
    source, target, kind, rank = np.concatenate(
        [np.frombuffer(row["payload"], dtype=np.int64).reshape(4, -1) for row in collected], axis=1
    )
    order = np.lexsort([sources[2][source], rank.view(np.uint64)])  # both orders of two ends have one hash
    number = first[sources[0]] + sources[1]
    pairs, kind = np.stack([number[source], target])[:, order], kind[order]
    return [pairs[:, kind == far] for far in range(1, plan.n_classes)]


def _near_pairs(
    cells: DataFrame, layout: Layout, splits: Splits, limit: DropLimit, seed: np.uint64, n_positives: list[float]
) -> list[Array]:
    """Return the edges with the smallest hashes that each fold learns one hop from, ordered by their hashes."""
    first, folds = layout.offsets, splits.folds
    limits = [hash_limit(POOL_PER_FOLD, size) for size in n_positives]

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[row["cell"]]
        u, v, hashes, way = (column(row, name) for name in ("u", "v", "hash", "way"))
        kept = kept_mask(row, limit)
        rank = scramble(hashes ^ seed)
        for fold in folds:
            chosen = np.flatnonzero(_positives(row, kept, splits, fold) & (rank <= limits[fold]))
            mine = way[chosen] if way.size else way
            ends = arc_ends(first[i] + u[chosen], first[j] + v[chosen], mine)
            late = mine & LATE if way.size else np.zeros_like(chosen)
            yield {"fold": fold, "payload": np.stack([*ends, late, rank[chosen].view(np.int64)]).astype(np.int64)}

    schema = "fold int, payload binary"
    collected: dict[int, list[Array]] = {}
    for row in cells.mapInArrow(each_row(find, schema), schema).collect():
        collected.setdefault(row["fold"], []).append(np.frombuffer(row["payload"], dtype=np.int64).reshape(4, -1))
    near = []
    for fold in folds:
        found = np.concatenate(collected[fold], axis=1)
        order = np.lexsort([found[2], found[3].view(np.uint64)])  # opposite arcs have one hash
        near.append(found[:2, order[:POOL_PER_FOLD]])
    return near


@compiled(nogil=True)
def _pass_on(source: Any, target: Any, bits: Any, into: Any) -> None:
    """OR the bits of the source of each edge into those of its target."""
    for edge in range(source.size):
        for word in range(bits.shape[1]):
            into[target[edge], word] |= bits[source[edge], word]
