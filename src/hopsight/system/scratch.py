"""Arrays that do not fit into memory: temporary files without a name, mapped into memory."""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from math import prod
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import option

ROWS_AT_ONCE = 1 << 20
RELEASED = 256  # blocks after which the memory of what is on disk can be used for others
_mapped: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by address: a tensor does not say what it is made of


def zeros(shape: tuple[int, ...], dtype: Any, scratch: Path | None = None) -> NDArray[Any]:
    """Return zeros that occupy memory, or disk space in the folder ``scratch``, once they are written to.

    The file has no name (on Windows, it is removed when closed), so that nothing is left behind, however the process
    ends. The system keeps as much of it in memory as is free, and takes it back when memory is scarce.
    """
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    if scratch is None or n_bytes == 0:
        return np.zeros(shape, dtype=dtype)
    with tempfile.TemporaryFile(dir=scratch) as file:
        file.truncate(n_bytes)
        mapped = np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    _mapped[mapped.ctypes.data] = mapped
    return np.asarray(mapped)


def moved(array: NDArray[Any], scratch: Path) -> NDArray[Any]:
    """Return a copy of an array in a temporary file."""
    copied = zeros(array.shape, array.dtype, scratch)
    for start in range(0, len(array), ROWS_AT_ONCE):
        copied[start : start + ROWS_AT_ONCE] = array[start : start + ROWS_AT_ONCE]
        release(copied)
    return copied


def release(array: NDArray[Any]) -> None:
    """Let the memory that holds an array of :func:`zeros` on disk be used for something else; its values remain."""
    mapped: Any = _mapped.get(array.ctypes.data)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped._mmap.madvise(mmap.MADV_DONTNEED)


def drain(blocks: Iterable[Any], tensors: Sequence[Any]) -> None:
    """Wait for blocks of work; release tensors that are on disk from time to time, and at the end."""
    for number, _ in enumerate(blocks, start=1):
        if number % RELEASED == 0:
            release_all(tensors)
    release_all(tensors)


def release_all(tensors: Iterable[Any]) -> None:
    """Release each of some tensors that is on disk."""
    for tensor in tensors:
        if tensor.device.type == "cpu":
            release(tensor.numpy())


def check_scratch(folder: Path, n_bytes: int) -> None:
    """Refuse a folder that cannot hold temporary files of a size."""
    if not folder.is_dir():
        raise ValueError(
            f"there is no folder {folder} for temporary files: create it, or name another with {option('scratch')}"
        )
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise ValueError(
            f"temporary files of {n_bytes / 1e9:.1f} GB do not fit into {folder}, where {free / 1e9:.1f} GB are free: "
            f"name a folder on another disk with {option('scratch')}"
        )
