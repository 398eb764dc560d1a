"""Tables of results as text, for ``tables.md``, the HTML page and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopsight.benchmark.results import Summary
from hopsight.system.files import write_whole


@dataclass(frozen=True)
class ResultTable:
    """A titled table; ``note`` explains how to read it."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


def write_tables(path: Path, tables: Sequence[ResultTable], figures: Sequence[tuple[str, str, Path]] = ()) -> None:
    """Write the tables, and the figures with their captions, as Markdown."""
    parts = ["# Benchmark\n"]
    for table in tables:
        parts.append(f"\n## {table.title}\n\n")
        if table.note:
            parts.append(f"{table.note}\n\n")
        parts.append(markdown(table))
    if figures:
        parts.append("\n## Figures\n")
    parts += [f"\n![{name}]({file.parent.name}/{file.name})\n\n{caption}\n" for name, caption, file in figures]
    write_whole(path, "".join(parts))


def markdown(table: ResultTable) -> str:
    """Return a table as Markdown.

    >>> print(markdown(ResultTable("t", "T", ["detector", "AUC"], [["LOF", "0.5"]])), end="")
    | detector | AUC |
    |---|---|
    | LOF | 0.5 |
    """
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    text = ["| " + " | ".join(entry.replace("|", "\\|").replace("\n", " ") for entry in line) + " |" for line in lines]
    text[1] = "|" + "---|" * len(table.columns)
    return "\n".join(text) + "\n"


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
