"""DOMINANT: nodes whose edges and attributes a graph autoencoder rebuilds badly (Ding et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Generator, Tensor, allclose, device, no_grad

from hopsight.baselines.adam_loop import (
    finite,
    flat_weights,
    generators,
    is_constant,
    set_weights,
    steady,
    train,
    undirected,
    until_alive,
)
from hopsight.checks import check_choice, check_count, check_positive, check_ratio
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.io import as_graph
from hopsight.nn.autoencoder import Autoencoder, Inputs
from hopsight.nn.device import resolve_device
from hopsight.nn.reconstruction import EPSILON, Run, row_errors, row_loss, sample_rows
from hopsight.nn.target import Target
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.scale import unit_of

FloatArray = NDArray[np.float64]


@dataclass(kw_only=True)
class DOMINANT(Detector):
    r"""Deep anomaly detection on attributed networks.

    Graph convolutions H' = ReLU(Â H W + b) encode every node; one decoder rebuilds its attributes x̂_i, another
    its row of the adjacency matrix â_i. A node scores what is lost:

        score_i = a ‖x_i − x̂_i‖₂ + (1 − a) ‖t_i − â_i‖₂

    with the weight a of the attributes and the row t_i of A, or of A + I. Defaults are those of the authors' PyTorch
    code; :meth:`paper`, :meth:`tf` and :meth:`pygod` give the other published settings.

    Parameters
    ----------
    encoder_units, attribute_units, structure_units
        Widths of the encoder, of the attribute decoder before its last layer, and of the structure decoder
        (empty: straight from the encoding Z).
    decoder
        ``"linear"``, Â = H Hᵀ, or ``"sigmoid"``, Â = σ(H Hᵀ).
    final_activation
        ``"relu"`` or ``"none"`` after the last layer of encoder and decoders. Attributes with negative values
        never get a ReLU on their rebuilt form, which could not reach them.
    self_loops
        Rebuild A + I instead of A.
    loss
        ``"mean"`` of the scores, or ``"squared"``, (1 − a) ‖A − Â‖² + a ‖X − X̂‖².
    attribute_weight
        The weight a.
    lr, n_epochs, dropout
        Adam's step, number of passes, share of units dropped while training.
    bias, initial
        Whether layers add b; ``"glorot"`` (biases 0) or ``"uniform"`` (all within ±1/√width) initial weights.
    last_step
        Score with the weights after the last step; without, with those of the last training pass.
    scaling, n_components
        Of the attributes, see :class:`hopsight.preprocess.AttributeTransform`.
    n_rows
        Sigmoid decoder only: rows of A that one epoch looks at, drawn anew each time; ``"auto"``: all, or in large
        networks as many as make 33 million pairs. The scores always look at all rows.

    Attributes
    ----------
    loss_ : ndarray
        Loss of every epoch.
    weights_ : ndarray
        All weights of the network in one array.
    transform_ : AttributeTransform
        The attribute transformation, reused for new graphs.
    attribute_activation_ : str
        What the rebuilt attributes went through.
    unit_ : float
        What attributes were divided by: 1, or their largest value where single precision could not hold them.

    Notes
    -----
    The linear decoder is never multiplied out: ‖t_i − H h_i‖² = ‖t_i‖² − 2 h_i·Σ_j t_ij h_j + h_iᵀ(HᵀH)h_i takes
    O(m·h + n·h²). The sigmoid decoder goes in blocks of rows, loss and gradient in one pass. Sparse attributes
    stay sparse. The number of epochs is fixed: nothing looks at labels.

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
    transferable: ClassVar[bool] = True
    draws_by_position: ClassVar[bool] = True
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
        """Return the settings of the paper; its a is only given as a range, 0.4 to 0.8."""
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
        """Return the settings of PyGOD, which takes attributes as they come."""
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

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        where = self._check()
        for_axes, for_training = rng.spawn(2)
        self.transform_ = AttributeTransform.fit(
            graph.attributes,
            graph.attribute_names,
            scaling=self.scaling,
            n_components=self.n_components,
            rng=for_axes,
        )
        attributes = self.transform_.apply(graph.attributes, graph.attribute_names)
        self.unit_ = unit_of(attributes)
        values = attributes.data if sp.issparse(attributes) else attributes
        can_be_negative = values.min(initial=0.0) < 0
        self.attribute_activation_ = "none" if can_be_negative else self.final_activation
        inputs, edges = self._inputs(graph, attributes, where)

        def attempt(rng: np.random.Generator) -> tuple[FloatArray, bool]:
            for_weights, for_dropout = generators(rng, where)
            network = self._network(inputs, for_weights)
            losses = train(
                network,
                lambda: self._loss(network, inputs, edges, for_dropout, for_weights, run),
                lambda: self._scores(network, inputs, edges, run)[0],
                name="DOMINANT",
                lr=self.lr,
                n_epochs=self.n_epochs,
                last_step=self.last_step,
                callback=callback,
            )
            self.loss_, self.weights_ = np.array(losses), flat_weights(network)
            return self._scores(network, inputs, edges, run)

        with steady(graph.n_nodes * max(graph.n_nodes, inputs.attributes.shape[1]), where) as run:
            return until_alive("DOMINANT", attempt, for_training)

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a graph with the trained network; its attributes must have the columns of the fit."""
        return finite(self._scores(*self._trained(source))[0], "DOMINANT")

    @no_grad()
    def embed(self, source: Any = None) -> FloatArray:
        """Return Z, the encoding of every node of a graph, or of the training graph."""
        if source is None and not hasattr(self, "graph_"):
            raise ValueError("a loaded DOMINANT has no training graph: give it to embed or predict")
        network, inputs, _ = self._trained(self.graph_ if source is None else source)
        return network(inputs).encoding.double().cpu().numpy()

    def _trained(self, source: Any) -> tuple[Autoencoder, Inputs, Target]:
        """Return the trained network and a graph as it reads one."""
        if not hasattr(self, "weights_"):
            raise ValueError("DOMINANT is not fitted yet: call fit first")
        graph = as_graph(source)
        attributes = self.transform_.apply(graph.attributes, graph.attribute_names)
        inputs, edges = self._inputs(graph, attributes, resolve_device(self.device))
        network = self._network(inputs, Generator())
        set_weights(network, self.weights_)
        return network, inputs, edges

    def _check(self) -> device:
        if not self.encoder_units:
            raise ValueError("encoder_units must name at least one width, got none")
        for name in ("encoder_units", "attribute_units", "structure_units"):
            for width in getattr(self, name):
                check_count(name, width)
        check_choice("decoder", self.decoder, ("linear", "sigmoid"))
        check_choice("final_activation", self.final_activation, ("relu", "none"))
        check_choice("loss", self.loss, ("mean", "squared"))
        check_choice("initial", self.initial, ("glorot", "uniform"))
        check_ratio("attribute_weight", self.attribute_weight, high=1.0 + 1e-12)
        check_ratio("dropout", self.dropout)
        check_positive("lr", self.lr)
        check_count("n_epochs", self.n_epochs)
        sample_rows(self.n_rows, 1, Generator(), device("cpu"))
        return resolve_device(self.device)

    def _inputs(self, graph: AttributedGraph, attributes: Any, where: device) -> tuple[Inputs, Target]:
        adjacency = undirected(graph)
        edges = adjacency + sp.eye_array(graph.n_nodes, format="csr") if self.self_loops else adjacency
        return Inputs.of(adjacency, attributes / self.unit_, where), Target.of(edges, where)

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
        self, network: Autoencoder, inputs: Inputs, edges: Target, dropout: Generator, rows: Generator, run: Run = map
    ) -> Tensor:
        rebuilt = network(inputs, dropout=self.dropout, generator=dropout)
        root = self.loss == "mean"
        n_nodes = edges.shape[0]
        activation, drawn = "none", None
        if self.decoder == "sigmoid":
            activation = "sigmoid"
            drawn = sample_rows(self.n_rows, n_nodes, rows, edges.squares.device, halved=not root)
        how = self.attribute_activation_
        of_attributes = row_loss(rebuilt.left, rebuilt.right, inputs.attributes, how, root=root, run=run)
        of_edges = row_loss(rebuilt.units, rebuilt.units, edges, activation, root=root, rows=drawn, run=run)
        total = self.attribute_weight * of_attributes + (1 - self.attribute_weight) * of_edges
        return total / n_nodes if root else total

    @no_grad()
    def _scores(self, network: Autoencoder, inputs: Inputs, edges: Target, run: Run = map) -> tuple[FloatArray, bool]:
        """Return one score a node, and whether the network is alive."""
        rebuilt = network(inputs)
        activation = "none" if self.decoder == "linear" else "sigmoid"
        of_attributes = row_errors(rebuilt.left, rebuilt.right, inputs.attributes, self.attribute_activation_, run)
        of_edges = row_errors(rebuilt.units, rebuilt.units, edges, activation, run)
        a = self.attribute_weight
        total = a * (of_attributes + EPSILON).sqrt() + (1 - a) * (of_edges + EPSILON).sqrt()
        scores = total.double().cpu().numpy()
        silent = not rebuilt.units.any() and allclose(of_attributes, inputs.attributes.squares)  # rebuilds zeros only
        dead = silent or not rebuilt.encoding.any() or is_constant(scores)
        return scores, not dead
