"""Graphs with nodes of several types: one graph of them all, and what the nodes of one type see of it.

A graph of several types has attributes called ``type.name``; nodes of other types have 0 there, which means nothing.
Detectors compare a node with nodes of its own type only. They see the :func:`view` of that type: its own attributes,
the edges within the type, an edge between two nodes that share a node of another type, and what the relations of each
node say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.canonical import Aside, Context, Events
from hopsight.checks import Refusal, plural, printable, suggest
from hopsight.graph import AttributedGraph
from hopsight.io.derive import STRUCTURE, Arcs, structure
from hopsight.io.nodes import distinct
from hopsight.io.notices import notice
from hopsight.system.arrays import frozen, sorted_by_id

IntArray = NDArray[Any]
SPARSE_CELLS = 1_000_000
MOST_ACROSS = 0.2  # share of the nodes of a type that nodes of two other types share
PAIRS_PER_EDGE = 4  # of nodes that share another one; popular ones are left out beyond
MOST_COLUMNS, COMPONENTS = 64, 32  # attributes of another type whose means become attributes, and components of more
ONE_TYPE = "load the graph with rank= one type, or take models_[type]"
SHARED = "shared "  # begins the relation of two nodes that share one of another type


@dataclass(frozen=True)
class Nodes:
    """The nodes of one type: ids as numbers or text, and the fields of a graph that come from their table."""

    ids: Any
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Relation:
    """The edges of one relation, as positions among the nodes of their types."""

    name: str
    types: tuple[str, str]
    source: IntArray
    target: IntArray
    weight: Any = None
    time: Any = None
    events: Events | None = None
    directed: bool = False  # whether nodes of one type send and receive


def typed_graph(nodes: Mapping[str, Nodes], relations: Sequence[Relation], name: str = "") -> AttributedGraph:
    """Return one graph of all nodes and edges; ids that two types share become ``type:id``."""
    if not sum(each.source.size for each in relations):
        raise ValueError("there is nothing to learn from: a graph of several types needs edges")
    sizes = {kind: len(each.ids) for kind, each in nodes.items()}
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    n_nodes = sum(sizes.values())
    source = np.concatenate([each.source + starts[each.types[0]] for each in relations])
    target = np.concatenate([each.target + starts[each.types[1]] for each in relations])
    found: dict[str, Any] = {}
    for key, absent in (("node_names", ""), ("labels", -1), ("known", True), ("unranked", False)):
        if any(each.fields.get(key) is not None for each in nodes.values()):
            parts = [each.fields.get(key) for each in nodes.values()]
            found[key] = [
                value
                for part, size in zip(parts, sizes.values(), strict=True)
                for value in ([absent] * size if part is None else list(part))
            ]
    if any(each.weight is not None for each in relations):
        found["edge_weight"] = np.concatenate(
            [np.ones(each.source.size) if each.weight is None else each.weight for each in relations]
        )
    if all(each.time is not None for each in relations):
        found["edge_time"] = np.concatenate([each.time for each in relations])
    found["events"] = _events(relations, starts)
    found["filled"] = {
        f"{kind}.{name}": rows + starts[kind]
        for kind, each in nodes.items()
        for name, rows in each.fields.get("filled", {}).items()
    }
    found["left_out"] = {
        f"{kind}.{name}": f"{kind}.{same}" if isinstance(same, str) else same
        for kind, each in nodes.items()
        for name, same in each.fields.get("left_out", {}).items()
    }
    aside = {(kind, name): each for kind in nodes for name, each in nodes[kind].fields.get("aside", {}).items()}
    found["aside"] = {
        name: _joined(
            [replace(each, rows=each.rows + starts[kind]) for (kind, other), each in aside.items() if other == name]
        )
        for _, name in aside
    }
    attributes, names = _stacked({kind: each.fields for kind, each in nodes.items()}, sizes)
    if not names:
        apart = source != target
        columns = structure(Arcs.of(source[apart], target[apart], n_nodes))
        attributes, names = np.column_stack([*columns.values()]), list(columns)
    graph = AttributedGraph.from_edges(
        source,
        target,
        attributes,
        attribute_names=names,
        node_ids=_ids(nodes),
        node_types=[kind for kind, size in sizes.items() for _ in range(size)],
        context=_counts(sizes, starts, relations),
        name=name,
        **found,
    )
    codes = np.repeat(np.arange(len(relations)), [each.source.size for each in relations])
    return with_relations(graph, source, target, codes, [each.name for each in relations])


def _joined(parts: Sequence[Aside]) -> Aside:
    """Return a column that the tables of several types have."""
    words = sorted({word for part in parts for word in part.words})
    codes = [np.searchsorted(words, np.array(part.words, dtype=object)[part.codes]) for part in parts]
    return Aside(np.concatenate([part.rows for part in parts]), tuple(words), np.concatenate(codes))


def _events(relations: Sequence[Relation], starts: Mapping[str, int]) -> Events | None:
    """Return the events of each type, those of its relation with amounts and times that has most of them."""
    chosen: dict[str, Events] = {}
    for each in relations:
        if each.events is not None and each.types[0] == each.types[1]:
            kind, ends = each.types[0], (each.events.source, each.events.target)
            mine = replace(each.events, source=ends[0] + starts[kind], target=ends[1] + starts[kind])
            best = (chosen.get(kind, mine), mine)
            chosen[kind] = max(best, key=lambda part: (part.amount is not None, part.time is not None, part.size))
    parts = [*chosen.values()]
    if len(parts) < 2:
        return next(iter(parts), None)
    columns = ([(part, getattr(part, name)) for part in parts] for name in ("source", "target", "amount", "time"))
    source, target, amount, time = (
        np.concatenate([np.full(part.size, np.nan) if values is None else values for part, values in found])
        for found in columns
    )
    return Events(source, target, amount, time, moves=all(part.moves for part in parts))


def with_relations(
    graph: AttributedGraph, source: IntArray, target: IntArray, codes: IntArray, names: Sequence[str]
) -> AttributedGraph:
    """Return the graph with the relation of each edge; ``codes`` are those of the rows that edges were made from."""
    if len(names) > 62:
        raise ValueError(f"a graph can have at most 62 relations, got {len(names)}")
    first, second = (source, target) if graph.directed else (np.minimum(source, target), np.maximum(source, target))
    apart = first != second
    n_nodes = np.int64(graph.n_nodes)
    place = np.searchsorted(graph.edges[0] * n_nodes + graph.edges[1], (first * n_nodes + second)[apart])
    masks = np.zeros(graph.n_edges, dtype=np.int64)
    np.bitwise_or.at(masks, place, np.left_shift(np.int64(1), codes[apart].astype(np.int64)))
    distinct_masks, numbers = np.unique(masks, return_inverse=True)
    words = [", ".join(name for bit, name in enumerate(names) if mask >> bit & 1) for mask in distinct_masks.tolist()]
    return replace(graph, edge_relation=numbers, relation_names=words)


def _stacked(fields: Mapping[str, Mapping[str, Any]], sizes: Mapping[str, int]) -> tuple[Any, list[str]]:
    """Return the attributes of all types, each with columns of its own, and their names ``type.name``."""
    blocks: list[Any] = []
    names: list[str] = []
    for kind, size in sizes.items():
        block = fields[kind].get("attributes")
        blocks.append(np.zeros((size, 0)) if block is None else block)
        names += [f"{kind}.{name}" for name in fields[kind].get("attribute_names", ())] if block is not None else []
    if sum(sizes.values()) * len(names) > SPARSE_CELLS:
        return sp.csr_array(sp.block_diag(blocks, format="csr")), names
    matrix, row, column = np.zeros((sum(sizes.values()), len(names))), 0, 0
    for block in blocks:
        rows, columns = block.shape
        matrix[row : row + rows, column : column + columns] = block.toarray() if sp.issparse(block) else block
        row, column = row + rows, column + columns
    return matrix, names


def _ids(nodes: Mapping[str, Nodes]) -> Any:
    plain = [each.ids.tolist() for each in nodes.values()]
    merged = [node for ids in plain for node in ids]
    if len(set(map(str, merged))) == len(merged):
        return merged
    return [f"{kind}:{node}" for kind, ids in zip(nodes, plain, strict=True) for node in ids]


def _counts(sizes: Mapping[str, int], starts: Mapping[str, int], relations: Sequence[Relation]) -> Context:
    """Return the number of rows of each node: by direction within a type, and by the other type between two.

    A row of a node with itself does not count.
    """
    columns: dict[str, IntArray] = {}  # rows, and different nodes of the other type in them
    for each in relations:
        within = each.types[0] == each.types[1]
        if within:
            words = [
                f"{word}edges {each.name!r}" for word in (("outgoing ", "incoming ") if each.directed else ("", ""))
            ]
        else:
            pairs = [{*other.types} for other in relations]
            by = f" by {each.name!r}" if pairs.count({*each.types}) > 1 else ""
            words = [f"{other}{by}" for other in reversed(each.types)]
        ends = np.stack([each.source, each.target])
        ends = ends[:, ends[0] != ends[1]] if within else ends  # the graph has no self-loops
        n_targets = max(sizes[each.types[1]], 1)
        once = ends if within else divmod(np.unique(ends[0] * n_targets + ends[1]), n_targets)
        for kind, word, *both in zip(each.types, words, ends, once, strict=True):
            counts = columns.setdefault(f"{kind}.{word}", np.zeros((2, sum(sizes.values()))))
            counts[:, starts[kind] : starts[kind] + sizes[kind]] += [
                np.bincount(rows, minlength=sizes[kind]) for rows in both
            ]
    counts, distinct = np.stack([*columns.values()], axis=-1)
    return Context(counts, list(columns), distinct=distinct)


def types_of(graph: AttributedGraph) -> list[str]:
    """Return the types of the nodes of a graph, sorted; none if it has no types."""
    return [] if graph.node_types is None else sorted(set(graph.node_types.tolist()))


def has_several(graph: AttributedGraph) -> bool:
    """Return whether a graph has relations between nodes of several types, of which a detector sees one at a time."""
    return graph.edge_relation is not None and len(types_of(graph)) > 1


def are_own(graph: AttributedGraph) -> NDArray[np.bool_]:
    """Return which edges nodes have made themselves: the others connect two that share something."""
    if graph.edge_relation is None:
        return np.ones(graph.n_edges, dtype=np.bool_)
    made = [inside for name, inside in graph.edges_by_relation.items() if not name.startswith(SHARED)]
    return np.any(made, axis=0) if made else np.zeros(graph.n_edges, dtype=np.bool_)


def own_degrees(graph: AttributedGraph) -> NDArray[np.int64]:
    """Return how many such edges each node has."""
    own = are_own(graph)
    return graph.degrees if own.all() else np.bincount(graph.edges[:, own].ravel(), minlength=graph.n_nodes)


def check_type(graph: AttributedGraph, kind: str) -> None:
    """Refuse a type that no node has."""
    known = types_of(graph)
    if kind not in known:
        listed = f"; its types are {', '.join(known)}" if known else ": its nodes have no types"
        raise Refusal("rank", f"names no type of this graph, got {kind!r}{suggest(kind, known) or listed}")


def is_connected(graph: AttributedGraph, kind: str) -> bool:
    """Return whether some nodes of a type are connected, directly or by a node of another type."""
    mine = graph.node_types == kind
    inside = mine[graph.edges]
    if inside.all(axis=0).any():
        return True
    across = inside[0] != inside[1]
    others = np.where(inside[0], graph.edges[1], graph.edges[0])[across]
    return bool(others.size and np.bincount(others).max() > 1)


def default_type(graph: AttributedGraph) -> str:
    """Return the type to rank if none is named: the one with labels, or else with most relations and then nodes."""
    labeled = np.unique(graph.node_types[graph.labels >= 0]).tolist() if graph.labels is not None else []
    types = [kind for kind in labeled or types_of(graph) if is_connected(graph, kind)] or types_of(graph)
    listed = [kind for kind in types if graph.known is None or graph.known[graph.node_types == kind].any()] or types
    relations = {}
    for kind in listed:
        ends = (graph.node_types == kind)[graph.edges].any(axis=0)
        relations[kind] = np.unique(graph.edge_relation[ends]).size
    return max(listed, key=lambda kind: (relations[kind], int((graph.node_types == kind).sum()), kind))


def view(graph: AttributedGraph, kind: str, notices: list[str] | None = None) -> AttributedGraph:
    """Return what the nodes of one type see of a graph with several types.

    Its edges are those within the type, and one between two nodes that share a node of another type, "shared device".
    Nodes that many share are popular and say little: they are taken in order of how few share them, until there are
    four pairs for each edge to that type. Without attributes of their own, nodes have the means of the attributes of
    their neighbors of other types and of the logarithm of their degrees, and the structure of these edges. What
    relations count, how many rare nodes are shared, and the means are in ``context``.
    """
    check_type(graph, kind)
    types = graph.node_types
    mine = _in_order(graph, kind)  # sums in the order of ids are the same in any order of rows
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[mine] = np.arange(mine.size)
    ends = graph.edges
    inside = np.asarray((place[ends] >= 0).all(axis=0))
    relations = graph.edges_by_relation.items()
    if unseen := [name for name, rows in relations if rows.any() and not (place[ends[:, rows]] >= 0).any()]:
        which = f"{', '.join(map(repr, unseen))}: {'it has' if len(unseen) == 1 else 'they have'}"
        notice(f"Not used: the edges of {which} no node of type {kind!r}.", notices)
    others = [each for each in types_of(graph) if each != kind]
    parts = [_Shared.of(graph, mine, place, other) for other in others]
    parts = [part for part in parts if part.links.nnz]
    source, target, codes, names = _edges(graph, place, inside, parts)
    if not source.size:
        raise ValueError(f"no two nodes of type {kind!r} are connected, directly or by a node that few of them share")
    own, own_names = _own(graph, kind, mine)
    blocks, mean_names = [np.zeros((mine.size, 0))], []
    for part in parts:
        block, words = part.means(graph)
        blocks.append(block)
        mean_names += words
    means = np.hstack(blocks)
    context = _context(graph, kind, mine, parts, inside, place)
    if own_names:
        attributes, columns, context = own, own_names, replace(context, means=means, mean_names=mean_names)
    else:
        found = structure(Arcs.of(source, target, mine.size))
        undirected = {name: values for name, values in found.items() if np.ptp(values) > 0}
        attributes, columns = np.column_stack([means, *undirected.values()]), [*mean_names, *undirected]
    if not attributes.shape[1]:
        raise ValueError(f"there is nothing to learn from: nodes of type {kind!r} do not differ in any attribute")
    rows = np.flatnonzero(types == kind)  # in the order of the graph again
    at = np.argsort(np.argsort(mine))
    source, target = at[source], at[target]
    events = None if graph.events is None else graph.events.within(np.where(place >= 0, at[place], -1))
    seen = AttributedGraph.from_edges(
        source,
        target,
        frozen(attributes[np.argsort(at)]),
        attribute_names=distinct(columns),
        node_ids=_plain_ids(graph, kind, rows),
        node_types=types[rows],
        node_names=None if graph.node_names is None else graph.node_names[rows],
        labels=None if graph.labels is None else graph.labels[rows],
        known=graph.known[rows] if graph.known is not None and graph.known[rows].any() else None,
        rank_unknown=graph.rank_unknown,
        unranked=None if graph.unranked is None else graph.unranked[rows],
        context=context.checked(rows.size).rows(np.argsort(at)),
        events=events if events is not None and events.size else None,
        filled={
            name.removeprefix(f"{kind}."): np.searchsorted(rows, each)
            for name, each in graph.filled.items()
            if name.startswith(f"{kind}.")
        },
        left_out={
            name.removeprefix(f"{kind}."): same.removeprefix(f"{kind}.") if isinstance(same, str) else same
            for name, same in graph.left_out.items()
        },
        aside={name: kept for name, each in graph.aside.items() if (kept := _within(each, rows)).rows.size},
        name=graph.name,
    )
    if parts:
        shown = ", ".join(f"{part.name} ({plural(part.n_pairs, 'pair')})" for part in parts)
        apart = int(are_apart(seen).sum())
        rest = f"; {plural(apart, 'node')} share only with too many" if apart else ""
        notice(f"Connected nodes of type {kind!r} by what they share: {shown}{rest}.", notices)
    for part in parts:
        _notice_across(graph, kind, part, notices)
    return with_relations(seen, source, target, codes, names)


def are_apart(graph: AttributedGraph) -> NDArray[np.bool_]:
    """Return which nodes have rows with nodes of other types, but nothing that connects them with their own."""
    if graph.context is None:
        return np.zeros(graph.n_nodes, dtype=np.bool_)
    return (graph.degrees == 0) & (np.asarray(graph.context.counts).sum(axis=1) > 0)


def _notice_across(graph: AttributedGraph, kind: str, part: _Shared, notices: list[str] | None) -> None:
    """Say which nodes of another type a few nodes of this type share with those of a third one: nothing compares them.

    Where most do, as cards do with shops, it is what such graphs are like.
    """
    is_its = graph.node_types == part.name
    here = np.isin(np.arange(graph.n_nodes), part.nodes[part.degree > 0])
    for way in (graph.edges, graph.edges[::-1]):
        thing, partner = way[:, is_its[way[0]]]
        for third in types_of(graph):
            mine = here[thing] & (graph.node_types[partner] == third)
            n_shared = np.unique(thing[mine]).size
            if third in (kind, part.name) or not 0 < n_shared <= MOST_ACROSS * here.sum():
                continue
            first = int(np.argmax(mine))
            row = int(np.flatnonzero(part.nodes == thing[first])[0])
            has = _in_order(graph, kind)[part.links[:, [row]].nonzero()[0][0]]
            names = [printable(str(graph.node_ids[each])) for each in (thing[first], has, partner[first])]
            s = "s" if n_shared == 1 else ""
            notice(
                f"{plural(n_shared, 'node')} of type {part.name!r}, such as {names[0]}, connect{s} nodes of type "
                f"{kind!r} with nodes of type {third!r} ({names[1]} and {names[2]}), which are not compared with each "
                "other; if they should be, give both one type.",
                notices,
            )


def _within(column: Aside, rows: IntArray) -> Aside:
    mine = np.isin(np.atleast_2d(column.rows), rows).all(axis=0)
    return replace(column, rows=np.searchsorted(rows, column.rows[..., mine]), codes=column.codes[mine])


def _in_order(graph: AttributedGraph, kind: str) -> IntArray:
    """Return the positions of the nodes of a type, in the order of their ids."""
    mine = np.flatnonzero(graph.node_types == kind)
    return mine if graph.ids_in_order else mine[sorted_by_id(graph.node_ids[mine])]


def _edges(
    graph: AttributedGraph, place: IntArray, inside: NDArray[np.bool_], parts: Sequence[_Shared]
) -> tuple[IntArray, IntArray, IntArray, list[str]]:
    """Return the edges within a type and those by what is shared: ends, numbers of relations, names."""
    names: list[str] = []
    within = place[graph.edges[:, inside]]
    pairs, codes = [within], [np.zeros(within.shape[1], dtype=np.int64)]
    if within.size:
        known = graph.edge_relation
        used = np.unique(known[inside]) if known is not None else np.zeros(1, dtype=np.int64)
        names += [graph.relation_names[number] for number in used] if known is not None else ["edge"]
        codes[0] = np.searchsorted(used, known[inside]) if known is not None else codes[0]
    for part in parts:
        if part.n_pairs:
            pairs.append(part.pairs)
            codes.append(np.full(part.n_pairs, len(names)))
            names.append(SHARED + part.name)
    ends = np.concatenate(pairs, axis=1)
    return ends[0], ends[1], np.concatenate(codes), names


def _own(graph: AttributedGraph, kind: str, mine: IntArray) -> tuple[Any, list[str]]:
    """Return the attributes of a type and their names, without those of other types and those that do not differ."""
    prefixes = tuple(f"{each}." for each in types_of(graph))
    several = graph.edge_relation is not None
    chosen = [
        column
        for column, name in enumerate(graph.attribute_names)
        if name.startswith(f"{kind}.") or not (several and (name in STRUCTURE or name.startswith(prefixes)))
    ]
    block = graph.attributes[mine][:, chosen]
    block = block.toarray() if sp.issparse(block) else np.asarray(block)
    varies = np.ptp(block, axis=0) > 0 if block.size else np.zeros(len(chosen), dtype=bool)
    names = [graph.attribute_names[column].removeprefix(f"{kind}.") for column in chosen]
    return block[:, varies], [name for name, kept in zip(names, varies, strict=True) if kept]


def _plain_ids(graph: AttributedGraph, kind: str, mine: IntArray) -> Any:
    """Return ids as their tables have them, without the type."""
    ids = graph.node_ids[mine]
    prefix = f"{kind}:"
    if ids.dtype != object or not all(node.startswith(prefix) for node in ids):
        return ids
    plain = [node[len(prefix) :] for node in ids]
    return [int(node) for node in plain] if all(str(_number(node)) == node for node in plain) else plain


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _context(
    graph: AttributedGraph,
    kind: str,
    mine: IntArray,
    parts: Sequence[_Shared],
    inside: NDArray[np.bool_],
    place: IntArray,
) -> Context:
    """Return the counts of a type, as the tables or else the edges have them, and what its nodes share."""
    known = graph.context
    chosen = [] if known is None else [at for at, name in enumerate(known.names) if name.startswith(f"{kind}.")]
    if known is not None and chosen:
        counts, distinct = known.counts[mine][:, chosen], known.distinct[mine][:, chosen]
        names = [known.names[at].removeprefix(f"{kind}.") for at in chosen]
    else:
        degrees = np.bincount(place[graph.edges[:, inside]].ravel(), minlength=mine.size)
        columns = {"edges to nodes of its type": degrees} | {part.name: np.diff(part.links.indptr) for part in parts}
        counts = distinct = np.column_stack([*columns.values()])
        names = list(columns)
    varies = np.ptp(counts, axis=0) > 0 if counts.size else np.zeros(len(names), dtype=bool)
    several = [np.flatnonzero(part.degree > 1) for part in parts]  # of each type, what more than one node has
    starts = np.cumsum([0, *(some.size for some in several)])
    links = [np.stack(part.links[:, some].tocoo().coords) for part, some in zip(parts, several, strict=True)]
    ends = [each + np.array([[0], [start]]) for each, start in zip(links, starts[:-1], strict=True)]
    found = np.concatenate([np.zeros((2, 0), dtype=np.int64), *ends], axis=1)
    return Context(
        counts[:, varies],
        [name for name, kept in zip(names, varies, strict=True) if kept],
        [part.name for part in parts],
        [
            str(name)
            for part, some in zip(parts, several, strict=True)
            for name in _plain_ids(graph, part.name, part.nodes[some])
        ],
        np.repeat(np.arange(len(parts)), np.diff(starts)),
        np.concatenate([np.zeros(0), *(part.degree[some] for part, some in zip(parts, several, strict=True))]),
        found,
        distinct=distinct[:, varies],
    )


@dataclass(frozen=True)
class _Shared:
    """The nodes of another type that the nodes of one type are connected to."""

    name: str
    nodes: IntArray  # positions of the other type
    links: Any  # (n of the type, n of the other type) CSR of ones
    degree: IntArray  # of each node of the other type
    pairs: IntArray  # (2, n_pairs) nodes of the type that share one that few share

    @classmethod
    def of(cls, graph: AttributedGraph, mine: IntArray, place: IntArray, other: str) -> _Shared:
        """Find what nodes share with others."""
        nodes = _in_order(graph, other)
        at = np.full(graph.n_nodes, -1, dtype=np.int64)
        at[nodes] = np.arange(nodes.size)
        first, second = graph.edges
        forth, back = (place[first] >= 0) & (at[second] >= 0), (place[second] >= 0) & (at[first] >= 0)
        rows = np.concatenate([place[first[forth]], place[second[back]]])
        columns = np.concatenate([at[second[forth]], at[first[back]]])
        links = sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(mine.size, nodes.size))
        links.sum_duplicates()
        links.data[:] = 1.0
        degree = np.bincount(links.indices, minlength=nodes.size)
        return cls(other, nodes, links, degree, _pairs(links, degree))

    @property
    def n_pairs(self) -> int:
        """Number of pairs of nodes that share one that few share."""
        return int(self.pairs.shape[1])

    def means(self, graph: AttributedGraph) -> tuple[NDArray[np.float64], list[str]]:
        """Return the means over a node's neighbors of the other type; nodes without any have the median."""
        block, names = _own(graph, self.name, self.nodes)
        derived = tuple(f"{name}: " for words in graph.relation_names for name in words.split(", "))
        table = [column for column, name in enumerate(names) if not name.startswith(derived)]
        block, names = block[:, table], [names[column] for column in table]
        if len(names) > MOST_COLUMNS:
            block, names = _components(block), [f"component {number + 1}" for number in range(COMPONENTS)]
        columns = np.column_stack([block, np.log1p(self.degree)])
        count = np.diff(self.links.indptr)
        means = np.asarray(self.links @ columns) / np.maximum(count, 1)[:, None]
        means[count == 0] = np.median(means[count > 0], axis=0)
        words = [f"{self.name} {name}, mean" for name in (*names, "degree, log")]
        varies = np.ptp(means, axis=0) > 0
        return means[:, varies], [word for word, kept in zip(words, varies, strict=True) if kept]


def _pairs(links: Any, degree: IntArray) -> IntArray:
    """Return pairs of nodes that share one, the rarest first, at most four for each edge to the other type."""
    n_pairs = degree * (degree - 1) // 2
    order = np.argsort(degree, kind="stable")
    within = np.cumsum(n_pairs[order]) <= PAIRS_PER_EDGE * links.nnz
    limit = degree[order][within].max(initial=0)
    if within.size and not within.all() and degree[order][within.sum()] == limit:  # all or none with this degree
        limit -= 1
    rare = np.flatnonzero((degree > 1) & (degree <= limit))
    some = sp.csr_array(links[:, rare])
    both = sp.coo_array(sp.triu(some @ some.T, k=1))
    return np.stack([both.row.astype(np.int64), both.col.astype(np.int64)])


def _components(block: NDArray[np.float64]) -> NDArray[np.float64]:
    scaled = (block - block.mean(axis=0)) / block.std(axis=0)
    _, axes = np.linalg.eigh(scaled.T @ scaled)
    return np.asarray(scaled @ axes[:, ::-1][:, :COMPONENTS])
