"""load(): whatever holds a network, as an AttributedGraph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopsight import io
from hopsight.checks import suggest
from hopsight.graph import AttributedGraph


def load(
    source: Any,
    nodes: str | Path | None = None,
    *,
    directed: bool = False,
    label: str | None = None,
    ignore: Sequence[str] = (),
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    missing: str = "refuse",
    data_dir: str | Path | None = None,
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Load a network from a file, by its name in the catalog, or from an object of another library.

    Parameters
    ----------
    source
        A path (``.csv``, ``.tsv``, ``.parquet``, ``.mat``, ``.npz``, ``.graphml``, ``.pt``), a name of the catalog
        (``"demo"``, ``"blogcatalog"``, …), or an object that :func:`hopsight.io.as_graph` takes.
    nodes
        The node table that belongs to an edge list; ``x.nodes.csv`` beside ``x.csv`` is found by itself.
    directed
        Keep the direction of the edges.
    label
        Column of the node table that holds the truth (0/1, true/false); kept out of the attributes.
    ignore
        Columns of the node table to leave out.
    source_column, target_column, id_column
        Names of the columns where the guess would be wrong.
    missing
        ``"refuse"`` empty cells, or impute them (``"mean"``).
    data_dir
        Folder with local copies of the catalog's networks.
    notices
        List that receives what the user may want to know; without it, notices are logged.

    Raises
    ------
    ValueError
        In one sentence, whatever is wrong with the source.

    Examples
    --------
    >>> load(([[0, 1], [1, 0]], [[0.5], [0.7]]))
    AttributedGraph(2 nodes, 1 undirected edges, 1 attributes)
    """
    if not isinstance(source, str | Path):
        return io.as_graph(source, directed=directed, label=label, ignore=ignore, missing=missing, notices=notices)
    if not _is_file(source):
        for_tables = {"nodes": nodes, "label": label, "ignore": ignore, "id_column": id_column}
        given = [name for name, value in for_tables.items() if value]
        return _from_catalog(str(source), given, directed=directed, data_dir=data_dir, notices=notices)
    return io.read(
        source,
        nodes,
        directed=directed,
        label=label,
        ignore=ignore,
        source_column=source_column,
        target_column=target_column,
        id_column=id_column,
        missing=missing,
        notices=notices,
    )


def files_of(source: str | Path, nodes: str | Path | None = None, *, data_dir: str | Path | None = None) -> list[Path]:
    """Return the files that :func:`load` reads for a path or a name, those that it finds by itself too."""
    if _is_file(source):
        from hopsight.io.files import TABLE_SUFFIXES
        from hopsight.io.tables import find_nodes

        beside = nodes
        if nodes is None and str(source).lower().endswith(TABLE_SUFFIXES):
            beside = find_nodes(Path(source))
        return [Path(file) for file in (source, beside) if file is not None]
    from hopsight.datasets.catalog import find, is_known

    return [find(str(source), data_dir, notices=[])] if is_known(str(source)) else []


def _is_file(source: str | Path) -> bool:
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # a name too long, or with a character that no file name can have
        return False


def _from_catalog(
    name: str,
    given: Sequence[str],
    *,
    directed: bool,
    data_dir: str | Path | None,
    notices: list[str] | None,
) -> AttributedGraph:
    """Return a network of the catalog, or say what is wrong with a name that is not in it."""
    from hopsight.datasets import get_network, make_demo
    from hopsight.datasets.catalog import find, is_known, names

    is_demo = name.lower() == "demo"
    if not is_demo and not is_known(name):
        raise ValueError(_unknown(name, ("demo", *names)))
    if given:
        raise ValueError(f"{given[0]} is for a file of your own, the network {name!r} needs none")
    if is_demo:
        return make_demo()
    graph = io.read(find(name, data_dir, notices=notices), directed=directed, notices=notices)
    return replace(graph, name=get_network(name).name)


def _unknown(name: str, names: Sequence[str]) -> str:
    path = Path(name)
    try:
        if path.is_dir():
            return f"{name} is a folder: give a file in it"
        if path.exists():
            return f"{name} is not a regular file"
    except (OSError, ValueError):
        return f"there is no file {name[:200]!r}"
    if path.suffix or len(path.parts) > 1:
        return f"there is no file {name}"
    return f"{name!r} is neither a file nor a network of the catalog{suggest(name.lower(), names)}"
