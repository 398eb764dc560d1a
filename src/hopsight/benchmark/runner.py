"""Run a suite into a folder: continue where an earlier run stopped, then write results and tables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from hopsight.benchmark.cells import Cell, unique_cells
from hopsight.benchmark.results import (
    Journal,
    Record,
    ResultTable,
    Row,
    comparison_tables,
    task_rows,
    write_results,
)
from hopsight.benchmark.suites import Suite
from hopsight.benchmark.workers import Outcome, WorkerPool
from hopsight.checks import plural
from hopsight.system.files import held
from hopsight.system.lazy_polars import pl
from hopsight.system.machine import total_memory
from hopsight.system.threads import check_polars

EXECUTE = "hopsight.benchmark.cells:execute"
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

    The folder gets ``cells.jsonl`` (the journal), ``results.csv`` and ``report.html``. A detector that
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
    limits = {"time": time_limit, "memory": memory_limit}
    cells = unique_cells(suite.plan)
    with held(folder):
        journal = Journal(folder)
        records = journal.read()
        _refuse_foreign(folder, records)
        due = [cell for cell in cells if _is_due(records.get(cell.key), limits, retry)]
        done = len(cells) - len(due)

        def report(cell: Cell, record: Record | None) -> None:
            if on_cell is not None:
                on_cell(CellEvent(cell, done, len(cells), record))

        for cell, outcome in _outcomes(due, suite, pool, lambda cell: report(cell, None)):
            record: Record = {
                "key": cell.key,
                "status": outcome.status,
                "reason": outcome.reason,
                "cell": cell.as_dict(),
                "seconds": outcome.seconds,
                "limits": limits,
                "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            } | (outcome.value or {})
            journal.append(record)
            records[cell.key], done = record, done + 1
            report(cell, record)
        write_results(folder / "results.csv", suite.plan, records)
        rows = task_rows(suite.plan, records)
        n_failed = sum(records[cell.key]["status"] not in ("ok", NO_COPY) for cell in cells)
        n_reused = len(cells) - len(due)
        result = BenchmarkResult(suite.name, folder, comparison_tables(rows), rows, len(cells), n_reused, n_failed)
        write_report(result, result.tables)
        return result


def _refuse_foreign(folder: Path, records: dict[str, Record]) -> None:
    """Refuse to replace somebody else's files: a benchmark of ours has a journal beside its results."""
    for name in () if records else ("results.csv", "report.html"):
        if (folder / name).exists():
            raise ValueError(f"{folder} already has {name}, which no benchmark wrote: choose another folder")


def _is_due(record: Record | None, limits: dict[str, float], retry: bool) -> bool:
    """Return whether a cell has no result, or one that another attempt may improve."""
    if record is None or record["status"] == "ok":
        return record is None
    for name, limit in limits.items():
        if record["status"] == f"{name} limit" and limit > record["limits"][name]:
            return True
    return retry


def _outcomes(
    cells: Sequence[Cell], suite: Suite, pool: WorkerPool, started: Callable[[Cell], None]
) -> Iterator[tuple[Cell, Outcome]]:
    """Yield each cell with how it ended, first those whose graph was not found."""
    for cell in cells:
        if "missing" in cell.settings:
            yield cell, Outcome(NO_COPY, reason=str(cell.settings["missing"]))
    places = {"data_dir": suite.data_dir, "folder": suite.folder}
    jobs = [{"cell": cell.as_dict(), **places} for cell in cells if "missing" not in cell.settings]
    for job, outcome in pool.run(jobs, started=lambda job: started(Cell(**job["cell"]))):
        yield Cell(**job["cell"]), outcome


def write_report(
    result: BenchmarkResult, tables: Sequence[ResultTable], figures: Sequence[tuple[str, str, Path]] = ()
) -> None:
    """Write ``report.html``; figures are name, caption and PNG file, with an SVG file beside it."""
    from hopsight.report.pages import write_bench_page

    write_bench_page(
        result.folder / "report.html",
        pl.read_csv(result.folder / "results.csv", infer_schema_length=None).to_dicts(),
        [asdict(table) for table in tables],
        [{"title": name, "svg": file.with_suffix(".svg"), "note": caption} for name, caption, file in figures],
        title=f"Benchmark: {result.suite}",
        summary=[result.summary],
    )
