"""Turn columns with one value per node into attributes, labels and kinds.

What a column becomes is decided once, by a :class:`Plan`, and the column is encoded by it: here from all its rows, on
Spark from its first rows, and then in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.canonical import Aside
from hopsight.checks import check_choice, option, plural, suggest
from hopsight.graph import AttributedGraph
from hopsight.io import rules
from hopsight.io.ids import UNKNOWN
from hopsight.io.notices import notice
from hopsight.io.rules import LEAST_ROWS, MAX_CATEGORIES, MISSING_CATEGORY, OTHER_CATEGORY, is_row_id, is_time
from hopsight.io.vocabulary import (
    ANOMALOUS,
    NORMAL,
    TYPE_NAMES,
    UNLABELED,
    first_known,
    is_code_name,
    is_name_name,
    is_row_id_name,
    yes_means_normal,
)
from hopsight.system.lazy_polars import pl

SPARSE_BELOW = 0.1  # share of nonzero cells below which a large matrix is kept sparse
SPARSE_CELLS = 1_000_000
MOST_SHARED = 0.2  # share of rows with the value of another in a column that says who belongs together
MOST_LISTED = 5  # columns that one notice names
NO_ATTRIBUTES = "there is no attribute column; every node needs at least one number or category"
LABELS = dict.fromkeys(NORMAL, 0) | dict.fromkeys(ANOMALOUS, 1) | {"0.0": 0, "1.0": 1}
LABELS |= {"-1": -1, "-1.0": -1} | dict.fromkeys(UNLABELED, -1)
KINDS = {"false": 0, "true": 1, "no": 0, "yes": 1} | {f"{kind}{end}": kind for kind in range(4) for end in ("", ".0")}


@dataclass(frozen=True)
class Plan:
    """How a column becomes attributes."""

    column: str
    how: str  # "numbers", "times", "vectors", "compact dates" such as 20240531, "categories" or another TextKind
    names: Sequence[str]
    values: Sequence[str] = ()  # the categories, in order
    fill: Sequence[float] = ()  # the number for an empty cell, per column of numbers or category
    flagged: Sequence[bool] = ()  # whether another attribute flags its empty cells
    n_empty: int = 0  # cells that are filled
    wrong: Collection[str] = ()  # texts that count as empty


def encode(
    columns: Iterable[pl.Series],
    n_rows: int,
    *,
    missing: str = "fill",
    category: Collection[str] = (),
    types: Sequence[str] | None = None,
    ours: bool = False,
    filled: dict[str, NDArray[Any]] | None = None,
    notices: list[str] | None = None,
) -> tuple[Any, list[str]]:
    """Return the attribute matrix made from table columns, and the name of each attribute.

    Numbers are kept, true and false become 1 and 0, a date becomes the number of days since 1970, and a text column
    becomes one 0/1 attribute per value, called ``column=value``. A column of equally long lists of numbers becomes
    one attribute per entry. Columns that look like ground truth or only identify rows, and those that cannot be
    used, such as text with more than 50 different values, are left out with a notice. The matrix is sparse (CSR) if it
    is large and mostly zero.

    ``columns`` have ``n_rows`` values each and are consumed one at a time. Empty numbers are filled with the mean of
    the node's own type, if there are several ``types``; ``filled`` receives their rows by the name of the attribute.
    ``ours`` says that hopsight wrote the table, where numbers are attributes whatever their column is called.

    Examples
    --------
    >>> import polars as pl
    >>> matrix, names = encode([pl.Series("age", ["31", "42"]), pl.Series("city", ["Oslo", "Bern"])], 2)
    >>> names, matrix.tolist()
    (['age', 'city=Bern', 'city=Oslo'], [[31.0, 0.0, 1.0], [42.0, 1.0, 0.0]])
    """
    check_choice("missing", missing, rules.MISSING)
    plans, blocks = [], []
    for column in columns:
        plan = plan_column(column, missing=missing, category=category, ours=ours, notices=notices)
        if plan is not None:
            plans.append(plan)
            block = encode_column(column, plan, types)
            is_full = sp.issparse(block) or np.count_nonzero(block) >= SPARSE_BELOW * block.size
            blocks.append(block if is_full else sp.csc_array(block))  # thousands of mostly empty columns fit in memory
            if plan.n_empty and plan.fill and filled is not None:
                own = [name for name in plan.names if not name.endswith(f"={MISSING_CATEGORY}")]
                cells = [as_words(column)] if plan.how == "categories" else _numbers(column, plan.how, plan.wrong)
                empty = [each.is_null().arg_true().to_numpy() for each in cells]
                empty *= len(own) // len(empty)  # of all categories, the same
                filled |= {name: rows for name, rows in zip(own, empty, strict=True) if rows.size}
    notice_filled(plans, missing, notices, typed=types is not None)
    return _assemble(blocks, n_rows) if blocks else np.zeros((n_rows, 0)), [
        name for plan in plans for name in plan.names
    ]


def plan_column(
    column: pl.Series,
    *,
    missing: str = "fill",
    category: Collection[str] = (),
    ours: bool = False,
    notices: list[str] | None = None,
) -> Plan | None:
    """Decide what a column becomes; None if it is left out, with a notice."""
    is_coded = column.dtype in (pl.Categorical, pl.Enum)
    column = column.cast(pl.String) if is_coded else column
    name, kind = column.name, column.dtype
    if ours and kind.is_numeric() and not column.null_count() and name not in category:
        return Plan(name, "numbers", (name,), fill=(0.0,), flagged=(False,))
    reason, how = None, "numbers"
    if name in category and not kind.is_nested():
        return _plan_categories(column, missing, notices, declared=True)
    if column.null_count() == len(column) and len(column):
        reason = rules.NO_VALUE
    elif kind in (pl.List, pl.Array) and name not in category:
        reason, how = _odd_lists(column), "vectors"
    elif is_row_id(column):
        reason = rules.ROW_ID
    elif rules.are_code_numbers(column):
        is_coded, column, how = True, column.cast(pl.String), "text"
    elif kind == pl.String:
        how = "text"
    elif kind.is_temporal():
        how = "times"
    elif kind != pl.Boolean and not kind.is_numeric():
        reason = f"holds neither numbers nor text but {kind}"
    if reason is not None:
        rules.leave_out(name, reason, notices, _shared(as_words(column)) if reason == rules.ROW_ID else "")
        return None
    if how != "vectors" and rules.is_truth(column):
        known = column.str.strip_chars().cast(pl.Float64, strict=False) if how == "text" else _numbers(column, how)[0]
        if rules.are_whole(known):  # also 1, 0 and "unknown"; fractions are no labels: a column y may be a coordinate
            can_evaluate = rules.filled(column.cast(pl.String)).str.to_lowercase().is_in([*LABELS]).all()
            advice = f", or {option('label', name)} to evaluate with it" if can_evaluate else ""
            rules.leave_out_truth(name, "", notices, advice)
            return None
    if how == "text":
        how = "categories" if is_coded else rules.text_kind(column, notices)
    if how == "empty":
        rules.leave_out(name, rules.NO_VALUE, notices)
        return None
    if how == "numbers" and kind != pl.Boolean and rules.are_compact_dates(numbers := _numbers(column, how)[0]):
        how, first = "compact dates", numbers.filter(numbers > 0)[0]
        notice(f"Column {name!r}: read {first:.0f} as a date.", notices)
    if how == "categories":
        return _plan_categories(column, missing, notices)
    rules.notice_written(column, how, notices)
    plan = _plan_numbers(column, how, missing, notices)
    return replace(plan, wrong={*plan.wrong, *column.filter(is_unread(column, plan)).to_list()})


def _odd_lists(column: pl.Series) -> str | None:
    """Return why lists cannot be attributes, or None if they can; refuse empty cells."""
    if not getattr(column.dtype, "inner", pl.String()).is_numeric():
        return f"holds neither numbers nor text but {column.dtype}"
    rules.check_missing(column.is_null(), column.name, "refuse")
    lengths = column.cast(pl.List(pl.Float64)).list.len()
    are_same = lengths[0] and lengths.n_unique() == 1
    return None if are_same else "holds lists of different lengths, or empty ones"


def _plan_numbers(column: pl.Series, how: str, missing: str, notices: list[str] | None) -> Plan:
    """Check the numbers of a column, and decide what its empty cells get; placeholders of dates are empty."""
    names, fill, flagged, n_all = [], [], [], 0
    wrong, is_compact = list[str](), how == "compact dates"
    is_date = rules.is_dates(how) or is_compact or isinstance(column.dtype, pl.Date | pl.Datetime)
    if is_date:
        days = _numbers(column, "numbers" if is_compact else how)[0]
        at = days * rules.SECONDS_PER_DAY if not is_compact else rules.settled_seconds(column, days, "dates", notices)
        rules.notice_far(column, far := rules.are_placeholders(at), notices)
        wrong = column.cast(pl.String).filter(far).unique().to_list()
    for numbers in _numbers(column, how, wrong):
        rules.check_finite(numbers, "attributes must be finite")
        rules.check_missing(numbers.is_null(), numbers.name, missing)
        n_empty = numbers.null_count()
        if n_empty and n_empty == len(numbers):
            raise ValueError(f"column {numbers.name!r} is empty; pass {option('ignore', [numbers.name])}")
        names.append(f"{numbers.name}{rules.SINCE_1970}" if is_date else numbers.name)
        flagged.append(missing == "fill" and rules.are_many_empty(n_empty, len(numbers)))
        if flagged[-1]:
            names.append(f"{numbers.name}={MISSING_CATEGORY}")
        mean: Any = (numbers.drop_nulls().sort() if n_empty else numbers).mean()  # the same to the bit in any order
        fill.append(mean)
        n_all += n_empty
    return Plan(column.name, how, names, fill=fill, flagged=flagged, n_empty=n_all, wrong=wrong)


def _plan_categories(
    column: pl.Series, missing: str, notices: list[str] | None, *, declared: bool = False
) -> Plan | None:
    """One-hot encode text with few different values, or what the user declared to be a category, whatever it holds."""
    name, words = column.name, rules.in_one_case(as_words(column), notices)
    counts = words.drop_nulls().value_counts().sort("count", name, descending=[True, False])
    values = counts[name].to_list()
    if declared and len(values) > MAX_CATEGORIES:
        values = [*values[: MAX_CATEGORIES - 1], OTHER_CATEGORY]
    n_empty = words.null_count()
    own = [MISSING_CATEGORY] if rules.are_many_empty(n_empty, len(words)) else []
    n_values = len(counts) + len(own)
    if n_values > MAX_CATEGORIES and not declared:
        reason = f"has more than {MAX_CATEGORIES} different values"
        rules.leave_out(name, reason, notices, _shared(words))
        return None
    if n_empty:
        rules.check_missing(words.is_null(), name, missing)
        cells = f"{plural(n_empty, 'empty cell')} {'is' if n_empty == 1 else 'are'}"
        given = f"in the category {MISSING_CATEGORY}" if own else "filled with the shares of the values"
        notice(f"Column {name!r}: {cells} {given}.", notices, detail=True)
    values = sorted({*values, *own})
    share = dict(zip(counts[name], counts["count"] / counts["count"].sum(), strict=True)) if n_empty and not own else {}
    fill = [share.get(value, 1.0 - sum(share.get(each, 0.0) for each in values)) for value in values] if share else []
    return Plan(name, "categories", [f"{name}={value}" for value in values], values, fill, n_empty=n_empty)


def _shared(words: pl.Series) -> str:
    """Return what to say of a column in which a few rows have the value of another, such as an IBAN."""
    n_shared = int(words.drop_nulls().is_duplicated().sum())
    if not 0 < n_shared <= MOST_SHARED * len(words):
        return ""
    return f"; {n_shared:,} rows share a value: 'Several tables' in the docs shows how to use that"


def encode_column(column: pl.Series, plan: Plan, types: Sequence[str] | None = None) -> Any:
    """Return the attributes of a column as a dense array, or CSC if they are categories.

    A value that no planned row had, and a cell that was to be a number and is not, are empty. A few empty cells among
    categories have the share of each, as empty ones among numbers have their mean.
    """
    if plan.how == "categories":
        places = {MISSING_CATEGORY: None} | {value.lower(): number for number, value in enumerate(plan.values)}
        words = as_words(column).str.to_lowercase().fill_null(MISSING_CATEGORY)
        codes = words.replace_strict(places, default=places.get(OTHER_CATEGORY), return_dtype=pl.Int64)
        known = codes.is_not_null().to_numpy()
        rows, empty = np.flatnonzero(known), np.flatnonzero(~known) if plan.fill else np.empty(0, dtype=np.int64)
        cells = np.concatenate([np.ones(rows.size, np.float32), np.tile(np.asarray(plan.fill, np.float32), empty.size)])
        chosen = np.concatenate([codes.drop_nulls().to_numpy(), np.tile(np.arange(len(plan.fill)), empty.size)])
        rows = np.concatenate([rows, np.repeat(empty, len(plan.fill))])
        return sp.csc_array((cells, (rows, chosen)), shape=(len(codes), len(plan.values)))
    columns = []
    for numbers, fill, flagged in zip(_numbers(column, plan.how, plan.wrong), plan.fill, plan.flagged, strict=True):
        filled = numbers if types is None or not numbers.null_count() else _with_type_means(numbers, types)
        columns.append(filled.fill_null(fill).to_numpy())
        if flagged:
            columns.append(numbers.is_null().to_numpy().astype(columns[0].dtype))
    return np.column_stack(columns)


def _numbers(column: pl.Series, how: str, wrong: Collection[str] = ()) -> list[pl.Series]:
    """Return the numbers that a column holds, null where it is empty or wrong; several if its cells are lists."""
    if wrong:
        column = (
            pl.select(pl.when(~column.cast(pl.String).is_in([*wrong])).then(column)).to_series().rename(column.name)
        )
    if how == "vectors":
        lists = column.cast(pl.List(pl.Float64))
        cells = lists.list.explode().to_numpy().reshape(len(column), -1)
        return [pl.Series(f"{column.name}_{place}", each).fill_nan(None) for place, each in enumerate(cells.T)]
    if how == "times":
        return [rules.as_seconds(column) / rules.SECONDS_PER_DAY]
    if how == "compact dates":
        return [rules.in_seconds(_numbers(column, "numbers")[0], "dates") / rules.SECONDS_PER_DAY]
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        numbers = rules.text_numbers(column.cast(pl.String), how)
    else:
        numbers = column.cast(pl.Float32 if column.dtype == pl.Float32 else pl.Float64)
    return [numbers.fill_nan(None)]


def is_unread(column: pl.Series, plan: Plan) -> NDArray[np.bool_]:
    """Return which cells of a text column hold something else than the planned rows."""
    if plan.how == "categories" or column.dtype != pl.String:
        return np.zeros(len(column), dtype=np.bool_)
    return (_numbers(column, plan.how)[0].is_null() & rules.is_filled(column) & ~column.is_in(plan.wrong)).to_numpy()


def as_words(column: pl.Series) -> pl.Series:
    """Return cells as text, null where they are blank."""
    words = column.cast(pl.String).str.strip_chars()
    return words.set(words == "", None)


def _with_type_means(numbers: pl.Series, types: Sequence[str]) -> pl.Series:
    """Fill empty cells with the mean of the node's own type, if any node of that type has a number."""
    frame = pl.DataFrame({"number": numbers, "type": pl.Series(types, dtype=pl.String)})
    return frame.select(pl.col("number").fill_null(pl.col("number").sort().mean().over("type"))).to_series()


def notice_filled(plans: Sequence[Plan], missing: str, notices: list[str] | None, *, typed: bool) -> None:
    """Say which columns of numbers had empty cells, and what these got."""
    marked = f" and flagged them as '…={MISSING_CATEGORY}'"
    for flagged, how in ((True, marked), (False, " without a flag, because they are few" * (missing == "fill"))):
        of_numbers = (plan for plan in plans if plan.n_empty and plan.how != "categories")
        chosen = [plan for plan in of_numbers if any(plan.flagged) == flagged]
        counts = [f"{plan.n_empty:,} in {plan.column!r}" for plan in chosen]
        if counts:
            listed = ", ".join([*counts[:MOST_LISTED], *(["…"] if len(counts) > MOST_LISTED else [])])
            whose = "node's type" if typed else "column"
            notice(f"Filled empty cells with the mean of the {whose}{how}: {listed}.", notices, detail=True)


def read_flags(column: pl.Series, flags: Mapping[str, int] = LABELS) -> NDArray[np.int8]:
    """Return a column of labels or kinds as numbers; true and false count as 1 and 0.

    >>> import polars as pl
    >>> read_flags(pl.Series("fraud", ["true", "False", "1", "0", "-1"])).tolist()
    [1, 0, 1, 0, -1]
    """
    labels = "0 or 1 (or words such as yes and no, or fraud and ok), or -1, blank or unknown for an unlabeled node"
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    words = words.fill_null("") if "" in flags else words
    if yes_means_normal(column.name, {*words.drop_nulls().str.replace(r"\.0$", "")}):
        raise ValueError(f"column {column.name!r} seems to say which nodes are normal; evaluate with its opposite")
    wrong = ~words.is_in(list(flags)).fill_null(False)
    rules.check_none(wrong, column, f"is not {labels if flags is LABELS else 'a whole number from 0 to 3'}")
    return words.replace_strict(flags, return_dtype=pl.Int8).to_numpy()


def _assemble(blocks: list[Any], n_rows: int) -> Any:
    """Put the blocks side by side, as CSR if the result is large and mostly zero, dense otherwise."""
    dtype = np.result_type(*{block.dtype for block in blocks})
    n_columns = sum(block.shape[1] for block in blocks)
    n_nonzero = sum(block.nnz if sp.issparse(block) else block.size for block in blocks)
    if n_rows * n_columns > SPARSE_CELLS and n_nonzero < SPARSE_BELOW * n_rows * n_columns:
        return sp.csr_array(sp.hstack([sp.csc_array(block) for block in blocks], format="csr", dtype=dtype))
    matrix = np.empty((n_rows, n_columns), dtype=dtype)
    start = 0
    for block in blocks:
        matrix[:, start : start + block.shape[1]] = block.toarray() if sp.issparse(block) else block
        start += block.shape[1]
    matrix.flags.writeable = False
    return matrix


MOST_WORDS = 6  # in a name
LABEL_COLUMN, KIND_COLUMN = "hopsight_label", "hopsight_kind"  # in files that hopsight wrote
TYPE_COLUMN, NAME_COLUMN = "hopsight_type", "hopsight_name"
OWN_COLUMNS = (LABEL_COLUMN, KIND_COLUMN, TYPE_COLUMN, NAME_COLUMN)


def node_roles(
    names: Sequence[str],
    column: Callable[[str], pl.Series],
    n_nodes: int,
    *,
    label: str | None = None,
    learn_from: str | None = None,
    ignore: Sequence[str] = (),
    category: Sequence[str] = (),
    type_column: str | None = None,
    name_column: str | None = None,
    ours: bool = False,
    notices: list[str] | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Return what columns say about nodes beside attributes, as fields of an AttributedGraph, and the other columns."""
    single = {"label": label, "learn_from": learn_from, "type_column": type_column, "name_column": name_column}
    several = [("ignore", name) for name in ignore] + [("category", name) for name in category]
    for parameter, name in (*single.items(), *several):
        check_column(parameter, name, names)
    fields: dict[str, Any] = {}
    truth = label if label is not None else LABEL_COLUMN
    if truth in names:
        fields["labels"] = read_flags(column(truth))
    known = [name for name in dict.fromkeys((label, learn_from)) if name is not None]
    if known:
        fields["aside"] = {name: set_aside(column(name), np.arange(n_nodes)) for name in known}
    if KIND_COLUMN in names:
        fields["kinds"] = read_flags(column(KIND_COLUMN), KINDS)
    left_out = {truth, LABEL_COLUMN, KIND_COLUMN, *known, *ignore}
    known_types = TYPE_NAMES[:1] if ours else TYPE_NAMES
    types = type_column or first_known([name for name in names if name not in left_out], known_types)
    if types is not None:
        fields["node_types"] = _texts(column(types), exact=ours)
        left_out.add(types)
    shown = name_column or (NAME_COLUMN if NAME_COLUMN in names else None)
    if shown is None and not ours:
        shown = _find_names([name for name in names if name not in {*left_out, *category}], column, notices)
    if shown is not None:
        fields["node_names"] = _texts(column(shown), exact=ours)
        left_out.add(shown)
    return fields, [name for name in names if name not in left_out]


def node_fields(
    names: Sequence[str],
    column: Callable[[str], pl.Series],
    n_nodes: int,
    *,
    missing: str = "fill",
    category: Sequence[str] = (),
    may_lack: bool = False,
    ours: bool = False,
    notices: list[str] | None = None,
    **roles: Any,
) -> dict[str, Any]:
    """Return the fields of an AttributedGraph that come from columns with one value per node.

    ``names`` are those of the columns without the id, and ``column`` returns the ``n_nodes`` values of one. With
    ``may_lack``, a table without attributes is accepted, and no ``attributes`` are returned. With ``ours``, which says
    that hopsight wrote the table, nothing is guessed. The other parameters are those of :func:`hopsight.load`.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [31, 42], "fraud": [False, True]})
    >>> fields = node_fields(frame.columns, frame.__getitem__, 2, label="fraud")
    >>> fields["attribute_names"], fields["labels"].tolist()
    (['age'], [0, 1])
    """
    fields, used = node_roles(names, column, n_nodes, category=category, ours=ours, notices=notices, **roles)
    filled: dict[str, NDArray[Any]] = {}
    attributes, words = encode(
        (column(name) for name in used), n_nodes, missing=missing, category=category, types=fields.get("node_types"),
        ours=ours, filled=filled, notices=notices,
    )  # fmt: skip
    if not words and not may_lack:
        raise ValueError(NO_ATTRIBUTES)
    return fields | ({"attributes": attributes, "attribute_names": words, "filled": filled} if words else {})


def with_unknown(
    fields: dict[str, Any], n_known: int, unknown: Sequence[Any], types: Sequence[str] | None
) -> dict[str, Any]:
    """Return the fields of the nodes that have a row in the node table, and after them those that have none.

    Where other nodes have an attribute, they have the median, and no value of a category; nothing may be concluded
    from either (``known``).
    """
    n_more = len(unknown)
    fields = fields | {"known": np.arange(n_known + n_more) < n_known}
    if "attributes" in fields:
        known = fields["attributes"]
        if sp.issparse(known):
            fields["attributes"] = sp.vstack([known, sp.csr_array((n_more, known.shape[1]), dtype=known.dtype)], "csr")
        else:
            is_category = np.array(["=" in name for name in fields["attribute_names"]])
            usual = np.where(is_category, 0.0, np.median(known, axis=0)).astype(known.dtype)
            fields["attributes"] = np.vstack([known, np.tile(usual, (n_more, 1))])
    others: dict[str, Any] = {
        "labels": [-1] * n_more,
        "kinds": [0] * n_more,
        "unranked": [False] * n_more,
        "node_types": types or [UNKNOWN] * n_more,
        "node_names": list(map(str, unknown)),
    }
    return fields | {name: [*fields[name], *values] for name, values in others.items() if fields.get(name) is not None}


def _find_names(names: Sequence[str], column: Callable[[str], pl.Series], notices: list[str] | None) -> str | None:
    """Return the first column of text that is different for every node: it says who they are, not how they are.

    One that is called so may repeat if it has too many values to be a category.
    """
    for name in sorted(names, key=lambda name: not is_name_name(name)):
        values, is_called = column(name), is_name_name(name)
        least = 2 if is_called else LEAST_ROWS
        is_text = (
            values.dtype == pl.String and len(values) >= least and not (is_row_id_name(name) or is_code_name(name))
        )
        n_values = values.n_unique() if is_text else 0
        is_unique = is_text and not values.null_count() and n_values == len(values)
        is_name = is_called and n_values > MAX_CATEGORIES
        if (is_unique or is_name) and not _are_values(values):
            notice(f"Used column {name!r} as the name of each node.", notices, detail=True)
            return name
    return None


def _are_values(words: pl.Series) -> bool:
    """Return whether text holds sentences, dates or mostly numbers, as people write them, such as 55.5k."""
    if float(words.str.strip_chars().str.count_matches(r"\s+").median() or 0) >= MOST_WORDS:  # type: ignore[arg-type]
        return True
    n_named = int(words.str.contains(r"\p{L}{2}").sum())
    n_others = min(rules.text_numbers(words, kind).null_count() for kind in rules.WRITTEN)
    return min(n_named, n_others) < len(words) / 2 or is_time(words)


def set_aside(column: pl.Series, rows: NDArray[np.int64]) -> Aside:
    """Return a column as text, for the nodes or the ends of edges that its rows are about."""
    texts = column.cast(pl.String).fill_null("").str.strip_chars()
    words = texts.unique().sort()
    codes = texts.replace_strict(words, np.arange(len(words)), return_dtype=pl.Int64).to_numpy()
    return Aside(rows, tuple(words.to_list()), codes)


def _texts(column: pl.Series, *, exact: bool) -> list[str]:
    words = column.cast(pl.String).fill_null("")
    return (words if exact else words.str.strip_chars()).to_list()


def own_columns(graph: AttributedGraph) -> dict[str, list[Any]]:
    """Return what the columns of a file that hopsight writes say about each node beside its attributes."""
    values = zip(OWN_COLUMNS, (graph.labels, graph.kinds, graph.node_types, graph.node_names), strict=True)
    return {name: each.tolist() for name, each in values if each is not None}


def check_column(parameter: str, name: str | None, names: Sequence[str]) -> None:
    """Refuse a column that does not exist, and suggest the closest one."""
    if name is not None and name not in names:
        raise ValueError(f"{option(parameter)}: there is no column {name!r}{suggest(name, names)}")


def distinct(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return the names, with a number appended to those that occurred before.

    >>> distinct(["x", "id", "x"], ["id"])
    ['x', 'id_2', 'x_2']
    """
    seen, last, unique_names = set(taken), dict[str, int](), []
    for name in names:
        unique = name
        while unique in seen:
            last[name] = last.get(name, 1) + 1  # not from 2 again: thousands of columns may share a name
            unique = f"{name}_{last[name]}"
        seen.add(unique)
        unique_names.append(unique)
    return unique_names
