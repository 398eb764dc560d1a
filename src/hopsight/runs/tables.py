"""Large tables of a run folder: CSV, which everything opens, or Parquet beyond a million rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hopsight.io.files import check_file
from hopsight.io.files import naming as refusing
from hopsight.io.reader import TableReader
from hopsight.io.textfile import text_content
from hopsight.system.cells import guarded_frame, unguarded_frame
from hopsight.system.files import naming
from hopsight.system.forks import check_polars

if TYPE_CHECKING:
    import polars as pl

MOST_CSV_ROWS = 1_000_000  # about what a spreadsheet opens; ten million edges would be 2 GB of text
ROWS_AT_ONCE = 1 << 18  # of a CSV file, so that its text is never in memory as a whole


def write_table(path: Path, table: pl.DataFrame, *, csv: bool = True, but: Collection[str] = ()) -> Path:
    """Write ``path`` as CSV, or a Parquet file beside it if the table is long and ``csv`` is not asked for.

    Text in a CSV file is guarded against spreadsheets, except in the columns ``but``; Parquet has it as it is.
    """
    check_polars()
    if not csv and table.height > MOST_CSV_ROWS:
        path = path.with_suffix(".parquet")
        with naming(path):
            table.write_parquet(path)
        return path
    with naming(path), path.open("wb") as file:
        for start in range(0, max(1, table.height), ROWS_AT_ONCE):
            part = guarded_frame(table[start : start + ROWS_AT_ONCE], but=list(but))
            part.write_csv(file, include_header=start == 0)
    return path


def table_of(folder: Path, name: str) -> Path:
    """Return the file of a table such as ``scores``: the Parquet file if there is one, else the CSV file."""
    parquet = folder / f"{name}.parquet"
    return parquet if parquet.exists() else folder / f"{name}.csv"


def read_table(path: Path, columns: Collection[str] | None = None) -> pl.DataFrame:
    """Return (some columns of) a table with one row per node; ids are text, as they are in the graph.

    Spark writes a folder of Parquet files.
    """
    check_polars()
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    with refusing(path):
        for file in files:
            check_file(file)
        return _parquet(files, columns) if path.suffix == ".parquet" else _csv(path, columns)


def _parquet(files: Sequence[Path], columns: Collection[str] | None) -> pl.DataFrame:
    import polars as pl

    with TableReader("parquet", files) as reader:
        found = reader.read(reader.names() if columns is None else list(columns))
    return found.with_columns(pl.col("node").cast(pl.String)).sort("rank")


def _csv(path: Path, columns: Collection[str] | None) -> pl.DataFrame:
    import polars as pl

    content = text_content(path)  # polars itself would unpack a file of any size
    found = pl.read_csv(
        path if content is None else content,
        columns=None if columns is None else list(columns),
        schema_overrides={"node": pl.String},
        glob=False,
    )
    guarded = [name for name in ("node", "name") if name in found.columns]
    return found.with_columns(unguarded_frame(found.select(pl.col(guarded).cast(pl.String))).get_columns())
