"""Hidden edges: splits decided by a hash of (seed, edge), the same on every engine and for every node order."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.hops.pool import scramble

HashArray = NDArray[np.uint64]

MANY_NODES = 200_000  # beyond, what folds show of the nodes is kept in half precision: there are many folds


def hidden_edges(
    graph: AttributedGraph,
    seed: int | None,
    n_folds: int,
    n_repeats: int,
    edges: NDArray[np.int64] | None = None,
) -> list[NDArray[np.bool_]]:
    """Return n_folds × n_repeats masks over the edges (or some of them); every repeat hides each exactly once.

    Two ends give an edge's hash h, whatever their order; repeat r puts the edge into part
    ⌊mix(h + r·φ) · n_folds / 2⁶⁴⌋. Only ids and the seed matter, not the position of a node.

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
    edge = mix((source + target) ^ mix(np.uint64((seed or 0) % 2**64)))
    masks = []
    for repeat in range(n_repeats):
        drawn = mix(edge + np.uint64((repeat * 0x9E3779B97F4A7C15) % 2**64))
        part = (drawn >> np.uint64(32)) * np.uint64(n_folds) >> np.uint64(32)
        masks += [part == fold for fold in range(n_folds)]
    return masks


def node_hashes(node_ids: NDArray[np.object_] | NDArray[np.int64]) -> HashArray:
    """Return 64 bits of BLAKE2b of every id written as text, so that 7 and "7" agree."""
    digests = b"".join(blake2b(str(node).encode(errors="surrogatepass"), digest_size=8).digest() for node in node_ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def mix(values: HashArray | np.uint64) -> HashArray:
    """Scramble 64-bit words, one or many, into an array."""
    scrambled: HashArray = scramble(np.atleast_1d(np.asarray(values, dtype=np.uint64)))
    return scrambled


def pool_seed(seed: int | None) -> np.uint64:
    """Return the word that decides which pairs the pool of :mod:`hopsight.hops.pool` takes."""
    return mix(np.uint64(((seed or 0) + 1) % 2**64))[0]
