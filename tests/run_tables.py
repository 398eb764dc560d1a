"""Reads the tables of a run folder."""

from __future__ import annotations

import csv
from pathlib import Path


def scores(folder: Path) -> dict[str, float]:
    """Return the score of each node."""
    with (folder / "scores.csv").open(encoding="utf-8") as file:
        return {row["node"]: float(row["score"]) for row in csv.DictReader(file)}
