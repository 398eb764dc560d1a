"""Forked processes: the threads of the parent do not exist in its child, and libraries that wait for them never return.

In a child that was forked from a process with hopsight, a detector computes in a thread of its own, for which OpenMP
starts anew, and uses one thread beside that; results do not depend on their number. Only polars cannot start anew: a
child of a process that has used it gets a sentence instead.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

POLARS_THREADS = ("polars-0", "polars-1", "async-executor")  # as Linux names the threads of its pools


@dataclass
class _Process:
    """What is known of this process; a fork changes it."""

    forked: bool = False
    lost_polars: bool = False
    polars_at_fork: bool = False


_process = _Process()
_thread = threading.local()  # has "fresh" in a thread that was started after the fork


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
