"""Read the user's two DataFrames as :mod:`hopsight.io` reads files: find the ids, and turn columns into attributes.

Every task summarizes its part of each column, the driver adds the summaries up and decides by the rules of
:mod:`hopsight.io.rules` what the column becomes, and the tasks encode it accordingly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.checks import check_choice, shortened
from hopsight.io import rules
from hopsight.io.edges import find_ends
from hopsight.io.ids import notice_missing
from hopsight.io.nodes import KIND_COLUMN, LABEL_COLUMN, NO_ATTRIBUTES, check_column
from hopsight.io.rules import Cell, Flags, NumberSummary, Summary, TextSummary
from hopsight.io.tables import find_id, notice_unused
from hopsight.spark.attributes import id_type, lists_of
from hopsight.spark.order import with_row_numbers

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import Column, DataFrame

INTEGERS = ("tinyint", "smallint", "int", "bigint")
SPECIAL: tuple[rules.TextKind, ...] = (
    "dates", "day-first dates", "month-first dates", "point numbers", "comma numbers",
)  # fmt: skip
RowArray = NDArray[np.int64]
Facts = dict[str, Any]  # summaries by what they are about; two of one kind add up


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
class CellSummary(Summary):
    """The number of cells, how many are null, and the first one that is null or must not be there."""

    n_rows: int
    n_nulls: int
    first_bad: Cell | None


@dataclass(frozen=True)
class Values:
    """The distinct values of a column, as long as they are not too many."""

    found: list[Any]

    def __add__(self, other: Self) -> Self:
        both = [*self.found, *other.found]
        return type(self)(list(dict.fromkeys(both))[: rules.MAX_CATEGORIES + 1])


@dataclass(frozen=True)
class Plan:
    """How a column becomes attributes."""

    column: str
    how: rules.TextKind | Literal["categories", "vectors"]
    names: tuple[str, ...]
    fill: tuple[float, ...] = ()  # the number for an empty cell, per column of numbers
    flagged: tuple[bool, ...] = ()  # whether another attribute flags its empty cells
    values: tuple[str, ...] = ()  # the categories, in order


def plan_attributes(
    nodes: DataFrame,
    columns: Sequence[str],
    *,
    label: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "fill",
    notices: list[str] | None = None,
) -> list[Plan]:
    """Decide what each column of the node table becomes; column ``c`` is called ``_c`` in ``nodes``.

    Raises
    ------
    ValueError
        As :func:`hopsight.io.nodes.node_fields`, in the same words.
    """
    check_choice("missing", missing, rules.MISSING)
    for parameter, name in (("label", label), *(("ignore", name) for name in ignore)):
        check_column(parameter, name, columns)
    truth = label if label is not None else LABEL_COLUMN
    typing = rules.first_known(columns, rules.TYPE_NAMES)  # the local engine keeps them, and makes no attribute of them
    left_out = {truth, LABEL_COLUMN, KIND_COLUMN, typing, *ignore}
    used = [name for name in columns if name not in left_out]
    flags = {name: allowed for name, allowed in ((truth, rules.LABELS), (KIND_COLUMN, rules.KINDS)) if name in columns}
    facts = collect_facts(nodes, used, flags)
    for name, allowed in flags.items():
        rules.check_flags(name, facts[name]["cells"].first_bad, allowed)
    types = _polars_types(nodes, used)

    def n_values(name: str) -> int:
        from pyspark.sql import functions as F  # noqa: N812

        trimmed = F.regexp_replace(nodes[_quoted(name)], r"(?U)^\s+|\s+$", "")
        return int(nodes.select(trimmed).distinct().count())

    decided = (plan_column(name, types[name], facts[name], n_values, missing, notices) for name in used)
    plans = [plan for plan in decided if plan is not None]
    if not plans:
        raise ValueError(NO_ATTRIBUTES)
    return plans


def encode_attributes(nodes: DataFrame, plans: Sequence[Plan]) -> DataFrame:
    """Return ``id, row, features`` with one number for each name of the plans."""

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            frame = _as_polars(batch)
            matrix = np.hstack([encode_column(frame[f"_{plan.column}"], plan) for plan in plans])
            columns = [batch.column("id"), batch.column("row"), lists_of(matrix)]
            yield pa.RecordBatch.from_arrays(columns, ["id", "row", "features"])

    chosen = nodes.select("id", "row", *(nodes[_quoted(plan.column)] for plan in plans))
    return chosen.mapInArrow(encode, f"id {id_type(nodes)}, row long, features array<double>")


def collect_facts(nodes: DataFrame, used: Sequence[str], flags: Mapping[str, Flags]) -> dict[str, Facts]:
    """Return the facts about each column, those of all partitions added up."""
    names = [*used, *flags]

    def summarize_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen: dict[str, Facts] = {}
        for batch in batches:
            if not batch.num_rows:
                continue
            frame = _as_polars(batch)
            rows = frame["row"].to_numpy()
            for name in names:
                new = summarize(frame[f"_{name}"], rows, flags.get(name))
                seen[name] = merge_facts(seen[name], new) if name in seen else new
        if seen:
            yield pa.RecordBatch.from_pydict({"facts": [pack_facts(seen)]})

    chosen = nodes.select("row", *(nodes[_quoted(name)] for name in names))
    parts = [unpack_facts(row["facts"]) for row in chosen.mapInArrow(summarize_all, "facts string").collect()]
    return {name: reduce(merge_facts, (part[name] for part in parts)) for name in names}


def pack_facts(facts: Mapping[str, Facts]) -> str:
    """Return the facts about columns as JSON."""
    return json.dumps(
        {
            name: {about: [type(each).__name__, vars(each)] for about, each in mine.items()}
            for name, mine in facts.items()
        },
        default=np.generic.item,
    )


def unpack_facts(text: str) -> dict[str, Facts]:
    """Return the facts that were packed.

    >>> facts = {"age": {"cells": CellSummary(3, 1, Cell(2, ""))}}
    >>> unpack_facts(pack_facts(facts)) == facts
    True
    """
    kinds = {kind.__name__: kind for kind in (CellSummary, NumberSummary, TextSummary, Values)}

    def restored(kind: str, values: dict[str, Any]) -> Any:
        cells = {name: Cell(*value) for name, value in values.items() if name.startswith("first_") and value}
        return kinds[kind](**{**values, **cells})

    return {name: {about: restored(*each) for about, each in mine.items()} for name, mine in json.loads(text).items()}


def summarize(column: pl.Series, rows: RowArray, flags: Flags | None = None) -> Facts:
    """Return the facts about one batch of a column, whose cells are in ``rows`` of the table."""
    import polars as pl

    kind = column.dtype
    bad = column.is_null() if flags is None else rules.wrong_flags(column, flags)
    facts: Facts = {"cells": CellSummary(len(column), column.null_count(), rules.first_cell(bad, rows, column))}
    if flags is not None:
        return facts
    if kind in (pl.List, pl.Array):
        return facts | _summarize_lists(column, rows)
    if kind in (pl.String, pl.Categorical, pl.Enum):
        return facts | _summarize_text(column.cast(pl.String), rows)
    if kind.is_temporal():
        return facts | {"numbers": NumberSummary.of(rules.as_days(column), rows)}
    if kind == pl.Boolean or kind.is_numeric():
        return facts | {"numbers": NumberSummary.of(column.cast(pl.Float64), rows)}
    return facts


def _summarize_text(column: pl.Series, rows: RowArray) -> Facts:
    words = column.str.strip_chars()
    return {
        "text": TextSummary.of(column, rows),
        "numbers": NumberSummary.of(rules.text_numbers(column, "numbers"), rows),
        "booleans": NumberSummary.of(rules.text_numbers(column, "booleans"), rows),
        **{kind: NumberSummary.of(rules.text_numbers(column, kind), rows) for kind in SPECIAL},
        "values": Values(words.unique().head(rules.MAX_CATEGORIES + 1).to_list()),
    }


def _summarize_lists(column: pl.Series, rows: RowArray) -> Facts:
    import polars as pl

    if not getattr(column.dtype, "inner", pl.String()).is_numeric():
        return {}
    lists = column.cast(pl.List(pl.Float64))
    widths = lists.list.len().drop_nulls().unique().to_list()
    facts: Facts = {"widths": Values(widths[:2])}
    if len(widths) == 1 and widths[0] and not column.null_count():
        matrix = lists.list.explode().to_numpy().reshape(len(column), widths[0])
        facts |= {str(entry): NumberSummary.of(pl.Series(matrix[:, entry]), rows) for entry in range(widths[0])}
    return facts


def merge_facts(a: Facts, b: Facts) -> Facts:
    """Return the facts about two parts of a column together."""
    return {**a, **b, **{about: a[about] + b[about] for about in a if about in b}}


def plan_column(
    name: str, kind: pl.DataType, facts: Facts, n_values: Callable[[str], int], missing: str, notices: list[str] | None
) -> Plan | None:
    """Decide what a column becomes, or None if it is left out; ``n_values`` counts its distinct values."""
    import polars as pl

    cells = facts["cells"]
    if cells.n_nulls == cells.n_rows:
        return _left_out(name, "has no value at all", notices)
    if kind in (pl.List, pl.Array):
        return _plan_lists(name, kind, facts, missing, notices)
    if "numbers" not in facts:
        return _left_out(name, f"holds neither numbers nor text but {kind}", notices)
    if _is_row_id(name, kind, facts, n_values):
        rules.leave_out_row_id(name, notices)
        return None
    if rules.leave_out_truth(name, facts["numbers"].all_whole, notices):
        return None
    how = rules.text_kind(name, facts["text"]) if "text" in facts else "numbers"
    if how == "empty":
        return _left_out(name, "has no value at all", notices)
    if how != "categories":
        if "text" in facts:
            rules.notice_written(name, how, facts["text"], notices)
        plan = _plan_numbers(name, how, {name: facts[how]}, missing, notices)
        dates = rules.is_dates(how) or isinstance(kind, pl.Date | pl.Datetime)
        return replace(plan, names=tuple(rules.names_of_dates(plan.names))) if dates else plan
    text, found = facts["text"], facts["values"].found
    n_found = n_values(name) if len(found) > rules.MAX_CATEGORIES else len(found)
    if not rules.check_categories(name, n_found, text.n_empty, text.first_empty, missing, notices):
        return None
    values = rules.ordered_categories(found)
    return Plan(name, "categories", tuple(f"{name}={value}" for value in values), values=values)


def _plan_lists(name: str, kind: pl.DataType, facts: Facts, missing: str, notices: list[str] | None) -> Plan | None:
    if "widths" not in facts:
        return _left_out(name, f"holds neither numbers nor text but {kind}", notices)
    rules.check_missing(name, facts["cells"].first_bad, "refuse")
    widths = facts["widths"].found
    if len(widths) != 1 or not widths[0]:
        return _left_out(name, "holds lists of different lengths, or empty ones", notices)
    return _plan_numbers(
        name, "vectors", {f"{name}_{entry}": facts[str(entry)] for entry in range(widths[0])}, missing, notices
    )


def _plan_numbers(
    name: str,
    how: rules.TextKind | Literal["vectors"],
    columns: Mapping[str, NumberSummary],
    missing: str,
    notices: list[str] | None,
) -> Plan:
    """Check columns of numbers, and plan what their empty cells become."""
    names: list[str] = []
    for each, summary in columns.items():
        rules.check_numbers(each, summary, missing, notices)
        names += [each, rules.missing_name(each)] if missing == "fill" and summary.n_empty else [each]
    fill = tuple(summary.mean if summary.n_empty else 0.0 for summary in columns.values())
    flagged = tuple(missing == "fill" and summary.n_empty > 0 for summary in columns.values())
    return Plan(name, how, tuple(names), fill=fill, flagged=flagged)


def _is_row_id(name: str, kind: pl.DataType, facts: Facts, n_values: Callable[[str], int]) -> bool:
    """Return whether a column only identifies rows, as :func:`hopsight.io.rules.is_row_id` does."""
    n_rows, is_text = facts["cells"].n_rows - facts["cells"].n_nulls, "text" in facts
    if n_rows < rules.FEWEST_ROWS or not (is_text or kind.is_integer()):
        return False
    if rules.is_row_id_name(name):
        return n_values(name) > (n_rows / 2 if n_rows >= rules.LEAST_ROWS else n_rows - 1)
    numbers = facts["numbers"]
    return numbers.may_be_gapless and numbers.n_known == n_rows and n_values(name) == n_rows


def _left_out(name: str, reason: str, notices: list[str] | None) -> Plan | None:
    rules.leave_out(name, reason, notices)
    return None


def encode_column(column: pl.Series, plan: Plan) -> NDArray[np.float64]:
    """Return the attributes made from one batch of a column."""
    import polars as pl

    if plan.how == "categories":
        codes = {value: code for code, value in enumerate(plan.values)}
        words = column.cast(pl.String).str.strip_chars().to_list()
        places = np.array([codes[word or rules.MISSING_CATEGORY] for word in words])
        return (places[:, None] == np.arange(len(plan.values))).astype(np.float64)
    if plan.how == "vectors":
        matrix = column.cast(pl.List(pl.Float64)).list.explode().to_numpy().reshape(len(column), len(plan.fill))
    else:
        is_text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
        plain = rules.as_days(column) if column.dtype.is_temporal() else column
        numbers = rules.text_numbers(column.cast(pl.String), plan.how) if is_text else plain.cast(pl.Float64)
        matrix = numbers.fill_null(np.nan).to_numpy()[:, None]
    empty = np.isnan(matrix)
    columns = []
    for place, flagged in enumerate(plan.flagged):
        columns.append(np.where(empty[:, place], plan.fill[place], matrix[:, place]))
        columns += [empty[:, place].astype(np.float64)] if flagged else []
    return np.column_stack(columns)


def _as_polars(batch: pa.RecordBatch) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _polars_types(nodes: DataFrame, names: Sequence[str]) -> dict[str, pl.DataType]:
    """Return the type of each column in polars, which the rules are written for."""
    empty = _as_polars(nodes.limit(0).toArrow())
    return {name: empty.schema[f"_{name}"] for name in names}


def _quoted(name: str) -> str:
    return "`_" + name.replace("`", "``") + "`"
