"""The catalog of published graphs: find a local copy, list the entries, compare a graph with the paper.

A name in the catalog works wherever a file does. Copies are looked for in the folder that the caller names,
then in the folder of the environment variable ``HOPSIGHT_DATA``, then among the files that ``fetch`` downloaded.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import Refusal, option, suggest
from hopsight.datasets.published import ENTRIES, Entry
from hopsight.graph import AttributedGraph
from hopsight.io.notices import notice

CATALOG = MappingProxyType({entry.name: entry for entry in ENTRIES})
names: tuple[str, ...] = tuple(CATALOG)

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


def info(graph: AttributedGraph, name: str | None = None) -> dict[str, Any]:
    """Return the statistics of a graph and, if it is in the catalog, how they differ from those in the paper.

    Parameters
    ----------
    graph
        The graph.
    name
        Its name in the catalog. If it is left out, ``graph.name`` counts if the entry has as many nodes.

    Returns
    -------
    record
        Plain values: ``nodes``, ``edges``, ``attributes``, ``anomalies`` and ``unlabeled`` (None without labels),
        ``kinds``, degrees and more; for a graph in the catalog also ``kind``, ``citation``, ``source``, ``license``,
        ``paper`` (the statistics in the paper, or None), ``differences`` and ``notes`` (sentences).

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    >>> record = info(graph)
    >>> record["nodes"], record["edges"], record["anomalies"], record["degree_max"]
    (3, 2, 1, 2)
    """
    record = _statistics(graph)
    entry = _recognized(graph) if name is None else get_entry(name)
    if entry is None:
        return record
    return record | {
        "name": entry.name,
        "kind": entry.kind,
        "citation": entry.citation,
        "source": entry.address(),
        "license": entry.license,
        "paper": entry.paper._asdict() if entry.paper else None,
        "differences": _differences(record, entry),
        "notes": list(entry.notes),
    }


def _statistics(graph: AttributedGraph) -> dict[str, Any]:
    degrees = graph.degrees
    sparse = sp.issparse(graph.attributes)
    nonzero = graph.attributes.count_nonzero() if sparse else np.count_nonzero(graph.attributes)
    return {
        "name": graph.name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "attributes": graph.n_attributes,
        "anomalies": None if graph.labels is None else int((graph.labels == 1).sum()),
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
    }


def _count_kinds(kinds: NDArray[np.int8]) -> dict[str, int]:
    counts = np.bincount(kinds, minlength=4).tolist()
    return dict(zip(("structure", "attribute", "both"), counts[1:], strict=True))


def _recognized(graph: AttributedGraph) -> Entry | None:
    entry = get_entry(graph.name) if is_known(graph.name) else None
    return entry if entry and entry.size.nodes == graph.n_nodes else None


def _differences(record: dict[str, Any], entry: Entry) -> list[str]:
    """Return a sentence for every count that differs from the paper or, if the paper has none, from the catalog."""
    expected, source = (entry.paper, "the paper") if entry.paper else (entry.size, "the catalog")
    return [
        f"{figure}: {record[figure] or 0:,} here, {value:,} in {source}"
        for figure, value in expected._asdict().items()
        if (record[figure] or 0) != value
    ]


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
