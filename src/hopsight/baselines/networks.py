"""How DOMINANT and ResGCN train and score: errors of rows from two thin factors, Adam, and one retry after a collapse.

No n × n (or n × d) matrix is held.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hopsight.baselines.prepare import symmetric_adjacency, transformed
from hopsight.checks import Refusal, check_choice, check_count, check_positive, check_ratio
from hopsight.detectors.base import Callback, Detector, Epoch
from hopsight.graph import AttributedGraph
from hopsight.io import graph_of
from hopsight.nn.adam import Adam
from hopsight.nn.device import resolve_device
from hopsight.nn.gcn import Propagation, propagation, torch_csr
from hopsight.preprocess.transform import SCALINGS, unit_of
from hopsight.system.threads import Run, one_torch_thread, safe_in_forks, workers

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


FloatArray = NDArray[np.float64]


class NetworkDetector(Detector):
    """A detector that trains a network on a graph and can score others with it.

    Subclasses make the network and say what its loss and scores are; the other attributes are their hyperparameters.
    """

    encoder_units: tuple[int, ...]
    attribute_weight: float
    lr: float
    n_epochs: int
    scaling: str
    n_components: int | None
    max_norm: float | None = None
    last_step: bool = True
    self_loops: bool = False

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        device = resolve_device(self.device)
        for_axes, for_training = rng.spawn(2)
        attributes, self.transform_ = transformed(
            graph, scaling=self.scaling, n_components=self.n_components, rng=for_axes
        )
        self._note(attributes)
        inputs, edges = self._inputs(graph, attributes, device)

        def attempt(rng: np.random.Generator) -> tuple[FloatArray, bool]:
            for_rows, for_dropout = generators(rng, device)
            network = self._network(inputs, for_rows)
            self.loss_ = self._train(
                network,
                lambda: self._loss(network, inputs, edges, for_rows, for_dropout, run),
                lambda: self._scores(network, inputs, edges, run),
                callback,
            )
            self.weights_ = flat_weights(network)
            scores, alive = self._outcome(network, inputs, edges, run)
            return scores, alive and not is_constant(scores)

        # With one thread per block, sums are the same for any number of threads, and so is the trained network.
        n_values = graph.n_nodes * max(graph.n_nodes, inputs.attributes.shape[1])
        n_blocks = n_values // block_values(device) + 1 if device.type == "cpu" else 1
        with one_torch_thread(), workers(n_blocks) as run:
            return retry_if_collapsed(type(self).__name__, attempt, for_training)

    def _train(
        self,
        network: nn.Module,
        loss: Callable[[], Tensor],
        scores: Callable[[], FloatArray],
        callback: Callback | None,
    ) -> FloatArray:
        """Minimize ``loss`` with Adam and return its value in each epoch.

        ``max_norm`` clips the gradient. Without ``last_step`` the weights remain those of the last forward pass.
        """
        optimizer = Adam(network.parameters(), lr=self.lr)
        losses = np.empty(self.n_epochs)
        for epoch in range(1, self.n_epochs + 1):
            optimizer.zero_grad()
            value = loss()
            losses[epoch - 1] = float(value.detach())
            if not np.isfinite(losses[epoch - 1]):
                raise ValueError(
                    f"the loss of {type(self).__name__} became {losses[epoch - 1]} in epoch {epoch} of "
                    f"{self.n_epochs}: lower lr (now {self.lr:g}) or set scaling='standard'"
                )
            if self.last_step or epoch < self.n_epochs:
                value.backward()  # type: ignore[no-untyped-call]
                if self.max_norm is not None:
                    nn.utils.clip_grad_norm_(network.parameters(), self.max_norm)
                optimizer.step()
            if callback is not None:
                callback(Epoch(epoch, self.n_epochs, losses[epoch - 1], scores))
        return losses

    @safe_in_forks
    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a graph with the trained network; its attributes must have the columns of the fit."""
        scores = self._scores(*self._trained(source))
        if not np.isfinite(scores).all():  # single precision cannot hold its attributes
            name = type(self).__name__
            raise ValueError(f"{name} cannot score this graph: its attributes are too far from those of the fit")
        return scores

    def _trained(self, source: Any) -> tuple[Any, Inputs, Target]:
        """Return the trained network, and a graph in the form that the network takes."""
        if not hasattr(self, "weights_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet: call fit first")
        graph = graph_of(source)
        attributes = self.transform_.apply(
            graph.attributes, graph.attribute_names, graph.node_types, left_out=graph.left_out
        )
        inputs, edges = self._inputs(graph, attributes, resolve_device(self.device))
        network = self._network(inputs, torch.Generator())
        set_weights(network, self.weights_)
        return network, inputs, edges

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        if not self.encoder_units:
            raise Refusal("encoder_units", "must name at least one width, got none")
        for name in (name for name in self.get_params() if name.endswith("_units")):
            for width in getattr(self, name):
                check_count(name, width)
        check_ratio("attribute_weight", self.attribute_weight, high=1.0 + 1e-12)
        check_positive("lr", self.lr)
        check_count("n_epochs", self.n_epochs)
        check_choice("scaling", self.scaling, SCALINGS)

    def _note(self, attributes: Any) -> None:
        """Note what the network needs to know about the attributes of the training graph."""
        self.unit_ = unit_of(attributes)

    def _inputs(self, graph: AttributedGraph, attributes: Any, device: torch.device) -> tuple[Inputs, Target]:
        adjacency = symmetric_adjacency(graph)
        edges = adjacency + sp.eye_array(graph.n_nodes, format="csr") if self.self_loops else adjacency
        return Inputs.of(adjacency, attributes / self.unit_, device), Target.of(edges, device)

    def _outcome(self, network: Any, inputs: Inputs, edges: Target, run: Run) -> tuple[FloatArray, bool]:
        """Return the scores of a trained network, and whether it still tells nodes apart."""
        return self._scores(network, inputs, edges, run), True

    def _network(self, inputs: Inputs, generator: torch.Generator) -> Any:
        raise NotImplementedError

    def _loss(
        self, network: Any, inputs: Inputs, edges: Target, rows: torch.Generator, dropout: Any = None, run: Run = map
    ) -> Tensor:
        raise NotImplementedError

    def _scores(self, network: Any, inputs: Inputs, edges: Target, run: Run = map) -> FloatArray:
        raise NotImplementedError


def retry_if_collapsed(
    name: str, attempt: Callable[[np.random.Generator], tuple[FloatArray, bool]], rng: np.random.Generator
) -> FloatArray:
    """Return the scores of an attempt, or of a second one from other weights if the first network collapsed.

    ``attempt`` returns the scores and whether its network still tells nodes apart.
    """
    first, second = rng.spawn(2)
    scores, alive = attempt(first)
    if alive:
        return scores
    warnings.warn(f"{name} collapsed: its network gives all nodes the same score; training it once more", stacklevel=4)
    scores, alive = attempt(second)
    if not alive:
        warnings.warn(
            f"{name} collapsed a second time: do not rely on its scores for this graph; try a lower lr or another seed",
            stacklevel=4,
        )
    return scores


def is_constant(scores: FloatArray) -> bool:
    """Return whether all scores are equal up to single precision."""
    return bool(np.ptp(scores) <= 1e-6 * np.abs(scores).max())


def as_array(values: Tensor) -> FloatArray:
    """Return the values as a float64 NumPy array on the CPU."""
    return np.asarray(values.double().cpu().numpy())


def generators(rng: np.random.Generator, device: torch.device) -> tuple[torch.Generator, torch.Generator]:
    """Return a torch generator on the CPU for initial weights and sampled rows, and one on the device for dropout."""
    seeds = rng.integers(0, 2**62, size=2)
    return (
        torch.Generator().manual_seed(int(seeds[0])),
        torch.Generator(device).manual_seed(int(seeds[1])),
    )


def flat_weights(network: nn.Module) -> NDArray[np.float32]:
    """Return all weights as one array, in the order of ``network.parameters()``."""
    flat = nn.utils.parameters_to_vector(network.parameters())
    return np.asarray(flat.detach().cpu().numpy(), dtype=np.float32)


def set_weights(network: nn.Module, flat: NDArray[np.float32]) -> None:
    """Set all weights from the array that :func:`flat_weights` returned."""
    expected = sum(weights.numel() for weights in network.parameters())
    if flat.size != expected:
        raise ValueError(f"the saved model has {flat.size} weights, but its parameters require {expected}")
    values = torch.from_numpy(np.array(flat, dtype=np.float32)).to(next(network.parameters()))
    nn.utils.vector_to_parameters(values, network.parameters())
