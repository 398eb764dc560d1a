"""Generate labels as the paper does: hop counts of node pairs, and the same number of pairs from every class.

Nothing here is n×n. The search keeps one count per source and class. Pairs are drawn by rank: the r-th pair of a
class belongs to a known source, and a second search finds its other end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_count, check_ratio
from hopsight.hops.kernels import count, counted_here, find_targets
from hopsight.hops.search import HopSearch

IntArray = NDArray[np.int64]

EXACT_NODES = 20_000  # up to this size every node is a source
LARGE_NODES = 300_000  # beyond this size a source costs more than it teaches


@dataclass(frozen=True)
class HopPairs:
    """Node pairs by hop class, ready to be drawn.

    Attributes
    ----------
    sizes
        Number of pairs at 1, 2, …, C−1 and ≥ C hops; unreachable pairs belong to the last.
    errors
        Standard error of each size; zero where the size is exact.
    class_of_hop
        The class (from 0) of each of those after small ones were merged.
    n_classes
        Number of classes after merging: the effective C.
    n_pairs
        Number of pairs drawn from every class per epoch.
    """

    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    class_of_hop: IntArray
    n_classes: int
    n_pairs: int
    _graph: Any  # CSR of the searched graph, transposed if directed
    _edges: IntArray  # (2, n_edges): the one-hop class
    _sources: IntArray
    _counts: IntArray  # (n_sources, C): pairs counted at each source, so that every pair is counted once
    _directed: bool

    @property
    def exact(self) -> bool:
        """Whether every node was a source."""
        return self._sources.size == self._graph.shape[0]

    @property
    def labels(self) -> IntArray:
        """Return the class of every pair of an epoch, in the order of :meth:`draw`."""
        return np.repeat(np.arange(self.n_classes), self.n_pairs)

    def draw(self, epoch: int, n_epochs: int, *, rng: np.random.Generator) -> IntArray:
        """Return ``(n_epochs, 1, 2, n_classes · n_pairs)`` positions, uniform and distinct within an epoch."""
        pairs = np.empty((n_epochs, 2, self.n_classes, self.n_pairs), dtype=np.int64)
        pairs[:, :, 0] = self._edges[:, _ranks(self._edges.shape[1], n_epochs, self.n_pairs, rng)].transpose(1, 0, 2)
        if self.n_classes > 1:
            pairs[:, :, 1:] = self._draw_far(n_epochs, rng)
        return pairs.reshape(n_epochs, 1, 2, -1)

    def _draw_far(self, n_epochs: int, rng: np.random.Generator) -> IntArray:
        """Draw from every class beyond one hop: choose ranks, then find all of them in one search."""
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
        found, positions = np.empty_like(rank), _positions(self._sources, self._graph.shape[0])

        def find(reached: Any, batch: IntArray) -> None:
            mine, start = counted_here(positions, batch, self._directed), positions[batch[0]]
            at, end = first[:, start : start + batch.size].copy(), first[:, start + 1 : start + batch.size + 1]
            find_targets(reached, mine, self.class_of_hop, rank, at, end.copy(), np.zeros_like(at), found)

        HopSearch(self._graph, n_hops - 1).each(find, self._sources)
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
        0/1 CSR matrix of the graph after edges were dropped.
    n_classes
        C: the classes are 1, 2, …, C−1 and ≥ C hops.
    sampling_ratio
        S: number of pairs per class and epoch, as a share of the smallest class.
    max_pairs
        Largest number of pairs per epoch, over all classes.
    min_class_pairs
        A class smaller than this is merged into the next nearer one, but never into the one-hop class: that
        stays pure, and the next farther class takes the pairs instead.
    directed
        Count hops along the arcs, and (a, b) apart from (b, a).
    max_sources
        Number of nodes to search from; all of them up to 20,000 nodes, 8,192 or 4,096 sampled ones beyond.

    Raises
    ------
    ValueError
        If there are no edges, or every pair is connected.
    """
    check_count("n_classes", n_classes, low=2)
    check_ratio("sampling_ratio", sampling_ratio, high=1.0 + 1e-12)
    check_count("max_pairs", max_pairs, low=2)
    check_count("min_class_pairs", min_class_pairs, low=1)
    n_nodes = adjacency.shape[0]
    edges = _edge_list(adjacency, directed)
    if edges.shape[1] == 0:
        raise ValueError("the graph has no edges to learn hop counts from")
    if max_sources is None:
        max_sources = n_nodes if n_nodes <= EXACT_NODES else 8192 if n_nodes <= LARGE_NODES else 4096
    sources = np.arange(n_nodes) if max_sources >= n_nodes else np.sort(rng.choice(n_nodes, max_sources, replace=False))
    searched = sp.csr_array(adjacency.T) if directed else adjacency
    positions = _positions(sources, n_nodes)

    def counted(reached: Any, batch: IntArray) -> tuple[IntArray, IntArray]:
        everything = count(reached, batch.size)
        counts = count(reached & counted_here(positions, batch, directed), batch.size)
        if not directed:  # those among all sources that come before do not count there
            counts[:, -1] -= positions[batch]
        return counts, everything

    found = HopSearch(searched, n_classes - 1).each(counted, sources)
    counts, everything = (np.concatenate(part) for part in zip(*found, strict=True))
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
    """Return the class of each hop after merging, the pairs available in each class, and the pairs per epoch.

    ``sizes`` counts the pairs of the whole graph, ``counts`` (n_sources, C) those of the searched sources.
    """
    class_of_hop = merge_classes(sizes, min_class_pairs)
    n_kept = int(class_of_hop.max()) + 1
    pools = np.array([counts[:, class_of_hop == kept].sum() for kept in range(n_kept)])
    pools[0] = n_edges
    if n_kept < 2 or pools.min() == 0:
        raise ValueError("every pair of nodes is connected, so there are no hop counts to learn")
    smallest = min(sizes[class_of_hop == kept].sum() for kept in range(n_kept))
    n_pairs = int(min(max(1, sampling_ratio * smallest), max_pairs // n_kept, pools.min()))
    return class_of_hop, pools, max(1, n_pairs)


def merge_classes(sizes: NDArray[np.float64], min_class_pairs: int) -> IntArray:
    """Return the class of each hop after small classes were merged into a neighboring one."""
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
    """Return class sizes and their standard errors, which are zero for one hop and where every node was a source."""
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


def _positions(sources: IntArray, n_nodes: int) -> IntArray:
    """Return the position of each node among the sources, n_nodes for nodes that are not sources."""
    positions = np.full(n_nodes, n_nodes, dtype=np.int64)
    positions[sources] = np.arange(sources.size)
    return positions
