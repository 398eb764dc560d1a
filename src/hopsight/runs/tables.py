"""Large tables of a run folder: CSV, which everything opens, or Parquet beyond a million rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from hopsight.io.frames import open_table
from hopsight.io.sources import Address, check_file
from hopsight.io.sources import naming as refusing
from hopsight.io.textfile import text_content
from hopsight.system.cells import guarded_frame, unguarded_frame
from hopsight.system.files import naming
from hopsight.system.lazy_polars import pl
from hopsight.system.threads import check_polars

MOST_CSV_ROWS = 1_000_000  # about what a spreadsheet opens; ten million edges would be 2 GB of text
ROWS_AT_ONCE = 1 << 18  # so that the text of a file is never in memory as a whole


def write_table(path: Path, table: pl.DataFrame, *, csv: bool = True, but: Collection[str] = ()) -> Path:
    """Write ``path`` as CSV, or a Parquet file beside it if the table is long and ``csv`` is not asked for.

    Text in a CSV file is guarded against spreadsheets, except in the columns ``but``; Parquet has it as it is.
    """
    return write_rows(path, table.height, lambda rows: table[rows], csv=csv, but=but)


def write_rows(
    path: Path, n_rows: int, make: Callable[[slice], pl.DataFrame], *, csv: bool = True, but: Collection[str] = ()
) -> Path:
    """Do the same for a table of which some rows are made at a time; with ``slice(0, 0)``, its columns alone."""
    check_polars()
    parts = (make(slice(start, min(n_rows, start + ROWS_AT_ONCE))) for start in range(0, max(1, n_rows), ROWS_AT_ONCE))
    if not csv and n_rows > MOST_CSV_ROWS:
        from polars.io.plugins import register_io_source

        path = path.with_suffix(".parquet")
        with naming(path):
            register_io_source(lambda *_: parts, schema=make(slice(0, 0)).schema).sink_parquet(path)
        return path
    with naming(path), path.open("wb") as file:
        for number, part in enumerate(parts):
            guarded_frame(part, but=list(but)).write_csv(file, include_header=number == 0)
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
    table = open_table(Address(str(files[0]), "parquet", tuple(files)))
    found = table.read(table.names if columns is None else list(columns), text=())
    return found.with_columns(pl.col("node").cast(pl.String)).sort("rank")


def _csv(path: Path, columns: Collection[str] | None) -> pl.DataFrame:
    content = text_content(path)  # polars itself would unpack a file of any size
    found = pl.read_csv(
        path if content is None else content,
        columns=None if columns is None else list(columns),
        schema_overrides={"node": pl.String},
        glob=False,
    )
    guarded = [name for name in ("node", "name") if name in found.columns]
    return found.with_columns(unguarded_frame(found.select(pl.col(guarded).cast(pl.String))).get_columns())
