"""Check files before they are read, bound what they unpack to, and word what goes wrong in one sentence."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hopsight.system.files import replacing

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
TABLE_SUFFIXES = (
    *WRITTEN_SUFFIXES,
    *(f"{kind}{packing}" for kind in TEXT_KINDS for packing in ("", *PACKINGS)),
    ".zip",
    *(suffix for suffixes in KINDS.values() for suffix in suffixes),
)
UNPACKED_FREE = 256 * 2**20  # bytes that every file may unpack to
UNPACKED_RATIO = 200  # a larger result may be at most this many times the size of the file
LOADED_RATIO = 800  # likewise for the graph in memory, where one byte may become a number of eight bytes
NODE_BYTES, COLUMN_BYTES, NUMBER_BYTES = 64, 128, 8  # the least that a node, a column name and a number take
_PIECE = 2**24  # bytes of a file that are read at once
_DAMAGE = (zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError, LookupError, RecursionError, TypeError)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn every error inside into one sentence that names the file.

    A parser that meets bytes it was not made for can fail in any way; the user needs to know which file it was.
    """
    with naming(path):
        check_file(path)
        yield


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Turn every error inside into one sentence that names the place, which need not be a file."""
    try:
        yield
    except BaseException as error:
        # A panic of polars is not an Exception; a KeyboardInterrupt must pass.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"cannot read {place}: {_sentence(error)}") from error


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


def check_unpacked(n_bytes: int, packed: int) -> None:
    """Refuse a decompression bomb, which unpacks to far more bytes than real data of its size would."""
    if n_bytes > unpacked_limit(packed):
        raise ValueError(
            f"its {packed:,} bytes unpack to {n_bytes:,}, more than {UNPACKED_RATIO} times as many; "
            "store a matrix of zeros as a sparse matrix"
        )


def unpacked_limit(packed: int) -> int:
    """Return how many bytes a file of that size may unpack to."""
    return max(UNPACKED_FREE, UNPACKED_RATIO * packed)


def loaded_limit(packed: int) -> int:
    """Return how many bytes of memory the graph in a file of that size may take."""
    return max(UNPACKED_FREE, LOADED_RATIO * packed)


def check_loaded(packed: int, *, n_nodes: int = 0, n_columns: int = 0, n_numbers: int = 0) -> None:
    """Refuse a small file that claims a huge graph, before any memory is allocated.

    >>> check_loaded(1_000, n_nodes=10**9)
    Traceback (most recent call last):
    ValueError: its 1,000 bytes claim a graph of 64,000,000,000 bytes, which is too large to be true
    """
    n_bytes = NODE_BYTES * n_nodes + COLUMN_BYTES * n_columns + NUMBER_BYTES * n_numbers
    if n_bytes > loaded_limit(packed):
        raise ValueError(f"its {packed:,} bytes claim a graph of {n_bytes:,} bytes, which is too large to be true")


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
            n_rows = sum(piece.count(mark) for piece in iter(lambda: file.read(_PIECE), b""))
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


def _sentence(error: BaseException) -> str:
    """Return the first line of an error message, without a library's advice to programmers."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, UnicodeDecodeError):
        return f"its text is not {error.encoding.upper()}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    if not lines or isinstance(error, _DAMAGE):
        return "it is damaged, or its format is not what its name says"
    return lines[0][:500].rstrip(".")
