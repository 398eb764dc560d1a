"""Reconstruction errors of thin factors: every form against the dense matrix, value and gradient."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from hopsight.baselines import networks
from hopsight.baselines.networks import Target, row_errors, row_loss, sample_rows
from hopsight.detectors import DETECTORS
from hopsight.loading import load

CPU = torch.device("cpu")
FUNCTIONS = {"none": lambda values: values, "relu": torch.relu, "sigmoid": torch.sigmoid}


@pytest.fixture
def matrix(rng: np.random.Generator) -> sp.csr_array:
    """Return a 23 × 17 matrix with about a fifth of its entries, row 4 empty."""
    dense = rng.normal(size=(23, 17)) * (rng.random((23, 17)) < 0.2)
    dense[4] = 0.0
    return sp.csr_array(dense)


@pytest.fixture
def factors(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    left, right = (torch.from_numpy(rng.normal(size=(size, 5))).requires_grad_() for size in (23, 17))
    return left, right


def dense_errors(left: Tensor, right: Tensor, matrix: sp.csr_array, activation: str) -> Tensor:
    return (FUNCTIONS[activation](left @ right.T) - torch.from_numpy(matrix.toarray())).square().sum(1)


def check_against_the_dense_form(
    left: Tensor, right: Tensor, stored: Any, matrix: sp.csr_array, activation: str, root: bool
) -> None:
    target = Target.of(stored, CPU, torch.float64)
    errors = dense_errors(left, right, matrix, activation)
    expected = (errors + 1e-12).sqrt().sum() if root else errors.sum()
    loss = row_loss(left, right, target, activation, root=root)
    torch.testing.assert_close(loss, expected, atol=1e-8, rtol=1e-10)
    weights = (left,) if left is right else (left, right)
    for ours, theirs in zip(*(torch.autograd.grad(value, weights) for value in (loss, expected)), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-8, rtol=1e-10)
    torch.testing.assert_close(row_errors(left, right, target, activation), errors, atol=1e-8, rtol=1e-10)


FORMS = pytest.mark.parametrize("activation", FUNCTIONS)
ROOTS = pytest.mark.parametrize("root", [True, False])


@FORMS
@ROOTS
@pytest.mark.parametrize("stored", ["sparse", "dense"])
@pytest.mark.parametrize("block", [1, 40, 1 << 20])
def test_loss_and_gradient_equal_the_dense_form(
    matrix: sp.csr_array, factors: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch,
    stored: str, activation: str, root: bool, block: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(networks, "BLOCK_VALUES", block)
    given = matrix if stored == "sparse" else matrix.toarray()
    check_against_the_dense_form(*factors, given, matrix, activation, root)


@FORMS
@ROOTS
@pytest.mark.parametrize("block", [1, 100, 1 << 20])
def test_pairs_of_one_matrix_with_itself_equal_the_dense_form(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, activation: str, root: bool, block: int
) -> None:
    monkeypatch.setattr(networks, "BLOCK_VALUES", block)
    edges = np.triu(rng.random((30, 30)) < 0.2, k=0).astype(float)  # with some self-loops
    edges = sp.csr_array(np.maximum(edges, edges.T))
    H = torch.from_numpy(rng.normal(size=(30, 4))).requires_grad_()
    check_against_the_dense_form(H, H, edges, edges, activation, root)


def test_linear_form_is_clipped_at_zero_and_has_a_gradient_there() -> None:
    H = torch.ones((3, 1), dtype=torch.float64, requires_grad=True)
    target = Target.of(sp.csr_array(np.ones((3, 3))), CPU, torch.float64)  # reconstructed without error
    loss = row_loss(H, H, target, "none", root=True)
    loss.backward()  # type: ignore[no-untyped-call]
    assert float(loss.detach()) == pytest.approx(3e-6)
    assert H.grad is not None and torch.isfinite(H.grad).all()


def test_sampled_loss_is_unbiased(matrix: sp.csr_array, factors: tuple[Tensor, Tensor]) -> None:
    target = Target.of(matrix, CPU, torch.float64)
    generator = torch.Generator().manual_seed(0)
    draws = [
        float(row_loss(*factors, target, "sigmoid", root=False, rows=sample_rows(5, 23, generator, CPU)).detach())
        for _ in range(600)
    ]
    assert np.mean(draws) == pytest.approx(float(row_loss(*factors, target, "sigmoid", root=False).detach()), rel=0.03)


@pytest.mark.parametrize(("name", "least", "rows"), [("dominant", 0.75, {}), ("resgcn", 0.6, {"n_rows": 300})])
def test_finds_what_was_injected_into_cora(name: str, least: float, rows: dict[str, int], data_dir: Path) -> None:
    graph = load(data_dir / "inj_cora.mat")
    model = DETECTORS[name](n_components=20, n_epochs=40, **rows).fit(graph)
    assert roc_auc_score(graph.labels, model.decision_score_) > least
