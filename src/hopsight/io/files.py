"""What every format needs from files: checked input, bounded unpacking, output that is complete or absent."""

from __future__ import annotations

import gzip
import secrets
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TABLE_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq")
UNPACKED_FREE = 256 * 2**20  # bytes that any file may unpack to
UNPACKED_RATIO = 200  # beyond them, at most this many times the size of the file
LOADED_RATIO = 800  # likewise for the network in memory, where a byte may become a number of eight
NODE_BYTES, COLUMN_BYTES, NUMBER_BYTES = 64, 128, 8  # what a node, a column's name and a number take at least
_DAMAGE = (zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, EOFError, LookupError, RecursionError, TypeError)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong inside into one sentence that names the file.

    A parser meets bytes it was not made for and fails in a way of its own; the user needs to know which file.
    """
    try:
        check_file(path)
        yield
    except BaseException as error:
        # polars' panics are no Exception, Ctrl-C must stay one.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(f"cannot read {path}: {_sentence(error)}") from error


def check_file(path: Path) -> None:
    """Refuse what is not a regular file with something in it; a pipe or a device could be endless."""
    if not path.exists():
        raise ValueError("there is no such file")
    if path.is_dir():
        raise ValueError("it is a folder, not a file")
    if not path.is_file():
        raise ValueError("it is not a regular file")
    if path.stat().st_size == 0:
        raise ValueError("it is empty")


def check_unpacked(n_bytes: int, packed: int) -> None:
    """Refuse a decompression bomb: far more bytes than honest data of that packed size would give."""
    if n_bytes > unpacked_limit(packed):
        raise ValueError(
            f"{packed:,} bytes that unpack to {n_bytes:,} are refused (more than {UNPACKED_RATIO} times as many); "
            "a matrix of zeros should be stored sparse"
        )


def unpacked_limit(packed: int) -> int:
    """Return how many bytes a file of that size may unpack to."""
    return max(UNPACKED_FREE, UNPACKED_RATIO * packed)


def loaded_limit(packed: int) -> int:
    """Return how many bytes of memory the network in a file of that size may take."""
    return max(UNPACKED_FREE, LOADED_RATIO * packed)


def check_loaded(packed: int, *, n_nodes: int = 0, n_columns: int = 0, n_numbers: int = 0) -> None:
    """Refuse a small file that claims a huge network, before memory is asked for.

    >>> check_loaded(1_000, n_nodes=10**9)
    Traceback (most recent call last):
    ValueError: its 1,000 bytes claim a network of 64,000,000,000, which honest data of that size would not: refused
    """
    n_bytes = NODE_BYTES * n_nodes + COLUMN_BYTES * n_columns + NUMBER_BYTES * n_numbers
    if n_bytes > loaded_limit(packed):
        raise ValueError(
            f"its {packed:,} bytes claim a network of {n_bytes:,}, which honest data of that size would not: refused"
        )


def check_archive(archive: zipfile.ZipFile, packed: int) -> None:
    """Refuse a zip archive whose members together would unpack to too much."""
    check_unpacked(sum(member.file_size for member in archive.infolist()), packed)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary file beside ``path`` that takes its place when all went well, and goes away otherwise."""
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        temporary.open("xb").close()
        yield temporary
        temporary.replace(path)
    except Exception as error:
        raise ValueError(f"cannot write {path}: {_sentence(error)}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sentence(error: BaseException) -> str:
    """Return the first line of an error's message, without a library's advice to programmers."""
    if isinstance(error, MemoryError):
        return "it asks for more memory than there is"
    if isinstance(error, UnicodeDecodeError):
        return f"its text is not {error.encoding.upper()}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    if not lines or isinstance(error, _DAMAGE):
        return "it is damaged, or of another format than its name says"
    return lines[0][:500].rstrip(".")
