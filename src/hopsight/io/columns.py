"""From the columns of a node table to the attribute matrix: numbers kept, categories one-hot encoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.io.notices import notice

if TYPE_CHECKING:
    import polars as pl

MAX_CATEGORIES = 50
MISSING = ("refuse", "mean")
NO_NUMBER = ("", "na", "n/a", "nan", "null", "none")  # what people and programs write into an empty number cell
MISSING_CATEGORY = "(missing)"
TRUTH_NAMES = {"label", "labels", "anomaly", "is_anomaly", "outlier", "is_outlier", "fraud", "is_fraud", "gnd", "truth"}
TRUTH_VALUES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}
SPARSE_BELOW = 0.1  # share of nonzero cells below which a large matrix is kept sparse
SPARSE_CELLS = 1_000_000


class Block(NamedTuple):
    """The attribute columns that one table column became, as an array or a CSC array of (n_rows, len(names))."""

    names: list[str]
    values: Any


def encode(
    columns: Iterable[pl.Series], n_rows: int, *, missing: str = "refuse", notices: list[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the attribute matrix of some table columns, and the name of each of its columns.

    Numbers are kept, true and false become 1 and 0, a text column becomes one 0/1 column a value, called
    ``column=value``; lists of numbers of one length become one column an entry. What cannot be used (a text column
    of more than 50 values, a date) is left out with a notice.

    Parameters
    ----------
    columns
        Series of n_rows values each, taken one by one.
    missing
        What to do with empty cells: ``"refuse"``, or ``"mean"`` (numbers get the mean of their column, categories
        a value of their own).
    notices
        List that receives the notices.

    Returns
    -------
    matrix
        (n_rows, n_attributes) array; CSR if it is large and mostly zeros.
    names

    Raises
    ------
    ValueError
        If a cell is empty (unless imputed), not finite, or text in a column of numbers; or if no column is usable.

    Examples
    --------
    >>> import polars as pl
    >>> matrix, names = encode([pl.Series("age", ["31", "42"]), pl.Series("city", ["Oslo", "Bern"])], 2)
    >>> names, matrix.tolist()
    (['age', 'city=Bern', 'city=Oslo'], [[31.0, 0.0, 1.0], [42.0, 1.0, 0.0]])
    """
    check_choice("missing", missing, MISSING)
    blocks = []
    for column in columns:
        block = _block(column, missing, notices)
        if block is not None:
            blocks.append(block)
    if not blocks:
        raise ValueError("there is no attribute column: every node needs at least one number or category")
    return _assemble(blocks, n_rows), [name for block in blocks for name in block.names]


def flags(column: pl.Series, high: int = 1) -> NDArray[np.int8]:
    """Return a truth column as whole numbers from 0 to ``high``; true and false count as 1 and 0.

    >>> import polars as pl
    >>> flags(pl.Series("fraud", ["true", "False", "1", "0"])).tolist()
    [1, 0, 1, 0]
    """
    import polars as pl

    allowed = TRUTH_VALUES | {f"{kind}{zero}": kind for kind in range(high + 1) for zero in ("", ".0")}
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    wrong = ~words.is_in(list(allowed)).fill_null(False)
    if wrong.any():
        where = int(wrong.arg_true()[0])
        choices = "0 or 1 (or true or false)" if high == 1 else f"a whole number from 0 to {high}"
        raise ValueError(f"column {column.name!r}, row {where + 1}: {column[where]!r} is not {choices}")
    return words.replace_strict(allowed, return_dtype=pl.Int8).to_numpy()


def _block(column: pl.Series, missing: str, notices: list[str] | None) -> Block | None:
    """Return what one column becomes, or None if it is left out."""
    import polars as pl

    name, kind = column.name, column.dtype
    if column.null_count() == len(column) and len(column):
        _left_out(name, "has no value at all", notices)
        return None
    if kind in (pl.List, pl.Array):
        return _vectors(column, missing, notices)
    if kind in (pl.Categorical, pl.Enum):
        column, kind = column.cast(pl.String), pl.String()
    if kind == pl.String:
        return _text(column, missing, notices)
    if kind == pl.Boolean or kind.is_numeric():
        return _numbers(column, column.cast(pl.Float32 if kind == pl.Float32 else pl.Float64), missing, notices)
    _left_out(name, f"holds neither numbers nor text but {kind}", notices)
    return None


def _text(column: pl.Series, missing: str, notices: list[str] | None) -> Block | None:
    """Decide what a text column holds: numbers, true and false, or categories."""
    import polars as pl

    numbers = column.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        return _numbers(column, numbers, missing, notices)
    words = column.str.strip_chars()
    numbers = words.cast(pl.Float64, strict=False)
    no_number = words.is_null() | words.str.to_lowercase().is_in(NO_NUMBER).fill_null(True)
    is_text = numbers.is_null() & ~no_number
    n_text, n_numbers = int(is_text.sum()), int((numbers.is_not_null() & ~no_number).sum())
    if n_text == 0 and n_numbers:
        return _numbers(column, numbers, missing, notices)
    if n_numbers >= n_text:
        if not n_text:
            _left_out(column.name, "has no value at all", notices)
            return None
        where = int(is_text.arg_true()[0])
        raise ValueError(
            f"column {column.name!r}, row {where + 1}: {_short(column[where])} is no number, as others there are; "
            "correct it or ignore the column"
        )
    lower = words.str.to_lowercase()
    if lower.is_in(["true", "false", ""]).fill_null(True).all():
        truth = lower.replace_strict({"true": 1.0, "false": 0.0}, default=None, return_dtype=pl.Float64)
        return _numbers(column, truth, missing, notices)
    _check_commas(words)
    return _categories(words, words.is_null() | (words == ""), missing, notices)


def _check_commas(words: pl.Series) -> None:
    """Refuse numbers written with a comma: as categories they would say nothing, and 1,234 may mean two things."""
    if (words.str.contains(r"^([+-]?\d+(,\d+)*)?$").fill_null(True)).all():
        where = int(words.str.contains(",").fill_null(False).arg_true()[0])
        raise ValueError(
            f"column {words.name!r}, row {where + 1}: {_short(words[where])} has a comma: "
            "write numbers with a point, or ignore the column"
        )


def _numbers(column: pl.Series, numbers: pl.Series, missing: str, notices: list[str] | None) -> Block:
    """Check a column of numbers; an empty cell or NaN counts as missing, infinity is always refused."""
    if numbers.null_count() or not np.isfinite(numbers.to_numpy()).all():  # numpy is quicker in telling, and most are
        numbers = _filled(column, numbers, missing, notices)
    values = numbers.to_numpy()
    if column.name.strip().lower() in TRUTH_NAMES and np.isin(values, (0, 1)).all():
        notice(f"column {column.name!r} looks like a truth and is used as an attribute: name it as label", notices)
    return Block([column.name], _compact(values[:, None]))


def _filled(column: pl.Series, numbers: pl.Series, missing: str, notices: list[str] | None) -> pl.Series:
    """Return a column of numbers with the mean in its empty cells, if that is wanted."""
    infinite = numbers.is_infinite().fill_null(False)
    if infinite.any():
        where = int(infinite.arg_true()[0])
        raise ValueError(f"column {column.name!r}, row {where + 1} is infinite: attributes must be finite")
    empty = numbers.is_null() | numbers.is_nan().fill_null(True)
    if empty.any():
        _check_missing(column, empty, missing)
        known = numbers.filter(~empty)
        if not len(known):
            raise ValueError(f"column {column.name!r} has no value at all: ignore it")
        notice(f"column {column.name!r}: empty cells ({int(empty.sum()):,}) got the mean of the others", notices)
        numbers = numbers.fill_nan(None).fill_null(known.mean())
    return numbers


def _categories(column: pl.Series, empty: pl.Series, missing: str, notices: list[str] | None) -> Block | None:
    """One-hot encode a text column of few values."""
    import polars as pl

    n_values = column.n_unique()
    if n_values > MAX_CATEGORIES:
        _left_out(column.name, f"has {n_values:,} different values (more than {MAX_CATEGORIES})", notices)
        return None
    if empty.any():
        _check_missing(column, empty, missing)
        notice(f"column {column.name!r}: empty cells ({int(empty.sum()):,}) became a category of their own", notices)
        column = column.set(empty, MISSING_CATEGORY)
    values = sorted(column.unique().to_list())
    codes = column.replace_strict(values, list(range(len(values))), return_dtype=pl.Int64).to_numpy()
    ones, rows = np.ones(len(codes), dtype=np.float32), np.arange(len(codes))
    matrix = sp.csc_array((ones, (rows, codes)), shape=(len(codes), len(values)))
    return Block([f"{column.name}={value}" for value in values], matrix)


def _vectors(column: pl.Series, missing: str, notices: list[str] | None) -> Block | None:
    """Spread a column of equally long lists of numbers over one column an entry."""
    import polars as pl

    if not getattr(column.dtype, "inner", pl.String()).is_numeric():
        _left_out(column.name, f"holds neither numbers nor text but {column.dtype}", notices)
        return None
    lists = column.cast(pl.List(pl.Float64))
    lengths = lists.list.len()
    if column.null_count():
        _check_missing(column, column.is_null(), "refuse")
    width = int(lengths[0])
    if width == 0 or lengths.n_unique() > 1:
        _left_out(column.name, "holds lists of different lengths, or empty ones", notices)
        return None
    matrix = lists.list.explode().to_numpy().reshape(len(column), width)
    entries = [pl.Series(f"{column.name}_{entry}", matrix[:, entry]) for entry in range(width)]
    blocks = [_numbers(entry, entry, missing, notices) for entry in entries]
    return Block([block.names[0] for block in blocks], _compact(np.column_stack([_dense(b.values) for b in blocks])))


def _check_missing(column: pl.Series, empty: pl.Series, missing: str) -> None:
    if missing == "refuse":
        where = int(empty.arg_true()[0])
        raise ValueError(
            f"column {column.name!r}, row {where + 1} is empty or NaN: fill it, ignore the column, "
            "or have empty cells imputed with missing=mean"
        )


def _left_out(name: str, why: str, notices: list[str] | None) -> None:
    notice(f"column {name!r} {why} and is left out", notices)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _compact(values: NDArray[Any]) -> Any:
    """Return a mostly empty column as CSC, so that thousands of them fit in memory."""
    return sp.csc_array(values) if np.count_nonzero(values) < SPARSE_BELOW * values.size else values


def _dense(values: Any) -> Any:
    return values.toarray() if sp.issparse(values) else values


def _assemble(blocks: list[Block], n_rows: int) -> Any:
    """Put the blocks side by side: CSR if large and mostly zeros, dense otherwise."""
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
