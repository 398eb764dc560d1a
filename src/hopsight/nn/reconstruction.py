"""What autoencoders reconstruct, and the errors of rows from two thin factors without an n × n (or n × d) matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.checks import Refusal, check_count
from hopsight.nn.gcn import Propagation, propagation, torch_csr
from hopsight.system.threads import Run

BLOCK_VALUES = 1 << 19  # reconstructed entries held at a time: 2 MB fit in the cache
BLOCK_VALUES_ON_GPU = 1 << 26  # enough to keep a GPU busy: 256 MB
MAX_PAIRS = 1 << 26  # pairs of nodes per epoch with n_rows="auto"
EPSILON = 1e-12  # added under the square root, which has no gradient at 0

Block = Tensor | slice  # positions of rows, or consecutive rows


class Entries(NamedTuple):
    """The stored entries of some rows of a sparse matrix: position among these rows, column and value."""

    row: Tensor
    column: Tensor
    values: Tensor


@dataclass(frozen=True)
class Target:
    """The matrix T to reconstruct, dense or sparse, on one device; create it with :meth:`of`."""

    dense: Tensor | None
    product: Propagation | None  # sparse T, and Tᵀ for the backward pass
    row_of: Tensor | None  # the row of every stored entry of a sparse T
    squares: Tensor  # ‖t_i‖² of every row, (n_rows,)
    shape: tuple[int, int]

    @classmethod
    def of(cls, matrix: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Target:
        """Put a NumPy or SciPy matrix on a device."""
        if not sp.issparse(matrix):
            dense = torch.from_numpy(np.array(matrix)).to(device, dtype)
            return cls(dense, None, None, dense.square().sum(1), tuple(matrix.shape))
        rows = sp.csr_array(matrix)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        transposed = sp.csr_array(rows.T)
        symmetric = rows.shape[0] == rows.shape[1] and not (rows != transposed).nnz
        forward = torch_csr(rows, device, dtype)
        backward = forward if symmetric else torch_csr(transposed, device, dtype)
        row_of = torch.from_numpy(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))).to(device)
        squares = torch.from_numpy(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        product = Propagation(forward, backward)
        return cls(None, product, row_of, squares.to(device, dtype), rows.shape)

    def times(self, right: Tensor) -> Tensor:
        """Return T @ right, differentiable in ``right``."""
        if self.dense is not None:
            return self.dense @ right
        assert self.product is not None
        return self.product(right)

    def subtracted_from(self, values: Tensor, rows: Block, start: int = 0) -> Tensor:
        """Return the values minus the given rows of T, of a sparse T from column ``start`` on.

        Shapes: values (n_block, n_columns − start), rows (n_block,).
        """
        if self.dense is not None:
            return values - self.dense[rows]
        found = self.entries(rows)
        inside = found.column >= start
        place = (found.row[inside], found.column[inside] - start)
        return values.index_put(place, values[place] - found.values[inside])

    def entries(self, rows: Block) -> Entries:
        """Return the stored entries of the given rows of a sparse T."""
        assert self.product is not None and self.row_of is not None
        starts = self.product.forward.crow_indices()
        if isinstance(rows, slice):
            entry: Block = slice(int(starts[rows.start]), int(starts[rows.stop]))
            row = self.row_of[entry] - rows.start
        else:
            counts = starts[rows + 1] - starts[rows]
            row = torch.repeat_interleave(torch.arange(rows.numel(), device=rows.device), counts)
            before = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
            entry = torch.arange(row.numel(), device=rows.device) - before + starts[rows][row]
        return Entries(row, self.product.forward.col_indices()[entry], self.product.forward.values()[entry])


@dataclass(frozen=True)
class Inputs:
    """A graph on one device: Â, the attributes X, and ÂX where X is dense."""

    propagate: Propagation
    attributes: Target
    propagated: Tensor | None

    @classmethod
    def of(cls, adjacency: Any, attributes: Any, device: torch.device, dtype: torch.dtype = torch.float32) -> Inputs:
        """Put a symmetric 0/1 adjacency and a dense or sparse attribute matrix on a device."""
        propagate = propagation(adjacency, directed=False, device=device, dtype=dtype)
        target = Target.of(attributes, device, dtype)
        return cls(propagate, target, None if target.dense is None else propagate(target.dense))

    def convolve(self, weight: Tensor) -> Tensor:
        """Return Â X W; a sparse X stays sparse."""
        if self.propagated is not None:
            return self.propagated @ weight
        return self.propagate(self.attributes.times(weight))


def linear_errors(left: Tensor, right: Tensor, target: Target) -> Tensor:
    """Return ‖t_i − R l_i‖² of every row, exactly and differentiably, from the factors alone.

    With rows l_i of ``left`` (n, h) and r_j of R = ``right`` (m, h), it is
    ‖t_i‖² − 2 l_i · Σ_j t_ij r_j + l_iᵀ (RᵀR) l_i, in O(nnz(T)·h + (n + m)·h²) time and O((n + m)·h) memory.

    >>> H = torch.tensor([[1.0], [2.0]])
    >>> linear_errors(H, H, Target.of(torch.eye(2).numpy(), torch.device("cpu"))).tolist()  # rows (1, 2) and (2, 4)
    [4.0, 13.0]
    """
    cross = (left * target.times(right)).sum(1)
    gram = ((left @ (right.T @ right)) * left).sum(1)
    return (target.squares - 2 * cross + gram).clamp(min=0.0)


@torch.no_grad()
def row_errors(left: Tensor, right: Tensor, target: Target, activation: str, run: Run = map) -> Tensor:
    """Return ‖t_i − f(R l_i)‖² of every row, block by block; not differentiable."""
    if activation == "none" and target.dense is None:
        return linear_errors(left, right, target)

    def errors(rows: Block) -> Tensor:
        return _deviations(left[rows], right, target, activation, rows).square().sum(1)

    return torch.cat(list(run(errors, _blocks(left.shape[0], right))))


def row_loss(
    left: Tensor,
    right: Tensor,
    target: Target,
    activation: str,
    *,
    root: bool,
    rows: Tensor | None = None,
    run: Run = map,
) -> Tensor:
    """Return Σ_i √‖t_i − f(R l_i)‖² (``root``) or Σ_i ‖t_i − f(R l_i)‖², differentiable in both factors.

    f is ``"none"``, ``"relu"`` or ``"sigmoid"``. With ``rows``, only these rows are summed and the result is scaled up
    to all rows. Blocks are added up in their order, however many ``run`` works on at once. If both factors are one
    tensor, T must be symmetric; a sum of squares then takes every pair of rows once.
    """
    if rows is None and activation == "none" and target.dense is None:
        return _summed(linear_errors(left, right, target), root)
    once = left is right and rows is None and not root
    loss: Tensor = _RowLoss.apply(left, right, target, activation, root, once, rows, run)  # type: ignore[no-untyped-call]
    return loss if rows is None else loss * (left.shape[0] / rows.numel())


def sample_rows(n_rows: int | str, n_nodes: int, generator: torch.Generator, device: torch.device) -> Tensor | None:
    """Draw the rows of an epoch, or return None for all; ``"auto"``: all, or as many as make 67 million pairs."""
    if isinstance(n_rows, str):
        if n_rows != "auto":
            raise Refusal("n_rows", f"must be a whole number or 'auto', got {n_rows!r}")
        n_rows = max(1, MAX_PAIRS // n_nodes)
    check_count("n_rows", n_rows)
    if n_rows >= n_nodes:
        return None
    drawn = torch.randperm(n_nodes, generator=generator, device=generator.device)[:n_rows]
    return drawn.sort().values.to(device)


class _RowLoss(torch.autograd.Function):
    """Loss and gradient in one pass over blocks of rows, so that the outputs of one block are held at a time."""

    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor,
        target: Target,
        activation: str,
        root: bool,
        once: bool,
        rows: Tensor | None,
        run: Run,
    ) -> Tensor:
        def work(block: Any) -> tuple[Any, Tensor, Tensor, Tensor]:
            start = block.start if once else 0  # earlier blocks have taken the pairs before it
            with torch.enable_grad():
                factors = left[block].detach().requires_grad_(), right[start:].detach().requires_grad_()
                squares = _deviations(*factors, target, activation, block, start).square()
                loss = 2 * squares.sum() - squares[:, : len(squares)].sum() if once else _summed(squares.sum(1), root)
            return block, loss.detach(), *torch.autograd.grad(loss, factors)

        to_left, to_right = torch.zeros_like(left), torch.zeros_like(right)
        total = torch.zeros((), dtype=torch.float64, device=left.device)
        for block, loss, own, others in run(work, _blocks(left.shape[0] if rows is None else rows, right)):
            total += loss
            to_left[block] = own
            to_right[right.shape[0] - len(others) :] += others
        ctx.save_for_backward(to_left, to_right)
        return total.to(left.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        to_left, to_right = ctx.saved_tensors
        return gradient * to_left, gradient * to_right, None, None, None, None, None, None


def _deviations(left: Tensor, right: Tensor, target: Target, activation: str, rows: Block, start: int = 0) -> Tensor:
    """Return f(left rightᵀ) − T for some rows of T, from its column ``start`` on."""
    output = left @ right.T
    if activation != "none":
        output = output.relu() if activation == "relu" else output.sigmoid()
    return target.subtracted_from(output, rows, start)


def _summed(errors: Tensor, root: bool) -> Tensor:
    return ((errors + EPSILON).sqrt() if root else errors).sum()


def _blocks(rows: Tensor | int, right: Tensor) -> Iterator[Any]:
    """Yield blocks of the given rows, or of the first n rows, whose products with ``right`` fit into one block."""
    n_values = block_values(right.device)
    if isinstance(rows, int):
        yield from row_slices(rows, right.shape[0], n_values)
        return
    for part in row_slices(rows.numel(), right.shape[0], n_values):
        yield rows[part]


def block_values(device: torch.device) -> int:
    """Return how many values to hold at a time: as many as fit a CPU cache, or enough to keep a GPU busy."""
    return BLOCK_VALUES if device.type == "cpu" else BLOCK_VALUES_ON_GPU


def row_slices(n_rows: int, n_columns: int, n_values: int) -> Iterator[slice]:
    """Yield slices of rows that have at most ``n_values`` values each.

    >>> [(part.start, part.stop) for part in row_slices(5, 10, 20)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, n_values // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
