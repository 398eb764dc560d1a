"""Open tables: text, Parquet, workbooks, databases and data frames all become a :class:`Table`."""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopsight.checks import plural, shortened
from hopsight.io.dataframes import frame_of
from hopsight.io.files import check_archive, check_file, check_filled, naming, writing
from hopsight.io.notices import notice
from hopsight.io.parts import TextParts, as_one, once
from hopsight.io.pieces import JsonLines, open_lines, text_blocks
from hopsight.io.reader import TableReader
from hopsight.io.sources import Address, kind_of
from hopsight.io.textfile import TextTable, open_text, text_content
from hopsight.system.cells import mark_guarded
from hopsight.system.lazy_polars import pl

MAX_COLUMNS = 100_000
JSON = re.compile(r"\.(jsonl|ndjson|json)(\.|$)")
HEAD = 100  # rows that tell what a column holds
_FIELD = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*+:', re.DOTALL)  # the name of a field in JSON
_NESTED = re.compile(rb":\s*[\[{]")
YES_NO = {"yes": True, "no": False, "true": True, "false": False}


@dataclass(frozen=True)
class Table:
    """A table whose header has been read and whose rows may not have been."""

    names: tuple[str, ...]
    text: TextTable | TextParts | None = None
    reader: TableReader | None = None
    frame: pl.DataFrame | None = None
    lines: JsonLines | None = None

    @property
    def typed(self) -> bool:
        """Whether the table itself says what is a number, unlike CSV, which is all text."""
        return self.text is None

    def read(self, columns: Sequence[str], *, text: Sequence[str]) -> pl.DataFrame:
        """Return these columns, in this order; those named in ``text`` are never read as numbers."""
        if self.frame is not None:
            return self.frame.select(columns)
        if self.reader is not None:
            return self.reader.read(columns)
        if self.lines is not None:
            return self.lines.read(columns)
        assert self.text is not None
        return self.text.read(columns, text)

    def codes(self) -> list[str]:
        """Return the columns of numbers with leading zeros; a table with types has them as text."""
        return [] if self.text is None else self.text.codes()

    def head(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return the first rows of these columns; of a text file as text."""
        if self.frame is not None:
            return self.frame.select(columns).head(HEAD)
        if self.reader is not None:
            return self.reader.read(columns, 0, HEAD)
        if self.lines is not None:
            return next(self.lines.blocks(columns)).head(HEAD)
        assert self.text is not None
        places = [self.text.names.index(name) for name in columns]
        cells = zip(*([row[place] for place in places] for row in self.text.first_rows), strict=True)
        return pl.DataFrame([pl.Series(n, list(c), dtype=pl.String) for n, c in zip(columns, cells, strict=False)])

    def blocks(self, columns: Sequence[str], size: int, *, text: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield these columns in blocks of at most ``size`` rows; a large file is never in memory as a whole.

        Parquet and text files are large files in this sense, and JSON Lines if the table was opened with ``by_blocks``;
        workbooks, databases and data frames are in memory already.
        """
        if self.reader is not None:
            for first in range(0, self.reader.n_rows(), size):
                yield self.reader.read(columns, first, size)
            return
        if self.frame is not None:
            blocks = iter([self.frame.select(columns)])
        elif self.lines is not None:
            blocks = self.lines.blocks(columns)
        else:
            assert self.text is not None
            blocks = text_blocks(self.text, columns, text)
        for block in blocks:
            yield from block.iter_slices(size)


@contextmanager
def open_table(
    source: Any, *, header: bool | None = None, notices: list[str] | None = None, by_blocks: bool = False
) -> Iterator[Table]:
    """Read the header of a table, given as a path, an address or a data frame.

    A text file whose first line looks like all others has no header: its columns are then called
    ``column1, column2, …``, unless a comment names them. ``header`` says whether there is one. With ``by_blocks``, a
    large file of JSON Lines, which has no header, is not read as a whole.
    """
    lines = open_lines(source) if by_blocks and isinstance(source, Path) and _is_plain_json(source) else None
    if lines is not None:
        yield Table(_checked_names(list(lines.types)), lines=lines)
    elif isinstance(source, Path):
        with _open_file(source, kind_of(source), {}, header, notices) as table:
            yield table
    elif isinstance(source, Address):
        with naming(source), _open_address(source, header, notices) as table:
            yield table
    else:
        frame = frame_of(source)
        yield Table(_checked_names(frame.columns), frame=frame)


@contextmanager
def _open_address(place: Address, header: bool | None, notices: list[str] | None) -> Iterator[Table]:
    from hopsight.io.databases import quoted_table, read_connection, read_postgresql

    if place.kind not in ("postgresql", "connection"):
        for path in place.paths:
            check_file(path)
        with _open_file(place.paths, place.kind, place.options, header, notices) as table:
            yield table
        return
    options = place.options
    query = options["query"] if "query" in options else f"SELECT * FROM {quoted_table(options['table'])}"
    if place.kind == "postgresql":
        frame = read_postgresql(place.text, query)
    else:
        frame = read_connection(place.connection, query)
    yield Table(_checked_names(frame.columns), frame=frame)


@contextmanager
def _open_file(
    paths: Path | Sequence[Path], kind: str, options: Any, header: bool | None, notices: list[str] | None
) -> Iterator[Table]:
    files = (paths,) if isinstance(paths, Path) else tuple(paths)
    _check_options(kind, options)
    if kind == "text":
        if "header" in options:
            header = YES_NO[options["header"].lower()]
        yield _open_texts(files, header, options.get("encoding"), notices)
        return
    if kind == "excel":
        _check_workbook(files[0])
    with TableReader(kind, files, table=options.get("table"), query=options.get("query")) as reader:
        table = Table(_checked_names(reader.names()), reader=reader)
        if title := reader.above() if kind == "excel" else []:
            above = f"{plural(len(title), 'row')} above the table in {files[0].name}"
            notice(f"Left out {above}: {shortened(title[0])}.", notices)
        yield table


def _open_texts(files: Sequence[Path], header: bool | None, encoding: str | None, notices: list[str] | None) -> Table:
    """Open text files with the same columns as one table."""
    tables = [_open_text(files[0], header, encoding, notices)]
    if len(files) == 1:
        return tables[0]
    pass_on = once(files[0].name, notices)
    for file in files[1:]:
        with naming(file):
            found: list[str] = []
            tables.append(_open_text(file, header, encoding, found))
            pass_on(file.name, found)
    texts = [table.text for table in tables if isinstance(table.text, TextTable)]
    if len(texts) == len(tables):
        whole = as_one(texts, files)
        return Table(_checked_names(whole.names), text=whole)
    frame = pl.concat([table.read(table.names, text=table.names) for table in tables], how="diagonal_relaxed")
    return Table(_checked_names(frame.columns), frame=frame)


def _open_text(path: Path, header: bool | None, encoding: str | None, notices: list[str] | None) -> Table:
    if JSON.search(path.name.lower()) is None:
        text = open_text(path, header=header, encoding=encoding, notices=notices)
        return Table(_checked_names(text.names), text=text)
    frame = _flat(_read_json(path, text_content(path, encoding, notices)))
    return Table(_checked_names(frame.columns), frame=frame)


def _is_plain_json(path: Path) -> bool:
    return JSON.search(path.name.lower()) is not None and text_content(path, notices=[]) is None


def _read_json(path: Path, content: bytes | None) -> pl.DataFrame:
    """Read JSON Lines, or one array of objects."""
    content = (path.read_bytes() if content is None else content).removeprefix(codecs.BOM_UTF8)
    is_array = content[:1024].lstrip()[:1] == b"["
    check_filled(path, content, b"{", len(set(_FIELD.findall(content))))
    try:
        if _NESTED.search(content):
            check_filled(path, content, b"{", _n_columns(content, is_array))
        if is_array:
            return pl.read_json(content, infer_schema_length=None)
        return _unwrapped(pl.read_ndjson(content, infer_schema_length=None))
    except pl.exceptions.PolarsError:
        raise ValueError(
            'it is not JSON Lines: every line must be one JSON object, such as {"source": 1}, or the whole file an '
            "array of them"
        ) from None


def _n_columns(content: bytes, is_array: bool) -> int:
    """Return how many columns nested objects become: a field of one may have as many fields as there are names."""

    def leaves(kind: Any) -> int:
        if isinstance(kind, pl.Struct):
            return sum(leaves(field.dtype) for field in kind.fields)
        return leaves(kind.inner) if isinstance(kind, pl.List) else 1

    if is_array:  # polars tells the fields of lines only
        content = b'{"":' + content.replace(b"\n", b" ").replace(b"\r", b" ") + b"}"
    return sum(map(leaves, pl.scan_ndjson(content, infer_schema_length=None).collect_schema().values()))


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


def _check_options(kind: str, options: Any) -> None:
    """Refuse an option that a kind of file does not have."""
    known = {"text": ("header", "encoding"), "parquet": (), "arrow": (), "excel": ("table",)}.get(
        kind, ("table", "query")
    )
    for name, value in options.items():
        if name not in known:
            allowed = f"only {' and '.join(known)}" if known else "no options"
            raise ValueError(f"{name}={value[:50]} is not for such a file, which has {allowed}")
        if name == "header" and value.lower() not in YES_NO:
            raise ValueError(f"header must be yes or no, got {value[:50]!r}")


def _check_workbook(path: Path) -> None:
    """Refuse a workbook that unpacks to too much; old workbooks are not zip archives."""
    import zipfile

    if path.name.lower().endswith(".xls") or not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)


def write_frame(frame: pl.DataFrame, path: Path, notices: list[str] | None = None) -> None:
    """Write a table that appears complete or not at all.

    All text in a CSV file is quoted. A text that a spreadsheet could take for a formula, such as ``=1+1``, gets a ``'``
    before it, which is taken off when hopsight reads the file.
    """
    name = path.name.lower()
    if not name.endswith((".parquet", ".pq")):
        safe = mark_guarded(frame)
        if safe is not frame:
            notice(
                f"Put a ' before formulas of spreadsheets in {path.name}; hopsight removes it when reading.", notices
            )
        frame = safe
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


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names):,} columns, and at most {MAX_COLUMNS:,} are allowed")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two of its columns are called {name!r}; rename one")
        seen.add(name)
    return tuple(names)
