"""Devices: found, or refused in one sentence."""

from __future__ import annotations

import pytest
import torch

from hopsight.nn.device import resolve_device


def test_cpu_and_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == torch.device("cuda")
    assert resolve_device("cuda:1") == torch.device("cuda", 1)


@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_cuda_where_there_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"device '{name}' was asked for, but this machine has no CUDA device"):
        resolve_device(name)


@pytest.mark.parametrize("name", ["gpu", "tpu:0", ""])
def test_other_words_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="device must be one of auto, cpu, cuda, got"):
        resolve_device(name)
