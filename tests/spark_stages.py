"""Shared by the tests of the Spark engine: quick settings, and a detection by the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUICK = {
    "n_units": 16, "mlp_units": 16, "n_epochs": 40, "burn_in": 20, "n_samples": 8, "min_class_pairs": 20,
    "n_folds": 2, "n_inner": 3, "precision": "float32", "seed": 3,
}  # fmt: skip
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for a short life


def without_compiler(session: Any) -> None:
    """Have Spark interpret its queries: to compile one takes longer than to run it on a small graph."""
    for name, value in {"wholeStage": "false", "factoryMode": "NO_CODEGEN"}.items():
        session.conf.set(f"spark.sql.codegen.{name}", value)


@dataclass
class CommandRun:
    """A detection by the command line: its folder, what it printed, the result, and all that the fit found."""

    folder: Path
    printed: str
    detected: Any
    fit: Any


def quick_options() -> list[str]:
    """Return the quick settings as options of the command line, and the column of labels."""
    settings = (f"{name}={value}" for name, value in QUICK.items() if name != "seed")
    known = ["--learn-from", "fraud"]
    return ["--quiet", "--seed", str(QUICK["seed"]), *known, *(word for each in settings for word in ("--set", each))]
