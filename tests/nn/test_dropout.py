"""ReLU with dropout: shares, expectation, gradients and the generator."""

from __future__ import annotations

import pytest
import torch

from hopsight.nn.dropout import relu_drop


def test_without_a_share_or_a_generator_nothing_is_dropped() -> None:
    values = torch.tensor([[-1.0, 0.0, 2.0]])
    for share, generator in ((0.0, torch.Generator()), (0.5, None)):
        assert relu_drop(values, share, generator).tolist() == [[0.0, 0.0, 2.0]]


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


def test_same_seed_drops_the_same_units_and_the_global_state_is_untouched() -> None:
    values, state = torch.ones(50, 4), torch.get_rng_state()
    first, again, other = (relu_drop(values, 0.5, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_every_type_keeps_its_share_and_its_sign(dtype: torch.dtype) -> None:
    values = torch.cat([torch.ones(10_001), -torch.ones(100)]).to(dtype)
    out = relu_drop(values, 0.25, torch.Generator().manual_seed(0))
    assert out.dtype == dtype and not out[10_001:].any()
    assert (out[:10_001] == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)
    assert out.max().item() == pytest.approx(4 / 3, rel=0.01)
