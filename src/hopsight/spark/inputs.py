"""Find and check the ids in the user's two DataFrames, as :mod:`hopsight.io.tables` does in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopsight.checks import shortened
from hopsight.io.edges import find_ends
from hopsight.io.tables import find_id, notice_unused

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INTEGERS = ("tinyint", "smallint", "int", "bigint")


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
    integer_ids: bool


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
        edges = with_row_numbers(edges.select(_named(edges, source, "source"), _named(edges, target, "target")))
        are_integers = _check_ids(edges, {"source": source, "target": target}, typed, "it has a header but no edges")
    with errors_about("nodes"):
        id_name = find_id(nodes.columns, id_column)
        kept = [name for name in nodes.columns if name != id_name]
        columns = [_named(nodes, id_name, "id"), *(_named(nodes, name, f"_{name}") for name in kept)]
        nodes = with_row_numbers(nodes.select(*columns))
        are_integers |= _check_ids(nodes, {"id": id_name}, typed, "it has a header and no rows")
    kind = "bigint" if all(are_integers.values()) else "string"
    ends = (_as_text(edges, end, are_integers[end]).cast(kind).alias(end) for end in ("source", "target"))
    nodes = nodes.withColumn("id", _as_text(nodes, "id", are_integers["id"]).cast(kind))
    return Inputs(edges.select(*ends, "row"), nodes, tuple(kept), kind == "bigint")


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


def with_row_numbers(frame: DataFrame) -> DataFrame:
    """Add a column ``row`` that numbers the rows 0, 1, … in the order of the table."""
    from pyspark.sql import functions as F  # noqa: N812

    with_place = frame.withColumn("_place", F.monotonically_increasing_id())
    partition = F.shiftright("_place", 33).cast("int")
    sizes = {row["part"]: row["count"] for row in with_place.groupBy(partition.alias("part")).count().collect()}
    starts, total = [], 0
    for part in range(max(sizes, default=0) + 1):
        starts.append(total)
        total += sizes.get(part, 0)
    start = F.element_at(F.array([F.lit(value).cast("long") for value in starts]), partition + 1)
    inside = F.col("_place").bitwiseAND(F.lit((1 << 33) - 1))
    return with_place.withColumn("row", start + inside).drop("_place")


def _named(frame: DataFrame, name: str, alias: str) -> Column:
    return frame["`" + name.replace("`", "``") + "`"].alias(alias)


def _check_ids(frame: DataFrame, columns: dict[str, str], typed: bool, empty: str) -> dict[str, bool]:
    """Return for each column of ids whether all are integers in their usual form; refuse a missing id."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = dict(frame.dtypes)
    facts = [F.count("*").alias("rows")]
    for column in columns:
        facts.append(F.min(F.when(frame[column].isNull(), frame["row"])).alias(f"{column}_empty"))
        facts.append(F.max(_is_no_integer(frame[column], kinds[column], typed)).alias(f"{column}_other"))
    found = frame.agg(*facts).first()
    assert found is not None
    if not found["rows"]:
        raise ValueError(empty)
    for column, name in columns.items():
        if found[f"{column}_empty"] is not None:
            raise ValueError(
                f"column {name!r}, row {found[f'{column}_empty'] + 1} has no node id; fill it in, or remove the row"
            )
    return {column: not found[f"{column}_other"] for column in columns}


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
