"""Read Parquet, Arrow, Excel, SQLite and DuckDB files in a separate process.

A damaged or hostile binary file can make a reader abort its whole process, which no ``except`` catches, or allocate
memory without end. So this module is also a small program with limited memory that reads the requested columns and
sends them back; if it dies, the file is damaged.

Each request is a line of JSON on standard input: columns, first row and number of rows. The answer is a line of JSON on
standard output (``names``, ``n_rows`` and ``above``, or ``n_bytes``, or ``error``), followed by n_bytes of an Arrow
stream if columns were requested. ``above`` are the rows above the header of a sheet.
"""

from __future__ import annotations

import glob
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hopsight.system.lazy_polars import pl

PIECE = 64 * 2**20  # bytes of columns that are sent at once
READER_BYTES = 512 * 2**20  # memory for the reader itself
SECONDS, BYTES_PER_SECOND = 60, 2**20  # every undamaged file is read far faster
WORDS = {
    "parquet": "a Parquet file",
    "arrow": "an Arrow or Feather file",
    "excel": "an Excel workbook",
    "sqlite": "an SQLite file",
    "duckdb": "a DuckDB file",
}
ARROW, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # how a file and a saved stream begin
STARTS = {"excel": (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"), "sqlite": (b"SQLite format 3\0",)}
EXTRAS = {"fastexcel": "excel", "duckdb": "sql"}
ROWS_FREE, ROWS_PER_BYTE = 200_000, 10
MOST_ABOVE, LONGEST_TITLE = 10, 200  # rows above the header of a sheet, and characters of each
BATCH = 50_000  # rows of SQLite that are Python objects at a time


class TableReader:
    """A table in one or several files, and the process that reads it.

    Parameters
    ----------
    kind
        ``"parquet"``, ``"arrow"``, ``"excel"``, ``"sqlite"`` or ``"duckdb"``.
    paths
        The files; only Parquet and Arrow may have several.
    table, query
        Which table of a workbook or database, or the result of which SELECT statement; by default the only table.
    """

    def __init__(self, kind: str, paths: Sequence[Path], *, table: str | None = None, query: str | None = None) -> None:
        self._kind, self._paths = kind, tuple(paths)
        self._options = {"table": table, "query": query}
        self._process: Any = None

    def __enter__(self) -> Self:
        from hopsight.io.files import loaded_limit  # not at the top: the program must start without scipy

        for path in self._paths:
            _check_ends(path, self._kind)
        files = {"kind": self._kind, "paths": [str(path) for path in self._paths], **self._options}
        limit = READER_BYTES + 2 * loaded_limit(self._size())
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(limit), json.dumps(files)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a panic prints many lines
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(self._ask([])[0]["names"])

    def above(self) -> list[str]:
        """Return the text of the rows above the header of a sheet, such as a title."""
        return list(self._ask([])[0]["above"])

    def read(self, columns: Sequence[str], first: int = 0, length: int | None = None) -> pl.DataFrame:
        """Return these columns, in this order: all rows, or so many from one on."""
        from hopsight.io.files import check_loaded

        n_rows = self.n_rows()
        check_loaded(self._size(), n_nodes=n_rows, n_numbers=n_rows * len(columns))
        wanted = n_rows if length is None else min(length, n_rows)
        at_once = max(1, PIECE // (8 * wanted + 1))
        pieces = [
            pl.read_ipc_stream(io.BytesIO(self._ask(columns[start : start + at_once], first, wanted)[1]))
            for start in range(0, len(columns), at_once)
        ]
        return pl.concat(pieces, how="horizontal").select(columns)

    def n_rows(self) -> int:
        """Return the number of rows."""
        return int(self._ask([])[0]["n_rows"])

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._paths)

    def _ask(self, columns: Sequence[str], first: int = 0, length: int = 0) -> tuple[dict[str, Any], bytes]:
        timer = None
        if self._options["query"] is None:  # a query of the user may take as long as it needs
            timer = threading.Timer(SECONDS + self._size() / BYTES_PER_SECOND, self._process.kill)
            timer.start()
        try:
            self._process.stdin.write(json.dumps([list(columns), first, length]).encode() + b"\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
            content = self._process.stdout.read(answer.get("n_bytes", 0))
        except (OSError, ValueError):
            raise ValueError(f"it is damaged, or not {WORDS[self._kind]}") from None
        finally:
            if timer is not None:
                timer.cancel()
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer, content


def _check_ends(path: Path, kind: str) -> None:
    """Refuse a file that cannot be of this kind, by its first bytes and, for Parquet, by its last ones."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        start = file.read(16)
        file.seek(max(0, size - 8))
        end = file.read(8)
    if kind == "parquet":
        fits = start[:4] == b"PAR1" and end[4:] == b"PAR1" and int.from_bytes(end[:4], "little") <= size - 12
    elif kind == "arrow":
        if start.startswith(b"FEA1"):
            raise ValueError("it is of the first version of Feather; write it again with a current library")
        fits = (start.startswith(ARROW) and end.endswith(ARROW)) or start.startswith(ARROW_STREAM)
    elif kind == "duckdb":
        fits = start[8:12] == b"DUCK"
    else:
        fits = start.startswith(STARTS[kind])
    if not fits:
        raise ValueError(f"it is damaged, or not {WORDS[kind]}")


def serve(limit: int, files: dict[str, Any]) -> None:
    """Answer requests until there are no more; where the system allows it, memory is limited to so many bytes."""
    if sys.platform != "win32":
        import resource

        most = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)  # only root may raise it
        with suppress(OSError, ValueError):  # a system may refuse such a limit
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    table: pl.LazyFrame | None = None
    above: list[str] = []
    for line in sys.stdin.buffer:
        try:
            if table is None:
                table = _open(**files, above=above)
            answer, content = _answer(table, above, *json.loads(line))
        except BaseException as error:
            # A panic of polars is not an Exception, and its message can be very long.
            answer, content = {"error": _sentence(error, files["kind"], files["query"])}, memoryview(b"")
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _sentence(error: BaseException, kind: str, query: str | None) -> str:
    """Return what went wrong in one line; a library that stumbles means a damaged file, unless over a query."""
    missing = getattr(error, "name", None)
    if isinstance(error, ImportError) and missing in EXTRAS:
        return f"reading it needs the package {missing}; run pip install 'hopsight[{EXTRAS[missing]}]'"
    if isinstance(error, MemoryError):
        return "it needs far more memory than a file of its size should"
    line = str(error).strip().partition("\n")[0][:300]
    if isinstance(error, ValueError) or query is not None:
        return line or "it is damaged"
    return f"it is damaged, or not {WORDS[kind]} ({line[:200]})"


def _answer(
    lazy: pl.LazyFrame, above: list[str], columns: list[str], first: int, length: int
) -> tuple[dict[str, Any], memoryview]:
    if not columns:
        n_rows = int(lazy.select(pl.len()).collect().item())
        return {"names": list(lazy.collect_schema()), "n_rows": n_rows, "above": above}, memoryview(b"")
    content = io.BytesIO()
    lazy.select(columns).slice(first, length).collect().write_ipc_stream(content)
    return {"n_bytes": content.getbuffer().nbytes}, content.getbuffer()


def _open(kind: str, paths: list[str], table: str | None, query: str | None, above: list[str]) -> pl.LazyFrame:
    if kind == "parquet":
        _check_parts(paths, pl.read_parquet_schema)
        return pl.scan_parquet(paths, glob=False, hive_partitioning=len(paths) > 1)
    if kind == "arrow":
        return _arrow(paths)
    if kind == "excel":
        return _excel(paths[0], table, above).lazy()
    return {"sqlite": _sqlite, "duckdb": _duckdb}[kind](paths[0], table, query).lazy()


def _check_parts(paths: list[str], schema: Callable[[str], Any]) -> None:
    first = list(schema(paths[0])) if len(paths) > 1 else []
    for path in paths[1:]:
        check_parts(first, list(schema(path)), Path(paths[0]).name, Path(path).name)


def check_parts(first: Sequence[str], names: Sequence[str], one: str, other: str) -> None:
    """Refuse two files whose columns differ; the columns of folders such as ``year=2024`` are in neither.

    >>> check_parts(["a", "b"], ["a", "c"], "1.csv", "2.csv")
    Traceback (most recent call last):
    ValueError: its parts differ: column 'b' is not in both 1.csv and 2.csv
    """
    if set(names) != set(first):
        odd = sorted(set(names) ^ set(first))[0]
        raise ValueError(f"its parts differ: column {odd!r} is not in both {one} and {other}")


def _arrow(paths: list[str]) -> pl.LazyFrame:
    """Open Arrow files, or streams that were saved with the same name."""
    streams = []
    for path in paths:
        with Path(path).open("rb") as file:
            streams.append(file.read(4) == ARROW_STREAM)
    if not any(streams):
        _check_parts(paths, pl.read_ipc_schema)
        return pl.scan_ipc([glob.escape(str(path)) for path in paths], hive_partitioning=len(paths) > 1)
    frames = [
        pl.read_ipc_stream(path) if stream else pl.read_ipc(path) for path, stream in zip(paths, streams, strict=True)
    ]
    _check_parts(paths, dict(zip(paths, (frame.columns for frame in frames), strict=True)).__getitem__)
    return pl.concat(frames).lazy()


def _chosen(tables: list[str], table: str | None, path: str, noun: str) -> str:
    """Return the table to read: the one that was named, or the only one."""
    listed = ", ".join(tables[:10]) + (", …" if len(tables) > 10 else "")
    if table is None:
        if len(tables) == 1:
            return tables[0]
        if not tables:
            raise ValueError(f"it has no {noun}")
        name = Path(path).name
        raise ValueError(f"it has {len(tables)} {noun}s ({listed}); name one, such as '{name}?table={tables[0]}'")
    if table not in tables:
        raise ValueError(f"it has no {noun} {table!r}, only {listed}")
    return table


def _excel(path: str, table: str | None, title: list[str]) -> pl.DataFrame:
    """Read a sheet; rows above its header are left out, and their text is added to ``title``."""
    import fastexcel

    book = fastexcel.read_excel(path)
    sheets = list(book.sheet_names)
    if table is None and len(sheets) > 1:  # new workbooks may have empty sheets
        sheets = [
            name for name in sheets if book.load_sheet(name, header_row=None, n_rows=1).to_polars().height
        ] or sheets
    chosen = _chosen(sheets, table, path, "sheet")
    frame = book.load_sheet(chosen).to_polars()
    if not any(name.startswith("__UNNAMED__") for name in frame.columns[1:]):
        return frame
    first = book.load_sheet(chosen, header_row=None, n_rows=MOST_ABOVE + 1).to_polars()
    filled = [sum(cell is not None for cell in cells) for cells in first.iter_rows()]
    above = next((row for row, count in enumerate(filled) if 2 * count >= first.width), 0)  # below a title
    rows = [[str(cell) for cell in cells if cell is not None] for cells in first.head(above).iter_rows()]
    title += [" ".join(row)[:LONGEST_TITLE] for row in rows if row]
    return book.load_sheet(chosen, header_row=above).to_polars() if above else frame


def _duckdb(path: str, table: str | None, query: str | None) -> pl.DataFrame:
    import duckdb

    settings = {
        "enable_external_access": "false",  # a view in the file must not read other files, or the network
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "lock_configuration": "true",
        "threads": "2",
    }
    with duckdb.connect(path, read_only=True, config=settings) as connection:
        if query is None:
            found = connection.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
            query = f"SELECT * FROM {_quoted(_chosen([row[0] for row in found], table, path, 'table'))}"
        return pl.DataFrame(connection.sql(query))


def _sqlite(path: str, table: str | None, query: str | None) -> pl.DataFrame:
    import sqlite3
    from contextlib import closing

    address = Path(path).resolve().as_uri() + "?mode=ro"
    if not Path(f"{path}-wal").exists():
        with Path(path).open("rb") as file:
            logs = file.read(20)[18:] == b"\2\2"  # writes go to a log that reading would create beside the file
        address += "&immutable=1" if logs else ""
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda text: text.decode(errors="replace")
        if query is None:
            found = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
                "ESCAPE '\\' ORDER BY name"
            ).fetchall()
            query = f"SELECT * FROM {_quoted(_chosen([row[0] for row in found], table, path, 'table'))}"
        cursor = connection.execute(query)
        if cursor.description is None:
            raise ValueError("the query returns no table; it must be a SELECT statement")
        most = max(ROWS_FREE, ROWS_PER_BYTE * Path(path).stat().st_size)  # a view can be endless
        return rows_to_frame([column[0] for column in cursor.description], cursor.fetchmany, most)


def rows_to_frame(names: Sequence[str], fetch: Callable[[int], list[Any]], most: int = sys.maxsize) -> pl.DataFrame:
    """Return the rows of a cursor as a data frame; a column of text and numbers becomes text."""
    batches: list[list[pl.Series]] = []
    while rows := fetch(BATCH):
        if len(batches) * BATCH > most:
            raise ValueError(f"it has more than {most:,} rows, too many for its size")
        batches.append([_series(values) for values in zip(*rows, strict=True)])
    columns = []
    for parts in zip(*batches, strict=True):
        kinds = {part.dtype for part in parts if part.dtype != pl.Null}
        if len(kinds) > 1:
            kind = pl.Float64 if all(each.is_numeric() for each in kinds) else pl.String
            parts = tuple(part.cast(kind) for part in parts)
        elif kinds:
            parts = tuple(part.cast(next(iter(kinds))) for part in parts)
        columns.append(pl.concat(parts))
    if len(set(names)) < len(names):
        raise ValueError("two columns of the query have the same name; rename one with AS")
    return pl.DataFrame(dict(zip(names, columns or [pl.Series(dtype=pl.Null)] * len(names), strict=True)))


def _series(values: Sequence[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(values, dtype=pl.Float64, strict=False)
    if len(kinds) > 1:
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    return pl.Series(values)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


if __name__ == "__main__":
    serve(int(sys.argv[1]), json.loads(sys.argv[2]))
