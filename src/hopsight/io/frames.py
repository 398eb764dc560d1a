"""Read tables: CSV (tab-separated and gzipped too), Parquet, and data frames of polars, pandas and others."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopsight.io.files import check_loaded, check_unpacked, writing
from hopsight.io.parquet import ParquetFile

if TYPE_CHECKING:
    import polars as pl

MAX_COLUMNS = 100_000
_PIECE = 16 * 2**20  # bytes unpacked at a time
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")


@dataclass(frozen=True)
class Table:
    """A table whose header has been read and whose rows have not."""

    path: Path | None
    names: tuple[str, ...]
    has_header: bool = True
    separator: str = ","
    content: bytes | None = None
    parquet: ParquetFile | None = None
    frame: pl.DataFrame | None = None

    @property
    def typed(self) -> bool:
        """Whether the table itself says what is a number, unlike CSV, which is all text."""
        return self.parquet is not None or self.frame is not None

    def read(self, columns: Sequence[str], *, text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, in this order; those named in ``text`` are never read as numbers."""
        import polars as pl

        if self.frame is not None:
            return self.frame.select(columns)
        if self.parquet is not None:
            return self.parquet.read(columns)
        try:  # letting polars infer the types saves much memory, but it looks at the first rows only
            frame = self._read_csv(guess=True, text=text)
        except pl.exceptions.PolarsError:
            frame = self._read_as_text()
        return frame.select(columns).filter(~pl.all_horizontal(pl.all().is_null()))

    def _read_as_text(self) -> pl.DataFrame:
        import polars as pl

        try:
            return self._read_csv(guess=False, text=self.names)
        except pl.exceptions.ComputeError as error:
            if "more fields" in str(error):
                raise ValueError("one of its rows has more cells than its header") from None
            raise

    def _read_csv(self, *, guess: bool, text: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        return pl.read_csv(
            self.content or str(self.path),
            has_header=self.has_header,
            separator=self.separator,
            infer_schema=guess,
            schema_overrides=dict.fromkeys(text, pl.String),
            new_columns=None if self.has_header else list(self.names),
            glob=False,
        )


@contextmanager
def open_table(source: Any) -> Iterator[Table]:
    """Read the header of a table, given as a path or as a data frame.

    A CSV file whose first line holds nothing but numbers has no header: its columns are then called
    ``column1, column2, …``.
    """
    if not isinstance(source, Path):
        frame = _frame_of(source)
        yield Table(None, _checked_names(tuple(frame.columns)), frame=frame)
        return
    path = source
    if path.name.lower().endswith((".parquet", ".pq")):
        with ParquetFile(path) as parquet:
            yield Table(path, _checked_names(parquet.names()), parquet=parquet)
        return
    with path.open("rb") as file:
        start = file.read(4)
    content = None
    if start[:2] == b"\x1f\x8b":
        content = _gunzip(path)
    elif start == b"\x28\xb5\x2f\xfd" or start[:2] in (b"\x78\x01", b"\x78\x9c", b"\x78\xda") or b"\0" in start:
        raise ValueError("it is not a text table")
    separator, header = _header(path, content)
    if content is not None:
        n_rows = content.count(b"\n")
        check_loaded(path.stat().st_size, n_nodes=n_rows, n_numbers=n_rows + content.count(separator.encode()))
    has_header = not all(_NUMBER.fullmatch(name) for name in header)
    names = tuple(header) if has_header else tuple(f"column{number + 1}" for number in range(len(header)))
    yield Table(path, _checked_names(names), has_header, separator, content)


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a table that appears complete or not at all.

    All text in a CSV file is quoted, so that a cell such as ``=1+1`` is read back as text.
    """
    name = path.name.lower()
    with writing(path) as temporary:
        if name.endswith((".parquet", ".pq")):
            frame.write_parquet(temporary)
            return
        separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        if not name.endswith(".gz"):
            frame.write_csv(temporary, separator=separator, quote_style="non_numeric")
            return
        text = frame.write_csv(separator=separator, quote_style="non_numeric")
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))


def is_frame(source: Any) -> bool:
    """Return whether an object is a data frame, of whatever library."""
    return hasattr(source, "columns") and (hasattr(source, "__dataframe__") or hasattr(source, "__arrow_c_stream__"))


def _frame_of(table: Any) -> pl.DataFrame:
    import polars as pl

    if not is_frame(table):
        raise ValueError(f"a table must be a path or a data frame, got {type(table).__name__}")
    return table if isinstance(table, pl.DataFrame) else pl.from_dataframe(table)


def _header(path: Path, content: bytes | None) -> tuple[str, list[str]]:
    """Return the separator, and the cells of the first line."""
    default = "\t" if ".tsv" in path.name.lower() else ","
    with io.BytesIO(content) if content is not None else path.open("rb") as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        first = text.readline()
        separator = next((mark for mark in (default, ",", ";", "\t", "|") if mark in first), default)
        text.seek(0)
        try:
            cells = next(csv.reader(text, delimiter=separator), [])
        except csv.Error:
            raise ValueError("its first line is not the header of a table") from None
    if not cells:
        raise ValueError("its first line is empty")
    return separator, cells


def _checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, and at most {MAX_COLUMNS:,} are allowed")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two of its columns are called {name!r}")
        seen.add(name)
    return names


def _gunzip(path: Path) -> bytes:
    packed, pieces, size = path.stat().st_size, [], 0
    with gzip.open(path) as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            check_unpacked(size, packed)
    return b"".join(pieces)
