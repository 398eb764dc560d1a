"""Measure what an analyst of a bank finds: rings, takeovers and hubs of generated banks, at once and over time.

    python experiments/bank.py [--seeds 100,101,102,103] [--out experiments/results/bank.json]
    python experiments/bank.py --events 1000000    # the time of a fit with and without amounts and times

Each seed is a bank of :func:`hopsight.datasets.bank_tables`; in those with an odd seed hubs keep what they receive.
Times are seconds, or of every second pair of seeds dates alone and the numbers of rows (:data:`TIMES`).
``hopsight detect`` (with and without the account table) and ``hopsight stream`` run as a user would run them, and each
seed is a row of the results, with the commit. Constants were chosen on seeds 0 to 7.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from hopsight import CrossHCM
from hopsight.canonical import Events
from hopsight.datasets import bank_tables
from hopsight.graph import AttributedGraph
from hopsight.metrics import roc_auc

N = 3000
TIMES = ("seconds", "seconds", "dates", "row numbers")  # of a seed, by its rest


def static(folder: Path, case: dict[str, str], role: dict[str, str]) -> dict[str, Any]:
    """Return how the planted accounts rank, how many rings are listed, and what the first edges are."""
    hopsight(folder, "detect", "transfers.csv", "--nodes", "accounts.csv", "--out", "static")
    scores = pl.read_csv(folder / "static" / "scores.csv")
    roles = np.array([role.get(account, "") for account in scores["node"]])
    groups = pl.read_csv(folder / "static" / "groups.csv")["members"].str.split("; ").to_list()
    rings = {name for name in case.values() if name.startswith("ring")}
    listed = [[case.get(member, "") for member in members] for members in groups]
    size = {ring: sum(name == ring for name in case.values()) for ring in rings}
    return {
        "hub_ranks": (np.flatnonzero(roles == "hub") + 1).tolist(),
        "takeovers": roc_auc(roles == "takeover", scores["score"].to_numpy()),
        "mules": roc_auc(roles == "mule", scores["score"].to_numpy()),
        "ordinary_of_20": int((roles[:20] == "").sum()),
        "flagged": int(scores["flagged"].sum()),
        "flagged_planted": int(scores["flagged"].to_numpy()[roles != ""].sum()),
        "rings": sum(any(2 * names.count(ring) > size[ring] for names in listed) for ring in rings),
        "groups": len(groups),
        **edges(folder / "static", role, ""),
    }


def edges(folder: Path, role: dict[str, str], suffix: str) -> dict[str, Any]:
    """Return how many of the first edges touch a planted account."""
    table = pl.read_csv(folder / "edges.csv", columns=["source", "target"])
    planted = np.array([source in role or target in role for source, target in table.iter_rows()])
    return {f"edges_{first}{suffix}": int(planted[:first].sum()) for first in (15, 50)}


def over_time(folder: Path, role: dict[str, str]) -> dict[str, Any]:
    """Return how many planted accounts alerts name, and how many alerts name nobody planted."""
    hopsight(folder, "stream", "transfers.csv", "--nodes", "accounts.csv", "--out", "stream")
    alerts = pl.read_csv(folder / "stream" / "alerts.csv", columns=["account", "source", "target"])
    named = set(alerts["account"])
    found = {f"{kind}_alerted": len({account for account in named if role.get(account) == kind})
             for kind in ("hub", "takeover", "mule")}  # fmt: skip
    false = [row for row in alerts.iter_rows() if not any(account in role for account in row)]
    return found | {"alerts": alerts.height, "false_alerts": len(false)}


def hopsight(folder: Path, *arguments: str) -> None:
    """Run a command in a folder."""
    subprocess.run(
        [sys.executable, "-m", "hopsight", *arguments, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )


def measure(seed: int) -> dict[str, Any]:
    """Return the row of one bank."""
    kept = seed % 2 == 1
    bank = bank_tables(N, seed, passed_on=(0.0, 0.0) if kept else (0.85, 0.98))
    case, role = (dict(zip(bank.cases["account"], bank.cases[name], strict=True)) for name in ("case", "role"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        bank.accounts.write_csv(folder / "accounts.csv")
        shown = {"seconds": "%Y-%m-%d %H:%M:%S", "dates": "%Y-%m-%d"}
        times = TIMES[seed % len(TIMES)]
        column = pl.col("time").dt.strftime(shown[times]) if times in shown else pl.int_range(1, pl.len() + 1)
        bank.transfers.with_columns(time=column).write_csv(folder / "transfers.csv")
        row = static(folder, case, role) | over_time(folder, role)
        hopsight(folder, "detect", "transfers.csv", "--out", "alone")
        row |= edges(folder / "alone", role, "_alone")
    facts = {"seed": seed, "hubs": "keep" if kept else "pass on", "times": times, "transfers": bank.transfers.height}
    return facts | row


def speed(n_events: int) -> dict[str, Any]:
    """Return the processor time of a fit with events and without, in turn: payments of a tenth as many nodes."""
    rng = np.random.default_rng(0)
    n, half = n_events // 10, n_events // 2
    popular = rng.pareto(1.5, n) + 0.2
    ends = np.stack([rng.choice(n, half, p=popular / popular.sum()), rng.integers(0, n, half)])
    ends = np.concatenate([ends, ends[:, rng.integers(0, half, n_events - half)]], axis=1)  # half of the payments recur
    source, target = ends[:, ends[0] != ends[1]]
    time_ = 1.7e9 + np.sort(rng.uniform(0.0, 120 * 86400.0, source.size))
    events = Events(source, target, np.round(np.exp(rng.normal(3.7, 1.1, source.size)), 2), time_)
    attributes = rng.normal(size=(n, 8))
    spent = {}
    for name, given in (("compiling", events), ("without", None), ("with", events)):
        rows = slice(0, 1000) if name == "compiling" else slice(None)
        used = None if given is None else given.rows(np.arange(source.size)[rows])
        graph = AttributedGraph.from_edges(source[rows], target[rows], attributes, events=used)
        begin = time.process_time()
        CrossHCM(device="cpu").fit(graph)
        spent[name] = time.process_time() - begin
    return {"events": source.size, **spent, "ratio": spent["with"] / spent["without"]}


def main() -> None:
    """Measure the banks and write one row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="100,101,102,103")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "bank.json")
    parser.add_argument("--events", type=int, help="number of events to measure the time with")
    given = parser.parse_args()
    if given.events:
        print(json.dumps(speed(given.events)))
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    rows = json.loads(given.out.read_text()) if given.out.exists() else []
    for seed in map(int, given.seeds.split(",")):
        row = measure(seed) | {"commit": commit.stdout.strip()}
        rows = sorted([each for each in rows if each["seed"] != seed] + [row], key=lambda each: each["seed"])
        given.out.write_text(json.dumps(rows, indent=1) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()
