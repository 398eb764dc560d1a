"""Splits: which edges each network judges, hides and learns from.

That is decided by a hash of (seed, edge), the same on every engine and for every node order.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.hops.pool import smallest
from hopsight.hops.search import scramble
from hopsight.system.threads import by_parts

HashArray = NDArray[np.uint64]

BASELINE_NODES = 1 << 16  # baselines are fitted to the nodes with the smallest hashes, at most this many
BASELINE_EDGES = 1 << 20  # and to as many edges
EDGES_AT_ONCE = 1 << 20  # scrambled at a time
HALF_PRECISION_NODES = 200_000  # in larger graphs the views of the folds are kept in half precision


def split_seed(seed: int | None) -> int:
    """Return the seed that decides the splits: the given one, or a random one for None.

    >>> split_seed(7)
    7
    """
    return secrets.randbits(63) if seed is None else seed


@dataclass(frozen=True)
class Splits:
    """Which edges each network judges, which each of its folds hides, and which it learns from.

    A hash of (seed, edge) puts every edge into one of ``n_folds`` parts, a second one into one of ``n_inner`` inner
    folds. Network k lives in the graph without part k: it neither trains on these edges nor sees them, and it judges
    exactly them. Its fold f hides the edges of inner fold f as well, and learns one hop from those. Fold 0 is set
    aside from training, to calibrate the probabilities.

    Only ids and the seed matter, not positions, so that every engine and every node order agrees.
    """

    seed: int
    n_folds: int
    n_inner: int

    @property
    def folds(self) -> range:
        """Return the numbers of all folds; number k · n_inner + f is fold f of network k."""
        return range(self.n_folds * self.n_inner)

    @property
    def key(self) -> Any:
        """Return the word that stands for the seed."""
        return mix(np.uint64(self.seed % 2**64))[0]

    def of(self, edge_hashes: HashArray) -> FoldIndex:
        """Put edges into their parts and inner folds: ⌊mix(s + turn·φ) · n / 2⁶⁴⌋ with s = mix(hash ^ mix(seed))."""
        kind = np.uint8 if max(self.n_folds, self.n_inner) <= 256 else np.int32
        places = np.empty((2, edge_hashes.size), dtype=kind)
        key = self.key
        for start in range(0, edge_hashes.size, EDGES_AT_ONCE):
            some = slice(start, start + EDGES_AT_ONCE)
            words = scramble(edge_hashes[some] ^ key)
            places[0, some] = parts_of(scramble(words), self.n_folds)
            places[1, some] = parts_of(scramble(words + np.uint64(0x9E3779B97F4A7C15)), self.n_inner)
        return FoldIndex(places[0], places[1], self.n_inner)


@dataclass(frozen=True)
class FoldIndex:
    """The part (the network that judges it) and the inner fold of each of some edges."""

    part: NDArray[Any]
    inner: NDArray[Any]
    n_inner: int

    def trained(self, network: int) -> range:
        """Return the numbers of the folds that a network trains and judges in: all but the one that it sets aside."""
        return range(network * self.n_inner + 1, (network + 1) * self.n_inner)

    def hidden(self, fold: int) -> NDArray[np.bool_]:
        """Return which edges the views of a fold leave out."""
        network, inner = divmod(fold, self.n_inner)
        return (self.part == network) | (self.inner == inner)

    def positives(self, fold: int) -> NDArray[np.bool_]:
        """Return which edges a fold learns one hop from."""
        network, inner = divmod(fold, self.n_inner)
        return (self.part != network) & (self.inner == inner)


def edge_hashes(graph: AttributedGraph, edges: NDArray[np.int64] | None = None) -> HashArray:
    """Return the hash of each edge (or of some edges): the sum of the hashes of its ends, whatever their order."""
    source, target = graph.edges if edges is None else graph.edges[:, edges]
    hashes = graph.node_hashes
    return np.asarray(by_parts(lambda part: hashes[source[part]] + hashes[target[part]], source.size))


def node_folds(node_hashes: HashArray, n_folds: int = 5) -> NDArray[np.int64]:
    """Return a fold for each node, by a hash of its id."""
    return np.asarray(parts_of(mix(node_hashes), n_folds), dtype=np.int64)


def parts_of(words: Any, n_parts: int) -> Any:
    """Return ⌊word · n_parts / 2⁶⁴⌋ for random 64-bit words: one of equally likely parts for each."""
    return ((words >> np.uint64(32)) * np.uint64(n_parts)) >> np.uint64(32)


def mix(values: HashArray | np.uint64) -> HashArray:
    """Scramble 64-bit words, one or many, into an array."""
    scrambled: HashArray = scramble(np.atleast_1d(np.asarray(values, dtype=np.uint64)))
    return scrambled


def pool_seed(seed: int) -> np.uint64:
    """Return the word that selects the pool of :mod:`hopsight.hops.pool`."""
    return mix(np.uint64((seed + 1) % 2**64))[0]


def drop_chances(edge_hashes: HashArray, late: NDArray[np.bool_], seed: np.uint64) -> HashArray:
    """Return a word for each edge that decides which of equally similar ones are dropped, the smallest first.

    ``late`` says which arcs come after the opposite one; ``seed`` is that of the pool, whose hashes are others.
    """
    return np.asarray(scramble(scramble(edge_hashes ^ seed) + np.uint64(0x9E3779B97F4A7C15) + late.astype(np.uint64)))


def chances(graph: AttributedGraph, edges: NDArray[np.int64], seed: np.uint64) -> HashArray:
    """Return the words of :func:`drop_chances` for some edges; the source of a late arc has the larger hash."""
    source, target = (graph.node_hashes[ends] for ends in graph.edges[:, edges])
    return drop_chances(source + target, graph.directed & (source > target), seed)


def baseline_nodes(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return the nodes that baselines are fitted to, in the order of the hashes of their ids; all have attributes."""
    found = smallest(graph.node_hashes, BASELINE_NODES)
    return found if graph.known is None else found[graph.known[found]]


def baseline_edges(graph: AttributedGraph) -> NDArray[np.int64] | slice:
    """Return the edges that baselines are fitted to, if any between nodes with attributes; any order will do."""
    known = graph.known_edges
    if graph.n_edges <= BASELINE_EDGES:
        return slice(None) if known is None or not known.any() else np.flatnonzero(known)
    found = smallest(edge_hashes(graph), BASELINE_EDGES)
    return found if known is None or not known[found].any() else found[known[found]]
