"""The tables of a benchmark, as plain text cells: ``tables.md`` and the HTML page show the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopsight.benchmark.journal import replacing
from hopsight.benchmark.results import Row, Summary


@dataclass(frozen=True)
class Table:
    """A titled table; ``note`` says how to read it."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


def make_tables(suite: str, rows: Sequence[Row]) -> list[Table]:
    """Return every table that the rows have something for, in the order of the paper."""
    from hopsight.benchmark.claims_table import claims_table
    from hopsight.benchmark.comparison_tables import comparison_tables
    from hopsight.benchmark.study_tables import study_tables

    tables = (*comparison_tables(suite, rows), *study_tables(rows), claims_table(rows))
    return [table for table in tables if table.rows]


def write_tables(path: Path, tables: Sequence[Table], figures: Sequence[tuple[str, str, Path]] = ()) -> None:
    """Write the tables, and the figures with their captions, as Markdown."""
    with replacing(path) as file:
        file.write("# Benchmark\n")
        for table in tables:
            file.write(f"\n## {table.title}\n\n")
            if table.note:
                file.write(f"{table.note}\n\n")
            file.write(markdown(table))
        if figures:
            file.write("\n## Figures\n")
        for name, caption, picture in figures:
            file.write(f"\n![{name}]({picture.parent.name}/{picture.name})\n\n{caption}\n")


def markdown(table: Table) -> str:
    """Return a table as Markdown.

    >>> print(markdown(Table("t", "T", ["detector", "AUC"], [["LOF", "0.5"]])), end="")
    | detector | AUC |
    |---|---|
    | LOF | 0.5 |
    """
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    text = ["| " + " | ".join(entry.replace("|", "\\|").replace("\n", " ") for entry in line) + " |" for line in lines]
    text[1] = "|" + "---|" * len(table.columns)
    return "\n".join(text) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals, or nothing.

    >>> number(0.12345), number(None)
    ('0.123', '')
    """
    return "" if value is None else f"{value:.{digits}f}"


def mean_sd(summary: Summary | None, digits: int = 3) -> str:
    """Return ``mean ± sd``; a single repetition has no spread to show.

    >>> mean_sd(Summary(0.75, 0.01, 5)), mean_sd(Summary(0.75, 0.0, 1))
    ('0.750 ± 0.010', '0.750')
    """
    if summary is None:
        return ""
    spread = f" ± {summary.sd:.{digits}f}" if summary.n > 1 else ""
    return f"{summary.mean:.{digits}f}{spread}"


def difference(ours: Summary | None, paper: float | None) -> str:
    """Return ours minus the paper's, with its sign.

    >>> difference(Summary(0.75, 0.01, 5), 0.8)
    '−0.050'
    """
    if ours is None or paper is None:
        return ""
    return f"{ours.mean - paper:+.3f}".replace("-", "−")


def size(megabytes: float | None) -> str:
    """Return an amount of memory in its usual unit.

    >>> size(512.0), size(2048.0)
    ('512 MB', '2.0 GB')
    """
    if megabytes is None:
        return ""
    return f"{megabytes:.0f} MB" if megabytes < 1024 else f"{megabytes / 1024:.1f} GB"


def seconds(value: float | None) -> str:
    """Return a duration in seconds, with the digits that matter.

    >>> seconds(0.0123), seconds(12.34)
    ('0.012', '12.3')
    """
    if value is None:
        return ""
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"
