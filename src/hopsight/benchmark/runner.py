"""Run a suite into a folder: continue where an earlier run stopped, then write rows, tables and figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopsight.benchmark.cells import Cell, Plan, unique_cells
from hopsight.benchmark.journal import Journal, Record, only_run
from hopsight.benchmark.pool import Outcome, Pool
from hopsight.benchmark.results import Row, page_row, task_rows, write_curves, write_results
from hopsight.benchmark.suites import Options, Suite, make_suite
from hopsight.benchmark.tables import Table, make_tables, write_tables
from hopsight.system.memory import total_memory

EXECUTE = "hopsight.benchmark.execute:execute"


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told: a cell has begun (``record`` is None) or ended."""

    cell: Cell
    done: int
    total: int
    record: Record | None


@dataclass(frozen=True)
class Report:
    """What a run leaves behind; ``figures`` are (name, caption, PNG file), ``rows`` one for each task and ranking."""

    suite: str
    folder: Path
    tables: list[Table]
    figures: list[tuple[str, str, Path]]
    rows: list[Row]
    n_cells: int
    n_reused: int
    n_failed: int  # without those whose network is not at hand

    def page(self) -> dict[str, Any]:
        """Return the report as the arguments of ``hopsight.report.bench_page.write_bench_page``."""
        return {
            "title": f"Benchmark: suite {self.suite}",
            "summary": [self.summary],
            "tables": [
                {"title": table.title, "columns": table.columns, "rows": table.rows, "note": table.note}
                for table in self.tables
            ],
            "figures": [
                {"title": name.replace("_", " "), "svg": picture.with_suffix(".svg"), "note": caption}
                for name, caption, picture in self.figures
            ],
            "results": [page_row(row) for row in self.rows],
        }

    @property
    def summary(self) -> str:
        """Say in one sentence how the cells ended."""
        missing = sorted({row["network"] for row in self.rows if row["status"] == "not at hand"})
        absent = f"; not at hand: {', '.join(missing)}" if missing else ""
        return f"{self.n_cells} cells, {self.n_reused} of them from before, {self.n_failed} without a result{absent}."


def run(
    suite: str,
    out: str | Path,
    *,
    workers: int = 1,
    time_limit: float = 3600.0,
    memory_limit: int | None = None,
    networks: Sequence[str] | None = None,
    detectors: Sequence[str] | None = None,
    experiments: Sequence[str] | None = None,
    repetitions: int | None = None,
    seeds: int | None = None,
    protocol: str = "dominant",
    data_dir: str | Path | None = None,
    device: str = "auto",
    retry: bool = False,
    figures: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Run the cells of a suite that the folder does not have yet, and write what came out.

    The folder gets ``cells.jsonl`` (the journal), ``results.csv``, ``curves.csv``, ``tables.md`` and ``figures/``. A
    detector that fails, takes too long or too much memory, and a network that is not at hand, is a row with its
    reason.

    Parameters
    ----------
    suite
        ``"paper"``, ``"quick"`` or ``"peers"``.
    out
        The folder; cells that an earlier run finished there are not run again.
    workers
        Number of worker processes.
    time_limit
        Seconds for one cell.
    memory_limit
        Bytes for one worker; 80 % of the machine shared among them when left out.
    networks, detectors, experiments
        Names to restrict the suite to; networks of the catalog that it does not have, and detectors such as
        ``"pygod:DOMINANT"`` or ``"module:Class"``, are added. ``"hcm"`` is HCM with its defaults alone, ``"hcm*"`` with
        the presets too. Trivial scores always stay.
    repetitions, seeds
        Injections of each injected network and model seeds of each (5 and 2); networks with their own anomalies
        get the product as seeds.
    protocol
        How anomalies are planted: ``"dominant"``, ``"hcm"`` or ``"leak-free"``, see :func:`hopsight.inject`.
    data_dir
        Where the files of the networks are.
    device
        Where detectors run: ``"auto"``, ``"cpu"``, ``"cuda"``. The same cell on another device is another cell.
    retry
        Whether cells that failed before are tried again. Those that met a limit are, whenever it is higher now.
    figures
        Whether to draw them.
    progress
        Called when a cell begins and when it ends.
    """
    folder = Path(out)
    options = Options(
        networks=networks,
        detectors=detectors,
        experiments=experiments,
        repetitions=repetitions,
        seeds=seeds,
        protocol=protocol,
        data_dir=None if data_dir is None else str(data_dir),
        device=_resolved(device),
    )
    if memory_limit is None:
        memory_limit = int(0.8 * total_memory() / max(1, workers))
    pool = Pool(function=EXECUTE, n_workers=workers, time_limit=time_limit, memory_limit=memory_limit)
    made = make_suite(suite, options)
    with only_run(folder):
        runner = _Runner(Journal(folder), pool, options.data_dir, retry, progress)
        runner.finish(made.plan)
        plan = [*made.plan, *made.follow_up(_losses(runner.records))]
        runner.finish(plan)
        return _write(folder, made, plan, runner, figures)


def _resolved(device: str) -> str:
    if device == "cpu":
        return device
    from hopsight.nn.device import resolve_device

    return str(resolve_device(device))


def _write(folder: Path, suite: Suite, plan: Plan, runner: _Runner, figures: bool) -> Report:
    records = runner.records
    write_results(folder / "results.csv", plan, records)
    rows = task_rows(plan, records)
    write_curves(folder / "curves.csv", rows)
    drawn: list[tuple[str, str, Path]] = []
    if figures:
        from hopsight.benchmark.figures import draw_figures

        drawn = draw_figures(folder / "figures", rows)
    tables = make_tables(suite.name, rows)
    write_tables(folder / "tables.md", tables, drawn)
    cells = unique_cells(plan)
    n_failed = sum(records[cell.key]["status"] not in ("ok", "not at hand") for cell in cells)
    return Report(suite.name, folder, tables, drawn, rows, len(cells), len(cells) - runner.n_run, n_failed)


class _Runner:
    """Runs what a plan needs and the journal lacks."""

    def __init__(
        self,
        journal: Journal,
        pool: Pool,
        data_dir: str | None,
        retry: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.journal, self.pool, self.data_dir, self.retry, self.progress = journal, pool, data_dir, retry, progress
        self.limits = {"time": pool.time_limit, "memory": pool.memory_limit or 0}
        self.records = journal.read()
        self.attempted: set[str] = set()
        self.done = self.total = 0

    @property
    def n_run(self) -> int:
        return len(self.attempted)

    def finish(self, plan: Plan) -> None:
        """Run every cell that has no result, or one that a second attempt may better."""
        cells = unique_cells(plan)
        waiting = [cell for cell in cells if self._is_due(cell)]
        self.done, self.total = len(cells) - len(waiting), len(cells)
        for cell in (cell for cell in waiting if "missing" in cell.settings):
            self._keep(cell, Outcome("not at hand", reason=str(cell.settings["missing"])))
        at_hand = [cell for cell in waiting if "missing" not in cell.settings]
        jobs = [{"cell": cell.as_dict(), "data_dir": self.data_dir} for cell in at_hand]
        for job, outcome in self.pool.run(jobs, started=lambda job: self._tell(Cell(**job["cell"]), None)):
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
        self._tell(cell, record)

    def _tell(self, cell: Cell, record: Record | None) -> None:
        if self.progress is not None:
            self.progress(Progress(cell, self.done, self.total, record))


def _losses(records: Mapping[str, Record]) -> dict[str, float]:
    """Return the loss each finished cell ended with."""
    losses = {key: (record.get("details") or {}).get("loss") for key, record in records.items()}
    return {key: float(loss) for key, loss in losses.items() if loss is not None}
