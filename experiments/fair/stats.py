"""Read the packed cells, and resample repetitions and nodes for intervals and paired differences."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fair.graphs import FIXED_VIEW, GRAPHS
from fair.plan import OWN, REPETITIONS, repetitions

FloatArray = NDArray[np.float64]
Row = dict[str, Any]

N_SAMPLES = 1_000
LEVELS = (2.5, 97.5)  # percent: 95% intervals
LEAK_FREE = tuple(name for name, graph in GRAPHS.items() if graph.protocol == "leak-free")
IN_SAMPLE = tuple(name for name, graph in GRAPHS.items() if not graph.reserved and name not in LEAK_FREE)
RESERVED = tuple(name for name, graph in GRAPHS.items() if graph.reserved)
SAME_LABELS = "Enron (BOND)"  # reserved, but with the edges and labels of Enron, which is not
STRICT = tuple(name for name in RESERVED if name != SAME_LABELS)
SECTIONS = {"in_sample": IN_SAMPLE, "reserved": RESERVED, "leak_free": LEAK_FREE}
NUMBERS = (
    "auc", "average_precision", "precision_at_n", "mean_anomalous", "mean_normal", "seconds", "memory_mb", "gpu_mb",
)  # fmt: skip


@dataclass(frozen=True)
class Results:
    """The packed cells and their bootstrap draws.

    Parameters
    ----------
    rows
        One per cell and ranking, as in ``cells.csv``, with numbers as numbers.
    draws
        (n, n_draws) ROC-AUC of resampled nodes.
    """

    rows: tuple[Row, ...]
    draws: FloatArray

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read ``cells.csv`` and ``draws.npz`` of a folder."""
        with (folder / "cells.csv").open(encoding="utf-8", newline="") as lines:
            rows = tuple(_numbers(row) for row in csv.DictReader(lines))
        with np.load(folder / "draws.npz") as file:
            draws = file["draws"] / 65_535.0
        return cls(rows, draws)

    @cached_property
    def _fixed(self) -> dict[tuple[str, str], list[Row]]:
        found: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            own = row["ranking"] == OWN.get(row["detector"], "score")
            if row["experiment"] == "comparison" and row["view"] == FIXED_VIEW and row["status"] == "ok" and own:
                found.setdefault((row["detector"], row["graph"]), []).append(row)
        return {place: sorted(rows, key=lambda row: int(row["seed"])) for place, rows in found.items()}

    def fixed(self, detector: str, graph: str) -> list[Row]:
        """Return a detector's own ranking in the fixed view, one row per repetition; nothing unless all ended."""
        rows = self._fixed.get((detector, graph), [])
        return rows if len(rows) == repetitions(detector, graph) else []

    def n_ended(self, detector: str, graph: str) -> int:
        """Return how many repetitions ended in the fixed view."""
        return len(self._fixed.get((detector, graph), []))

    def value(self, detector: str, graph: str, measure: str = "auc") -> float:
        """Return the mean of a measure over repetitions; NaN if there is none."""
        rows = self.fixed(detector, graph)
        return float(np.mean([row[measure] for row in rows])) if rows else float("nan")

    def samples(self, detector: str, graph: str) -> FloatArray:
        """Return the ROC-AUC of resampled repetitions and nodes; the same sample is the same for every detector."""
        return self.resampled(self.fixed(detector, graph), graph)

    def resampled(self, rows: Sequence[Row], graph: str) -> FloatArray:
        """Return (n_samples,) means over resampled repetitions, each with resampled nodes.

        Repetitions with an injection of their own have nodes of their own; seeds on one graph share their nodes.
        A ranking without chance has one repetition on a graph as found, which is used for all.
        """
        if not rows:
            return np.full(N_SAMPLES, np.nan)
        table = np.stack([self.draws[int(row["draws"])] for row in rows])
        rng = np.random.default_rng([zlib.crc32(graph.encode()), 1])
        chosen = rng.integers(REPETITIONS, size=(N_SAMPLES, REPETITIONS))
        nodes = rng.integers(table.shape[1], size=(N_SAMPLES, REPETITIONS))
        if not GRAPHS[graph].n_cliques:
            nodes = np.repeat(nodes[:, :1], REPETITIONS, axis=1)
        if len(rows) not in (1, REPETITIONS):
            raise ValueError(f"{rows[0]['detector']} has {len(rows)} repetitions on {graph}: run the others first")
        return np.asarray(table[chosen if len(rows) > 1 else 0, nodes].mean(axis=1))

    def complete(self, detectors: Iterable[str], graphs: Sequence[str]) -> list[str]:
        """Return the detectors that ended on all of some graphs."""
        return [name for name in detectors if all(self.fixed(name, graph) for graph in graphs)]


def interval(samples: FloatArray) -> tuple[float, float]:
    """Return the bounds of the 95% interval."""
    low, high = np.percentile(samples, LEVELS)
    return float(low), float(high)


def mean_ranks(results: Results, detectors: Sequence[str], graphs: Sequence[str]) -> dict[str, float]:
    """Return mean ranks by ROC-AUC among detectors that ended on all of the graphs; the best has rank 1."""
    from scipy.stats import rankdata

    values = np.array([[results.value(name, graph) for graph in graphs] for name in detectors])
    ranks = rankdata(-values.round(6), axis=0).mean(axis=1)
    return dict(zip(detectors, ranks.tolist(), strict=True))


def critical_difference(n_detectors: int, n_graphs: int) -> float:
    """Return how far apart two mean ranks must be to differ at the 5% level (Nemenyi's test).

    >>> round(critical_difference(5, 30), 3)  # q = 2.728 in Demšar's table
    1.114
    """
    from scipy.stats import studentized_range

    q = studentized_range.ppf(0.95, n_detectors, np.inf) / np.sqrt(2.0)
    return round(float(q * np.sqrt(n_detectors * (n_detectors + 1) / (6.0 * n_graphs))), 3)


def _numbers(row: dict[str, str]) -> Row:
    return {name: float(value) if name in NUMBERS and value else value for name, value in row.items()}
