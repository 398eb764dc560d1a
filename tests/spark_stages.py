"""Shared by the tests of the Spark engine: quick settings, the first stages of a run, matrices from blocks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

QUICK = {
    "n_units": 16, "mlp_units": 16, "n_epochs": 40, "burn_in": 20, "n_samples": 8, "min_class_pairs": 20,
    "n_folds": 2, "n_inner": 3, "precision": "float32", "seed": 3,
}  # fmt: skip


@dataclass
class CommandRun:
    """A detection by the command line: its folder, what it printed, the result, the engine, and what that judged."""

    folder: Path
    printed: str
    detected: Any
    engine: Any
    judged: Any


@dataclass
class FirstStages:
    """The first stages of a run, for tests of the later ones."""

    engine: Any
    layout: Any
    x: Any
    graph: Any
    degrees: Any
    splits: Any


def quick_options() -> list[str]:
    """Return the quick settings as options of the command line."""
    settings = (f"{name}={value}" for name, value in QUICK.items() if name != "seed")
    return ["--quiet", "--seed", str(QUICK["seed"]), *(word for each in settings for word in ("--set", each))]


def cluster_numbers(stages: FirstStages) -> np.ndarray:
    """Return, for each node in the order of the table, its number on the cluster."""
    rows = stages.graph.nodes.orderBy("row").select("block", "position").collect()
    return stages.layout.offsets[[row["block"] for row in rows]] + [row["position"] for row in rows]


def dense(frame: Any, stages: FirstStages, kind: str, dtype: Any, fold: int) -> np.ndarray:
    """Return the matrix that is spread over blocks, ordered by the nodes' numbers."""
    rows = [row for row in frame.collect() if row["kind"] == kind and row["fold"] == fold]
    parts = [np.frombuffer(row["payload"], dtype=dtype) for row in sorted(rows, key=lambda r: (r["block"], r["piece"]))]
    return np.concatenate(parts).reshape(stages.layout.n_nodes, -1)


def edges_by_ends(judged: Any, stages: FirstStages, graph: Any) -> dict[str, np.ndarray]:
    """Return the values of judged edges in the order of the edges of a graph."""
    from hopsight.spark.judging import VALUES

    first, known = stages.layout.offsets, {}
    for row in judged.collect():
        i, j = stages.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[end], dtype=np.int32) for end in ("u", "v"))
        ends = zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)
        values = np.frombuffer(row["values"]).reshape(len(VALUES), -1)
        known |= dict(zip(map(frozenset, ends), values.T, strict=True))
    ordered = [known[frozenset(pair)] for pair in cluster_numbers(stages)[graph.edges].T.tolist()]
    return dict(zip(VALUES, np.array(ordered).T, strict=True))
