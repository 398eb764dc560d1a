"""A worker process: takes one job after the other from its parent and answers with the result."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from hopsight.detectors.registry import load_class
from hopsight.system.machine import first_to_go

READY = "ready"


def serve(pipe: Connection, function: str, n_threads: int) -> None:
    """Answer jobs until the parent closes the pipe; exit at once when the parent has ended.

    ``function``, as ``"module:function"``, is called with each job that comes in through the pipe; ``("ok", result)``,
    ``("failed", reason)`` or ``("memory", reason)`` goes out.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends its workers
    first_to_go()
    _exit_with_parent()
    _limit_threads(n_threads)
    work = load_class(function)
    pipe.send((READY, None))
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(attempt(work, job))
        except BrokenPipeError:
            return


def attempt(work: Any, job: Any) -> tuple[str, Any]:
    """Return the result of a job with the status ``"ok"``, or another status and the reason."""
    try:
        return "ok", work(job)
    except MemoryError:
        return "memory", "the system refused to allocate more memory"
    except Exception as error:  # a failed fit is a row of the table, whatever went wrong
        return "failed", _reason(error)


def _reason(error: Exception) -> str:
    """Return the error on one line, with the file and line where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {message[:300]}{place}"


def _exit_with_parent() -> None:
    """End this process when its parent ends, even in the middle of a fit."""
    parent = parent_process()
    if parent is None:  # called directly, in a test
        return

    def wait_for_parent() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait_for_parent, daemon=True).start()


def _limit_threads(n_threads: int) -> None:
    """Limit the threads of numerical libraries, those already loaded and those still to come."""
    from threadpoolctl import threadpool_limits

    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = str(n_threads)
    threadpool_limits(n_threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n_threads)
