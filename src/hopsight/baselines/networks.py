"""How DOMINANT and ResGCN train and score: Adam, one retry after a collapse, and the weights as one array."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

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
from hopsight.nn.reconstruction import Inputs, Target, block_values, sample_rows
from hopsight.preprocess.transform import SCALINGS, unit_of
from hopsight.system.threads import Run, safe_in_forks, torch_threads, workers

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
    n_rows: int | str
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
        with torch_threads(1), workers(n_blocks) as run:
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
        attributes = self.transform_.apply(graph.attributes, graph.attribute_names, graph.node_types)
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
        sample_rows(self.n_rows, 1, torch.Generator(), torch.device("cpu"))

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
    warnings.warn(f"{name} collapsed: its network no longer tells nodes apart; training it once more", stacklevel=4)
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
