"""Run a suite into a folder: continue where an earlier run stopped, then write results and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hopsight.benchmark.cells import Cell, Plan, unique_cells
from hopsight.benchmark.results import (
    Journal,
    Record,
    ResultTable,
    Row,
    comparison_tables,
    only_run,
    task_rows,
    write_results,
    write_tables,
)
from hopsight.benchmark.suites import Suite
from hopsight.benchmark.workers import Outcome, WorkerPool
from hopsight.checks import plural
from hopsight.system.lazy_polars import pl
from hopsight.system.machine import total_memory
from hopsight.system.threads import check_polars

EXECUTE = "hopsight.benchmark.execute:execute"
NO_COPY = "no copy"  # status of a cell whose graph was not found


@dataclass(frozen=True)
class CellEvent:
    """What a callback receives when a cell starts (``record`` is None) or ends."""

    cell: Cell
    done: int
    total: int
    record: Record | None


@dataclass(frozen=True)
class BenchmarkResult:
    """What a run has written; ``rows`` has one row for each task and ranking."""

    suite: str
    folder: Path
    tables: list[ResultTable]
    rows: list[Row]
    n_cells: int
    n_reused: int
    n_failed: int  # without those whose graph was not found

    @property
    def summary(self) -> str:
        """Say in one sentence how the cells ended."""
        missing = sorted({row["graph"] for row in self.rows if row["status"] == NO_COPY})
        absent = f"; no copy found of {', '.join(missing)}" if missing else ""
        fits = f"{plural(self.n_cells, 'fit')}, {self.n_reused:,} of them from earlier runs"
        return f"{fits}, {self.n_failed:,} failed{absent}."


def run(
    suite: Suite,
    out: str | Path,
    *,
    workers: int = 1,
    time_limit: float = 3600.0,
    memory_limit: int | None = None,
    retry: bool = False,
    on_cell: Callable[[CellEvent], None] | None = None,
) -> BenchmarkResult:
    """Run the cells of a suite that the folder does not have yet, and write the results.

    The folder gets ``cells.jsonl`` (the journal), ``results.csv``, ``tables.md`` and ``report.html``. A detector that
    fails or exceeds a limit, and a graph of which there is no copy, becomes a row with the reason.

    Parameters
    ----------
    suite
        What to run, see :func:`hopsight.benchmark.make_suite`.
    out
        The folder; cells that an earlier run finished there are not run again.
    workers
        Number of worker processes. They import detectors given as ``"module:Class"`` with the ``sys.path`` of this
        process.
    time_limit
        Seconds for one cell.
    memory_limit
        Bytes for one worker; by default the workers share 80% of the machine's memory.
    retry
        Whether to retry cells that failed. Those that exceeded a limit are retried whenever the limit is higher now.
    on_cell
        Called when a cell starts and when it ends.
    """
    check_polars()
    folder = Path(out)
    if memory_limit is None:
        memory_limit = int(0.8 * total_memory() / max(1, workers))
    pool = WorkerPool(function=EXECUTE, n_workers=workers, time_limit=time_limit, memory_limit=memory_limit)
    with only_run(folder):
        journal = Journal(folder)
        _refuse_foreign(journal)
        runner = _Runner(journal, pool, suite, retry, on_cell)
        runner.finish(suite.plan)
        return _write(folder, suite, runner)


def _refuse_foreign(journal: Journal) -> None:
    """Refuse to replace somebody else's files: a benchmark of ours has a journal beside its results."""
    if journal.read():
        return
    for name in ("results.csv", "tables.md", "report.html"):
        if (journal.path.parent / name).exists():
            raise ValueError(
                f"{journal.path.parent} already has a {name} that no benchmark wrote: choose another folder"
            )


def _write(folder: Path, suite: Suite, runner: _Runner) -> BenchmarkResult:
    records = runner.records
    write_results(folder / "results.csv", suite.plan, records)
    rows = task_rows(suite.plan, records)
    cells = unique_cells(suite.plan)
    n_failed = sum(records[cell.key]["status"] not in ("ok", NO_COPY) for cell in cells)
    n_reused = len(cells) - len(runner.attempted)
    result = BenchmarkResult(suite.name, folder, comparison_tables(rows), rows, len(cells), n_reused, n_failed)
    write_report(result, result.tables)
    return result


def write_report(
    result: BenchmarkResult, tables: Sequence[ResultTable], figures: Sequence[tuple[str, str, Path]] = ()
) -> None:
    """Write ``tables.md`` and ``report.html``; figures are name, caption and PNG file, with an SVG file beside it."""
    from hopsight.report.pages import write_bench_page

    write_tables(result.folder / "tables.md", tables, figures)
    write_bench_page(
        result.folder / "report.html",
        pl.read_csv(result.folder / "results.csv", infer_schema_length=None).to_dicts(),
        [asdict(table) for table in tables],
        [{"title": name, "svg": file.with_suffix(".svg"), "note": caption} for name, caption, file in figures],
        title=f"Benchmark: {result.suite}",
        summary=[result.summary],
    )


class _Runner:
    """Runs the cells that a plan needs and the journal lacks."""

    def __init__(
        self,
        journal: Journal,
        pool: WorkerPool,
        suite: Suite,
        retry: bool,
        on_cell: Callable[[CellEvent], None] | None,
    ) -> None:
        self.journal, self.pool, self.suite, self.retry, self.on_cell = journal, pool, suite, retry, on_cell
        self.limits = {"time": pool.time_limit, "memory": pool.memory_limit or 0}
        self.records = journal.read()
        self.attempted: set[str] = set()
        self.done = self.total = 0

    def finish(self, plan: Plan) -> None:
        """Run every cell that has no result, or one that a second attempt may improve."""
        cells = unique_cells(plan)
        waiting = [cell for cell in cells if self._is_due(cell)]
        self.done, self.total = len(cells) - len(waiting), len(cells)
        for cell in (cell for cell in waiting if "missing" in cell.settings):
            self._keep(cell, Outcome(NO_COPY, reason=str(cell.settings["missing"])))
        places = {"data_dir": self.suite.data_dir, "folder": self.suite.folder}
        jobs = [{"cell": cell.as_dict(), **places} for cell in waiting if "missing" not in cell.settings]
        for job, outcome in self.pool.run(jobs, started=lambda job: self._report(Cell(**job["cell"]), None)):
            self._keep(Cell(**job["cell"]), outcome)

    def _is_due(self, cell: Cell) -> bool:
        record = self.records.get(cell.key)
        if record is None:
            return True
        if record["status"] == "ok" or cell.key in self.attempted:
            return False
        before = record.get("limits") or {}
        for name in ("time", "memory"):
            if record["status"] == f"{name} limit" and self.limits[name] > (before.get(name) or 0):
                return True
        return self.retry

    def _keep(self, cell: Cell, outcome: Outcome) -> None:
        record: Record = {
            "key": cell.key,
            "status": outcome.status,
            "reason": outcome.reason,
            "cell": cell.as_dict(),
            "seconds": outcome.seconds,
            "limits": dict(self.limits),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        } | (outcome.value or {})
        self.journal.append(record)
        self.records[cell.key] = record
        self.attempted.add(cell.key)
        self.done += 1
        self._report(cell, record)

    def _report(self, cell: Cell, record: Record | None) -> None:
        if self.on_cell is not None:
            self.on_cell(CellEvent(cell, self.done, self.total, record))
