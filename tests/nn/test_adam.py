"""Adam takes the same steps as torch's, without its compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from hopsight.nn.adam import Adam


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
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False).returncode == 0
