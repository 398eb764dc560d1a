"""What each network of CrossHCM sees of a graph while it trains, calibrates and judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import HALF_PRECISION_NODES, Fold, Placed, Sight, Splits
from hopsight.hcm.inputs import ROWS_AT_ONCE
from hopsight.hcm.views import NUMPY, Neighborhoods
from hopsight.hops.pool import PairPool
from hopsight.system.scratch import release, zeros

KEPT_BYTES = 1 << 29  # of the views of all networks; where they take more, those of one network exist at a time


class CrossViews(Sight):
    """X and ÂX of one graph, for each network without its part of the edges and without one of its inner folds.

    The views of a small graph are made once. In a large one the networks train on the nodes of the pool only, and the
    views of all nodes are made for one network at a time, when it judges its edges.

    Parameters
    ----------
    graph, attributes
        The graph, and (n_nodes, n_columns) attributes in the unit of the fit, in single precision.
    splits, placed
        Which edges each network judges and hides, and where every edge of the graph is placed.
    device, scratch
        Where to compute, and a folder for views that do not fit into memory.
    """

    def __init__(
        self,
        graph: AttributedGraph,
        attributes: NDArray[np.float32],
        splits: Splits,
        placed: Placed,
        device: torch.device,
        scratch: Path | None = None,
    ) -> None:
        self.splits, self.placed = splits, placed
        self.scaled = torch.from_numpy(attributes).to(device)
        self.dtype = view_dtype(graph.n_nodes)
        self.own = self.scaled.to(self.dtype) if scratch is None else _on_disk(attributes, self.dtype, scratch)
        self.neighborhoods = Neighborhoods(graph, device, scratch)
        n_nodes, n_columns = attributes.shape
        self.one_at_a_time = device.type == "cpu" and not kept_at_once(n_nodes, n_columns, splits)
        super().__init__(OneAtATime(splits.n_folds, self._folds_of) if self.one_at_a_time else self._all_folds())

    def training(self, pool: PairPool) -> tuple[Sequence[Sequence[Fold]], PairPool]:
        """Return what each network trains on, and the pool by the numbers that nodes have there."""
        if not self.one_at_a_time:
            return self.kept, pool
        views, nothing = iter(self._seen(self._all_trained, pool, self.own)), torch.empty(0, dtype=torch.int64)
        folds = [[Fold(next(views), nothing) for _ in self._trained(k)] for k in range(self.splits.n_folds)]
        return folds, pool.renumbered()

    def aside(self, pool: PairPool) -> tuple[Sequence[Sequence[Tensor]], PairPool]:
        """Return what each network sees without the fold that it set aside, and the renumbered pool."""
        folds = [k * self.splits.n_inner for k in range(self.splits.n_folds)]
        return self._seen(folds, pool, self.scaled), pool.renumbered()

    def _seen(self, folds: Sequence[int], pool: PairPool, own: Tensor) -> list[list[Tensor]]:
        """Return X and ÂX of the pool's nodes in some folds, ÂX in the precision of X."""
        rows = [pool.nodes(fold) for fold in folds]
        views = self.neighborhoods.smooth(self.scaled, self._hidden(folds), own.dtype, rows)
        return [[own[torch.from_numpy(nodes).to(own.device)], view] for nodes, view in zip(rows, views, strict=True)]

    def _all_folds(self) -> list[list[Fold]]:
        """Return the folds of all networks; the views of all are made at once, which reads every neighbor once."""
        views = iter(self.neighborhoods.smooth(self.scaled, self._hidden(self._all_trained), self.dtype))
        networks = range(self.splits.n_folds)
        return [self._folds(k, [next(views) for _ in self._trained(k)]) for k in networks]

    def _folds_of(self, network: int) -> list[Fold]:
        return self._folds(
            network, self.neighborhoods.smooth(self.scaled, self._hidden(self._trained(network)), self.dtype)
        )

    def _folds(self, network: int, views: Sequence[Tensor]) -> list[Fold]:
        judged = torch.from_numpy(np.flatnonzero(self.placed.part == network)).to(self.own.device)
        return [Fold([self.own, view], judged) for view in views]

    def _trained(self, network: int) -> range:
        """Return the numbers of a network's folds but the one that it sets aside."""
        return self.splits.folds[network * self.splits.n_inner + 1 : (network + 1) * self.splits.n_inner]

    @property
    def _all_trained(self) -> list[int]:
        return [fold for k in range(self.splits.n_folds) for fold in self._trained(k)]

    def _hidden(self, folds: Sequence[int]) -> list[NDArray[np.bool_]]:
        return [self.placed.hidden(fold) for fold in folds]


def _on_disk(values: NDArray[np.float32], dtype: torch.dtype, scratch: Path) -> Tensor:
    """Return values in another precision, in a temporary file."""
    found = torch.from_numpy(zeros(values.shape, NUMPY[dtype], scratch))
    for start in range(0, len(values), ROWS_AT_ONCE):
        found[start : start + ROWS_AT_ONCE] = torch.from_numpy(values[start : start + ROWS_AT_ONCE])
    release(found.numpy())
    return found


class OneAtATime(Sequence[Any]):
    """A sequence whose items are made when they are asked for; only the last one is kept.

    >>> squares = OneAtATime(3, lambda number: number**2)
    >>> len(squares), squares[2], list(squares)
    (3, 4, [0, 1, 4])
    """

    def __init__(self, length: int, make: Callable[[int], Any]) -> None:
        self._length, self._make, self._last = length, make, (-1, None)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, number: int) -> Any: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Any]: ...
    def __getitem__(self, number: int | slice) -> Any:
        """Return the item with this number, made anew unless it was the last one asked for."""
        if isinstance(number, slice):
            raise TypeError("the items exist one at a time: ask for them by their numbers")
        if not 0 <= number < self._length:
            raise IndexError(number)
        if self._last[0] != number:
            self._last = -1, None  # before the next one is made: both might not fit into memory
            self._last = number, self._make(number)
        return self._last[1]


def view_dtype(n_nodes: int) -> torch.dtype:
    """Return the type of the views: half precision in a large graph."""
    return torch.float16 if n_nodes > HALF_PRECISION_NODES else torch.float32


def kept_at_once(n_nodes: int, n_columns: int, splits: Splits) -> bool:
    """Return whether the views of all networks are small enough to be kept."""
    return view_bytes(n_nodes, n_columns) * splits.n_folds * (splits.n_inner - 1) <= KEPT_BYTES


def view_bytes(n_nodes: int, n_columns: int) -> int:
    """Return the size of one view."""
    return n_nodes * n_columns * view_dtype(n_nodes).itemsize
