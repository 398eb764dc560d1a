"""The published graphs: where each comes from, what it holds, and how its file is recognized."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

RAW_FILES = "https://raw.githubusercontent.com"


class Size(NamedTuple):
    """The four counts of a statistics table; an undirected edge counts once."""

    nodes: int
    edges: int
    attributes: int
    anomalies: int


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One graph of the catalog.

    Parameters
    ----------
    name
        The name to load it by, in lower case.
    kind
        ``"organic"`` (anomalies found by people), ``"to inject"`` (none yet) or ``"injected"``.
    size
        Its size once loaded or, where a note says so, the size that the publishers state.
    repository, commit, path
        The file on GitHub, pinned to a commit.
    sha256, git_blob
        One of the two is the checksum of that file; Git's is sha1("blob " + size + NUL + bytes). A graph without
        a checksum cannot be fetched: it was converted from that file and is read from a local copy only.
    citation
        The publication to cite.
    license
        The license of the repository; ``"none stated"`` if it has none, ``"unknown"`` if that could not be checked.
    aliases
        Other names to load it by.
    saved_as
        File name of a local copy, if it differs from that in the repository; every graph has a file name of its own.
    conversions
        File names of converted copies, which are preferred over the published file and have no checksum.
    paper
        The size that the HCM paper states, if the paper uses the graph.
    notes
        How the file differs from what was published about it, and why.
    """

    name: str
    kind: str
    size: Size
    repository: str
    commit: str
    path: str
    citation: str
    license: str = ""
    sha256: str = ""
    git_blob: str = ""
    aliases: tuple[str, ...] = ()
    saved_as: str = ""
    conversions: tuple[str, ...] = ()
    paper: Size | None = None
    notes: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """File name of a local copy."""
        return self.saved_as or Path(self.path).name

    @property
    def can_be_fetched(self) -> bool:
        """Whether a download can be verified."""
        return bool(self.sha256 or self.git_blob)

    @property
    def checksum(self) -> str:
        """The published checksum, prefixed with its algorithm."""
        return f"sha256:{self.sha256}" if self.sha256 else f"git:{self.git_blob}"

    def address(self, base_url: str | None = None) -> str:
        """Return the address of the published file."""
        return f"{(base_url or RAW_FILES).rstrip('/')}/{self.repository}/{self.commit}/{self.path}"

    def checksum_of(self, file: Path) -> str:
        """Return the checksum of a local file, by the algorithm of ``checksum``."""
        content = file.read_bytes()
        if self.sha256:
            return f"sha256:{hashlib.sha256(content).hexdigest()}"
        blob = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
        blob.update(content)
        return f"git:{blob.hexdigest()}"


def _read_entries() -> tuple[Entry, ...]:
    """Return the entries of ``published.toml``, which lies beside this module."""
    with Path(__file__).with_suffix(".toml").open("rb") as file:
        tables = tomllib.load(file)["graph"]
    return tuple(Entry(**{name: _field(name, value) for name, value in table.items()}) for table in tables)


def _field(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return Size(*value) if name in ("size", "paper") else tuple(value)
    return value


ENTRIES = _read_entries()
