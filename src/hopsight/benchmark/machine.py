"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from hopsight.system.memory import total_memory


def machine() -> dict[str, Any]:
    """Describe the machine: processors, memory, how busy it is, and the accelerator that would be used."""
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or None,
        "memory_gb": round(total_memory() / 1e9, 1),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "device": _accelerator(),
    }


def _accelerator() -> str:
    """Name the accelerator that ``device="auto"`` would take, without importing torch for it."""
    torch = sys.modules.get("torch")
    return str(torch.cuda.get_device_name()) if torch is not None and torch.cuda.is_available() else "cpu"
