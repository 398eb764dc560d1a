"""Read and write graphs: one module per format, and :func:`graph_of` for the objects of other libraries.

Importing this package is cheap; the library that a format needs is imported when a file of that format is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopsight.checks import Refusal, plural
from hopsight.graph import AttributedGraph
from hopsight.io.edges import edge_weights
from hopsight.io.frames import is_frame
from hopsight.io.notices import notice, notice_constant, notice_merged
from hopsight.io.sources import TABLE_SUFFIXES, WRITTEN_SUFFIXES, is_source, reading, resolve

SUFFIXES = (*TABLE_SUFFIXES, ".mat", ".npz", ".graphml", ".gml", ".gexf", ".pt", ".pt.zip")
LISTED = (
    ".csv, .tsv, .txt, .json or .jsonl (plain or with .gz, .zst, .bz2, .xz or .zip), .parquet, .arrow, .feather, "
    ".xlsx, .ods, .sqlite, .db, .duckdb, .mat, .npz, .graphml, .gml, .gexf or .pt"
)
DOCUMENTS = (".graphml", ".gml", ".gexf")  # graphs whose nodes have data with names
OF_DOCUMENTS = ("label", "ignore", "missing", "category", "type_column", "name_column", "derive")

__all__ = ["SUFFIXES", "check_output", "graph_of", "is_frame", "is_source", "read", "write"]


def read(
    source: Any, nodes: Any = None, *, directed: bool = False, notices: list[str] | None = None, **options: Any
) -> AttributedGraph:
    """Read a graph from a file, whose suffix names the format, or from data frames.

    An edge list and its node table (``nodes``) may be in any of the places that :mod:`hopsight.io.sources` lists; a
    ``.mat``, ``.npz``, ``.graphml``, ``.gml``, ``.gexf`` or ``.pt`` file holds the whole graph. ``options`` are the
    others of :func:`hopsight.load`.
    """
    source, nodes = resolve(source), resolve(nodes)
    suffix = suffix_of(source) if isinstance(source, Path) else ""
    with reading(source, ValueError):
        graph = _read(source, suffix, nodes, directed=directed, notices=notices, **options)
    notice_merged(graph, notices, options.get("duplicates"))
    notice_constant(graph, notices)
    if directed and not graph.directed:
        notice("The file says that its edges have no direction; they are read as undirected.", notices)
    return graph


def _read(source: Any, suffix: str, nodes: Any, **options: Any) -> AttributedGraph:
    """Read a graph by the suffix of its file; what is no file is a table."""
    of_graph = {name: options[name] for name in ("directed", "notices")}
    if suffix and suffix not in TABLE_SUFFIXES:
        given = {name: value for name, value in options.items() if name not in of_graph}
        _check_options(source.name, suffix, {"nodes": nodes, **given})
    if suffix == ".mat":
        from hopsight.io.matlab import read_mat

        return read_mat(source, **of_graph)
    if suffix == ".npz":
        from hopsight.io.npz import read_npz

        return read_npz(source)
    if suffix in DOCUMENTS:
        from hopsight.io.networkx import read_document

        named = {name: value for name, value in options.items() if name in (*OF_DOCUMENTS, "notices")}
        return read_document(source, suffix, **named)
    if suffix in (".pt", ".pt.zip"):
        from hopsight.io.pyg import read_pt

        return read_pt(source, **of_graph)
    from hopsight.io.tables import read_tables

    return read_tables(source, nodes, **options)


def write(graph: AttributedGraph, path: str | Path, notices: list[str] | None = None) -> None:
    """Write a graph to a file; its suffix names the format. The node table of ``x.csv`` is ``x.nodes.csv`` beside it.

    The file appears complete or not at all. Reading it restores the graph: ``.mat`` keeps what it has no name for in
    variables of our own, tables and GraphML in columns called ``hopsight_…``. A column that must have another name in
    the file gets a notice.
    """
    path = Path(path)
    suffix = written_suffix(path)
    if suffix != ".npz":
        _notice_left_out(graph, path.name, notices, holds_rows=graph.directed and suffix != ".mat")
    if suffix == ".mat":
        from hopsight.io.matlab import write_mat

        write_mat(graph, path)
    elif suffix == ".npz":
        from hopsight.io.npz import write_npz

        write_npz(graph, path)
    elif suffix == ".graphml":
        from hopsight.io.networkx import write_graphml

        write_graphml(graph, path, notices)
    else:
        from hopsight.io.tables import write_tables

        write_tables(graph, path, notices)


def _notice_left_out(graph: AttributedGraph, name: str, notices: list[str] | None, *, holds_rows: bool) -> None:
    """Give notice of what only .npz holds; a file that ``holds_rows`` keeps events if each is an edge of its own."""
    if graph.events is not None and (graph.events.size > graph.n_edges or not holds_rows):
        events = f"{graph.events.source.size:,} events behind its {plural(graph.n_edges, 'edge')}"
        notice(f"{name} does not hold the {events}; write .npz to keep them.", notices)
    kept = {
        "which nodes had no row in the node table": graph.known,
        "which nodes are left out of the ranking": graph.unranked,
        "which relation an edge belongs to": graph.edge_relation,
        "which attributes were derived from the edges": graph.derivation,
        "which cells were empty and filled in": graph.filled or None,
        "in which currencies amounts are": None if graph.events is None else graph.events.currencies or None,
    }
    for what, value in kept.items():
        if value is not None:
            notice(f"{name} does not say {what}; write .npz to keep that.", notices)


def check_output(path: Path, inputs: Callable[[], Iterable[str]], *, force: bool) -> None:
    """Refuse to write a graph over files that exist, unless forced to, and over files that it is read from, always."""
    written = [path]
    if written_suffix(path) in WRITTEN_SUFFIXES:
        from hopsight.io.tables import node_path

        written.append(node_path(path))
    for each in written:
        if each.exists() and any(each.samefile(read) for read in inputs() if Path(read).exists()):
            raise ValueError(f"{each} would be read and written at once: choose another output file")
        if os.path.lexists(each) and not force:
            raise ValueError(f"{each} already exists: choose another output file, or pass --force to replace it")


def written_suffix(path: Path) -> str:
    """Return the suffix that names the format of a file to write, or refuse one that cannot be written.

    >>> written_suffix(Path("people.csv.gz"))
    '.csv.gz'
    """
    suffixes = (*WRITTEN_SUFFIXES, ".npz", ".mat", ".graphml")
    found = [suffix for suffix in suffixes if path.name.lower().endswith(suffix) and path.name.lower() != suffix]
    if not found:
        ends = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise ValueError(f"cannot write {path}: its name must end in {ends}")
    return found[0]


def suffix_of(path: Path) -> str:
    """Return the suffix that names the format, or refuse a file whose suffix is unknown.

    >>> suffix_of(Path("people.csv.gz"))
    '.csv.gz'
    """
    name = path.name.lower()
    known = [suffix for suffix in SUFFIXES if name.endswith(suffix)]
    if not known:
        hint = "; rename a table of text to .txt"
        raise ValueError(f"cannot tell the format of {path}: its name must end in {LISTED}{hint}")
    return max(known, key=len)


def _check_options(name: str, suffix: str, options: dict[str, Any]) -> None:
    """Refuse options of tables for a file that is not a table; nodes and edges of documents have named data too."""
    for option, value in options.items():
        known = option == "missing" or (suffix in DOCUMENTS and option in OF_DOCUMENTS)
        is_empty = value is None or (option in ("ignore", "category") and not value)
        if not (known or is_empty):
            raise Refusal(option, f"is for tables, and {name} is not one, got {value!r}")


def graph_of(
    source: Any,
    *,
    directed: bool = False,
    missing: str = "fill",
    derive: Any = None,
    notices: list[str] | None = None,
    **of_nodes: Any,
) -> AttributedGraph:
    """Return an object that holds a graph as an AttributedGraph.

    It may be an AttributedGraph (returned unchanged), a PyG ``Data`` or ``HeteroData``, a NetworkX graph, or a pair of
    an adjacency and an attribute matrix, each dense or sparse. The parameters are those of :func:`hopsight.load`; a
    NetworkX ``DiGraph`` is always directed, and only the nodes of a NetworkX graph have named data.

    Examples
    --------
    >>> graph_of(([[0, 1], [1, 0]], [[0.5], [0.7]]))
    AttributedGraph(2 nodes, 1 undirected edge, 1 attribute)
    """
    if all(hasattr(source, name) for name in ("nodes", "edges", "is_directed")):
        from hopsight.io.networkx import from_networkx

        return from_networkx(source, directed=directed, missing=missing, derive=derive, notices=notices, **of_nodes)
    if derive is not None:
        raise Refusal("derive", f"is for tables, and the source is not one but {type(source).__name__}")
    if any(value not in (None, ()) for value in of_nodes.values()):
        raise ValueError(f"label, ignore and the like name columns, but a {type(source).__name__} has none")
    if isinstance(source, AttributedGraph):
        return source
    if all(hasattr(source, name) for name in ("node_types", "edge_types", "node_stores")):
        from hopsight.io.pyg import from_hetero

        return from_hetero(source, directed=directed, notices=notices)
    if hasattr(source, "edge_index") and hasattr(source, "x"):
        from hopsight.io.pyg import from_data

        return from_data(source, directed=directed, notices=notices)
    if isinstance(source, tuple | list) and len(source) == 2 and not any(isinstance(part, str) for part in source):
        graph = AttributedGraph(source[0], source[1], directed=directed)
        return replace(graph, edge_weight=edge_weights(source[0], graph))
    what = "a file" if isinstance(source, str | Path) else "a table of edges, as a data frame,"
    hint = f"; read {what} with hopsight.load() first"
    raise ValueError(
        "a graph must be an AttributedGraph, a PyG Data, a NetworkX graph or a pair (adjacency, attributes), "
        f"got {type(source).__name__}{hint}"
    )
