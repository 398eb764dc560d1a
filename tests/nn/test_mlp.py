"""The MLP on differences of representations, by hand."""

from __future__ import annotations

import pytest
import torch

from hopsight.nn.mlp import HopMLP

Z = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 0.0]])
DIFFERENCES = Z[[0, 1, 2]] - Z[[1, 0, 2]]


def by_hand(directed: bool) -> HopMLP:
    mlp = HopMLP(2, 2, 3, directed=directed, generator=torch.Generator())
    with torch.no_grad():
        mlp.weights[0].copy_(torch.tensor([[1.0, -1.0], [1.0, 0.0]]))
        mlp.biases[0].copy_(torch.tensor([-1.0, 3.0]))
        mlp.weights[1].copy_(torch.tensor([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]]))
        mlp.biases[1].copy_(torch.tensor([0.0, 0.0, -5.0]))
    return mlp


def test_undirected_logits_by_hand() -> None:
    """|z0 − z1| = (2, 3): hidden = ReLU(2 + 3 − 1, −2 + 3) = (4, 1); logits (4, 8 − 1, 1 − 5), no ReLU on them."""
    expected = [[4.0, 7.0, -4.0], [4.0, 7.0, -4.0], [0.0, -3.0, -2.0]]
    assert by_hand(directed=False)(DIFFERENCES).tolist() == expected


def test_directed_logits_keep_the_sign() -> None:
    """z0 − z1 = (−2, 3): hidden = (0, 5). z1 − z0 = (2, −3): hidden = (0, 1)."""
    expected = [[0.0, -5.0, 0.0], [0.0, -1.0, -4.0], [0.0, -3.0, -2.0]]
    assert by_hand(directed=True)(DIFFERENCES).tolist() == expected


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_dropout_needs_a_generator_and_repeats_with_it(share: float) -> None:
    mlp = HopMLP(2, 64, 3, directed=False, generator=torch.Generator().manual_seed(0))
    first, again = (mlp(DIFFERENCES, dropout=share, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first, again)
    assert torch.equal(first, mlp(DIFFERENCES)) == (share == 0.0)
