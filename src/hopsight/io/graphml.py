"""Read and write GraphML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import shortened
from hopsight.graph import AttributedGraph
from hopsight.io import ids
from hopsight.io.derive import EdgeRows, parse_derive
from hopsight.io.edge_fields import columns_of, complete
from hopsight.io.files import check_loaded, reading, writing
from hopsight.io.nodes import OWN_COLUMNS, distinct, node_fields, own_columns
from hopsight.io.xml import parse_xml
from hopsight.system.lazy_polars import pl

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
OURS = "written by hopsight"  # so that nothing is derived from its edges again
MAX_KEYS = 100_000
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def read_graphml(path: Path, *, directed: bool = False, derive: Any = None, **options: Any) -> AttributedGraph:
    """Read a graph from GraphML; the data of its nodes become attributes, encoded like the columns of a node table.

    The data of its edges become weights, times and edge attributes; attributes are derived from the edges as from an
    edge list (:func:`hopsight.io.edge_fields.complete`). The graph is directed if the file says so or if ``directed``
    is true. ``options`` are those of :func:`hopsight.io.nodes.node_fields`.
    """
    with reading(path):
        document = _Document()
        parse_xml(path, document.start, document.end, document.text.append)
        if not document.nodes:
            raise ValueError("it has no nodes")
        fields = document.node_fields(path.stat().st_size, **options)
        node_ids = ids.as_ids(pl.Series("id", document.nodes, dtype=pl.String), typed=False)
        source, target = document.positions()
        directed = directed or document.directed
        fields = complete(
            fields, EdgeRows(source, target, directed=directed), len(document.nodes), document.edge_columns(),
            kinds=parse_derive(derive), ours=document.ours, notices=options.get("notices"),
        )  # fmt: skip
        return AttributedGraph.from_edges(
            source,
            target,
            directed=directed,
            node_ids=node_ids.to_list(),
            name=path.stem,
            **fields,
        )


def write_graphml(graph: AttributedGraph, path: Path) -> None:
    """Write a graph as GraphML; zeros of sparse attributes are not written but declared as the default."""
    with writing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(_lines(graph))


@dataclass
class _Key:
    """A declared attribute, and its values for the nodes and edges that have one."""

    name: str
    domain: str
    default: str | None = None
    rows: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    edge_rows: list[int] = field(default_factory=list)
    edge_values: list[str] = field(default_factory=list)

    def of_edges(self) -> _Key:
        """Return the key with the values of the edges alone."""
        return _Key(self.name, "edge", self.default, self.edge_rows, self.edge_values)

    @property
    def is_sparse(self) -> bool:
        """Whether nodes without a value have 0."""
        return self.default is not None and self.default.strip() in ("0", "0.0")


class _Document:
    """Collects keys, nodes and edges while expat reads the document."""

    def __init__(self) -> None:
        self.keys: dict[str, _Key] = {}
        self.nodes: list[str] = []
        self.sources: list[str] = []
        self.targets: list[str] = []
        self.directed = False
        self.ours = False
        self._seen: set[str] = set()
        self._path: list[str] = []
        self._key = ""
        self.text: list[str] = []

    def node_fields(self, size: int, **options: Any) -> dict[str, Any]:
        """Return the fields of a graph that come from the data of the nodes; ``size`` is that of the file in bytes."""
        n_nodes = len(self.nodes)
        keys = [key for key in self.keys.values() if key.domain in ("node", "all")]
        n_numbers = sum(len(key.rows) if key.is_sparse else n_nodes for key in keys)
        n_numbers += len(self.sources) * sum(bool(key.edge_rows) for key in self.keys.values())
        check_loaded(size, n_numbers=n_numbers)
        columns = dict(zip(distinct([key.name for key in keys]), keys, strict=True))
        return node_fields(
            list(columns), lambda name: _column(name, columns[name], n_nodes), n_nodes, may_lack=True, **options
        )

    def edge_columns(self) -> dict[str, pl.Series]:
        """Return the data of the edges by name."""
        keys = [key.of_edges() for key in self.keys.values() if key.edge_rows]
        names = distinct([key.name for key in keys])
        return {name: _column(name, key, len(self.sources)) for name, key in zip(names, keys, strict=True)}

    def positions(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions of both ends of every edge."""
        position = {node: index for index, node in enumerate(self.nodes)}
        for end in (*self.sources, *self.targets):
            if end not in position:
                raise ValueError(f"node {shortened(end)} is in an edge but is not declared")
        source, target = ([position[node] for node in ends] for ends in (self.sources, self.targets))
        return np.array(source, dtype=np.int64), np.array(target, dtype=np.int64)

    def start(self, tag: str, given: dict[str, str]) -> None:
        """Note the beginning of an element."""
        if not self._path and tag != "graphml":
            raise ValueError(f"it is XML but not GraphML: it begins with <{tag}>")
        self._path.append(tag)
        if tag == "graph":
            if self._path.count("graph") > 1 or self._seen:
                raise ValueError("it holds more than one graph")
            self.directed = given.get("edgedefault") == "directed"
        elif tag == "key":
            self._key = _needed(given, "id", tag)
            if len(self.keys) >= MAX_KEYS:
                raise ValueError(f"it declares more than {MAX_KEYS:,} keys")
            self.keys[self._key] = _Key(given.get("attr.name", self._key), given.get("for", "all"))
        elif tag == "node":
            self._add_node(_needed(given, "id", tag))
        elif tag == "edge":
            self.sources.append(_needed(given, "source", tag))
            self.targets.append(_needed(given, "target", tag))
        elif tag == "hyperedge":
            raise ValueError("it has a hyperedge; only edges between two nodes can be read")
        elif tag == "data":
            self._key = _needed(given, "key", tag)
        self.text.clear()

    def end(self, tag: str) -> None:
        """Note the end of an element, whose text is complete."""
        self._path.pop()
        parent = self._path[-1] if self._path else ""
        text = "".join(self.text)
        if tag == "desc" and parent == "graphml":
            self.ours = text == OURS
        elif tag == "default" and parent == "key":
            self.keys[self._key].default = text
        elif tag == "data" and parent in ("node", "edge"):
            key = self.keys.get(self._key)
            if key is None:
                raise ValueError(f"one of its {parent}s has data for the undeclared key {shortened(self._key)}")
            is_node = parent == "node"
            rows, values = (key.rows, key.values) if is_node else (key.edge_rows, key.edge_values)
            row = len(self.nodes if is_node else self.sources) - 1
            if not rows or rows[-1] != row:
                rows.append(row)
                values.append(text)
        self.text.clear()

    def _add_node(self, node: str) -> None:
        if node in self._seen:
            raise ValueError(f"node {shortened(node)} is declared twice")
        self._seen.add(node)
        self.nodes.append(node)


def _needed(given: dict[str, str], name: str, tag: str) -> str:
    if name not in given:
        raise ValueError(f"its <{tag}> has no {name}")
    return given[name]


def _column(name: str, key: _Key, n_nodes: int) -> pl.Series:
    """Return the values of one key, with its default for nodes that have none."""
    with suppress(TypeError, ValueError):  # the fast way for numbers: there may be thousands of sparse columns
        if key.default is not None or len(key.rows) == n_nodes:
            numbers = np.full(n_nodes, float(key.default or 0))
            numbers[key.rows] = np.array(key.values, dtype=np.float64)
            return pl.Series(name, numbers)
    values = np.full(n_nodes, key.default, dtype=object)
    values[key.rows] = key.values
    return pl.Series(name, values.tolist(), dtype=pl.String)


def _lines(graph: AttributedGraph) -> Iterator[str]:
    """Yield the document line by line."""
    sparse = sp.issparse(graph.attributes)
    node_ids = [quoteattr(_legal(str(node))) for node in graph.node_ids.tolist()]
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="{NAMESPACE}">\n<desc>{OURS}</desc>\n'
    for number, name in enumerate(distinct(graph.attribute_names, OWN_COLUMNS)):
        default = "<default>0.0</default>" if sparse else ""
        yield f'<key id="d{number}" for="node" attr.name={quoteattr(_legal(name))} attr.type="double">{default}</key>\n'
    kept = own_columns(graph)
    for name, values in kept.items():
        kind = "string" if isinstance(values[0], str) else "int"
        yield f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n'
    edge_data = columns_of(graph)
    for number, name in enumerate(edge_data):
        yield f'<key id="e{number}" for="edge" attr.name={quoteattr(_legal(name))} attr.type="double"/>\n'
    yield f'<graph edgedefault="{"directed" if graph.directed else "undirected"}">\n'
    for row, node in enumerate(node_ids):
        cells = zip(*_row(graph.attributes, row), strict=True)
        data = "".join(f'<data key="d{number}">{value!r}</data>' for number, value in cells)
        more = "".join(f'<data key="{name}">{escape(_legal(str(each[row])))}</data>' for name, each in kept.items())
        yield f"<node id={node}>{data}{more}</node>\n"
    for row, (source, target) in enumerate(graph.edges.T.tolist()):
        numbers = enumerate(column[row].item() for column in edge_data.values())
        data = "".join(f'<data key="e{number}">{value!r}</data>' for number, value in numbers)
        yield f"<edge source={node_ids[source]} target={node_ids[target]}{f'>{data}</edge>' if data else '/>'}\n"
    yield "</graph>\n</graphml>\n"


def _row(attributes: Any, row: int) -> tuple[list[int], list[float]]:
    """Return the columns and values of one node; of a sparse row, only the nonzero ones."""
    if not sp.issparse(attributes):
        return list(range(attributes.shape[1])), attributes[row].tolist()
    start, end = attributes.indptr[row : row + 2]
    return attributes.indices[start:end].tolist(), attributes.data[start:end].tolist()


def _legal(text: str) -> str:
    """Refuse characters that XML cannot hold, such as control characters."""
    wrong = _FORBIDDEN.search(text)
    if wrong:
        raise ValueError(f"GraphML cannot hold the character {wrong.group()!r} in {shortened(text)}")
    return text
