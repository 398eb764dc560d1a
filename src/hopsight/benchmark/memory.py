"""Resident memory of a process: now, and its peak since a mark."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident(pid: int) -> int:
    """Return the bytes a process holds in memory now; 0 if it is gone or the system does not say."""
    statm = Path(f"/proc/{pid}/statm")
    try:
        if statm.exists():
            return int(statm.read_text().split()[1]) * _PAGE
        if sys.platform == "darwin":
            answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
            return int(answer.stdout.strip() or 0) * 1024
    except (OSError, IndexError, ValueError):  # it ended between two looks
        return 0
    return 0


def release() -> None:
    """Give freed memory back to the system where possible, so that what the next fit adds can be seen."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def mark_peak() -> None:
    """Start counting this process's peak anew, where the system can (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Return the most bytes this process held since :func:`mark_peak`; since its start where that cannot be reset."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def total() -> int:
    """Return the memory of the machine in bytes."""
    return _PAGE * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * 2**30


def first_to_go() -> None:
    """Ask Linux to end this process, rather than its parent, when the machine runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
