"""Arrays in temporary files: the same values, and nothing left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from hopsight.system.files import check_scratch, moved, release_all, zeros


def test_an_array_on_disk_holds_what_is_written_and_its_file_has_no_name(tmp_path: Path) -> None:
    found = zeros((300, 5), np.float16, tmp_path)
    assert not found.any() and found.dtype == np.float16
    found[7] = np.arange(5)
    assert found[7].tolist() == [0, 1, 2, 3, 4] and found.sum() == 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scratch", [True, False])
def test_an_array_without_values_is_possible(tmp_path: Path, scratch: bool) -> None:
    assert zeros((0, 3), np.float32, tmp_path if scratch else None).shape == (0, 3)


def test_a_folder_that_cannot_hold_the_files_is_refused(tmp_path: Path) -> None:
    check_scratch(tmp_path, 1000)
    with pytest.raises(ValueError, match=r"temporary files of 1000000000.0 GB do not fit into .* scratch"):
        check_scratch(tmp_path, 10**18)
    with pytest.raises(ValueError, match=r"there is no folder .*missing for temporary files"):
        check_scratch(tmp_path / "missing", 0)


def test_memory_is_released_and_values_remain(tmp_path: Path, rng: np.random.Generator) -> None:
    values = rng.normal(size=(1 << 18, 8))
    copied = moved(values, tmp_path)
    np.testing.assert_array_equal(copied, values)
    tensor = torch.from_numpy(copied)
    before = mapped_memory()
    release_all([tensor])
    if sys.platform == "linux":
        assert mapped_memory() < before - 15e6  # of 16.8 MB
    np.testing.assert_array_equal(tensor.numpy(), values)
    in_memory = torch.zeros(5)
    release_all([in_memory])  # nothing to release
    assert in_memory.tolist() == [0.0] * 5 and list(tmp_path.iterdir()) == []


def mapped_memory() -> int:
    """Return the bytes of mapped files that this process has in memory."""
    lines = Path("/proc/self/status").read_text().splitlines() if sys.platform == "linux" else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssFile:"))
