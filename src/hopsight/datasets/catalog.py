"""The catalog of published networks: find a copy, list what there is, compare with the paper.

A name of the catalog works wherever a file does. Copies are looked for in the folder that the caller names,
then in the folder of the environment variable ``HOPSIGHT_DATA``, then among what ``fetch`` has downloaded.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import suggest
from hopsight.datasets.published import NETWORKS, Network
from hopsight.graph import AttributedGraph
from hopsight.io.notices import notice

CATALOG = MappingProxyType({network.name: network for network in NETWORKS})
names: tuple[str, ...] = tuple(CATALOG)

_BY_ALIAS = {alias: network for network in NETWORKS for alias in (network.name, *network.aliases)}


def is_known(name: str) -> bool:
    """Return whether a name or alias is in the catalog, in any case.

    >>> is_known("BlogCatalog"), is_known("books"), is_known("edges.csv")
    (True, True, False)
    """
    return _key(name) in _BY_ALIAS


def get_network(name: str) -> Network:
    """Return the entry of a name or alias, in any case.

    >>> get_network("Books").name
    'amazon'
    """
    key = _key(name)
    if key not in _BY_ALIAS:
        raise ValueError(
            f"there is no network {name!r} in the catalog{suggest(key, list(_BY_ALIAS))}; it has {', '.join(names)}"
        )
    return _BY_ALIAS[key]


def cache_folder() -> Path:
    """Return the folder of fetched networks, which belongs to the user."""
    import pooch

    return Path(pooch.os_cache("hopsight"))


def find(name: str, data_dir: str | Path | None = None, *, notices: list[str] | None = None) -> Path:
    """Return the file of a network that is at hand.

    A copy in a folder of the user's own is taken as it is, with a notice if it is not the published file.

    Parameters
    ----------
    name
        A name or alias of the catalog.
    data_dir
        A folder to look in first.
    notices
        List that receives the notice; without it, it is logged.

    Raises
    ------
    ValueError
        If the name is unknown, the folder does not exist or there is no copy.
    """
    network = get_network(name)
    file = _find_copy(network, data_dir)
    if file is None:
        raise ValueError(f"there is no copy of {network.name!r} here: run `hopsight data fetch {network.name}`")
    if file.name.lower() == network.file_name.lower() and network.checksum_of(file) != network.checksum:
        notice(f"{file} is used, but it is not the published file of {network.name!r}", notices)
    return file


def overview(data_dir: str | Path | None = None) -> list[dict[str, Any]]:
    """Return one record a network: its size, kind, citation and where a copy is (``path`` is None if nowhere)."""
    records = []
    for network in NETWORKS:
        file = _find_copy(network, data_dir)
        records.append(
            {
                "name": network.name,
                "kind": network.kind,
                **network.size._asdict(),
                "present": file is not None,
                "path": None if file is None else str(file),
                "citation": network.citation,
                "source": network.address(),
                "aliases": list(network.aliases),
                "notes": list(network.notes),
            }
        )
    return records


def info(graph: AttributedGraph, name: str | None = None) -> dict[str, Any]:
    """Return the statistics of a network and, if the catalog knows it, how they differ from the paper's.

    Parameters
    ----------
    graph
        The network.
    name
        Its name in the catalog; when left out, ``graph.name`` if the network of that name has as many nodes.

    Returns
    -------
    record
        Plain values: ``nodes``, ``edges``, ``attributes``, ``anomalies`` (None without labels), ``kinds``,
        degrees and more; for a catalogd network also ``kind``, ``citation``, ``source``, ``paper`` (the
        statistics in the paper, or None), ``differences`` and ``notes`` (sentences).

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    >>> record = info(graph)
    >>> record["nodes"], record["edges"], record["anomalies"], record["degree_max"]
    (3, 2, 1, 2)
    """
    record = _statistics(graph)
    network = _recognized(graph) if name is None else get_network(name)
    if network is None:
        return record
    return record | {
        "name": network.name,
        "kind": network.kind,
        "citation": network.citation,
        "source": network.address(),
        "paper": network.paper._asdict() if network.paper else None,
        "differences": _differences(record, network),
        "notes": list(network.notes),
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
        "anomalies": None if graph.labels is None else int(graph.labels.sum()),
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


def _recognized(graph: AttributedGraph) -> Network | None:
    network = get_network(graph.name) if is_known(graph.name) else None
    return network if network and network.size.nodes == graph.n_nodes else None


def _differences(record: dict[str, Any], network: Network) -> list[str]:
    """Return a sentence for every figure that is not the paper's (or, without one there, the catalog's)."""
    expected, source = (network.paper, "the paper") if network.paper else (network.size, "the catalog")
    return [
        f"{figure}: {record[figure] or 0:,} here, {value:,} in {source}"
        for figure, value in expected._asdict().items()
        if (record[figure] or 0) != value
    ]


def _find_copy(network: Network, data_dir: str | Path | None) -> Path | None:
    """Return the first copy: in the folder named, in HOPSIGHT_DATA, or fetched and undamaged."""
    if data_dir is not None and not Path(data_dir).is_dir():
        raise ValueError(f"data_dir must be a folder, there is none at {data_dir}")
    for folder in (data_dir, os.environ.get("HOPSIGHT_DATA")):
        file = _match(Path(folder), (*network.conversions, network.file_name)) if folder else None
        if file is not None:
            return file
    fetched = cache_folder() / network.file_name
    return fetched if fetched.is_file() and network.checksum_of(fetched) == network.checksum else None


def _match(folder: Path, file_names: tuple[str, ...]) -> Path | None:
    """Return the first of these files in a folder, in any case."""
    if not folder.is_dir():
        return None
    present = {file.name.lower(): file for file in sorted(folder.iterdir()) if file.is_file()}
    return next((present[name.lower()] for name in file_names if name.lower() in present), None)


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")
