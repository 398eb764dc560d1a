"""How many threads a computation may use."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

NARROW = 64  # columns


def n_threads() -> int:
    """Return the number of processors this process may run on; ``OMP_NUM_THREADS`` lowers it.

    >>> n_threads() >= 1
    True
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, int(limit))) if limit.isdigit() else allowed


def few_threads(n_columns: int) -> AbstractContextManager[Any]:
    """Keep BLAS to one thread while matrices are narrow: waking a second one costs more than it saves.

    With other programs on the machine the waiting is what takes the time, up to seventy times the work itself.
    """
    return threadpool_limits(1, user_api="blas") if n_columns <= NARROW else nullcontext()
