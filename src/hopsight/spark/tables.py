"""Read the user's two DataFrames as :mod:`hopsight.io` reads files: find the ids, and turn columns into attributes.

The local engine reads the first rows of the node table, and so decides what each column becomes; the tasks encode it
accordingly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.checks import option, shortened
from hopsight.io import rules
from hopsight.io.edges import find_ends
from hopsight.io.ids import notice_missing
from hopsight.io.nodes import encode, node_fields
from hopsight.io.notices import notice
from hopsight.io.tables import find_id, notice_unused
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
        notice_unused([name for name in edges.columns if name not in (source, target)], notices)
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
    return F.nullif(F.regexp_replace(words, r"^([+-]?\d+)\.0*$", "$1"), F.lit("")).alias(alias)


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


@dataclass(frozen=True)
class Plan:
    """How a column becomes attributes."""

    column: str
    how: rules.TextKind | Literal["categories", "vectors"]
    names: tuple[str, ...]
    values: tuple[str, ...] = ()  # the categories, in order
    fill: tuple[float, ...] = ()  # the number for an empty cell, per column of numbers
    flagged: tuple[bool, ...] = ()  # whether another attribute flags its empty cells


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

    ``options`` are those of :func:`hopsight.io.nodes.node_fields`, whose notices and refusals these are.
    """
    n_cells = sum(LIST_CELLS if kind.startswith("array") else 1 for _, kind in nodes.dtypes)
    first = nodes.filter(f"row < {max(PLANNED_CELLS // n_cells, FEWEST_ROWS)}").orderBy("row")
    rows = _as_polars(first.select(*(column_of(nodes, name).alias(name) for name in columns)).toArrow())
    how: dict[str, Any] = {"missing": missing, "category": category, "ours": ours}
    found: list[str] = []
    fields = node_fields(columns, rows.__getitem__, rows.height, notices=found, **how, **options)
    for text in found:
        shown = text.endswith(AS_NAME) and text.removesuffix(AS_NAME).removeprefix("Show ")
        notice(f"Left out {shown}: the Spark engine shows ids, not names." if shown else text, notices)
    if len(set(fields.get("node_types", ()))) > 1:
        raise ValueError(f"the Spark engine has no types of nodes; leave out {option('engine', 'spark')}")
    plans = (plan_column(rows[name], **how) for name in columns)
    used = set(fields["attribute_names"])
    return [plan for plan in plans if plan is not None and used.issuperset(plan.names)]


def plan_column(column: pl.Series, **how: Any) -> Plan | None:
    """Return what the local engine makes of a column, or None if it makes no attribute of it.

    ``how`` are the options of :func:`hopsight.io.nodes.encode`.
    """
    import polars as pl

    try:
        _, names = encode([column], len(column), notices=[], **how)
    except ValueError:  # not an attribute: the table as a whole was accepted
        return None
    name, kind = column.name, cast("Any", "numbers")
    if all(each.startswith(f"{name}=") for each in names):
        return Plan(name, "categories", tuple(names), values=tuple(each.removeprefix(f"{name}=") for each in names))
    if column.dtype in (pl.List, pl.Array):
        kind = "vectors"
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
        kind = rules.text_kind(name, rules.TextSummary.of(column.cast(pl.String)))
    matrix = _matrix(column, kind)
    entries = [f"{name}_{place}" for place in range(matrix.shape[1])] if kind == "vectors" else [name]
    flagged = tuple(rules.missing_name(entry) in names for entry in entries)
    return Plan(name, kind, tuple(names), fill=tuple(np.nanmean(matrix, axis=0).tolist()), flagged=flagged)


def encode_attributes(nodes: DataFrame, plans: Sequence[Plan]) -> DataFrame:
    """Return ``id, row, features`` with one number for each name of the plans."""

    def encode_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            frame = _as_polars(batch)
            matrix = np.hstack([encode_column(frame[f"_{plan.column}"], plan) for plan in plans])
            columns = [batch.column("id"), batch.column("row"), lists_of(matrix)]
            yield pa.RecordBatch.from_arrays(columns, ["id", "row", "features"])

    chosen = nodes.select("id", "row", *(column_of(nodes, plan.column) for plan in plans))
    return chosen.mapInArrow(encode_batches, f"id {id_type(nodes)}, row long, features array<double>")


def encode_column(column: pl.Series, plan: Plan) -> NDArray[np.float64]:
    """Return the attributes made from one batch of a column; a value that the planned rows lack is no category."""
    import polars as pl

    if plan.how == "categories":
        words = column.cast(pl.String).str.strip_chars().replace("", None).fill_null(rules.MISSING_CATEGORY).to_numpy()
        found = words[:, None] == np.array(plan.values, dtype=object)
        if rules.OTHER_CATEGORY in plan.values:
            found[:, plan.values.index(rules.OTHER_CATEGORY)] |= ~found.any(axis=1)
        return found.astype(np.float64)
    matrix, columns = _matrix(column, plan.how), []
    empty = np.isnan(matrix)
    for place, flagged in enumerate(plan.flagged):
        columns.append(np.where(empty[:, place], plan.fill[place], matrix[:, place]))
        columns += [empty[:, place].astype(np.float64)] if flagged else []
    return np.column_stack(columns)


def _matrix(column: pl.Series, how: Any) -> NDArray[np.float64]:
    """Return the numbers that a column holds, one row per cell, NaN where it is empty and ∞ where it is something else.

    The planned rows have nothing else, but later ones may: :func:`hopsight.spark.graph.fit_transform` refuses it.
    """
    import polars as pl

    if how == "vectors":
        lists = column.cast(pl.List(pl.Float64))
        return lists.list.explode().to_numpy().reshape(len(column), -1)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        numbers = rules.as_days(column) if column.dtype.is_temporal() else column.cast(pl.Float64)
        return numbers.fill_null(np.nan).to_numpy()[:, None]
    text = column.cast(pl.String)
    words = text.str.strip_chars().str.to_lowercase()
    unread = pl.when(words.is_in(rules.EMPTY_NUMBERS).fill_null(True)).then(np.nan).otherwise(np.inf)
    return pl.select(pl.coalesce(rules.text_numbers(text, how), unread)).to_series().to_numpy()[:, None]


def _as_polars(batch: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


def column_of(nodes: DataFrame, name: str) -> Column:
    """Return a column of the node table, which is called ``_name`` there."""
    return nodes["`_" + name.replace("`", "``") + "`"]
