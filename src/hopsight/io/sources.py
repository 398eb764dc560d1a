"""Where a table is, and how much a file may unpack to.

A table is a file, several files, a table of a workbook or database, or a query of a connection: docs/input.md lists how
each is written. ``cases.csv?column=outcome`` also names the column of labels of a file of cases.
"""

from __future__ import annotations

import bz2
import errno
import glob
import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, unquote_plus

from hopsight.checks import Refusal
from hopsight.system.files import replacing
from hopsight.system.machine import check_limit

WRITTEN_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")  # of the tables that hopsight writes
TEXT_KINDS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".edges", ".edgelist", ".jsonl", ".ndjson", ".json")
PACKINGS = (".gz", ".zst", ".bz2", ".xz", ".zip")
KINDS = {  # of tables that are not text
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "sqlite": (".db", ".sqlite", ".sqlite3"),
    "duckdb": (".duckdb", ".ddb"),
}
WORDS = {
    "parquet": "a Parquet file", "arrow": "an Arrow or Feather file", "excel": "an Excel workbook",
    "sqlite": "an SQLite file", "duckdb": "a DuckDB file",
}  # fmt: skip
EXTRAS = {  # that the packages of some kinds are in
    "fastexcel": "excel", "duckdb": "sql", "adbc_driver_postgresql": "sql", "zstandard": "zstd", "networkx": "networkx",
}  # fmt: skip
TEXT_SUFFIXES = tuple(f"{kind}{packing}" for kind in TEXT_KINDS for packing in ("", *PACKINGS))
OTHER_SUFFIXES = tuple(suffix for suffixes in KINDS.values() for suffix in suffixes)
TABLE_SUFFIXES = (*WRITTEN_SUFFIXES, *TEXT_SUFFIXES, ".zip", *OTHER_SUFFIXES)
UNPACKED_FREE = 256 * 2**20  # bytes that every file may unpack to
UNPACKED_RATIO = 200  # a larger result may be at most this many times the size of the file
LOADED_RATIO = 800  # likewise for the graph in memory, where one byte may become a number of eight bytes
NODE_BYTES, COLUMN_BYTES, NUMBER_BYTES = 64, 128, 8  # the least that a node, a column name and a number take
_SCAN = 2**24  # bytes of a file that are read at once
DAMAGED = "it is damaged, or its format is not what its name says"
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, lzma.LZMAError, EOFError, LookupError, RecursionError, TypeError,
)  # fmt: skip


class Unreadable(ValueError):  # noqa: N818 (it reads better this way)
    """A file or another place cannot be read; the message names it."""


@contextmanager
def reading(source: Any, errors: type[BaseException] = BaseException) -> Iterator[None]:
    """Turn every error inside into one sentence that names the file or address; other sources have no name."""
    if not isinstance(source, Path | Address):
        yield
        return
    with naming(source, errors):
        if isinstance(source, Path):
            check_file(source)
        yield


@contextmanager
def naming(place: object, errors: type[BaseException] = BaseException) -> Iterator[None]:
    """Turn every error inside into one sentence that names the place, which need not be a file.

    A parser that meets bytes it was not made for can fail in any way; the user needs to know which file it was. An
    error that names another place already, or a parameter, stays as it is, and so do other ``errors`` than asked for.
    """
    try:
        yield
    except (Unreadable, Refusal):
        raise
    except errors as error:
        # A panic of polars is not an Exception; a KeyboardInterrupt must pass.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        full = os.strerror(errno.ENOSPC)
        if full in str(error):  # where rows are sorted, which is not the file's fault
            raise OSError(errno.ENOSPC, full) from error
        path = place.paths[0] if isinstance(place, Address) and place.paths else place
        kind = kind_of(path) if isinstance(path, Path) else ""
        is_query = isinstance(place, Address) and "query" in place.options
        raise Unreadable(f"cannot read {place}: {_sentence(error, '' if is_query else kind)}") from error


def check_file(path: Path) -> None:
    """Refuse anything but a regular file that is not empty; a pipe or a device could be endless."""
    if not path.exists():
        raise ValueError("there is no such file")
    if path.is_dir():
        raise ValueError("it is a folder, not a file")
    if not path.is_file():
        raise ValueError("it is not a regular file")
    if path.stat().st_size == 0:
        raise ValueError("it is empty")


def check_unpacked(n_bytes: int, packed: int, ratio: int = UNPACKED_RATIO) -> None:
    """Refuse a decompression bomb, which unpacks to far more bytes than real data would, and what exceeds the limit."""
    check_limit(n_bytes)
    if n_bytes > max(UNPACKED_FREE, ratio * packed):
        raise ValueError(
            f"its {packed:,} bytes unpack to {n_bytes:,}, an implausible size; unpack it, or store a matrix as sparse"
        )


def check_loaded(packed: int, *, n_nodes: int = 0, n_columns: int = 0, n_numbers: int = 0) -> None:
    """Refuse a small file that declares a huge graph, before any memory is allocated.

    >>> check_loaded(1_000, n_nodes=10**9)
    Traceback (most recent call last):
    ValueError: its 1,000 bytes unpack to 64,000,000,000, an implausible size; unpack it, or store a matrix as sparse
    """
    check_unpacked(NODE_BYTES * n_nodes + COLUMN_BYTES * n_columns + NUMBER_BYTES * n_numbers, packed, LOADED_RATIO)


def check_filled(path: Path, content: bytes | None, mark: bytes, n_columns: int) -> None:
    """Refuse a table most of whose cells are empty because its rows lack them: each takes memory, but no byte.

    ``content`` is the text of the file, None if it is the file itself; every row has a ``mark``.
    """
    packed = path.stat().st_size
    if n_columns * NUMBER_BYTES <= LOADED_RATIO and content is None:
        return  # a row has at least one byte
    if content is not None:
        n_rows = content.count(mark)
    else:
        with path.open("rb") as file:
            n_rows = sum(piece.count(mark) for piece in iter(lambda: file.read(_SCAN), b""))
    check_loaded(packed, n_numbers=n_rows * n_columns)


def check_archive(archive: zipfile.ZipFile, packed: int) -> None:
    """Refuse a zip archive whose members together would unpack to too much."""
    check_unpacked(sum(member.file_size for member in archive.infolist()), packed)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces ``path`` on success; an error becomes one sentence that names the file."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except Exception as error:
        raise ValueError(f"cannot write {path}: {_sentence(error)}") from error


def _sentence(error: BaseException, kind: str = "") -> str:
    """Return the first line of an error message, without a library's advice to programmers.

    A library that stumbles over a file of some ``kind`` means that it is damaged.
    """
    if isinstance(error, MemoryError):
        return str(error) or "it needs more memory than there is"
    if isinstance(error, UnicodeDecodeError):
        return f"its text is not {error.encoding.upper()}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ImportError) and error.name in EXTRAS:
        return f"that needs the package {error.name}; run pip install 'hopsight[{EXTRAS[error.name]}]'"
    line = next(iter(str(error).strip().splitlines()), "")[:500].rstrip(".")
    if kind in WORDS and not isinstance(error, ValueError):
        return f"it is damaged, or not {WORDS[kind]} ({line[:200]})"
    if not line or isinstance(error, _DAMAGE):
        return DAMAGED
    return line


_PIECE = 16 * 2**20  # bytes unpacked at a time
_ZSTD_PIECE = 2**12  # packed bytes at a time, each of which may unpack to 32,768
GZIP, ZSTD, BZIP2, XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0"
ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the latter begins an archive without files
ZLIB = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")


def unpacked(path: Path) -> bytes | None:
    """Return what a compressed file holds, or None if it is not compressed.

    A zip archive must hold one file. Zstandard needs the package of the extra ``hopsight[zstd]``.
    """
    with path.open("rb") as file:
        start = file.read(6)
    for mark, opener in ((GZIP, gzip.open), (BZIP2, bz2.open), (XZ, lzma.open)):
        if start.startswith(mark):
            with opener(path) as packed:
                return _read(packed, path)
    if start.startswith(ZSTD):
        return _unzstd(path)
    if start.startswith(ZIP):
        return _unzip(path)
    return None


def _read(packed: IO[bytes] | Any, path: Path) -> bytes:
    size, unpacked = path.stat().st_size, io.BytesIO()
    while piece := packed.read(_PIECE):
        unpacked.write(piece)
        check_unpacked(unpacked.tell(), size)
    return unpacked.getvalue()


def _unzstd(path: Path) -> bytes:
    import zstandard

    size, unpacked = path.stat().st_size, io.BytesIO()
    tool = zstandard.ZstdDecompressor(max_window_size=2**27)
    frame = tool.decompressobj()
    try:
        with path.open("rb") as file:
            while piece := file.read(_ZSTD_PIECE):
                while piece:
                    frame = tool.decompressobj() if frame.eof else frame  # a file may hold several frames
                    unpacked.write(frame.decompress(piece))
                    check_unpacked(unpacked.tell(), size)
                    piece = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError:
        raise ValueError(DAMAGED) from None
    if not frame.eof:  # the streaming reader of the package would not notice
        raise ValueError("it is truncated")
    return unpacked.getvalue()


def _unzip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)
        members = [
            member
            for member in archive.infolist()
            if not member.is_dir() and not member.filename.startswith(("__MACOSX", ".DS_Store"))
        ]
        if not members:
            raise ValueError("it is an archive without files; zip the table again")
        if any(member.filename == "xl/workbook.xml" for member in members):
            raise ValueError("it is an Excel workbook; rename it to end in .xlsx")
        if len(members) != 1:
            raise ValueError(f"it holds {len(members)} files instead of one; unpack it, or zip the table alone")
        if members[0].flag_bits & 1:
            raise ValueError("it is protected by a password; unpack it first")
        try:
            with archive.open(members[0]) as packed:
                return _read(packed, path)
        except NotImplementedError:
            raise ValueError("it uses a compression that Python cannot read; unpack it first") from None


OPTIONS = ("table", "query", "header", "encoding", "column")
SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
_SCHEME = re.compile(r"([a-z][a-z0-9+]+)://", re.IGNORECASE)
_PASSWORD = re.compile(r"(://[^/@:]*):[^@/]*@")


@dataclass(frozen=True)
class Address:
    """A table that is not simply a file: several files, a part of one, or a table of a server."""

    text: str
    kind: str  # "text", "postgresql", "connection" or one of KINDS
    paths: tuple[Path, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    connection: Any = None
    aside: tuple[str, ...] = ()  # other tables in the folder, which are not read

    def __str__(self) -> str:
        return without_password(self.text)


def resolve(source: Any) -> Any:
    """Return a path for a plain file, an :class:`Address` for other places, and other objects unchanged."""
    if is_query(source):
        where, query = source
        if not isinstance(where, str):
            return Address("the query", "connection", options={"query": query}, connection=where)
        place = resolve(f"{where}{'&' if '?' in where else '?'}query=")
        return replace(place, text=where.partition("?")[0], options={"query": query})
    if not isinstance(source, str | Path):
        return source
    text, path = str(source), Path(source)
    if not text.strip():
        raise ValueError("the name of a file is missing: it is blank")
    if _exists(path) and not path.is_dir():
        return path
    scheme = _SCHEME.match(text)
    if scheme:
        return _by_scheme(text, scheme.group(1).lower())
    kind, files, aside = _several(path)
    if files:
        return Address(text, kind, files, aside=aside)
    name, options = _options(text)
    if options:
        return Address(text, kind_of(Path(name)), (Path(name),), options)
    return path


def is_source(source: Any) -> bool:
    """Return whether a text or path leads to a table or a file, so that it is no name of the catalog."""
    if not isinstance(source, str | Path):
        return is_query(source)
    if not str(source).strip():
        return False
    try:
        place = resolve(source)
    except ValueError:  # an address that is refused when it is read
        return True
    return isinstance(place, Address) or (_exists(place) and place.is_file())


def is_query(source: Any) -> bool:
    """Return whether an object is a pair of a connection (or an address) and a query."""
    return (
        isinstance(source, tuple | list)
        and len(source) == 2
        and isinstance(source[1], str)
        and (isinstance(source[0], str) or any(hasattr(source[0], name) for name in ("cursor", "sql", "connect")))
    )


def kind_of(path: Path) -> str:
    """Return how a file is read: ``"text"`` or one of KINDS."""
    name = path.name.lower()
    return next((kind for kind, suffixes in KINDS.items() if name.endswith(suffixes)), "text")


def files(source: str | Path) -> list[Path]:
    """Return the files behind a source; a server has none."""
    place = resolve(source)
    return list(place.paths) if isinstance(place, Address) else [place]


def file_of(source: str | Path) -> Path | None:
    """Return the file of a path or an address in one file; None if there is none, as for the name of a column."""
    try:
        place = resolve(source)
    except ValueError:
        return None
    if isinstance(place, Address):
        place = place.paths[0] if place.options and len(place.paths) == 1 else None
    return place if place is not None and _exists(place) and place.is_file() else None


def absolute(source: str) -> str:
    """Return a source that means the same from any folder, without a password; a name of the catalog stays."""
    if not is_source(source):
        return source
    place = resolve(source)
    if isinstance(place, Path):
        return str(place.resolve())
    if place.kind == "postgresql":
        return without_password(source)
    if _SCHEME.match(source):
        scheme, _, rest = source.partition(":///")
        path, mark, options = rest.partition("?")
        return f"{scheme}:///{Path(unquote(path)).resolve()}{mark}{options}"
    path, mark, options = source.partition("?") if place.options else (source, "", "")
    return f"{Path(path).resolve()}{mark}{options}"


def without_password(text: str) -> str:
    """Return an address without its password.

    >>> without_password("postgresql://ann:secret@host/bank")
    'postgresql://ann@host/bank'
    """
    return _PASSWORD.sub(r"\1@", text)


def _by_scheme(text: str, scheme: str) -> Address:
    if scheme not in SCHEMES:
        raise ValueError(
            f"hopsight opens sqlite, duckdb and postgresql addresses, got {without_password(text)[:200]}; for others, "
            "pass a pair (connection, query) to hopsight.load()"
        )
    base, options = _options(text)
    if scheme.startswith("postgres"):
        if "table" not in options and "query" not in options:
            raise ValueError(f"{without_password(base)} needs a table: append '?table=NAME' or '?query=SELECT …'")
        rest = text.partition("?")[2].split("&")
        kept = [part for part in rest if part.partition("=")[0] not in OPTIONS] if "query" not in options else []
        return Address(base + (f"?{'&'.join(kept)}" if kept else ""), "postgresql", options=options)
    name = base.partition("://")[2]
    if not name.startswith("/"):
        raise ValueError(f"write {scheme}:///{name} with three slashes, or four for an absolute path")
    return Address(text, scheme, (Path(unquote(name[1:])),), options)


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Return an address without its options, and the options that hopsight knows.

    >>> _options("bank.db?query=SELECT a, b FROM t WHERE c = 'x=y?'")
    ('bank.db', {'query': "SELECT a, b FROM t WHERE c = 'x=y?'"})
    """
    base, mark, rest = text.partition("?")
    if not mark:
        return text, {}
    start = re.search(r"(^|&)query=", rest)
    query = {}
    if start:  # the query comes last: it may contain & and =
        query = {"query": unquote(rest[start.end() :])}
        rest = rest[: start.start()]
    pairs = (part.partition("=") for part in rest.split("&") if part)
    return base, {name: unquote_plus(value) for name, _, value in pairs if name in OPTIONS} | query


def _several(path: Path) -> tuple[str, tuple[Path, ...], tuple[str, ...]]:
    """Return the tables in a folder or behind a pattern, in order, their kind, and the names of tables of other kinds.

    Parquet files come first, then Arrow files, then text: a folder may hold others beside those that are read. Hidden
    files and folders do not count. Folders inside it are searched for Parquet, unless it holds tables itself, and for
    others if they name a column, as ``year=2024`` does.
    """
    none: tuple[str, tuple[Path, ...], tuple[str, ...]] = ("", (), ())
    try:
        is_folder = path.is_dir()
        if is_folder and not (path / "run.json").exists():  # not results of hopsight
            found = [file for file in path.rglob("*") if not any(map(_hidden, file.relative_to(path).parts))]
            near = {file for file in found if all("=" in part for part in file.relative_to(path).parts[:-1])}
        elif not is_folder and glob.has_magic(str(path)):
            found = [Path(file) for file in glob.glob(str(path), recursive=True)]  # noqa: PTH207 (absolute patterns)
            near = {*found}
        else:
            return none
        tables = {file: _table_kind(file, is_folder) for file in sorted(found) if not _hidden(file.name)}
        order = [kind for kind in ("parquet", "arrow", "text") if kind in {tables.get(file) for file in near}]
        chosen = order[0] if order else "parquet"
        read = tuple(file for file, kind in tables.items() if kind == chosen and (kind == "parquet" or file in near))
        others = (file for file, kind in tables.items() if kind and file not in read)
        aside = tuple(str(file.relative_to(path)) if is_folder else str(file) for file in others)
        return (chosen, read, aside) if read else none
    except (OSError, ValueError):
        return none


def _table_kind(file: Path, in_folder: bool) -> str:
    """Return how a table is read, "other" for one that may be anything else in a folder, and "" for other files."""
    name = file.name.lower()
    sure = (".csv", ".tsv", ".jsonl", ".ndjson") if in_folder else TEXT_KINDS
    is_sure = name.endswith(tuple(suffix for suffix in TEXT_SUFFIXES if suffix.startswith(sure)))
    kind = kind_of(file) if is_sure or not name.endswith(TEXT_SUFFIXES) else "other"
    return kind if name.endswith((*TEXT_SUFFIXES, *OTHER_SUFFIXES)) and file.is_file() else ""


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long, or has a character that no file name can have
        return False
