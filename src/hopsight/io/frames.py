"""Open tables: text, JSON, Parquet, Arrow, workbooks, databases and data frames all become a :class:`Table`."""

from __future__ import annotations

import codecs
import glob
import gzip
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from datetime import date, time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hopsight.checks import plural, shortened
from hopsight.io.notices import notice
from hopsight.io.rules import are_codes, filled, is_row_id, may_be_codes, may_group_thousands
from hopsight.io.sources import Address, check_archive, check_file, check_filled, check_loaded, kind_of, naming, writing
from hopsight.io.textfile import TextTable, as_one, check_parts, open_text, text_content
from hopsight.system.cells import mark_guarded
from hopsight.system.lazy_polars import pl
from hopsight.system.machine import check_limit

MAX_COLUMNS = 100_000
HEAD, FEW = 200, 10_000  # rows that tell what a column holds; more of them, of which some may be copies
BY_LABEL = re.compile(rb'\s*\{"[^"]*":\s*\{"')  # what pandas writes: {"sender": {"0": "a", …}, …}
JSON = re.compile(r"\.(jsonl|ndjson|json)(\.|$)")
YES_NO = {"yes": True, "no": False, "true": True, "false": False}
ARROW_STREAM = b"\xff\xff\xff\xff"  # how a saved stream begins
HEADER_SHARE = 0.8  # of the cells of the fullest of the first rows of a sheet, in its header
MOST_ABOVE, LONGEST_TITLE = 10, 200  # rows above the header of a sheet, and characters of each
ROWS_FREE, ROWS_PER_BYTE = 200_000, 10  # of a database: a view can be endless
BATCH = 50_000  # rows of a cursor that are Python objects at a time
READ_ONLY = quote("-c default_transaction_read_only=on")
NO_TABLE = "the query returns no table; it must be a SELECT statement"


@dataclass(frozen=True)
class Table:
    """A table whose header has been read and whose rows may not have been."""

    names: tuple[str, ...]
    texts: Sequence[TextTable] = ()  # the text files of a table without types
    rows: pl.LazyFrame | None = None  # of a table with types
    size: int = 0  # of the files, in bytes

    @property
    def typed(self) -> bool:
        """Whether the table itself says what is a number, unlike CSV, which is all text."""
        return self.rows is not None

    def read(self, columns: Sequence[str], *, text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, in this order; those named in ``text`` are never read as numbers."""
        if self.rows is None:
            check_limit(sum(part.path.stat().st_size for part in self.texts))
            return self._rows_of_text(columns, text, lambda rows: rows.collect())
        if self.size:
            n_rows = int(self.rows.select(pl.len()).collect().item())
            check_loaded(self.size, n_nodes=n_rows, n_numbers=n_rows * len(columns))
        return self.rows.select(columns).collect()

    def scan(self, columns: Sequence[str], *, text: Sequence[str]) -> pl.LazyFrame:
        """Return these columns as :meth:`read` does, but to be read when they are needed.

        A large Parquet, text or JSON Lines file need then never be in memory as a whole.
        """
        if self.rows is not None:
            return self.rows.select(columns)
        return self._rows_of_text(columns, text, _checked_rows)

    def blocks(self, columns: Sequence[str], size: int, *, text: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield these columns in blocks of at most ``size`` rows."""
        for block in self.scan(columns, text=text).collect_batches(maintain_order=True):
            yield from block.iter_slices(size)

    def codes(self, names: Sequence[str]) -> list[str]:
        """Return which of these columns hold codes with leading zeros, such as zip codes, which numbers would lose."""
        texts = self.head(names).select(pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String))
        may_be = [each.name for each in texts if may_be_codes(each)]
        columns = self.read(may_be, text=may_be).cast(pl.String) if may_be else ()
        return [each.name for each in columns if are_codes(each) and not is_row_id(each)]

    def head(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the first rows of these columns; of a text file as text."""
        if self.rows is not None:
            return self.rows.select(columns).head(HEAD).collect()
        first = self.texts[0]
        places = [self.names.index(name) for name in columns]
        rows = ([*row, *first.of_folders.values()] for row in first.first_rows)
        cells = zip(*([row[place] for place in places] for row in rows), strict=True)
        return pl.DataFrame({n: pl.Series(list(c), dtype=pl.String) for n, c in zip(columns, cells, strict=False)})

    def sample(self, columns: Sequence[str], *, copies: bool = False) -> pl.DataFrame:
        """Return some rows of these columns, the same ones in whatever order the rows are; of a text file as text.

        With ``copies``, a row that is taken is taken as often as it occurs, and up to 10,000 are.
        """
        use = partial(_few, copies=copies)
        return self._rows_of_text(columns, columns, use) if self.rows is None else use(self.rows.select(columns))

    def _rows_of_text(self, columns: Sequence[str], text: Sequence[str], use: Callable[[pl.LazyFrame], Any]) -> Any:
        """Use the rows with the types of the first ones or, where a later row does not fit, as text.

        Numbers such as 1.200 stay text: other rows may show that the point separates thousands.
        """
        texts = self.head([name for name in columns if name not in text])
        text = [*text, *(each.name for each in texts if may_group_thousands(filled(each), "."))]
        tries = ((self.texts, True), (self.texts, False), (map(TextTable.requoted, self.texts), False))
        for parts, guess in tries:
            rows = [part.scan(columns, text, guess=guess) for part in parts]
            try:  # numbers in one file and text in another become text
                return use(rows[0] if len(rows) == 1 else pl.concat(rows, how="vertical_relaxed"))
            except pl.exceptions.PolarsError as error:
                failure = error
        raise ValueError(self.texts[0].refusal(failure))


def _few(rows: pl.LazyFrame, *, copies: bool) -> pl.DataFrame:
    """Return all rows if they are few, and otherwise those whose hashes are smallest: different ones, or all copies."""
    row, key = "\0row", "\0hash"
    rows = rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    rows = rows.with_columns(pl.struct(pl.all()).hash().alias(key)).with_row_index(row)
    found = rows.bottom_k(FEW, by=key).sort(row).collect(engine="streaming")
    if found.height > HEAD and not copies:
        found = found.unique(key, keep="first", maintain_order=True)
        found = found.filter(pl.col(key) <= found[key].bottom_k(HEAD).max())
    return found.drop(row, key)


def _checked_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Read all rows once, so that a row that does not fit is known before any is used."""
    rows.select(pl.all().null_count()).collect(engine="streaming")
    return rows


def open_table(source: Any, *, header: bool | None = None, notices: list[str] | None = None) -> Table:
    """Read the header of a table, given as a path, an address or a data frame.

    A text file whose first line looks like all others has no header: its columns are then called
    ``column1, column2, …``, unless a comment names them. ``header`` says whether there is one.
    """
    if isinstance(source, Path):
        if source.suffix.lower() == ".toml":
            raise ValueError("it names several tables, and one is read here: give the edge table or node table itself")
        return _open_files((source,), kind_of(source), {}, header, notices)
    if not isinstance(source, Address):
        return _of_frame(frame_of(source))
    options = source.options
    if source.kind in ("postgresql", "connection"):
        query = options["query"] if "query" in options else f"SELECT * FROM {quoted_table(options['table'])}"
        if source.kind == "postgresql":
            return _of_frame(read_postgresql(source.text, query))
        return _of_frame(read_connection(source.connection, query))
    for path in source.paths:
        with naming(path):  # which may be one of several
            check_file(path)
    if source.aside:
        shown = ", ".join(source.aside[:3]) + (", …" if len(source.aside) > 3 else "")
        notice(f"Read {plural(len(source.paths), 'file')} of {source.text}; not read: {shown}.", notices)
    return _open_files(source.paths, source.kind, options, header, notices)


def _of_frame(frame: pl.DataFrame) -> Table:
    return Table(_checked_names(frame.columns), rows=_with_text(frame.lazy()))


def _with_text(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows whose bytes are text, or in hexadecimal digits if they are none, as hashes and addresses are."""
    if pl.Binary not in rows.collect_schema().dtypes():
        return rows
    return rows.with_columns(pl.col(pl.Binary).map_batches(_as_text, pl.String))


def _as_text(cells: pl.Series) -> pl.Series:
    try:
        return cells.cast(pl.String)
    except pl.exceptions.PolarsError:
        return cells.bin.encode("hex")


def _open_files(
    files: Sequence[Path], kind: str, options: Mapping[str, str], header: bool | None, notices: list[str] | None
) -> Table:
    _check_options(kind, options)
    if kind == "text":
        if "header" in options:
            header = YES_NO[options["header"].lower()]
        return _open_texts(files, header, options.get("encoding"), notices)
    rows: pl.LazyFrame
    if kind == "parquet":
        rows = scan_parquet(files)
    elif kind == "arrow":
        rows = _arrow(files)
    elif kind == "excel":
        rows = _excel(files[0], options.get("table"), notices).lazy()
    else:
        read = _sqlite if kind == "sqlite" else _duckdb
        rows = read(files[0], options.get("table"), options.get("query")).lazy()
    names = _checked_names(rows.collect_schema().names())
    return Table(names, rows=_with_text(rows), size=sum(path.stat().st_size for path in files))


def _open_texts(files: Sequence[Path], header: bool | None, encoding: str | None, notices: list[str] | None) -> Table:
    """Open text files with the same columns as one table; what is said of the first is not said of the others."""
    tables: list[Table] = []
    said: list[str] = []
    for file in files:
        found: list[str] = []
        with naming(file) if len(files) > 1 else nullcontext():
            if JSON.search(file.name.lower()):
                rows = _json(file, text_content(file, encoding, found))
                tables.append(Table(_checked_names(rows.collect_schema().names()), rows=rows))
            else:
                text = open_text(file, header=header, encoding=encoding, notices=found)
                tables.append(Table(_checked_names(text.names), [text]))
        for sentence in found:
            if (alike := sentence.replace(file.name, files[0].name)) not in said:
                said.append(alike)
                notice(sentence, notices)
    if len(tables) == 1:
        return tables[0]
    if not any(table.typed for table in tables):
        texts = as_one([text for table in tables for text in table.texts])
        return Table(_checked_names([*texts[0].names, *texts[0].of_folders]), texts)
    frames = [table.read(table.names, text=table.names) for table in tables]
    return _of_frame(pl.concat(frames, how="diagonal_relaxed"))


def _json(path: Path, content: bytes | None) -> pl.LazyFrame:
    """Return the rows of JSON Lines, of one array of objects, or of columns as pandas writes them.

    Nested objects become columns such as sender.id.
    """
    with path.open("rb") as file:
        start = file.read(1024) if content is None else content[:1024]
    if BY_LABEL.match(start):
        with suppress(json.JSONDecodeError, AttributeError):
            labeled = json.loads(path.read_bytes() if content is None else content)
            if all(label.isdecimal() for label in labeled):
                return pl.DataFrame([*labeled.values()], infer_schema_length=None).lazy()
            if all(label.isdecimal() for cells in labeled.values() for label in cells):
                found = {name: pl.Series(name, [*cells.values()], strict=False) for name, cells in labeled.items()}
                return pl.DataFrame(found).lazy()
    is_array = start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["
    if content is None and (is_array or start.startswith(codecs.BOM_UTF8)):
        content = path.read_bytes()
    content = content if content is None else content.removeprefix(codecs.BOM_UTF8)
    lines: Any = path if content is None else content
    if is_array and content is not None:  # polars tells the fields of lines only
        lines = b'{"":' + content.replace(b"\n", b" ").replace(b"\r", b" ") + b"}"
    try:
        rows = pl.scan_ndjson(lines, infer_schema_length=None)
        types = rows.collect_schema()
        check_filled(path, content, b"{", sum(map(_n_leaves, types.values())))
        if not is_array and not any(kind.is_nested() for kind in types.values()):
            return rows
        frame = pl.read_json(content, infer_schema_length=None) if is_array and content is not None else rows.collect()
    except pl.exceptions.PolarsError:
        raise ValueError(
            'it is not JSON Lines: every line must be one JSON object, such as {"source": 1}, or the whole file an '
            "array of them, with numbers below 1.8e308 and null in place of NaN"
        ) from None
    return _flat(frame if is_array else _unwrapped(frame)).lazy()


def _n_leaves(kind: Any) -> int:
    """Return how many columns a field becomes: a nested one may have as many fields as there are names."""
    if isinstance(kind, pl.Struct):
        return sum(_n_leaves(field.dtype) for field in kind.fields)
    return _n_leaves(kind.inner) if isinstance(kind, pl.List) else 1


def _unwrapped(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in an answer such as ``{"data": [{…}, …], "paging": {…}}``; other tables as they are."""
    lists = [
        name for name, kind in frame.schema.items() if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct)
    ]
    if frame.height != 1 or len(lists) != 1:
        return frame
    return frame[lists[0]].explode().struct.unnest() if frame[lists[0]].list.len()[0] else frame


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Return nested objects as columns such as ``sender.id``."""
    while any(isinstance(kind, pl.Struct) for kind in frame.dtypes):
        columns: list[pl.Series] = []
        for name, kind in frame.schema.items():
            if isinstance(kind, pl.Struct):
                columns += [frame[name].struct.field(each.name).rename(f"{name}.{each.name}") for each in kind.fields]
            else:
                columns.append(frame[name])
        frame = pl.DataFrame({column.name: column for column in columns})
    return frame


def _check_options(kind: str, options: Mapping[str, str]) -> None:
    known = {"text": ("header", "encoding"), "parquet": (), "arrow": (), "excel": ("table",)}.get(
        kind, ("table", "query")
    )
    for name, value in options.items():
        if name not in known:
            allowed = f"only {' and '.join(known)}" if known else "no options"
            raise ValueError(f"{name}={value[:50]} is not an option of this kind of file, which has {allowed}")
        if name == "header" and value.lower() not in YES_NO:
            raise ValueError(f"header must be yes or no, got {value[:50]!r}")


def scan_parquet(files: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of Parquet files with the same columns; folders such as ``year=2024`` name another one."""
    if len(files) > 1:
        rows = {path: pl.scan_parquet(path, glob=False) for path in files}  # each keeps its schema
        _check_columns(files, lambda path: rows[path].collect_schema().names())
        if len({tuple(each.collect_schema().dtypes()) for each in rows.values()}) > 1:
            return _as_one_type(files)
    return pl.scan_parquet(list(files), glob=False, hive_partitioning=len(files) > 1)


def _as_one_type(files: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of Parquet files whose columns have types that fit into one, such as 10 and 10.5."""
    parts = [pl.scan_parquet(path, glob=False, hive_partitioning=True) for path in files]
    names = parts[0].collect_schema().names()
    rows = pl.concat([part.select(names) for part in parts], how="vertical_relaxed")
    try:
        rows.collect_schema()
    except pl.exceptions.PolarsError:
        schemas = [part.collect_schema() for part in parts]
        first, places = schemas[0], range(len(files))
        name, odd = next((name, at) for at in places for name in names if schemas[at][name] != first[name])
        held = f"{first[name]} in {files[0].name} and {schemas[odd][name]} in {files[odd].name}"
        raise ValueError(f"its parts differ: column {name!r} holds {held}; write all of them alike") from None
    return rows


def _arrow(files: Sequence[Path]) -> pl.LazyFrame:
    """Return the rows of Arrow files, or of streams that were saved with the same name."""
    streams = []
    for path in files:
        with path.open("rb") as file:
            start = file.read(4)
        if start == b"FEA1":
            raise ValueError("it is of the first version of Feather; write it again with a current library")
        streams.append(start == ARROW_STREAM)
    if not any(streams):
        if len(files) > 1:
            _check_columns(files, lambda path: list(pl.read_ipc_schema(path)))
        return pl.scan_ipc([glob.escape(str(path)) for path in files], hive_partitioning=len(files) > 1)
    frames = {
        path: pl.read_ipc_stream(path) if stream else pl.read_ipc(path)
        for path, stream in zip(files, streams, strict=True)
    }
    _check_columns(files, lambda path: frames[path].columns)
    return pl.concat(frames.values()).lazy()


def _check_columns(files: Sequence[Path], names_of: Callable[[Path], Sequence[str]]) -> None:
    names = []
    for path in files:
        with naming(path):  # the message names the file, not its folder
            names.append(names_of(path))
        check_parts(names[0], names[-1], files[0].name, path.name)


def _chosen(tables: list[str], table: str | None, path: Path, noun: str) -> str:
    """Return the table to read: the one that was named, or the only one."""
    listed = ", ".join(tables[:10]) + (", …" if len(tables) > 10 else "")
    if table is None:
        if len(tables) == 1:
            return tables[0]
        if not tables:
            raise ValueError(f"it has no {noun}")
        raise ValueError(f"it has {len(tables)} {noun}s ({listed}); name one, such as '{path.name}?table={tables[0]}'")
    if table not in tables:
        raise ValueError(f"it has no {noun} {table!r}, only {listed}")
    return table


def _excel(path: Path, table: str | None, notices: list[str] | None) -> pl.DataFrame:
    """Read a sheet; rows above its header are left out with a notice."""
    import fastexcel

    if zipfile.is_zipfile(path):  # old workbooks are not
        with zipfile.ZipFile(path) as archive:
            check_archive(archive, path.stat().st_size)
            _notice_errors(archive, path.name, notices)
    book = fastexcel.read_excel(path)
    sheets = list(book.sheet_names)
    if table is None and len(sheets) > 1:  # new workbooks may have empty sheets
        sheets = [
            name for name in sheets if book.load_sheet(name, header_row=None, n_rows=1).to_polars().height
        ] or sheets
    chosen = _chosen(sheets, table, path, "sheet")
    frame = _with_clocks(book.load_sheet(chosen, schema_sample_rows=None).to_polars())
    if not any(name.startswith("__UNNAMED__") for name in frame.columns[1:]):
        return frame
    first = book.load_sheet(chosen, header_row=None, n_rows=MOST_ABOVE + 1).to_polars()
    filled = [sum(cell is not None for cell in cells) for cells in first.iter_rows()]
    above = next((row for row, count in enumerate(filled) if count >= HEADER_SHARE * max(filled)), 0)
    if not above:
        return frame
    rows = [[str(cell) for cell in cells if cell is not None] for cells in first.head(above).iter_rows()]
    title = [" ".join(row)[:LONGEST_TITLE] for row in rows if row]
    if title:
        notice(f"Left out {plural(len(title), 'row')} above the table in {path.name}: {shortened(title[0])}.", notices)
    return _with_clocks(book.load_sheet(chosen, header_row=above, schema_sample_rows=None).to_polars())


def _notice_errors(archive: zipfile.ZipFile, name: str, notices: list[str] | None) -> None:
    """Say how many cells of a workbook hold an error of Excel, which its reader takes for empty; #N/A is called so."""
    found = []
    for sheet in archive.namelist():
        if sheet.startswith("xl/worksheets/") and sheet.endswith(".xml"):
            cells = archive.read(sheet)
            if b't="e"' in cells:  # found much faster than by the pattern
                found += re.findall(rb'<c\b([^>]*\bt="e"[^>]*)>.*?<v>(#[^<]*)</v>', cells)
    if wrong := [(cell, word.decode()) for cell, word in found if word != b"#N/A"]:
        cell, word = wrong[0]
        first = re.search(rb'\br="([A-Z]+\d+)"', cell)
        where = f" in {first[1].decode()}" if first else ""
        those = f"{plural(len(wrong), 'cell')} of {name} with an error, such as {word}{where},"
        notice(f"{those[0].upper()}{those[1:]} {'counts' if len(wrong) == 1 else 'count'} as empty.", notices)


def _with_clocks(frame: pl.DataFrame) -> pl.DataFrame:
    """Return times of day of a sheet, which arrive as times on the day before 1900, as times of day; days as dates."""
    for each in frame:
        if isinstance(each.dtype, pl.Datetime) and (known := each.drop_nulls()).len():
            if (known.dt.date() < date(1900, 1, 1)).all():
                frame = frame.with_columns(each.dt.time())
            elif (known.dt.time() == time()).all():
                frame = frame.with_columns(each.dt.date())
    return frame


def _duckdb(path: Path, table: str | None, query: str | None) -> pl.DataFrame:
    import duckdb

    settings = {
        "enable_external_access": "false",  # a view in the file must not read other files, or the network
        "autoload_known_extensions": "false",
        "autoinstall_known_extensions": "false",
        "lock_configuration": "true",
        "threads": "2",
    }
    with duckdb.connect(str(path), read_only=True, config=settings) as connection:
        if query is None:
            found = connection.execute("SELECT table_schema, table_name FROM information_schema.tables ORDER BY 2")
            parts = {".".join(each).removeprefix("main."): each for each in found.fetchall()}
            table = _chosen([*parts], table, path, "table")
        most = _most_rows(path)
        try:
            rows = connection.sql(query or f"SELECT * FROM {'.'.join(map(_quoted, parts[str(table)]))}")
            frame = frame_of(rows.limit(most + 1))
        except (duckdb.CatalogException, duckdb.BinderException) as error:
            raise ValueError(_broken(table, query, error)) from None
    if frame.height > most:
        raise ValueError(f"it has more than {most:,} rows, too many for its size")
    return frame


def _sqlite(path: Path, table: str | None, query: str | None) -> pl.DataFrame:
    import sqlite3

    address = path.resolve().as_uri() + "?mode=ro"
    if not path.with_name(f"{path.name}-wal").exists():
        with path.open("rb") as file:
            logs = file.read(20)[18:] == b"\2\2"  # writes go to a log that reading would create beside the file
        address += "&immutable=1" if logs else ""
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # an ATTACH would create its file
        connection.text_factory = lambda text: text.decode(errors="replace")
        if query is None:
            found = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
                "ESCAPE '\\' ORDER BY name"
            ).fetchall()
            table = _chosen([row[0] for row in found], table, path, "table")
        try:
            cursor = connection.execute(query or f"SELECT * FROM {_quoted(str(table))}")
        except sqlite3.OperationalError as error:
            raise ValueError(_broken(table, query, error)) from None
        return _fetched(cursor, _most_rows(path))


def _broken(table: str | None, query: str | None, error: Exception) -> str:
    """Return why a query, or a view that is read as a table, cannot be evaluated."""
    line = str(error).partition("\n")[0][:200]
    return line if query is not None else f"its view {table!r} cannot be evaluated ({line}); correct it in the database"


def _most_rows(path: Path) -> int:
    return max(ROWS_FREE, ROWS_PER_BYTE * path.stat().st_size)


def _fetched(cursor: Any, most: int = sys.maxsize) -> pl.DataFrame:
    """Return the rows of a cursor as a data frame; a column of text and numbers becomes text."""
    if cursor.description is None:
        raise ValueError(NO_TABLE)
    names = [str(column[0]) for column in cursor.description]
    if len(set(names)) < len(names):
        raise ValueError("two columns of the query have the same name; rename one with AS")
    batches = [pl.DataFrame(schema=dict.fromkeys(names, pl.Null))]
    while rows := cursor.fetchmany(BATCH):
        if (len(batches) - 1) * BATCH > most:
            raise ValueError(f"it has more than {most:,} rows, too many for its size")
        batches.append(pl.DataFrame([_series(*each) for each in zip(names, zip(*rows, strict=True), strict=True)]))
    return pl.concat(batches, how="vertical_relaxed")


def _series(name: str, cells: Sequence[Any]) -> pl.Series:
    """Return objects as a column; text and numbers mixed, and objects that polars does not know, become text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    mixed = len(kinds) > 1 and not kinds <= {int, float}
    column = pl.Series(name, cells, dtype=pl.Object if mixed else None, strict=False)
    return column if column.dtype != pl.Object else pl.Series(name, [None if c is None else str(c) for c in cells])


def read_postgresql(address: str, query: str) -> pl.DataFrame:
    """Return the result of a query; the session is read-only. Passwords may be in ``PGPASSWORD`` or ``~/.pgpass``."""
    from adbc_driver_postgresql import dbapi

    if not re.search(r"[?&]options=", address):
        address += f"{'&' if '?' in address else '?'}options={READ_ONLY}"
    try:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return _without_extensions(cursor.fetch_polars())
    except dbapi.Error as error:  # the server's message in one line, without the driver's words around it
        text = " ".join(str(error).split())
        text = re.sub(r"^[A-Z_]+: |\[libpq\] |Failed to execute query '.*': |\. SQLSTATE: \w+$|ERROR: +", "", text)
        raise ValueError(text[:300]) from None


def read_connection(connection: Any, query: str) -> pl.DataFrame:
    """Return the result of a query over a connection of DuckDB, SQLAlchemy, ADBC or any DB-API library."""
    if hasattr(connection, "sql"):  # DuckDB
        relation = connection.sql(query)
        if not is_frame(relation):
            raise ValueError(NO_TABLE)
        return frame_of(relation)
    if not hasattr(connection, "cursor"):
        return pl.read_database(query, connection)
    with closing(connection.cursor()) as cursor:
        cursor.execute(query)
        if cursor.description is not None and hasattr(cursor, "fetch_polars"):
            return _without_extensions(cursor.fetch_polars())
        return _fetched(cursor)


def quoted_table(name: str) -> str:
    """Return the name of a table, perhaps with its schema, in quotes.

    >>> quoted_table('bank.pay"ments')
    '"bank"."pay""ments"'
    """
    return ".".join(_quoted(part) for part in name.split(".", 1))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_frame(source: Any) -> bool:
    """Return whether an object is a table in memory, of whatever library."""
    if _library(source) in ("polars", "pandas"):
        return type(source).__name__ in ("DataFrame", "LazyFrame")
    if hasattr(source, "__arrow_c_stream__"):
        return hasattr(source, "columns") or hasattr(source, "schema")
    return hasattr(source, "columns") and any(
        hasattr(source, name)
        for name in ("__dataframe__", "__narwhals_dataframe__", "toArrow", "to_pyarrow", "compute")
    )


def frame_of(table: Any) -> pl.DataFrame:
    """Return a data frame of polars, pandas, pyarrow, or any library that Arrow or narwhals can read, as polars'.

    An index of pandas is a column if it has a name or holds text.
    """
    if not is_frame(table):
        raise ValueError(f"a table must be a path or a data frame, got {type(table).__name__}")
    if isinstance(table, pl.DataFrame):
        return table.with_columns(_series(each.name, each.to_list()) for each in table if each.dtype == pl.Object)
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    try:
        if _library(table) == "pandas":
            return _from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return _without_extensions(pl.DataFrame(_narrow(table)))
        return _by_narwhals(table)
    except (pl.exceptions.PolarsError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0][:200]
        raise ValueError(f"the {type(table).__name__} cannot be read as a table: {reason}") from None


def _library(source: Any) -> str:
    return type(source).__module__.partition(".")[0]


def _by_narwhals(table: Any) -> pl.DataFrame:
    try:
        import narwhals
    except ImportError:
        raise ValueError(
            f"reading a {type(table).__name__} needs the package narwhals; run pip install 'hopsight[frames]', or "
            "convert it to polars or pandas first"
        ) from None
    frame: Any = narwhals.from_native(table)
    frame = frame.collect() if hasattr(frame, "collect") else frame
    return _without_extensions(frame.to_polars())


def _from_pandas(table: Any) -> pl.DataFrame:
    """Convert column by column: Arrow would refuse columns of mixed objects, and pyarrow may not be there."""
    if getattr(table.columns, "nlevels", 1) > 1:
        raise ValueError("the DataFrame has several levels of columns; join their names into one first")
    index = table.index
    if any(name is not None for name in index.names) or (index.nlevels == 1 and _is_text(index)):
        table = table.reset_index()
    names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns of the DataFrame are called {twice!r}; rename one")
    return pl.DataFrame([_pandas_series(name, table.iloc[:, place]) for place, name in enumerate(names)])


def _is_text(column: Any) -> bool:
    return column.dtype == object or str(column.dtype).startswith(("string", "str"))


def _pandas_series(name: str, column: Any) -> pl.Series:
    """Return a column of pandas; categories become their values."""
    kind = str(column.dtype)
    if kind.startswith("datetime64[") and "," in kind:  # with a time zone
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        kind = str(column.dtype)
    is_nullable = kind[:1].isupper() or kind.endswith("[pyarrow]") or kind == "boolean"  # what NumPy cannot hold
    if getattr(column.dtype, "kind", "") in "biufmM" and not is_nullable:
        values = column.to_numpy()
        if str(values.dtype).endswith("64[s]"):  # polars knows finer units only
            values = values.astype(f"{values.dtype.kind}8[ms]")
        return pl.Series(name, values, nan_to_null=values.dtype.kind == "f")
    empty = column.isna().to_numpy(dtype=bool)
    return _series(name, [None if gap else cell for cell, gap in zip(column.tolist(), empty, strict=True)])


def _narrow(table: Any) -> Any:
    """Return a table whose decimals of 256 bits and intervals, which polars cannot read, are floats, in seconds."""
    if _library(table) == "_duckdb" and any("INTERVAL" in str(kind) for kind in table.types):
        forms = {True: "epoch({0}) AS {0}", False: "{0}::VARCHAR AS {0}"}
        kinds = [(_quoted(name), str(kind)) for name, kind in zip(table.columns, table.types, strict=True)]
        shown = (forms[kind == "INTERVAL"].format(name) if "INTERVAL" in kind else name for name, kind in kinds)
        table = table.project(", ".join(shown))
    for place, field in enumerate(table.schema if _library(table) == "pyarrow" else ()):
        if str(field.type).startswith("decimal256"):
            table = table.set_column(place, field.name, table.column(place).cast("float64"))
    return table


def _without_extensions(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose columns of an extension type, such as PostgreSQL's numeric, are as they are stored."""
    for name, kind in frame.schema.items():
        if hasattr(kind, "ext_storage") or "ext[" in str(kind):
            frame = frame.with_columns(frame[name].ext.storage())
    return frame


def write_frame(frame: pl.DataFrame, path: Path, notices: list[str] | None = None) -> None:
    """Write a table that appears complete or not at all.

    All text in a CSV file is quoted. A text that a spreadsheet could take for a formula, such as ``=1+1``, gets a ``'``
    before it, which is taken off when hopsight reads the file.
    """
    name = path.name.lower()
    is_parquet = name.endswith((".parquet", ".pq"))
    safe = frame if is_parquet else mark_guarded(frame)
    if safe is not frame:
        notice(f"Escaped formulas in {path.name} with a leading '; hopsight removes it when reading.", notices)
    with writing(path) as temporary:
        if is_parquet:
            frame.write_parquet(temporary)
            return
        separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        if not name.endswith(".gz"):
            safe.write_csv(temporary, separator=separator, quote_style="non_numeric")
            return
        text = safe.write_csv(separator=separator, quote_style="non_numeric")
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, and at most {MAX_COLUMNS:,} are allowed")
    return tuple(names)
