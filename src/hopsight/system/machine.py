"""The machine that a result was measured on."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from hopsight.system.memory import total_memory


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
