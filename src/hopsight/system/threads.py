"""How many threads a computation may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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


@contextmanager
def workers(n_tasks: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Yield a ``map`` that calls a function of several tasks at once, each with one torch thread.

    Threads inside a matrix product split its sums, so that their number changes the last digits, and training turns
    that into another ranking. Results of these come in the order of the tasks, the same for any number of threads;
    and on a busy machine nobody waits for the slowest thread of every product. Few results wait to be taken.
    """
    import torch

    count = min(n_threads(), n_tasks)
    if count < 2:
        yield map
        return
    with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def run(function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
            ahead: deque[Future[Any]] = deque()
            for chosen in zip(*arguments, strict=False):
                ahead.append(pool.submit(function, *chosen))
                if len(ahead) > 2 * count:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

        yield run
