"""Rows of results in tables and figures: choose them, take means over repetitions, and write them as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from hopsight.benchmark.results import Row
from hopsight.system.files import write_whole


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation of a measure over repetitions."""

    mean: float
    sd: float  # 0 for a single repetition
    n: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Summary | None:
        """Return the summary of the values that are not None, or ``None`` if there are none.

        >>> Summary.of([1.0, None, 3.0])
        Summary(mean=2.0, sd=1.4142135623730951, n=2)
        """
        present = [value for value in values if value is not None]
        if not present:
            return None
        return cls(fmean(present), stdev(present) if len(present) > 1 else 0.0, len(present))


def write_curves(path: Path, rows: Sequence[Row]) -> None:
    """Write the ROC-AUC over the epochs, one line per epoch."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(("graph", "injection", "row", "seed", "epoch", "loss", "auc"))
    for row in unique(rows, "curves"):
        start = tuple(row[name] for name in ("graph", "injection", "row", "seed"))
        for point in row["points"]:
            writer.writerow((*start, point["epoch"], point["loss"], point.get("auc")))
    write_whole(path, file.getvalue())


def unique(rows: Sequence[Row], experiment: str) -> list[Row]:
    """Return the rows of one experiment, one per cell, for measures that do not depend on the ranking."""
    return list({row["key"]: row for row in reversed(rows) if row["experiment"] == experiment}.values())[::-1]


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values.

    >>> select([{"row": "LOF", "n": 1}, {"row": "AMEN", "n": 2}], row="AMEN")
    [{'row': 'AMEN', 'n': 2}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in values.items())]


def distinct(rows: Iterable[Row], *names: str) -> list[tuple[Any, ...]]:
    """Return the combinations of values that occur, in order of appearance.

    >>> distinct([{"a": 1}, {"a": 2}, {"a": 1}], "a")
    [(1,), (2,)]
    """
    return list(dict.fromkeys(tuple(row.get(name) for name in names) for row in rows))


def mean_of(rows: Iterable[Row], measure: str) -> Summary | None:
    """Return the mean and standard deviation of one measure over rows."""
    return Summary.of(row.get(measure) for row in rows)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals, or an empty string for None.

    >>> number(0.12345), number(None)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.{digits}f}"


def mean_sd(summary: Summary | None, digits: int = 3) -> str:
    """Return ``mean ± sd``, or the mean alone for a single repetition.

    >>> mean_sd(Summary(0.75, 0.01, 5)), mean_sd(Summary(0.75, 0.0, 1))
    ('0.750 ± 0.010', '0.750')
    """
    if summary is None:
        return ""
    spread = f" ± {summary.sd:.{digits}f}" if summary.n > 1 else ""
    return f"{summary.mean:.{digits}f}{spread}"


def difference(ours: Summary | None, published: float | None) -> str:
    """Return our mean minus the published value, with its sign.

    >>> difference(Summary(0.75, 0.01, 5), 0.8)
    '−0.050'
    """
    if ours is None or published is None:
        return ""
    return f"{ours.mean - published:+.3f}".replace("-", "−")


def size(megabytes: float | None) -> str:
    """Return an amount of memory in MB or GB.

    >>> size(512.0), size(2048.0)
    ('512 MB', '2.0 GB')
    """
    if megabytes is None:
        return ""
    return f"{megabytes:.0f} MB" if megabytes < 1024 else f"{megabytes / 1024:.1f} GB"


def seconds(value: float | None) -> str:
    """Return a number of seconds with three decimals below 1 and one decimal above.

    >>> seconds(0.0123), seconds(12.34)
    ('0.012', '12.3')
    """
    if value is None:
        return ""
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"
