"""Load a graph from whatever holds one: the one way in."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopsight import io
from hopsight.checks import Refusal, plural, suggest
from hopsight.graph import AttributedGraph
from hopsight.io.rules import SECONDS_PER_DAY, SINCE_1970, amount_span, time_span
from hopsight.io.sources import reading
from hopsight.io.typed import types_of, view
from hopsight.io.vocabulary import is_year_name

SHOWN_NAMES = 20  # attributes in a description


def load(
    source: Any = None,
    nodes: Any = None,
    *,
    edges: Any = None,
    rank: str | None = None,
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
    derive: str | Sequence[str] | None = None,
    duplicates: str | None = None,
    bipartite: bool | None = None,
    header: bool | None = None,
    missing: str = "fill",
    rank_unknown: bool = False,
    data_dir: str | Path | None = None,
    notices: list[str] | None = None,
) -> AttributedGraph:
    """Load a graph from a file, a table, the catalog, or an object of another library.

    Parameters
    ----------
    source
        An edge list: a path (text in any usual encoding and compression, JSON Lines, Parquet, Arrow, Excel), a folder
        or pattern of files with the same columns, a table of a database (``"bank.db?table=payments"``,
        ``"postgresql://host/bank?table=payments"``, ``(connection, "SELECT …")``; see :mod:`hopsight.io.sources`), or a
        data frame of polars, pandas, pyarrow and others. Or a graph: a path (``.mat``, ``.npz``, ``.graphml``,
        ``.gml``, ``.gexf``, ``.pt``), a name in the catalog (``"demo"``, ``"blogcatalog"``, …), a PyG ``Data`` or
        ``HeteroData``, a NetworkX graph, a pair (adjacency, attributes), or an AttributedGraph, which is returned
        unchanged. Or a ``graph.toml`` that names several tables (:mod:`hopsight.io.several`).
    nodes
        The node table that belongs to an edge list, in any of the same places. If it is left out, ``x.nodes.csv``
        beside ``x.csv`` is used; without it, attributes are derived from the edges. With ``edges``, a table for each
        type of node: ``{"user": table, "device": table}``.
    edges
        Several edge tables, in place of ``source``: ``{("user", "paid", "user"): table, …}``. The first two columns of
        each are its ends unless they are named: ``{"file": table, "source": "payer", "target": "payee"}``, with the
        settings of a ``graph.toml``. Types without a node table, such as cards of which only ids are known, are fine.
    rank
        The type of node to rank; the graph is then what nodes of this type see (:func:`hopsight.io.typed.view`).
    directed
        Keep the direction of the edges.
    label
        Column of the node table with the ground truth: 0 or 1 (true or false), or -1, blank or "unknown" for an
        unlabeled node. It does not become an attribute.
    learn_from
        Column of the node table (of several, that of the type to rank), or else of the edge list, with known cases for
        ``learn``, which takes it by its name: ``CrossHCM().fit(graph).learn("is_fraud")``. It is no attribute.
    ignore
        Columns of either table to leave out, and rows of the edge list, as in ``"status=cancelled"``. If only the node
        table has the column, its nodes with that value are not ranked, as with ``"kind=own"``, and their edges still
        count; of a column of labels, ``"outcome=pending"`` leaves out these labels.
    source_column, target_column, id_column
        Names of the columns that are not recognized by themselves.
    weight_column, time_column
        Columns of the edge list with the weight (negative for distrust) and the time of each edge; by default a
        column called ``weight``, and one of dates or called ``timestamp``, ``time`` and the like.
    type_column, name_column
        Columns of the node table with the kind of each node, and with a name to show beside its id; by default one
        called ``node_type``, and a column of text that is different for every node.
    category
        Columns that are categories although they hold numbers, such as a zip code.
    currency
        The currency that amounts in others are scaled to for attributes, by the ratio of the medians; by default the
        most frequent one in the column of currencies.
    derive
        Attributes to derive from the edges: some of ``"structure"``, ``"sent"`` and ``"received"``, or ``"none"``
        (:func:`hopsight.io.derive.derive`). By default all of them if there is no node table with attributes, and
        otherwise ``"sent"`` and ``"received"`` if edges have columns of their own: what the structure says, detectors
        see for themselves.
    duplicates
        The weight of an edge that several rows give: the ``"sum"`` of their weights (the default), the ``"count"`` of
        the rows, or that of the ``"last"`` row.
    bipartite
        Whether the two ends of an edge name different kinds of nodes, so that id 7 of one is not id 7 of the other;
        by default decided by the names of their columns, such as ``user`` and ``item``.
    header
        Whether the first line of a text edge list holds names; by default hopsight judges by the other lines.
    missing
        ``"fill"`` empty cells of numbers with the mean and flag them in another attribute if they are at least 5% of
        the column, fill them without a flag (``"mean"``), or ``"refuse"`` them.
    rank_unknown
        Rank and flag nodes that are in edges but have no row in the node table as well. By default they come last: they
        have no attributes to be judged by (``graph.known`` says which nodes have a row).
    data_dir
        Folder with local copies of the graphs in the catalog.
    notices
        List that receives the notices, such as a column left out; without it, they are logged.

    Raises
    ------
    ValueError
        If something is wrong with the source, in one sentence.

    Examples
    --------
    >>> load(([[0, 1], [1, 0]], [[0.5], [0.7]]))
    AttributedGraph(2 nodes, 1 undirected edge, 1 attribute)
    """
    named = {"label": label, "type_column": type_column, "name_column": name_column}
    of_nodes: dict[str, Any] = {**named, "ignore": tuple(ignore), "category": tuple(category)}
    of_edges: dict[str, Any] = {
        "learn_from": learn_from,
        "source_column": source_column, "target_column": target_column, "id_column": id_column,
        "weight_column": weight_column, "time_column": time_column, "currency": currency, "derive": derive,
        "duplicates": duplicates, "bipartite": bipartite, "header": header, "rank_unknown": rank_unknown or None,
    }  # fmt: skip
    options: dict[str, Any]
    if edges is not None or _is_description(source):
        from hopsight.io.tables import read_several

        if source is not None and edges is not None:
            raise Refusal("edges", "takes the place of source: pass one of them")
        others = {name: value for name, value in (of_nodes | of_edges).items() if name != "learn_from"}
        given = next((name for name, value in others.items() if value not in (None, ())), None)
        given = "nodes" if edges is None and nodes is not None else "directed" if directed else given
        if given is not None:
            raise Refusal(given, "is for one edge table; for several, write it beside the table it belongs to")
        description = _description(source, nodes, edges, rank)
        options = {"missing": missing, "learn_from": learn_from, "notices": notices}
        if (one := description.as_one()) is not None:
            with description.spelled():
                return load(**one, **options)
        with reading(Path(source) if edges is None else None, ValueError):
            graph = read_several(description, **options)[0]
        kind = description.rank
        return graph if kind is None else view(graph, kind, notices)
    if source is None or (isinstance(source, str) and not source.strip()):
        raise Refusal("source", "is missing: pass a file, a table, a graph or several tables")
    if rank is not None:
        options = {"directed": directed, "missing": missing, "data_dir": data_dir, "notices": notices}
        options |= {**of_nodes, **of_edges, "rank_unknown": rank_unknown}
        return view(load(source, nodes, **options), rank, notices)
    for_tables = {"nodes": None if nodes is None else True, **of_nodes, **of_edges}
    given = next((name for name, value in for_tables.items() if value is not None and value != ()), None)
    if io.is_frame(source) or (io.is_source(source) and not _is_name(source)):
        return io.read(source, nodes, directed=directed, missing=missing, notices=notices, **of_nodes, **of_edges)
    if isinstance(source, str | Path):
        return _from_catalog(str(source), given, directed=directed, data_dir=data_dir, notices=notices)
    if given is not None and given not in (*of_nodes, "derive"):
        raise Refusal(given, f"is for tables, and the source is not one but {type(source).__name__}")
    return io.graph_of(source, directed=directed, missing=missing, derive=derive, notices=notices, **of_nodes)


def describe(source: Any, nodes: Any = None, **options: Any) -> tuple[list[str], dict[str, Any], list[str]]:
    """Return what was understood of a source: lines about types and columns, statistics, and the notices.

    The parameters are those of :func:`load`.
    """
    from hopsight.datasets import info

    notices: list[str] = []
    if _is_description(source) or options.get("edges") is not None:
        from hopsight.io.tables import read_several

        given = _description(source, nodes, options.pop("edges", None), options.pop("rank", None))
        if (one := given.as_one()) is not None:
            with given.spelled():
                return describe(**one)
        with reading(Path(source) if _is_description(source) else None, ValueError):
            graph, lines = read_several(given, notices=notices)
        return lines, info(graph), notices
    graph = load(source, nodes, notices=notices, **options)
    lines = [f"{kind}: {plural(int((graph.node_types == kind).sum()), 'node')}" for kind in types_of(graph)]
    if graph.known is not None:
        lines.append(f"{int(graph.known.sum()):,} of {plural(graph.n_nodes, 'id')} have a row in the node table")
    used = [_with_span(graph, column) for column in range(min(SHOWN_NAMES, graph.n_attributes))]
    more = f" and {graph.n_attributes - SHOWN_NAMES:,} more" if graph.n_attributes > SHOWN_NAMES else ""
    lines.append(f"Attributes: {'; '.join(used)}{more}")
    data = [name for name, values in (("weight", graph.edge_weight), ("time", graph.edge_time)) if values is not None]
    data += list(graph.edge_attribute_names)
    return [*lines, *([f"Edges have: {'; '.join(data)}"] if data else [])], info(graph), notices


def _with_span(graph: AttributedGraph, column: int) -> str:
    """Return the name of an attribute with the smallest and the largest number; flags and categories have 0 and 1."""
    name, values = graph.attribute_names[column], graph.attributes[:, [column]]
    least, most = float(values.min()), float(values.max())
    if "=" in name or (least, most) == (0.0, 1.0):
        return name
    if name.endswith(SINCE_1970):
        days = time_span(least * SECONDS_PER_DAY, most * SECONDS_PER_DAY, "%Y-%m-%d")
        return f"{name.removesuffix(SINCE_1970)} ({days})"
    span = f"{least:.0f} to {most:.0f}" if is_year_name(name) else amount_span(least, most)
    return f"{name} ({span})"


def _is_description(source: Any) -> bool:
    """Return whether a source is a file that names several tables."""
    return isinstance(source, str | Path) and str(source).lower().endswith(".toml") and Path(source).is_file()


def _description(source: Any, nodes: Any, edges: Any, rank: str | None) -> Any:
    """Return the tables that a file or Python names, and the type to rank."""
    from hopsight.io.several import description_of, read_description

    given = read_description(Path(source)) if edges is None else description_of(nodes, edges)
    return given if rank is None else replace(given, rank=rank)


def _is_name(source: Any) -> bool:
    """Return whether a name of the catalog is that of a folder too; ``./demo`` and ``demo/`` are the folder."""
    if not isinstance(source, str) or not Path(source).is_dir():
        return False
    from hopsight.datasets.catalog import is_known

    return source.lower() == "demo" or is_known(source)


def files_of(source: str | Path, nodes: str | Path | None = None, *, data_dir: str | Path | None = None) -> list[Path]:
    """Return the files that :func:`load` reads for a path or a name, including those it finds by itself."""
    if _is_description(source):
        from hopsight.io.several import read_description
        from hopsight.io.sources import files

        return [Path(source), *(file for table in read_description(Path(source)).files for file in files(table))]
    if io.is_source(source) and not _is_name(source):
        from hopsight.io.sources import files, resolve
        from hopsight.io.tables import find_nodes

        nodes = find_nodes(resolve(source)) if nodes is None else nodes
        return [file for place in (source, nodes) if place is not None for file in files(place)]
    from hopsight.datasets.catalog import find, is_known

    return [find(str(source), data_dir, notices=[])] if is_known(str(source)) else []


def _from_catalog(
    name: str,
    given: str | None,
    *,
    directed: bool,
    data_dir: str | Path | None,
    notices: list[str] | None,
) -> AttributedGraph:
    """Return a graph of the catalog, or say what is wrong with a name that is not in it."""
    from hopsight.datasets import get_entry, make_demo
    from hopsight.datasets.catalog import find, is_known, names

    is_demo = name.lower() == "demo"
    if not is_demo and not is_known(name):
        raise ValueError(_unknown(name, ("demo", *names)))
    if given:
        raise Refusal(given, f"is for your own files; leave it out for {name!r}, which is in the catalog")
    if is_demo:
        return make_demo()
    graph = io.read(find(name, data_dir, notices=notices), directed=directed, notices=notices)
    return replace(graph, name=get_entry(name).name)


def _unknown(name: str, names: Sequence[str]) -> str:
    path = Path(name)
    try:
        if path.is_dir():
            return f"{name} is a folder without Parquet, Arrow, CSV or JSON Lines files; give a file in it"
        if path.exists():
            return f"{name} is not a regular file"
    except (OSError, ValueError):
        return f"there is no file {name[:200]!r}"
    if glob.has_magic(name):
        return f"there is no file {name}: no Parquet, Arrow or text file matches"
    if path.suffix or len(path.parts) > 1:
        return f"there is no file {name}"
    return f"{name!r} is neither a file nor a graph in the catalog{suggest(name.lower(), names)}"
