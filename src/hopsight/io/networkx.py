"""Convert NetworkX graphs, whose node data become the attributes, and have NetworkX read GraphML, GML and GEXF."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import scipy.sparse as sp

from hopsight.checks import shortened
from hopsight.graph import AttributedGraph
from hopsight.io import ids
from hopsight.io.derive import parse_derive
from hopsight.io.edges import LEFT_OUT, TIME, WEIGHT, assemble, columns_of, edge_columns, own_edges
from hopsight.io.nodes import OWN_COLUMNS, distinct, node_fields, own_columns
from hopsight.io.notices import notice_renamed
from hopsight.io.sources import check_loaded, reading, writing
from hopsight.io.textfile import text_content
from hopsight.system.lazy_polars import pl

CELL_NUMBERS = 8  # a value is an object of Python before it is a number
OURS = "written_by_hopsight"  # marks a document, so that nothing is derived from its edges again
VIEW = ("viz", "parents", "pid", "start", "end", "spells")  # of a node in GEXF: how it looks, and where it is nested
_PIECE = 2**20  # bytes of XML at a time; a parser that gets few begins long tokens again and again
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def from_networkx(
    source: Any, *, directed: bool = False, derive: Any = None, notices: list[str] | None = None, **options: Any
) -> AttributedGraph:
    """Convert a NetworkX graph to an AttributedGraph.

    Node data are encoded like the columns of a node table (:func:`hopsight.io.nodes.encode`); a value that a node
    lacks counts as an empty cell. Edge data become weights, times and edge attributes; attributes are derived from the
    edges as from an edge list (:func:`hopsight.io.edges.assemble`), of all kinds if nodes have no data. A
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
    data = _Data([data for _, data in source.nodes(data=True)], source.graph.get("node_default", {}))
    ours = OURS in source.graph
    fields = node_fields(
        list(data.cells), data.column, len(nodes), may_lack=True, ours=ours, notices=notices, **options
    )
    position = {node: index for index, node in enumerate(nodes)}
    given = list(source.edges(data=True))
    edges = np.array([(position[a], position[b]) for a, b, _ in given], dtype=np.int64).reshape(-1, 2)
    edge_data = _Data([data for *_, data in given], source.graph.get("edge_default", {}))
    columns = {name: edge_data.column(name) for name in edge_data.cells if name.strip().lower() not in LEFT_OUT}
    if not ours and WEIGHT in columns and columns[WEIGHT].dtype.is_numeric():
        columns[WEIGHT] = columns[WEIGHT].fill_null(1.0)  # of an edge without a weight
    frame = pl.DataFrame(columns)
    others = own_edges(frame, WEIGHT, TIME) if ours else edge_columns(frame, list(columns), notices=notices)
    kinds = parse_derive(derive)
    if kinds is None and not others:
        kinds = () if "attributes" in fields else ("structure",)  # counts would repeat degrees
    is_directed = bool(source.is_directed())
    return assemble(
        edges[:, 0], edges[:, 1], fields, others, pl.Series(map(str, nodes), dtype=pl.String), kinds=kinds, ours=ours,
        sends=is_directed, directed=is_directed, node_ids=nodes, name=str(source.name), notices=notices,
    )  # fmt: skip


def read_document(path: Path, suffix: str, **options: Any) -> AttributedGraph:
    """Read a graph from a GraphML, GML or GEXF file; ``options`` are those of :func:`from_networkx`."""
    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what NetworkX assumes where a file does not say
        import networkx as nx

        kind = suffix.removeprefix(".").upper().replace("GRAPHML", "GraphML")
        n_declared = None if suffix == ".gml" else _check_xml(path)
        try:
            graph = {".gml": _parse_gml, ".gexf": _parse_gexf, ".graphml": _parse_graphml}[suffix](path, nx)
        except nx.NetworkXError as error:
            raise ValueError(str(error)) from None
        except (AttributeError, KeyError, TypeError):  # how a parser fails where it expects something else
            raise ValueError(f"it is damaged, or not {kind}") from None
        if suffix == ".graphml" and len(graph) != n_declared:
            fewer = "it holds more than one graph, or declares a node twice"
            raise ValueError(
                fewer if len(graph) < (n_declared or 0) else "one of its edges has an end that is not declared"
            )
        graph.name = path.stem
        _check_size(graph, path.stat().st_size)
        return from_networkx(graph, **options)


def write_graphml(graph: AttributedGraph, path: Path, notices: list[str] | None = None) -> None:
    """Write a graph as GraphML; zeros of sparse attributes are not written but declared as the default."""
    with writing(path) as temporary:
        import networkx as nx

        nx.write_graphml_xml(_to_networkx(graph), temporary)
    names, columns = distinct(graph.attribute_names, OWN_COLUMNS), [*columns_of(graph)]
    written = [*names, *columns[len(columns) - len(graph.edge_attribute_names) :]]
    notice_renamed(path, (*graph.attribute_names, *graph.edge_attribute_names), written, notices)


def _to_networkx(graph: AttributedGraph) -> Any:
    """Return a NetworkX graph with the data of all nodes and edges; the first node has a value for every attribute."""
    import networkx as nx

    found = (nx.DiGraph if graph.directed else nx.Graph)(**{OURS: True})
    names = [_legal(name) for name in distinct(graph.attribute_names, OWN_COLUMNS)]
    attributes = sp.csr_array(graph.attributes) if sp.issparse(graph.attributes) else None
    if attributes is not None:
        found.graph["node_default"] = dict.fromkeys(names, 0.0)
    own = own_columns(graph)
    node_ids = [_legal(str(node)) for node in graph.node_ids.tolist()]
    for row, node in enumerate(node_ids):
        if attributes is None:
            cells = dict(zip(names, graph.attributes[row].tolist(), strict=True))
        else:
            part = slice(*attributes.indptr[row : row + 2])
            filled = (names[column] for column in attributes.indices[part])
            cells = dict.fromkeys(names if row == 0 else (), 0.0)
            cells |= dict(zip(filled, attributes.data[part].tolist(), strict=True))
        found.add_node(node, **cells, **{name: _legal(values[row]) for name, values in own.items()})
    columns = {_legal(name): values.tolist() for name, values in columns_of(graph).items()}
    for row, (source, target) in enumerate(graph.edges.T.tolist()):
        found.add_edge(node_ids[source], node_ids[target], **{name: each[row] for name, each in columns.items()})
    return found


def _parse_gml(path: Path, nx: Any) -> Any:
    content = text_content(path)
    text = (path.read_bytes() if content is None else content).decode("utf-8-sig")
    return _by_label(nx.parse_gml(text, label="id"), nx)


def _parse_gexf(path: Path, nx: Any) -> Any:
    with path.open("rb") as file:
        graph = nx.read_gexf(file)
    for _, data in graph.nodes(data=True):
        for extra in VIEW:
            data.pop(extra, None)
    return _by_label(graph, nx)


def _parse_graphml(path: Path, nx: Any) -> Any:
    with path.open("rb") as file:
        graph = nx.read_graphml(file)
    words = pl.Series("id", list(graph.nodes), dtype=pl.String)
    numbers = ids.as_ids(words, typed=False, exact=True)
    if numbers.null_count():
        raise ValueError("one of its nodes has no id")
    ids.check_unique(numbers)
    return nx.relabel_nodes(graph, dict(zip(graph, numbers.to_list(), strict=True)))


def _check_xml(path: Path) -> int:
    """Refuse what is not XML, and a document type: entities that it declares could unpack to any size.

    It returns the number of nodes that the document declares; NetworkX adds those of edges by itself.
    """
    n_nodes = 0

    def count(element: str, _: Any) -> None:
        nonlocal n_nodes
        n_nodes += element.rpartition(" ")[2] == "node"

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse
    parser.StartElementHandler = count
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                parser.Parse(piece, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise ValueError(f"it is not XML: {error}") from None
    return n_nodes


def _refuse(*_: Any) -> None:
    raise ValueError("it declares a document type, which is refused because entities could follow")


def _check_size(graph: Any, size: int) -> None:
    """Refuse a document whose nodes or edges would have far more values than it says: a name of one is a column."""
    n_numbers = 0
    for what, given in (("node", graph.nodes(data=True)), ("edge", graph.edges(data=True))):
        rows = [data for *_, data in given]
        n_numbers += len(rows) * len(set(graph.graph.get(f"{what}_default", ())).union(*rows))
    check_loaded(size, n_numbers=CELL_NUMBERS * n_numbers)


def _by_label(graph: Any, nx: Any) -> Any:
    """Return the graph with the labels of its nodes as ids, if every node has its own; they say more than numbers."""
    labels = [data.get("label") for _, data in graph.nodes(data=True)]
    if None in labels or len({str(label) for label in labels}) < len(labels):
        return graph
    for _, data in graph.nodes(data=True):
        del data["label"]
    return nx.relabel_nodes(graph, dict(zip(graph, labels, strict=True)))


class _Data:
    """The data of nodes or edges by name: the rows that have a value, and the values."""

    def __init__(self, rows: Sequence[Mapping[Any, Any]], defaults: Mapping[Any, Any]) -> None:
        self.n_rows = len(rows)
        self._defaults = {str(name): value for name, value in defaults.items()}
        self.cells: dict[str, tuple[list[int], list[Any]]] = {}
        for row, data in enumerate(rows):
            for name, value in data.items():
                places, values = self.cells.setdefault(str(name), ([], []))
                places.append(row)
                values.append(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
        for name in self._defaults:
            self.cells.setdefault(name, ([], []))

    def column(self, name: str) -> pl.Series:
        """Return the values of one name as a column, null where there is neither a value nor a default."""
        rows, values = self.cells[name]
        default = self._defaults.get(name)
        known = [value for value in (*values, default) if value is not None]
        if all(isinstance(value, bool | int | float) for value in known):
            numbers = np.full(self.n_rows, np.nan if default is None else default, dtype=np.float64)
            numbers[rows] = [np.nan if value is None else value for value in values]
            return pl.Series(name, numbers, nan_to_null=True)
        cells: list[Any] = [default] * self.n_rows
        for row, value in zip(rows, values, strict=True):
            cells[row] = default if value is None else value
        if all(isinstance(value, list | tuple) for value in known):
            lists = [None if value is None else [float(entry) for entry in value] for value in cells]
            return pl.Series(name, lists, dtype=pl.List(pl.Float64))
        return pl.Series(name, [None if value is None else str(value) for value in cells], dtype=pl.String)


def _legal(value: Any) -> Any:
    """Refuse characters that XML cannot hold, such as control characters."""
    wrong = _FORBIDDEN.search(value) if isinstance(value, str) else None
    if wrong:
        raise ValueError(f"GraphML cannot hold the character {wrong.group()!r} in {shortened(value)}")
    return value
