"""Read large text files in pieces: the values are those of a whole read, and only a piece is in memory at a time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopsight.io.parts import TextParts
from hopsight.io.textfile import TextTable
from hopsight.system.lazy_polars import pl

PIECE = 16 * 2**20  # bytes; a file of at most so many is read as a whole
LEAST_ROWS = 100  # rows from which polars infers types


def pieces(source: Path | bytes, *, quotes: bool = True) -> Iterator[bytes]:
    """Yield a text in pieces of whole records; with ``quotes``, a line end inside of quotes does not end a record."""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
        held = b""
        while more := file.read(PIECE):
            held += more
            if end := _last_end(held, quotes):
                yield held[:end]
                held = held[end:]
        if held.strip():
            yield held


def _last_end(content: bytes, quotes: bool) -> int:
    """Return where the last whole record ends: after a line end with an even number of quotes before it."""
    before, end = content.count(b'"') if quotes else 0, len(content)
    while (place := content.rfind(b"\n", 0, end)) >= 0:
        if before:
            before -= content.count(b'"', place, end)
        if before % 2 == 0:
            return place + 1
        end = place
    return 0


def text_blocks(text: TextTable | TextParts, columns: Sequence[str], as_text: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield these columns of one or several text files in blocks; those named in ``as_text`` are never numbers.

    The first pass over a large file decides the types as a whole read does: from the first rows, and all columns are
    text if a later row does not fit.
    """
    if isinstance(text, TextTable):
        yield from _blocks(text, _types(text, as_text), columns, as_text)
        return
    parts = [
        (part, more, _types(part, as_text), [name for name in columns if name not in more])
        for part, more in zip(text.parts, text.of_folders, strict=True)
    ]

    def blocks(part: TextTable, more: Mapping[str, str], types: Any, own: list[str]) -> Iterator[pl.DataFrame]:
        cells = [pl.lit(value).alias(name) for name, value in more.items() if name in columns]
        for block in _blocks(part, types, own, as_text):
            yield block.with_columns(cells).select(columns)

    heads = [next(blocks(*part)).clear() for part in parts]
    schema = pl.concat(heads, how="vertical_relaxed").schema  # numbers in one file and text in another become text
    for part in parts:
        for block in blocks(*part):
            yield block.cast(schema)


def _types(table: TextTable, as_text: Sequence[str]) -> dict[str, Any] | None:
    """Return the types that a whole read gives the columns, or None if the table is to be read as a whole."""
    types: dict[str, Any] | None = None
    if table.n_bytes <= PIECE:
        return None
    try:
        for piece in pieces(table.source):
            if types is None:
                frame = table.parse(piece, dict.fromkeys(as_text, pl.String), guess=True)
                types = dict(frame.schema)
                if frame.height < LEAST_ROWS:
                    return None
            else:
                table.parse(piece, types, is_first=False)
    except pl.exceptions.PolarsError:
        return dict.fromkeys(table.names, pl.String)
    return types


def _blocks(
    table: TextTable, types: Mapping[str, Any] | None, columns: Sequence[str], as_text: Sequence[str]
) -> Iterator[pl.DataFrame]:
    if types is None:
        yield table.read(columns, as_text)
        return
    try:
        for number, piece in enumerate(pieces(table.source)):
            yield table.cleaned(table.parse(piece, types, is_first=number == 0), columns)
    except pl.exceptions.PolarsError as error:
        table.read(columns, as_text)  # says what is wrong
        raise ValueError(f"one of its rows cannot be read: {str(error).partition(chr(10))[0][:200]}") from None


@dataclass(frozen=True)
class JsonLines:
    """A large file of JSON Lines without nested objects, whose types are those of a whole read."""

    path: Path
    types: Mapping[str, Any]

    def blocks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield these columns in blocks."""
        for piece in pieces(self.path, quotes=False):
            yield pl.read_ndjson(io.BytesIO(piece), schema=dict(self.types)).select(columns)

    def read(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return these columns of all rows."""
        return pl.concat(self.blocks(columns))


def open_lines(path: Path) -> JsonLines | None:
    """Return a large file of JSON Lines, or None if it is small, is something else, or has nested objects."""
    if path.stat().st_size <= PIECE:
        return None
    heads: list[pl.DataFrame] = []
    try:
        for piece in pieces(path, quotes=False):
            heads.append(pl.read_ndjson(io.BytesIO(piece), infer_schema_length=None).clear())
            if any(kind.is_nested() for kind in heads[-1].dtypes):
                return None
        types = pl.concat(heads, how="diagonal_relaxed").schema
    except pl.exceptions.PolarsError:
        return None
    return JsonLines(path, dict(types))
