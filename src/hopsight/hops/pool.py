"""A bounded pool of node pairs by hop class, chosen by hashes: every engine and every node order finds the same one.

Sources are the nodes with the smallest hashes; of the pairs that a truncated breadth-first search from them finds
in a class, the pool keeps those with the smallest hashes. Training then draws its epochs from the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import get_num_threads
from numba.extending import register_jitable
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.hops.pairs import WORD, _parts, _search, choose_classes
from hopsight.system.compiled import compiled

IntArray = NDArray[np.int64]
HashArray = NDArray[np.uint64]

SEARCHED_PAIRS = 1 << 32  # pairs of a source and a node that are looked at, as long as there are
LEAST_SOURCES, MOST_SOURCES = 2048, 8192
POOL_A_FOLD = 16_384  # pairs of one class that a fold may draw from


@dataclass(frozen=True)
class PairPool:
    """Pairs by fold and class, each list ordered by the hashes of its pairs.

    Attributes
    ----------
    sizes, errors
        Number of pairs at 1, 2, …, C−1 and ≥ C hops in the whole network, and the standard error of each.
    class_of_hop, n_classes, n_pairs
        As in :class:`hopsight.hops.pairs.HopPairs`.
    pools
        For every fold and class, (2, n) pairs to draw from; those of one hop are edges that the fold hides.
    """

    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    class_of_hop: IntArray
    n_classes: int
    n_pairs: int
    pools: Sequence[Sequence[IntArray]]

    @property
    def labels(self) -> IntArray:
        """Return the class of every pair of an epoch, in the order of :meth:`draw`."""
        return np.repeat(np.arange(self.n_classes), self.n_pairs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the pool as arrays with names, for a file."""
        pools = {f"{f}.{kind}": pairs for f, fold in enumerate(self.pools) for kind, pairs in enumerate(fold)}
        known = {"sizes": self.sizes, "errors": self.errors, "class_of_hop": self.class_of_hop}
        return known | pools | {"n_pairs": np.array(self.n_pairs)}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> PairPool:
        """Return the pool of :meth:`arrays`."""
        class_of_hop = arrays["class_of_hop"]
        n_classes = int(class_of_hop.max()) + 1
        n_folds = sum(name.endswith(".0") for name in arrays)
        pools = [[arrays[f"{f}.{kind}"] for kind in range(n_classes)] for f in range(n_folds)]
        return cls(arrays["sizes"], arrays["errors"], class_of_hop, n_classes, int(arrays["n_pairs"]), pools)

    def draw(self, epoch: int, n_epochs: int, *, rng: np.random.Generator) -> IntArray:
        """Return ``(n_epochs, 2, n_classes · n_pairs)`` pairs; epoch t draws from fold t mod n_folds."""
        drawn = np.empty((n_epochs, 2, self.n_classes, self.n_pairs), dtype=np.int64)
        for step in range(n_epochs):
            for number, pairs in enumerate(self.pools[(epoch + step) % len(self.pools)]):
                size = pairs.shape[1]
                chosen = rng.choice(size, self.n_pairs, replace=size < self.n_pairs, shuffle=False)
                drawn[step, :, number] = pairs[:, chosen]
        return drawn.reshape(n_epochs, 2, -1)


def pair_pool(
    adjacency: Any,
    hidden: Sequence[NDArray[np.bool_]],
    edges: IntArray,
    hashes: HashArray,
    seed: np.uint64,
    *,
    n_classes: int,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
    directed: bool = False,
) -> PairPool:
    """Choose the pool.

    Parameters
    ----------
    adjacency, edges
        0/1 CSR matrix of what is left after edges were dropped, and the same edges as (2, n_edges).
    hidden
        For every fold, which of these edges it hides.
    hashes, seed
        64 bits a node, and what makes another pool of them.
    n_classes, sampling_ratio, max_pairs, min_class_pairs, directed
        As in :func:`hopsight.hops.pairs.hop_pairs`.

    Raises
    ------
    ValueError
        If there is no edge, or every pair is connected.
    """
    check_count("n_classes", n_classes, low=2)
    check_count("max_pairs", max_pairs, low=2)
    if edges.shape[1] == 0:
        raise ValueError("no edge is left to learn hop counts from")
    sources = np.argsort(scramble(hashes ^ seed), kind="stable")[: source_count(hashes.size)]
    searched = sp.csr_array(adjacency.T) if directed else adjacency
    counts = _counts(searched, sources, n_classes)
    plan = plan_pool(
        counts, hashes.size, edges.shape[1], len(hidden), directed=directed, n_classes=n_classes,
        sampling_ratio=sampling_ratio, max_pairs=max_pairs, min_class_pairs=min_class_pairs,
    )  # fmt: skip
    found = _collect(searched, sources, hashes, seed, plan)
    order = np.argsort(pair_hashes(hashes, edges, seed), kind="stable")
    near = [edges[:, order[mask[order]][:POOL_A_FOLD]] for mask in hidden]
    return plan.pool([pairs if pairs.size else edges[:, order[:POOL_A_FOLD]] for pairs in near], found)


@dataclass(frozen=True)
class PoolPlan:
    """What the counts decide: classes, pairs an epoch, and the hash below which a pair of a class is taken."""

    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    class_of_hop: IntArray
    n_classes: int
    n_pairs: int
    wanted: int  # pairs in the pool of a class
    limits: HashArray  # (n_hops,) largest hash that is looked at

    def pool(self, near: Sequence[IntArray], far: Sequence[IntArray]) -> PairPool:
        """Return the pool: every fold's edges, and its share of the pairs of each class beyond (sorted by hash)."""
        shares = [
            [deal(pairs[:, : self.wanted], f, len(near), self.n_pairs) for pairs in far] for f in range(len(near))
        ]
        pools = [[edges, *share] for edges, share in zip(near, shares, strict=True)]
        return PairPool(self.sizes, self.errors, self.class_of_hop, self.n_classes, self.n_pairs, pools)


def plan_pool(
    counts: IntArray,
    n_nodes: int,
    n_edges: int,
    n_folds: int,
    *,
    directed: bool = False,
    n_classes: int,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
) -> PoolPlan:
    """Decide on classes and limits from ``counts`` (n_sources, n_classes): nodes at each distance of a source."""
    n_sources = counts.shape[0]
    weight = n_nodes if directed else n_nodes / 2
    sizes = weight * counts.mean(axis=0)
    spread = counts.std(axis=0, ddof=1) if n_sources > 1 else np.full(n_classes, np.inf)
    errors = np.zeros(n_classes) if n_sources == n_nodes else weight * spread / np.sqrt(n_sources)
    sizes[0], errors[0] = n_edges, 0.0
    class_of_hop, pools, n_pairs = choose_classes(
        sizes, counts, n_edges,
        sampling_ratio=sampling_ratio, max_pairs=max_pairs, min_class_pairs=min_class_pairs,
    )  # fmt: skip
    wanted = n_folds * POOL_A_FOLD
    shares = np.minimum((wanted + 8 * np.sqrt(wanted)) / np.maximum(pools, 1), 1.0)[class_of_hop]
    limits = np.where(shares < 1.0, shares * 2.0**64, 2.0**64 - 2048).astype(np.uint64)
    return PoolPlan(sizes, errors, class_of_hop, pools.size, n_pairs, wanted, limits)


def source_count(n_nodes: int) -> int:
    """Return from how many nodes to search: all of a small network, fewer the larger it is.

    >>> source_count(2_400), source_count(100_000), source_count(1_000_000)
    (2400, 8192, 4294)
    """
    return min(n_nodes, max(LEAST_SOURCES, min(MOST_SOURCES, SEARCHED_PAIRS // n_nodes)))


def deal(pairs: IntArray, fold: int, n_folds: int, n_pairs: int) -> IntArray:
    """Return a fold's share of a class, or all of it where a share would be smaller than two epochs.

    >>> deal(np.arange(12).reshape(2, 6), 1, 3, 1).tolist()
    [[1, 4], [7, 10]]
    """
    return pairs[:, fold::n_folds] if pairs.shape[1] >= 2 * n_folds * n_pairs else pairs


def pair_hashes(hashes: HashArray, pairs: IntArray, seed: np.uint64) -> HashArray:
    """Return the hash of every pair, whatever the order of its ends."""
    return scramble((hashes[pairs[0]] + hashes[pairs[1]]) ^ seed)


@register_jitable  # type: ignore[untyped-decorator]
def scramble(words: Any) -> Any:
    """Scramble 64-bit words (the finaliser of SplitMix64), in NumPy and in compiled code."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _batches(sources: IntArray) -> list[IntArray]:
    return [sources[start : start + WORD] for start in range(0, sources.size, WORD)]


def _in_threads(work: Callable[[IntArray], Any], batches: Sequence[IntArray]) -> list[Any]:
    """Do the batches side by side (compiled code lets go of the interpreter); the results keep their order."""
    with ThreadPoolExecutor(get_num_threads()) as pool:
        return list(pool.map(work, batches))


def _counts(searched: Any, sources: IntArray, n_classes: int) -> IntArray:
    """Count the nodes at 1, …, C−1 and ≥ C hops of every source."""
    parts = _parts(searched)

    def counted(batch: IntArray) -> Any:
        return count(_search(*parts, batch, n_classes - 1), batch.size)

    return np.concatenate(_in_threads(counted, _batches(sources)))


def _collect(searched: Any, sources: IntArray, hashes: HashArray, seed: np.uint64, plan: PoolPlan) -> list[IntArray]:
    """Return, for every class beyond one hop, the pairs below the limit in the order of their hashes."""
    parts = _parts(searched)
    n_hops = len(plan.limits) - 1

    def chosen(batch: IntArray) -> Any:
        reached = _search(*parts, batch, n_hops)
        return below(reached, hashes[batch], hashes, seed, plan.class_of_hop, plan.limits)

    found = _in_threads(chosen, _batches(sources))
    bit, target, kind, rank = (np.concatenate(column) for column in zip(*found, strict=True))
    source = sources[bit + WORD * np.repeat(np.arange(len(found)), [len(part[0]) for part in found])]
    order = np.argsort(rank, kind="stable")
    pairs, kind = np.stack([source, target])[:, order], kind[order]
    return [pairs[:, kind == far] for far in range(1, plan.n_classes)]


@compiled(nogil=True)
def count(reached: Any, n_sources: int) -> Any:
    """Count the nodes at 1, …, C−1 and ≥ C hops of each source: bit b of ``reached[h, v]`` is source b at h hops."""
    n_hops, n_nodes = reached.shape[0] - 1, reached.shape[1]
    counts = np.zeros((n_sources, n_hops + 1), dtype=np.int64)
    counts[:, n_hops] = n_nodes - 1
    for hop in range(1, n_hops + 1):
        for node in range(n_nodes):
            word = reached[hop, node]
            bit = 0
            while word:
                if word & np.uint64(1):
                    counts[bit, hop - 1] += 1
                    counts[bit, n_hops] -= 1
                word >>= np.uint64(1)
                bit += 1
    return counts


@compiled(nogil=True)
def below(reached: Any, source_hashes: Any, hashes: Any, seed: Any, class_of_hop: Any, limits: Any) -> Any:
    """Return source, target, class and hash of the pairs whose hash is below the limit of their class.

    Nearly all pairs are far apart, and nearly all of those have too large a hash: what is done for each is to
    compute it (64 at a time) and to look.
    """
    n_hops, n_nodes, n_sources = reached.shape[0] - 1, reached.shape[1], source_hashes.size
    found = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))
    size = 0
    words = np.empty(n_sources, dtype=np.uint64)
    for node in range(n_nodes):
        for bit in range(n_sources):
            words[bit] = scramble((hashes[node] + source_hashes[bit]) ^ seed)
        if size + n_sources > found[0].size:
            found = _grown(found, 2 * (size + n_sources))
        source, target, kind, rank = found
        beyond = ~reached[0, node]
        for hop in range(1, n_hops + 2):
            near = hop <= n_hops
            if near:
                beyond &= ~reached[hop, node]
            there = reached[hop, node] if near else beyond
            if class_of_hop[hop - 1] == 0 or there == 0:  # an edge, or nobody
                continue
            limit = limits[hop - 1]
            for bit in range(n_sources):
                if words[bit] <= limit and (there >> np.uint64(bit)) & np.uint64(1):
                    source[size], target[size] = bit, node
                    kind[size], rank[size] = class_of_hop[hop - 1], words[bit]
                    size += 1
    source, target, kind, rank = found
    return source[:size], target[:size], kind[:size], rank[:size]


@compiled(nogil=True)
def _grown(columns: Any, room: int) -> Any:
    size = columns[0].size
    source, target = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    kind, rank = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.uint64)
    source[:size], target[:size], kind[:size], rank[:size] = columns
    return source, target, kind, rank
