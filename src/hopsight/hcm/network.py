"""The model F_w(X, A): a representation of the nodes, and the MLP that predicts the hop class of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding

from hopsight.nn.gcn import GCN, HopMLP, Propagation, draw_weights
from hopsight.system.threads import Run

ROWS_AT_ONCE = 2048  # mapped by one thread at a time


class Mapped(NamedTuple):
    """Nodes whose views were mapped already: (n_nodes, n_units) z, side by side for all views."""

    z: Tensor


class HopNetwork(nn.Module):
    """Base of both models: :meth:`represent` maps the nodes, :meth:`forward` classifies pairs of them."""

    mlp: HopMLP
    replayable = False  # whether a GPU can record a step of this network

    def focus(self, view: Sequence[Any], pairs: Tensor) -> tuple[Sequence[Any], Tensor]:
        """Return the part of a view that some pairs need, and the pairs as positions in it."""
        return view, pairs

    def represent(
        self, view: Sequence[Tensor | Propagation], *, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> Sequence[Tensor]:
        """Return matrices with one row per node, from what the network sees of the graph."""
        raise NotImplementedError

    def mapped(self, nodes: Sequence[Tensor], n_pairs: int, run: Run = map) -> Sequence[Tensor]:
        """Return what :meth:`forward` needs of represented nodes to classify so many pairs without gradients."""
        return nodes

    def difference(self, nodes: Sequence[Tensor], pairs: Tensor) -> Tensor:
        """Return z_m − z_n of every pair. Shapes: pairs (2, n_pairs) -> (n_pairs, width)."""
        raise NotImplementedError

    def forward(
        self,
        nodes: Sequence[Tensor],
        pairs: Tensor,
        *,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Return the logits of the hop classes for pairs of represented nodes: (n_pairs, n_classes)."""
        return self.mlp(self.difference(nodes, pairs), dropout=dropout, generator=generator)

    def flat_weights(self) -> Tensor:
        """Return all weights as one vector, a posterior sample."""
        return torch.cat([weights.detach().reshape(-1) for weights in self.parameters()])

    def set_flat_weights(self, flat: Tensor | NDArray[np.float32]) -> None:
        """Set the weights to those of a posterior sample."""
        vector = torch.as_tensor(flat)
        start = 0
        with torch.no_grad():
            for weights in self.parameters():
                weights.copy_(vector[start : start + weights.numel()].view_as(weights))
                start += weights.numel()


class GCNHopNetwork(HopNetwork):
    """The paper's model: GCN on the whole graph, then the MLP. A view is ÂX, then Â for every further layer."""

    def __init__(
        self,
        n_inputs: int,
        *,
        n_units: int,
        n_layers: int,
        mlp_units: int,
        n_classes: int,
        directed: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.gcn = GCN(n_inputs, n_units, n_layers, generator=generator)
        self.mlp = HopMLP(n_units, mlp_units, n_classes, directed=directed, generator=generator)

    def represent(
        self, view: Sequence[Tensor | Propagation], *, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> Sequence[Tensor]:
        """Return Z = GCN(X, A)."""
        propagated, *propagates = view
        return [self.gcn(propagated, propagates, dropout=dropout, generator=generator)]

    def focus(self, view: Sequence[Any], pairs: Tensor) -> tuple[Sequence[Any], Tensor]:
        """Return what the nodes of the pairs see: little of a large graph. On a GPU the whole graph is faster."""
        propagated, *propagates = view
        n_nodes = propagated.shape[0]
        if pairs.numel() >= n_nodes or propagated.device.type != "cpu":
            return view, pairs
        rows, local = torch.unique(pairs, return_inverse=True)
        for layer in reversed(range(len(propagates))):
            if rows.numel() == n_nodes:
                break
            propagates[layer], rows = propagates[layer].rows(rows)
        return [propagated[rows], *propagates], local

    def difference(self, nodes: Sequence[Tensor], pairs: Tensor) -> Tensor:
        """Return z_m − z_n."""
        return _differences(nodes[0], pairs)


class ViewHopNetwork(HopNetwork):
    """CrossHCM's model: every view of a node mapped linearly, side by side. The views are X and ÂX.

    The node's own attributes are not smoothed away, and no messages pass during training: the views of each fold
    are computed once. Since z is linear in the views, z_m − z_n follows from the difference of their rows, and only
    the nodes of a pair are read: a step costs the same in any graph.
    """

    replayable = True

    def __init__(
        self,
        widths: Sequence[int],
        *,
        n_units: int,
        mlp_units: int,
        n_classes: int,
        directed: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.weights = nn.ParameterList([draw_weights((width, n_units), generator) for width in widths])
        self.mlp = HopMLP(n_units * len(widths), mlp_units, n_classes, directed=directed, generator=generator)

    def represent(
        self, view: Sequence[Tensor | Propagation], *, dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> Sequence[Tensor]:
        """Return the views as they are."""
        return [part for part in view if isinstance(part, Tensor)]

    def mapped(self, nodes: Sequence[Tensor], n_pairs: int, run: Run = map) -> Sequence[Tensor]:
        """Return z of every node where that is less work than mapping every pair.

        In single precision, whatever the type of the views: rows are read more often than written, and half precision
        takes some processors longer to convert than to multiply.
        """
        n_nodes = nodes[0].shape[0]
        if n_nodes >= n_pairs:
            return nodes
        z = torch.empty((n_nodes, sum(weight.shape[1] for weight in self.weights)), device=nodes[0].device)
        step = ROWS_AT_ONCE if z.device.type == "cpu" else n_nodes

        def fill(start: int) -> None:
            with torch.no_grad():
                rows = slice(start, start + step)
                parts = [part[rows].float() @ weight for part, weight in zip(nodes, self.weights, strict=True)]
                torch.cat(parts, dim=1, out=z[rows])

        for _ in run(fill, range(0, n_nodes, step)):
            pass
        return Mapped(z)

    def difference(self, nodes: Sequence[Tensor], pairs: Tensor) -> Tensor:
        """Return [(x_m − x_n) W₀, (ÂX_m − ÂX_n) W₁, …] from the views, or from the z of :meth:`mapped`."""
        if isinstance(nodes, Mapped):
            return _differences(nodes.z, pairs)
        parts = zip(nodes, self.weights, strict=True)
        return torch.cat([_differences(rows, pairs) @ weight for rows, weight in parts], dim=1)


def _differences(rows: Tensor, pairs: Tensor) -> Tensor:
    """Return rows[m] − rows[n] of each pair in single precision, whatever the type of the rows.

    As embeddings, because their backward pass adds up rows faster than that of an index.
    """
    return embedding(pairs[0], rows).float().sub_(embedding(pairs[1], rows))
