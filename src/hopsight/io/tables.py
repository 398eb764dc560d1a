"""An edge list and a node table, as CSV or Parquet: the two files that most people have."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
    path: Path,
    nodes: Path | None = None,
    *,
    directed: bool = False,
    label: str | None = None,
    ignore: Sequence[str] = (),
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    missing: str = "refuse",
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Read an edge list and a node table.

    The two ends of an edge and the id of a node are found by the names of their columns (``source`` and ``target``,
    ``src`` and ``dst``, ``from`` and ``to``, …; ``id``, ``node``, ``name``, …) and are otherwise the first columns.
    All other columns of the node table are attributes, see :func:`hopsight.io.columns.encode`; other columns of
    the edge list, such as a weight, are left out with a notice.

    Parameters
    ----------
    path
        The edge list.
    nodes
        The node table; ``x.nodes.csv`` beside ``x.csv`` is found by itself.
    directed
        Keep the direction of the edges.
    label
        Column of the node table that holds the truth (0/1, true/false); kept out of the attributes.
    ignore
        Columns of the node table to leave out.
    source_column, target_column, id_column
        Names of the columns where the guess would be wrong.
    missing
        ``"refuse"`` empty cells, or impute them (``"mean"``).
    notices
        List that receives what the user may want to know.
    """
    beside = find_nodes(path) if nodes is None else Path(nodes)
    with reading(path):
        if beside is None:
            raise ValueError("an edge list has no attributes: give the node table too (nodes, --nodes)")
        with open_table(path) as table:
            sources, targets = _read_edges(table, source_column, target_column, notices)
    with reading(beside), open_table(beside) as table:
        id_name = _find_id(table, id_column)
        left_out = set(ignore) - {id_name}
        frame = table.read([name for name in table.names if name not in left_out], text=[id_name])
        if not frame.height:
            raise ValueError("it has a header and no rows")
        node_ids = ids.as_ids(frame[id_name], typed=table.typed)
        ids.check_unique(node_ids)
        fields = node_fields(
            [name for name in table.names if name != id_name],
            frame.__getitem__,
            frame.height,
            label=label,
            ignore=ignore,
            missing=missing,
            notices=notices,
        )
    node_ids, sources, targets = ids.same_type(node_ids, sources, targets)
    with reading(path):
        source, target = ids.positions(node_ids, sources), ids.positions(node_ids, targets)
    return AttributedGraph.from_edges(
        source, target, directed=directed, node_ids=node_ids.to_list(), name=_stem(path), **fields
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
        notice(f"{path} does not say that its edges are directed: say so when reading it", notices)


def node_path(path: Path) -> Path:
    """Return where the node table of an edge list stands: ``x.nodes.csv`` for ``x.csv``."""
    stem = _stem(path)
    return path.with_name(f"{stem}.nodes{path.name[len(stem) :]}")


def find_nodes(path: Path) -> Path | None:
    """Return the node table that stands beside an edge list, or None."""
    stem = _stem(path)
    candidates = (node_path(path), *(path.with_name(f"{stem}.nodes{suffix}") for suffix in TABLE_SUFFIXES))
    return next((candidate for candidate in candidates if candidate.is_file() and candidate != path), None)


def _read_edges(
    table: Table, source_column: str | None, target_column: str | None, notices: list[str] | None
) -> tuple[pl.Series, pl.Series]:
    """Return the ids of both ends of every edge."""
    source, target = _find_ends(table, source_column, target_column)
    others = [name for name in table.names if name not in (source, target)]
    if others:
        shown = ", ".join(map(repr, others[:5])) + (", …" if len(others) > 5 else "")
        notice(f"{table.path.name}: {shown} left out of the edge list, edges have no attributes here", notices)
    frame = table.read([source, target], text=table.names)
    if not frame.height:
        raise ValueError("it has no edges, only a header")
    return ids.as_ids(frame[source], typed=table.typed), ids.as_ids(frame[target], typed=table.typed)


def _find_ends(table: Table, source: str | None, target: str | None) -> tuple[str, str]:
    """Return the names of the two columns that hold the ends of an edge."""
    check_column("source_column", source, table.names)
    check_column("target_column", target, table.names)
    if len(table.names) < 2:
        raise ValueError("an edge list needs two columns, this file has one")
    plain = {_plain(name): name for name in reversed(table.names)}
    guess = next(((plain[a], plain[b]) for a, b in END_NAMES if a in plain and b in plain), table.names[:2])
    if source is None:
        source = next(name for name in (*guess, *table.names) if name != target)
    if target is None:
        target = next(name for name in (guess[1], *table.names) if name != source)
    if source == target:
        raise ValueError(f"source_column and target_column must differ, both are {source!r}")
    return source, target


def _find_id(table: Table, id_column: str | None) -> str:
    check_column("id_column", id_column, table.names)
    if id_column is not None:
        return id_column
    plain = {_plain(name): name for name in reversed(table.names)}
    if _plain(table.names[0]) in ID_NAMES:
        return table.names[0]
    return next((plain[name] for name in ID_NAMES if name in plain), table.names[0])


def _plain(name: str) -> str:
    """Return a column name without capitals, spaces and hyphens.

    >>> _plain(" Node-ID ")
    'node_id'
    """
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def _stem(path: Path) -> str:
    name = path.name
    return next((name[: -len(suffix)] for suffix in TABLE_SUFFIXES if name.lower().endswith(suffix)), path.stem)
