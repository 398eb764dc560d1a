"""Devices are resolved, or refused in one sentence; CPUs with AMX train in bfloat16."""

from __future__ import annotations

import pytest
import torch

from hopsight.nn.device import resolve_device, training_dtype


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
    with pytest.raises(ValueError, match="precision must be one of auto, float32, bfloat16, got 'half'"):
        training_dtype("half", cpu)


def test_float32_is_refused_where_products_are_rounded_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "medium")
    with pytest.raises(ValueError, match="torch rounds products to fewer digits"):
        training_dtype("float32", cpu)
    assert training_dtype("auto", cpu) in (torch.float32, torch.bfloat16)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "highest")
    monkeypatch.setenv("ONEDNN_DEFAULT_FPMATH_MODE", "bf16")
    with pytest.raises(ValueError, match="ONEDNN_DEFAULT_FPMATH_MODE=bf16 rounds products: unset it"):
        training_dtype("float32", cpu)
