"""From the columns of a node table to attributes: what a column holds is decided from facts about its partitions.

The rules and the sentences are those of :mod:`hopsight.io.columns`; there a column is looked at as a whole, here every
batch says what it has seen and the driver decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.io.columns import MAX_CATEGORIES, MISSING, MISSING_CATEGORY, NO_NUMBER, TRUTH_NAMES, TRUTH_VALUES, _short
from hopsight.io.nodes import KIND_COLUMN, LABEL_COLUMN, check_column
from hopsight.io.notices import notice

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame

Facts = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """How one column becomes attributes: ``numbers``, ``truth``, ``categories`` or ``vectors``."""

    column: str
    how: str
    names: tuple[str, ...]
    fill: tuple[float, ...] = ()  # what an empty number becomes
    values: tuple[str, ...] = ()  # categories in order


def attribute_plan(
    nodes: DataFrame,
    columns: Sequence[str],
    *,
    label: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "refuse",
    notices: list[str] | None = None,
) -> list[Plan]:
    """Decide what every column of the node table becomes; a column ``c`` is called ``_c`` there.

    Raises
    ------
    ValueError
        With the sentences of :func:`hopsight.io.columns.encode`.
    """
    check_choice("missing", missing, MISSING)
    for parameter, name in (("label", label), *(("ignore", name) for name in ignore)):
        check_column(parameter, name, columns)
    truth = label if label is not None else LABEL_COLUMN
    left_out = {truth, LABEL_COLUMN, KIND_COLUMN, *ignore}
    used = [name for name in columns if name not in left_out]
    truths = {name: high for name, high in ((truth, 1), (KIND_COLUMN, 3)) if name in columns}
    facts = _facts(nodes, used, truths)
    for name, high in truths.items():
        _check_truth(name, facts[name], high)
    decided = (_plan(nodes, name, facts[name], missing, notices) for name in used)
    plans = [plan for plan in decided if plan is not None]
    if not plans:
        raise ValueError("there is no attribute column: every node needs at least one number or category")
    return plans


def encoded(nodes: DataFrame, plans: Sequence[Plan]) -> DataFrame:
    """Return ``id, row, features`` with one number for every name of the plans."""
    kind = {"bigint": "long"}.get(dict(nodes.dtypes)["id"], "string")

    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl

        for batch in batches:
            if not batch.num_rows:
                continue
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            matrix = np.hstack([_encode(frame[f"_{plan.column}"], plan) for plan in plans])
            flat = pa.array(matrix.ravel())
            lists = pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1]).cast(pa.list_(pa.float64()))
            made = {"id": batch.column("id"), "row": batch.column("row"), "features": lists}
            yield pa.RecordBatch.from_arrays(list(made.values()), list(made))

    chosen = nodes.select("id", "row", *(nodes[_quoted(plan.column)] for plan in plans))
    return chosen.mapInArrow(encode, f"id {kind}, row long, features array<double>")


def _facts(nodes: DataFrame, used: Sequence[str], truths: dict[str, int]) -> dict[str, Facts]:
    """Return what all partitions together have seen of every column."""
    names = [*used, *(name for name in truths if name not in used)]

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import polars as pl

        seen: dict[str, Facts] = {}
        for batch in batches:
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame)
            if not frame.height:
                continue
            rows = frame["row"].to_numpy()
            for name in names:
                high = truths.get(name)
                new = _look(frame[f"_{name}"], rows) if high is None else _look_at_truth(frame[f"_{name}"], rows, high)
                seen[name] = _merge(seen[name], new) if name in seen else new
        if seen:
            yield pa.RecordBatch.from_pydict({"facts": [json.dumps(seen)]})

    chosen = nodes.select("row", *(nodes[_quoted(name)] for name in names))
    found = [json.loads(row["facts"]) for row in chosen.mapInArrow(look, "facts string").collect()]
    return {name: reduce(_merge, (part[name] for part in found)) for name in names}


def _look(column: pl.Series, rows: NDArray[np.int64]) -> Facts:
    """Return what one batch says: counts ``n_``, first rows ``first_``, and what holds for all, ``all_``."""
    import polars as pl

    kind = column.dtype
    facts: Facts = {"n_rows": len(column), "n_nulls": column.null_count(), "type": str(kind)}
    if kind in (pl.List, pl.Array):
        return facts | _look_at_lists(column, rows)
    if kind in (pl.Categorical, pl.Enum):
        column, kind = column.cast(pl.String), pl.String()
    if kind == pl.String:
        return facts | _look_at_text(column, rows)
    if kind == pl.Boolean or kind.is_numeric():
        return facts | {"numbers": _look_at_numbers(column.cast(pl.Float64), rows)}
    return facts


def _look_at_text(column: pl.Series, rows: NDArray[np.int64]) -> Facts:
    import polars as pl

    words = column.str.strip_chars()
    lower = words.str.to_lowercase()
    numbers = words.cast(pl.Float64, strict=False)
    no_number = words.is_null() | lower.is_in(NO_NUMBER).fill_null(True)
    is_text = numbers.is_null() & ~no_number
    empty = (words.is_null() | (words == "")).fill_null(True)
    truth = lower.replace_strict({"true": 1.0, "false": 0.0}, default=None, return_dtype=pl.Float64)
    return {
        "n_not_strict": column.cast(pl.Float64, strict=False).null_count(),
        "n_text": int(is_text.sum()),
        "n_numbers": int((numbers.is_not_null() & ~no_number).sum()),
        "first_text": _first(is_text, rows, column),
        "numbers": _look_at_numbers(numbers, rows),
        "all_truth": bool(lower.is_in(["true", "false", ""]).fill_null(True).all()),
        "truth": _look_at_numbers(truth, rows),
        "values": words.drop_nulls().unique().head(MAX_CATEGORIES + 1).to_list(),
        "first_empty": _first(empty, rows),
        "n_empty": int(empty.sum()),
    }


def _look_at_numbers(numbers: pl.Series, rows: NDArray[np.int64]) -> Facts:
    empty = numbers.is_null() | numbers.is_nan().fill_null(True)
    known = numbers.filter(~empty).to_numpy()
    return {
        "first_infinite": _first(numbers.is_infinite().fill_null(False), rows),
        "first_empty": _first(empty, rows),
        "n_empty": int(empty.sum()),
        "n_sum": float(known[np.isfinite(known)].sum()),
        "n_known": known.size,
        "all_binary": bool(np.isin(known, (0, 1)).all()),
    }


def _look_at_lists(column: pl.Series, rows: NDArray[np.int64]) -> Facts:
    import polars as pl

    if not getattr(column.dtype, "inner", pl.String()).is_numeric():
        return {}
    lists = column.cast(pl.List(pl.Float64))
    widths = lists.list.len().drop_nulls().unique().to_list()
    facts: Facts = {"values": widths[:2], "first_null": _first(column.is_null(), rows)}
    if len(widths) == 1 and widths[0] and not column.null_count():
        matrix = lists.list.explode().to_numpy().reshape(len(column), widths[0])
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=0))
        facts["entries"] = {str(entry): _look_at_numbers(pl.Series(matrix[:, entry]), rows) for entry in bad}
        known = np.isfinite(matrix)
        facts["n_entry_sums"] = np.where(known, matrix, 0.0).sum(axis=0).tolist()
        facts["n_entry_known"] = known.sum(axis=0).tolist()
    return facts


def _look_at_truth(column: pl.Series, rows: NDArray[np.int64], high: int) -> Facts:
    import polars as pl

    allowed = TRUTH_VALUES | {f"{kind}{zero}": kind for kind in range(high + 1) for zero in ("", ".0")}
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return {"first_wrong": _first(~words.is_in(list(allowed)).fill_null(False), rows, column)}


def _first(mask: pl.Series, rows: NDArray[np.int64], column: pl.Series | None = None) -> Any:
    """Return the row where a mask is first true, and the value there as a message shows it."""
    if not mask.any():
        return None
    where = int(mask.arg_true()[0])
    return [int(rows[where]), "" if column is None else _short(column[where])]


def _merge(a: Facts, b: Facts) -> Facts:
    """Put the facts of two parts together."""
    merged = dict(a)
    for name, value in b.items():
        if name not in a or a[name] is None:
            merged[name] = value
        elif isinstance(value, dict):
            merged[name] = _merge(a[name], value)
        elif name.startswith("n_entry"):
            merged[name] = [x + y for x, y in zip(a[name], value, strict=False)]  # uneven lists are left out anyway
        elif name.startswith("n_"):
            merged[name] = a[name] + value
        elif name.startswith("all_"):
            merged[name] = a[name] and value
        elif name.startswith("first_") and value is not None:
            merged[name] = min(a[name], value)
        elif name == "values":
            merged[name] = sorted({*a[name], *value})[: MAX_CATEGORIES + 1]
    return merged


def _check_truth(name: str, facts: Facts, high: int) -> None:
    if facts["first_wrong"] is not None:
        row, value = facts["first_wrong"]
        choices = "0 or 1 (or true or false)" if high == 1 else f"a whole number from 0 to {high}"
        raise ValueError(f"column {name!r}, row {row + 1}: {value} is not {choices}")


def _plan(nodes: DataFrame, name: str, facts: Facts, missing: str, notices: list[str] | None) -> Plan | None:
    """Decide what a column becomes; None leaves it out."""
    if facts["n_nulls"] == facts["n_rows"]:
        return _left_out(name, "has no value at all", notices)
    if facts["type"].startswith(("List", "Array")):
        return _plan_lists(name, facts, missing, notices)
    if "values" in facts:
        return _plan_text(nodes, name, facts, missing, notices)
    if "numbers" in facts:
        return _plan_numbers(name, "numbers", facts["numbers"], missing, notices)
    return _left_out(name, f"holds neither numbers nor text but {facts['type']}", notices)


def _plan_text(nodes: DataFrame, name: str, facts: Facts, missing: str, notices: list[str] | None) -> Plan | None:
    if not facts["n_not_strict"] or (facts["n_text"] == 0 and facts["n_numbers"]):
        return _plan_numbers(name, "numbers", facts["numbers"], missing, notices)
    if facts["n_numbers"] >= facts["n_text"]:
        if not facts["n_text"]:
            return _left_out(name, "has no value at all", notices)
        row, value = facts["first_text"]
        raise ValueError(
            f"column {name!r}, row {row + 1}: {value} is no number, as others there are; "
            "correct it or ignore the column"
        )
    if facts["all_truth"]:
        return _plan_numbers(name, "truth", facts["truth"], missing, notices)
    if len(facts["values"]) + (facts["n_nulls"] > 0) > MAX_CATEGORIES:
        n_values = _count_values(nodes, name)
        return _left_out(name, f"has {n_values:,} different values (more than {MAX_CATEGORIES})", notices)
    values = set(facts["values"])
    if facts["n_empty"]:
        _check_missing(name, facts["first_empty"], missing)
        notice(f"column {name!r}: empty cells ({facts['n_empty']:,}) became a category of their own", notices)
        values = values - {""} | {MISSING_CATEGORY}
    ordered = tuple(sorted(values))
    return Plan(name, "categories", tuple(f"{name}={value}" for value in ordered), values=ordered)


def _plan_numbers(name: str, how: str, facts: Facts, missing: str, notices: list[str] | None) -> Plan:
    if facts["first_infinite"] is not None:
        raise ValueError(
            f"column {name!r}, row {facts['first_infinite'][0] + 1} is infinite: attributes must be finite"
        )
    mean = 0.0
    if facts["n_empty"]:
        _check_missing(name, facts["first_empty"], missing)
        if not facts["n_known"]:
            raise ValueError(f"column {name!r} has no value at all: ignore it")
        notice(f"column {name!r}: empty cells ({facts['n_empty']:,}) got the mean of the others", notices)
        mean = facts["n_sum"] / facts["n_known"]
    if name.strip().lower() in TRUTH_NAMES and facts["all_binary"] and mean in (0.0, 1.0):
        notice(f"column {name!r} looks like a truth and is used as an attribute: name it as label", notices)
    return Plan(name, how, (name,), fill=(mean,))


def _plan_lists(name: str, facts: Facts, missing: str, notices: list[str] | None) -> Plan | None:
    if "values" not in facts:
        return _left_out(name, f"holds neither numbers nor text but {facts['type']}", notices)
    if facts["first_null"] is not None:
        _check_missing(name, facts["first_null"], "refuse")
    if len(facts["values"]) != 1 or not facts["values"][0]:
        return _left_out(name, "holds lists of different lengths, or empty ones", notices)
    width = facts["values"][0]
    fill = np.zeros(width)
    for entry in sorted(map(int, facts.get("entries", {}))):
        whole = {"n_sum": facts["n_entry_sums"][entry], "n_known": facts["n_entry_known"][entry]}
        known = facts["entries"][str(entry)] | whole
        plan = _plan_numbers(f"{name}_{entry}", "numbers", known, missing, notices)
        fill[entry] = plan.fill[0]
    return Plan(name, "vectors", tuple(f"{name}_{entry}" for entry in range(width)), fill=tuple(fill.tolist()))


def _check_missing(name: str, first: Any, missing: str) -> None:
    if missing == "refuse":
        raise ValueError(
            f"column {name!r}, row {first[0] + 1} is empty or NaN: fill it, ignore the column, "
            "or have empty cells imputed with missing=mean"
        )


def _left_out(name: str, why: str, notices: list[str] | None) -> Plan | None:
    notice(f"column {name!r} {why} and is left out", notices)
    return None


def _count_values(nodes: DataFrame, name: str) -> int:
    from pyspark.sql import functions as F  # noqa: N812

    words = nodes.select(F.trim(nodes[_quoted(name)]).alias("word")).distinct()
    return int(words.count())


def _quoted(name: str) -> str:
    return "`_" + name.replace("`", "``") + "`"


def _encode(column: pl.Series, plan: Plan) -> NDArray[np.float64]:
    """Return the attributes of one batch."""
    import polars as pl

    if plan.how == "vectors":
        matrix = column.cast(pl.List(pl.Float64)).list.explode().to_numpy().reshape(len(column), len(plan.names))
        return np.where(np.isnan(matrix), np.array(plan.fill), matrix)
    if plan.how == "categories":
        words = column.cast(pl.String).str.strip_chars()
        codes = {value: code for code, value in enumerate(plan.values)}
        empty = codes.get(MISSING_CATEGORY, -1)
        places = np.array([codes.get(word or "", empty) for word in words.to_list()])
        return (places[:, None] == np.arange(len(plan.values))).astype(np.float64)
    if column.dtype == pl.String:
        words = column.str.strip_chars()
        if plan.how == "truth":
            known = {"true": 1.0, "false": 0.0}
            numbers = words.str.to_lowercase().replace_strict(known, default=None, return_dtype=pl.Float64)
        else:
            numbers = words.cast(pl.Float64, strict=False)
    else:
        numbers = column.cast(pl.Float64)
    values = numbers.fill_nan(None).fill_null(plan.fill[0]).to_numpy()
    return np.asarray(values, dtype=np.float64)[:, None]
