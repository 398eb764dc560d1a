"""Turn the named values of the edges of a graph object or document into weights, times and attributes, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import plural
from hopsight.graph import AttributedGraph
from hopsight.io.derive import EdgeRows, derive
from hopsight.io.edge_columns import edge_columns
from hopsight.io.nodes import distinct
from hopsight.io.notices import notice

if TYPE_CHECKING:
    import polars as pl

WEIGHT, TIME = "weight", "time"
LEFT_OUT = ("id", "key")  # what files and multigraphs call edges


def edge_fields(columns: Mapping[str, pl.Series], notices: list[str] | None) -> dict[str, Any]:
    """Return the fields of an AttributedGraph that come from columns with one value per edge.

    They are read like the columns of an edge list (:func:`hopsight.io.edge_columns.edge_columns`), except that an edge
    without a weight has weight 1.

    >>> import polars as pl
    >>> fields = edge_fields({"weight": pl.Series([2.0, None]), "calls": pl.Series([3, 5])}, [])
    >>> fields["edge_weight"].tolist(), fields["edge_attributes"].tolist(), fields["edge_attribute_names"]
    ([2.0, 1.0], [[3.0], [5.0]], ['calls'])
    """
    import polars as pl

    used = {name: column for name, column in columns.items() if name.strip().lower() not in LEFT_OUT}
    if not used:
        return {}
    weight = used.get(WEIGHT)
    if weight is not None and weight.dtype.is_numeric():
        used[WEIGHT] = weight.fill_null(1.0)
    return edge_columns(pl.DataFrame(used), list(used), notices=notices).edge_fields(notices)


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
    if not directed:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    matrix, names = derive(EdgeRows(source, target), n_nodes, ("structure",))
    if not names:
        raise ValueError("its nodes have no data and do not differ in structure, so there is nothing to learn from")
    notice(f"Derived {plural(len(names), 'attribute')} from the edges: structure.", notices)
    return {"attributes": matrix, "attribute_names": names}
