"""Adam takes the same steps as torch's, without its compiler."""

from __future__ import annotations

import subprocess
import sys

import torch

from hopsight.nn.adam import Adam


def test_the_steps_equal_those_of_torch() -> None:
    generator = torch.Generator().manual_seed(0)
    target = torch.randn((4, 3), generator=generator, dtype=torch.float64)
    ours, theirs = (torch.zeros((4, 3), dtype=torch.float64, requires_grad=True) for _ in range(2))
    unused = torch.ones(2, requires_grad=True)
    mine, reference = Adam([ours, unused], lr=0.05), torch.optim.Adam([theirs], lr=0.05)
    for _ in range(60):
        for weights in (ours, theirs):
            weights.grad = None
            ((weights - target) ** 4).sum().backward()  # type: ignore[no-untyped-call]
        mine.step()
        reference.step()
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)
    assert unused.tolist() == [1.0, 1.0]
    mine.clear()
    assert ours.grad is None


def test_the_compiler_is_not_imported() -> None:
    """What this class is for: a fit does not import torch's compiler."""
    program = (
        "import sys, numpy as np\n"
        "from hopsight.baselines.dominant import DOMINANT\n"
        "DOMINANT(n_epochs=2, device='cpu').fit((np.ones((4, 4)), np.eye(4)[:, :2]))\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False).returncode == 0
