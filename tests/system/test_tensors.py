"""Arrays written some bytes at a time: readers of safetensors open the file, and the checksum is that of its bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load

from hopsight.system import files as tensors
from hopsight.system.files import write_tensors


@pytest.mark.parametrize("at_once", [8, 1 << 26])
def test_safetensors_reads_what_was_written(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(tensors, "BYTES_AT_ONCE", at_once)
    arrays = {
        "grid": rng.normal(size=(5, 7)),
        "turned": rng.normal(size=(4, 6)).astype(np.float32).T,
        "half": rng.normal(size=9).astype(np.float16),
        "flags": rng.random(11) < 0.5,
        "words": rng.integers(0, 2**63, 3, dtype=np.uint64),
        "small": rng.integers(-9, 9, (2, 0, 3)).astype(np.int8),
        "one": np.array(7),
        "other end": np.arange(4, dtype=">i4"),
    }
    path = tmp_path / "arrays.safetensors"
    with path.open("wb") as file:
        digest = write_tensors(file, arrays, {"key": "ä"})
    assert digest.hexdigest() == hashlib.sha256(path.read_bytes()).hexdigest()
    found = load(path.read_bytes())
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
        assert found[name].dtype == array.dtype.newbyteorder("=") and found[name].shape == array.shape
    with safe_open(path, "np") as opened:
        assert opened.metadata() == {"key": "ä"}


def test_the_checksum_continues_another(tmp_path: Path) -> None:
    path = tmp_path / "arrays.safetensors"
    with path.open("wb") as file:
        digest = write_tensors(file, {"x": np.zeros(3)}, digest=hashlib.sha256(b"before"))
    assert digest.hexdigest() == hashlib.sha256(b"before" + path.read_bytes()).hexdigest()
