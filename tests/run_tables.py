"""Settings of a quick run, and what it wrote."""

import csv
import json
from pathlib import Path
from typing import Any

FAST = {"n_epochs": "6", "burn_in": "3", "min_class_pairs": "10"}  # of HCM and CrossHCM


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, each by the names of its columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def scores(folder: Path) -> dict[str, float]:
    """Return the score of each node."""
    return {row["node"]: float(row["score"]) for row in rows_of(folder / "scores.csv")}


def explained(folder: Path) -> list[dict[str, Any]]:
    """Return the explanations of the first nodes."""
    return json.loads((folder / "explanations.json").read_text(encoding="utf-8"))
