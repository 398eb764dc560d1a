"""Workers that share one GPU, each cell with its own time limit, until the run's time is up."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hopsight.benchmark.workers import Outcome, WorkerPool, _Worker


class OutOfTimeError(Exception):
    """The run has no time left; cells that are still running are lost."""


@dataclass(frozen=True, kw_only=True)
class SharedPool(WorkerPool):
    """Hand out the first waiting cell that may run now.

    Parameters
    ----------
    gpu_slots
        Number of cells that may use the GPU at the same time.
    deadline
        When to stop, by ``time.monotonic()``.
    gave_up
        Groups of cells that are left out, because one of them exceeded a limit or two failed.
    prepared
        Graphs and injections whose views are there; cells of others wait.
    """

    gpu_slots: int = 8
    deadline: float = float("inf")
    gave_up: set[str] = field(default_factory=set)
    prepared: set[tuple[str, int]] = field(default_factory=set)

    def _hand_out(self, waiting: deque[Any], workers: list[_Worker], started: Callable[[Any], None] | None) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError
        for worker in workers:
            if worker.ready and worker.job is None and waiting:
                job = self._next(waiting, workers)
                if job is None:
                    return
                super()._hand_out(deque([job]), [worker], started)

    def _next(self, waiting: deque[Any], workers: list[_Worker]) -> Any:
        """Take the first job that may run out of the queue."""
        on_gpu = sum(worker.job is not None and worker.job["device"] == "cuda" for worker in workers)
        for place, job in enumerate(waiting):
            if job.get("group") in self.gave_up:
                del waiting[place]
                return self._next(waiting, workers)
            if self._may_run(job, on_gpu):
                del waiting[place]
                return job
        return None

    def _may_run(self, job: dict[str, Any], on_gpu: int) -> bool:
        if "prepare" in job:
            return True
        there = "generate" in job or (job["graph"], job["injection"]) in self.prepared
        return there and (job["device"] != "cuda" or on_gpu < self.gpu_slots)

    def _check(self, worker: _Worker) -> Outcome | None:
        limit = self.time_limit if worker.job is None else worker.job["limit"]
        return WorkerPool._check(replace(self, time_limit=limit) if limit != self.time_limit else self, worker)
