"""A worker process: takes one cell after the other from its parent and answers with what came out."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Any

from hopsight.system.memory import first_to_go

READY = "ready"


def serve(pipe: Connection, function: str, n_threads: int) -> None:
    """Answer cells until the parent closes the pipe; end at once when the parent is gone.

    Parameters
    ----------
    pipe
        Cells come in, ``(status, value)`` goes out: ``("ok", result)`` or ``("failed", reason)``.
    function
        What to do with a cell, as ``"module:function"``.
    n_threads
        How many threads numerical libraries may use here.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: it ends its workers
    first_to_go()
    _leave_with_parent()
    _limit_threads(n_threads)
    work = load_object(function)
    pipe.send((READY, None))
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(_attempt(work, cell))
        except BrokenPipeError:
            return


def load_object(name: str) -> Any:
    """Return what ``"module:attribute"`` names."""
    from importlib import import_module

    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _attempt(work: Any, cell: Any) -> tuple[str, Any]:
    try:
        return "ok", work(cell)
    except MemoryError:
        return "memory", "the system refused more memory"
    except Exception as error:  # a failed fit is a row, whatever went wrong
        return "failed", _reason(error)


def _reason(error: Exception) -> str:
    """Return the error in one line, with the place it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""  # noqa: PTH119
    message = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {message[:300]}{place}"


def _leave_with_parent() -> None:
    """End this process when its parent ends, even in the middle of a fit."""
    parent = parent_process()
    if parent is None:  # called directly, in a test
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _limit_threads(n_threads: int) -> None:
    """Share the cores among the workers: libraries loaded already, and those still to come (this process only)."""
    from threadpoolctl import threadpool_limits

    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(n_threads)
    threadpool_limits(n_threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n_threads)
