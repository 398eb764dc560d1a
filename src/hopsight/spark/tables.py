"""Two DataFrames of users, checked as files are on one machine: ids, edges, and nodes without two rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopsight.io.ids import shown
from hopsight.io.notices import notice
from hopsight.io.tables import END_NAMES, ID_NAMES, _plain

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WHOLE = ("tinyint", "smallint", "int", "bigint")


class TableError(ValueError):
    """What is wrong with one of the two tables, ``"edges"`` or ``"nodes"``."""

    def __init__(self, message: str, table: str) -> None:
        super().__init__(message)
        self.table = table


@contextmanager
def concerning(table: str) -> Iterator[None]:
    """Say of an error inside which table it is about."""
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        raise TableError(str(error), table) from None


@dataclass(frozen=True)
class Tables:
    """Edges ``source, target, row`` and nodes ``id, row`` and their other columns, with ids of one type."""

    edges: DataFrame
    nodes: DataFrame
    columns: tuple[str, ...]  # of the nodes, without the id
    whole_numbers: bool  # ids are numbers


def check_tables(
    edges: DataFrame,
    nodes: DataFrame,
    *,
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    typed: bool = True,
    notices: list[str] | None = None,
) -> Tables:
    """Find the columns that hold ids and bring these to one type, as :func:`hopsight.io.tables.read_tables` does.

    Parameters
    ----------
    edges, nodes
        The two tables.
    source_column, target_column, id_column
        Names of the columns where the guess would be wrong.
    typed
        Whether text that looks like a number is text (a table with types), or a number (a CSV file).
    notices
        List that receives what the user may want to know.
    """
    with concerning("edges"):
        source, target = _find_ends(edges.columns, source_column, target_column)
        others = [name for name in edges.columns if name not in (source, target)]
        if others:
            listed = ", ".join(map(repr, others[:5])) + (", …" if len(others) > 5 else "")
            notice(f"{listed} left out of the edge list, edges have no attributes here", notices)
        edges = numbered(edges.select(_named(edges, source, "source"), _named(edges, target, "target")))
        whole = _look_at_ids(edges, {"source": source, "target": target}, typed, "it has no edges, only a header")
    with concerning("nodes"):
        id_name = _find_id(nodes.columns, id_column)
        kept = [name for name in nodes.columns if name != id_name]
        columns = [_named(nodes, id_name, "id"), *(_named(nodes, name, f"_{name}") for name in kept)]
        nodes = numbered(nodes.select(*columns))
        whole |= _look_at_ids(nodes, {"id": id_name}, typed, "it has a header and no rows")
    kind = "bigint" if all(whole.values()) else "string"
    ends = (_as_text(edges, end, whole[end]).cast(kind).alias(end) for end in ("source", "target"))
    nodes = nodes.withColumn("id", _as_text(nodes, "id", whole["id"]).cast(kind))
    return Tables(edges.select(*ends, "row"), nodes, tuple(kept), kind == "bigint")


def check_unique(nodes: DataFrame) -> None:
    """Refuse a node with two rows."""
    from pyspark.sql import functions as F  # noqa: N812

    twice = nodes.groupBy("id").agg(F.count("*").alias("n"), F.min("row").alias("first")).filter("n > 1")
    first = twice.orderBy("first").select("id").first()
    if first is not None:
        rows = [row["row"] for row in nodes.filter(nodes["id"] == first["id"]).orderBy("row").select("row").take(2)]
        raise ValueError(f"node {shown(first['id'])} has two rows, {rows[0] + 1} and {rows[1] + 1}")


def check_known(ends: DataFrame) -> None:
    """Refuse edges to a node without a row; ``ends`` is what :func:`hopsight.spark.graph.edge_ends` returned."""
    for end in ("source", "target"):
        stranger = ends.filter(f"{end}_place is null").orderBy("row").select(end).first()
        if stranger is not None:
            message = f"node {shown(stranger[end])} is in an edge but has no row in the node table"
            raise TableError(message, "edges")


def numbered(frame: DataFrame) -> DataFrame:
    """Add ``row``: 0, 1, … in the order of the table."""
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


def _find_ends(names: Sequence[str], source: str | None, target: str | None) -> tuple[str, str]:
    from hopsight.io.nodes import check_column

    check_column("source_column", source, names)
    check_column("target_column", target, names)
    if len(names) < 2:
        raise ValueError("an edge list needs two columns, this file has one")
    plain = {_plain(name): name for name in reversed(names)}
    guess = next(((plain[a], plain[b]) for a, b in END_NAMES if a in plain and b in plain), tuple(names[:2]))
    if source is None:
        source = next(name for name in (*guess, *names) if name != target)
    if target is None:
        target = next(name for name in (guess[1], *names) if name != source)
    if source == target:
        raise ValueError(f"source_column and target_column must differ, both are {source!r}")
    return source, target


def _find_id(names: Sequence[str], id_column: str | None) -> str:
    from hopsight.io.nodes import check_column

    check_column("id_column", id_column, names)
    if id_column is not None:
        return id_column
    plain = {_plain(name): name for name in reversed(names)}
    if _plain(names[0]) in ID_NAMES:
        return names[0]
    return next((plain[name] for name in ID_NAMES if name in plain), names[0])


def _look_at_ids(frame: DataFrame, columns: dict[str, str], typed: bool, empty: str) -> dict[str, bool]:
    """Say of every column of ids whether all are whole numbers in their usual form; refuse one that is missing."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = dict(frame.dtypes)
    facts = [F.count("*").alias("rows")]
    for column in columns:
        facts.append(F.min(F.when(frame[column].isNull(), frame["row"])).alias(f"{column}_empty"))
        facts.append(F.max(_not_whole(frame[column], kinds[column], typed)).alias(f"{column}_other"))
    found = frame.agg(*facts).first()
    assert found is not None
    if not found["rows"]:
        raise ValueError(empty)
    for column, name in columns.items():
        if found[f"{column}_empty"] is not None:
            raise ValueError(f"column {name!r}, row {found[f'{column}_empty'] + 1} has no node id")
    return {column: not found[f"{column}_other"] for column in columns}


def _not_whole(column: Column, kind: str, typed: bool) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if kind in WHOLE or (kind == "string" and typed):
        return F.lit(kind == "string")
    back = column.try_cast("bigint").cast("string" if kind == "string" else kind)
    return F.coalesce(back != column, F.lit(True))


def _as_text(frame: DataFrame, column: str, whole: bool) -> Column:
    """Return an id as text; floats that are all whole lose their points."""
    values = frame[column]
    return (values.cast("bigint") if whole else values).cast("string")
