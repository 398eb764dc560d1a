"""The catalog of published graphs: find a local copy or fetch one, list the entries; and statistics of any graph.

A name in the catalog works wherever a file does. Copies are looked for in the folder that the caller names,
then in the folder of the environment variable ``HOPSIGHT_DATA``, then among the files that ``fetch`` downloaded.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import Refusal, option, suggest
from hopsight.graph import AttributedGraph
from hopsight.io.notices import notice
from hopsight.system.files import replacing

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
    """Return the entries of ``published.toml``."""
    with Path(__file__).with_name("published.toml").open("rb") as file:
        tables = tomllib.load(file)["graph"]
    return tuple(Entry(**{name: _field(name, value) for name, value in table.items()}) for table in tables)


def _field(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return Size(*value) if name == "size" else tuple(value)
    return value


ENTRIES = _read_entries()
names = tuple(entry.name for entry in ENTRIES)
_BY_ALIAS = {alias: entry for entry in ENTRIES for alias in (entry.name, *entry.aliases)}


def is_known(name: str) -> bool:
    """Return whether the catalog has a name or alias, ignoring case.

    >>> is_known("BlogCatalog"), is_known("books"), is_known("edges.csv")
    (True, True, False)
    """
    return _key(name) in _BY_ALIAS


def get_entry(name: str) -> Entry:
    """Return the entry with a name or alias, ignoring case.

    >>> get_entry("Books").name
    'amazon'
    """
    key = _key(name)
    if key not in _BY_ALIAS:
        raise ValueError(
            f"there is no graph {name!r} in the catalog ({', '.join(names)}){suggest(key, list(_BY_ALIAS))}"
        )
    return _BY_ALIAS[key]


def cache_folder() -> Path:
    """Return the folder of fetched graphs, in the cache of the user."""
    import pooch

    return Path(pooch.os_cache("hopsight"))


def find(name: str, data_dir: str | Path | None = None, *, notices: list[str] | None = None) -> Path:
    """Return the local copy of a graph.

    A copy in one of the user's own folders is used as it is, with a notice if it is not the published file.

    Parameters
    ----------
    name
        A name or alias in the catalog.
    data_dir
        Folder to look in first.
    notices
        List that receives the notice; without it, the notice is logged.

    Raises
    ------
    ValueError
        If the name is unknown, the folder does not exist or there is no copy.
    """
    entry = get_entry(name)
    file = _find_copy(entry, data_dir)
    if file is None:
        raise ValueError(f"there is no local copy of {entry.name!r}; {how_to_get(entry)}")
    is_published = entry.can_be_fetched and file.name.lower() == entry.file_name.lower()
    if is_published and entry.checksum_of(file) != entry.checksum:
        notice(f"{file} is used although it is not the published file of {entry.name!r}.", notices)
    return file


def fetch(
    name: str | Entry, *, base_url: str | None = None, cache_dir: str | Path | None = None, timeout: float = 30.0
) -> Path:
    """Return the file of a graph, downloading it unless the cache has an undamaged copy.

    The file appears in the cache in one step, after its checksum has been verified, so several processes may fetch
    the same graph at once.

    Parameters
    ----------
    name
        A name or alias in the catalog, or an entry of your own.
    base_url
        Another server with the same layout (``repository/commit/path``), such as a mirror.
    cache_dir
        Folder to keep the file in; by default the cache of the user.
    timeout
        Seconds to wait for an answer of the server.

    Raises
    ------
    ValueError
        If the name is unknown, the server cannot be reached or has no such file, the connection is lost, the
        checksum is wrong, or the cache cannot be written. Nothing is left behind.
    """
    import pooch
    import requests

    entry = name if isinstance(name, Entry) else get_entry(name)
    if not entry.can_be_fetched:
        raise ValueError(f"cannot fetch {entry.name!r}: it has no published checksum; {how_to_get(entry)}")
    folder = cache_folder() if cache_dir is None else Path(cache_dir)
    target = folder / entry.file_name
    if target.is_file() and entry.checksum_of(target) == entry.checksum:
        return target
    url = entry.address(base_url)
    refusal = f"cannot fetch {entry.name!r} from {url}:"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(target) as temporary:
            pooch.HTTPDownloader(timeout=timeout)(url, str(temporary), None)
            found = entry.checksum_of(temporary)
            if found != entry.checksum:
                raise ValueError(
                    f"{refusal} the file has checksum {found} instead of {entry.checksum} and was discarded"
                )
    except requests.HTTPError as error:
        raise ValueError(f"{refusal} the server answered {str(error).partition(' for url')[0]}") from None
    except requests.Timeout:
        raise ValueError(f"{refusal} the server did not answer within {timeout:g} s") from None
    except requests.RequestException:
        raise ValueError(f"{refusal} the server cannot be reached, or the connection was lost") from None
    except OSError as error:
        raise ValueError(f"cannot keep {entry.name!r} in {folder}: {error.strerror or error}") from None
    return target


def overview(data_dir: str | Path | None = None) -> list[dict[str, Any]]:
    """Return one record per graph: its size, kind, citation, and the path of a local copy or None."""
    records = []
    for entry in ENTRIES:
        file = _find_copy(entry, data_dir)
        records.append(
            {
                "name": entry.name,
                "kind": entry.kind,
                **entry.size._asdict(),
                "present": file is not None,
                "path": None if file is None else str(file),
                "citation": entry.citation,
                "source": entry.address(),
                "license": entry.license,
                "aliases": list(entry.aliases),
                "notes": list(entry.notes),
            }
        )
    return records


def info(graph: AttributedGraph) -> dict[str, Any]:
    """Return the statistics of a graph as plain values, and of one in the catalog where it comes from.

    ``anomalies`` and ``unlabeled`` are None without labels.

    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    >>> record = info(graph)
    >>> record["nodes"], record["edges"], record["anomalies"], record["degree_max"]
    (3, 2, 1, 2)
    """
    degrees = graph.degrees
    sparse = sp.issparse(graph.attributes)
    nonzero = graph.attributes.count_nonzero() if sparse else np.count_nonzero(graph.attributes)
    entry = get_entry(graph.name) if is_known(graph.name) else None
    known: dict[str, Any] = {}
    if entry is not None and entry.size.nodes == graph.n_nodes:
        known = {"kind": entry.kind, "citation": entry.citation, "source": entry.address(), "license": entry.license}
        known["notes"] = list(entry.notes)
    return size(graph) | {
        "unlabeled": None if graph.labels is None else int((graph.labels == -1).sum()),
        "kinds": None if graph.kinds is None else _count_kinds(graph.kinds),
        "directed": graph.directed,
        "sparse_attributes": bool(sparse),
        "nonzero_share": float(nonzero / max(1, graph.n_nodes * graph.n_attributes)),
        "isolated": int((degrees == 0).sum()),
        "degree_min": int(degrees.min(initial=degrees.max(initial=0))),
        "degree_median": float(np.median(degrees)) if degrees.size else 0.0,
        "degree_max": int(degrees.max(initial=0)),
        "duplicates": graph.n_duplicates,
        "self_loops": graph.n_self_loops,
        **known,
    }


def size(graph: AttributedGraph) -> dict[str, Any]:
    """Return the name of a graph and its numbers of nodes, edges, attributes and known anomalies."""
    return {
        "name": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "attributes": graph.n_attributes,
        "anomalies": None if graph.labels is None else int((graph.labels == 1).sum()),
    }


def _count_kinds(kinds: NDArray[np.int8]) -> dict[str, int]:
    counts = np.bincount(kinds, minlength=4).tolist()
    return dict(zip(("structure", "attribute", "both"), counts[1:], strict=True))


def how_to_get(entry: Entry) -> str:
    """Return what to do to get a local copy, as part of a sentence."""
    if entry.can_be_fetched:
        return f"run `hopsight data fetch {entry.name}`"
    return f"convert {entry.address()} to {entry.file_name} and pass its folder with {option('data_dir')}"


def _find_copy(entry: Entry, data_dir: str | Path | None) -> Path | None:
    """Return the first copy: in the given folder, in HOPSIGHT_DATA, or fetched and undamaged."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise Refusal("data_dir", f"must be a folder, and there is none at {data_dir}")
    for folder in (data_dir, os.environ.get("HOPSIGHT_DATA")):
        file = _match(Path(folder), (*entry.conversions, entry.file_name)) if folder else None
        if file is not None:
            return file
    fetched = cache_folder() / entry.file_name
    return fetched if fetched.is_file() and entry.checksum_of(fetched) == entry.checksum else None


def _match(folder: Path, file_names: tuple[str, ...]) -> Path | None:
    """Return the first of these files that a folder has, ignoring case."""
    if not folder.is_dir():
        return None
    present = {file.name.lower(): file for file in sorted(folder.iterdir()) if file.is_file()}
    return next((present[name.lower()] for name in file_names if name.lower() in present), None)


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")
