"""How well rows are rebuilt from two thin factors, without ever holding the n × n (or n × d) matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.checks import check_count
from hopsight.nn.gcn import Propagation, torch_csr

ACTIVATIONS = ("none", "relu", "sigmoid")
BLOCK_VALUES = 1 << 20  # rebuilt entries held at a time: 4 MB stay in the cache
MAX_PAIRS = 1 << 25  # pairs of nodes an epoch looks at when the rows are not counted out
EPSILON = 1e-12  # the square root has no gradient at 0


@dataclass(frozen=True)
class Target:
    """The rows to rebuild, dense or sparse, on one device.

    ``squares`` holds ‖t_i‖² of every row. Make one with :meth:`of`.
    """

    dense: Tensor | None
    product: Propagation | None  # sparse T, and Tᵀ for the backward pass
    squares: Tensor  # (n_rows,)
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Target:
        """Put a numpy or scipy matrix on a device."""
        if not sp.issparse(matrix):
            dense = torch.from_numpy(np.array(matrix)).to(device, dtype)
            return cls(dense, None, dense.square().sum(1), tuple(matrix.shape))
        rows = sp.csr_array(matrix)
        forward, backward = (torch_csr(part, device, dtype) for part in (rows, sp.csr_array(rows.T)))
        squares = torch.from_numpy(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return cls(None, Propagation(forward, backward), squares.to(device, dtype), rows.shape)

    def times(self, right: Tensor) -> Tensor:
        """Return T @ right, differentiable in ``right``."""
        if self.dense is not None:
            return self.dense @ right
        assert self.product is not None
        return self.product(right)

    def as_dense(self) -> Tensor:
        """Return T itself."""
        if self.dense is not None:
            return self.dense
        assert self.product is not None
        return self.product.forward.to_dense()

    def subtract_from(self, block: Tensor, rows: Tensor) -> None:
        """Subtract the given rows of T in place. Shapes: block (n_block, n_columns), rows (n_block,)."""
        if self.dense is not None:
            block -= self.dense[rows]
            return
        assert self.product is not None
        start = self.product.forward.crow_indices()[rows]
        counts = self.product.forward.crow_indices()[rows + 1] - start
        row = torch.repeat_interleave(torch.arange(rows.numel(), device=rows.device), counts)
        before = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
        entry = torch.arange(row.numel(), device=rows.device) - before + start[row]
        column = self.product.forward.col_indices()[entry]
        block[row, column] -= self.product.forward.values()[entry]


def linear_errors(left: Tensor, right: Tensor, target: Target) -> Tensor:
    """Return ‖t_i − R l_i‖² of every row in factorised form, exact and differentiable.

    With rows l_i of ``left`` (n, h) and r_j of ``right`` (m, h), R = ``right``:
    ‖t_i‖² − 2 l_i · Σ_j t_ij r_j + l_iᵀ (RᵀR) l_i, in O(nnz(T)·h + (n + m)·h²) time and O((n + m)·h) memory.

    >>> H = torch.tensor([[1.0], [2.0]])
    >>> linear_errors(H, H, Target.of(np.eye(2), torch.device("cpu"))).tolist()  # rows (1, 2) and (2, 4)
    [4.0, 13.0]
    """
    cross = (left * target.times(right)).sum(1)
    gram = ((left @ (right.T @ right)) * left).sum(1)
    return (target.squares - 2 * cross + gram).clamp(min=0.0)


@torch.no_grad()
def row_errors(left: Tensor, right: Tensor, target: Target, activation: str) -> Tensor:
    """Return ‖t_i − f(R l_i)‖² of every row, in blocks; not differentiable."""
    if activation == "none" and target.dense is None:
        return linear_errors(left, right, target)
    out = torch.empty(left.shape[0], dtype=left.dtype, device=left.device)
    for rows in _blocks(torch.arange(left.shape[0], device=left.device), right.shape[0]):
        error = _activate(left[rows] @ right.T, activation)
        target.subtract_from(error, rows)
        out[rows] = error.square_().sum(1)
    return out


def row_loss(
    left: Tensor, right: Tensor, target: Target, activation: str, *, root: bool, rows: Tensor | None = None
) -> Tensor:
    """Return Σ_i √‖t_i − f(R l_i)‖² (``root``) or Σ_i ‖t_i − f(R l_i)‖², differentiable in both factors.

    f is ``"none"``, ``"relu"`` or ``"sigmoid"``. With ``rows``, the sum over these rows, scaled up to all.
    """
    if activation == "none" and target.dense is None and rows is None:
        errors = linear_errors(left, right, target)
        return (errors + EPSILON).sqrt().sum() if root else errors.sum()
    if rows is None:
        rows = torch.arange(left.shape[0], device=left.device)
    loss: Tensor = _RowLoss.apply(left, right, target, activation, root, rows)  # type: ignore[no-untyped-call]
    return loss * (left.shape[0] / rows.numel())


def sample_rows(n_rows: int | str, n_nodes: int, generator: torch.Generator, device: torch.device) -> Tensor | None:
    """Return the rows of an epoch, or None for all; ``"auto"``: all, or as many as make 33 million pairs."""
    if isinstance(n_rows, str):
        if n_rows != "auto":
            raise ValueError(f"n_rows must be a whole number or 'auto', got {n_rows!r}")
        n_rows = max(1, MAX_PAIRS // n_nodes)
    check_count("n_rows", n_rows)
    if n_rows >= n_nodes:
        return None
    drawn = torch.randperm(n_nodes, generator=generator, device=generator.device)[:n_rows]
    return drawn.sort().values.to(device)


class _RowLoss(torch.autograd.Function):
    """Loss and gradient in one pass over blocks of rows: a row's own error tells its gradient at once."""

    @staticmethod
    def forward(
        ctx: Any, left: Tensor, right: Tensor, target: Target, activation: str, root: bool, rows: Tensor
    ) -> Tensor:
        to_left, to_right = torch.zeros_like(left), torch.zeros_like(right)
        total = torch.zeros((), dtype=torch.float64, device=left.device)
        for block in _blocks(rows, right.shape[0]):
            part = left[block]
            output = _activate(part @ right.T, activation)
            slope = _slope(output, activation)
            target.subtract_from(output, block)
            squares = torch.linalg.vecdot(output, output, dim=1)
            if root:
                norms = (squares + EPSILON).sqrt()
                total += norms.sum()
                output /= norms[:, None]
            else:
                total += squares.sum()
                output *= 2
            if slope is not None:
                output *= slope
            to_left[block] = output @ right
            to_right.addmm_(output.T, part)
        ctx.save_for_backward(to_left, to_right)
        return total.to(left.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None, None, None]:
        to_left, to_right = ctx.saved_tensors
        return gradient * to_left, gradient * to_right, None, None, None, None


def _blocks(rows: Tensor, n_columns: int) -> Iterator[Tensor]:
    step = max(1, BLOCK_VALUES // max(1, n_columns))
    for start in range(0, rows.numel(), step):
        yield rows[start : start + step]


def _activate(values: Tensor, activation: str) -> Tensor:
    if activation == "none":
        return values
    return values.relu_() if activation == "relu" else values.sigmoid_()


def _slope(output: Tensor, activation: str) -> Tensor | None:
    """Return the derivative of the activation, read from its output."""
    if activation == "none":
        return None
    return (output > 0).to(output.dtype) if activation == "relu" else output * (1 - output)
