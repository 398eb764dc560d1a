"""Measure the stages of a run: seconds, and from Spark's own counters tasks, their balance, and what was shuffled."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_TASKS = 100_000  # of one step that are asked for


class StageMeasures:
    """Seconds, tasks, and rows and bytes shuffled in each stage of a run.

    Parameters
    ----------
    spark
        The session.
    begin, end, say
        Called with the name of a stage when it begins, with its name and seconds when it ends, and with a sentence
        about what comes next.

    Attributes
    ----------
    stages
        For each stage ``seconds``, ``tasks``, ``shuffle_rows`` and ``shuffle_bytes`` (written), and two shares: in the
        longest step with more than one task, the longest task's share of the time (``largest_task``); in the step that
        read most from shuffles, the share of the task that read most (``largest_read``).
    """

    def __init__(
        self,
        spark: SparkSession,
        begin: Callable[[str], None] = lambda name: None,
        end: Callable[[str, float], None] = lambda name, seconds: None,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.stages: dict[str, dict[str, float]] = {}
        self._context = spark.sparkContext
        self._begin, self._end, self.say = begin, end, say
        self._seen: set[tuple[int, int]] = {(step.stageId(), step.attemptId()) for step in self._steps()}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure one stage; what a stage takes that runs again, in another fit, is added."""
        self._begin(name)
        self._context.setJobDescription(f"hopsight: {name}")
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self._context.setJobDescription(None)
        found, before = {"seconds": seconds, **self._new_steps()}, self.stages.get(name, {})
        self.stages[name] = {
            what: max(value, before.get(what, 0.0)) if what.startswith("largest") else value + before.get(what, 0.0)
            for what, value in found.items()
        }
        self._end(name, seconds)

    def _new_steps(self) -> dict[str, float]:
        steps = [step for step in self._steps() if (step.stageId(), step.attemptId()) not in self._seen]
        self._seen |= {(step.stageId(), step.attemptId()) for step in steps}
        counted = {
            "tasks": sum(step.numCompleteTasks() for step in steps),
            "shuffle_rows": sum(step.shuffleWriteRecords() for step in steps),
            "shuffle_bytes": sum(step.shuffleWriteBytes() for step in steps),
        }
        several = [step for step in steps if step.numCompleteTasks() > 1]
        longest = max(several, key=lambda step: step.executorRunTime(), default=None)
        widest = max(several, key=lambda step: step.shuffleReadBytes(), default=None)
        return counted | {
            "largest_task": self._largest(longest, lambda task: task.executorRunTime()),
            "largest_read": self._largest(widest, _bytes_read),
        }

    def _steps(self) -> list[Any]:
        """Return all of what Spark calls stages that it remembers."""
        core = self._context._jsc.sc()
        core.listenerBus().waitUntilEmpty()
        gateway = self._context._gateway
        nothing = gateway.new_array(gateway.jvm.double, 0)
        found = core.statusStore().stageList(None, False, False, nothing, gateway.jvm.java.util.ArrayList())
        return [found.apply(number) for number in range(found.size())]

    def _largest(self, step: Any, amount: Callable[[Any], int]) -> float:
        """Return the largest task's share of an amount, or 1 if there is none."""
        if step is None:
            return 1.0
        tasks = self._context._jsc.sc().statusStore().taskList(step.stageId(), step.attemptId(), MAX_TASKS)
        metrics = [tasks.apply(number).taskMetrics() for number in range(tasks.size())]
        amounts = [amount(metric.get()) for metric in metrics if metric.isDefined()]
        return max(amounts) / sum(amounts) if amounts and sum(amounts) else 1.0


def _bytes_read(task: Any) -> int:
    read = task.shuffleReadMetrics()
    return int(read.localBytesRead() + read.remoteBytesRead())
