"""Read tables as a graph: an edge table with or without a node table, or several of either; and write them.

The way of a table: it is opened (:mod:`hopsight.io.frames`), its columns of ids are found and read (:mod:`.ids`), the
others become attributes of nodes (:mod:`.nodes`) or data of edges (:mod:`.edges`), the ids of edges are looked up among
those of nodes, and what edges say about their nodes is derived (:mod:`.derive`). One edge table and one node table are
a graph of nodes that are compared with each other; with several types, see :mod:`hopsight.io.typed`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache, cached_property, partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hopsight.canonical import DUPLICATES, Events
from hopsight.checks import Refusal, check_choice, listed, option, plural, shortened, spelling, suggest
from hopsight.graph import AttributedGraph
from hopsight.io import ids, rules
from hopsight.io.derive import COUNTS, EdgeRows, derive, no_rows, parse_derive
from hopsight.io.edges import EdgeColumns, assemble, edge_columns, own_edges
from hopsight.io.ends import MOST_LOOKED_AT, find_ends, state_ends
from hopsight.io.frames import Table, frame_of, is_frame, open_table, write_frame
from hopsight.io.ids import Sides
from hopsight.io.nodes import OWN_COLUMNS, check_column, distinct, node_fields, own_columns, set_aside, with_unknown
from hopsight.io.notices import NamedNotices, notice, notice_renamed
from hopsight.io.rules import ALL_BUT_FEW, LEAST_ROWS
from hopsight.io.sources import TABLE_SUFFIXES, Address, reading, resolve
from hopsight.io.typed import Nodes, Relation, check_type, typed_graph
from hopsight.io.vocabulary import (
    ID_NAMES,
    KEY_WORDS,
    TOTALS,
    find_end_names,
    is_amount_name,
    is_event_name,
    is_row_id_name,
    normalized_name,
    words_of,
)
from hopsight.system.lazy_polars import pl

OUR_COLUMNS = ("hopsight_weight", "hopsight_time")  # in edge lists that hopsight wrote
DIRECTED = "hopsight_directed"  # by which an edge list of this kind is recognized
EDGES, NODES = "edges", "nodes"  # tables that no description names
MOST = 0.5  # share of the ids of edges that a column of node ids has
SHOWN = 6  # names of attributes in a line
DIGITS = "^[0-9]+$"  # ids that are numbers
MISSPELLED = 0.8  # likeness of a type without a table to one that has a table


@dataclass(frozen=True)
class NodeTable:
    """Where the nodes of one type are, and which columns they have."""

    file: Any
    id: str | None = None
    label: str | None = None
    attributes: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    category: Sequence[str] = ()
    name: str | None = None
    type: str | None = None


@dataclass(frozen=True)
class EdgeTable:
    """Where the edges of one relation are, and which columns and types they have."""

    file: Any
    source: str | None = None
    target: str | None = None
    source_type: str | None = None
    target_type: str | None = None
    directed: bool = True
    weight: str | None = None
    time: str | None = None
    ignore: Sequence[str] = ()
    category: Sequence[str] = ()
    currency: str | None = None
    header: bool | None = None


@dataclass(frozen=True)
class Description:
    """The tables of a graph with several types, as a file or Python names them."""

    nodes: Mapping[str, NodeTable] = field(default_factory=dict)
    edges: Mapping[str, EdgeTable] = field(default_factory=dict)
    rank: str | None = None
    name: str = ""

    @property
    def files(self) -> list[Any]:
        """The tables, in order."""
        return [each.file for each in self.nodes.values()] + [each.file for each in self.edges.values()]

    @contextmanager
    def spelled(self) -> Iterator[None]:
        """Have messages name settings of these tables."""
        with ExitStack() as stack:
            for part, tables in (("nodes", self.nodes), ("edges", self.edges)):
                for name, table in tables.items():
                    stack.enter_context(_settings_of(f"{part}.{name}", table))
            yield

    def as_one(self) -> dict[str, Any] | None:
        """Return the parameters of :func:`hopsight.load` for one edge table between nodes of one type; None otherwise.

        Without an edge to another type, types mean nothing, and the graph is the same as from the two tables alone.
        """
        ends = [kind for each in self.edges.values() for kind in (each.source_type, each.target_type)]
        kinds = list(dict.fromkeys([*self.nodes, *filter(None, ends)]))
        edges, nodes = next(iter(self.edges.values())), next(iter(self.nodes.values()), NodeTable(None))
        if len(kinds) != 1 or len(self.edges) > 1 or not edges.directed or nodes.attributes is not None:
            return None
        if self.rank not in (None, kinds[0]):
            raise Refusal("rank", f"must be {kinds[0]!r}, the only type of this graph, got {self.rank!r}")
        named = {"label": nodes.label, "id_column": nodes.id, "name_column": nodes.name}
        ends_named = {"source_column": edges.source, "target_column": edges.target}
        values = {"weight_column": edges.weight, "time_column": edges.time, "currency": edges.currency}
        both = {"ignore": (*nodes.ignore, *edges.ignore), "category": (*nodes.category, *edges.category)}
        return {"source": edges.file, "nodes": nodes.file, **named, **ends_named, **values, **both}


def read_tables(
    edges: Any,
    nodes: Any = None,
    *,
    directed: bool = False,
    label: str | None = None,
    learn_from: str | None = None,
    ignore: Sequence[str] = (),
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    weight_column: str | None = None,
    time_column: str | None = None,
    type_column: str | None = None,
    name_column: str | None = None,
    category: Sequence[str] = (),
    currency: str | None = None,
    duplicates: str | None = None,
    derive: Any = None,
    bipartite: bool | None = None,
    header: bool | None = None,
    missing: str = "fill",
    rank_unknown: bool | None = None,
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Read an edge list and a node table, each a path or a data frame; without a node table, attributes are derived.

    The columns with the two ends of an edge and with the id of a node are recognized by their names (``source`` and
    ``target``, ``src`` and ``dst``, ``from`` and ``to``, …; ``id``, ``node``, ``name``, …); without such names they
    are the first columns. All other columns of the node table are attributes, see
    :func:`hopsight.io.nodes.encode`; for those of the edge list see :func:`hopsight.io.edges.edge_columns`.

    The parameters are those of :func:`hopsight.load`.
    """
    duplicates = "sum" if duplicates is None else duplicates
    check_choice("duplicates", duplicates, DUPLICATES)
    kinds = parse_derive(derive)
    if nodes is None and (nodes := find_nodes(edges)) is not None:
        notice(f"Read {nodes.name!r}, beside the edge list, as the node table.", notices)
    nodes = frame_of(nodes) if is_frame(nodes) else nodes  # read twice
    of_nodes = NodeTable(nodes, id_column, label, None, ignore, category, name_column, type_column)
    of_edges = EdgeTable(
        edges, source_column, target_column, weight=weight_column, time=time_column, ignore=ignore, category=category,
        currency=currency, header=header,
    )  # fmt: skip
    if nodes is None:
        for key in ("label", "id", "type", "name"):
            if getattr(of_nodes, key) is not None:
                none = f"names a column of the node table, and there is none; pass {option('nodes')}, or leave it out"
                raise Refusal(_option("", key), none)
    joins = None if nodes is None else cache(partial(_known_ids, of_nodes))
    rows = Rows.read(of_edges, notices, learn_from=learn_from, joins=joins)
    sides = ids.as_sides(rows.ends, rows.names, bipartite, notices)
    if nodes is None:
        every = ids.all_ids(sides.ends)
        found = NodeRows(every, {"node_types": sides.types_of(every)})
    else:
        found = NodeRows.read(
            of_nodes, sides.ends, notices, learn_from=learn_from, sides=sides,
            of_edges=[*rows.columns, *rules.rows_ignored(ignore, rows.columns)],
            missing=missing, may_lack=kinds != (), ours=rows.ours,
        )  # fmt: skip
    node_ids, (source, target) = found.placed(sides.ends, notices)
    fields, unknown = found.fields, node_ids[len(found.ids) :]
    if len(unknown):
        ids.notice_unknown(unknown, bool(rank_unknown), notices)
        fields = with_unknown(fields, len(found.ids), unknown.to_list(), sides.types_of(unknown))
        fields["rank_unknown"] = bool(rank_unknown)
    if rows.known is not None and learn_from not in fields.setdefault("aside", {}):
        fields["aside"][learn_from] = set_aside(rows.known, np.stack([source, target]))
    graph = assemble(
        source, target, fields, rows.others, node_ids, kinds=kinds, directed=directed or bool(rows.directed),
        ours=rows.ours, sends=rows.directed is not False, node_ids=_values(node_ids), duplicates=duplicates,
        name=_stem(edges) if isinstance(edges, Path) else "", notices=notices,
    )  # fmt: skip
    if rows.ids is None or graph.events is None:
        return graph
    return replace(graph, events=rows.with_ids(graph.events, source, target))


def read_several(
    given: Description, *, missing: str = "fill", learn_from: str | None = None, notices: list[str] | None = None
) -> tuple[AttributedGraph, list[str]]:
    """Read all tables and return one graph of them, and a line about each type and relation."""
    joins = Joins(given)
    rows, types = {}, {}
    for name, table in given.edges.items():
        with _settings_of(f"edges.{name}", table):
            found_ends = joins.ends(name, table, NamedNotices(name, notices))
            rows[name] = Rows.read(
                found_ends, NamedNotices(name, notices), where=f"edges.{name}", learn_from=learn_from
            )
        types[name] = joins.types(name, found_ends, rows[name])
    found: dict[str, NodeRows] = {}
    places: dict[tuple[str, int], Any] = {}  # the ends of each relation, as positions among the nodes of their types
    for kind in dict.fromkeys([*given.nodes, *(kind for pair in types.values() for kind in pair)]):
        mine = NamedNotices(kind, notices)
        ends = {(name, at): rows[name].ends[at] for name, pair in types.items() for at in (0, 1) if pair[at] == kind}
        if kind not in given.nodes:
            every = ids.all_ids([*ends.values()])
            none_known = {"known": np.zeros(len(every), dtype=np.bool_)}
            found[kind] = NodeRows(every, none_known)
        else:
            with _settings_of(f"nodes.{kind}", given.nodes[kind]):
                found[kind] = NodeRows.read(
                    given.nodes[kind], [*ends.values()], mine, where=f"nodes.{kind}", learn_from=learn_from,
                    missing=missing, may_lack=True,
                )  # fmt: skip
        for (name, at), column in ends.items():
            place = f"column {rows[name].names[at]!r} of the edges {name!r}"
            joins.check(kind, found[kind].ids, column, place, ("source", "target")[at])
        if not ends:
            notice(f"No edge table names nodes of type {kind!r}; they are not connected to anything.", mine)
        every, positions = found[kind].placed([*ends.values()], mine)
        places |= {end: each.astype(np.int64) for end, each in zip(ends, positions, strict=True)}
        found[kind] = found[kind].extended(every, mine)
    if learn_from is not None and not any(learn_from in each.fields.get("aside", ()) for each in found.values()):
        columns = dict.fromkeys(name for each in found.values() for name in each.columns)
        raise Refusal(
            "learn_from", f"names no column of a node table, got {learn_from!r}{suggest(learn_from, columns)}"
        )
    relations = []
    for name, each in rows.items():
        source, target, fields = places[name, 0], places[name, 1], each.others.edge_fields(notices)
        sends = each.directed is not False
        events = each.others.events(source, target) if sends and types[name][0] == types[name][1] else None
        events = None if events is None else each.with_ids(events, source, target)
        data = fields["edge_weight"], fields["edge_time"], events, sends and given.edges[name].directed
        relations.append(Relation(name, types[name], source, target, *data))
        if types[name][0] == types[name][1] and (n_loops := int((source == target).sum())):
            notice(f"Removed {plural(n_loops, 'self-loop')}.", NamedNotices(name, notices))
    columns_of = {name: each.others for name, each in rows.items()}
    across = [
        repr(name)
        for name, each in columns_of.items()
        if types[name][0] != types[name][1] and (each.amount or each.time)
    ]
    if across:
        notice(
            f"Amounts and times of {', '.join(across)} become attributes only: the evidence burst, pass_through, cycle "
            "and amount needs edges between nodes of one type.",
            notices,
        )
    nodes = {kind: _with_summaries(kind, each, relations, columns_of) for kind, each in found.items()}
    graph = typed_graph(nodes, relations, given.name)
    if given.rank is not None:
        check_type(graph, given.rank)
    lines = [
        each.line(kind, nodes[kind], [places[name, at] for name, at in places if types[name][at] == kind])
        for kind, each in found.items()
    ]
    return graph, lines + [each.line(name, types[name]) for name, each in rows.items()]


@dataclass(frozen=True)
class Rows:
    """The rows of one edge table: ids of both ends, and the other columns."""

    columns: Sequence[str]  # names of all columns
    names: tuple[str, str]  # of the two with the ids
    ends: tuple[pl.Series, pl.Series]
    others: EdgeColumns
    known: pl.Series | None = None  # the column of known cases, if the table has it
    ours: bool = False  # whether hopsight wrote the table
    directed: bool | None = None  # as such a table says; in others, the first end of a row sends to the second
    ids: pl.Series | None = None  # of the rows, such as numbers of payments

    @classmethod
    def read(
        cls,
        given: EdgeTable,
        notices: list[str] | None,
        *,
        where: str = "",
        learn_from: str | None = None,
        joins: Callable[[], pl.Series] | None = None,
    ) -> Rows:
        """Read an edge table; ``where`` is its place in a description, and options of one alone name its columns.

        If there is a node table beside it, ``joins`` returns its ids.
        """
        place, is_alone = resolve(given.file), joins is None
        with reading(place):
            table = open_table(place, header=given.header, notices=notices)
            # The ends of a relation between two types share no values that could tell them.
            looked_at = None if where else table
            names = find_ends(table.names, given.source, given.target, looked_at, where=where, joins=joins)
            rest = [name for name in table.names if name not in names]
            for key in ("weight", "time"):
                check_column(_option(where, key), getattr(given, key), table.names)
            of_rows = rules.rows_ignored(given.ignore, table.names)
            for key in ("ignore", "category") if is_alone else ():
                for name in getattr(given, key):
                    if name in names:
                        raise ValueError(f"{option(_option(where, key))}: {name!r} is an end of the edges")
                    if name not in of_rows:
                        check_column(_option(where, key), name, rest)
            if learn_from is not None and learn_from in (*names, given.weight, given.time):
                raise Refusal("learn_from", f"names the column {learn_from!r}, which is read as something else")
            if not where:
                state_ends(names, (given.source, given.target), notices)
            aside = [name for name in rest if name == learn_from]
            if is_alone and not where and not aside:
                check_column("learn_from", learn_from, table.names)
            others = [name for name in rest if name not in (DIRECTED, *given.ignore, *aside)]
            category = [name for name in given.category if name in others]
            category += _codes(table, others, (*category, given.weight, given.time), notices)
            ours = [name for name in rest if name == DIRECTED]
            read = [*names, *others, *aside, *ours]
            compared = list(dict.fromkeys(name for name, _ in of_rows.values()))
            columns = list(dict.fromkeys([*read, *compared]))
            frame = table.read(columns, text=[*names, *category, *aside, *compared])
            frame = frame if ours else _without_footer(frame, names, notices)
            frame = frame.with_row_index(ids.ROW, 1)
            left_out: dict[str, int] = {}
            frame = rules.without_ignored(frame, [*of_rows], left_out).select(*read, ids.ROW)
            rules.notice_ignored(left_out, notices)
            for name in (name for name in others if name not in given.category):
                with rules.rows_of(where or EDGES, frame[ids.ROW], notices):
                    leaves_out = rules.leaves_out_void(frame[name], given.ignore, notices)
                frame = frame.filter(~rules.are_void(frame[name])) if leaves_out else frame
            frame = ids.with_ids(frame, names, typed=table.typed, ours=bool(ours), notices=notices)
            frame = _without_copies(frame, [*others, *aside], notices)
            known = frame[aside[0]] if aside else None
            ends = (frame[names[0]], frame[names[1]])
            if ours:
                directed = bool((frame[DIRECTED].cast(pl.Int64) == 1).any())
                return cls(
                    table.names, names, ends, own_edges(frame.select(others), *OUR_COLUMNS), known, True, directed
                )
            if not frame.height:
                raise ValueError("it has a header but no edges")
            with rules.rows_of(where or EDGES, frame[ids.ROW], notices):
                found = edge_columns(
                    frame, others, weight_column=given.weight, time_column=given.time, category=category,
                    currency=given.currency, notices=notices,
                )  # fmt: skip
        numbered = (name for name in others if is_row_id_name(name) and rules.is_row_id(frame[name]))
        row_ids = next(numbered, None)
        return cls(table.names, names, ends, found, known, ids=None if row_ids is None else frame[row_ids])

    def with_ids(self, events: Events, source: Any, target: Any) -> Events:
        """Return events of these rows, without those from a node to itself, with their ids."""
        return events if self.ids is None else replace(events, row=np.flatnonzero(source != target), ids=self.ids)

    def line(self, name: str, types: tuple[str, str]) -> str:
        """Return what was understood of the table of a relation."""
        ends = f"{types[0]} ({self.names[0]!r}) to {types[1]} ({self.names[1]!r})"
        named = (("weight", self.others.weight), ("time", self.others.time))
        data = [f"{what} {column!r}" for what, column in named if column]
        return f"{name}: {plural(len(self.ends[0]), 'edge row')}, {', '.join([ends, *data])}"


@dataclass(frozen=True)
class NodeRows:
    """The nodes of one type: their ids in the order of their table, and the fields of a graph that it gives."""

    ids: pl.Series
    fields: dict[str, Any]
    id_name: str = ""  # of a table; without one, nodes are the ids that edges name
    columns: Sequence[str] = ()  # of the table, without the id
    n_rows: int = 0  # of the table

    @classmethod
    def read(
        cls,
        given: NodeTable,
        ends: Sequence[pl.Series],
        notices: list[str] | None,
        *,
        where: str = "",
        learn_from: str | None = None,
        of_edges: Sequence[str] = (),
        sides: Sides | None = None,
        ours: bool = False,
        **how: Any,
    ) -> NodeRows:
        """Read a node table, whose ids are to be those of some ends of edges.

        ``where`` is its place in a description; without one, options may also name columns ``of_edges``. ``how`` are
        other parameters of :func:`hopsight.io.nodes.node_fields`.
        """
        place = resolve(given.file)
        with reading(place):
            table = open_table(place, notices=notices)
            check_column(_option(where, "id"), given.id, table.names)
            is_prefixed = sides is not None and sides.prefixed
            id_name = given.id or find_joining(table, () if is_prefixed else ends, notices)
            names = [name for name in table.names if name != id_name]
            known = learn_from if learn_from in names else None
            labels = rules.rows_ignored(given.ignore, [name for name in (known, given.label) if name])
            elsewhere = (*of_edges, *labels)
            of_rows = rules.rows_ignored([each for each in given.ignore if each not in elsewhere], names)
            lists = {
                key: [name for name in getattr(given, key) or () if name in names or name not in (*elsewhere, *of_rows)]
                for key in ("attributes", "ignore", "category")
            }
            lists |= {key: [getattr(given, key)] for key in ("label", "type", "name")}
            for key, chosen in lists.items():
                for name in chosen:
                    if of_edges and key in ("ignore", "category") and name not in table.names:
                        near = suggest(name, [*names, *of_edges])
                        raise Refusal(key, f"names the column {name!r}, which neither table has{near}")
                    check_column(_option(where, key), name, names)
            if not where and learn_from not in of_edges:
                check_column("learn_from", learn_from, [*names, *of_edges])
            named = {given.label, given.type, given.name, known}
            used = [name for name in given.attributes or names if name not in lists["ignore"]]
            kept = [name for name in names if name in used or name in named]
            category = [name for name in lists["category"] if name in kept]
            codes = _codes(table, kept, (*category, *named), notices)
            compared = [name for name, _ in of_rows.values() if name not in kept]
            frame = table.read([id_name, *kept, *dict.fromkeys(compared)], text=[id_name, *category, *codes])
            frame = frame.with_columns(pl.col(codes).cast(pl.Categorical)).with_row_index(ids.ROW, 1)
            frame = ids.with_ids(frame, (id_name,), typed=table.typed, ours=ours, notices=notices)
            last = str(frame[id_name][-1]) if frame.height else ""
            if last.lower().rstrip(":") in TOTALS and not any((end.cast(pl.String) == last).any() for end in ends):
                notice(f"Left out the last row, {last!r}, which adds up others.", notices)
                frame = frame.head(-1)
            if not frame.height:
                raise ValueError("it has a header but no rows")
            if not frame[id_name].is_unique().all():
                n_rows, all_of_it = frame.height, [id_name, *kept, *compared]
                frame = frame.unique(all_of_it, keep="first", maintain_order=True)
                if n_rows > frame.height:
                    notice(f"Left out repeated rows of nodes: {n_rows - frame.height:,}.", notices)
            for entry, (name, value) in labels.items():
                open_cases = rules.have_value(frame[name], value)
                notice(f"Left out {plural(int(open_cases.sum()), 'label')} with {entry}.", notices)
                frame = frame.with_columns(pl.when(~open_cases).then(pl.col(name)))
            with rules.rows_of(where or NODES, frame[ids.ROW], notices):
                fields = node_fields(
                    kept, frame.__getitem__, frame.height, label=given.label, name_column=given.name,
                    type_column=given.type, learn_from=known, category=category, ours=ours, notices=notices, **how,
                )  # fmt: skip
                own = frame[id_name] if sides is None else sides.ids_of_nodes(frame[id_name], fields)
                ids.check_unique(own)
            if of_rows:
                fields["unranked"] = _unranked(frame, of_rows, notices)
        return cls(own, fields, id_name, names, frame.height)

    def placed(self, ends: Sequence[pl.Series], notices: list[str] | None) -> tuple[pl.Series, tuple[Any, ...]]:
        """Return all ids, those that only edges have last, and the positions of ends of edges among them."""
        own, *columns = ids.same_type(self.ids, *ends)
        every, places = ids.positions(own, *columns, notices=notices)
        ids.notice_alike(every, notices)
        return every, places

    def extended(self, every: pl.Series, notices: list[str] | None) -> NodeRows:
        """Return the nodes with those that only edges have, after a notice."""
        unlisted = every[len(self.ids) :]
        if not len(unlisted):
            return replace(self, ids=every)
        ids.notice_unknown(unlisted, None, notices)
        return replace(self, ids=every, fields=with_unknown(self.fields, self.n_rows, unlisted.to_list(), None))

    def line(self, kind: str, nodes: Nodes, ends: Sequence[Any]) -> str:
        """Return what was understood of the table of a type."""
        used, n_more, table = nodes.fields.get("attribute_names", ()), len(self.ids) - self.n_rows, "no table"
        if self.id_name:
            n_joined = np.unique(np.concatenate(ends)).size - n_more if ends else 0
            more = f", {n_more:,} in edges only" if n_more else ""
            table = f"id {self.id_name!r}, {n_joined:,} of them in edges{more}"
        labels = ", with labels" if "labels" in self.fields else ""
        listed = f": {'; '.join(used[:SHOWN])}{'; …' if len(used) > SHOWN else ''}" if used else ""
        counted = f"{plural(len(self.ids), 'node')} ({table}){labels}"
        return f"{kind}: {counted}, {plural(len(used), 'attribute')}{listed}"


def _unranked(frame: pl.DataFrame, of_rows: Mapping[str, tuple[str, str]], notices: list[str] | None) -> Any:
    """Return which nodes are not to be ranked because their rows have one of some values, and say how many."""
    unranked = np.zeros(frame.height, dtype=np.bool_)
    for entry, (name, value) in of_rows.items():
        mine = rules.have_value(frame[name], value).to_numpy()
        unranked |= mine
        if mine.any():
            notice(f"Not ranked: {plural(int(mine.sum()), 'node')} with {entry}.", notices)
        else:
            rules.notice_ignored({entry: 0}, notices)
    if unranked.all():
        raise ValueError(f"no node is left to rank: {option('ignore', [*of_rows])}")
    return unranked


def _with_summaries(
    kind: str, rows: NodeRows, relations: Sequence[Relation], columns: Mapping[str, EdgeColumns]
) -> Nodes:
    """Return the nodes of a type with the attributes that its relations derive, in the order of ids."""
    n_nodes, blocks, names = len(rows.ids), [], []
    left_out: dict[str, str | float] = {}
    filled: dict[str, Any] = dict(rows.fields.get("filled", {}))
    if "attributes" in rows.fields:
        own = rows.fields["attributes"]
        blocks.append(own.toarray() if sp.issparse(own) else np.asarray(own))
        names += list(rows.fields["attribute_names"])
    place = rows.ids.rank("ordinal").to_numpy().astype(np.int64) - 1
    for each in relations:
        if kind not in each.types or not columns[each.name]:
            continue
        within = each.types[0] == each.types[1]
        n_other = 0 if within else int(max(each.source.max(initial=0), each.target.max(initial=0))) + 1
        source, target = (
            place[end] if mine == kind else end + n_nodes
            for mine, end in zip(each.types, (each.source, each.target), strict=True)
        )
        wanted = ("sent", "received") if within else (("sent",) if each.types[0] == kind else ("received",))
        directed = each.directed or not within
        edges = EdgeRows.apart(source, target, *columns[each.name].summarized(), directed=directed)
        matrix, words, same = derive(edges, n_nodes + n_other, wanted)
        found = np.asarray(matrix)[:n_nodes][place]
        chosen = [at for at, word in enumerate(words) if word not in COUNTS and np.ptp(found[:, at]) > 0]
        one: dict[str, str | float] = {word: float(found[0, at]) for at, word in enumerate(words) if at not in chosen}
        same = {word: one.get(other, other) if isinstance(other, str) else other for word, other in same.items()} | one
        blocks.append(found[:, chosen])
        direction = "" if within else f" {wanted[0]}"  # between two types it goes without saying
        called = {word: f"{each.name}: {word.replace(direction, '')}" for word in (*words, *same)}
        names += [called[words[at]] for at in chosen]
        without = no_rows(edges, place, [words[at] for at in chosen])
        filled |= {called[word]: nodes for word, nodes in without.items()}
        left_out |= {called[word]: called[other] if isinstance(other, str) else other for word, other in same.items()}
    fields: dict[str, Any] = {
        key: rows.fields[key] for key in ("labels", "node_names", "known", "unranked", "aside") if key in rows.fields
    } | {"left_out": left_out, "filled": filled}
    if names:
        fields |= {"attributes": np.hstack(blocks), "attribute_names": distinct(names)}
    values = _values(rows.ids)
    return Nodes(values if isinstance(values, np.ndarray) else np.array(values, dtype=object), fields)


class Joins:
    """Says which columns of edge tables hold ids of which type: by their names, or else by the ids in node tables."""

    def __init__(self, given: Description) -> None:
        ends = [kind for each in given.edges.values() for kind in (each.source_type, each.target_type) if kind]
        self.nodes, self.kinds = given.nodes, list(dict.fromkeys([*given.nodes, *ends]))

    @cached_property
    def _ids(self) -> list[tuple[str, pl.Series]]:
        """Return each type with the ids in its table as text, named as their column: one called so, or the first."""
        found = []
        for kind, given in self.nodes.items():
            with reading(place := resolve(given.file)):
                table = open_table(place, notices=[])
                for name in dict.fromkeys([given.id or find_id(table.names, None), given.id or table.names[0]]):
                    check_column(f"nodes.{kind}.id", name, table.names)
                    found.append((kind, ids.forms_of(table.read([name], text=[name])[name], table.typed)))
        return found

    def _held(self, column: pl.Series, typed: bool = True) -> list[str]:
        """Return the types whose tables have most of the ids in a column."""
        values = ids.forms_of(column, typed)
        return list(dict.fromkeys(kind for kind, known in self._ids if ids.share_known(values, known) >= MOST))

    def _type(self, column: str, wanted: str | None, held: Sequence[str] | None) -> str | None:
        """Return the type that a column is called after, or whose ids it holds; None if it is not clear or wanted."""
        name = f"_{normalized_name(column)}_"
        called = [kind for kind in self.kinds if f"_{normalized_name(kind)}_" in name][:1]
        if not called and not is_event_name(column):
            called = [kind for kind, known in self._ids if f"_{normalized_name(known.name)}_" == name]
        if wanted is None:
            return next((each[0] for each in (called, held) if each and len(each) == 1), None)
        joins = held is not None and (wanted in held or wanted not in self.nodes)
        return wanted if joins or wanted in called else None

    def ends(self, name: str, given: EdgeTable, notices: list[str] | None) -> EdgeTable:
        """Return an edge table with the columns and types of its ends.

        The columns are given or called like ends; or they are the first two that are called after fitting types; or
        the first two at all, if they hold ids of fitting types; or the only two that do.
        """
        only = self.kinds[0] if len(self.kinds) == 1 else None
        wanted = (given.source_type or only, given.target_type or only)
        held: dict[str, list[str]] = {}

        def types(pair: Sequence[str]) -> list[str | None]:
            return [self._type(each, kind, held.get(each)) for each, kind in zip(pair, wanted, strict=True)]

        with reading(place := resolve(given.file)):
            table = open_table(place, header=given.header, notices=[])
            first = find_ends(table.names, given.source, given.target, where=f"edges.{name}")
            pairs = [first, *_other_ends(table.names, given)]
            columns = list(dict.fromkeys(each for pair in pairs for each in pair))
            fitting = [] if len(columns) == 2 and None not in wanted else [each for each in pairs if all(types(each))]
            if not fitting and (len(columns) > 2 or None in wanted):
                rows = table.sample(columns)
                held |= {each: self._held(rows[each], table.typed) for each in columns}
                fitting = [each for each in pairs if all(types(each))]
                if first not in fitting and len({*map(frozenset, fitting)}) > 1:
                    some = ", ".join(repr(each) for each in columns if any(each in pair for pair in fitting))
                    raise ValueError(f"columns {some} may hold node ids: say source and target of the edges {name!r}")
        ends = first if first in fitting or not fitting else fitting[0]
        if ends != first:
            state_ends(ends, (None, None), notices)
        source, target = (found or kind for found, kind in zip(types(ends), wanted, strict=True))
        return replace(given, source=ends[0], target=ends[1], source_type=source, target_type=target)

    def types(self, name: str, given: EdgeTable, rows: Rows) -> tuple[str, str]:
        """Return the types of both ends; refuse one that is not clear or misspelled."""
        types = []
        for end, kind, values in zip(
            ("source", "target"), (given.source_type, given.target_type), rows.ends, strict=True
        ):
            column = f"column {values.name!r} of the edges {name!r}"
            if kind is None:
                held = " or ".join(map(repr, self._held(values)))
                if not held:
                    kind = re.sub(r"[_ -]?(id|no|nr|number|uuid|key)$", "", values.name, flags=re.IGNORECASE) or "other"
                    line = f"if they are a type without a table, write {end}_type = {json.dumps(kind)}"
                    raise ValueError(
                        f"no node table has the ids in {column}, such as {shortened(values[0])}: {line} below "
                        f"[edges.{name}]; otherwise say {end}, the column to read"
                    )
                raise ValueError(f"{column} may hold ids of type {held}: say {end}_type")
            if kind not in self.nodes and get_close_matches(kind, self.nodes, cutoff=MISSPELLED):  # it needs no table
                near = suggest(kind, [*self.nodes])
                raise ValueError(f"{end}_type of the edges {name!r}: there is no table of nodes of type {kind!r}{near}")
            types.append(kind)
        return types[0], types[1]

    def check(self, kind: str, own: pl.Series, column: pl.Series, place: str, end: str) -> None:
        """Refuse a relation none of whose ids is in the table of its type."""
        known, ends = ids.same_type(own, column)
        if ids.same_form(ends).is_in(ids.same_form(known).implode()).any():
            return
        held = " or ".join(repr(each) for each in self._held(column) if each != kind)
        others = f"they are ids of type {held}; correct {end}_type, or the files of these tables"
        raise ValueError(
            f"none of the ids in {place}, such as {shortened(ends[0])}, is an id of type {kind!r}, such as "
            f"{shortened(known[0])}: {others if held else f'say another {end} or {end}_type, or id of the nodes'}"
        )


def _other_ends(names: Sequence[str], given: EdgeTable) -> list[tuple[str, str]]:
    """Return the pairs of columns that may be ends where no two are given or called so."""
    if (given.source and given.target) or find_end_names(names):
        return []
    likely = [name for name in names if not (is_event_name(name) or is_amount_name(name))]
    pairs = permutations(likely[:MOST_LOOKED_AT], 2)
    return [pair for pair in pairs if given.source in (None, pair[0]) and given.target in (None, pair[1])]


def write_tables(graph: AttributedGraph, path: Path, notices: list[str] | None = None) -> None:
    """Write the edge list to ``path`` and the node table beside it, ``x.csv`` and ``x.nodes.csv``."""
    names = distinct(graph.attribute_names, ("id", *OWN_COLUMNS))
    matrix = graph.attributes.tocsc() if sp.issparse(graph.attributes) else graph.attributes
    columns: dict[str, Any] = {"id": graph.node_ids.tolist()}
    for position, name in enumerate(names):
        column = matrix[:, [position]]
        columns[name] = (column.toarray() if sp.issparse(column) else column).ravel().astype(np.float64)
    columns |= own_columns(graph)
    kind = pl.Int64 if graph.node_ids.dtype != object else pl.String
    write_frame(pl.DataFrame(columns, schema_overrides={"id": kind}), node_path(path), notices)
    ends = {
        end: pl.Series(graph.node_ids[positions].tolist(), dtype=kind)
        for end, positions in zip(("source", "target"), graph.edges, strict=True)
    }
    data = dict(zip(OUR_COLUMNS, (graph.edge_weight, graph.edge_time), strict=True))
    others = distinct(graph.edge_attribute_names, (*ends, *data, DIRECTED))
    data |= {name: graph.edge_attributes[:, place] for place, name in enumerate(others)}
    data[DIRECTED] = np.full(graph.n_edges, int(graph.directed))
    table = pl.DataFrame(ends | {name: values for name, values in data.items() if values is not None})
    write_frame(table, path, notices)
    notice_renamed(path, (*graph.attribute_names, *graph.edge_attribute_names), (*names, *others), notices)


def node_path(path: Path) -> Path:
    """Return the path of the node table that belongs to an edge list: ``x.nodes.csv`` for ``x.csv``."""
    stem = _stem(path)
    return path.with_name(f"{stem}.nodes{path.name[len(stem) :]}")


def find_nodes(place: Any) -> Path | None:
    """Return the node table beside an edge list, or None if there is none."""
    path = place.paths[0] if isinstance(place, Address) and len(place.paths) == 1 else place
    if not isinstance(path, Path) or not path.name.lower().endswith(TABLE_SUFFIXES):
        return None
    beside = node_path(path)
    return beside if beside.is_file() and beside != path else None


def find_id(names: Sequence[str], id_column: str | None) -> str:
    """Return the name of the column of a node table that holds the node ids."""
    check_column("id_column", id_column, names)
    if id_column is not None:
        return id_column
    if not names:
        raise ValueError("a node table needs a column of ids")
    known = {normalized_name(name): name for name in reversed(names)}
    if normalized_name(names[0]) in ID_NAMES:
        return names[0]
    return next((known[name] for name in ID_NAMES if name in known), names[0])


def _known_ids(given: NodeTable) -> pl.Series:
    """Return the ids of a node table as text in one form, named as their column."""
    with reading(place := resolve(given.file)):
        table = open_table(place, notices=[])
        name = given.id or find_id(table.names, None)
        check_column("id_column", name, table.names)
        return ids.forms_of(table.read([name], text=[name])[name], table.typed)


def _option(where: str, key: str) -> str:
    """Return the parameter that names a column: of :func:`hopsight.load`, or of a table in a description."""
    if where:
        return f"{where}.{key}"
    return f"{key}_column" if key in ("id", "weight", "time", "type", "name") else key


def _settings_of(where: str, table: NodeTable | EdgeTable) -> AbstractContextManager[None]:
    """Have messages advise a setting of this table, as in ``nodes.person.category = ["zip"]``, where there is one."""
    settings = [each.name for each in fields(table)]

    def spell(name: str, value: object) -> str | None:
        key = name.removesuffix("_column")
        if key not in settings:
            return None
        return f"{where}.{key}" if value is None else f"{where}.{key} = {json.dumps(value, ensure_ascii=False)}"

    return spelling(spell)


def _codes(table: Table, names: Sequence[str], named: Sequence[str | None], notices: list[str] | None) -> list[str]:
    """Return the columns of codes such as 01234, which are categories though they look like numbers."""
    found = table.codes([name for name in names if name not in named])
    for name in found:
        notice(f"Column {name!r} holds codes with leading zeros, which are not read as numbers.", notices, detail=True)
    return found


def _without_footer(rows: pl.DataFrame, ends: Sequence[str], notices: list[str] | None) -> pl.DataFrame:
    """Leave out a last row of totals, or without any cell beside two ends, such as ``EOF|25690 records``.

    No other row has these ends.
    """
    others = [name for name in rows.columns if name not in ends]
    if not others or rows.height < LEAST_ROWS:
        return rows
    last, known = rows.row(-1, named=True), rows.head(-1)
    adds_up = any(str(last[name]).strip().lower().rstrip(":") in TOTALS for name in ends)
    bare = rows.select(pl.all_horizontal(pl.col(others).is_null())).to_series()
    if not adds_up and (len(others) < 2 or not bare[-1] or bare.sum() > 1):
        return rows
    if None in (last[name] for name in ends):
        return rows  # left out for want of an id
    if any((known[name] == last[end]).any() for name in ends for end in ends if known.schema[name] == rows.schema[end]):
        return rows
    words = " and ".join(shortened(rows[name][-1]) for name in ends)
    why = "adds up others" if adds_up else "has no other cell"
    notice(f"Left out the last row, {words}, which {why}.", notices)
    return rows.head(-1)


def _without_copies(rows: pl.DataFrame, others: Sequence[str], notices: list[str] | None) -> pl.DataFrame:
    """Leave out rows that repeat another one in all columns if one of them numbers payments, or say that they count."""
    if not others:
        return rows
    copies = rows.select(~pl.struct(pl.exclude(ids.ROW)).is_first_distinct()).to_series()
    if not copies.any():
        return rows
    n_copies, kept = int(copies.sum()), rows.filter(~copies)
    those = "1 row is an exact copy" if n_copies == 1 else f"{n_copies:,} rows are exact copies"
    those += f" of earlier rows, first row {rows.filter(copies)[ids.ROW][0]:,} of the data"
    numbered = next((name for name in others if is_row_id_name(name) and kept[name].is_unique().all()), None)
    if numbered is None:
        notice(f"{those}, and counted again; remove what was not meant.", notices)
        return rows
    notice(f"{those}, with the same {numbered!r}: {'it is' if n_copies == 1 else 'they are'} left out.", notices)
    return kept


def find_joining(table: Table, ends: Sequence[pl.Series], notices: list[str] | None) -> str:
    """Return the column with the node ids: of those whose values differ, the one with most ids of the edges.

    Among columns with nearly as many, it is one that shares a word with the names of the ends, as ``account_id`` does
    with ``from_account``, or is called like ids, or else has most, or is the first that does not number rows.
    """
    called = find_id(table.names, None)
    if not ends:
        return called
    wanted = [ids.same_form(end.unique()) for end in ends]
    words = {word for end in ends for word in words_of(end.name)} - KEY_WORDS
    named = [name for name in table.names if not words.isdisjoint(words_of(name))]
    are_numbers = {is_one for end in wanted for is_one in end.str.contains(DIGITS)}

    def share(column: pl.Series) -> float:
        known = ids.forms_of(column, table.typed)
        differ = len(known) > ALL_BUT_FEW * column.count() and known.str.contains(DIGITS).is_in([*are_numbers]).any()
        return max(ids.share_known(end, known) for end in wanted) if column.name == called or differ else -1.0

    shares = {called: share(table.read([called], text=[called])[called])}
    if called not in named or shares[called] < ALL_BUT_FEW:
        may_be = [column.name for column in table.head(table.names) if share(column) >= 0.0]  # the others are not read
        shares |= {name: share(table.read([name], text=[name])[name]) for name in may_be if name != called}
    least = max(MOST, ALL_BUT_FEW * max(shares.values()))
    fitting = [name for name in shares if shares[name] >= least] or [called]

    def likely(name: str) -> tuple[float, ...]:
        like_ids = (normalized_name(name) in ID_NAMES) * (1 + (name == called))
        return name in named, like_ids, shares[name], not is_event_name(name), name == called

    best, *others = sorted(fitting, key=likely, reverse=True)
    if others:
        have = f"{listed([*map(repr, others)])} {'has' if len(others) == 1 else 'have'} about as many ids of the edges"
        advice = f"if that is wrong, pass {option('id_column', others[0])}"
        notice(f"Read node ids from column {best!r}; {have}: {advice}.", notices)
    elif best != called:
        notice(f"Read node ids from column {best!r}.", notices)
    return best


def _values(node_ids: pl.Series) -> Any:
    return node_ids.to_numpy() if node_ids.dtype == pl.Int64 else node_ids.to_list()


def _stem(path: Path) -> str:
    name = path.name
    return next((name[: -len(suffix)] for suffix in TABLE_SUFFIXES if name.lower().endswith(suffix)), path.stem)
