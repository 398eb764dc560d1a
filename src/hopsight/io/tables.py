"""Read and write an edge list with a node table, as files (CSV, Parquet) or data frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.io import ids
from hopsight.io.files import TABLE_SUFFIXES, reading
from hopsight.io.frames import Table, open_table, write_frame
from hopsight.io.nodes import KIND_COLUMN, LABEL_COLUMN, check_column, distinct, node_fields
from hopsight.io.notices import notice

if TYPE_CHECKING:
    import polars as pl

END_NAMES = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("source_id", "target_id"),
    ("src_id", "dst_id"),
    ("from_id", "to_id"),
    ("sourceid", "targetid"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("start", "end"),
    ("head", "tail"),
    ("sender", "receiver"),
    ("follower", "followee"),
    ("i", "j"),
)
ID_NAMES = ("id", "node", "node_id", "nodeid", "name", "user", "user_id", "userid", "key", "vertex", "index")


def read_tables(
    edges: Any,
    nodes: Any = None,
    *,
    directed: bool = False,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    header: bool | None = None,
    notices: list[str] | None = None,
    **options: Any,
) -> AttributedGraph:
    """Read an edge list and a node table, each a path or a data frame.

    The columns with the two ends of an edge and with the id of a node are recognized by their names (``source`` and
    ``target``, ``src`` and ``dst``, ``from`` and ``to``, …; ``id``, ``node``, ``name``, …); without such names they
    are the first columns. All other columns of the node table are attributes, see
    :func:`hopsight.io.columns.encode`; other columns of the edge list, such as a weight, are left out with a notice.

    The parameters are those of :func:`hopsight.load`; ``options`` are those of
    :func:`hopsight.io.nodes.node_fields`.
    """
    if nodes is None and isinstance(edges, Path):
        nodes = find_nodes(edges)
    with _reading(edges):
        if nodes is None:
            raise ValueError("an edge list has no attributes; give the node table too (nodes, --nodes)")
        with open_table(edges, header=header, notices=notices) as table:
            sources, targets = _read_edges(table, source_column, target_column, notices)
    with _reading(nodes), open_table(nodes, notices=notices) as table:
        id_name = find_id(table.names, id_column)
        left_out = {*options.get("ignore", ())} - {id_name}
        frame = table.read([name for name in table.names if name not in left_out], text=[id_name])
        if not frame.height:
            raise ValueError("it has a header but no rows")
        node_ids = ids.as_ids(frame[id_name], typed=table.typed)
        ids.check_unique(node_ids)
        names = [name for name in table.names if name != id_name]
        fields = node_fields(names, frame.__getitem__, frame.height, notices=notices, **options)
    node_ids, sources, targets = ids.same_type(node_ids, sources, targets)
    with _reading(edges):
        source, target = ids.positions(
            node_ids, sources, targets, others={name: frame[name] for name in names if name in frame}
        )
    name = _stem(edges) if isinstance(edges, Path) else ""
    return AttributedGraph.from_edges(
        source, target, directed=directed, node_ids=node_ids.to_list(), name=name, **fields
    )


def write_tables(graph: AttributedGraph, path: Path, notices: list[str] | None = None) -> None:
    """Write the edge list to ``path`` and the node table beside it, ``x.csv`` and ``x.nodes.csv``."""
    import polars as pl

    names = distinct(graph.attribute_names, ("id", LABEL_COLUMN, KIND_COLUMN))
    matrix = graph.attributes.tocsc() if sp.issparse(graph.attributes) else graph.attributes
    columns: dict[str, Any] = {"id": graph.node_ids.tolist()}
    for position, name in enumerate(names):
        column = matrix[:, [position]]
        columns[name] = (column.toarray() if sp.issparse(column) else column).ravel()
    truths = {LABEL_COLUMN: graph.labels, KIND_COLUMN: graph.kinds}
    columns |= {name: truth for name, truth in truths.items() if truth is not None}
    kind = pl.Int64 if graph.node_ids.dtype != object else pl.String
    write_frame(pl.DataFrame(columns, schema_overrides={"id": kind}), node_path(path))
    ends = {
        end: pl.Series(graph.node_ids[positions].tolist(), dtype=kind)
        for end, positions in zip(("source", "target"), graph.edges, strict=True)
    }
    write_frame(pl.DataFrame(ends), path)
    if graph.directed:
        notice(f"{path} cannot say that its edges are directed; pass --directed when reading it.", notices)


def node_path(path: Path) -> Path:
    """Return the path of the node table that belongs to an edge list: ``x.nodes.csv`` for ``x.csv``."""
    stem = _stem(path)
    return path.with_name(f"{stem}.nodes{path.name[len(stem) :]}")


def find_nodes(path: Path) -> Path | None:
    """Return the node table beside an edge list, or None if there is none."""
    stem = _stem(path)
    candidates = (node_path(path), *(path.with_name(f"{stem}.nodes{suffix}") for suffix in TABLE_SUFFIXES))
    return next((candidate for candidate in candidates if candidate.is_file() and candidate != path), None)


def find_ends(names: Sequence[str], source: str | None, target: str | None) -> tuple[str, str]:
    """Return the names of the two columns of an edge list that hold the ends of an edge.

    >>> find_ends(["amount", "Sender", "Receiver"], None, None)
    ('Sender', 'Receiver')
    """
    check_column("source_column", source, names)
    check_column("target_column", target, names)
    if len(names) < 2:
        raise ValueError("an edge list needs two columns, but there is only one")
    known = _by_normalized_name(names)
    guess = next(((known[a], known[b]) for a, b in END_NAMES if a in known and b in known), tuple(names[:2]))
    if source is None:
        source = next(name for name in (*guess, *names) if name != target)
    if target is None:
        target = next(name for name in (guess[1], *names) if name != source)
    if source == target:
        raise ValueError(f"source_column and target_column must differ, but both are {source!r}")
    return source, target


def find_id(names: Sequence[str], id_column: str | None) -> str:
    """Return the name of the column of a node table that holds the node ids."""
    check_column("id_column", id_column, names)
    if id_column is not None:
        return id_column
    known = _by_normalized_name(names)
    if normalized_name(names[0]) in ID_NAMES:
        return names[0]
    return next((known[name] for name in ID_NAMES if name in known), names[0])


def normalized_name(name: str) -> str:
    """Return a column name in lower case, with underscores in place of spaces and hyphens.

    >>> normalized_name(" Node-ID ")
    'node_id'
    """
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def notice_unused(names: Sequence[str], notices: list[str] | None) -> None:
    """Give notice of columns of an edge list that are not used."""
    if names:
        listed = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        columns = "column" if len(names) == 1 else "columns"
        notice(f"Left out the {columns} {listed} of the edge list: edges have no attributes.", notices)


def _reading(source: Any) -> AbstractContextManager[None]:
    """Name the file in errors, if the table is a file."""
    return reading(source) if isinstance(source, Path) else nullcontext()


def _read_edges(
    table: Table, source_column: str | None, target_column: str | None, notices: list[str] | None
) -> tuple[pl.Series, pl.Series]:
    """Return the ids of both ends of every edge."""
    source, target = find_ends(table.names, source_column, target_column)
    notice_unused([name for name in table.names if name not in (source, target)], notices)
    frame = table.read([source, target], text=table.names)
    if not frame.height:
        raise ValueError("it has a header but no edges")
    return ids.as_ids(frame[source], typed=table.typed), ids.as_ids(frame[target], typed=table.typed)


def _by_normalized_name(names: Sequence[str]) -> dict[str, str]:
    return {normalized_name(name): name for name in reversed(names)}


def _stem(path: Path) -> str:
    name = path.name
    return next((name[: -len(suffix)] for suffix in TABLE_SUFFIXES if name.lower().endswith(suffix)), path.stem)
