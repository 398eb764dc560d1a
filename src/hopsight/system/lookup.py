"""Find things by what they are called: nodes by their ids, edges by their ends."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


class Positions:
    """Where each id is among some ids: a dictionary of texts, or numbers in order, which take no memory of their own.

    >>> positions = Positions(np.array([7, 3, 5]))
    >>> positions.get(5), positions.get(4), positions.get("5")
    (2, None, None)
    """

    def __init__(self, ids: NDArray[Any]) -> None:
        self.ids = ids

    def get(self, node: Hashable) -> int | None:
        """Return the position of an id, None if there is no such id."""
        if self.ids.dtype == object:
            return self._texts.get(node)
        if not isinstance(node, int | np.integer) or isinstance(node, bool) or not self.ids.size:
            return None
        place = int(np.searchsorted(self.ids, int(node), sorter=self._order)) if -(2**63) <= node < 2**63 else 0
        place = min(place, self.ids.size - 1)
        position = place if self._order is None else int(self._order[place])
        return position if int(self.ids[position]) == node else None

    @cached_property
    def _texts(self) -> dict[Hashable, int]:
        return {node: position for position, node in enumerate(self.ids.tolist())}

    @cached_property
    def _order(self) -> IntArray | None:
        """The order of ids that do not ascend."""
        return None if bool((self.ids[1:] > self.ids[:-1]).all()) else np.argsort(self.ids)


def find_edges(edges: IntArray, starts: IntArray, source: IntArray, target: IntArray) -> IntArray:
    """Return where edges are, or belong, among edges sorted by their first and then their second end.

    ``starts`` says where the edges of each first end begin.

    >>> edges, starts = np.array([[0, 0, 1], [1, 3, 2]]), np.array([0, 2, 3, 3, 3])
    >>> find_edges(edges, starts, np.array([0, 1, 0]), np.array([3, 2, 2])).tolist()
    [1, 2, 1]
    """
    low, high = starts[source], starts[source + 1]
    while (open_ := low < high).any():
        middle = (low + high) // 2
        smaller = open_ & (edges[1, np.where(open_, middle, 0)] < target)
        low, high = np.where(smaller, middle + 1, low), np.where(open_ & ~smaller, middle, high)
    return low
