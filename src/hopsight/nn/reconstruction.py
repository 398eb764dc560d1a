"""How well rows are rebuilt from two thin factors, without ever holding the n × n (or n × d) matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from hopsight.checks import check_count
from hopsight.nn.target import Block, Entries, Target

BLOCK_VALUES = 1 << 19  # rebuilt entries held at a time: 2 MB stay in the cache
BLOCK_VALUES_ON_GPU = 1 << 26  # enough to keep a GPU busy: 256 MB
MAX_PAIRS = 1 << 25  # pairs of nodes an epoch looks at when the rows are not counted out
EPSILON = 1e-12  # the square root has no gradient at 0

Run = Callable[..., Iterator[Any]]  # map, or one that works on several blocks at once


def linear_errors(left: Tensor, right: Tensor, target: Target) -> Tensor:
    """Return ‖t_i − R l_i‖² of every row in factorized form, exact and differentiable.

    With rows l_i of ``left`` (n, h) and r_j of ``right`` (m, h), R = ``right``:
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
    """Return ‖t_i − f(R l_i)‖² of every row, in blocks; not differentiable."""
    if activation == "none" and target.dense is None:
        return linear_errors(left, right, target)
    left, right = left.detach(), right.detach()

    def errors(rows: Block) -> Tensor:
        error = _activate(left[rows] @ right.T, activation)
        target.subtract_from(error, rows)
        return error.square_().sum(1)

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

    f is ``"none"``, ``"relu"`` or ``"sigmoid"``. With ``rows``, the sum over these rows, scaled up to all. Blocks of
    rows are added up in their order, whatever ``run`` does.
    """
    loss: Tensor
    if rows is not None:
        loss = _RowLoss.apply(left, right, target, activation, root, rows, run)  # type: ignore[no-untyped-call]
        return loss * (left.shape[0] / rows.numel())
    if activation == "none" and target.dense is None:
        loss = _LinearLoss.apply(left, right, target, root)  # type: ignore[no-untyped-call]
    elif left is right and target.symmetric and activation == "sigmoid" and not root:
        loss = _PairLoss.apply(left, target, run)  # type: ignore[no-untyped-call]
    else:
        loss = _RowLoss.apply(left, right, target, activation, root, None, run)  # type: ignore[no-untyped-call]
    return loss


def sample_rows(
    n_rows: int | str, n_nodes: int, generator: torch.Generator, device: torch.device, *, halved: bool = False
) -> Tensor | None:
    """Return the rows of an epoch, or None for all; ``"auto"``: all, or as many as make 33 million pairs.

    With ``halved``, all rows together cost half their pairs, as those of a symmetric target do in :func:`row_loss`.
    """
    if isinstance(n_rows, str):
        if n_rows != "auto":
            raise ValueError(f"n_rows must be a whole number or 'auto', got {n_rows!r}")
        n_rows = n_nodes if halved and n_nodes**2 <= 2 * MAX_PAIRS else max(1, MAX_PAIRS // n_nodes)
    check_count("n_rows", n_rows)
    if n_rows >= n_nodes:
        return None
    drawn = torch.randperm(n_nodes, generator=generator, device=generator.device)[:n_rows]
    return drawn.sort().values.to(device)


class _LinearLoss(torch.autograd.Function):
    """Loss of :func:`linear_errors` and its gradient: four thin products, two sparse ones."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, target: Target, root: bool) -> Tensor:
        assert target.product is not None
        seen = target.product.forward @ right
        missed = torch.addmm(seen, left, right.T @ right, beta=-1)  # rows Σ_j (r_j·l_i − t_ij) r_j
        errors = target.squares + ((missed - seen) * left).sum(1)
        slope = (errors > 0).to(left.dtype).mul_(2)
        errors = errors.clamp_(min=0.0)
        if root:
            errors = errors.add_(EPSILON).sqrt_()
            slope /= 2 * errors
        weighted = left * slope[:, None]
        to_right = torch.addmm(target.product.backward @ weighted, right, weighted.T @ left, beta=-1)
        ctx.save_for_backward(missed.mul_(slope[:, None]), to_right)
        return errors.sum()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        to_left, to_right = ctx.saved_tensors
        return gradient * to_left, gradient * to_right, None, None


class _RowLoss(torch.autograd.Function):
    """Loss and gradient in one pass over blocks of rows: a row's own error tells its gradient at once."""

    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor,
        target: Target,
        activation: str,
        root: bool,
        rows: Tensor | None,
        run: Run,
    ) -> Tensor:
        left, right = left.detach(), right.detach()

        def work(block: Block) -> tuple[Block, Tensor, Tensor, Tensor]:
            part = left[block]
            lengths, bent = _bent_errors(_activate(part @ right.T, activation), target, block, activation)
            if root:
                norms = (lengths.square_() + EPSILON).sqrt_()
                loss = norms.sum()
                slope = (1.0 / norms)[:, None]
            else:
                loss = lengths.square_().sum()
                slope = torch.full_like(lengths[:, None], 2.0)
            return block, loss, (bent @ right).mul_(slope), bent.T @ (part * slope)

        to_left, to_right = torch.zeros_like(left), torch.zeros_like(right)
        total = torch.zeros((), dtype=torch.float64, device=left.device)
        for block, loss, own, others in run(work, _blocks(left.shape[0] if rows is None else rows, right)):
            total += loss
            to_left[block] = own
            to_right += others
        ctx.save_for_backward(to_left, to_right)
        return total.to(left.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        to_left, to_right = ctx.saved_tensors
        return gradient * to_left, gradient * to_right, None, None, None, None, None


class _PairLoss(torch.autograd.Function):
    """Σ (t_ij − σ(u_i·u_j))² for a symmetric sparse T: every pair of rows is looked at once."""

    @staticmethod
    def forward(ctx: Any, units: Tensor, target: Target, run: Run) -> Tensor:
        units = units.detach()
        n_rows = units.shape[0]

        def work(block: slice) -> tuple[slice, Tensor, Tensor, Tensor]:
            part, entries = units[block], target.entries(block)
            losses, own = [], torch.zeros_like(part)
            for start, stop in ((block.start, block.stop), (block.stop, n_rows)):
                others = units[start:stop]
                lengths, bent = _bend((part @ others.T).sigmoid_(), entries.between(start, stop), "sigmoid")
                losses.append(lengths.square_().sum())
                own.addmm_(bent, others)
            return block, losses[0] + 2 * losses[1], own, bent.T @ part  # the last: pairs as seen from the other end

        slope = torch.zeros_like(units)
        total = torch.zeros((), dtype=torch.float64, device=units.device)
        for block, loss, own, others in run(work, _blocks(n_rows, units)):
            total += loss
            slope[block] += own
            slope[block.stop :] += others
        ctx.save_for_backward(slope.mul_(4.0))
        return total.to(units.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return gradient * slope, None, None


def _bent_errors(output: Tensor, target: Target, block: Block, activation: str) -> tuple[Tensor, Tensor]:
    """Return ‖f_i − t_i‖ of every row, and (f − t) f′, from the rebuilt entries f, which are overwritten."""
    if target.dense is None:
        return _bend(output, target.entries(block), activation)
    slope = None
    if activation != "none":
        slope = (output > 0).to(output.dtype) if activation == "relu" else output * (1 - output)
    output -= target.dense[block]
    lengths = torch.linalg.vector_norm(output, dim=1)
    return lengths, output if slope is None else output.mul_(slope)


def _bend(output: Tensor, entries: Entries, activation: str) -> tuple[Tensor, Tensor]:
    """Do the same for a sparse T: where it has no entry, f − t is f, and no second matrix says where f′ is 0."""
    flat, place = output.view(-1), entries.row * output.shape[1] + entries.column
    rebuilt = flat[place]
    error = rebuilt - entries.values
    flat[place] = error
    lengths = torch.linalg.vector_norm(output, dim=1)
    if activation == "relu":
        flat[place] = error * (rebuilt > 0)
    elif activation == "sigmoid":
        flat[place] = rebuilt
        square = output.square()
        output = square.addcmul_(square, output, value=-1)  # f · f (1 − f)
        output.view(-1)[place] = error * rebuilt * (1 - rebuilt)
    return lengths, output


def _blocks(rows: Tensor | int, right: Tensor) -> Iterator[Any]:
    """Yield blocks of rows, by number or all of so many, whose products with every row of ``right`` are few enough."""
    n_values = block_values(right.device)
    if isinstance(rows, int):
        yield from runs(rows, right.shape[0], n_values)
        return
    for run in runs(rows.numel(), right.shape[0], n_values):
        yield rows[run]


def block_values(device: torch.device) -> int:
    """Return how many values to hold at a time: those of a processor's cache, or enough to fill a GPU."""
    return BLOCK_VALUES if device.type == "cpu" else BLOCK_VALUES_ON_GPU


def runs(n_rows: int, n_columns: int, n_values: int) -> Iterator[slice]:
    """Yield runs of rows of at most so many values.

    >>> [(run.start, run.stop) for run in runs(5, 10, 20)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(1, n_values // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _activate(values: Tensor, activation: str) -> Tensor:
    if activation == "none":
        return values
    return values.relu_() if activation == "relu" else values.sigmoid_()
