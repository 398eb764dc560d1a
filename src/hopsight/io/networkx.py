"""Convert NetworkX graphs, whose node data become the attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.io.nodes import node_fields

if TYPE_CHECKING:
    import polars as pl


def from_networkx(source: Any, *, directed: bool = False, **options: Any) -> AttributedGraph:
    """Convert a NetworkX graph to an AttributedGraph.

    Node data are encoded like the columns of a node table (:func:`hopsight.io.columns.encode`); a value that a node
    lacks counts as an empty cell. Edge data are left out. A ``DiGraph`` stays directed. ``options`` are those of
    :func:`hopsight.io.nodes.node_fields`.

    Examples
    --------
    >>> import networkx as nx
    >>> friends = nx.path_graph(["ann", "bo", "cy"])
    >>> nx.set_node_attributes(friends, {"ann": 31, "bo": 42, "cy": 27}, "age")
    >>> from_networkx(friends)
    AttributedGraph(3 nodes, 2 undirected edges, 1 attribute)
    """
    if directed and not source.is_directed():
        raise ValueError("the edges of a NetworkX Graph have no direction; use a DiGraph, or leave out directed")
    nodes = list(source.nodes)
    if not nodes:
        raise ValueError("the graph has no nodes")
    names: dict[str, Any] = {}
    for _, data in source.nodes(data=True):
        names.update({str(name): name for name in data})
    if not names:
        raise ValueError("the nodes of the graph have no data, and hopsight needs attributes")
    fields = node_fields(
        list(names),
        lambda name: _column(name, [data.get(names[name]) for _, data in source.nodes(data=True)]),
        len(nodes),
        **options,
    )
    position = {node: index for index, node in enumerate(nodes)}
    edges = np.array([(position[a], position[b]) for a, b in source.edges()], dtype=np.int64).reshape(-1, 2)
    return AttributedGraph.from_edges(
        edges[:, 0],
        edges[:, 1],
        directed=bool(source.is_directed()),
        node_ids=nodes,
        name=str(source.name),
        **fields,
    )


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return the values of one attribute as a column."""
    import polars as pl

    plain = [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in values]
    known = [value for value in plain if value is not None]
    if all(isinstance(value, bool | int | float) for value in known):
        return pl.Series(name, [None if value is None else float(value) for value in plain], dtype=pl.Float64)
    if all(isinstance(value, list | tuple) for value in known):
        lists = [None if value is None else [float(entry) for entry in value] for value in plain]
        return pl.Series(name, lists, dtype=pl.List(pl.Float64))
    return pl.Series(name, [None if value is None else str(value) for value in plain], dtype=pl.String)
