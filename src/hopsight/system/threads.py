"""How many threads a computation may use, and how it goes on in a forked process.

The threads of a process do not exist in its forked child, and libraries that wait for them never return. In a child
that was forked from a process with hopsight, a detector computes in a thread of its own, for which OpenMP starts anew,
and uses one thread beside that; results do not depend on their number. Only polars cannot start anew: a child of a
process that has used it gets a sentence instead.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hopsight.system.machine import check_limit

P = ParamSpec("P")
R = TypeVar("R")

POLARS_THREADS = ("polars-0", "polars-1", "async-executor")  # as Linux names the threads of its pools
NARROW = 64  # columns up to which BLAS gains nothing from a second thread
VALUES_AT_ONCE = 1 << 16  # numbers that one thread works on at a time


@dataclass
class _Process:
    """What is known of this process; a fork changes it."""

    forked: bool = False
    lost_polars: bool = False
    polars_at_fork: bool = False


_process = _Process()


def forked() -> bool:
    """Return whether this process was forked from one that had imported hopsight."""
    return _process.forked


def safe_in_forks(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function compute in a new thread if this process was forked.

    OpenMP keeps a pool of threads for each thread that has used it. The thread that forked has one whose threads are
    gone, and would wait for them; a new thread gets a new pool. Some libraries ask for several threads whatever limit
    is set (Arm Compute Library in torch), so that a limit of one is not enough.
    """

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        if not forked() or hasattr(_thread, "fresh"):
            return function(*arguments, **options)
        with ThreadPoolExecutor(1, initializer=setattr, initargs=(_thread, "fresh", True)) as pool:
            return pool.submit(function, *arguments, **options).result()

    return call


def check_polars() -> None:
    """Refuse to use polars in a forked process whose parent has used it: it would wait forever."""
    if _process.lost_polars:
        raise ValueError(
            "tables cannot be read or written in a process that was forked after its parent did so: start processes "
            'with multiprocessing.get_context("spawn"), or load the graph before you fork'
        )


def _polars_has_threads() -> bool:
    if "polars" not in sys.modules:
        return False
    try:
        tasks = list(Path("/proc/self/task").iterdir())
        return any((task / "comm").read_text(encoding="utf-8").startswith(POLARS_THREADS) for task in tasks)
    except (OSError, ValueError):  # not Linux, or a thread that has just ended
        return True


def _before_fork() -> None:
    _process.polars_at_fork = _process.lost_polars or _polars_has_threads()


def _in_child() -> None:
    _process.forked, _process.lost_polars = True, _process.polars_at_fork
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):  # else it is being imported
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


Run = Callable[..., Iterator[Any]]  # map, or a function like it that works on several items at once

_thread = threading.local()  # has "kept" in a thread of the pool that is kept, "fresh" in one started after a fork


def n_threads() -> int:
    """Return the number of CPU cores that this process may use; ``OMP_NUM_THREADS`` lowers it, a fork leaves one.

    >>> n_threads() >= 1
    True
    """
    if forked():
        return 1
    limit = os.environ.get("OMP_NUM_THREADS", "")
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, int(limit))) if limit.isdigit() else allowed


def few_threads(n_columns: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread while matrices are narrow.

    Waking a second thread and waiting for it would cost more than it saves.
    """
    return blas_on_one_thread() if n_columns <= NARROW else nullcontext()


def blas_on_one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for the time of a ``with`` block."""
    limited: AbstractContextManager[Any] = _libraries("torch" in sys.modules).limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries(with_torch: bool) -> Any:
    """Return the loaded libraries that have threads; finding them takes milliseconds, and torch brings its own."""
    import scipy.linalg  # noqa: F401 (it has its own BLAS, which must not be loaded after the search)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_torch_thread() -> Iterator[Callable[[], None]]:
    """Limit torch to one thread, so that sums come out the same to the last digit on any machine.

    Numba shares a threading library with torch and raises torch's limit: after numba code, call the function that this
    yields to set the limit again.
    """
    import torch

    before = torch.get_num_threads()
    limit = partial(torch.set_num_threads, 1)
    limit()
    try:
        yield limit
    finally:
        torch.set_num_threads(before)


@contextmanager
def workers(n_tasks: int) -> Iterator[Run]:
    """Yield a ``map`` that works on several tasks at once, each with one torch thread.

    Threads inside a matrix product split its sums, so that their number changes the last digits, which training can
    amplify into a different ranking. Here every task runs on one thread and results come in the order of the tasks,
    so that they are the same for any number of threads. Only a few results wait until the caller takes them.
    """
    import torch

    count = min(n_threads(), n_tasks)
    if count < 2:
        yield map
        return
    with ThreadPoolExecutor(count, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield partial(_ahead, pool, 2 * count)


def in_order(function: Callable[..., Any], *arguments: Iterable[Any]) -> Iterator[Any]:
    """Map a function over items like ``map``, in threads; at most a few results wait until the caller takes them.

    The function must release the interpreter's lock to gain from it, as NumPy does. Around products of matrices, limit
    BLAS to one thread, so that the result is the same for any number of threads.
    """
    count = n_threads()

    def within_limit(*chosen: Any) -> Any:
        check_limit()
        return function(*chosen)

    if count < 2:
        yield from map(within_limit, *arguments)
    elif hasattr(_thread, "kept"):  # it must not wait for threads that wait for it
        with ThreadPoolExecutor(count) as pool:
            yield from _ahead(pool, 2 * count, within_limit, *arguments)
    else:
        yield from _ahead(_kept_pool(count), 2 * count, within_limit, *arguments)


def for_each(function: Callable[..., Any], *arguments: Iterable[Any]) -> None:
    """Call a function for its effect on every item, in threads, as :func:`in_order` does."""
    deque(in_order(function, *arguments), maxlen=0)


@cache
def _kept_pool(count: int) -> ThreadPoolExecutor:
    """Return threads that stay: a fit of a small graph has some forty short stages, and starting threads takes time."""
    return ThreadPoolExecutor(count, "hopsight", initializer=setattr, initargs=(_thread, "kept", True))


def by_blocks(function: Callable[[Any], Any], values: Any) -> Any:
    """Apply a function that treats every number by itself to a long array, in threads.

    >>> import numpy as np
    >>> by_blocks(np.sqrt, np.array([1.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    return by_parts(lambda part: function(values[part]), values.size)


def by_parts(function: Callable[[slice], Any], size: int) -> Any:
    """Make a long array of parts that have nothing to do with each other, in threads.

    >>> import numpy as np
    >>> by_parts(lambda part: np.arange(part.start, part.stop) ** 2, 3).tolist()
    [0, 1, 4]
    """
    import numpy as np

    step = max(1, VALUES_AT_ONCE // 4)  # of few numbers every thread has some
    first = function(slice(0, min(step, size)))
    if size <= step:
        return first
    found = np.empty(size, dtype=first.dtype)
    found[:step] = first

    def fill(start: int) -> None:
        part = slice(start, min(start + step, size))
        found[part] = function(part)

    for_each(fill, range(step, size, step))
    return found


def _ahead(
    pool: ThreadPoolExecutor, most: int, function: Callable[..., Any], *arguments: Iterable[Any]
) -> Iterator[Any]:
    """Map over items with a pool, at most a few results ahead of the caller; nothing runs on when it ends."""
    waiting: deque[Future[Any]] = deque()
    try:
        for chosen in zip(*arguments, strict=False):
            waiting.append(pool.submit(function, *chosen))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        wait([each for each in waiting if not each.cancel()])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept_pool.cache_clear)  # a child does not have these threads
