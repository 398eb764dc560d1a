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
    """One graph of the catalog: a file on GitHub, pinned to a commit, and what it holds.

    One of ``sha256`` and ``git_blob`` is the checksum of that file; Git's is sha1("blob " + size + NUL + bytes). A
    graph without a checksum cannot be fetched: it was converted from that file and is read from a local copy only.
    """

    name: str  # to load it by, in lower case
    kind: str  # "organic" (anomalies found by people), "to inject" (none yet) or "injected"
    size: Size  # once loaded or, where a note says so, as the publishers state
    repository: str
    commit: str
    path: str
    citation: str  # the publication to cite
    license: str = ""  # of the repository; "none stated" if it has none, "unknown" if that could not be checked
    sha256: str = ""
    git_blob: str = ""
    aliases: tuple[str, ...] = ()  # other names to load it by
    saved_as: str = ""  # file name of a local copy, if not that in the repository; every graph has its own
    conversions: tuple[str, ...] = ()  # converted copies, preferred over the published file, without a checksum
    paper: Size | None = None  # as the HCM paper states it, if it uses the graph
    notes: tuple[str, ...] = ()  # how the file differs from what was published about it, and why

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
