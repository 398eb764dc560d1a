"""ResGCN (Pei et al. 2022): nodes with a large residual beside what a graph autoencoder explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hopsight.baselines.networks import Inputs, NetworkDetector, Target, as_array, row_loss, sample_rows
from hopsight.checks import check_not_negative, check_positive
from hopsight.nn.gcn import Layers
from hopsight.system.threads import Run

FloatArray = NDArray[np.float64]


@dataclass(kw_only=True)
class ResGCN(NetworkDetector):
    r"""Score nodes by the residual of a graph autoencoder with attention.

    A fully connected network turns the attributes into a residual R ≥ 0. A GCN encodes the graph; its layers are
    damped by exp(−γ S), where the attention S grows with R. Edges are reconstructed as σ(Z Zᵀ), attributes as
    X̂ = MLP(Z), and everything is trained together on

        (1 − α) ‖A − σ(Z Zᵀ)‖² + α ‖X − X̂ − λR‖².

    The score of a node is ‖R_i‖₂, not its reconstruction error.

    Parameters
    ----------
    encoder_units, residual_units, decoder_units
        Widths of the GCN, of the residual network before its last layer, and of the attribute decoder before its last
        layer.
    attribute_weight, residual_share, gamma
        α, λ and γ.
    lr, n_epochs
        Adam's learning rate and number of epochs.
    max_norm
        Norm to which gradients are clipped, since the loss is a sum over all pairs of nodes.
    scaling, n_components
        How to transform the attributes; see :class:`hopsight.preprocess.AttributeTransform`.
    n_rows
        Rows of A per epoch, drawn anew for each one; ``"auto"``: all up to 8,192 nodes, and in larger graphs as many as
        make 67 million pairs.

    Attributes
    ----------
    loss_ : ndarray
        Loss of every epoch.
    weights_ : ndarray
        All weights of the network in one array.
    transform_ : AttributeTransform
        The attribute transformation, reused for new graphs.
    unit_ : float
        Divisor of the attributes: 1, or their largest value where single precision could not hold them.

    Notes
    -----
    The paper prints an unnormalized Ã in the first layer, ends the residual network at width 64 although R must be
    n × d, and gives neither γ, nor the number of epochs, nor the initial weights. This implementation uses Â
    everywhere, one more layer of width d, attention from the second layer on, γ = 0.1, 300 epochs and Glorot weights.
    λ is the paper's value for Amazon. The paper first reduces large bags of words to 20 components.

    References
    ----------
    Pei, Huang, van Ipenburg, Pechenizkiy, ResGCN: attention-based deep residual modeling for anomaly detection on
    attributed networks, Machine Learning 111, 2022.

    Examples
    --------
    >>> A = np.ones((4, 4)) - np.eye(4)
    >>> model = ResGCN(n_epochs=3).fit((A, [[0.0], [0.0], [0.0], [9.0]]))
    >>> model.decision_score_.shape, len(model.loss_)
    ((4,), 3)
    """

    meaning: ClassVar[str] = "how large a residual its attributes need beside what a graph autoencoder explains"
    transferable: ClassVar[bool] = True
    order_matters: ClassVar[bool] = True
    quick: ClassVar[Mapping[str, Any]] = {"n_epochs": 10}

    encoder_units: tuple[int, ...] = (64, 32)
    residual_units: tuple[int, ...] = (64, 64, 64)
    decoder_units: tuple[int, ...] = (32, 64)
    attribute_weight: float = 0.8
    residual_share: float = 0.1
    gamma: float = 0.1
    lr: float = 0.01
    n_epochs: int = 300
    max_norm: float = 1.0
    scaling: str = "auto"
    n_components: int | None = None
    n_rows: int | str = "auto"

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        check_not_negative("residual_share", self.residual_share)
        check_not_negative("gamma", self.gamma)
        check_positive("max_norm", self.max_norm)
        sample_rows(self.n_rows, 1, torch.Generator(), torch.device("cpu"))
        super().check()

    def _network(self, inputs: Inputs, generator: torch.Generator) -> ResidualGCN:
        network = ResidualGCN(
            inputs.attributes.shape[1],
            self.encoder_units,
            self.residual_units,
            self.decoder_units,
            gamma=self.gamma,
            generator=generator,
        )
        return network.to(inputs.attributes.squares.device)

    def _loss(
        self, network: Any, inputs: Inputs, edges: Target, rows: torch.Generator, dropout: Any = None, run: Run = map
    ) -> Tensor:
        explained = network(inputs)
        drawn = sample_rows(self.n_rows, edges.shape[0], rows, edges.squares.device)
        of_edges = row_loss(explained.units, explained.units, edges, "sigmoid", root=False, rows=drawn, run=run)
        of_attributes = network.attribute_loss(explained, inputs, self.residual_share)
        return (1 - self.attribute_weight) * of_edges + self.attribute_weight * of_attributes

    @torch.no_grad()
    def _scores(self, network: Any, inputs: Inputs, edges: Target, run: Run = map) -> FloatArray:
        """Return the residuals, which depend on the attributes alone; edges only matter during training."""
        return as_array(torch.linalg.vector_norm(network.residuals(inputs), dim=1))


class Explained(NamedTuple):
    """Output of the network: edges from units unitsᵀ, the residual R, and X̂ = decoded W_X."""

    units: Tensor  # Z, (n_nodes, n_encoded)
    residual: Tensor  # R, (n_nodes, n_attributes)
    decoded: Tensor  # last hidden layer of the attribute decoder, (n_nodes, n_hidden)


class ResidualGCN(nn.Module):
    """Residual network, attention network, encoder and attribute decoder; no layer has a bias.

    R = ReLU(… ReLU(X Θ)) from the attributes alone, S⁽¹⁾ = ReLU(R Θ), S⁽²⁾ = ReLU(S⁽¹⁾ Θ), …;
    H⁽¹⁾ = ReLU(Â X W), H⁽ˡ⁺¹⁾ = ReLU(Â (H⁽ˡ⁾ ∘ exp(−γ S⁽ˡ⁾)) W), Z the last of them; X̂ = MLP(Z), its last layer linear.
    The residual network and the decoder end in a layer of width d, and the attention network has the widths of the GCN
    without its last layer.
    """

    def __init__(
        self,
        n_inputs: int,
        encoder_units: Sequence[int],
        residual_units: Sequence[int],
        decoder_units: Sequence[int],
        *,
        gamma: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.gamma = gamma
        self.residual, self.attention, self.encoder, self.decoder = (
            Layers(widths, bias=False, initial="glorot", generator=generator)
            for widths in (
                [n_inputs, *residual_units, n_inputs],
                [n_inputs, *encoder_units[:-1]],
                [n_inputs, *encoder_units],
                [encoder_units[-1], *decoder_units, n_inputs],
            )
        )

    def forward(self, inputs: Inputs) -> Explained:
        """Return Z, R and the last hidden layer of the decoder."""
        residual = attention = self.residuals(inputs)
        hidden = torch.relu(inputs.convolve(self.encoder.weights[0]))
        for weight, of_attention in zip(list(self.encoder.weights)[1:], self.attention.weights, strict=True):
            attention = torch.relu(attention @ of_attention)
            hidden = torch.relu(inputs.propagate((hidden * torch.exp(-self.gamma * attention)) @ weight))
        decoded = hidden
        for weight in list(self.decoder.weights)[:-1]:
            decoded = torch.relu(decoded @ weight)
        return Explained(hidden, residual, decoded)

    def residuals(self, inputs: Inputs) -> Tensor:
        """Return R, which depends on the attributes alone."""
        first, *others = self.residual.weights
        residual = torch.relu(inputs.attributes.times(first))
        for weight in others:
            residual = torch.relu(residual @ weight)
        return residual

    def attribute_loss(self, explained: Explained, inputs: Inputs, residual_share: float) -> Tensor:
        """Return ‖X − X̂ − λR‖², where λ is the residual share."""
        fitted = torch.addmm(explained.residual, explained.decoded, self.decoder.weights[-1], beta=residual_share)
        return inputs.attributes.subtracted_from(fitted, slice(0, fitted.shape[0])).square().sum()
