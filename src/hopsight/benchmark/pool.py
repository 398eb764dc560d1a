"""Worker processes that are reused; one that dies, takes too long or too much memory costs its own cell only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from hopsight.benchmark.worker import READY, serve
from hopsight.checks import check_count, check_positive
from hopsight.system.memory import resident_memory
from hopsight.system.threads import n_threads

_LOOK_EVERY = 0.05  # seconds between two looks at the clock and the memory of the workers
_START_LIMIT = 300.0  # seconds a worker may take to start


@dataclass(frozen=True)
class Outcome:
    """What became of one cell: ``ok``, ``failed``, ``time limit``, ``memory limit`` or ``died``."""

    status: str
    value: Any = None
    reason: str = ""
    seconds: float = 0.0


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    cell: Any = None  # None: idle
    since: float = 0.0
    most: int = 0  # bytes, highest seen while this cell ran


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Run a function over cells in worker processes.

    Parameters
    ----------
    function
        ``"module:function"``; it takes a cell and returns a plain value.
    n_workers
        Number of processes.
    time_limit
        Seconds one cell may take.
    memory_limit
        Bytes one worker may hold; looked at 20 times a second, so a fast allocation may pass it briefly.
    n_threads
        Threads for the numerical libraries in each worker; by default the cores are shared out, and
        ``OMP_NUM_THREADS`` lowers it.
    """

    function: str
    n_workers: int = 1
    time_limit: float = 3600.0
    memory_limit: int | None = None
    n_threads: int | None = None

    def __post_init__(self) -> None:
        check_count("workers", self.n_workers)
        check_positive("time_limit", self.time_limit)
        if self.memory_limit is not None:
            check_positive("memory_limit", self.memory_limit)

    def run(self, cells: Iterable[Any], started: Callable[[Any], None] | None = None) -> Iterator[tuple[Any, Outcome]]:
        """Yield every cell with its outcome as it ends; closing the iterator ends the workers."""
        waiting, workers = deque(cells), list[_Worker]()
        try:
            while waiting or any(worker.cell is not None for worker in workers):
                _drop_dead(workers)
                while len(workers) < min(self.n_workers, len(waiting) + _busy(workers)):
                    workers.append(self._start())
                self._hand_out(waiting, workers, started)
                _wait(workers)
                for worker in list(workers):
                    outcome = self._look_at(worker)
                    if outcome is None:
                        continue
                    cell, worker.cell = worker.cell, None
                    if outcome.status in ("time limit", "memory limit", "died"):
                        workers.remove(worker)
                        _end(worker)
                    yield cell, outcome
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
            if worker.ready and worker.cell is None and waiting:
                worker.cell, worker.since, worker.most = waiting.popleft(), time.monotonic(), 0
                if started is not None:
                    started(worker.cell)
                try:
                    worker.pipe.send(worker.cell)
                except OSError:  # it died this very moment: the next look says how
                    continue

    def _look_at(self, worker: _Worker) -> Outcome | None:
        """Return what became of the worker's cell, or None while it is still at it."""
        answer = _answer(worker)
        seconds = time.monotonic() - worker.since
        if not worker.ready:
            self._check_start(worker, answer, seconds)
            return None
        if worker.cell is None:
            return None
        if answer is not None:
            status, value = answer
            if status == "ok":
                return Outcome("ok", value, seconds=seconds)
            return Outcome("memory limit" if status == "memory" else status, reason=str(value), seconds=seconds)
        if not worker.process.is_alive():
            return Outcome("died", reason=_cause(worker.process.exitcode, worker.most), seconds=seconds)
        worker.most = max(worker.most, resident_memory(worker.process.pid or 0))
        if self.memory_limit is not None and worker.most > self.memory_limit:
            limit = f"{worker.most / 2**30:.2f} GiB in use, limit {self.memory_limit / 2**30:.2f} GiB"
            return Outcome("memory limit", reason=limit, seconds=seconds)
        if seconds > self.time_limit:
            return Outcome("time limit", reason=f"not done after {self.time_limit:g} s", seconds=seconds)
        return None

    def _check_start(self, worker: _Worker, answer: Any, seconds: float) -> None:
        if answer is not None and answer[0] == READY:
            worker.ready = True
        elif not worker.process.is_alive() or seconds > _START_LIMIT:
            raise RuntimeError(
                "a benchmark worker did not start; a script that calls hopsight.benchmark.run must do so "
                'under `if __name__ == "__main__":`'
            )


def _drop_dead(workers: list[_Worker]) -> None:
    """Forget workers that died between two cells: no cell pays for it."""
    for worker in [worker for worker in workers if worker.ready and worker.cell is None]:
        if not worker.process.is_alive():
            workers.remove(worker)
            _end(worker)


def _busy(workers: list[_Worker]) -> int:
    return sum(worker.cell is not None for worker in workers)


def _wait(workers: list[_Worker]) -> None:
    wait([worker.pipe for worker in workers], timeout=_LOOK_EVERY)


def _answer(worker: _Worker) -> Any:
    try:
        return worker.pipe.recv() if worker.pipe.poll() else None
    except (EOFError, OSError):  # the worker died; its exit code says how
        worker.process.join(timeout=5)
        return None


def _cause(exitcode: int | None, most: int) -> str:
    held = f", {most / 2**30:.2f} GiB in use when last seen" if most else ""
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker was ended by {name}{hint}{held}"
    return f"the worker ended with exit code {exitcode}{held}"


def _end(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.kill()
    worker.process.join()
