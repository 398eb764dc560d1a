"""Tables in files: CSV (also tab-separated, also gzipped) and Parquet, as polars frames."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopsight.io.files import UNPACKED_FREE, UNPACKED_RATIO, check_unpacked, replacing

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")
MAX_COLUMNS = 100_000
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")


@dataclass(frozen=True)
class Table:
    """A table file whose header has been looked at and whose rows have not.

    ``typed`` tells whether the file itself says what is a number (Parquet) or all is text (CSV).
    """

    path: Path
    names: tuple[str, ...]
    typed: bool
    has_header: bool = True
    separator: str = ","
    content: bytes | None = None

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return these columns, in this order; those of a CSV are all text."""
        import polars as pl

        if self.typed:
            n_rows = int(pl.scan_parquet(self.path, glob=False).select(pl.len()).collect().item())
            check_unpacked(8 * n_rows * len(columns), self.path.stat().st_size)
            return pl.read_parquet(self.path, columns=list(columns), glob=False).select(columns)
        frame = pl.read_csv(
            self.path if self.content is None else self.content,
            has_header=self.has_header,
            separator=self.separator,
            infer_schema=False,
            glob=False,
        )
        if not self.has_header:
            frame.columns = list(self.names)
        return frame.select(columns).filter(~pl.all_horizontal(pl.all().is_null()))


def open_table(path: Path) -> Table:
    """Look at a table's header.

    A CSV whose header is made of numbers only has none: its columns are then called ``column1, column2, …``.
    """
    import polars as pl

    if path.name.lower().endswith((".parquet", ".pq")):
        return Table(path, _checked_names(tuple(pl.read_parquet_schema(path))), typed=True)
    with path.open("rb") as file:
        start = file.read(4)
    content = None
    if start[:2] == b"\x1f\x8b":
        content = _gunzip(path)
    elif start == b"\x28\xb5\x2f\xfd" or start[:2] in (b"\x78\x01", b"\x78\x9c", b"\x78\xda") or b"\0" in start:
        raise ValueError("it is not a text table")
    separator, header = _header(path, content)
    has_header = not all(_NUMBER.fullmatch(name) for name in header)
    names = tuple(header) if has_header else tuple(f"column{number + 1}" for number in range(len(header)))
    return Table(path, _checked_names(names), False, has_header, separator, content)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a table that appears complete or not at all.

    All text in a CSV is quoted, so that a cell such as ``=1+1`` reads as text and survives the way back.
    """
    name = path.name.lower()
    with replacing(path) as temporary:
        if name.endswith((".parquet", ".pq")):
            frame.write_parquet(temporary)
            return
        separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        if not name.endswith(".gz"):
            frame.write_csv(temporary, separator=separator, quote_style="non_numeric")
            return
        text = frame.write_csv(separator=separator, quote_style="non_numeric")
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))


def _header(path: Path, content: bytes | None) -> tuple[str, list[str]]:
    """Return the separator and the cells of the first record."""
    default = "\t" if ".tsv" in path.name.lower() else ","
    with io.BytesIO(content) if content is not None else path.open("rb") as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        first = text.readline()
        separator = next((mark for mark in (default, ",", ";", "\t", "|") if mark in first), default)
        text.seek(0)
        try:
            cells = next(csv.reader(text, delimiter=separator), [])
        except csv.Error:
            raise ValueError("its first line is no header of a table") from None
    if not cells:
        raise ValueError("its first line is empty")
    return separator, cells


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, at most {MAX_COLUMNS:,} are read")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two of its columns are called {name!r}")
        seen.add(name)
    return names


def _gunzip(path: Path) -> bytes:
    packed = path.stat().st_size
    limit = max(UNPACKED_FREE, UNPACKED_RATIO * packed)
    with gzip.open(path) as file:
        content = file.read(limit + 1)
    check_unpacked(len(content), packed)
    return content
