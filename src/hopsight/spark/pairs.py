"""Pairs of nodes by hop class: links that stay, searches from sampled sources, and the pool to train on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hopsight.hops import WORD
from hopsight.pools import POOL_A_FOLD, PairPool, PoolPlan, below, count, plan_pool, scramble, source_count
from hopsight.preprocess import edge_similarity
from hopsight.spark.blocks import (
    BLOCK,
    NO_FOLD,
    PIECE,
    SENT,
    Layout,
    added,
    each_row,
    gathered,
    kept,
    on_cells,
    piece_matrix,
    pieces,
    send,
)
from hopsight.spark.folds import Splits
from hopsight.spark.network import CELL, LINK_TYPES
from hopsight.spark.order import nth, sortable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Array = NDArray[Any]

KEYED = f"{CELL}, likeness binary"
TYPES: dict[str, Any] = {"x": np.float32, "hash": np.uint64, "reach": np.uint64, "likeness": np.uint64, **LINK_TYPES}


def likened(x: DataFrame, cells: DataFrame, layout: Layout, similarity: str) -> DataFrame:
    """Add to every link a word that sorts as the similarity of its ends, ties by the hash of the link."""

    def compare(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], links: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        rows = blocks["x0"] if i == j else np.concatenate([blocks["x0"], blocks["x1"]])
        ends = np.stack([links["u"], links["v"] + (0 if i == j else layout.sizes[i])]).astype(np.int64)
        likeness = edge_similarity(rows.astype(np.float64), ends, similarity)
        high = sortable(likeness.astype(np.float32).astype(np.float64)) & ~np.uint64((1 << 29) - 1)
        word = high | (scramble(links["hash"]) >> np.uint64(35))
        yield {"cell": cell, "likeness": word, **{name: links[name] for name in LINK_TYPES}}

    return on_cells(send(x, layout), cells, layout, [NO_FOLD], compare, TYPES, KEYED)


def drop_limit(cells: DataFrame, n_links: int, drop_ratio: float) -> np.uint64:
    """Return the word above which a link stays, so that the share R of the least alike goes."""
    n_drop = int(np.floor(drop_ratio * n_links + 1e-9))
    if n_drop == 0:
        return np.uint64(0)
    return nth(cells, lambda row: [(0, np.frombuffer(row["likeness"], dtype=np.uint64))], [(0, n_drop - 1)], n_links)[0]


def sources_of(nodes: DataFrame, n_nodes: int) -> tuple[Array, Array, Array]:
    """Return block, position and hash of the nodes to search from."""
    found = nodes.orderBy("order").limit(source_count(n_nodes)).select("block", "position", "hash").collect()
    block, position, hashes = (np.array([row[i] for row in found], dtype=np.int64) for i in range(3))
    return block, position, hashes.view(np.uint64)


def searched(
    x: DataFrame, cells: DataFrame, layout: Layout, sources: tuple[Array, Array, Array], limit: np.uint64, n_hops: int
) -> DataFrame:
    """Search from all sources at once, a bit each, along the links that stay.

    Returns blocks [hash, C₀, C₁, …]: bit b of Cₕ says that source b is at most h hops away. A step is a product with
    A + I in which OR takes the place of +.
    """
    block, position, _ = sources
    n_words = -(-block.size // WORD)

    def start(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if row["kind"] != "hash":
            return
        hashes = piece_matrix(row, layout, np.uint64)
        bits = np.zeros((len(hashes), n_words), dtype=np.uint64)
        first = row["piece"] * PIECE
        here = np.flatnonzero((block == row["block"]) & (position >= first) & (position < first + len(hashes)))
        np.bitwise_or.at(bits, (position[here] - first, here // WORD), np.uint64(1) << (here % WORD).astype(np.uint64))
        yield {**row, "kind": "reach", "payload": np.hstack([hashes, bits])}

    def widen(
        layout: Layout, fold: int, cell: int, blocks: dict[str, Array], links: dict[str, Array]
    ) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[cell]
        stays = links["likeness"] > limit
        u, v = links["u"][stays], links["v"][stays]
        newest = [np.ascontiguousarray(blocks[f"reach{side}"][:, -n_words:]) for side in (0, 1)]
        into = [np.zeros_like(newest[0]), np.zeros_like(newest[1])]
        _spread(u, v, newest[0], newest[1], into[0], into[1])
        if i == j:
            total = np.hstack([blocks["reach0"], into[0] | into[1] | newest[0]])
            yield from ({**row, "cell": cell} for row in pieces(NO_FOLD, i, "reach", total))
        else:
            for block, bits in ((i, into[0]), (j, into[1])):
                yield from ({**row, "cell": cell} for row in pieces(NO_FOLD, block, "reach", bits))

    state = x.mapInArrow(each_row(start, BLOCK), BLOCK)
    for _ in range(n_hops):
        sent = state.mapInArrow(each_row(_to_cells(layout, n_words), SENT), SENT)
        partial = on_cells(sent, cells, layout, [NO_FOLD], widen, TYPES, SENT)
        state = added(partial, layout, np.uint64, op=_or_last(n_words))
    return kept(state, large=True)


def pool_of(
    state: DataFrame,
    cells: DataFrame,
    layout: Layout,
    splits: Splits,
    sources: tuple[Array, Array, Array],
    limit: np.uint64,
    seed: np.uint64,
    **settings: Any,
) -> PairPool:
    """Choose the pool of :func:`hopsight.pools.pair_pool`; a node is its number among all nodes, block by block."""
    n_classes = settings["n_classes"]
    n_sources = sources[0].size
    counts = _class_counts(state, layout, n_sources, n_classes)
    hidden = gathered(cells, _hidden_counter(splits, limit))[0]
    n_links = int(hidden[-1])
    if n_links == 0:
        raise ValueError("no link is left to learn hop counts from")
    plan = plan_pool(counts, layout.n_nodes, n_links, len(splits.folds), **settings)
    far = _far_pairs(state, layout, sources, seed, plan)
    near = _near_pairs(cells, layout, splits, limit, seed, hidden)
    return plan.pool(near, far)


def offsets(layout: Layout) -> Array:
    """Return the number of the first node of every block."""
    return np.concatenate([[0], np.cumsum(layout.sizes)]).astype(np.int64)


def _to_cells(layout: Layout, n_words: int) -> Any:
    """Send the newest bits to every cell of a block, and all that is known to the one cell of its own."""

    def copies(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        newest = np.ascontiguousarray(piece_matrix(row, layout, np.uint64)[:, -n_words:])
        for cell in layout.cells_of(row["block"]):
            i, j = layout.pairs[cell]
            yield {**row, "cell": cell, "payload": row["payload"] if i == j else newest}

    return copies


def _or_last(n_words: int) -> Any:
    """Return the OR of two flat matrices, the narrower of which holds only the last ``n_words`` columns."""

    def either(a: Array, b: Array) -> Array:
        if a.size == b.size:
            return a | b
        wide, narrow = (a, b) if a.size > b.size else (b, a)
        rows = narrow.reshape(-1, n_words)
        total = wide.reshape(len(rows), -1).copy()
        total[:, -n_words:] |= rows
        return total.ravel()

    return either


def _exact(rows: Array, word: int, n_words: int) -> Array:
    """Return, for 64 sources, who is reached in exactly 0, 1, … hops: (n_hops + 1, n_rows) words."""
    within = rows[:, 1:].reshape(len(rows), -1, n_words)[:, :, word].T
    return np.ascontiguousarray(np.concatenate([within[:1], within[1:] & ~within[:-1]]))


def _class_counts(state: DataFrame, layout: Layout, n_sources: int, n_classes: int) -> NDArray[np.int64]:
    """Return how many nodes are at 1, …, C−1 and ≥ C hops of every source."""
    n_words = -(-n_sources // WORD)

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        rows = piece_matrix(row, layout, np.uint64)
        found = [count(_exact(rows, word, n_words), WORD)[:, :-1] for word in range(n_words)]
        yield 0, np.concatenate(found).astype(np.float64).ravel()

    near = gathered(state, counts)[0].reshape(-1, n_classes - 1)[:n_sources].astype(np.int64)
    return np.column_stack([near, layout.n_nodes - 1 - near.sum(axis=1)])


def _hidden_counter(splits: Splits, limit: np.uint64) -> Any:
    """Count the links that stay: those that each fold hides, and all."""

    def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        stays = np.frombuffer(row["likeness"], dtype=np.uint64) > limit
        hashes = np.frombuffer(row["hash"], dtype=np.uint64)[stays]
        hidden = [splits.hidden(hashes, fold).sum() for fold in splits.folds]
        yield 0, np.array([*hidden, stays.sum()], dtype=np.float64)

    return counts


def _far_pairs(
    state: DataFrame, layout: Layout, sources: tuple[Array, Array, Array], seed: np.uint64, plan: PoolPlan
) -> list[Array]:
    """Return the pairs of every class beyond one hop, in the order of their hashes."""
    first, n_words = offsets(layout), -(-sources[0].size // WORD)

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        rows = piece_matrix(row, layout, np.uint64)
        hashes = np.ascontiguousarray(rows[:, 0])
        start = first[row["block"]] + row["piece"] * PIECE
        for word in range(n_words):
            here = sources[2][word * WORD : (word + 1) * WORD]
            reached = _exact(rows, word, n_words)
            bit, node, kind, rank = below(reached, here, hashes, seed, plan.class_of_hop, plan.limits)
            found = np.stack([bit + word * WORD, node + start, kind, rank.view(np.int64)])
            yield {"payload": found}

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
    cells: DataFrame, layout: Layout, splits: Splits, limit: np.uint64, seed: np.uint64, hidden: Array
) -> list[Array]:
    """Return the links that each fold hides, those with the smallest hashes, in their order."""
    first, folds = offsets(layout), splits.folds
    most = POOL_A_FOLD + 8 * np.sqrt(POOL_A_FOLD)
    sizes = np.where(hidden[:-1] > 0, hidden[:-1], hidden[-1])
    limits = np.minimum(most / sizes * 2.0**64, 2.0**64 - 2048).astype(np.uint64)

    def find(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        i, j = layout.pairs[row["cell"]]
        u, v, hashes = (np.frombuffer(row[name], dtype=LINK_TYPES[name]) for name in ("u", "v", "hash"))
        stays = np.frombuffer(row["likeness"], dtype=np.uint64) > limit
        rank = scramble(hashes ^ seed)
        for fold in folds:
            mine = splits.hidden(hashes, fold) if hidden[fold] else True
            chosen = np.flatnonzero(stays & mine & (rank <= limits[fold]))
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


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _spread(u: Any, v: Any, first: Any, second: Any, into_first: Any, into_second: Any) -> None:
    """Give the bits of each end of a link to the other."""
    for link in range(u.size):
        for word in range(first.shape[1]):
            into_second[v[link], word] |= first[u[link], word]
            into_first[u[link], word] |= second[v[link], word]
