"""A small stream: two groups that talk among themselves, one burst, and one node that turns to strangers."""

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from hopsight.streams.events import Columns, sorted_events

DAY = 86400
START = 1_700_006_400  # midnight, UTC
BURST, STRANGER = ("a3", "a4"), "b7"


def toy_events(n_events: int = 3000, *, seed: int = 0, n_days: int = 30) -> pl.DataFrame:
    """Return events in order of time, with a column ``label`` for what was planted in the last third."""
    rng = np.random.default_rng(seed)
    time = START + np.sort(rng.integers(0, n_days * DAY, n_events))
    group = rng.integers(0, 2, n_events)
    ends = rng.integers(0, 25, (n_events, 2))
    ends[:, 1] = (ends[:, 0] + rng.integers(1, 6, n_events)) % 25  # everyone talks to the next five
    names = np.array(["a", "b"])
    frame = pl.DataFrame(
        {
            "source": [f"{names[g]}{e}" for g, e in zip(group, ends[:, 0], strict=True)],
            "target": [f"{names[g]}{e}" for g, e in zip(group, ends[:, 1], strict=True)],
            "time": time,
            "amount": np.round(np.exp(rng.normal(3.0, 0.5, n_events)), 2),
            "label": 0,
        }
    )
    at = START + (n_days * 3 // 4) * DAY
    burst = pl.DataFrame(
        {"source": BURST[0], "target": BURST[1], "time": at + np.arange(120), "amount": 20.0, "label": 1}
    )
    far = pl.DataFrame(
        {
            "source": STRANGER, "target": [f"a{number}" for number in range(20)],
            "time": at + DAY + 60 * np.arange(20), "amount": 20.0, "label": 1,
        }
    )  # fmt: skip
    columns = {"time": pl.Int64, "amount": pl.Float64, "label": pl.Int64}
    return pl.concat([part.cast(columns) for part in (frame, burst, far)]).sort("time", maintain_order=True)


def read_events(source: Any, columns: Columns) -> pl.DataFrame:
    """Return the events of a table in order of time."""
    with TemporaryDirectory() as folder, sorted_events(source, columns, Path(folder)) as events:
        return pl.concat(events.chunks())


def run_command(*arguments: object, kill_after: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own; kill it after some seconds if it is not done by then."""
    command = [sys.executable, "-m", "hopsight", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        out, err = process.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def write_pieces(frame: pl.DataFrame, folder: Path, count: int) -> list[Path]:
    """Cut a table into pieces of about the same size."""
    folder.mkdir(exist_ok=True)
    bounds = np.linspace(0, frame.height, count + 1).astype(int)
    paths = []
    for number, (low, high) in enumerate(pairwise(bounds)):
        paths.append(folder / f"piece{number:03}.parquet")
        frame[low:high].write_parquet(paths[-1])
    return paths
