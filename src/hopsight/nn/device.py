"""The device to compute on, and the precision to train in."""

from __future__ import annotations

import os

import torch

from hopsight.checks import Refusal, check_choice


def resolve_device(name: str) -> torch.device:
    """Return the torch device for ``"auto"`` (CUDA when there is one), ``"cpu"``, ``"cuda"`` or ``"cuda:N"``."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    check_choice("device", name.split(":")[0], ("auto", "cpu", "cuda"))
    if name != "cpu" and not torch.cuda.is_available():
        raise Refusal("device", f"{name!r} was requested, but this machine has no CUDA device: use 'cpu'")
    return torch.device(name)


def training_dtype(precision: str, device: torch.device) -> torch.dtype:
    """Return the type of matrix products in training.

    ``"auto"`` is bfloat16 on CPUs with AMX, where it is two to three times as fast and the model learns as well, and
    float32 everywhere else; ``"float32"`` and ``"bfloat16"`` are used as given.

    With ``"float32"`` no product is rounded to bfloat16 on the way, and settings of the process that would do so are
    refused: one Xeon gave the same scores, bit for bit, with AMX and with AMX turned off. Vector units of another kind
    (AVX2, AVX-512, Arm) add in another order, which changes the last digits and can move nodes with close scores.
    """
    check_choice("precision", precision, ("auto", "float32", "bfloat16"))
    if precision == "float32":
        _check_exact()
    if precision == "auto":
        has_amx = getattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
        precision = "bfloat16" if device.type == "cpu" and has_amx() else "float32"
    return torch.bfloat16 if precision == "bfloat16" else torch.float32


def _check_exact() -> None:
    """Refuse settings of the process that let float32 products use bfloat16 or TF32."""
    if torch.get_float32_matmul_precision() != "highest":
        raise Refusal(
            "precision",
            "'float32' was requested, but torch rounds products to fewer digits: call "
            "torch.set_float32_matmul_precision('highest') first",
        )
    for name in ("ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"):
        mode = os.environ.get(name, "STRICT")
        if mode.upper() != "STRICT":
            raise Refusal("precision", f"'float32' was requested, but {name}={mode} rounds products: unset it")
