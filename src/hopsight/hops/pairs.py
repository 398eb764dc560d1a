"""Generate labels: hop counts of node pairs, and the same number of pairs from every class.

Nothing here is n×n. A truncated breadth-first search runs from 64 sources at a time, one bit a source, so that
one pass over the edges advances 64 searches; what it keeps is a count per source and class. Pairs are drawn by
rank: the r-th pair of a class belongs to a known source, and a second search finds its other end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import prange
from numpy.typing import NDArray

from hopsight.checks import check_count, check_ratio
from hopsight.system.compiled import compiled

IntArray = NDArray[np.int64]

EXACT_NODES = 20_000  # up to here every node is a source
LARGE_NODES = 300_000  # beyond here a source costs more than it teaches
WORD = 64


@dataclass(frozen=True)
class HopPairs:
    """Pairs of nodes by hop class, ready to be drawn.

    Attributes
    ----------
    sizes
        Number of pairs at 1, 2, …, C−1 and ≥ C hops; unreachable pairs belong to the last.
    errors
        Standard error of each size; zero where the size is exact.
    class_of_hop
        The class (from 0) of each of those after small ones were merged.
    n_classes
        Number of classes that are left: the effective C.
    n_pairs
        Pairs drawn from every class in an epoch.
    """

    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    class_of_hop: IntArray
    n_classes: int
    n_pairs: int
    _graph: Any  # CSR of what is searched, transposed where directed
    _edges: IntArray  # (2, n_edges): the class of one hop, complete
    _sources: IntArray
    _counts: IntArray  # (n_sources, C): pairs that each source stands for
    _directed: bool

    @property
    def exact(self) -> bool:
        """Whether every node was a source."""
        return self._sources.size == self._graph.shape[0]

    @property
    def labels(self) -> IntArray:
        """Return the class of every pair of an epoch, in the order of :meth:`draw`."""
        return np.repeat(np.arange(self.n_classes), self.n_pairs)

    def draw(self, n_epochs: int, *, rng: np.random.Generator) -> IntArray:
        """Return ``(n_epochs, 2, n_classes · n_pairs)`` node positions, uniform and without replacement an epoch."""
        pairs = np.empty((n_epochs, 2, self.n_classes, self.n_pairs), dtype=np.int64)
        pairs[:, :, 0] = self._edges[:, _ranks(self._edges.shape[1], n_epochs, self.n_pairs, rng)].transpose(1, 0, 2)
        if self.n_classes > 1:
            pairs[:, :, 1:] = self._draw_far(n_epochs, rng)
        return pairs.reshape(n_epochs, 2, -1)

    def _draw_far(self, n_epochs: int, rng: np.random.Generator) -> IntArray:
        """Draw from every class beyond one hop: ranks first, then one search that answers them all."""
        n_hops, n_far, per_class = len(self.sizes), self.n_classes - 1, n_epochs * self.n_pairs
        source = np.empty((n_far, per_class), dtype=np.int64)
        rank = np.empty_like(source)
        slot = np.empty_like(source)
        first = np.empty((n_far, self._sources.size + 1), dtype=np.int64)
        for far in range(n_far):
            hops = np.flatnonzero(self.class_of_hop == far + 1)
            ends = np.cumsum(self._counts[:, hops].sum(axis=1))
            ranks = _ranks(int(ends[-1]), n_epochs, self.n_pairs, rng).ravel()
            slot[far] = np.argsort(ranks, kind="stable")
            ranks = ranks[slot[far]]
            source[far] = np.searchsorted(ends, ranks, side="right")
            rank[far] = ranks - np.concatenate([[0], ends])[source[far]]
            first[far] = np.searchsorted(source[far], np.arange(self._sources.size + 1))
        found = _find_targets(
            *_parts(self._graph), self._sources, _positions(self._sources, self._graph.shape[0]), n_hops - 1,
            self.class_of_hop, self._directed, rank, first,
        )  # fmt: skip
        pairs = np.empty((2, n_far, per_class), dtype=np.int64)
        for far in range(n_far):
            pairs[0, far, slot[far]] = self._sources[source[far]]
            pairs[1, far, slot[far]] = found[far]
        return pairs.reshape(2, n_far, n_epochs, self.n_pairs).transpose(2, 0, 1, 3)


def hop_pairs(
    adjacency: Any,
    *,
    n_classes: int,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
    directed: bool = False,
    rng: np.random.Generator,
    max_sources: int | None = None,
) -> HopPairs:
    """Count the pairs of every hop class and prepare drawing S × the smallest class from each.

    Parameters
    ----------
    adjacency
        0/1 CSR matrix of what is left after edges were dropped.
    n_classes
        C: the classes are 1, 2, …, C−1 and ≥ C hops.
    sampling_ratio
        S: the share of the smallest class that an epoch draws from each.
    max_pairs
        Most pairs an epoch draws over all classes.
    min_class_pairs
        A class smaller than this is merged downward into the last one that is large enough; what would fall into
        the one-hop class goes to the next farther one instead.
    directed
        Count hops along the arcs, and (a, b) apart from (b, a).
    max_sources
        Number of nodes to search from; all of them up to 20,000 nodes, 8,192 or 4,096 sampled ones beyond.

    Raises
    ------
    ValueError
        If there is no edge, or every pair is connected.
    """
    check_count("n_classes", n_classes, low=2)
    check_ratio("sampling_ratio", sampling_ratio, high=1.0 + 1e-12)
    check_count("max_pairs", max_pairs, low=2)
    check_count("min_class_pairs", min_class_pairs, low=1)
    n_nodes = adjacency.shape[0]
    edges = _edge_list(adjacency, directed)
    if edges.shape[1] == 0:
        raise ValueError("no edge is left to learn hop counts from")
    if max_sources is None:
        max_sources = n_nodes if n_nodes <= EXACT_NODES else 8192 if n_nodes <= LARGE_NODES else 4096
    sources = np.arange(n_nodes) if max_sources >= n_nodes else np.sort(rng.choice(n_nodes, max_sources, replace=False))
    searched = sp.csr_array(adjacency.T) if directed else adjacency
    positions = _positions(sources, n_nodes)
    counts, everything = _count_hops(*_parts(searched), sources, positions, n_classes - 1, directed)
    sizes, errors = _sizes(counts, everything, n_nodes, edges.shape[1], directed)
    class_of_hop, pools, n_pairs = choose_classes(
        sizes, counts, edges.shape[1],
        sampling_ratio=sampling_ratio, max_pairs=max_pairs, min_class_pairs=min_class_pairs,
    )  # fmt: skip
    return HopPairs(sizes, errors, class_of_hop, pools.size, n_pairs, searched, edges, sources, counts, directed)


def choose_classes(
    sizes: NDArray[np.float64],
    counts: IntArray,
    n_edges: int,
    *,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
) -> tuple[IntArray, IntArray, int]:
    """Return the class of each hop after small ones merged, the pairs at hand in each class, and those an epoch draws.

    ``sizes`` are those of the whole network, ``counts`` (n_sources, C) what the searched sources stand for.
    """
    class_of_hop = _merge(sizes, min_class_pairs)
    n_kept = int(class_of_hop.max()) + 1
    pools = np.array([counts[:, class_of_hop == kept].sum() for kept in range(n_kept)])
    pools[0] = n_edges
    if n_kept < 2 or pools.min() == 0:
        raise ValueError("every pair of nodes is connected: there is no hop count to learn")
    smallest = min(sizes[class_of_hop == kept].sum() for kept in range(n_kept))
    n_pairs = int(min(max(1, sampling_ratio * smallest), max_pairs // n_kept, pools.min()))
    return class_of_hop, pools, max(1, n_pairs)


def hop_classes(adjacency: Any, n_classes: int, *, directed: bool = False) -> NDArray[np.int64]:
    """Return the full ``(n_nodes, n_nodes)`` matrix of hop classes 1..C (0 on the diagonal), for small graphs only.

    >>> path = sp.csr_array(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]))
    >>> hop_classes(path, 3).tolist()
    [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    """
    n_nodes = adjacency.shape[0]
    out = np.full((n_nodes, n_nodes), n_classes, dtype=np.int64)
    searched = sp.csr_array(adjacency.T) if directed else adjacency
    for start in range(0, n_nodes, WORD):
        sources = np.arange(start, min(start + WORD, n_nodes))
        reached = _search(*_parts(searched), sources, n_classes - 1)
        for bit, source in enumerate(sources):
            for hop in range(n_classes):
                out[source, (reached[hop] >> np.uint64(bit)) & np.uint64(1) == 1] = hop
    return out


def _merge(sizes: NDArray[np.float64], min_class_pairs: int) -> IntArray:
    """Return the class of each hop after small classes joined a neighbor; empty far classes never stand alone."""
    groups = [[hop] for hop in range(len(sizes))]
    for index in range(len(groups) - 1, 1, -1):  # from the farthest down to two hops
        if sum(sizes[hop] for hop in groups[index]) < min_class_pairs:
            groups[index - 1] += groups.pop(index)
    if len(groups) > 2 and sum(sizes[hop] for hop in groups[1]) < min_class_pairs:
        groups[1:3] = [groups[1] + groups[2]]
    class_of_hop = np.empty(len(sizes), dtype=np.int64)
    for index, hops in enumerate(groups):
        class_of_hop[hops] = index
    return class_of_hop


def _sizes(
    counts: IntArray, everything: IntArray, n_nodes: int, n_edges: int, directed: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return class sizes and their standard errors; one hop is known exactly, and so is all when all were searched."""
    n_sources = counts.shape[0]
    if n_sources == n_nodes:
        sizes, errors = counts.sum(axis=0).astype(np.float64), np.zeros(counts.shape[1])
    else:
        weight = n_nodes if directed else n_nodes / 2
        sizes = weight * everything.mean(axis=0)
        spread = everything.std(axis=0, ddof=1) if n_sources > 1 else np.full(counts.shape[1], np.inf)
        errors = weight * spread * np.sqrt((1 - n_sources / n_nodes) / n_sources)
    sizes[0], errors[0] = n_edges, 0.0
    return sizes, errors


def _ranks(pool: int, n_epochs: int, n_pairs: int, rng: np.random.Generator) -> IntArray:
    """Return ``(n_epochs, n_pairs)`` numbers below ``pool``, distinct within an epoch."""
    return np.stack([rng.choice(pool, n_pairs, replace=False, shuffle=False) for _ in range(n_epochs)])


def _edge_list(adjacency: Any, directed: bool) -> IntArray:
    kept = adjacency if directed else sp.triu(adjacency, k=1, format="csr")
    source = np.repeat(np.arange(adjacency.shape[0], dtype=np.int64), np.diff(kept.indptr))
    return np.stack([source, kept.indices.astype(np.int64)])


def _parts(matrix: Any) -> tuple[IntArray, NDArray[np.int32]]:
    return np.array(matrix.indptr, dtype=np.int64), np.array(matrix.indices, dtype=np.int32)


def _positions(sources: IntArray, n_nodes: int) -> IntArray:
    """Return where each node stands among the sources, n_nodes (beyond all) for the others."""
    positions = np.full(n_nodes, n_nodes, dtype=np.int64)
    positions[sources] = np.arange(sources.size)
    return positions


@compiled(nogil=True)
def _search(indptr: Any, indices: Any, sources: Any, n_hops: int) -> Any:
    """Search from up to 64 sources: bit b of ``reached[h, v]`` says that source b is exactly h hops from v."""
    n_nodes = indptr.size - 1
    reached = np.zeros((n_hops + 1, n_nodes), dtype=np.uint64)
    for bit in range(sources.size):
        reached[0, sources[bit]] |= np.uint64(1) << np.uint64(bit)
    full = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - sources.size)
    seen = reached[0].copy()
    for hop in range(1, n_hops + 1):
        for node in range(n_nodes):
            if seen[node] == full:
                continue
            word = np.uint64(0)
            for k in range(indptr[node], indptr[node + 1]):
                word |= reached[hop - 1, indices[k]]
            reached[hop, node] = word & ~seen[node]
        seen |= reached[hop]
    return reached


@compiled(inline="always")
def _stands_for(position: int, start: int, full: Any, directed: bool) -> Any:
    """Return which sources of the batch stand for their pair with this node, so that each pair counts once."""
    if directed or position >= start + 64:
        return full
    if position <= start:
        return np.uint64(0)
    return full & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - (position - start)))


@compiled(parallel=True)
def _count_hops(indptr: Any, indices: Any, sources: Any, positions: Any, n_hops: int, directed: bool) -> Any:
    """Count, per source, the pairs at 1..n_hops hops and beyond: those it stands for, and all of them."""
    n_nodes = indptr.size - 1
    counts = np.zeros((sources.size, n_hops + 1), dtype=np.int64)
    everything = np.zeros((sources.size, n_hops + 1), dtype=np.int64)
    for batch in prange((sources.size + 63) // 64):
        start = batch * 64
        here = sources[start : start + 64]
        reached = _search(indptr, indices, here, n_hops)
        full = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - here.size)
        for node in range(n_nodes):
            mine = _stands_for(positions[node], start, full, directed)
            for hop in range(1, n_hops + 1):
                word = reached[hop, node]
                bit = 0
                while word:
                    if word & np.uint64(1):
                        everything[start + bit, hop - 1] += 1
                        if (mine >> np.uint64(bit)) & np.uint64(1):
                            counts[start + bit, hop - 1] += 1
                    word >>= np.uint64(1)
                    bit += 1
        for bit in range(here.size):
            total = n_nodes - 1 if directed else n_nodes - 1 - (start + bit)
            counts[start + bit, n_hops] = total - counts[start + bit, :n_hops].sum()
            everything[start + bit, n_hops] = n_nodes - 1 - everything[start + bit, :n_hops].sum()
    return counts, everything


@compiled(parallel=True)
def _find_targets(
    indptr: Any, indices: Any, sources: Any, positions: Any, n_hops: int, class_of_hop: Any, directed: bool,
    ranks: Any, first: Any,
) -> Any:  # fmt: skip
    """Answer, for each far class, which node is the ``ranks[c, i]``-th in that class of its source (by position)."""
    n_nodes = indptr.size - 1
    n_far = ranks.shape[0]
    found = np.empty(ranks.shape, dtype=np.int64)
    for batch in prange((sources.size + 63) // 64):
        start = batch * 64
        here = sources[start : start + 64]
        reached = _search(indptr, indices, here, n_hops)
        full = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - here.size)
        counter = np.zeros((n_far, here.size), dtype=np.int64)
        pointer = np.empty((n_far, here.size), dtype=np.int64)
        for far in range(n_far):
            for bit in range(here.size):
                pointer[far, bit] = first[far, start + bit]
        for node in range(n_nodes):
            mine = _stands_for(positions[node], start, full, directed)
            beyond = mine & ~reached[0, node]
            for hop in range(1, n_hops + 2):
                if hop <= n_hops:
                    beyond &= ~reached[hop, node]
                word = (reached[hop, node] & mine) if hop <= n_hops else beyond
                far = class_of_hop[hop - 1] - 1
                if far < 0:
                    continue
                bit = 0
                while word:
                    if word & np.uint64(1):
                        at = pointer[far, bit]
                        last = first[far, start + bit + 1]
                        while at < last and ranks[far, at] == counter[far, bit]:
                            found[far, at] = node
                            at += 1
                        pointer[far, bit] = at
                        counter[far, bit] += 1
                    word >>= np.uint64(1)
                    bit += 1
    return found
