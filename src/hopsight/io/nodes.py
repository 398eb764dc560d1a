"""Turn columns with one value per node into attributes, labels and kinds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.canonical import Aside
from hopsight.checks import check_choice, option, suggest
from hopsight.graph import AttributedGraph
from hopsight.io import rules
from hopsight.io.ids import UNKNOWN
from hopsight.io.notices import notice
from hopsight.io.rules import (
    KINDS,
    LEAST_ROWS,
    NAME_NAMES,
    TYPE_NAMES,
    first_known,
    is_row_id,
    is_row_id_name,
    is_time,
    normalized_name,
)
from hopsight.system.lazy_polars import pl

SPARSE_BELOW = 0.1  # share of nonzero cells below which a large matrix is kept sparse
SPARSE_CELLS = 1_000_000
NO_ATTRIBUTES = "there is no attribute column; every node needs at least one number or category"


class Block(NamedTuple):
    """The attributes made from one table column: their names, and a (n_rows, len(names)) array or CSC array.

    ``n_filled`` is the number of empty cells that got the mean.
    """

    names: list[str]
    values: Any
    n_filled: int = 0


def encode(
    columns: Iterable[pl.Series],
    n_rows: int,
    *,
    missing: str = "fill",
    category: Collection[str] = (),
    types: Sequence[str] | None = None,
    ours: bool = False,
    notices: list[str] | None = None,
) -> tuple[Any, list[str]]:
    """Return the attribute matrix made from table columns, and the name of each attribute.

    Numbers are kept, true and false become 1 and 0, a date becomes the number of days since 1970, and a text column
    becomes one 0/1 attribute per value, called ``column=value``. A column of equally long lists of numbers becomes
    one attribute per entry. Columns that look like ground truth or only identify rows, and those that cannot be
    used, such as text with more than 50 different values, are left out with a notice.

    Parameters
    ----------
    columns
        Series of ``n_rows`` values each, consumed one at a time.
    missing
        How to treat empty cells: ``"fill"`` numbers with the mean of their column and flag them in an attribute
        ``column=(missing)``, fill them without a flag (``"mean"``), or ``"refuse"`` them. Empty categories get a
        category of their own.
    category
        Columns that are categories even if they hold numbers; beyond 50 values, the rarest ones share a category.
    types
        The type of each node, if there are several: empty cells are filled with the mean of the node's own type.
    ours
        Whether hopsight wrote the table, so that numbers are attributes whatever their column is called.
    notices
        List that receives the notices.

    Returns
    -------
    matrix
        (n_rows, n_attributes) array, or a CSR array if it is large and mostly zero.
    names

    Raises
    ------
    ValueError
        If a cell is empty (unless imputed), infinite, or text in a column of numbers; or if no column is usable.

    Examples
    --------
    >>> import polars as pl
    >>> matrix, names = encode([pl.Series("age", ["31", "42"]), pl.Series("city", ["Oslo", "Bern"])], 2)
    >>> names, matrix.tolist()
    (['age', 'city=Bern', 'city=Oslo'], [[31.0, 0.0, 1.0], [42.0, 1.0, 0.0]])
    """
    check_choice("missing", missing, rules.MISSING)
    filled: dict[str, int] = {}

    def encoded(column: pl.Series) -> Block | None:
        if column.name in category:
            return _declared(column, missing, notices)
        if ours and column.dtype.is_numeric() and not column.null_count():
            return Block([column.name], _compact(column.cast(pl.Float64).to_numpy()[:, None]))
        block = _block(column, missing, notices, types)
        if block is not None and block.n_filled:
            filled[column.name] = block.n_filled
        return block

    blocks = [block for block in map(encoded, columns) if block is not None]
    rules.notice_filled(filled, missing, notices, typed=types is not None)
    if not blocks:
        raise ValueError(NO_ATTRIBUTES)
    return _assemble(blocks, n_rows), [name for block in blocks for name in block.names]


def read_flags(column: pl.Series, flags: rules.Flags = rules.LABELS) -> NDArray[np.int8]:
    """Return a column of labels or kinds as numbers; true and false count as 1 and 0.

    >>> import polars as pl
    >>> read_flags(pl.Series("fraud", ["true", "False", "1", "0", "-1"])).tolist()
    [1, 0, 1, 0, -1]
    """
    rules.check_flags(column.name, rules.first_cell(rules.wrong_flags(column, flags), column=column), flags)
    return rules.flag_words(column, flags).replace_strict(flags.values, return_dtype=pl.Int8).to_numpy()


def _block(
    column: pl.Series, missing: str, notices: list[str] | None, types: Sequence[str] | None = None
) -> Block | None:
    """Return the attributes made from one column, or None if it is left out."""
    kind = column.dtype
    if column.null_count() == len(column) and len(column):
        rules.leave_out(column.name, "has no value at all", notices)
        return None
    if kind in (pl.List, pl.Array):
        return _vectors(column, missing, notices)
    if kind in (pl.Categorical, pl.Enum):
        column, kind = column.cast(pl.String), pl.String()
    if is_row_id(column):
        rules.leave_out_row_id(column.name, notices)
        return None
    if kind == pl.String:
        return _text(column, missing, notices, types)
    if kind.is_temporal():
        block = _numbers(rules.as_days(column), missing, notices, types)
        return _of_dates(block) if isinstance(kind, pl.Date | pl.Datetime) else block
    if kind == pl.Boolean or kind.is_numeric():
        return _numbers(column.cast(pl.Float32 if kind == pl.Float32 else pl.Float64), missing, notices, types)
    rules.leave_out(column.name, f"holds neither numbers nor text but {kind}", notices)
    return None


def _text(
    column: pl.Series, missing: str, notices: list[str] | None, types: Sequence[str] | None = None
) -> Block | None:
    numbers = column.cast(pl.Float64, strict=False)
    if not numbers.null_count():  # most columns: no summary is needed
        return _numbers(numbers, missing, notices, types)
    known = column.str.strip_chars().cast(pl.Float64, strict=False).drop_nulls().to_numpy()
    known = known[np.isfinite(known)]
    if rules.leave_out_truth(column.name, rules.are_whole(known), notices):  # also 1, 0 and "unknown"
        return None
    summary = rules.TextSummary.of(column)
    kind = rules.text_kind(column.name, summary)
    if kind == "empty":
        rules.leave_out(column.name, "has no value at all", notices)
        return None
    if kind == "categories":
        return _categories(column.str.strip_chars(), summary, missing, notices)
    rules.notice_written(column.name, kind, summary, notices)
    block = _numbers(rules.text_numbers(column, kind), missing, notices, types)
    return _of_dates(block) if rules.is_dates(kind) else block


def _of_dates(block: Block | None) -> Block | None:
    return block and block._replace(names=rules.names_of_dates(block.names))


def _numbers(
    numbers: pl.Series, missing: str, notices: list[str] | None, types: Sequence[str] | None = None
) -> Block | None:
    """Check a column of numbers; null and NaN count as empty cells."""
    known = numbers.fill_nan(None).drop_nulls().to_numpy()
    if rules.leave_out_truth(numbers.name, rules.are_whole(known), notices):
        return None
    if known.size == len(numbers) and np.isfinite(known).all():
        return Block([numbers.name], _compact(known[:, None]))
    rules.check_numbers(numbers.name, numbers, missing)
    numbers = numbers.fill_nan(None)
    n_empty = numbers.null_count()
    mean = numbers.drop_nulls().sort().mean()  # the same to the bit in any order of rows
    filled = (numbers if types is None else _with_type_means(numbers, types)).fill_null(mean).to_numpy()
    if missing != "fill":
        return Block([numbers.name], _compact(filled[:, None]), n_empty)
    flags = numbers.is_null().to_numpy().astype(filled.dtype)
    names = [numbers.name, rules.missing_name(numbers.name)]
    return Block(names, _compact(np.column_stack([filled, flags])), n_empty)


def _with_type_means(numbers: pl.Series, types: Sequence[str]) -> pl.Series:
    """Fill empty cells with the mean of the node's own type, if any node of that type has a number."""
    frame = pl.DataFrame({"number": numbers, "type": pl.Series(types, dtype=pl.String)})
    return frame.select(pl.col("number").fill_null(pl.col("number").sort().mean().over("type"))).to_series()


def _declared(column: pl.Series, missing: str, notices: list[str] | None) -> Block | None:
    """One-hot encode a column that the user declared to be a category, whatever it holds."""
    if not column.dtype.is_nested():
        words = column.cast(pl.String).str.strip_chars()
        counts = words.drop_nulls().value_counts(sort=True)
        if counts.height > rules.MAX_CATEGORIES:
            frequent = counts.sort("count", column.name, descending=[True, False]).head(rules.MAX_CATEGORIES - 1)
            rare = ~words.is_in(frequent[column.name].to_list())
            words = pl.select(pl.when(rare).then(pl.lit(rules.OTHER_CATEGORY)).otherwise(words)).to_series()
        return _categories(words.rename(column.name), rules.TextSummary.of(words), missing, notices)
    rules.leave_out(column.name, f"holds neither numbers nor text but {column.dtype}", notices)
    return None


def _categories(words: pl.Series, summary: rules.TextSummary, missing: str, notices: list[str] | None) -> Block | None:
    """One-hot encode a text column with few different values."""
    n_values = words.n_unique()
    if not rules.check_categories(words.name, n_values, summary.n_empty, summary.first_empty, missing, notices):
        return None
    values = rules.ordered_categories(words.unique().to_list())
    words = words.replace("", None).fill_null(rules.MISSING_CATEGORY)
    codes = words.replace_strict(values, list(range(len(values))), return_dtype=pl.Int64).to_numpy()
    ones, rows = np.ones(len(codes), dtype=np.float32), np.arange(len(codes))
    matrix = sp.csc_array((ones, (rows, codes)), shape=(len(codes), len(values)))
    return Block([f"{words.name}={value}" for value in values], matrix)


def _vectors(column: pl.Series, missing: str, notices: list[str] | None) -> Block | None:
    """Spread a column of equally long lists of numbers over one attribute per entry."""
    if not getattr(column.dtype, "inner", pl.String()).is_numeric():
        rules.leave_out(column.name, f"holds neither numbers nor text but {column.dtype}", notices)
        return None
    rules.check_missing(column.name, rules.first_cell(column.is_null()), "refuse")
    lists = column.cast(pl.List(pl.Float64))
    lengths = lists.list.len()
    width = int(lengths[0])
    if width == 0 or lengths.n_unique() > 1:
        rules.leave_out(column.name, "holds lists of different lengths, or empty ones", notices)
        return None
    cells = lists.list.explode().to_numpy().reshape(len(column), width)
    entries = (pl.Series(f"{column.name}_{entry}", cells[:, entry]) for entry in range(width))
    blocks = [block for block in (_numbers(entry, missing, notices) for entry in entries) if block is not None]
    names = [name for block in blocks for name in block.names]
    matrix = _compact(np.column_stack([_dense(block.values) for block in blocks]))
    return Block(names, matrix, sum(block.n_filled for block in blocks))


def _compact(values: NDArray[Any]) -> Any:
    """Return mostly empty columns as CSC, so that thousands of them fit in memory."""
    return sp.csc_array(values) if np.count_nonzero(values) < SPARSE_BELOW * values.size else values


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else values


def _assemble(blocks: list[Block], n_rows: int) -> Any:
    """Put the blocks side by side, as CSR if the result is large and mostly zero, dense otherwise."""
    dtype = np.result_type(*{block.values.dtype for block in blocks})
    n_columns = sum(len(block.names) for block in blocks)
    n_nonzero = sum(block.values.nnz if sp.issparse(block.values) else block.values.size for block in blocks)
    if n_rows * n_columns > SPARSE_CELLS and n_nonzero < SPARSE_BELOW * n_rows * n_columns:
        return sp.csr_array(sp.hstack([sp.csc_array(block.values) for block in blocks], format="csr", dtype=dtype))
    matrix = np.empty((n_rows, n_columns), dtype=dtype)
    start = 0
    for block in blocks:
        matrix[:, start : start + len(block.names)] = _dense(block.values)
        start += len(block.names)
    matrix.flags.writeable = False
    return matrix


MOST_WORDS = 6  # in a name
LABEL_COLUMN, KIND_COLUMN = "hopsight_label", "hopsight_kind"  # in files that hopsight wrote
TYPE_COLUMN, NAME_COLUMN = "hopsight_type", "hopsight_name"
OWN_COLUMNS = (LABEL_COLUMN, KIND_COLUMN, TYPE_COLUMN, NAME_COLUMN)


def node_fields(
    names: Sequence[str],
    column: Callable[[str], pl.Series],
    n_nodes: int,
    *,
    label: str | None = None,
    learn_from: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "fill",
    category: Sequence[str] = (),
    type_column: str | None = None,
    name_column: str | None = None,
    may_lack: bool = False,
    ours: bool = False,
    notices: list[str] | None = None,
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
        fields["node_types"] = _texts(column(types))
        left_out.add(types)
    shown = name_column or (NAME_COLUMN if NAME_COLUMN in names else None)
    if shown is None and not ours:
        shown = _find_names([name for name in names if name not in {*left_out, *category}], column, notices)
    if shown is not None:
        fields["node_names"] = _texts(column(shown))
        left_out.add(shown)
    used = [name for name in names if name not in left_out]
    if used or not may_lack:
        fields |= _encoded(
            used, column, n_nodes, may_lack, missing=missing, category=category, types=fields.get("node_types"),
            ours=ours, notices=notices,
        )  # fmt: skip
    return fields


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
    others = {
        "labels": [-1] * n_more,
        "kinds": [0] * n_more,
        "node_types": types or [UNKNOWN] * n_more,
        "node_names": list(map(str, unknown)),
    }
    return fields | {name: [*fields[name], *values] for name, values in others.items() if fields.get(name) is not None}


def _encoded(
    used: Sequence[str], column: Callable[[str], pl.Series], n_nodes: int, may_lack: bool, **options: Any
) -> dict[str, Any]:
    """Return the attributes and their names, or nothing if no column is usable and that is allowed."""
    try:
        attributes, names = encode((column(name) for name in used), n_nodes, **options)
    except ValueError as error:
        if may_lack and str(error) == NO_ATTRIBUTES:
            return {}
        raise
    return {"attributes": attributes, "attribute_names": names}


def _find_names(names: Sequence[str], column: Callable[[str], pl.Series], notices: list[str] | None) -> str | None:
    """Return the first column of text that is different for every node: it says who they are, not how they are."""
    for name in sorted(names, key=lambda name: normalized_name(name) not in NAME_NAMES):
        values = column(name)
        least = 2 if normalized_name(name) in NAME_NAMES else LEAST_ROWS
        is_text = values.dtype == pl.String and len(values) >= least and not is_row_id_name(name)
        is_unique = is_text and not values.null_count() and values.n_unique() == len(values)
        if is_unique and not _are_values(values) and not _are_sentences(values):
            notice(f"Used column {name!r} as the name of each node.", notices)
            return name
    return None


def _are_values(words: pl.Series) -> bool:
    """Return whether text holds dates or mostly numbers, with a comma instead of a point or not."""
    numbers = words.str.strip_chars().str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    return is_time(words) or numbers.null_count() < len(words) / 2


def _are_sentences(words: pl.Series) -> bool:
    """Return whether most texts are longer than a name."""
    return float(words.str.strip_chars().str.count_matches(r"\s+").median() or 0) >= MOST_WORDS  # type: ignore[arg-type]


def set_aside(column: pl.Series, rows: NDArray[np.int64]) -> Aside:
    """Return a column as text, for the nodes or the ends of edges that its rows are about."""
    texts = column.cast(pl.String).fill_null("").str.strip_chars()
    words = texts.unique().sort()
    codes = texts.replace_strict(words, np.arange(len(words)), return_dtype=pl.Int64).to_numpy()
    return Aside(rows, tuple(words.to_list()), codes)


def _texts(column: pl.Series) -> list[str]:
    return column.cast(pl.String).fill_null("").str.strip_chars().to_list()


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
