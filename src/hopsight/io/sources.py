"""Where a table is: a file, several files, a table of a workbook or database, or a query of a connection.

| source | means |
|---|---|
| ``payments.csv`` | a file |
| ``payments/``, ``payments/*.parquet`` | Parquet, Arrow or text files with the same columns, read as one table |
| ``book.xlsx?table=people``, ``bank.db?table=payments`` | a sheet, or a table of an SQLite or DuckDB file |
| ``bank.db?query=SELECT …`` | the result of a query |
| ``sqlite:///bank.db?table=…``, ``duckdb:///bank.duckdb?table=…`` | the same as an address |
| ``postgresql://user@host/bank?table=payments`` (or ``query=``) | a table of a server |
| ``people.csv?header=no&encoding=cp1251`` | how to read a text file |
| ``(connection, "SELECT …")``, ``("postgresql://…", "SELECT …")`` | the result of a query |
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

from hopsight.io.files import KINDS, PACKINGS, TEXT_KINDS

OPTIONS = ("table", "query", "header", "encoding")
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
    if _exists(path) and not path.is_dir():
        return path
    scheme = _SCHEME.match(text)
    if scheme:
        return _by_scheme(text, scheme.group(1).lower())
    kind, files = _several(path)
    if files:
        return Address(text, kind, files)
    name, options = _options(text)
    if options:
        return Address(text, kind_of(Path(name)), (Path(name),), options)
    return path


def is_source(source: Any) -> bool:
    """Return whether a text or path leads to a table or a file, so that it is no name of the catalog."""
    if is_query(source):
        return True
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    return bool(
        (_exists(path) and path.is_file())
        or _SCHEME.match(str(source))
        or _several(path)[1]
        or any(_options(str(source))[1])
    )


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


def _several(path: Path) -> tuple[str, tuple[Path, ...]]:
    """Return the tables in a folder or behind a pattern, in order, without hidden files and folders, and their kind.

    Parquet files come first, then Arrow files, then text: a folder may hold others beside those that are read. Folders
    inside it are searched for Parquet, and for others if they name a column, as ``year=2024`` does.
    """
    is_folder = False
    try:
        if path.is_dir():
            if (path / "run.json").exists():  # results of hopsight
                return "", ()
            is_folder = True
            found = [file for file in path.rglob("*") if not any(map(_hidden, file.relative_to(path).parts))]
            near = [file for file in found if all("=" in part for part in file.relative_to(path).parts[:-1])]
        elif glob.has_magic(str(path)):
            found = [Path(file) for file in glob.glob(str(path), recursive=True)]  # noqa: PTH207 (absolute patterns)
            found = near = [file for file in found if not _hidden(file.name)]
        else:
            return "", ()
        for kind, suffixes in (*((kind, KINDS[kind]) for kind in ("parquet", "arrow")), ("text", _text(is_folder))):
            candidates = found if kind == "parquet" else near
            files = sorted(file for file in candidates if file.name.lower().endswith(suffixes) and file.is_file())
            if files:
                return kind, tuple(files)
    except (OSError, ValueError):
        pass
    return "", ()


def _text(is_folder: bool) -> tuple[str, ...]:
    """Return the suffixes of text tables; in a folder, a ``.txt`` or ``.json`` file may be anything."""
    kinds = (".csv", ".tsv", ".jsonl", ".ndjson") if is_folder else TEXT_KINDS
    return tuple(f"{kind}{packing}" for kind in kinds for packing in ("", *PACKINGS))


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long, or has a character that no file name can have
        return False
