"""Where to compute."""

from __future__ import annotations

import torch

from hopsight.checks import check_choice


def resolve_device(name: str) -> torch.device:
    """Return the torch device for ``"auto"`` (CUDA when there is one), ``"cpu"``, ``"cuda"`` or ``"cuda:N"``."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    check_choice("device", name.split(":")[0], ("auto", "cpu", "cuda"))
    if name != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device {name!r} was asked for, but this machine has no CUDA device: use --device cpu")
    return torch.device(name)
