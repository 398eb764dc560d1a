"""Worker processes that are reused; one that dies or exceeds a limit costs only its own job."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from hopsight.checks import check_count, check_positive
from hopsight.detectors.registry import load_class
from hopsight.system.machine import first_to_go, resident_memory
from hopsight.system.threads import n_threads

READY = "ready"
_CHECK_EVERY = 0.05  # seconds between two checks of the time and memory of the workers
_START_LIMIT = 300.0  # seconds a worker may take to start


@dataclass(frozen=True)
class Outcome:
    """How one job ended: ``ok``, ``failed``, ``time limit``, ``memory limit`` or ``died``."""

    status: str
    value: Any = None
    reason: str = ""
    seconds: float = 0.0


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    job: Any = None  # None: idle
    since: float = 0.0
    peak: int = 0  # bytes, highest value seen while this job ran


@dataclass(frozen=True, kw_only=True)
class WorkerPool:
    """Run a function over jobs in worker processes.

    Memory is checked 20 times per second, so a fast allocation may exceed the limit briefly.
    """

    function: str  # "module:function", which takes a job and returns a plain value
    n_workers: int = 1
    time_limit: float = 3600.0  # seconds that one job may take
    memory_limit: int | None = None  # bytes that one worker may hold
    n_threads: int | None = None  # of each worker; by default they share the cores, or OMP_NUM_THREADS if it is less

    def __post_init__(self) -> None:
        check_count("workers", self.n_workers)
        check_positive("time_limit", self.time_limit)
        if self.memory_limit is not None:
            check_positive("memory_limit", self.memory_limit)

    def run(self, jobs: Iterable[Any], started: Callable[[Any], None] | None = None) -> Iterator[tuple[Any, Outcome]]:
        """Yield every job with its outcome when it ends; closing the iterator ends the workers."""
        waiting, workers = deque(jobs), list[_Worker]()
        try:
            while waiting or any(worker.job is not None for worker in workers):
                while len(workers) < min(
                    self.n_workers, len(waiting) + sum(worker.job is not None for worker in workers)
                ):
                    workers.append(self._start())
                self._hand_out(waiting, workers, started)
                wait([worker.pipe for worker in workers], timeout=_CHECK_EVERY)
                for worker in list(workers):
                    outcome = self._check(worker)
                    if outcome is None:
                        continue
                    job, worker.job = worker.job, None
                    if outcome.status in ("time limit", "memory limit", "died"):
                        workers.remove(worker)
                        _end(worker)
                    yield job, outcome
        finally:
            for worker in workers:
                _end(worker)

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        share = self.n_threads or min(n_threads(), max(1, (os.cpu_count() or 1) // self.n_workers))
        process = context.Process(target=serve, args=(there, self.function, share), daemon=True)
        process.start()
        there.close()
        return _Worker(process, here, since=time.monotonic())

    def _hand_out(self, waiting: deque[Any], workers: list[_Worker], started: Callable[[Any], None] | None) -> None:
        for worker in workers:
            if worker.ready and worker.job is None and waiting:
                worker.job, worker.since, worker.peak = waiting.popleft(), time.monotonic(), 0
                if started is not None:
                    started(worker.job)
                try:
                    worker.pipe.send(worker.job)
                except OSError:  # it has just died: the next check reports how
                    continue

    def _check(self, worker: _Worker) -> Outcome | None:
        """Return how the worker's job ended, or None while it is still running."""
        answer = _answer(worker)
        seconds = time.monotonic() - worker.since
        if not worker.ready:
            self._check_start(worker, answer, seconds)
            return None
        if worker.job is None:
            return None
        if answer is not None:
            status, value = answer
            if status == "ok":
                return Outcome("ok", value, seconds=seconds)
            return Outcome("memory limit" if status == "memory" else status, reason=str(value), seconds=seconds)
        if not worker.process.is_alive():
            return Outcome("died", reason=_cause(worker.process.exitcode, worker.peak), seconds=seconds)
        worker.peak = max(worker.peak, resident_memory(worker.process.pid or 0))
        if self.memory_limit is not None and worker.peak > self.memory_limit:
            limit = f"{worker.peak / 2**30:.2f} GiB in use, the limit is {self.memory_limit / 2**30:.2f} GiB"
            return Outcome("memory limit", reason=limit, seconds=seconds)
        if seconds > self.time_limit:
            return Outcome("time limit", reason=f"not finished after {self.time_limit:g} s", seconds=seconds)
        return None

    def _check_start(self, worker: _Worker, answer: Any, seconds: float) -> None:
        if answer is not None and answer[0] == READY:
            worker.ready = True
        elif not worker.process.is_alive() or seconds > _START_LIMIT:
            raise RuntimeError(
                "a benchmark worker did not start; a script must call hopsight.benchmark.run "
                'under `if __name__ == "__main__":`'
            )


def _answer(worker: _Worker) -> Any:
    try:
        return worker.pipe.recv() if worker.pipe.poll() else None
    except (EOFError, OSError):  # the worker died; its exit code says how
        worker.process.join(timeout=5)
        return None


def _cause(exitcode: int | None, peak: int) -> str:
    held = f", {peak / 2**30:.2f} GiB in use at the last check" if peak else ""
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker was ended by {name}{hint}{held}"
    return f"the worker ended with exit code {exitcode}{held}"


def _end(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.kill()
    worker.process.join()


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
