"""Compare all detectors on equal terms, and repeat the paper's experiments.

    python experiments/compare.py run --out cells.jsonl --workers 16 --minutes 9
    python experiments/compare.py run --out more.jsonl --done cells.jsonl --workers 16 --minutes 9
    python experiments/compare.py pack cells.jsonl more.jsonl
    python experiments/compare.py plan

``run`` writes one line per finished cell and does not repeat those of ``--done`` files or of its own; cells come in the
order of importance, so that a run may be cut at any time. ``pack`` writes the raw results under
``experiments/results/``: ``cells.csv`` (one row per cell and ranking), ``runs.json`` (versions and machine of each
run), ``draws.npz`` (bootstrap draws of the fixed view) and ``curves.json``. ``plan`` counts the cells. Graphs are
``.mat`` files in the folder HOPSIGHT_DATA.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from fair.graphs import GRAPHS
from fair.plan import Cell, all_cells, group, key
from fair.pool import OutOfTimeError, SharedPool

ROOT = Path(__file__).resolve().parents[1]
PREPARE_LIMIT = 200.0
ENOUGH_FAILURES = 2


def main() -> None:
    """Run one of the commands."""
    options = _arguments()
    if options.command == "plan":
        print_plan()
    elif options.command == "pack":
        from fair.pack import pack

        pack(options.files, options.into)
    else:
        run(options)


def run(options: argparse.Namespace) -> None:
    """Run the cells that no journal has yet, in order, until the time is up."""
    start = time.monotonic()
    known = read([*options.done, *([options.out] if options.out.exists() else [])])
    if options.retry:
        known = {name: record for name, record in known.items() if "memory" not in record["status"] + record["reason"]}
    cells = [one for one in chosen(options) if key(one) not in known]
    if options.device != "cuda":
        cells = [one | {"device": options.device} for one in cells]
    failures = collections.Counter[str]()
    for record in known.values():
        failures[group(record["cell"])] += weight_of_failure(record["status"])
    pool = SharedPool(
        function="fair.work:execute", n_workers=options.workers, n_threads=1, gpu_slots=options.gpu_slots,
        memory_limit=int(options.memory_gb * 2**30), deadline=start + 60 * options.minutes,
        gave_up={name for name, count in failures.items() if count >= ENOUGH_FAILURES},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, options.out.open("a", encoding="utf-8") as journal:
        _write(journal, {"run": description(options)})
        try:
            run_all(pool, cells, folder, journal, failures)
            print(f"all cells done in {time.monotonic() - start:.0f} s", flush=True)
        except OutOfTimeError:
            print(f"time is up after {time.monotonic() - start:.0f} s", flush=True)
    print(summary(read([*options.done, options.out])), flush=True)


def run_all(pool: SharedPool, cells: list[Cell], folder: str, journal: Any, failures: collections.Counter[str]) -> None:
    """Prepare the graphs and run the cells; write a line for each that ends."""
    done, start = 0, time.monotonic()
    jobs = [one | {"folder": folder, "group": group(one)} for one in cells]
    for job, outcome in pool.run([*preparations(cells, folder), *jobs]):
        if "prepare" in job:
            if outcome.status != "ok":
                raise SystemExit(f"{job['graph']} could not be prepared: {outcome.reason}")
            pool.prepared.add((job["graph"], job["injection"]))
            continue
        one = {name: value for name, value in job.items() if name not in ("folder", "group")}
        record = {"cell": one, "status": outcome.status, "reason": outcome.reason, "wall": round(outcome.seconds, 3)}
        _write(journal, record | (outcome.value or {}))
        failures[job["group"]] += weight_of_failure(outcome.status)
        if failures[job["group"]] >= ENOUGH_FAILURES:
            pool.gave_up.add(job["group"])
        done += 1
        if done % 50 == 0 or outcome.status != "ok":
            print(f"{time.monotonic() - start:.0f} s, {done} of {len(cells)}: {_line(record)}", flush=True)


def weight_of_failure(status: str) -> int:
    """Return how much a cell counts against its repetitions: a limit is reached again, an error may be chance."""
    return 0 if status == "ok" else 1 if status == "failed" else ENOUGH_FAILURES


def preparations(cells: list[Cell], folder: str) -> list[dict[str, Any]]:
    """Return one job per graph and injection that some cell needs, the largest first."""
    needed: dict[tuple[str, int], set[str]] = collections.defaultdict(set)
    for one in cells:
        if one["graph"] in GRAPHS:
            needed[one["graph"], one["injection"]].add(one["view"])
    jobs = [
        {
            "prepare": True, "graph": graph, "injection": injection, "views": sorted(views), "folder": folder,
            "device": "cpu", "limit": PREPARE_LIMIT,
        }
        for (graph, injection), views in needed.items()
    ]  # fmt: skip
    return sorted(jobs, key=lambda job: -GRAPHS[str(job["graph"])].attributes)


def read(files: list[Path]) -> dict[str, dict[str, Any]]:
    """Return the latest record of every cell in some journals; a line that was cut short is passed over."""
    found = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if "cell" in record:
                found[key(record["cell"])] = record
    return found


def chosen(options: argparse.Namespace) -> list[Cell]:
    """Return the cells that the options leave."""
    wanted = {"experiment": options.experiments, "graph": options.graphs, "detector": options.detectors}
    return [
        one
        for one in all_cells()
        if all(values is None or one[name] in values for name, values in wanted.items())
        and (options.repetitions is None or one["seed"] < options.repetitions)
    ]


def description(options: argparse.Namespace) -> dict[str, Any]:
    """Describe a run: versions, machine, and how many cells ran at a time."""
    import torch

    from hopsight.system.machine import machine, versions

    commit = options.commit or subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()  # fmt: skip
    kind = {name: value for name, value in machine().items() if name not in ("load", "threads")}
    return {
        "commit": commit, "versions": versions() | {"torch": torch.__version__}, "machine": kind,
        "workers": options.workers, "gpu_slots": options.gpu_slots, "threads": 1, "memory_limit_gb": options.memory_gb,
    }  # fmt: skip


def print_plan() -> None:
    """Print the number of cells of each experiment and view."""
    cells = all_cells()
    for (experiment, view), count in collections.Counter((one["experiment"], one["view"]) for one in cells).items():
        print(f"{experiment}, view {view}: {count}")
    print(f"{len(cells)} cells")


def summary(records: dict[str, dict[str, Any]]) -> str:
    """Count the cells by experiment, view and status."""
    counts = collections.Counter(
        (record["cell"]["experiment"], record["cell"]["view"], record["status"]) for record in records.values()
    )
    return "\n".join(f"{', '.join(names)}: {count}" for names, count in sorted(counts.items()))


def _line(record: dict[str, Any]) -> str:
    one = record["cell"]
    place = f"{one['detector']} on {one['graph']}, view {one['view']}, repetition {one['seed']}"
    return f"{one['experiment']}: {place}: {record['status']} {record['reason']} {record['wall']} s"


def _write(journal: Any, record: dict[str, Any]) -> None:
    journal.write(json.dumps(record) + "\n")
    journal.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("plan")
    packing = commands.add_parser("pack")
    packing.add_argument("files", nargs="+", type=Path)
    packing.add_argument("--into", type=Path, default=ROOT / "experiments" / "results")
    running = commands.add_parser("run")
    running.add_argument("--out", type=Path, required=True, help="journal to write or continue")
    running.add_argument("--done", nargs="*", type=Path, default=[], help="journals of earlier runs")
    running.add_argument("--workers", type=int, default=1)
    running.add_argument("--gpu-slots", type=int, default=8, help="cells that may use the GPU at the same time")
    running.add_argument("--memory-gb", type=float, default=16.0, help="memory per worker")
    running.add_argument("--minutes", type=float, default=1e9, help="when to stop")
    running.add_argument("--device", default="cuda", help="cpu: run everything there")
    running.add_argument("--commit", help="what to record as the commit, where there is no git")
    running.add_argument("--retry", action="store_true", help="run cells again that lacked memory")
    running.add_argument("--experiments", nargs="+")
    running.add_argument("--graphs", nargs="+")
    running.add_argument("--detectors", nargs="+")
    running.add_argument("--repetitions", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    main()
