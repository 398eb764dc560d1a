"""Layers by hand, devices and Adam."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hopsight.graph import AttributedGraph
from hopsight.nn.adam import Adam
from hopsight.nn.device import resolve_device, training_dtype
from hopsight.nn.gcn import GCN, HopMLP, normalized_adjacency, propagation, relu_drop
from processes import python
from toys import refuses

CPU = torch.device("cpu")


HALF, ACROSS = 1 / np.sqrt(2), 1 / np.sqrt(6)


@pytest.mark.parametrize(("edges", "expected"), [
    # with self-loops the degrees of 0 – 1 – 2 are 2, 3, 2
    ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1 / 2, ACROSS, 0], [ACROSS, 1 / 3, ACROSS], [0, ACROSS, 1 / 2]]),
    # 0 → 1 with loops: out-degrees 2, 1, 1 on the left, in-degrees 1, 2, 1 on the right
    ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[HALF, 1 / 2, 0], [0, HALF, 0], [0, 0, 1]]),
])  # fmt: skip
def test_normalized_adjacency_by_hand(edges: list[list[int]], expected: list[list[float]]) -> None:
    np.testing.assert_allclose(normalized_adjacency(sp.csr_array(np.array(edges))).toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_three_layers_equal_dense_algebra(random_graph: AttributedGraph, directed: bool) -> None:
    adjacency = sp.triu(random_graph.adjacency).tocsr() if directed else random_graph.adjacency
    generator = torch.Generator().manual_seed(3)
    gcn = GCN(6, 5, 3, generator=generator).double()
    propagate = propagation(adjacency, directed=directed, device=CPU, dtype=torch.float64)
    loops = adjacency.toarray().astype(np.float64) + np.eye(60)
    A = torch.from_numpy(loops / np.sqrt(np.outer(loops.sum(axis=1), loops.sum(axis=0))))
    X = torch.tensor(random_graph.attributes, requires_grad=True)
    with torch.no_grad():
        for bias in gcn.biases:
            bias.copy_(torch.randn(5, generator=generator))
    hidden = X
    for layer, (weight, bias) in enumerate(zip(gcn.weights, gcn.biases, strict=True)):
        hidden = A @ hidden @ weight + bias
        if layer < 2:
            hidden = torch.relu(hidden)
    sparse = gcn(propagate(X), [propagate, propagate])
    torch.testing.assert_close(sparse, hidden)
    given = torch.randn(60, 5, generator=generator, dtype=torch.float64)
    inputs = [X, *gcn.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad((sparse * given).sum(), inputs),
        torch.autograd.grad((hidden * given).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.75])
def test_share_is_dropped_evenly_and_the_mean_is_kept(share: float) -> None:
    out = relu_drop(torch.ones(40_000, 5), share, torch.Generator().manual_seed(1))
    assert (out == 0).float().mean().item() == pytest.approx(share, abs=0.005)
    assert out.mean().item() == pytest.approx(1.0, abs=0.01)
    by_column = (out == 0).float().mean(dim=0)
    torch.testing.assert_close(by_column, torch.full((5,), share), atol=0.01, rtol=0.0)
    pairs = ((out[:, 0] == 0) & (out[:, 1] == 0)).float().mean().item()  # neighbors share a draw but drop independently
    assert pairs == pytest.approx(share**2, abs=0.01)


def test_gradient_is_that_of_relu_where_a_unit_is_kept() -> None:
    values = torch.randn((7, 3), dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    out = relu_drop(values, 0.4, torch.Generator().manual_seed(2))
    kept = (out > 0).double() / 0.6
    torch.testing.assert_close(out, values.detach() * kept)
    out.square().sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(values.grad, 2 * out.detach() * kept)


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


@pytest.mark.parametrize(("directed", "expected"), [
    # |z0 − z1| = (2, 3): hidden = ReLU(2 + 3 − 1, −2 + 3) = (4, 1); logits (4, 8 − 1, 1 − 5), no ReLU on them
    (False, [[4.0, 7.0, -4.0], [4.0, 7.0, -4.0], [0.0, -3.0, -2.0]]),
    # the sign is kept: z0 − z1 = (−2, 3), hidden = (0, 5); z1 − z0 = (2, −3), hidden = (0, 1)
    (True, [[0.0, -5.0, 0.0], [0.0, -1.0, -4.0], [0.0, -3.0, -2.0]]),
])  # fmt: skip
def test_logits_by_hand(directed: bool, expected: list[list[float]]) -> None:
    assert by_hand(directed)(DIFFERENCES).tolist() == expected


def test_cpu_and_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device("cuda:1") == torch.device("cuda", 1)


def test_training_type_follows_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True, raising=False)
    assert training_dtype("auto", cpu) == torch.bfloat16 and training_dtype("auto", gpu) == torch.float32
    assert training_dtype("float32", cpu) == torch.float32 and training_dtype("bfloat16", gpu) == torch.bfloat16
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    assert training_dtype("auto", cpu) == torch.float32
    refuses("precision must be one of auto, float32, bfloat16, got 'half'", training_dtype, "half", cpu)


def test_float32_is_refused_where_products_are_rounded_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    refuses("torch rounds products to fewer digits", training_dtype, "float32", cpu)
    assert training_dtype("auto", cpu) in (torch.float32, torch.bfloat16)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "highest")
    monkeypatch.setenv("ONEDNN_DEFAULT_FPMATH_MODE", "bf16")
    refuses("ONEDNN_DEFAULT_FPMATH_MODE=bf16 rounds products: unset it", training_dtype, "float32", cpu)


def test_the_steps_equal_those_of_torch_to_the_bit() -> None:
    """Also after the state went through a file, as in a fit that was interrupted."""
    generator = torch.Generator().manual_seed(0)
    target = torch.randn((40, 30), generator=generator)
    ours, theirs = (torch.zeros((40, 30), requires_grad=True) for _ in range(2))
    unused = torch.ones(2, requires_grad=True)
    mine = Adam([ours, unused], lr=0.05, weight_decay=1e-3)
    reference = torch.optim.Adam([theirs], lr=0.05, weight_decay=1e-3, fused=True)
    for step in range(60):
        for weights in (ours, theirs):
            weights.grad = None
            ((weights - target) ** 4).sum().backward()  # type: ignore[no-untyped-call]
        for group in (*mine.param_groups, *reference.param_groups):
            group["lr"] = 0.05 / (1 + step)
        mine.step()
        reference.step()
        if step == 20:
            state = {n: {k: v.clone() for k, v in slot.items()} for n, slot in mine.state_dict()["state"].items()}
            assert list(state) == [0]
            torch.testing.assert_close(state[0], reference.state_dict()["state"][0], atol=0, rtol=0)
            mine = Adam([ours, unused], lr=0.05, weight_decay=1e-3)
            mine.load_state_dict({"state": state})
        torch.testing.assert_close(ours, theirs, atol=0, rtol=0)
    assert unused.tolist() == [1.0, 1.0]
    mine.zero_grad()
    assert ours.grad is None


@pytest.mark.parametrize("name", ["dominant:DOMINANT", "cross_hcm:CrossHCM"])
def test_nothing_slow_is_imported_by_a_fit(name: str) -> None:
    """What these classes are for: torch's compiler is not. Nor is scipy.stats, which takes as long."""
    module, detector = name.split(":")
    room = "hcm" if module == "cross_hcm" else "baselines"
    program = (
        "import sys, numpy as np\n"
        f"from hopsight.{room}.{module} import {detector} as Detector\n"
        "few = {} if Detector.__name__ == 'DOMINANT' else {'burn_in': 1}\n"
        "ring = np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0)\n"
        "Detector(n_epochs=2, device='cpu', **few).fit((ring, np.eye(12)[:, :2]))\n"
        "sys.exit(not {'torch._dynamo', 'scipy.stats'}.isdisjoint(sys.modules))\n"
    )
    assert python(program).returncode == 0
