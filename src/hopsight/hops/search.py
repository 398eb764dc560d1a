"""Search from many nodes at once: a truncated breadth-first search, 64 sources at a time, shared by every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hops.kernels import search
from hopsight.system.threads import in_order

IntArray = NDArray[np.int64]

WORD = 64  # sources per search: the bits of a machine word


class HopSearch:
    """Breadth-first search in a fixed graph.

    Parameters
    ----------
    adjacency
        0/1 CSR matrix.
    n_hops
        Number of hops after which the search stops.
    directed
        Follow the arcs from each source.
    """

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
