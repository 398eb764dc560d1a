"""Where a node stands in the network: the leading eigenvectors of Â, by subspace iteration."""

from __future__ import annotations

import torch
from torch import Tensor

from hopsight.nn.gcn import Propagation

EXTRA = 10  # columns beyond those wanted, for accuracy


def spectral_embedding(
    propagate: Propagation, n_nodes: int, n_components: int, *, generator: torch.Generator
) -> Tensor:
    """Return U Λ of the leading eigenpairs Â ≈ U Λ Uᵀ, scaled to unit variance: (n_nodes, n_components).

    Six rounds of subspace iteration with a Rayleigh–Ritz step; every round is one sparse product and one thin
    QR, so the cost is linear in the links. Fewer columns come back where the network has fewer nodes.
    """
    width = min(n_components + EXTRA, n_nodes)
    device = propagate.forward.device
    basis = torch.randn(n_nodes, width, generator=generator).to(device)
    for _ in range(6):
        basis = torch.linalg.qr(propagate(basis))[0]
    image = basis.T @ propagate(basis)
    values, vectors = torch.linalg.eigh((image + image.T) / 2)
    leading = values.abs().argsort(descending=True)[:n_components]
    embedding = basis @ vectors[:, leading] * values[leading]
    return embedding / embedding.std().clamp(min=1e-9)
