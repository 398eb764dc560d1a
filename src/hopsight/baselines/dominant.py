"""DOMINANT (Ding et al. 2019): nodes whose edges and attributes a graph autoencoder reconstructs badly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Generator, Tensor, allclose, device, no_grad

from hopsight.baselines.adam_loop import NetworkDetector, as_array
from hopsight.baselines.autoencoder import Autoencoder
from hopsight.checks import check_choice, check_ratio
from hopsight.nn.layers import Inputs
from hopsight.nn.reconstruction import EPSILON, row_errors, row_loss, sample_rows
from hopsight.nn.target import Target
from hopsight.system.threads import Run, safe_in_forks

FloatArray = NDArray[np.float64]


@dataclass(kw_only=True)
class DOMINANT(NetworkDetector):
    r"""Score nodes by the reconstruction error of a graph autoencoder.

    Graph convolutions H' = ReLU(Â H W + b) encode every node; one decoder reconstructs its attributes x̂_i, another
    its row â_i of the adjacency matrix:

        score_i = a ‖x_i − x̂_i‖₂ + (1 − a) ‖t_i − â_i‖₂

    where a weighs the attributes and t_i is a row of A, or of A + I. The defaults are those of the authors' PyTorch
    code; :meth:`paper`, :meth:`tf` and :meth:`pygod` return the other published settings.

    Parameters
    ----------
    encoder_units, attribute_units, structure_units
        Widths of the encoder, of the attribute decoder before its last layer, and of the structure decoder
        (empty: edges are reconstructed from the encoding Z itself).
    decoder
        Reconstructed adjacency: ``"linear"``, H Hᵀ, or ``"sigmoid"``, σ(H Hᵀ).
    final_activation
        ``"relu"`` or ``"none"`` after the last layer of encoder and decoders. Attributes with negative values
        are always reconstructed without a ReLU, which could not produce them.
    self_loops
        Reconstruct A + I instead of A.
    loss
        ``"mean"`` of the scores, or ``"squared"``, (1 − a) ‖A − Â‖² + a ‖X − X̂‖².
    attribute_weight
        The weight a.
    lr, n_epochs, dropout
        Adam's learning rate, number of epochs, and share of units dropped while training.
    bias, initial
        Whether layers have a bias b; initial weights, ``"glorot"`` (biases 0) or ``"uniform"`` (within ±1/√width).
    last_step
        Score with the weights after the last step, or else with those of the last forward pass.
    scaling, n_components
        How to transform the attributes; see :class:`hopsight.preprocess.AttributeTransform`.
    n_rows
        Sigmoid decoder only: rows of A per epoch, drawn anew for each one; ``"auto"``: all, or in large graphs as many
        as make 33 million pairs. The scores always use all rows.

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
    The linear decoder is never multiplied out: ‖t_i − H h_i‖² = ‖t_i‖² − 2 h_i·Σ_j t_ij h_j + h_iᵀ(HᵀH)h_i takes
    O(m·h + n·h²) time. The sigmoid decoder works in blocks of rows, loss and gradient in one pass. Sparse attributes
    stay sparse. The number of epochs is fixed; labels are never used.

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
    presets: ClassVar[tuple[str, ...]] = ("paper", "tf", "pygod")
    transferable: ClassVar[bool] = True
    order_matters: ClassVar[bool] = True
    quick: ClassVar[Mapping[str, Any]] = {"n_epochs": 10}

    encoder_units: tuple[int, ...] = (64, 64)
    attribute_units: tuple[int, ...] = (64,)
    structure_units: tuple[int, ...] = (64,)
    decoder: str = "linear"
    final_activation: str = "relu"
    self_loops: bool = True
    loss: str = "mean"
    attribute_weight: float = 0.8
    lr: float = 0.005
    n_epochs: int = 100
    dropout: float = 0.3
    bias: bool = True
    initial: str = "uniform"
    last_step: bool = True
    scaling: str = "auto"
    n_components: int | None = None
    n_rows: int | str = "auto"

    @classmethod
    def torch(cls, **changes: Any) -> Self:
        """Return the settings of the authors' PyTorch code, which are the defaults."""
        return cls(**changes)

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the settings of the paper, which gives a as a range only, 0.4 to 0.8."""
        settings: dict[str, Any] = {
            "encoder_units": (64, 32, 16),
            "attribute_units": (),
            "structure_units": (),
            "decoder": "sigmoid",
            "self_loops": False,
            "loss": "squared",
            "attribute_weight": 0.6,
            "n_epochs": 300,
            "dropout": 0.0,
            "initial": "glorot",
        }
        return cls(**settings | changes)

    @classmethod
    def tf(cls, **changes: Any) -> Self:
        """Return the settings of the authors' TensorFlow code."""
        settings: dict[str, Any] = {
            "decoder": "sigmoid",
            "lr": 5e-4,
            "n_epochs": 300,
            "dropout": 0.0,
            "bias": False,
            "initial": "glorot",
            "last_step": False,
        }
        return cls(**settings | changes)

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

    @no_grad()
    @safe_in_forks
    def embed(self, source: Any = None) -> FloatArray:
        """Return Z, the encoding of every node of a graph, or of the training graph."""
        if source is None and not hasattr(self, "graph_"):
            raise ValueError("a loaded DOMINANT has no training graph: pass the graph to embed or predict")
        network, inputs, _ = self._trained(self.graph_ if source is None else source)
        return as_array(network(inputs).encoding)

    def _check(self) -> device:
        check_choice("decoder", self.decoder, ("linear", "sigmoid"))
        check_choice("final_activation", self.final_activation, ("relu", "none"))
        check_choice("loss", self.loss, ("mean", "squared"))
        check_choice("initial", self.initial, ("glorot", "uniform"))
        check_ratio("dropout", self.dropout)
        return super()._check()

    def _look_at(self, attributes: Any) -> None:
        super()._look_at(attributes)
        values = attributes.data if sp.issparse(attributes) else attributes
        can_be_negative = values.min(initial=0.0) < 0
        self.attribute_activation_ = "none" if can_be_negative else self.final_activation

    def _network(self, inputs: Inputs, generator: Generator) -> Autoencoder:
        network = Autoencoder(
            inputs.attributes.shape[1],
            self.encoder_units,
            self.attribute_units,
            self.structure_units,
            ends_in_relu=self.final_activation == "relu",
            bias=self.bias,
            initial=self.initial,
            generator=generator,
        )
        return network.to(inputs.attributes.squares.device)

    def _loss(
        self, network: Any, inputs: Inputs, edges: Target, rows: Generator, dropout: Any = None, run: Run = map
    ) -> Tensor:
        output = network(inputs, dropout=self.dropout, generator=dropout)
        root = self.loss == "mean"
        n_nodes = edges.shape[0]
        activation, drawn = "none", None
        if self.decoder == "sigmoid":
            activation = "sigmoid"
            drawn = sample_rows(self.n_rows, n_nodes, rows, edges.squares.device, halved=not root)
        how = self.attribute_activation_
        of_attributes = row_loss(output.left, output.right, inputs.attributes, how, root=root, run=run)
        of_edges = row_loss(output.units, output.units, edges, activation, root=root, rows=drawn, run=run)
        total = self.attribute_weight * of_attributes + (1 - self.attribute_weight) * of_edges
        return total / n_nodes if root else total

    @no_grad()
    def _errors(
        self, network: Autoencoder, inputs: Inputs, edges: Target, run: Run = map
    ) -> tuple[Tensor, Tensor, bool]:
        """Return both reconstruction errors of every node, and whether the network produces more than zeros."""
        output = network(inputs)
        activation = "none" if self.decoder == "linear" else "sigmoid"
        of_attributes = row_errors(output.left, output.right, inputs.attributes, self.attribute_activation_, run)
        of_edges = row_errors(output.units, output.units, edges, activation, run)
        only_zeros = not output.units.any() and allclose(of_attributes, inputs.attributes.squares)
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
