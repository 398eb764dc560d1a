"""Run the paper's experiments, or the comparison with PyGOD and PyOD, and write tables and figures.

    python experiments/bench.py --suite paper --workers 2 --out bench-paper
    python experiments/bench.py --suite peers --detectors 'hcm*' paper.pygod:DOMINANT --out bench-peers
    python experiments/bench.py --suite quick --out bench-quick

Finished fits are not run again: the same command continues where it stopped.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopsight.benchmark import BenchmarkResult, CellEvent, run
from hopsight.benchmark.runner import write_report
from hopsight.runs.console import show_benchmark
from hopsight.runs.memory import parse_size
from paper.rows import write_curves
from paper.suites import STUDIES, SUITES, PaperOptions, PaperSuite, make_paper_suite


def main() -> None:
    """Run a suite and print its first table."""
    options = _arguments()
    suite = make_paper_suite(
        options.suite,
        PaperOptions(
            graphs=options.graphs,
            detectors=options.detectors,
            experiments=options.experiments,
            repetitions=options.repetitions,
            seeds=options.seeds,
            protocol=options.protocol,
            data_dir=options.data_dir,
            device=options.device,
        ),
    )
    result = run_paper(
        suite,
        options.out,
        workers=options.workers,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit and parse_size(options.memory_limit),
        retry=options.retry,
        on_cell=_print_cell,
    )
    show_benchmark(result.tables, f"{result.summary} Written: {result.folder / 'report.html'}")


def run_paper(suite: PaperSuite, out: Path, **settings: Any) -> BenchmarkResult:
    """Run a suite and what follows from it, and write its own tables, figures and curves."""
    result = run(suite, out, **settings)
    losses = {row["key"]: row["details"]["loss"] for row in result.rows if (row["details"] or {}).get("loss")}
    if more := suite.follow_up(losses):
        result = run(replace(suite, plan=[*suite.plan, *more]), out, **settings | {"retry": False})
    result = replace(result, tables=suite.tables(result.rows))
    if any(row["points"] for row in result.rows):
        write_curves(out / "curves.csv", result.rows)
    write_report(result, result.tables, suite.figures(out / "figures", result.rows))
    return result


def _print_cell(event: CellEvent) -> None:
    if event.record is not None:
        line = f"{event.done}/{event.total} {event.cell.detector} on {event.cell.graph}: {event.record['status']}"
        print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, default="paper")
    parser.add_argument("--out", type=Path, default=Path("bench-paper"), help="folder to write")
    parser.add_argument("--graphs", nargs="+", action="extend", help="only these graphs")
    parser.add_argument(
        "--detectors", nargs="+", action="extend", help="only these; 'hcm*' includes the presets of HCM"
    )
    parser.add_argument("--experiments", nargs="+", action="extend", choices=STUDIES, help="only these experiments")
    parser.add_argument("--repetitions", type=int, help="injections per graph")
    parser.add_argument("--seeds", type=int, help="seeds per injection")
    parser.add_argument("--protocol", default="dominant", help="how anomalies are planted: dominant, hcm or leak-free")
    parser.add_argument("--workers", type=int, default=1, help="number of worker processes")
    parser.add_argument("--time-limit", type=float, default=3600.0, help="seconds per fit")
    parser.add_argument("--memory-limit", help="memory per worker, such as 8GB")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--data-dir", help="folder with local copies of the catalog's graphs")
    parser.add_argument("--retry", action="store_true", help="retry failed fits")
    return parser.parse_args()


if __name__ == "__main__":
    main()
