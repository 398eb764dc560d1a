"""Convert NetworkX graphs, whose node data become the attributes, and read GML and GEXF with NetworkX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.io.derive import EdgeRows, parse_derive
from hopsight.io.edge_fields import complete
from hopsight.io.files import check_loaded, reading
from hopsight.io.nodes import node_fields
from hopsight.io.textfile import text_content
from hopsight.io.xml import parse_xml
from hopsight.system.lazy_polars import pl

CELL_NUMBERS = 8  # a value is an object of Python before it is a number


def from_networkx(source: Any, *, directed: bool = False, derive: Any = None, **options: Any) -> AttributedGraph:
    """Convert a NetworkX graph to an AttributedGraph.

    Node data are encoded like the columns of a node table (:func:`hopsight.io.columns.encode`); a value that a node
    lacks counts as an empty cell. Edge data become weights, times and edge attributes; attributes are derived from the
    edges as from an edge list (:func:`hopsight.io.edge_fields.complete`), of all kinds if nodes have no data. A
    ``DiGraph`` stays directed. ``options`` are those of :func:`hopsight.io.nodes.node_fields`.

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
    fields = node_fields(
        list(names),
        lambda name: _column(name, [data.get(names[name]) for _, data in source.nodes(data=True)]),
        len(nodes),
        may_lack=True,
        **options,
    )
    position = {node: index for index, node in enumerate(nodes)}
    given = list(source.edges(data=True))
    edges = np.array([(position[a], position[b]) for a, b, _ in given], dtype=np.int64).reshape(-1, 2)
    names_of_edges: dict[str, Any] = {}
    for _, _, data in given:
        names_of_edges.update({str(name): name for name in data})
    edge_data = {name: _column(name, [data.get(key) for *_, data in given]) for name, key in names_of_edges.items()}
    rows = EdgeRows(edges[:, 0], edges[:, 1], directed=bool(source.is_directed()))
    fields = complete(fields, rows, len(nodes), edge_data, kinds=parse_derive(derive), notices=options.get("notices"))
    return AttributedGraph.from_edges(
        edges[:, 0],
        edges[:, 1],
        directed=bool(source.is_directed()),
        node_ids=nodes,
        name=str(source.name),
        **fields,
    )


def read_document(path: Path, suffix: str, **options: Any) -> AttributedGraph:
    """Read a graph from a GML or GEXF file; ``options`` are those of :func:`from_networkx`."""
    with reading(path):
        try:
            import networkx as nx
        except ImportError:
            raise ValueError("reading it needs the package networkx; run pip install 'hopsight[networkx]'") from None
        try:
            graph = _parse_gml(path, nx) if suffix == ".gml" else _parse_gexf(path, nx)
        except nx.NetworkXError as error:
            raise ValueError(str(error)) from None
        graph.name = path.stem
        _check_size(graph, path.stat().st_size)
        return from_networkx(graph, **options)


def _parse_gml(path: Path, nx: Any) -> Any:
    content = text_content(path)
    text = (path.read_bytes() if content is None else content).decode("utf-8-sig")
    try:
        graph = nx.parse_gml(text, label="id")
    except (AttributeError, KeyError, TypeError):  # how the parser fails where it expects something else
        raise ValueError("it is damaged, or not GML") from None
    return _by_label(graph, nx)


def _parse_gexf(path: Path, nx: Any) -> Any:
    parse_xml(path, _ignore, _ignore, _ignore)  # NetworkX would expand entities
    with path.open("rb") as file:
        try:
            graph = nx.read_gexf(file)
        except (AttributeError, KeyError, TypeError):
            raise ValueError("it is damaged, or not GEXF") from None
    for _, data in graph.nodes(data=True):
        for extra in ("viz", "parents", "pid", "start", "end", "spells"):  # how it looks, and where it is nested
            data.pop(extra, None)
    return _by_label(graph, nx)


def _check_size(graph: Any, size: int) -> None:
    """Refuse a document whose nodes or edges would have far more values than it says: a name of one is a column."""
    n_numbers = 0
    for rows in ([data for _, data in graph.nodes(data=True)], [data for *_, data in graph.edges(data=True)]):
        n_numbers += len(rows) * len(set().union(*rows))
    check_loaded(size, n_numbers=CELL_NUMBERS * n_numbers)


def _by_label(graph: Any, nx: Any) -> Any:
    """Return the graph with the labels of its nodes as ids, if every node has its own; they say more than numbers."""
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    if None in labels or len({str(label) for label in labels}) < len(labels):
        return graph
    for _, data in graph.nodes(data=True):
        del data["label"]
    return nx.relabel_nodes(graph, dict(zip(graph, labels, strict=True)))


def _ignore(*_: Any) -> None:
    pass


def _column(name: str, values: list[Any]) -> pl.Series:
    """Return the values of one attribute as a column."""
    plain = [value.tolist() if isinstance(value, np.ndarray | np.generic) else value for value in values]
    known = [value for value in plain if value is not None]
    if all(isinstance(value, bool | int | float) for value in known):
        return pl.Series(name, [None if value is None else float(value) for value in plain], dtype=pl.Float64)
    if all(isinstance(value, list | tuple) for value in known):
        lists = [None if value is None else [float(entry) for entry in value] for value in plain]
        return pl.Series(name, lists, dtype=pl.List(pl.Float64))
    return pl.Series(name, [None if value is None else str(value) for value in plain], dtype=pl.String)
