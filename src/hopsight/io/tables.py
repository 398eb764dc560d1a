"""Read and write an edge list with or without a node table, as files (CSV, Parquet) or data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from hopsight.canonical import DUPLICATES
from hopsight.checks import Refusal, check_choice, option
from hopsight.graph import AttributedGraph
from hopsight.io import ids
from hopsight.io.derive import EdgeRows, parse_derive
from hopsight.io.edges import EdgeColumns, add_derived, edge_columns, find_ends, kinds_to_derive, own_edges, state_ends
from hopsight.io.frames import Table, open_table, write_frame
from hopsight.io.ids import Sides, as_sides
from hopsight.io.nodes import (
    OWN_COLUMNS,
    check_column,
    distinct,
    node_fields,
    own_columns,
    set_aside,
    with_unknown,
)
from hopsight.io.notices import notice, notice_renamed
from hopsight.io.rules import normalized_name
from hopsight.io.sources import TABLE_SUFFIXES, reading
from hopsight.system.lazy_polars import pl

OUR_COLUMNS = ("hopsight_weight", "hopsight_time")  # in edge lists that hopsight wrote
DIRECTED = "hopsight_directed"  # by which an edge list of this kind is recognized
ENOUGH, MOST = 10_000, 0.5  # rows of edges whose ids are looked up; share of them that a column of node ids has
ID_NAMES = ("id", "node", "node_id", "nodeid", "name", "user", "user_id", "userid", "key", "vertex", "index")


def read_tables(
    edges: Any,
    nodes: Any = None,
    *,
    directed: bool = False,
    learn_from: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    weight_column: str | None = None,
    time_column: str | None = None,
    duplicates: str | None = None,
    derive: Any = None,
    bipartite: bool | None = None,
    header: bool | None = None,
    rank_unknown: bool | None = None,
    notices: list[str] | None = None,
    **options: Any,
) -> AttributedGraph:
    """Read an edge list and a node table, each a path or a data frame; without a node table, attributes are derived.

    The columns with the two ends of an edge and with the id of a node are recognized by their names (``source`` and
    ``target``, ``src`` and ``dst``, ``from`` and ``to``, …; ``id``, ``node``, ``name``, …); without such names they
    are the first columns. All other columns of the node table are attributes, see
    :func:`hopsight.io.nodes.encode`; for those of the edge list see :func:`hopsight.io.edges.edge_columns`.

    The parameters are those of :func:`hopsight.load`; ``options`` are those of
    :func:`hopsight.io.nodes.node_fields`.
    """
    duplicates = "sum" if duplicates is None else duplicates
    check_choice("duplicates", duplicates, DUPLICATES)
    kinds = parse_derive(derive)
    if nodes is None and isinstance(edges, Path):
        nodes = find_nodes(edges)
    with reading(edges):
        table = open_table(edges, header=header, notices=notices)
        ends = find_ends(table.names, source_column, target_column, head=table.head)
        if nodes is None:
            _check_without_nodes(table.names, ends, id_column=id_column, **options)
        state_ends(ends, (source_column, target_column), notices)
        ours = DIRECTED in table.names
        rows = _EdgeTable.read(
            table, ends, ignore=options.get("ignore", ()), learn_from=learn_from, weight_column=weight_column,
            time_column=time_column, category=options.get("category", ()), notices=notices,
        )  # fmt: skip
    sides = as_sides(rows.sources, rows.targets, ends, bipartite, notices)
    if nodes is None:
        found = _NodeTable(sides.all_ids(), {"node_types": sides.types_of_all()})
        if rows.known is None:
            check_column("learn_from", learn_from, table.names)
    else:
        options |= {"learn_from": learn_from, "may_lack": kinds != (), "ours": ours}
        found = _NodeTable.read(nodes, id_column, table.names, sides, notices=notices, **options)
    node_ids, sources, targets = ids.same_type(found.ids, sides.sources, sides.targets)
    with reading(edges):
        node_ids, (source, target) = ids.positions(node_ids, sources, targets)
    ids.notice_alike(node_ids, notices)
    fields = found.fields
    n_known = len(found.ids)
    if n_known < len(node_ids):
        unknown = node_ids[n_known:]
        ids.notice_unknown(unknown, bool(rank_unknown), notices)
        fields = with_unknown(fields, n_known, unknown.to_list(), sides.types_of(unknown))
        fields["rank_unknown"] = bool(rank_unknown)
    if learn_from is not None and learn_from not in fields.setdefault("aside", {}) and rows.known is not None:
        fields["aside"][learn_from] = set_aside(rows.known, np.stack([source, target]))
    chosen = kinds_to_derive(kinds, fields, some=bool(rows.others), ours=ours)
    numbers, times, categories = rows.others.summarized()
    summarized = EdgeRows(source, target, numbers, times, categories, rows.others.units)
    merged = add_derived(fields, summarized, node_ids, chosen, notices)
    fields |= rows.others.edge_fields(notices) | {"name": _stem(edges) if isinstance(edges, Path) else ""}
    fields["events"] = rows.others.events(source, target)
    directed = directed or rows.directed
    return AttributedGraph.from_edges(
        source, target, directed=directed, node_ids=_values(node_ids), duplicates=duplicates,
        merged_edges=None if directed else merged, **fields,
    )  # fmt: skip


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


def find_nodes(path: Path) -> Path | None:
    """Return the node table beside an edge list, or None if there is none."""
    stem = _stem(path)
    candidates = (node_path(path), *(path.with_name(f"{stem}.nodes{suffix}") for suffix in TABLE_SUFFIXES))
    return next((candidate for candidate in candidates if candidate.is_file() and candidate != path), None)


def find_id(names: Sequence[str], id_column: str | None) -> str:
    """Return the name of the column of a node table that holds the node ids."""
    check_column("id_column", id_column, names)
    if id_column is not None:
        return id_column
    known = {normalized_name(name): name for name in reversed(names)}
    if normalized_name(names[0]) in ID_NAMES:
        return names[0]
    return next((known[name] for name in ID_NAMES if name in known), names[0])


def notice_unused(names: Sequence[str], notices: list[str] | None) -> None:
    """Give notice of columns of an edge list that are not used."""
    if names:
        listed = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        columns = "column" if len(names) == 1 else "columns"
        notice(f"Left out the {columns} {listed} of the edge list: edges have no attributes.", notices)


@dataclass(frozen=True)
class _EdgeTable:
    """The ids of both ends of every row, the other columns, and the column of known cases if it has that."""

    sources: pl.Series
    targets: pl.Series
    others: EdgeColumns
    known: pl.Series | None
    directed: bool = False  # because the table says so

    @classmethod
    def read(
        cls, table: Table, ends: tuple[str, str], *, ignore: Sequence[str], learn_from: str | None, **options: Any
    ) -> _EdgeTable:
        """Read the rows of an edge list."""
        if learn_from is not None and learn_from in (*ends, options["weight_column"], options["time_column"]):
            raise Refusal("learn_from", f"names the column {learn_from!r}, which is read as something else")
        for parameter in ("weight_column", "time_column"):
            check_column(parameter, options[parameter], table.names)
        aside = [name for name in table.names if name == learn_from]
        others = [name for name in table.names if name not in (*ends, DIRECTED, *ignore, *aside)]
        named = (*options["category"], options["weight_column"], options["time_column"])
        codes = _codes(table, others, named, options["notices"])
        options["category"] = [*options["category"], *codes]
        ours = [DIRECTED] if DIRECTED in table.names else []
        frame = table.read([*ends, *others, *aside, *ours], text=[*ends, *options["category"], *aside])
        frame = ids.with_ids(frame, ends, typed=table.typed, notices=options["notices"])
        sources, targets = (frame[end] for end in ends)
        known = frame[aside[0]] if aside else None
        if ours:
            found, directed = own_edges(frame.select(others), *OUR_COLUMNS), frame[DIRECTED].cast(pl.Int64) == 1
            return cls(sources, targets, found, known, bool(directed.any()))
        if not frame.height:
            raise ValueError("it has a header but no edges")
        options["category"] = [name for name in options["category"] if name in others]
        return cls(sources, targets, edge_columns(frame, others, **options), known)


def _codes(table: Table, names: Sequence[str], named: Sequence[str | None], notices: list[str] | None) -> list[str]:
    """Return the columns of codes such as 01234, which are categories though they look like numbers."""
    found = [name for name in table.codes() if name in names and name not in named]
    for name in found:
        notice(f"Column {name!r} holds codes with leading zeros; they are read as categories.", notices)
    return found


def _check_without_nodes(names: Sequence[str], ends: tuple[str, str], **options: Any) -> None:
    """Refuse options that name columns of the node table where there is none."""
    for parameter in ("label", "id_column", "type_column", "name_column"):
        if options.get(parameter) is not None:
            raise Refusal(
                parameter,
                f"names a column of the node table, and there is none; pass {option('nodes')}, or leave it out",
            )
    for parameter in ("ignore", "category"):
        for name in options.get(parameter, ()):
            check_column(parameter, name, [name for name in names if name not in ends])


@dataclass(frozen=True)
class _NodeTable:
    """The ids of the nodes, and the fields of the graph that come from their table."""

    ids: pl.Series
    fields: dict[str, Any]

    @classmethod
    def read(
        cls,
        nodes: Any,
        id_column: str | None,
        edge_names: Sequence[str],
        sides: Sides,
        *,
        learn_from: str | None,
        notices: list[str] | None,
        **options: Any,
    ) -> _NodeTable:
        """Read a node table; options that name columns of the edge list only are not for it."""
        with reading(nodes):
            table = open_table(nodes, notices=notices)
            id_name = _find_joining(table, sides, notices) if id_column is None else find_id(table.names, id_column)
            names = [name for name in table.names if name != id_name]
            for parameter in ("ignore", "category"):
                given = options.get(parameter, ())
                options[parameter] = [name for name in given if name in names or name not in edge_names]
            if learn_from not in edge_names:
                check_column("learn_from", learn_from, [*names, *edge_names])
            options["learn_from"] = learn_from if learn_from in names else None
            single = ("label", "learn_from", "type_column", "name_column")
            named = (*options["category"], *(options.get(each) for each in single))
            codes = _codes(table, [name for name in names if name not in options["ignore"]], named, notices)
            options["category"] = [*options["category"], *codes]
            left_out = {*options["ignore"]} - {id_name, learn_from}
            frame = table.read(
                [name for name in table.names if name not in left_out], text=[id_name, *options["category"]]
            )
            frame = ids.with_ids(frame, (id_name,), typed=table.typed, notices=notices)
            if not frame.height:
                raise ValueError("it has a header but no rows")
            fields = node_fields(names, frame.__getitem__, frame.height, notices=notices, **options)
            node_ids = sides.ids_of_nodes(frame[id_name], fields)
            ids.check_unique(node_ids)
        return cls(node_ids, fields)


def _find_joining(table: Table, sides: Sides, notices: list[str] | None) -> str:
    """Return the column with the node ids: the one called so, unless few ids of the edges are in it and more elsewhere.

    A column of customers and one of accounts may both be called ids; the edges say which one is meant.
    """
    called = find_id(table.names, None)
    wanted = [end.head(ENOUGH).cast(pl.String).unique() for end in (sides.sources, sides.targets)]

    def share(name: str) -> float:
        values = table.read([name], text=[name])[name]
        if values.dtype.is_nested():
            return 0.0
        column = ids.as_ids(values, typed=table.typed).cast(pl.String)
        return max(float(end.is_in(column.implode()).mean() or 0.0) for end in wanted)  # type: ignore[arg-type]

    if sides.prefixed or share(called) >= MOST:
        return called
    best = max(table.names, key=lambda name: (share(name), name == called))
    if best != called and share(best) >= MOST:
        notice(f"Read node ids from column {best!r}.", notices)
        return best
    return called


def _values(node_ids: pl.Series) -> Any:
    """Return numbers as an array, and text as a list."""
    return node_ids.to_numpy() if node_ids.dtype == pl.Int64 else node_ids.to_list()


def _stem(path: Path) -> str:
    name = path.name
    return next((name[: -len(suffix)] for suffix in TABLE_SUFFIXES if name.lower().endswith(suffix)), path.stem)
