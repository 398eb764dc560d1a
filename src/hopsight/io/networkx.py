"""NetworkX graphs: the data of their nodes are the attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.io.nodes import node_fields

if TYPE_CHECKING:
    import polars as pl


def from_networkx(
    network: Any,
    *,
    directed: bool = False,
    label: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "refuse",
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Turn a NetworkX graph into an AttributedGraph.

    Node data are encoded as the columns of a node table are (:func:`hopsight.io.columns.encode`); a node without
    one that others have counts as an empty cell. Edge data are left out. A ``DiGraph`` stays directed.

    Examples
    --------
    >>> import networkx as nx
    >>> network = nx.path_graph(["ann", "bo", "cy"])
    >>> nx.set_node_attributes(network, {"ann": 31, "bo": 42, "cy": 27}, "age")
    >>> from_networkx(network)
    AttributedGraph(3 nodes, 2 undirected edges, 1 attributes)
    """
    if directed and not network.is_directed():
        raise ValueError("the edges of a NetworkX Graph have no direction: use a DiGraph, or leave directed out")
    nodes = list(network.nodes)
    if not nodes:
        raise ValueError("the network has no nodes")
    names: dict[str, Any] = {}
    for _, data in network.nodes(data=True):
        names.update({str(name): name for name in data})
    if not names:
        raise ValueError("the nodes of the network have no data: attributes are needed to judge them")
    fields = node_fields(
        list(names),
        lambda name: _column(name, [data.get(names[name]) for _, data in network.nodes(data=True)]),
        len(nodes),
        label=label,
        ignore=ignore,
        missing=missing,
        notices=notices,
    )
    position = {node: index for index, node in enumerate(nodes)}
    edges = np.array([(position[a], position[b]) for a, b in network.edges()], dtype=np.int64).reshape(-1, 2)
    return AttributedGraph.from_edges(
        edges[:, 0],
        edges[:, 1],
        directed=bool(network.is_directed()),
        node_ids=nodes,
        name=str(network.name),
        **fields,
    )


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return the values of one kind of node data as a column."""
    import polars as pl

    plain = [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in values]
    known = [value for value in plain if value is not None]
    if all(isinstance(value, bool | int | float) for value in known):
        return pl.Series(name, [None if value is None else float(value) for value in plain], dtype=pl.Float64)
    if all(isinstance(value, list | tuple) for value in known):
        lists = [None if value is None else [float(entry) for entry in value] for value in plain]
        return pl.Series(name, lists, dtype=pl.List(pl.Float64))
    return pl.Series(name, [None if value is None else str(value) for value in plain], dtype=pl.String)
