"""Pairs of nodes by hop class: edges that stay, searches from sampled sources, and the pool to train on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hops.pairs import WORD
from hopsight.hops.pool import POOL_A_FOLD, PairPool, PoolPlan, below, count, plan_pool, scramble, source_count
from hopsight.preprocess import edge_similarity
from hopsight.spark.blocks import (
    NO_FOLD,
    PIECE,
    SENT,
    Layout,
    added,
    each_row,
    gathered,
    kept,
    piece_matrix,
    pieces,
    send,
)
from hopsight.spark.cells import on_cells, slices
from hopsight.spark.folds import Splits
from hopsight.spark.graph import EDGE_TYPES
from hopsight.spark.order import nth, sortable
from hopsight.system.compiled import compiled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Array = NDArray[Any]

PORTION = 8 * WORD  # sources that a task searches from

KEYED = "cell int, slice int, u binary, v binary, hash binary, likeness binary"
STAYING = "cell int, slice int, u binary, v binary"
TYPES: dict[str, Any] = {
    "exact": np.float64,
    "hash": np.uint64,
    "reach": np.uint64,
    "likeness": np.uint64,
    **EDGE_TYPES,
}


def likened(x: DataFrame, cells: DataFrame, layout: Layout, similarity: str) -> DataFrame:
    """Add to every edge a word that sorts as the similarity of its ends."""

    def compare(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], edges: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        rows = blocks["exact0"] if i == j else np.concatenate([blocks["exact0"], blocks["exact1"]])
        ends = np.stack([edges["u"], edges["v"] + (0 if i == j else layout.sizes[i])]).astype(np.int64)
        yield from slices(cell, {"likeness": sortable(edge_similarity(rows, ends, similarity)), **edges})

    edges = cells.select("cell", "slice", "u", "v", "hash")
    return on_cells(send(x.filter("kind = 'exact'"), layout), edges, layout, [NO_FOLD], compare, TYPES, KEYED)


Limit = tuple[np.uint64, np.uint64]


def drop_limit(cells: DataFrame, n_edges: int, drop_ratio: float) -> Limit:
    """Return the words of similarity and, among equals, of the edge's hash above which an edge stays.

    The share R of the least alike goes.
    """
    n_drop = int(np.floor(drop_ratio * n_edges + 1e-9))
    if n_drop == 0:
        return np.uint64(0), np.uint64(0)
    limit = nth(cells, lambda row: [(0, _words(row, "likeness"))], [(0, n_drop - 1)], n_edges)[0]

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        likeness = _words(row, "likeness")
        yield 0, np.array([(likeness < limit).sum(), (likeness == limit).sum()], dtype=np.float64)

    n_less, n_equal = gathered(cells, counts)[0].astype(np.int64).tolist()
    if n_less + n_equal == n_drop:
        return limit, np.uint64(2**64 - 1)

    def ties(row: dict[str, Any]) -> list[tuple[int, Array]]:
        return [(0, scramble(_words(row, "hash")[_words(row, "likeness") == limit]))]

    return limit, nth(cells, ties, [(0, n_drop - n_less - 1)], n_equal)[0]


def stays(row: dict[str, Any], limit: Limit) -> NDArray[np.bool_]:
    """Return which edges of a slice stay."""
    likeness = _words(row, "likeness")
    return (likeness > limit[0]) | ((likeness == limit[0]) & (scramble(_words(row, "hash")) > limit[1]))


def _words(row: dict[str, Any], name: str) -> NDArray[np.uint64]:
    return np.frombuffer(row[name], dtype=np.uint64)


def sources_of(nodes: DataFrame, n_nodes: int) -> tuple[Array, Array, Array]:
    """Return block, position and hash of the nodes to search from."""
    found = nodes.orderBy("order").limit(source_count(n_nodes)).select("block", "position", "hash").collect()
    block, position, hashes = (np.array([row[i] for row in found], dtype=np.int64) for i in range(3))
    return block, position, hashes.view(np.uint64)


def staying(cells: DataFrame, limit: Limit) -> DataFrame:
    """Return cells with the edges that stay, without what the search does not look at."""

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        stay = stays(row, limit)
        yield {
            "cell": row["cell"],
            "slice": row["slice"],
            **{end: np.frombuffer(row[end], dtype=np.int32)[stay] for end in ("u", "v")},
        }

    return cells.mapInArrow(each_row(choose, STAYING), STAYING)


def searched(
    x: DataFrame, cells: DataFrame, layout: Layout, sources: tuple[Array, Array, Array], n_hops: int
) -> DataFrame:
    """Search from all sources, a bit each, along the edges of ``cells``.

    The sources are taken in portions, each a "fold" of its own: blocks [hash, C₀, C₁, …], where bit b of Cₕ says that
    source b of the portion is at most h hops away. A step is a product with A + I in which OR takes the place of +.
    A single block takes all its steps in one task; several exchange the newest bits after each.
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
            into = _given(edges["u"], edges["v"], newest)
            if i == j:
                known[0] = known[1] = np.hstack([known[0], into[0] | into[1] | newest[0]])
        parts = [(i, known[0])] if i == j else [(i, into[0]), (j, into[1])]
        for block, rows in parts:
            yield from ({**row, "cell": cell} for row in pieces(portion, block, "reach", rows))

    sent = send(x.filter("kind = 'hash'"), layout, portions)
    for step in range(1, n_hops + 1, at_once):
        partial = on_cells(sent, cells, layout, portions, widen, TYPES, SENT)
        state = added(partial, layout, np.uint64, op=_or_last(step + 1))
        sent = state.mapInArrow(each_row(_to_cells(layout, sources[0].size), SENT), SENT)
    return kept(state, large=True)


def pool_of(
    state: DataFrame,
    cells: DataFrame,
    layout: Layout,
    splits: Splits,
    sources: tuple[Array, Array, Array],
    limit: Limit,
    seed: np.uint64,
    **settings: Any,
) -> PairPool:
    """Choose the pool of :func:`hopsight.hops.pool.pair_pool`; a node is its number among all nodes, block by block."""
    n_classes = settings["n_classes"]
    n_sources = sources[0].size
    counts = _class_counts(state, layout, n_sources, n_classes)
    hidden = gathered(cells, _hidden_counter(splits, limit))[0]
    n_edges = int(hidden[-1])
    if n_edges == 0:
        raise ValueError("no edge is left to learn hop counts from")
    plan = plan_pool(counts, layout.n_nodes, n_edges, len(splits.folds), **settings)
    far = _far_pairs(state, layout, sources, seed, plan)
    near = _near_pairs(cells, layout, splits, limit, seed, hidden)
    return plan.pool(near, far)


def offsets(layout: Layout) -> Array:
    """Return the number of the first node of every block."""
    return np.concatenate([[0], np.cumsum(layout.sizes)]).astype(np.int64)


def _n_words(n_sources: int, portion: int) -> int:
    """Return how many words the bits of a portion of the sources take."""
    return -(-min(PORTION, n_sources - portion * PORTION) // WORD)


def _start(sources: tuple[Array, Array, Array], portion: int, block: int, n_rows: int) -> Array:
    """Return C₀ of a block: every source of the portion reaches itself."""
    bits = np.zeros((n_rows, _n_words(sources[0].size, portion)), dtype=np.uint64)
    home, position = (part[portion * PORTION : (portion + 1) * PORTION] for part in sources[:2])
    here = np.flatnonzero(home == block)
    np.bitwise_or.at(bits, (position[here], here // WORD), np.uint64(1) << (here % WORD).astype(np.uint64))
    return bits


def _to_cells(layout: Layout, n_sources: int) -> Any:
    """Send the newest bits to every cell of a block, and all that is known to the one cell of its own."""

    def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        n_words = _n_words(n_sources, row["fold"])
        newest = np.ascontiguousarray(piece_matrix(row, layout, np.uint64)[:, -n_words:])
        for cell in layout.cells_of(row["block"]):
            i, j = layout.pairs[cell]
            yield {**row, "cell": cell, "payload": row["payload"] if i == j else newest}

    return copies


def _or_last(n_matrices: int) -> Any:
    """Return the OR of two flat matrices, [hash, C₀, …] with so many C, and a narrower one that goes to the last."""

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
    """Return, for 64 sources, who is reached in exactly 0, 1, … hops: (n_hops + 1, n_rows) words."""
    within = rows[:, 1:].reshape(len(rows), -1, n_words)[:, :, word].T
    return np.ascontiguousarray(np.concatenate([within[:1], within[1:] & ~within[:-1]]))


# Compiled functions are called from functions of this module only: those travel to the workers by name and find what
# was compiled before, while the compiled function itself would travel as source and be compiled again by every worker.


def _near_counts(rows: Array, n_words: int) -> Array:
    """Return how many nodes are at 1, …, C−1 hops of every source of a portion."""
    return np.concatenate([count(_exact(rows, word, n_words), WORD)[:, :-1] for word in range(n_words)])


def _chosen(rows: Array, word: int, n_words: int, source_hashes: Array, seed: np.uint64, plan: PoolPlan) -> Any:
    """Return the pairs of 64 sources whose hash is below the limit of their class."""
    hashes = np.ascontiguousarray(rows[:, 0])
    return below(_exact(rows, word, n_words), source_hashes, hashes, seed, plan.class_of_hop, plan.limits)


def _given(u: Array, v: Array, newest: list[Array]) -> list[Array]:
    """Return what the bits of each end of the edges give to the other end."""
    into = [np.zeros_like(bits) for bits in newest]
    _spread(u, v, newest[0], newest[1], into[0], into[1])
    return into


def _class_counts(state: DataFrame, layout: Layout, n_sources: int, n_classes: int) -> NDArray[np.int64]:
    """Return how many nodes are at 1, …, C−1 and ≥ C hops of every source."""

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        rows, n_words = piece_matrix(row, layout, np.uint64), _n_words(n_sources, row["fold"])
        yield row["fold"], _near_counts(rows, n_words).astype(np.float64).ravel()

    found = gathered(state, counts)
    near = np.concatenate([found[portion] for portion in sorted(found)]).reshape(-1, n_classes - 1)
    near = near[:n_sources].astype(np.int64)
    return np.column_stack([near, layout.n_nodes - 1 - near.sum(axis=1)])


def _hidden_counter(splits: Splits, limit: Limit) -> Any:
    """Count the edges that stay: those that each fold hides, and all."""

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        hashes = _words(row, "hash")[stays(row, limit)]
        hidden = [splits.hidden(hashes, fold).sum() for fold in splits.folds]
        yield 0, np.array([*hidden, hashes.size], dtype=np.float64)

    return counts


def _far_pairs(
    state: DataFrame, layout: Layout, sources: tuple[Array, Array, Array], seed: np.uint64, plan: PoolPlan
) -> list[Array]:
    """Return the pairs of every class beyond one hop, in the order of their hashes."""
    first = offsets(layout)

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        rows, n_words = piece_matrix(row, layout, np.uint64), _n_words(sources[0].size, row["fold"])
        start = first[row["block"]] + row["piece"] * PIECE
        for word in range(n_words):
            before = row["fold"] * PORTION + word * WORD
            bit, node, kind, rank = _chosen(rows, word, n_words, sources[2][before : before + WORD], seed, plan)
            yield {"payload": np.stack([bit + before, node + start, kind, rank.view(np.int64)])}

    schema = "payload binary"
    made = state.mapInArrow(each_row(find, schema), schema).collect()
    source, target, kind, rank = np.concatenate(
        [np.frombuffer(row["payload"], dtype=np.int64).reshape(4, -1) for row in made], axis=1
    )
    order = np.argsort(rank.view(np.uint64), kind="stable")
    number = first[sources[0]] + sources[1]
    pairs, kind = np.stack([number[source], target])[:, order], kind[order]
    return [pairs[:, kind == far] for far in range(1, plan.n_classes)]


def _near_pairs(
    cells: DataFrame, layout: Layout, splits: Splits, limit: Limit, seed: np.uint64, hidden: Array
) -> list[Array]:
    """Return the edges that each fold hides, those with the smallest hashes, in their order."""
    first, folds = offsets(layout), splits.folds
    most = POOL_A_FOLD + 8 * np.sqrt(POOL_A_FOLD)
    sizes = np.where(hidden[:-1] > 0, hidden[:-1], hidden[-1])
    limits = np.minimum(most / sizes * 2.0**64, 2.0**64 - 2048).astype(np.uint64)

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[row["cell"]]
        u, v, hashes = (np.frombuffer(row[name], dtype=EDGE_TYPES[name]) for name in ("u", "v", "hash"))
        stay = stays(row, limit)
        rank = scramble(hashes ^ seed)
        for fold in folds:
            mine = splits.hidden(hashes, fold) if hidden[fold] else True
            chosen = np.flatnonzero(stay & mine & (rank <= limits[fold]))
            found = [first[i] + u[chosen], first[j] + v[chosen], rank[chosen].view(np.int64)]
            yield {"fold": fold, "payload": np.stack(found).astype(np.int64)}

    schema = "fold int, payload binary"
    made: dict[int, list[Array]] = {}
    for row in cells.mapInArrow(each_row(find, schema), schema).collect():
        made.setdefault(row["fold"], []).append(np.frombuffer(row["payload"], dtype=np.int64).reshape(3, -1))
    near = []
    for fold in folds:
        source, target, rank = np.concatenate(made[fold], axis=1)
        near.append(np.stack([source, target])[:, np.argsort(rank.view(np.uint64), kind="stable")[:POOL_A_FOLD]])
    return near


@compiled(nogil=True)
def _spread(u: Any, v: Any, first: Any, second: Any, into_first: Any, into_second: Any) -> None:
    """Give the bits of each end of an edge to the other."""
    for edge in range(u.size):
        for word in range(first.shape[1]):
            into_second[v[edge], word] |= first[u[edge], word]
            into_first[u[edge], word] |= second[v[edge], word]
