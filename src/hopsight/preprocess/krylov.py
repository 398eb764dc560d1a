"""Leading eigenvectors of a symmetric matrix from products with blocks of vectors (block Lanczos with restarts)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-8  # of the sine of the angle between the found and the true subspace
ROUNDING = 1e-13  # of the largest eigenvalue: residuals do not become smaller
MOST_RESTARTS = 200
ROWS_AT_ONCE = 1024


def leading_eigenvectors(multiply: Callable[[Any], Any], start: Any, n_wanted: int) -> Any:
    """Return the eigenvectors of the largest eigenvalues as columns, largest first.

    Parameters
    ----------
    multiply
        Returns the matrix, which must be positive semidefinite, times a block of vectors.
    start
        (n_rows, block) random numbers; a NumPy array or a torch tensor, on any device.
    n_wanted
        Number of eigenvectors.

    Notes
    -----
    The basis is kept orthonormal to rounding. By the theorem of Davis and Kahan, the residuals divided by the gap
    behind the last wanted eigenvalue bound the angle between the found and the true subspace: it ends when that is
    below 1e-8, or when the residuals are nothing but rounding errors. A basis that has grown to five times the wanted
    size is reduced to its best vectors.
    """
    basis = Basis(start, min(start.shape[0], 5 * n_wanted + 8 * start.shape[1]))
    due = 7 * n_wanted // 2  # looking at the residuals costs a decomposition
    for restart in range(MOST_RESTARTS):
        before = 0, np.inf
        while not basis.full:
            basis.extend(multiply)
            if basis.size >= due or basis.full:
                values, vectors = basis.ritz()
                now = basis.size, basis.error(values, vectors, n_wanted)
                if basis.exact or restart == MOST_RESTARTS - 1 or now[1] <= TOLERANCE:
                    return basis.combined(vectors[:, :n_wanted])
                due = basis.size + max(basis.width, min(n_wanted, _until_exact(before, now) or n_wanted // 4))
                before = now
        basis.reduce(values, vectors, n_wanted + 2 * basis.width)
        due = basis.size + n_wanted // 2
    raise AssertionError("the last restart returns")


def _until_exact(before: tuple[int, float], now: tuple[int, float]) -> int:
    """Return how many more vectors a basis is likely to need, a little fewer than its errors at two sizes suggest.

    0 means that nothing is known of it.

    >>> _until_exact((100, 1e-2), (120, 1e-4)), _until_exact((100, 1e-2), (120, 1e-2))
    (32, 0)
    """
    if not now[1] < before[1] < np.inf:
        return 0
    rate = np.log(before[1] / now[1]) / (now[0] - before[0])
    return int(0.8 * np.log(now[1] / TOLERANCE) / rate + 0.5)


class Basis:
    """An orthonormal basis Q, the projected matrix QᵀAQ, and the block of vectors to add next.

    Parameters
    ----------
    start
        The first block, before it is made orthonormal.
    room
        Largest number of vectors to hold.
    """

    def __init__(self, start: Any, room: int) -> None:
        self.width, self.size, self.n_exact = start.shape[1], 0, 0
        self.room = room
        self.vectors = _room(start, room)
        self.projected = np.zeros((room, room))
        self.block = _orthonormal(start)
        self.coupling = np.zeros((0, 0))

    @property
    def full(self) -> bool:
        """Whether there is no room for the next block, all of which the residuals belong to."""
        return self.exact or (self.size + self.width > self.room and self.room < self.vectors.shape[0])

    @property
    def exact(self) -> bool:
        """Whether the basis spans everything."""
        return self.size >= int(self.vectors.shape[0])

    def extend(self, multiply: Callable[[Any], Any]) -> None:
        """Add the next block, and find the one after it."""
        block = self.block[:, : self.vectors.shape[0] - self.size]
        before, after = self.size, self.size + block.shape[1]
        self.vectors[:, before:after] = block
        new = multiply(block)
        # In exact arithmetic the product reaches no farther back than one block, or the vectors of the last restart.
        near = 0 if before == self.n_exact else max(self.n_exact, before - self.width)
        inside = np.zeros((after, block.shape[1]))
        for first in (near, 0):
            known = self.vectors[:, first:after]
            part = _inner(known, new)
            new = _without(new, known, part)
            inside[first:] += _numpy(part)
        self.projected[:after, before:after] = inside
        self.projected[before:after, :after] = inside.T
        self.size = after
        self.block = _orthonormal(new)
        coupling = _numpy(_inner(self.block, new))
        if abs(np.diag(coupling)).min() < 1e-10 * abs(self.projected[0, 0]):  # a column of nothing but rounding errors
            known = self.vectors[:, :after]
            self.block = _orthonormal(_without(self.block, known, _inner(known, self.block)))
        self.coupling = coupling

    def ritz(self) -> tuple[FloatArray, FloatArray]:
        """Return the eigenvalues of the projected matrix, largest first, and its eigenvectors."""
        projected = self.projected[: self.size, : self.size]
        if isinstance(self.vectors, np.ndarray):
            values, vectors = np.linalg.eigh(projected)
        else:  # a GPU takes a tenth of the time
            import torch

            values, vectors = (_numpy(part) for part in torch.linalg.eigh(_like(projected, self.vectors)))
        return values[::-1], vectors[:, ::-1]

    def error(self, values: FloatArray, vectors: FloatArray, n_wanted: int) -> float:
        """Return a bound of the sine between the subspaces, 0 if the residuals are nothing but rounding errors."""
        n_last = self.coupling.shape[1]
        residual = float(np.linalg.norm(self.coupling @ vectors[-n_last:, :n_wanted]))
        if residual <= ROUNDING * values[0] * n_wanted:
            return 0.0
        return residual / max(float(values[n_wanted - 1] - values[n_wanted]), 1e-300)

    def combined(self, vectors: FloatArray) -> Any:
        """Return combinations of the basis vectors."""
        return _times(self.vectors[:, : self.size], _like(vectors, self.vectors))

    def reduce(self, values: FloatArray, vectors: FloatArray, n_kept: int) -> None:
        """Keep the best combinations of the basis vectors; the next block stays orthogonal to them."""
        self.vectors[:, :n_kept] = self.combined(vectors[:, :n_kept])
        self.projected[:] = 0.0
        self.projected[:n_kept, :n_kept] = np.diag(values[:n_kept])
        self.size = self.n_exact = n_kept


def _blocks(n_rows: int) -> list[slice]:
    return [slice(start, start + ROWS_AT_ONCE) for start in range(0, n_rows, ROWS_AT_ONCE)]


def _inner(left: Any, right: Any) -> Any:
    """Return leftᵀ right; on the CPU in blocks of rows that are added up in their order."""
    if not isinstance(left, np.ndarray):
        return left.T @ right
    parts = in_order(lambda rows: left[rows].T @ right[rows], _blocks(left.shape[0]))
    total = next(parts)
    for part in parts:
        total += part
    return total


def _times(left: Any, right: Any) -> Any:
    if not isinstance(left, np.ndarray):
        return left @ right
    return np.concatenate(list(in_order(lambda rows: left[rows] @ right, _blocks(left.shape[0]))))


def _without(values: Any, basis: Any, part: Any) -> Any:
    return values - _times(basis, part)


def _orthonormal(vectors: Any) -> Any:
    """Return an orthonormal basis of the columns."""
    if isinstance(vectors, np.ndarray):
        return np.linalg.qr(vectors)[0]
    import torch

    return torch.linalg.qr(vectors)[0]


def _room(start: Any, n_columns: int) -> Any:
    shape = (start.shape[0], n_columns)
    return np.zeros(shape) if isinstance(start, np.ndarray) else start.new_zeros(shape)


def _numpy(values: Any) -> FloatArray:
    return np.asarray(values if isinstance(values, np.ndarray) else values.cpu())


def _like(values: FloatArray, other: Any) -> Any:
    """Return a NumPy array as the same kind of array as another one, on its device."""
    if isinstance(other, np.ndarray):
        return values
    import torch

    return torch.from_numpy(np.ascontiguousarray(values)).to(other.device)
