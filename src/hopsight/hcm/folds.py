"""Folds: what the network sees of the graph, and which edges it judges meanwhile.

Which edges are hidden is decided by a hash of (seed, edge), the same on every engine and for every node order.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.hops.kernels import scramble

if TYPE_CHECKING:
    from torch import Tensor

HashArray = NDArray[np.uint64]

HALF_PRECISION_NODES = 200_000  # in larger graphs the views of the folds are kept in half precision


@dataclass(frozen=True)
class Fold:
    """What the network sees of the graph, and which edges it may judge while it sees no more than that."""

    view: Sequence[Any]  # the argument of HopNetwork.represent
    judged: Tensor  # (n_judged,) positions among the graph's edges


def split_seed(seed: int | None) -> int:
    """Return the seed that decides the splits: the given one, or a random one for None.

    >>> split_seed(7)
    7
    """
    return secrets.randbits(63) if seed is None else seed


def hidden_edges(
    graph: AttributedGraph, seed: int, n_folds: int, n_repeats: int, edges: NDArray[np.int64] | None = None
) -> list[NDArray[np.bool_]]:
    """Return n_folds × n_repeats masks over the edges (or some of them); every repeat hides each edge exactly once.

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1, 2], [1, 2, 3], np.zeros((4, 1)))
    >>> masks = hidden_edges(graph, 0, 2, 3)
    >>> len(masks), [(masks[2 * r] ^ masks[2 * r + 1]).all().item() for r in range(3)]
    (6, [True, True, True])
    """
    if edges is None:
        source, target = node_hashes(graph.node_ids)[graph.edges]
    else:
        nodes, ends = np.unique(graph.edges[:, edges], return_inverse=True)
        source, target = node_hashes(graph.node_ids[nodes])[ends.reshape(2, -1)]
    return [hides(source + target, seed, n_folds, fold) for fold in range(n_folds * n_repeats)]


def hides(edge_hashes: HashArray, seed: int, n_folds: int, fold: int) -> NDArray[np.bool_]:
    """Return which edges a fold hides; ``fold`` is repeat · n_folds + part.

    ``edge_hashes`` are the sums h of the hashes of the two ends, whatever their order. With s = mix(h ^ mix(seed)),
    repeat r puts an edge into part ⌊mix(s + r·φ) · n_folds / 2⁶⁴⌋. Only ids and the seed matter, not positions.
    """
    repeat, part = divmod(fold, n_folds)
    edge = mix(edge_hashes ^ mix(np.uint64(seed % 2**64)))
    drawn = mix(edge + np.uint64((repeat * 0x9E3779B97F4A7C15) % 2**64))
    return (drawn >> np.uint64(32)) * np.uint64(n_folds) >> np.uint64(32) == part


def node_hashes(node_ids: NDArray[np.object_] | NDArray[np.int64]) -> HashArray:
    """Return 64 bits of BLAKE2b of every id written as text, so that 7 and "7" agree."""
    digests = b"".join(blake2b(str(node).encode(errors="surrogatepass"), digest_size=8).digest() for node in node_ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mix(values: HashArray | np.uint64) -> HashArray:
    """Scramble 64-bit words, one or many, into an array."""
    scrambled: HashArray = scramble(np.atleast_1d(np.asarray(values, dtype=np.uint64)))
    return scrambled


def pool_seed(seed: int) -> np.uint64:
    """Return the word that selects the pool of :mod:`hopsight.hops.pool`."""
    return mix(np.uint64((seed + 1) % 2**64))[0]
