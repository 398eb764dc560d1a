"""Read several tables as one graph: a node table per type, an edge table per relation.

A ``graph.toml`` names them::

    rank = "user"

    [nodes.user]
    file = "users.parquet"
    id = "id"
    label = "fraud"

    [edges.paid]
    file = "payments.parquet"
    source = "from_user_id"
    target = "to_user_id"
    source_type = "user"
    target_type = "user"
    weight = "amount"

Types whose nodes are listed nowhere, such as cards of which only the ids are known, need no table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import Refusal, plural, shortened, suggest
from hopsight.graph import AttributedGraph
from hopsight.io import ids
from hopsight.io.derive import COUNTS, EdgeRows, derive
from hopsight.io.edges import END_NAMES, EdgeColumns, edge_columns, paired
from hopsight.io.frames import open_table
from hopsight.io.nodes import check_column, distinct, node_fields, with_unknown
from hopsight.io.notices import NamedNotices, notice
from hopsight.io.rules import is_event_name, normalized_name
from hopsight.io.sources import reading, resolve
from hopsight.io.tables import find_id
from hopsight.io.typed import Nodes, Relation, typed_graph
from hopsight.system.lazy_polars import pl

OF_NODES = ("file", "id", "label", "attributes", "ignore", "category", "name")
OF_EDGES = (
    "file",
    "source",
    "target",
    "source_type",
    "target_type",
    "directed",
    "weight",
    "time",
    "ignore",
    "category",
)
OF_GRAPH = ("rank", "nodes", "edges")
SHOWN = 6  # names of attributes in a line
MISSPELLED = 0.8  # likeness of a type without a table to one that has a table
LISTS = ("attributes", "ignore", "category")


@dataclass(frozen=True)
class TypeTable:
    """Where the nodes of one type are, and which columns they have."""

    file: Any
    id: str | None = None
    label: str | None = None
    attributes: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    category: Sequence[str] = ()
    name: str | None = None


@dataclass(frozen=True)
class RelationTable:
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


@dataclass(frozen=True)
class Description:
    """The tables of a graph with several types, as a file or Python names them."""

    nodes: Mapping[str, TypeTable] = field(default_factory=dict)
    edges: Mapping[str, RelationTable] = field(default_factory=dict)
    rank: str | None = None
    name: str = ""

    @property
    def files(self) -> list[Any]:
        """The tables, in order."""
        return [each.file for each in self.nodes.values()] + [each.file for each in self.edges.values()]

    def as_one(self) -> dict[str, Any] | None:
        """Return the parameters of :func:`hopsight.load` for one edge table between nodes of one type; None otherwise.

        Without an edge to another type, types mean nothing, and the graph is the same as from the two tables alone.
        """
        ends = [kind for each in self.edges.values() for kind in (each.source_type, each.target_type)]
        kinds = list(dict.fromkeys([*self.nodes, *filter(None, ends)]))
        edges, nodes = next(iter(self.edges.values())), next(iter(self.nodes.values()), TypeTable(None))
        if len(kinds) != 1 or len(self.edges) > 1 or not edges.directed or nodes.attributes is not None:
            return None
        if self.rank not in (None, kinds[0]):
            raise Refusal("rank", f"must be {kinds[0]!r}, the only type of this graph, got {self.rank!r}")
        named = {"label": nodes.label, "id_column": nodes.id, "name_column": nodes.name}
        ends_named = {"source_column": edges.source, "target_column": edges.target}
        values = {"weight_column": edges.weight, "time_column": edges.time}
        both = {"ignore": (*nodes.ignore, *edges.ignore), "category": (*nodes.category, *edges.category)}
        return {"source": edges.file, "nodes": nodes.file, **named, **ends_named, **values, **both}


def read_description(path: Path) -> Description:
    """Read a ``graph.toml``; files in it are relative to its folder."""
    with reading(path):
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"it is not a TOML file: {error}") from None
        _check_keys(content, OF_GRAPH, "at the top")
        rank = content.get("rank")
        if rank is not None and not isinstance(rank, str):
            raise ValueError(f"rank must be the name of a type, got {rank!r}")
        parts: dict[str, dict[str, Any]] = {}
        for part, keys in (("nodes", OF_NODES), ("edges", OF_EDGES)):
            parts[part] = content.get(part, {})
            if not isinstance(parts[part], dict):
                raise ValueError(f"write [{part}.NAME] above each table, not {part} = …")
            for name, table in parts[part].items():
                where = f"in [{part}.{name}]"
                if not isinstance(table, dict) or "file" not in table:
                    raise ValueError(f"there is no file {where}")
                _check_keys(table, keys, where)
                _check_values(table, where)
                table["file"] = _beside(path, table["file"])
        if not parts["edges"]:
            raise ValueError("it has no [edges.NAME] table; a graph needs edges")
        return Description(
            {name: TypeTable(**table) for name, table in parts["nodes"].items()},
            {name: RelationTable(**table) for name, table in parts["edges"].items()},
            rank,
            path.parent.resolve().name if path.stem == "graph" else path.stem,
        )


def description_of(nodes: Mapping[str, Any] | None, edges: Mapping[Any, Any]) -> Description:
    """Return what Python gives: tables of nodes by type, and tables of edges by (type, relation, type)."""
    if not isinstance(edges, Mapping) or not edges:
        raise ValueError('edges must map (type, relation, type) to a table, as in {("user", "paid", "user"): frame}')
    if nodes is not None and not isinstance(nodes, Mapping):
        raise ValueError('nodes must map each type to a table, as in {"user": frame}, where edges has several tables')
    of_nodes = {
        str(kind): TypeTable(**_options(table, OF_NODES, f"of nodes[{kind!r}]"))
        for kind, table in (nodes or {}).items()
    }
    of_edges: dict[str, RelationTable] = {}
    for key, table in edges.items():
        if not (isinstance(key, tuple) and len(key) == 3 and all(isinstance(word, str) for word in key)):
            raise ValueError(f"edges must be named (type, relation, type), got {key!r}")
        first, relation, second = key
        options = _options(table, OF_EDGES, f"of edges[{key!r}]")
        name = relation if relation not in of_edges else f"{first} {relation} {second}"
        of_edges[name] = RelationTable(**{"source_type": first, "target_type": second, **options})
    return Description(of_nodes, of_edges)


def read_several(
    given: Description, *, missing: str = "fill", learn_from: str | None = None, notices: list[str] | None = None
) -> tuple[AttributedGraph, Summary]:
    """Read all tables and return one graph of them, and what was understood."""
    rows, types = {}, {}
    for name in given.edges:
        rows[name] = _Rows.read(name, given, NamedNotices(name, notices))
    for kind in dict.fromkeys([*given.nodes, *(kind for each in rows.values() for kind in each.types)]):
        mine = NamedNotices(kind, notices)
        types[kind] = _Type.read(kind, given.nodes.get(kind), rows.values(), missing, learn_from, mine)
    if learn_from is not None and not any(learn_from in each.fields.get("aside", ()) for each in types.values()):
        columns = dict.fromkeys(name for each in types.values() for name in each.columns)
        raise Refusal(
            "learn_from", f"names no column of a node table, got {learn_from!r}{suggest(learn_from, columns)}"
        )
    placed = {name: each.placed(types) for name, each in rows.items()}
    nodes = {kind: each.nodes(placed.values(), notices) for kind, each in types.items()}
    relations = [each.relation(notices) for each in placed.values()]
    graph = typed_graph(nodes, relations, given.name)
    return graph, Summary(given, types, placed, nodes)


@dataclass(frozen=True)
class Summary:
    """What was understood of several tables, for ``hopsight describe``."""

    given: Description
    types: Mapping[str, _Type]
    rows: Mapping[str, _Placed]
    nodes: Mapping[str, Nodes]

    def lines(self) -> list[str]:
        """Return one line per type and per relation."""
        found = []
        for kind, each in self.types.items():
            table = "no table" if each.table is None else f"id {each.id_name!r}"
            used = self.nodes[kind].fields.get("attribute_names", ())
            joined = "" if each.table is None else f", {each.n_joined:,} of them in edges"
            more = "" if not each.n_unlisted or each.table is None else f", {each.n_unlisted:,} in edges only"
            labels = "" if "labels" not in each.fields else ", with labels"
            found.append(
                f"{kind}: {plural(len(each.ids), 'node')} ({table}{joined}{more}){labels}, "
                f"{plural(len(used), 'attribute')}{_listed(used)}"
            )
        for name, rows in self.rows.items():
            ends = f"{rows.types[0]} ({rows.ends[0]!r}) to {rows.types[1]} ({rows.ends[1]!r})"
            named = (("weight", rows.columns.weight), ("time", rows.columns.time))
            data = [f"{what} {column!r}" for what, column in named if column]
            found.append(f"{name}: {plural(rows.source.size, 'edge row')}, {', '.join([ends, *data])}")
        return found


def _listed(names: Sequence[str]) -> str:
    return f": {', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''}" if names else ""


@dataclass(frozen=True)
class _Rows:
    """The rows of one edge table."""

    name: str
    types: tuple[str, str]
    ends: tuple[str, str]
    sources: pl.Series
    targets: pl.Series
    columns: EdgeColumns
    directed: bool
    file: Any

    @classmethod
    def read(cls, name: str, graph: Description, notices: list[str] | None) -> _Rows:
        """Read the edges of a relation, and find out which columns and types they connect."""
        given = graph.edges[name]
        place = resolve(given.file)
        with reading(place):
            table = open_table(place, notices=notices)
            ends = _ends(table.names, given, name)
            types = _types(name, ends, graph)
            for key in ("weight", "time"):
                check_column(f"edges.{name}.{key}", getattr(given, key), table.names)
            for key in ("ignore", "category"):
                for column in getattr(given, key):
                    check_column(f"edges.{name}.{key}", column, table.names)
            others = [column for column in table.names if column not in ends and column not in given.ignore]
            frame = table.read([*ends, *others], text=[*ends, *given.category])
            frame = ids.with_ids(frame, ends, typed=table.typed, notices=notices)
            if not frame.height:
                raise ValueError("it has a header but no edges")
            category = [column for column in given.category if column in others]
            columns = edge_columns(
                frame, others, weight_column=given.weight, time_column=given.time, category=category, notices=notices
            )
        return cls(name, types, ends, frame[ends[0]], frame[ends[1]], columns, given.directed, given.file)

    def ids_of(self, kind: str) -> list[pl.Series]:
        """Return the columns of ids of one type."""
        ends = zip(self.types, (self.sources, self.targets), strict=True)
        return [column for each, column in ends if each == kind]

    def placed(self, types: Mapping[str, _Type]) -> _Placed:
        """Return the same rows with positions in place of ids."""
        first, second = self.types
        source, target = types[first].positions(self.sources), types[second].positions(self.targets)
        return _Placed(self.name, self.types, self.ends, source, target, self.columns, self.directed)


@dataclass(frozen=True)
class _Placed:
    """The rows of one edge table, as positions among the nodes of their types."""

    name: str
    types: tuple[str, str]
    ends: tuple[str, str]
    source: Any
    target: Any
    columns: EdgeColumns
    directed: bool

    def relation(self, notices: list[str] | None) -> Relation:
        """Return the edges with weight and time."""
        fields = self.columns.edge_fields(notices)
        events = self.columns.events(self.source, self.target) if self.types[0] == self.types[1] else None
        weight, time = fields["edge_weight"], fields["edge_time"]
        return Relation(self.name, self.types, self.source, self.target, weight, time, events, self.directed)


@dataclass(frozen=True)
class _Type:
    """The ids of one type in the order of its table, then those of edges only, and the fields of its table."""

    kind: str
    ids: pl.Series
    fields: Mapping[str, Any]
    table: TypeTable | None
    id_name: str
    n_joined: int
    n_unlisted: int
    columns: Sequence[str] = ()  # of its table, without the id

    @classmethod
    def read(
        cls,
        kind: str,
        given: TypeTable | None,
        rows: Any,
        missing: str,
        learn_from: str | None,
        notices: list[str] | None,
    ) -> _Type:
        """Read the table of a type if it has one; without one, its nodes are the ids that edges name."""
        used = [(each, column) for each in rows for column in each.ids_of(kind)]
        columns = ids.same_type(*(column.rename("id") for _, column in used)) if used else ()
        in_edges = pl.concat(columns).unique().sort() if columns else None
        if given is None:
            assert in_edges is not None
            none = {"known": np.zeros(len(in_edges), dtype=np.bool_)}  # of them has a row in a table
            return cls(kind, in_edges, none, None, "", len(in_edges), len(in_edges))
        place = resolve(given.file)
        with reading(place):
            table = open_table(place, notices=notices)
            if given.id is not None:
                check_column(f"nodes.{kind}.id", given.id, table.names)
            id_name = find_id(table.names, given.id)
            columns_of = names = [name for name in table.names if name != id_name]
            listed = {"label": (given.label,), "ignore": given.ignore, "attributes": given.attributes or ()}
            for key, values in (*listed.items(), ("category", given.category), ("name", (given.name,))):
                for name in values:
                    check_column(f"nodes.{kind}.{key}", name, names)
            known = learn_from if learn_from in names else None
            kept = ({*(given.attributes or names), given.label, given.name} - {*given.ignore}) | {known}
            names = [name for name in names if name in kept]
            frame = table.read([id_name, *names], text=[id_name, *given.category])
            frame = ids.with_ids(frame, (id_name,), typed=table.typed, notices=notices)
            if not frame.height:
                raise ValueError("it has a header but no rows")
            ids.check_unique(frame[id_name])
            fields: dict[str, Any] = {}
            if names:
                fields = node_fields(
                    names, frame.__getitem__, frame.height, label=given.label, name_column=given.name,
                    learn_from=known, category=given.category, missing=missing, may_lack=True, notices=notices,
                )  # fmt: skip
            fields.pop("node_types", None)
        own = frame[id_name].rename("id")
        if in_edges is None:
            notice(f"No edge table names nodes of type {kind!r}; they are not connected to anything.", notices)
            return cls(kind, own, fields, given, id_name, 0, 0, columns_of)
        own, in_edges = ids.same_type(own, in_edges)
        joined = in_edges.is_in(own.implode())
        for each, column in used:
            _check_join(kind, own, each, column, frame)
        unlisted = in_edges.filter(~joined)
        if len(unlisted):
            notice(
                f"{plural(len(unlisted), 'id')} of type {kind!r} in edges, such as {shortened(unlisted[0])}, without a "
                "row in its table: not ranked.",
                notices,
            )
            fields = with_unknown(fields, frame.height, unlisted.to_list(), None)
        every = pl.concat([own, unlisted])
        return cls(kind, every, fields, given, id_name, int(joined.sum()), len(unlisted), columns_of)

    def positions(self, column: pl.Series) -> Any:
        """Return the positions of ids of this type, all of which are known."""
        known, ends = ids.same_type(self.ids, column)
        _, (found,) = ids.positions(known, ends)
        return found.astype(np.int64)

    def nodes(self, rows: Any, notices: list[str] | None) -> Nodes:
        """Return the nodes with the attributes that their relations derive."""
        blocks, names = [], []
        if "attributes" in self.fields:
            own = self.fields["attributes"]
            blocks.append(own.toarray() if hasattr(own, "toarray") else np.asarray(own))
            names += list(self.fields["attribute_names"])
        mine = [each for each in rows if self.kind in each.types]
        order = np.argsort(self.ids.rank("ordinal").to_numpy())
        for each in mine:
            block, words = _summaries(self, each, order)
            blocks.append(block)
            names += words
        fields = {key: value for key, value in self.fields.items() if key in ("labels", "node_names", "known", "aside")}
        if names:
            fields |= {"attributes": np.hstack(blocks), "attribute_names": distinct(names)}
        is_number = self.ids.dtype == pl.Int64
        return Nodes(self.ids.to_numpy() if is_number else np.array(self.ids.to_list(), dtype=object), fields)


def _summaries(kind: _Type, rows: _Placed, order: Any) -> tuple[Any, list[str]]:
    """Return what the columns of a relation say about each node of a type, derived in the order of ids."""
    n_nodes = len(kind.ids)
    if not rows.columns:
        return np.zeros((n_nodes, 0)), []
    place = np.empty(n_nodes, dtype=np.int64)
    place[order] = np.arange(n_nodes)
    within = rows.types[0] == rows.types[1]
    n_other = 0 if within else int(max(rows.source.max(initial=0), rows.target.max(initial=0))) + 1
    source, target = (
        place[end] if each == kind.kind else end + n_nodes
        for each, end in zip(rows.types, (rows.source, rows.target), strict=True)
    )
    numbers, times, categories = rows.columns.summarized()
    wanted = ("sent", "received") if within else (("sent",) if rows.types[0] == kind.kind else ("received",))
    edges = EdgeRows(
        source, target, numbers, times, categories, rows.columns.units, directed=rows.directed or not within
    )
    matrix, names = derive(edges, n_nodes + n_other, wanted)
    chosen = [at for at, name in enumerate(names) if name not in COUNTS]
    found = np.asarray(matrix)[:n_nodes][place][:, chosen]
    words = [names[at] if within else names[at].replace(f" {wanted[0]}", "") for at in chosen]
    varies = np.ptp(found, axis=0) > 0
    return found[:, varies], [f"{rows.name}: {word}" for word, kept in zip(words, varies, strict=True) if kept]


def _check_join(kind: str, own: pl.Series, rows: _Rows, column: pl.Series, frame: pl.DataFrame) -> None:
    """Refuse a relation none of whose ids is in the table of its type."""
    known, ends = ids.same_type(own, column)
    if not ends.is_in(known.implode()).any():
        place = rows.ends[0] if column is rows.sources else rows.ends[1]
        raise ValueError(
            f"none of the ids in column {place!r} of the edges {rows.name!r}, such as {shortened(ends[0])}, is an id "
            f"of type {kind!r}, such as {shortened(known[0])}: name another column or type"
        )


def _types(name: str, ends: tuple[str, str], graph: Description) -> tuple[str, str]:
    """Return the types of both ends: given, or the only one, or the one that the column is called after."""
    given = graph.edges[name]
    listed = [*graph.nodes]
    named = [kind for each in graph.edges.values() for kind in (each.source_type, each.target_type) if kind]
    known = list(dict.fromkeys([*listed, *named]))
    found = []
    for key, kind, column in (
        ("source_type", given.source_type, ends[0]),
        ("target_type", given.target_type, ends[1]),
    ):
        words = normalized_name(column).split("_")
        if kind is None:
            kind = known[0] if len(known) == 1 else next((each for each in known if each.lower() in words), None)
        if kind is None:
            raise ValueError(f"column {column!r} may hold ids of any type: say {key} of the edges {name!r}")
        if kind not in listed and get_close_matches(kind, listed, cutoff=MISSPELLED):  # a type needs no table
            raise ValueError(
                f"{key} of the edges {name!r}: there is no table of nodes of type {kind!r}{suggest(kind, listed)}"
            )
        found.append(kind)
    return found[0], found[1]


def _ends(names: Sequence[str], given: RelationTable, relation: str) -> tuple[str, str]:
    """Return the columns with the two ends of an edge: those named, those with usual names, or the first two."""
    for key in ("source", "target"):
        check_column(f"edges.{relation}.{key}", getattr(given, key), names)
    if len(names) < 2:
        raise ValueError(f"an edge table needs two columns, but there is only one{f', {names[0]!r}' if names else ''}")
    usual = {normalized_name(name): name for name in reversed(names)}
    guess = next(((usual[a], usual[b]) for a, b in END_NAMES if a in usual and b in usual), None) or paired(names)
    if guess is None:
        likely = [name for name in names if not is_event_name(name)]
        guess = (likely[0], likely[1]) if len(likely) > 1 else (names[0], names[1])
    source = given.source or next(name for name in guess if name != given.target)
    target = given.target or next(name for name in reversed(guess) if name != source)
    if source == target:
        raise ValueError(f"source and target must differ, but both are {source!r}")
    return source, target


def _options(table: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    """Return the options of a table that Python gives alone or as a mapping with ``file`` and names of columns."""
    if isinstance(table, Mapping) and "file" in table:
        _check_keys(table, known, where)
        return dict(table)
    return {"file": table}


def _check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = suggest(key, known) or f"; there are {', '.join(known)}"
            raise ValueError(f"there is no setting {key!r} {where}{near}")


def _check_values(table: Mapping[str, Any], where: str) -> None:
    """Refuse a value of the wrong type."""
    for key, value in table.items():
        if key in LISTS:
            fits, kind = isinstance(value, list) and all(isinstance(each, str) for each in value), "a list of columns"
        elif key == "directed":
            fits, kind = isinstance(value, bool), "true or false"
        else:
            fits, kind = isinstance(value, str), "a text"
        if not fits:
            raise ValueError(f"{key} {where} must be {kind}, got {value!r}")


def _beside(path: Path, file: str) -> str:
    """Return a file relative to the folder of the description; addresses of servers stay as they are."""
    if "://" in file or Path(file).is_absolute():
        return file
    return str(path.parent / file)
