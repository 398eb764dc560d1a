"""Convert the graph objects of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hopsight.checks import Refusal
from hopsight.graph import AttributedGraph


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
        from hopsight.io.hetero import from_hetero

        return from_hetero(source, directed=directed, notices=notices)
    if hasattr(source, "edge_index") and hasattr(source, "x"):
        from hopsight.io.pyg import from_data

        return from_data(source, directed=directed, notices=notices)
    if isinstance(source, tuple | list) and len(source) == 2 and not any(isinstance(part, str) for part in source):
        return AttributedGraph(source[0], source[1], directed=directed)
    what = "a file" if isinstance(source, str | Path) else "a table of edges, as a data frame,"
    hint = f"; read {what} with hopsight.load() first"
    raise ValueError(
        "a graph must be an AttributedGraph, a PyG Data, a NetworkX graph or a pair (adjacency, attributes), "
        f"got {type(source).__name__}{hint}"
    )
