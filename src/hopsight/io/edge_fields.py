"""Turn the named values of the edges of a graph object or document into weights, times and attributes, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import option, plural
from hopsight.graph import AttributedGraph
from hopsight.io.columns import NO_ATTRIBUTES
from hopsight.io.derive import DERIVE, EdgeRows, derive
from hopsight.io.edge_columns import EdgeColumns, edge_columns
from hopsight.io.nodes import distinct
from hopsight.io.notices import notice
from hopsight.system.lazy_polars import pl

WEIGHT, TIME = "weight", "time"
LEFT_OUT = ("id", "key")  # what files and multigraphs call edges


def read_edges(columns: Mapping[str, pl.Series], notices: list[str] | None) -> EdgeColumns:
    """Return what columns with one value per edge hold, read like the columns of an edge list.

    Unlike there, an edge without a weight has weight 1.

    >>> import polars as pl
    >>> fields = read_edges({"weight": pl.Series([2.0, None]), "calls": pl.Series([3, 5])}, []).edge_fields([])
    >>> fields["edge_weight"].tolist(), fields["edge_attributes"].tolist(), fields["edge_attribute_names"]
    ([2.0, 1.0], [[3.0], [5.0]], ['calls'])
    """
    used = {name: column for name, column in columns.items() if name.strip().lower() not in LEFT_OUT}
    weight = used.get(WEIGHT)
    if weight is not None and weight.dtype.is_numeric():
        used[WEIGHT] = weight.fill_null(1.0)
    return edge_columns(pl.DataFrame(used), list(used), notices=notices)


def kinds_to_derive(kinds: Sequence[str] | None, fields: Mapping[str, Any], *, some: bool, ours: bool) -> Sequence[str]:
    """Return the kinds of attributes to derive from edges if the user names none.

    They are all kinds if nodes have no attributes; otherwise what edges with data (``some``) say about their nodes,
    unless hopsight wrote the file (``ours``), with all attributes.
    """
    if kinds is not None:
        return kinds
    return DERIVE if "attributes" not in fields else DERIVE[1:] if some and not ours else ()


def add_derived(
    fields: dict[str, Any], rows: EdgeRows, n_nodes: int, kinds: Sequence[str], notices: list[str] | None
) -> tuple[Any, int] | None:
    """Put derived attributes beside the others, and return what is known of directed edges thereby.

    It is what :meth:`hopsight.graph.AttributedGraph.from_edges` takes as ``known``.
    """
    edges = arcs = None
    if kinds:
        from hopsight.io.arcs import Arcs  # not at the top: most graphs have no need of compiled functions

        if rows.directed:
            arcs = Arcs.of(rows.source, rows.target, n_nodes)
            edges = arcs.adjacency(), arcs.n_opposite
        matrix, names = derive(rows, n_nodes, kinds, arcs)
        if names:
            words = kinds if rows.directed else dict.fromkeys(kind if kind == DERIVE[0] else "data" for kind in kinds)
            notice(f"Derived {plural(len(names), 'attribute')} from the edges: {', '.join(words)}.", notices)
        known = fields.get("attributes")
        if known is not None:
            stack = sp.csr_array(sp.hstack([known, matrix])) if sp.issparse(known) else np.hstack([known, matrix])
            matrix, names = stack, distinct([*fields["attribute_names"], *names])
        fields["attributes"], fields["attribute_names"] = matrix, names
    if "attributes" not in fields:
        raise ValueError(
            f"{NO_ATTRIBUTES}; give a node table ({option('nodes')}), or leave out {option('derive', 'none')}"
        )
    if not fields["attributes"].shape[1]:
        raise ValueError("there is nothing to learn from: the nodes do not differ in any attribute")
    return edges


def complete(
    fields: dict[str, Any],
    rows: EdgeRows,
    n_nodes: int,
    columns: Mapping[str, pl.Series],
    *,
    kinds: Sequence[str] | None,
    ours: bool = False,
    notices: list[str] | None,
) -> dict[str, Any]:
    """Return the fields of a graph from a document or object: those of its nodes, of its edges, and what they derive.

    ``rows`` are the ends of the edges, ``columns`` their data.
    """
    others = read_edges(columns, notices)
    chosen = kinds_to_derive(kinds, fields, some=bool(others), ours=ours)
    if not others and kinds is None:
        chosen = [kind for kind in chosen if kind == "structure"]  # counts would repeat degrees
    numbers, times, categories = others.summarized()
    rows = replace(rows, numbers=numbers, times=times, categories=categories, units=others.units)
    add_derived(fields, rows, n_nodes, chosen, notices)
    return fields | others.edge_fields(notices)


def columns_of(graph: AttributedGraph) -> dict[str, NDArray[np.float64]]:
    """Return the weights, times and attributes of the edges as named columns, to write them to a file."""
    columns = {WEIGHT: graph.edge_weight, TIME: graph.edge_time}
    columns = {name: values for name, values in columns.items() if values is not None}
    if graph.edge_attributes is not None:
        names = distinct(graph.edge_attribute_names, (WEIGHT, TIME, *LEFT_OUT))
        columns |= dict(zip(names, graph.edge_attributes.T, strict=True))
    return columns


def derived(
    source: NDArray[Any], target: NDArray[Any], n_nodes: int, directed: bool, notices: list[str] | None
) -> dict[str, Any]:
    """Return structural attributes for a graph whose nodes have no data."""
    fields: dict[str, Any] = {}
    add_derived(fields, EdgeRows(source, target, directed=directed), n_nodes, ("structure",), notices)
    return fields
