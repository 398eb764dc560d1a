"""Read the user's two DataFrames as :mod:`hopsight.io` reads files: find the ids, and turn columns into attributes.

The local engine reads the first rows of the node table, and so decides what each column becomes; the tasks encode it
accordingly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.checks import check_choice, option, shortened
from hopsight.io import rules
from hopsight.io.ends import find_ends
from hopsight.io.ids import notice_missing
from hopsight.io.nodes import (
    NO_ATTRIBUTES,
    Plan,
    encode_column,
    is_unread,
    node_roles,
    notice_filled,
    plan_column,
)
from hopsight.io.notices import notice
from hopsight.io.tables import find_id
from hopsight.io.vocabulary import NO_IDS
from hopsight.spark.blocks import id_type, lists_of, with_row_numbers

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import Column, DataFrame

INTEGERS = ("tinyint", "smallint", "int", "bigint")
AS_NAME = " as the name of each node."  # ends a notice of the local engine
PLANNED_CELLS, FEWEST_ROWS = 1 << 25, 1 << 12  # of the node table, which decide what its columns become
LIST_CELLS = 1 << 10  # that a list counts for


class TableError(ValueError):
    """An error in one of the two tables, ``"edges"`` or ``"nodes"``."""

    def __init__(self, message: str, table: str) -> None:
        super().__init__(message)
        self.table = table


@contextmanager
def errors_about(table: str) -> Iterator[None]:
    """Add to an error inside which table it is about."""
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        raise TableError(str(error), table) from None


@dataclass(frozen=True)
class Inputs:
    """Edges ``source, target, row``, and nodes ``id, row`` with their other columns; all ids have one type."""

    edges: DataFrame
    nodes: DataFrame
    columns: tuple[str, ...]  # of the nodes, without the id


def read_inputs(
    edges: DataFrame,
    nodes: DataFrame,
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    typed: bool = True,
    notices: list[str] | None = None,
) -> Inputs:
    """Find the columns that hold ids and convert them to one type, as :func:`hopsight.io.tables.read_tables` does.

    Parameters
    ----------
    edges, nodes
        The two tables.
    source_column, target_column, id_column
        Names of the columns, where they cannot be guessed.
    typed
        Whether text that looks like a number is text (a table with types) or a number (a CSV file).
    notices
        List that receives the notices.
    """
    with errors_about("edges"):
        source, target = find_ends(edges.columns, source_column, target_column)
        if unused := [repr(name) for name in edges.columns if name not in (source, target)]:
            noun = "column" if len(unused) == 1 else "columns"
            shown = ", ".join([*unused[:5], *(["…"] if len(unused) > 5 else [])])
            notice(f"Left out the {noun} {shown} of the edge list: edges have no attributes.", notices)
        edges = with_row_numbers(edges.select(_id(edges, source, "source"), _id(edges, target, "target")))
        edges, are_integers = _with_ids(edges, ("source", "target"), typed, "it has a header but no edges", notices)
    with errors_about("nodes"):
        id_name = find_id(nodes.columns, id_column)
        kept = [name for name in nodes.columns if name != id_name]
        columns = [_id(nodes, id_name, "id"), *(_named(nodes, name, f"_{name}") for name in kept)]
        nodes = with_row_numbers(nodes.select(*columns))
        nodes, is_integer = _with_ids(nodes, ("id",), typed, "it has a header and no rows", notices)
        are_integers |= is_integer
    kind = "bigint" if all(are_integers.values()) else "string"
    ends = (_as_text(edges, end, are_integers[end]).cast(kind).alias(end) for end in ("source", "target"))
    nodes = nodes.withColumn("id", _as_text(nodes, "id", are_integers["id"]).cast(kind))
    return Inputs(edges.select(*ends, "row"), nodes, tuple(kept))


def check_unique(nodes: DataFrame) -> None:
    """Refuse a node that has two rows."""
    from pyspark.sql import functions as F  # noqa: N812

    twice = nodes.groupBy("id").agg(F.count("*").alias("n"), F.min("row").alias("first")).filter("n > 1")
    first = twice.orderBy("first").select("id").first()
    if first is not None:
        rows = [row["row"] for row in nodes.filter(nodes["id"] == first["id"]).orderBy("row").select("row").take(2)]
        raise ValueError(f"node {shortened(first['id'])} has two rows, {rows[0] + 1} and {rows[1] + 1}")


def check_known(ends: DataFrame) -> None:
    """Refuse an edge to a node without a row; ``ends`` is what :func:`hopsight.spark.graph.edge_ends` returned."""
    for end in ("source", "target"):
        unknown = ends.filter(f"{end}_place is null").orderBy("row").select(end).first()
        if unknown is not None:
            node = shortened(unknown[end])
            raise TableError(
                f"node {node} is in an edge but has no row in the node table; add one, or remove its edges", "edges"
            )


def _named(frame: DataFrame, name: str, alias: str) -> Column:
    return frame["`" + name.replace("`", "``") + "`"].alias(alias)


def _id(frame: DataFrame, name: str, alias: str) -> Column:
    """Return ids in the form that :func:`hopsight.io.ids.as_ids` gives them."""
    from pyspark.sql import functions as F  # noqa: N812

    column, kind = _named(frame, name, alias), dict(frame.dtypes)[name]
    if kind in ("float", "double"):
        return F.nanvl(column, F.lit(None)).alias(alias)
    if kind != "string":
        return column
    words = F.regexp_replace(column, r"(?U)^\s+|\s+$", "")
    words = F.regexp_replace(words, r"^([+-]?\d+)\.0*$", "$1")
    return F.when(~F.lower(words).isin(*NO_IDS), words).alias(alias)


def _with_ids(
    frame: DataFrame, columns: Sequence[str], typed: bool, empty: str, notices: list[str] | None
) -> tuple[DataFrame, dict[str, bool]]:
    """Return the rows that have all ids, and for each column whether all are integers in their usual form."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = dict(frame.dtypes)
    without = F.greatest(*(frame[column].isNull() for column in columns), F.lit(False))
    facts = [F.count("*").alias("rows"), F.count_if(without).alias("missing")]
    facts.append(F.min(F.when(without, frame["row"])).alias("first"))
    for column in columns:
        other = _is_no_integer(frame[column], kinds[column], typed)
        facts.append(F.max(F.when(~without, other)).alias(f"{column}_other"))
    found = frame.agg(*facts).first()
    assert found is not None
    if found["rows"] == found["missing"]:
        raise ValueError(empty)
    if found["missing"]:
        notice_missing(found["missing"], found["first"], notices)
        frame = with_row_numbers(frame.na.drop(subset=list(columns)).drop("row"))
    return frame, {column: not found[f"{column}_other"] for column in columns}


def _is_no_integer(column: Column, kind: str, typed: bool) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if kind in INTEGERS or (kind == "string" and typed):
        return F.lit(kind == "string")
    back = column.try_cast("bigint").cast("string" if kind == "string" else kind)
    return F.coalesce(back != column, F.lit(True))


def _as_text(frame: DataFrame, column: str, are_integers: bool) -> Column:
    """Return ids as text, those that are all integers without a decimal point."""
    values = frame[column]
    return (values.cast("bigint") if are_integers else values).cast("string")


def plan_attributes(
    nodes: DataFrame,
    columns: Sequence[str],
    *,
    missing: str = "fill",
    category: Sequence[str] = (),
    ours: bool = False,
    notices: list[str] | None = None,
    **options: Any,
) -> list[Plan]:
    """Decide what each column of the node table becomes; column ``c`` is called ``_c`` in ``nodes``.

    ``options`` are those of :func:`hopsight.io.nodes.node_roles`, whose notices and refusals these are.
    """
    n_cells = sum(LIST_CELLS if kind.startswith("array") else 1 for _, kind in nodes.dtypes)
    first = nodes.filter(f"row < {max(PLANNED_CELLS // n_cells, FEWEST_ROWS)}").orderBy("row")
    rows = _as_polars(first.select(*(column_of(nodes, name).alias(name) for name in columns)).toArrow())
    found: list[str] = []
    check_choice("missing", missing, rules.MISSING)
    how: dict[str, Any] = {"category": category, "ours": ours, "notices": found}
    fields, used = node_roles(columns, rows.__getitem__, rows.height, **how, **options)
    if len(set(fields.get("node_types", ()))) > 1:
        raise ValueError(f"the Spark engine has no types of nodes; leave out {option('engine', 'spark')}")
    plans = [plan for name in used if (plan := plan_column(rows[name], missing=missing, **how)) is not None]
    if not plans:
        raise ValueError(NO_ATTRIBUTES)
    notice_filled(plans, missing, found, typed=False)
    for text in found:
        shown = text.endswith(AS_NAME) and text.removesuffix(AS_NAME).removeprefix("Used ")
        notice(f"Left out {shown}: the Spark engine shows ids, not names." if shown else text, notices)
    return plans


def encode_attributes(nodes: DataFrame, plans: Sequence[Plan]) -> DataFrame:
    """Return ``id, row, features`` with one number for each name of the plans."""

    def encode_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            frame = _as_polars(batch)
            matrix = np.hstack([encode_block(frame[f"_{plan.column}"], plan) for plan in plans])
            columns = [batch.column("id"), batch.column("row"), lists_of(matrix)]
            yield pa.RecordBatch.from_arrays(columns, ["id", "row", "features"])

    chosen = nodes.select("id", "row", *(column_of(nodes, plan.column) for plan in plans))
    return chosen.mapInArrow(encode_batches, f"id {id_type(nodes)}, row long, features array<double>")


def encode_block(column: pl.Series, plan: Plan) -> NDArray[np.float64]:
    """Return the attributes made from one block of a column, ∞ where a cell is something else than in the planned rows.

    :func:`hopsight.spark.graph.fit_transform` refuses it.
    """
    values = encode_column(column, plan)
    matrix: NDArray[np.float64] = (values.toarray() if hasattr(values, "toarray") else values).astype(np.float64)
    matrix[is_unread(column, plan), 0] = np.inf
    return matrix


def _as_polars(batch: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


def column_of(nodes: DataFrame, name: str) -> Column:
    """Return a column of the node table, which is called ``_name`` there."""
    return nodes["`_" + name.replace("`", "``") + "`"]
