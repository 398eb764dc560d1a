"""DOMINANT (Ding et al. 2019): nodes whose edges and attributes a graph autoencoder reconstructs badly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hopsight.baselines.networks import (
    EPSILON,
    Inputs,
    NetworkDetector,
    Target,
    as_array,
    row_errors,
    row_loss,
)
from hopsight.checks import check_choice, check_ratio
from hopsight.nn.gcn import Layers, relu_drop
from hopsight.system.threads import Run, safe_in_forks

FloatArray = NDArray[np.float64]


@dataclass(kw_only=True)
class DOMINANT(NetworkDetector):
    r"""Score nodes by the reconstruction error of a graph autoencoder.

    Graph convolutions H' = ReLU(Â H W + b) encode every node; one decoder reconstructs its attributes x̂_i, another
    its row â_i of the adjacency matrix:

        score_i = a ‖x_i − x̂_i‖₂ + (1 − a) ‖t_i − â_i‖₂

    where a weighs the attributes, â_i = H h_i, and t_i is a row of A, or of A + I. The loss is the mean score. The
    defaults are those of the authors' PyTorch code; :meth:`pygod` returns those of PyGOD.

    Parameters
    ----------
    encoder_units, attribute_units, structure_units
        Widths of the encoder, of the attribute decoder before its last layer, and of the structure decoder
        (empty: edges are reconstructed from the encoding Z itself).
    final_activation
        ``"relu"`` or ``"none"`` after the last layer of encoder and decoders. Attributes with negative values
        are always reconstructed without a ReLU, which could not produce them.
    self_loops
        Reconstruct A + I instead of A.
    attribute_weight
        The weight a.
    lr, n_epochs, dropout
        Adam's learning rate, number of epochs, and share of units dropped while training.
    initial
        Initial weights and biases b, ``"glorot"`` (biases 0) or ``"uniform"`` (within ±1/√width).
    last_step
        Score with the weights after the last step, or else with those of the last forward pass.
    scaling, n_components
        How to transform the attributes; see :class:`hopsight.preprocess.AttributeTransform`.

    Attributes
    ----------
    attribute_error_, structure_error_ : ndarray
        ‖x_i − x̂_i‖₂ and ‖t_i − â_i‖₂ of every node.
    loss_ : ndarray
        Loss of every epoch.
    weights_ : ndarray
        All weights of the network in one array.
    transform_ : AttributeTransform
        The attribute transformation, reused for new graphs.
    attribute_activation_ : str
        Activation of the reconstructed attributes.
    unit_ : float
        Divisor of the attributes: 1, or their largest value where single precision could not hold them.

    Notes
    -----
    The decoder of edges is never multiplied out: ‖t_i − H h_i‖² = ‖t_i‖² − 2 h_i·Σ_j t_ij h_j + h_iᵀ(HᵀH)h_i takes
    O(m·h + n·h²) time. Sparse attributes stay sparse. The number of epochs is fixed; labels are never used.

    References
    ----------
    Ding, Li, Bhanushali, Liu, Deep anomaly detection on attributed networks, SDM 2019.

    Examples
    --------
    >>> A = np.ones((4, 4)) - np.eye(4)
    >>> model = DOMINANT(n_epochs=3).fit((A, [[0.0], [0.0], [0.0], [9.0]]))
    >>> int(model.decision_score_.argmax()), len(model.loss_)
    (3, 3)
    """

    meaning: ClassVar[str] = "how badly a graph autoencoder reconstructs its attributes and its edges"
    node_values: ClassVar[Mapping[str, str]] = {
        "attribute_error": "error of the reconstruction of its attributes",
        "structure_error": "error of the reconstruction of its edges",
    }
    presets: ClassVar[tuple[str, ...]] = ("pygod",)
    transferable: ClassVar[bool] = True
    order_matters: ClassVar[bool] = True
    quick: ClassVar[Mapping[str, Any]] = {"n_epochs": 10}

    encoder_units: tuple[int, ...] = (64, 64)
    attribute_units: tuple[int, ...] = (64,)
    structure_units: tuple[int, ...] = (64,)
    final_activation: str = "relu"
    self_loops: bool = True
    attribute_weight: float = 0.8
    lr: float = 0.005
    n_epochs: int = 100
    dropout: float = 0.3
    initial: str = "uniform"
    last_step: bool = True
    scaling: str = "auto"
    n_components: int | None = None

    @classmethod
    def pygod(cls, **changes: Any) -> Self:
        """Return the settings of PyGOD, which does not scale the attributes."""
        settings: dict[str, Any] = {
            "scaling": "none",
            "final_activation": "none",
            "self_loops": False,
            "attribute_weight": 0.5,
            "lr": 0.004,
            "dropout": 0.0,
            "initial": "glorot",
            "last_step": False,
        }
        return cls(**settings | changes)

    @torch.no_grad()
    @safe_in_forks
    def embed(self, source: Any = None) -> FloatArray:
        """Return Z, the encoding of every node of a graph, or of the training graph."""
        if source is None and not hasattr(self, "graph_"):
            raise ValueError("a loaded DOMINANT has no training graph: pass the graph to embed or predict")
        network, inputs, _ = self._trained(self.graph_ if source is None else source)
        return as_array(network(inputs).encoding)

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_choice("final_activation", self.final_activation, ("relu", "none"))
        check_choice("initial", self.initial, ("glorot", "uniform"))
        check_ratio("dropout", self.dropout)
        super().check()

    def _note(self, attributes: Any) -> None:
        super()._note(attributes)
        values = attributes.data if sp.issparse(attributes) else attributes
        can_be_negative = values.min(initial=0.0) < 0
        self.attribute_activation_ = "none" if can_be_negative else self.final_activation

    def _network(self, inputs: Inputs, generator: torch.Generator) -> Autoencoder:
        network = Autoencoder(
            inputs.attributes.shape[1],
            self.encoder_units,
            self.attribute_units,
            self.structure_units,
            ends_in_relu=self.final_activation == "relu",
            initial=self.initial,
            generator=generator,
        )
        return network.to(inputs.attributes.squares.device)

    def _loss(
        self, network: Any, inputs: Inputs, edges: Target, rows: torch.Generator, dropout: Any = None, run: Run = map
    ) -> Tensor:
        output, how = network(inputs, dropout=self.dropout, generator=dropout), self.attribute_activation_
        of_attributes = row_loss(output.left, output.right, inputs.attributes, how, root=True, run=run)
        of_edges = row_loss(output.units, output.units, edges, "none", root=True, run=run)
        return (self.attribute_weight * of_attributes + (1 - self.attribute_weight) * of_edges) / edges.shape[0]

    @torch.no_grad()
    def _errors(
        self, network: Autoencoder, inputs: Inputs, edges: Target, run: Run = map
    ) -> tuple[Tensor, Tensor, bool]:
        """Return both reconstruction errors of every node, and whether the network produces more than zeros."""
        output = network(inputs)
        of_attributes = row_errors(output.left, output.right, inputs.attributes, self.attribute_activation_, run)
        of_edges = row_errors(output.units, output.units, edges, "none", run)
        only_zeros = not output.units.any() and torch.allclose(of_attributes, inputs.attributes.squares)
        alive = bool(output.encoding.any()) and not only_zeros
        return (of_attributes + EPSILON).sqrt(), (of_edges + EPSILON).sqrt(), alive

    def _outcome(self, network: Any, inputs: Inputs, edges: Target, run: Run) -> tuple[FloatArray, bool]:
        of_attributes, of_edges, alive = self._errors(network, inputs, edges, run)
        self.attribute_error_, self.structure_error_ = as_array(of_attributes), as_array(of_edges)
        return self._weighted(of_attributes, of_edges), alive

    def _scores(self, network: Any, inputs: Inputs, edges: Target, run: Run = map) -> FloatArray:
        return self._weighted(*self._errors(network, inputs, edges, run)[:2])

    def _weighted(self, of_attributes: Tensor, of_edges: Tensor) -> FloatArray:
        return as_array(self.attribute_weight * of_attributes + (1 - self.attribute_weight) * of_edges)


class Reconstruction(NamedTuple):
    """Both reconstructions in factorized form: attributes f(left rightᵀ), edges g(units unitsᵀ)."""

    encoding: Tensor  # (n_nodes, n_encoded)
    left: Tensor  # (n_nodes, n_hidden + 1), ones in the last column
    right: Tensor  # (n_attributes, n_hidden + 1), the bias in the last column
    units: Tensor  # (n_nodes, n_units)


class Autoencoder(nn.Module):
    """Encoder, attribute decoder and structure decoder, all of graph convolutions Â H W + b.

    The last convolution of the attribute decoder stays a product of two thin matrices, (Â H, 1)(W, b), so that no
    n × d matrix is held. With ``ends_in_relu``, a ReLU follows the last layer of encoder and structure decoder.
    """

    def __init__(
        self,
        n_inputs: int,
        encoder_units: Sequence[int],
        attribute_units: Sequence[int],
        structure_units: Sequence[int],
        *,
        ends_in_relu: bool,
        initial: str,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.ends_in_relu = ends_in_relu
        encoded = encoder_units[-1]
        self.encoder, self.attribute, self.structure = (
            Layers(widths, bias=True, initial=initial, generator=generator)
            for widths in (
                [n_inputs, *encoder_units],
                [encoded, *attribute_units, n_inputs],
                [encoded, *structure_units],
            )
        )

    def forward(self, inputs: Inputs, dropout: float = 0.0, generator: torch.Generator | None = None) -> Reconstruction:
        """Return the reconstructed attributes and edges in factorized form."""
        encoding = self._encode(inputs, dropout, generator)
        spread = inputs.propagate(encoding)  # the first step of both decoders
        left = spread
        for layer in range(len(self.attribute) - 1):
            hidden = self.attribute.convolve(layer, left)
            left = inputs.propagate(relu_drop(hidden, dropout, generator))
        left = torch.cat([left, left.new_ones((left.shape[0], 1))], dim=1)
        right = torch.cat([self.attribute.weights[-1].T, self.attribute.biases[-1][:, None]], dim=1)
        units = encoding
        for layer in range(len(self.structure)):
            convolved = spread if layer == 0 else inputs.propagate(units)
            units = self.structure.convolve(layer, convolved)
            if self.ends_in_relu or layer < len(self.structure) - 1:
                units = relu_drop(units, dropout, generator)
        return Reconstruction(encoding, left, right, units)

    def _encode(self, inputs: Inputs, dropout: float, generator: torch.Generator | None) -> Tensor:
        weights, biases = self.encoder.weights, self.encoder.biases
        hidden = inputs.convolve(weights[0]) + biases[0]
        for layer in range(1, len(self.encoder)):
            hidden = relu_drop(hidden, dropout, generator)
            hidden = inputs.propagate(hidden @ weights[layer]) + biases[layer]
        return torch.relu(hidden) if self.ends_in_relu else hidden
