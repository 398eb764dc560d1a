"""Search from many nodes at once: a truncated breadth-first search, 64 sources at a time, shared by every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from hopsight.system.kernels import compiled
from hopsight.system.threads import in_order

ROOM = 1 << 15  # pairs that a search of a large graph finds below the limits, and more
SPREAD = (np.arange(256, dtype=np.uint64)[:, None] >> np.arange(8, dtype=np.uint64)) & np.uint64(1)  # bit j becomes
SPREAD = np.asarray((SPREAD << (np.uint64(8) * np.arange(8, dtype=np.uint64))).sum(axis=1, dtype=np.uint64))  # byte j


@register_jitable  # type: ignore[untyped-decorator]
def scramble(words: Any) -> Any:
    """Scramble 64-bit words (the finalizer of SplitMix64), in NumPy and in compiled code."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def search(indptr: Any, indices: Any, sources: Any, n_hops: int) -> Any:
    """Search from up to 64 sources: bit b of ``reached[h, v]`` says that source b is exactly h hops from v."""
    reached = np.zeros((n_hops + 1, indptr.size - 1), dtype=np.uint64)
    _search(indptr, indices, sources, reached, np.zeros(indptr.size - 1, dtype=np.uint64))
    return reached


@compiled(nogil=True)
def _search(indptr: Any, indices: Any, sources: Any, reached: Any, seen: Any) -> None:
    """Fill in ``reached``; both it and ``seen``, a word for each node, are zero before."""
    for bit in range(sources.size):
        reached[0, sources[bit]] |= np.uint64(1) << np.uint64(bit)
        seen[sources[bit]] = reached[0, sources[bit]]
    full = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - sources.size)
    for hop in range(1, reached.shape[0]):
        before, now = reached[hop - 1], reached[hop]
        for node in range(seen.size):
            if seen[node] == full:
                continue
            word = np.uint64(0)
            for k in range(indptr[node], indptr[node + 1]):
                word |= before[np.uint32(indices[k])]  # an unsigned index needs no check for negative ones
            now[node] = word & ~seen[node]
            seen[node] |= word


def count(reached: Any, n_sources: int) -> Any:
    """Count the nodes at 1, …, C−1 and ≥ C hops of each source: bit b of ``reached[h, v]`` is source b at h hops."""
    counts = np.zeros((n_sources, reached.shape[0]), dtype=np.int64)
    counts[:, -1] = reached.shape[1] - 1
    _count(reached, counts, np.empty(8, dtype=np.uint64))
    return counts


@compiled(nogil=True)
def _count(reached: Any, counts: Any, sums: Any) -> None:
    """Move what is found from the last column of the counts, where all nodes are, to the others.

    Eight bits at a time are spread over the bytes of a word, and such words are added up before a byte can overflow.
    """
    n_hops, n_nodes = reached.shape[0] - 1, reached.shape[1]
    for hop in range(1, n_hops + 1):
        for start in range(0, n_nodes, 255):
            for part in range(8):
                sums[part] = np.uint64(0)
            for node in range(start, min(start + 255, n_nodes)):
                word = reached[hop, node]
                if word:
                    for part in range(8):
                        sums[part] += SPREAD[(word >> np.uint64(8 * part)) & np.uint64(255)]
            for bit in range(counts.shape[0]):
                found = np.int64((sums[bit // 8] >> np.uint64(8 * (bit % 8))) & np.uint64(255))
                counts[bit, hop - 1] += found
                counts[bit, n_hops] -= found


def below(reached: Any, source_hashes: Any, hashes: Any, seed: Any, class_of_hop: Any, limits: Any) -> Any:
    """Return source, target, class and hash of the pairs whose hash is below the limit of their class."""
    size = ROOM
    while True:
        ends, kind = np.empty((2, size), dtype=np.int64), np.empty(size, dtype=np.int64)
        rank, room = np.empty(size, dtype=np.uint64), size
        size = _below(reached, source_hashes, hashes, seed, class_of_hop, limits, ends, kind, rank)
        if size <= room:
            return ends[0, :size].copy(), ends[1, :size].copy(), kind[:size].copy(), rank[:size].copy()


@compiled(nogil=True)
def _below(
    reached: Any, source_hashes: Any, hashes: Any, seed: Any, class_of_hop: Any, limits: Any,
    ends: Any, kind: Any, rank: Any,
) -> int:  # fmt: skip
    """Fill in the pairs below the limits as far as there is room, and return how many there are.

    Nearly all pairs have too large a hash, so the hash of every pair is computed first, and the hop is looked up only
    for the few that are below the largest limit.
    """
    n_hops, n_nodes, size = reached.shape[0] - 1, reached.shape[1], 0
    highest = np.uint64(0)
    for hop in range(n_hops + 1):
        if class_of_hop[hop] > 0:
            highest = max(highest, limits[hop])
    for node in range(n_nodes):
        for bit in range(source_hashes.size):
            word = scramble((hashes[node] + source_hashes[bit]) ^ seed)
            if word > highest:
                continue
            mask, hop = np.uint64(1) << np.uint64(bit), 0
            while hop <= n_hops and not reached[hop, node] & mask:
                hop += 1
            if hop > 0 and class_of_hop[hop - 1] > 0 and word <= limits[hop - 1]:  # neither itself nor an edge
                if size < rank.size:
                    ends[0, size], ends[1, size], kind[size], rank[size] = bit, node, class_of_hop[hop - 1], word
                size += 1
    return size


@compiled(nogil=True)
def draw_epochs(pairs: Any, starts: Any, folds: Any, words: Any, network: int, order: Any, out: Any) -> None:
    """Fill in the pairs of a network for some epochs, in each as many of each class of one fold.

    Pairs of a class are different ones, or repeated ones where there are too few. They follow from a random 64-bit
    word: a shuffle that stops as soon as it has chosen enough.

    Parameters
    ----------
    pairs, starts
        (2, n) pairs side by side, and (n_folds, n_classes + 1) where those of each class begin and end.
    folds, words
        (n_epochs,) folds to draw from, and (n_epochs, n_networks, n_classes) random words.
    order
        0, 1, 2, … for as many pairs as a class has, or more; before and after.
    out
        (n_epochs, n_networks, 2, n_classes · n_drawn) pairs.
    """
    n_classes, wanted = words.shape[2], out.shape[3] // words.shape[2]
    for epoch in range(folds.size):
        for kind in range(n_classes):
            first, word, to = starts[folds[epoch], kind], words[epoch, network, kind], kind * wanted
            size = starts[folds[epoch], kind + 1] - first
            for place in range(wanted):
                word += np.uint64(0x9E3779B97F4A7C15)
                taken = 0 if size < wanted else place
                chosen = taken + np.int64(
                    ((scramble(word) >> np.uint64(32)) * np.uint64(size - taken)) >> np.uint64(32)
                )
                if size >= wanted:
                    other, chosen = chosen, order[chosen]
                    order[other], order[place] = order[place], chosen
                out[epoch, network, 0, to + place] = pairs[0, first + chosen]
                out[epoch, network, 1, to + place] = pairs[1, first + chosen]
            for place in range(min(wanted, size)):
                if order[place] >= wanted:  # where something else is now
                    order[order[place]] = order[place]
            for place in range(min(wanted, size)):
                order[place] = place


IntArray = NDArray[np.int64]

WORD = 64  # sources per search: the bits of a machine word


class HopSearch:
    """Breadth-first search in a 0/1 CSR matrix, up to some hops; if ``directed``, along the arcs of each source."""

    def __init__(self, adjacency: Any, n_hops: int, *, directed: bool = False) -> None:
        self.indptr, self.indices = csr_parts(adjacency.T.tocsr() if directed else adjacency)
        self.n_hops = n_hops

    def reached(self, sources: IntArray) -> Any:
        """Return ``(n_hops + 1, n_nodes)`` words: bit b of word ``[h, v]`` says that source b is h hops from v."""
        return search(self.indptr, self.indices, sources, self.n_hops)

    def each(self, work: Callable[[Any, IntArray], Any], sources: IntArray) -> list[Any]:
        """Call ``work(reached, batch)`` for each batch of sources, in threads, and return the results in order."""
        batches: Sequence[IntArray] = [sources[start : start + WORD] for start in range(0, sources.size, WORD)]
        return list(in_order(lambda batch: work(self.reached(batch), batch), batches))


def csr_parts(matrix: Any) -> tuple[IntArray, NDArray[np.int32]]:
    """Return row starts and columns of a CSR matrix in the types that the compiled loops take."""
    return np.array(matrix.indptr, dtype=np.int64), np.array(matrix.indices, dtype=np.int32)
