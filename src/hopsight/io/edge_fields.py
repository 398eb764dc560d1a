"""Turn named values of edges into weights, times and edge attributes, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.columns import encode
from hopsight.io.nodes import distinct
from hopsight.io.rules import leave_out

if TYPE_CHECKING:
    import polars as pl

WEIGHT, TIME = "weight", "time"
WEIGHTS, TIMES = (WEIGHT, "edge_weight"), (TIME, "timestamp", "datetime", "date", "edge_time")
LEFT_OUT = ("id", "key")  # what files and multigraphs call edges


def edge_fields(columns: Mapping[str, pl.Series], n_edges: int, notices: list[str] | None) -> dict[str, Any]:
    """Return the fields of an AttributedGraph that come from columns with one value per edge.

    A column called weight becomes the weights, 1 where an edge has none; one called time or date becomes the times, in
    seconds since 1970 unless they are numbers already. All others become edge attributes like columns of a node table.

    >>> import polars as pl
    >>> fields = edge_fields({"weight": pl.Series([2.0, None]), "calls": pl.Series([3, 5])}, 2, None)
    >>> fields["edge_weight"].tolist(), fields["edge_attributes"].tolist(), fields["edge_attribute_names"]
    ([2.0, 1.0], [[3.0], [5.0]], ['calls'])
    """
    fields: dict[str, Any] = {}
    rest = []
    for name, column in columns.items():
        word = name.strip().lower()
        if word in WEIGHTS and "edge_weight" not in fields and _numbers(column) is not None:
            fields["edge_weight"] = _numbers(column.fill_null(1.0) if column.dtype.is_numeric() else column)
        elif word in TIMES and "edge_time" not in fields and _seconds(column) is not None:
            fields["edge_time"] = _seconds(column)
        elif word not in LEFT_OUT:
            rest.append(column.alias(name))
    usable = [column for column in rest if _encodable(column, notices)]
    if usable and n_edges:
        try:
            matrix, names = encode(usable, n_edges, missing="mean", notices=notices)
        except ValueError as error:
            leave_out(usable[0].name, f"of the edges cannot be used ({error})", notices)
        else:
            fields["edge_attributes"] = matrix.toarray() if hasattr(matrix, "toarray") else matrix
            fields["edge_attribute_names"] = names
    return fields


def edge_columns(graph: AttributedGraph) -> dict[str, NDArray[np.float64]]:
    """Return the weights, times and attributes of the edges as named columns, to write them to a file."""
    columns = {WEIGHT: graph.edge_weight, TIME: graph.edge_time}
    columns = {name: values for name, values in columns.items() if values is not None}
    if graph.edge_attributes is not None:
        names = distinct(graph.edge_attribute_names, (WEIGHT, TIME, *LEFT_OUT))
        columns |= dict(zip(names, graph.edge_attributes.T, strict=True))
    return columns


def _encodable(column: pl.Series, notices: list[str] | None) -> bool:
    """Return whether a column has values and is of a kind that can become attributes."""
    if column.null_count() < len(column) and (column.dtype.is_numeric() or str(column.dtype) in ("String", "Boolean")):
        return True
    leave_out(column.name, "of the edges has no usable value", notices)
    return False


def _numbers(column: pl.Series) -> NDArray[np.float64] | None:
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False) if not column.dtype.is_temporal() else column
    if numbers.dtype != pl.Float64 or numbers.drop_nulls().len() < column.drop_nulls().len():
        return None
    values: NDArray[np.float64] = numbers.fill_null(1.0).to_numpy()
    return values if np.isfinite(values).all() else None


def _seconds(column: pl.Series) -> NDArray[np.float64] | None:
    """Return times as numbers, dates in seconds since 1970, or None if a time is missing or not understood."""
    import polars as pl

    if column.null_count():
        return None
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count():
            column = column.str.to_datetime(strict=False, time_unit="us") if _looks_like_dates(column) else numbers
        else:
            column = numbers
    if column.dtype.is_temporal():
        column = column.cast(pl.Datetime("us"), strict=False).cast(pl.Int64) / 1e6
    values: NDArray[np.float64] = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return values if np.isfinite(values).all() else None


def _looks_like_dates(column: pl.Series) -> bool:
    return bool(column.str.contains(r"^\d{4}-\d{2}-\d{2}").all())
