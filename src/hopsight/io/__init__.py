"""Networks in and out: one module a format, and :func:`as_graph` for objects.

Importing this package is cheap; the library that a format needs is imported when a file of that format is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hopsight.graph import AttributedGraph
from hopsight.io.files import TABLE_SUFFIXES
from hopsight.io.notices import notice

SUFFIXES = (*TABLE_SUFFIXES, ".mat", ".npz", ".graphml", ".pt", ".pt.zip")

__all__ = ["SUFFIXES", "as_graph", "read", "write"]


def as_graph(
    source: Any,
    *,
    directed: bool = False,
    label: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "refuse",
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Return an object as an AttributedGraph.

    Parameters
    ----------
    source
        An AttributedGraph (returned unchanged), a PyG ``Data``, a NetworkX graph, or a pair of an adjacency and an
        attribute matrix, each dense or sparse.
    directed
        Keep the direction of the edges of a ``Data`` or a pair; a NetworkX ``DiGraph`` is directed by itself.
    label, ignore, missing
        For NetworkX node data, as in :func:`hopsight.io.tables.read_tables`.
    notices
        List that receives what the user may want to know.

    Examples
    --------
    >>> as_graph(([[0, 1], [1, 0]], [[0.5], [0.7]]))
    AttributedGraph(2 nodes, 1 undirected edges, 1 attributes)
    """
    if all(hasattr(source, name) for name in ("nodes", "edges", "is_directed")):
        from hopsight.io.networkx import from_networkx

        return from_networkx(source, directed=directed, label=label, ignore=ignore, missing=missing, notices=notices)
    if label is not None or ignore:
        raise ValueError(f"label and ignore name columns, and a {type(source).__name__} has none")
    if isinstance(source, AttributedGraph):
        return source
    if hasattr(source, "edge_index") and hasattr(source, "x"):
        from hopsight.io.pyg import from_data

        return from_data(source, directed=directed, notices=notices)
    if isinstance(source, tuple | list) and len(source) == 2 and not any(isinstance(part, str) for part in source):
        return AttributedGraph(source[0], source[1], directed=directed)
    hint = ": read a file with load() first" if isinstance(source, str | Path) else ""
    raise ValueError(
        "a network must be an AttributedGraph, a PyG Data, a NetworkX graph or a pair (adjacency, attributes), "
        f"got {type(source).__name__}{hint}"
    )


def read(
    path: str | Path,
    nodes: str | Path | None = None,
    *,
    directed: bool = False,
    label: str | None = None,
    ignore: Sequence[str] = (),
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    missing: str = "refuse",
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Read a network from a file; its suffix names the format.

    CSV and Parquet edge lists come with a node table (``nodes``); ``.mat``, ``.npz``, ``.graphml`` and ``.pt`` hold
    all in one file. See :func:`hopsight.io.tables.read_tables` for the other parameters.

    Raises
    ------
    ValueError
        In one sentence, whatever is wrong with the file.
    """
    path = Path(path)
    suffix = suffix_of(path)
    columns = {"source_column": source_column, "target_column": target_column, "id_column": id_column}
    if suffix not in TABLE_SUFFIXES:
        given: dict[str, Any] = {"nodes": nodes, **columns}
        if suffix != ".graphml":
            given |= {"label": label, "ignore": ignore or None}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} is for tables: a {suffix} file needs no {name}, got {value!r}")
    if suffix == ".mat":
        from hopsight.io.matlab import read_mat

        graph = read_mat(path, directed=directed, notices=notices)
    elif suffix == ".npz":
        from hopsight.io.npz import read_npz

        graph = read_npz(path)
    elif suffix == ".graphml":
        from hopsight.io.graphml import read_graphml

        graph = read_graphml(path, directed=directed, label=label, ignore=ignore, missing=missing, notices=notices)
    elif suffix in (".pt", ".pt.zip"):
        from hopsight.io.pyg import read_pt

        graph = read_pt(path, directed=directed, notices=notices)
    else:
        from hopsight.io.tables import read_tables

        graph = read_tables(
            path,
            None if nodes is None else Path(nodes),
            directed=directed,
            label=label,
            ignore=ignore,
            missing=missing,
            notices=notices,
            **columns,
        )
    _report(graph, directed, notices)
    return graph


def write(graph: AttributedGraph, path: str | Path, notices: list[str] | None = None) -> None:
    """Write a network to a file; its suffix names the format, and a table's nodes go beside it (``x.nodes.csv``).

    The file appears complete or not at all. Ids, names, labels and kinds come back on reading; ``.mat`` keeps them
    in variables of our own, tables and GraphML in columns called ``hopsight_label`` and ``hopsight_kind``.
    """
    path = Path(path)
    suffix = suffix_of(path)
    if suffix == ".mat":
        from hopsight.io.matlab import write_mat

        write_mat(graph, path)
    elif suffix == ".npz":
        from hopsight.io.npz import write_npz

        write_npz(graph, path)
    elif suffix == ".graphml":
        from hopsight.io.graphml import write_graphml

        write_graphml(graph, path)
    elif suffix in TABLE_SUFFIXES:
        from hopsight.io.tables import write_tables

        write_tables(graph, path, notices)
    else:
        raise ValueError(f"cannot write {path}: {suffix} files are only read; write .npz instead")


def suffix_of(path: Path) -> str:
    """Return the suffix that names the format, refusing one that is not known.

    >>> suffix_of(Path("people.csv.gz"))
    '.csv.gz'
    """
    name = path.name.lower()
    known = [suffix for suffix in SUFFIXES if name.endswith(suffix)]
    if not known:
        raise ValueError(f"cannot tell the format of {path}: its name must end in one of {', '.join(SUFFIXES)}")
    return max(known, key=len)


def _report(graph: AttributedGraph, directed: bool, notices: list[str] | None) -> None:
    if graph.n_duplicates:
        notice(f"{graph.n_duplicates:,} edges stood there more than once and were merged", notices)
    if graph.n_self_loops:
        notice(f"{graph.n_self_loops:,} edges from a node to itself were removed", notices)
    if directed and not graph.directed:
        notice("the file says that its edges have no direction: they are read as undirected", notices)
