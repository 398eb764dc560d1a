"""How many threads a computation may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

NARROW = 64  # columns
SHORT = 8192  # rows


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


@contextmanager
def torch_threads(n_rows: int) -> Iterator[Callable[[], None]]:
    """Hold torch to the threads this process may use, and to one while matrices are short; restore it after.

    Numba's threads share a library with torch's and raise torch's number: call what this yields after such work.
    """
    import torch

    def hold() -> None:
        torch.set_num_threads(1 if n_rows < SHORT else n_threads())

    before = torch.get_num_threads()
    hold()
    try:
        yield hold
    finally:
        torch.set_num_threads(before)
