"""The machine that runs hopsight: its memory and the limit of a run, its processors, versions of its packages."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGES = (
    "hopsight", "torch", "numpy", "scipy", "scikit-learn", "numba", "polars", "pygod", "pyod", "torch_geometric",
)  # fmt: skip


def available_memory() -> int:
    """Return the bytes that a new computation may use: what the machine has free, or less where a container says so."""
    import psutil

    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / f"memory.{word}").read_text(encoding="ascii") for word in ("max", "current"))
        return min(free, int(limit) - int(used))
    return free


def total_memory() -> int:
    """Return the memory of the machine in bytes."""
    import psutil

    return int(psutil.virtual_memory().total)


def check_memory(name: str, n_bytes: float) -> None:
    """Refuse, before any work, what needs more memory than the machine has free."""
    free = available_memory()
    if n_bytes > free:
        raise ValueError(
            f"{name} would need about {n_bytes / 1e9:.1f} GB of memory on this graph, "
            f"and only {free / 1e9:.1f} GB are available"
        )


def resident_memory(pid: int | None = None) -> int:
    """Return the bytes that a process (this one by default) holds in memory, or 0 if it has ended."""
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def own_memory() -> int:
    """Return the bytes that this process alone holds: without mapped files, which the system can drop at any time."""
    import psutil

    info = psutil.Process().memory_info()
    return int(info.rss - getattr(info, "shared", 0))


def peak_memory() -> int:
    """Return the most bytes that this process has held since it started or since :func:`reset_peak`."""
    with suppress(OSError):  # psutil does not report a peak that can be reset; Linux does
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import psutil

    info = psutil.Process().memory_info()
    return int(getattr(info, "peak_wset", info.rss))


def reset_peak() -> None:
    """Start measuring the peak anew, where the system can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def release_memory() -> None:
    """Return freed memory to the system where possible, so that the next measurement sees what is added."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


class _Limit(NamedTuple):
    n_bytes: float
    refusal: str


_limits: list[_Limit] = []  # of the run in progress, which may have none


@contextmanager
def memory_limit(n_bytes: int, refusal: str) -> Iterator[None]:
    """Have :func:`check_limit` refuse, in these words, what would make this process hold more bytes of its own."""
    _limits.append(_Limit(n_bytes, refusal))
    try:
        yield
    finally:
        _limits.pop()


def check_limit(n_bytes: float = 0) -> None:
    """Refuse to allocate what would exceed the limit of the run; every place that allocates much asks beforehand."""
    for limit in _limits:
        if own_memory() + n_bytes > limit.n_bytes:
            raise MemoryError(limit.refusal)


def first_to_go() -> None:
    """Ask Linux to end this process, rather than its parent, when the machine runs out of memory."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def machine() -> dict[str, Any]:
    """Describe the machine without naming it: processors, memory, how busy it is, and the accelerator in use."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": int(threads) if threads.isdigit() else None,
        "memory_gb": round(total_memory() / 1e9, 1),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "device": _accelerator(),
    }


def _accelerator() -> str:
    """Name the accelerator that ``device="auto"`` would use, without importing torch for it."""
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name()) if torch is not None and torch.cuda.is_available() else "cpu"


def versions() -> dict[str, str]:
    """Return the version of Python and of every installed package that can change a result."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
