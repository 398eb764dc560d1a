"""What the tests of the Spark engine share: quick settings, the first stages of a run, matrices from blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph

QUICK = {
    "n_units": 16, "mlp_units": 16, "n_epochs": 40, "burn_in": 20, "n_samples": 8, "min_class_pairs": 20,
    "n_folds": 2, "n_repeats": 2, "precision": "float32", "seed": 3,
}  # fmt: skip


@dataclass
class Made:
    """The first stages of a run, for tests of the later ones."""

    engine: Any
    placed: Any
    layout: Any
    x: Any
    net: Any
    degrees: Any
    splits: Any


def number_of(made: Made, network: AttributedGraph) -> np.ndarray:
    """Return, for every node of the network, its number on the cluster."""
    from hopsight.spark.pairs import offsets

    rows = made.placed.orderBy("row").select("block", "position").collect()
    return offsets(made.layout)[[row["block"] for row in rows]] + [row["position"] for row in rows]


def dense(frame: Any, made: Made, kind: str, dtype: Any, fold: int) -> np.ndarray:
    """Return a matrix that is spread over blocks, by the nodes' numbers."""
    rows = [row for row in frame.collect() if row["kind"] == kind and row["fold"] == fold]
    parts = [np.frombuffer(row["payload"], dtype=dtype) for row in sorted(rows, key=lambda r: (r["block"], r["piece"]))]
    return np.concatenate(parts).reshape(made.layout.n_nodes, -1)
