"""The attributed graph {A, X}, which every part of hopsight reads and none changes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hopsight.canonical import (
    Aside,
    Context,
    EdgeData,
    canonical_adjacency,
    canonical_attributes,
    canonical_ids,
    canonical_names,
    edge_names,
    flags,
    merged,
    relations,
    texts,
)
from hopsight.checks import plural
from hopsight.system.arrays import Positions, frozen, id_hashes, ids_ascend, sorted_by_id

_BACK = 1 << 32  # an edge from the larger position to the smaller one counts this much, where both are counted
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")

Attributes = Any  # a float ndarray or a CSR array, both (n_nodes, n_attributes); scipy has no types


@dataclass(frozen=True, eq=False, repr=False)
class AttributedGraph:
    """Nodes with attributes and the edges between them; read-only.

    Every input is brought into one canonical form: a 0/1 CSR adjacency matrix without self-loops (symmetric unless
    ``directed``) and a finite attribute matrix, which stays sparse if it was sparse.

    Parameters
    ----------
    adjacency
        Square matrix, dense or sparse; every nonzero entry is an edge. Each edge of an undirected graph may be
        stored once or twice.
    attributes
        Matrix with one row per node, dense or sparse.
    node_ids
        One string or integer per node; by default 0, 1, …
    attribute_names
        One name per column; by default ``x0, x1, …``
    labels
        Ground truth for evaluation: 1 for an anomaly, 0 for a normal node, -1 for an unlabeled one. No detector
        looks at it.
    kinds
        Kinds of anomaly: 0 normal, 1 structure, 2 attribute, 3 both.
    directed
        Keep the direction of the edges instead of symmetrizing.
    name
        Name of the graph in tables.
    n_duplicates, n_self_loops, n_reciprocal
        Number of edges that were merged or removed before, and of pairs of nodes with edges in both directions that
        became one undirected edge.
    edge_weight, edge_time, edge_attributes
        Weight (negative for distrust), time and attributes of each edge, in the order of ``edges``; None if edges
        have none.
    edge_attribute_names
        One name per column of ``edge_attributes``.
    node_types
        Kind of each node, as text, if there are several kinds such as users and items.
    node_names
        Name of each node to show to people beside its id.
    known
        Whether each node has a row in the node table, if some have none. What a node without a row has in place of
        attributes is no evidence, and it is not ranked or flagged.
    rank_unknown
        Rank and flag these nodes all the same.
    unranked
        Whether each node is left out of the ranking because the user asked for that; None if none is.
    events
        The rows of the edge table with their amounts and times (:class:`hopsight.canonical.Events`), before duplicate
        rows are merged into edges; None if they have neither.
    derivation
        What the last columns of ``attributes`` were derived from, if they were derived from the edges
        (:class:`hopsight.io.derive.Derivation`).
    filled
        By the name of an attribute, the positions of nodes whose cell is empty: what ``attributes`` have there is
        filled in, and nothing to tell.
    left_out
        Derived columns that ``attributes`` lack because they say nothing more about these nodes: by their names, the
        one value that all nodes have, or the name of the column with the same values.
    aside
        Columns that no detector sees but that ``learn`` takes by their name (:class:`hopsight.canonical.Aside`).
    edge_relation, relation_names
        Number of the relation of each edge, in the order of ``edges``, and the names of the relations such as "paid";
        two relations between the same nodes have a name for both, "paid, referred".
    context
        What the relations say about each node, if nodes are of several types (:class:`hopsight.canonical.Context`).

    Examples
    --------
    >>> graph = AttributedGraph([[0, 1, 0], [0, 1, 1], [0, 0, 0]], [[1.0], [2.0], [3.0]], node_ids=["a", "b", "c"])
    >>> graph.n_nodes, graph.n_edges, graph.n_self_loops
    (3, 2, 1)
    >>> graph.edges.tolist()
    [[0, 1], [1, 2]]
    """

    adjacency: Any
    attributes: Attributes
    node_ids: Any = None
    attribute_names: Any = None
    labels: Any = None
    kinds: Any = None
    directed: bool = False
    name: str = ""
    n_duplicates: int = 0
    n_self_loops: int = 0
    n_reciprocal: int = 0
    edge_weight: Any = None
    edge_time: Any = None
    edge_attributes: Any = None
    edge_attribute_names: Any = None
    node_types: Any = None
    node_names: Any = None
    known: Any = None
    rank_unknown: bool = False
    unranked: Any = None
    events: Any = None
    derivation: Any = None
    filled: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    left_out: Mapping[str, str | float] = field(default_factory=dict)
    aside: Mapping[str, Aside] = field(default_factory=dict)
    edge_relation: Any = None
    relation_names: Any = None
    context: Context | None = None

    def __post_init__(self) -> None:
        adjacency, n_self_loops = canonical_adjacency(self.adjacency, self.directed)
        attributes = canonical_attributes(self.attributes, adjacency.shape[0])
        n_nodes, n_attributes = attributes.shape
        self._set("adjacency", adjacency)
        self._set("attributes", attributes)
        self._set("n_self_loops", self.n_self_loops + n_self_loops)
        self._set("node_ids", canonical_ids(self.node_ids, n_nodes))
        self._set("attribute_names", canonical_names(self.attribute_names, n_attributes))
        self._set("labels", flags("labels", self.labels, n_nodes, low=-1, high=1))
        self._set("kinds", flags("kinds", self.kinds, n_nodes, low=0, high=3))
        self._set("node_types", texts("node_types", self.node_types, n_nodes))
        self._set("node_names", texts("node_names", self.node_names, n_nodes))
        known = flags("known", self.known, n_nodes, low=0, high=1)
        self._set("known", None if known is None or known.all() else frozen(known.astype(np.bool_)))
        unranked = flags("unranked", self.unranked, n_nodes, low=0, high=1)
        self._set("unranked", None if unranked is None or not unranked.any() else frozen(unranked.astype(np.bool_)))
        self._set("events", None if self.events is None else self.events.checked(n_nodes))
        data = self.edge_data.checked(self.n_edges)
        self._set("edge_weight", data.weight)
        self._set("edge_time", data.time)
        self._set("edge_attributes", data.attributes)
        self._set("edge_attribute_names", edge_names(self.edge_attribute_names, data.attributes))
        codes, names = relations(self.edge_relation, self.relation_names, self.n_edges)
        self._set("edge_relation", codes)
        self._set("relation_names", names)
        self._set("context", None if self.context is None else self.context.checked(n_nodes))

    @classmethod
    def from_edges(
        cls,
        sources: ArrayLike,
        targets: ArrayLike,
        attributes: Attributes,
        *,
        directed: bool = False,
        edge_weight: Any = None,
        edge_time: Any = None,
        edge_attributes: Any = None,
        duplicates: str = "sum",
        merged_edges: tuple[Any, int] | None = None,
        **fields: Any,
    ) -> AttributedGraph:
        """Build a graph from two arrays of node positions; duplicate edges are merged and counted.

        In an undirected graph ``a, b`` and ``b, a`` are the same edge. Weights, times and attributes are in the order
        of the sources; ``duplicates`` says what those of a merged edge are (:func:`hopsight.canonical.merged`). Who has
        the undirected edges as :func:`hopsight.system.arrays.simple_csr` returns them, and the number of those that
        rows give in both directions, passes both as ``merged_edges``.
        """
        source, target = _positions("sources", sources), _positions("targets", targets)
        if source.ndim != 1 or source.shape != target.shape:
            raise ValueError(f"sources and targets must be equally long, got shapes {source.shape} and {target.shape}")
        data = EdgeData(edge_weight, edge_time, edge_attributes).checked(source.size)
        n_nodes = attributes.shape[0] if sp.issparse(attributes) else len(np.atleast_1d(attributes))
        if source.size and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= n_nodes):
            raise ValueError(f"an edge has an end outside 0..{n_nodes - 1}")
        kind = np.int32 if n_nodes < 2**31 else np.int64  # as scipy would choose, but before the copies below
        source, target = source.astype(kind, copy=False), target.astype(kind, copy=False)
        loops = source == target
        if loops.any():
            source, target, data = source[~loops], target[~loops], data.rows(~loops)
        adjacency, n_reciprocal = merged_edges or _counted(source, target, n_nodes, directed)
        if data or duplicates != "sum":
            low, high = (source, target) if directed else (np.minimum(source, target), np.maximum(source, target))
            data = merged(low, high, n_nodes, data, duplicates)
        return cls(
            adjacency,
            attributes,
            directed=directed,
            n_duplicates=source.size - adjacency.nnz // (1 if merged_edges is None else 2),
            n_self_loops=int(loops.sum()),
            n_reciprocal=n_reciprocal,
            edge_weight=data.weight,
            edge_time=data.time,
            edge_attributes=data.attributes,
            **fields,
        )

    @property
    def edge_data(self) -> EdgeData:
        """Weight, time and attributes of the edges together."""
        return EdgeData(self.edge_weight, self.edge_time, self.edge_attributes)

    @property
    def ranked(self) -> Any:
        """Which nodes are ranked and flagged; None if all are."""
        known = None if self.rank_unknown else self.known
        if self.unranked is None:
            return known
        return ~self.unranked if known is None else known & ~self.unranked

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return int(self.adjacency.nnz if self.directed else self.adjacency.nnz // 2)

    @property
    def n_attributes(self) -> int:
        """Number of attribute columns."""
        return int(self.attributes.shape[1])

    @cached_property
    def relative_weight(self) -> Any:
        """Weight of each edge divided by the mean absolute weight, so that its unit does not matter."""
        if self.edge_weight is None:
            return None
        mean = float(np.abs(self.edge_weight).mean()) if self.edge_weight.size else 0.0
        return frozen(self.edge_weight / mean if mean > 0.0 else self.edge_weight.copy())

    @cached_property
    def edges(self) -> NDArray[np.int64]:
        """Every edge once, as (2, n_edges) node positions; an undirected edge has source < target."""
        upper = self.adjacency if self.directed else sp.triu(self.adjacency, k=1, format="csr")
        source = np.repeat(np.arange(self.n_nodes, dtype=np.int64), np.diff(upper.indptr))
        return frozen(np.stack([source, upper.indices.astype(np.int64)]))

    @cached_property
    def directions(self) -> NDArray[np.int64]:
        """Every edge once, as tables name it: from the end that sent more of its events; else in the order of ids."""
        if self.directed:
            return self.edges
        source, target = self.edges
        place = np.empty(self.n_nodes, dtype=np.int64)
        place[sorted(range(self.n_nodes), key=self.node_ids.tolist().__getitem__)] = np.arange(self.n_nodes)
        sent = np.zeros(self.n_edges)
        if self.events is not None:
            ends = (self.events.source, self.events.target)
            counts = sp.csr_array((np.ones(self.events.size), ends), self.adjacency.shape)
            sent = np.asarray(counts[source, target] - counts[target, source])
        turned = (sent < 0) | ((sent == 0) & (place[source] > place[target]))
        return frozen(np.where(turned, self.edges[::-1], self.edges))

    def attributes_without(self, absent: NDArray[np.bool_]) -> Attributes:
        """Return the attributes as if some edges did not exist: what was derived from the edges is derived again."""
        if self.derivation is None:
            return self.attributes
        derived = self.derivation.without(self.edges, absent, directed=self.directed)
        given = self.attributes[:, : self.n_attributes - derived.shape[1]]
        return sp.csr_array(sp.hstack([given, derived])) if sp.issparse(given) else np.hstack([given, derived])

    @cached_property
    def no_value(self) -> dict[str, NDArray[np.int64]]:
        """The nodes whose value of an attribute was filled in, by its name: they have nothing to tell about it."""
        return dict(self.filled) | ({} if self.derivation is None else self.derivation.no_rows)

    @property
    def edges_by_relation(self) -> dict[str, NDArray[np.bool_]]:
        """Which edges belong to each single relation, by its name, in order; nothing without relations."""
        if self.edge_relation is None:
            return {}
        words = [set(each.split(", ")) for each in self.relation_names]
        names = sorted(set().union(*words))
        return {name: np.array([name in each for each in words])[self.edge_relation] for name in names}

    @cached_property
    def known_edges(self) -> Any:
        """Which edges have two ends with a row in the node table; None if all have."""
        return None if self.known is None else frozen(self.known[self.edges].all(axis=0))

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of edges of each node; in a directed graph, incoming and outgoing edges together."""
        degrees = np.diff(self.adjacency.indptr).astype(np.int64)
        if self.directed:
            degrees = degrees + np.bincount(self.adjacency.indices, minlength=self.n_nodes)
        return frozen(degrees)

    @cached_property
    def node_hashes(self) -> NDArray[np.uint64]:
        """64 bits of each node's id, by which random choices are made: they do not depend on the order of the nodes."""
        return frozen(id_hashes(self.node_ids))

    @cached_property
    def ids_in_order(self) -> bool:
        """Whether the nodes are in the order of their ids, where p2 comes before p10."""
        return ids_ascend(self.node_ids)

    @cached_property
    def id_places(self) -> NDArray[np.int64]:
        """The place of each node in the order of ids, by which equal scores are ordered."""
        places = np.arange(self.n_nodes, dtype=np.int64)
        return frozen(places if self.ids_in_order else np.argsort(sorted_by_id(self.node_ids)))

    @cached_property
    def edge_starts(self) -> NDArray[np.int64]:
        """Where the edges of each first end begin among ``edges``, and where the last ones end."""
        return frozen(np.searchsorted(self.edges[0], np.arange(self.n_nodes + 1)))

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self.node_ids)

    def index_of(self, node: Hashable) -> int:
        """Return the position of a node id; ``7`` also finds ``"7"``, and vice versa."""
        keys: list[Hashable] = [node, str(node)]
        if _WHOLE_NUMBER.fullmatch(str(node)):
            keys.append(int(str(node)))
        for key in keys:
            position = self._positions.get(key)
            if position is not None:
                return position
        raise ValueError(f"there is no node {node!r} in this graph")

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        counts = (
            plural(self.n_nodes, "node"),
            plural(self.n_edges, f"{kind} edge"),
            plural(self.n_attributes, "attribute"),
        )
        return f"AttributedGraph({', '.join((*([repr(self.name)] if self.name else []), *counts))})"

    def _repr_html_(self) -> str:
        from hopsight.markup import graph_card

        return graph_card(self)

    def __deepcopy__(self, memo: Any) -> AttributedGraph:
        return self  # read-only

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)


def _positions(field: str, values: ArrayLike) -> NDArray[Any]:
    positions = np.asarray(values)
    if positions.size and positions.dtype.kind not in "iu":
        raise ValueError(f"{field} must be node positions (whole numbers), got {positions.dtype}")
    return positions.astype(np.int32 if positions.dtype == np.int32 else np.int64, copy=False)


def _counted(source: NDArray[Any], target: NDArray[Any], n_nodes: int, directed: bool) -> tuple[Any, int]:
    """Return the edges as CSR, and how many undirected edges were given in both directions."""
    shape = (n_nodes, n_nodes)
    if directed:
        return sp.coo_array((np.ones(source.size, dtype=np.float32), (source, target)), shape=shape).tocsr(), 0
    counts = np.where(source < target, 1, _BACK)  # both directions in one number
    ends = np.minimum(source, target), np.maximum(source, target)
    adjacency = sp.coo_array((counts, ends), shape=shape).tocsr()
    return adjacency, int(((adjacency.data >= _BACK) & (adjacency.data % _BACK > 0)).sum())
