"""Decide what a table column holds: one rule, with its messages, for every engine that reads tables.

A column is summarized first. Summaries add up, so an engine that sees a column in pieces reaches the same decision
as one that holds all of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import option, plural, shortened
from hopsight.io.dates import (
    SECONDS_PER_DAY,
    SINCE_1970,
    SLASHED,
    ambiguous_date,
    are_dates,
    are_slashed,
    as_seconds,
)
from hopsight.io.notices import notice
from hopsight.io.roles import LEAST_ROWS, is_truth_name
from hopsight.io.written import WRITTEN, are_written, as_numbers, plain_numbers
from hopsight.system.lazy_polars import pl

MAX_CATEGORIES = 50
MISSING = ("fill", "refuse", "mean")
MISSING_CATEGORY = "(missing)"
EMPTY_NUMBERS = (
    "",
    "na",
    "n/a",
    "#n/a",
    "nan",
    "null",
    "(null)",
    "none",
    "-",
    "--",
    "\\n",
)  # what people and programs write into an empty number cell
OTHER_CATEGORY = "(other)"
UNLABELED = (*EMPTY_NUMBERS, "unknown", "unlabeled", "unlabelled", "?")  # words for a node without ground truth
BOOLEANS = {"true": 1.0, "false": 0.0}


class Cell(NamedTuple):
    """A cell to name in a message: its row, counted from 0, and its value as text."""

    row: int
    value: str


class Flags(NamedTuple):
    """The values that a column of flags may hold, in lower case, and how a message lists them."""

    values: dict[str, int]
    choices: str


def _flags(low: int, high: int, choices: str) -> Flags:
    numbers = {f"{number}{zero}": number for number in range(low, high + 1) for zero in ("", ".0")}
    unlabeled = dict.fromkeys(UNLABELED, -1) if low < 0 else {}
    return Flags({"false": 0, "true": 1, "no": 0, "yes": 1} | unlabeled | numbers, choices)


LABELS = _flags(-1, 1, "0 or 1 (or true or false, yes or no), or -1, blank or unknown for an unlabeled node")
KINDS = _flags(0, 3, "a whole number from 0 to 3")


@dataclass(frozen=True)
class Summary:
    """Facts about a part of a column; ``a + b`` is the summary of both parts together.

    Fields called ``n_…`` and ``total`` add up, those called ``all_…`` must hold for both parts, of those called
    ``first_…`` the earlier cell remains, and ``lowest`` and ``highest`` are those of both parts.
    """

    def __add__(self, other: Self) -> Self:
        merged: dict[str, Any] = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if field.name.startswith("all_"):
                merged[field.name] = mine and theirs
            elif field.name in ("lowest", "highest"):
                merged[field.name] = (min if field.name == "lowest" else max)(mine, theirs)
            elif field.name.startswith("first_"):
                merged[field.name] = min((cell for cell in (mine, theirs) if cell is not None), default=None)
            else:
                merged[field.name] = mine + theirs
        return type(self)(**merged)


@dataclass(frozen=True)
class NumberSummary(Summary):
    """Facts about a column of numbers, in which null and NaN are empty cells."""

    n_known: int
    n_empty: int
    total: float
    first_empty: Cell | None
    first_infinite: Cell | None
    all_whole: bool
    lowest: float
    highest: float

    @classmethod
    def of(cls, numbers: pl.Series, rows: NDArray[np.int64] | None = None) -> Self:
        """Summarize floating-point numbers; ``rows`` are their positions in the table if they are a part of it."""
        empty = numbers.is_null() | numbers.is_nan().fill_null(True)
        known = numbers.filter(~empty).to_numpy()
        return cls(
            n_known=known.size,
            n_empty=int(empty.sum()),
            total=float(known[np.isfinite(known)].sum()),
            first_empty=first_cell(empty, rows),
            first_infinite=first_cell(numbers.is_infinite().fill_null(False), rows),
            all_whole=are_whole(known),
            lowest=float(known.min(initial=np.inf)),
            highest=float(known.max(initial=-np.inf)),
        )

    @property
    def mean(self) -> float:
        """Mean of the known numbers."""
        return self.total / self.n_known

    @property
    def may_be_gapless(self) -> bool:
        """Whether the numbers may count the rows, if no two are the same."""
        return self.all_whole and self.n_known >= 2 * LEAST_ROWS and self.highest - self.lowest == self.n_known - 1


@dataclass(frozen=True)
class TextSummary(Summary):
    """Facts about a column of text: how much of it reads as numbers, as booleans, as numbers with a comma."""

    n_numbers: int
    n_text: int
    n_empty: int
    first_text: Cell | None
    first_comma: Cell | None
    first_empty: Cell | None
    all_parsed: bool  # every cell is a number as it stands, "nan" included
    all_booleans: bool
    all_dates: bool
    all_day_first: bool
    all_month_first: bool
    all_point_numbers: bool  # 1,234.56 and the like, with a currency or not
    all_comma_numbers: bool  # 1.234,56 and the like

    @classmethod
    def of(cls, column: pl.Series, rows: NDArray[np.int64] | None = None) -> Self:
        """Summarize text; ``rows`` are the positions of the cells in the table if they are a part of it."""
        words = column.str.strip_chars()
        lower = words.str.to_lowercase()
        numbers = words.cast(pl.Float64, strict=False)
        no_number = lower.is_in(EMPTY_NUMBERS).fill_null(True)
        is_text = numbers.is_null() & ~no_number
        empty = words.is_null() | (words == "").fill_null(True)
        plain = plain_numbers(words.filter(is_text))
        return cls(
            n_numbers=int((numbers.is_not_null() & ~no_number).sum()),
            n_text=int(is_text.sum()),
            n_empty=int(empty.sum()),
            first_text=first_cell(is_text, rows, column),
            first_comma=first_cell(words.str.contains(",", literal=True).fill_null(False), rows, words),
            first_empty=first_cell(empty, rows),
            all_parsed=not column.cast(pl.Float64, strict=False).null_count(),
            all_booleans=bool(lower.is_in([*BOOLEANS, ""]).fill_null(True).all()),
            all_dates=are_dates(words),
            all_day_first=are_slashed(words.drop_nulls(), "day-first dates"),
            all_month_first=are_slashed(words.drop_nulls(), "month-first dates"),
            all_point_numbers=are_written(plain, "."),
            all_comma_numbers=are_written(plain, ",") and are_written(words.filter(~is_text & ~no_number), ","),
        )


TextKind = Literal[
    "numbers", "booleans", "dates", "day-first dates", "month-first dates", "point numbers", "comma numbers"
]  # fmt: skip


def text_kind(name: str, summary: TextSummary) -> TextKind | Literal["categories", "empty"]:
    """Return what a text column holds.

    Raises
    ------
    ValueError
        If some cells of a column of numbers are text, or if numbers are written with a comma that may mean two
        things, as in 1,234: as categories they would say nothing.
    """
    if summary.all_parsed or (summary.n_numbers and not summary.n_text):
        return "numbers"
    if not summary.n_text:
        return "empty"
    if summary.all_point_numbers and summary.all_comma_numbers and summary.first_comma is not None:
        raise ValueError(
            f"{_place(name, summary.first_comma)}: {_value(summary.first_comma)} has a comma that may stand for a "
            f"decimal point or separate thousands; write numbers with a decimal point, or pass "
            f"{option('ignore', [name])}"
        )
    if summary.all_point_numbers or summary.all_comma_numbers:
        return "point numbers" if summary.all_point_numbers else "comma numbers"
    if summary.n_numbers >= summary.n_text:
        raise ValueError(
            f"{_place(name, summary.first_text)}: {_value(summary.first_text)} is not a number, unlike the rest of the "
            f"column; correct it, or pass {option('category', [name])} or {option('ignore', [name])}"
        )
    if summary.all_booleans:
        return "booleans"
    if summary.all_dates:
        return "dates"
    if summary.all_day_first and summary.all_month_first:
        raise ValueError(ambiguous_date(name, _value(summary.first_text)))
    if summary.all_day_first or summary.all_month_first:
        return "day-first dates" if summary.all_day_first else "month-first dates"
    return "categories"


def notice_written(name: str, kind: str, summary: TextSummary, notices: list[str] | None) -> None:
    """Say how numbers of a text column are read that are not written as programs write them."""
    if kind in WRITTEN:
        shown = _value(summary.first_text)
        text = shown
        with suppress(SyntaxError, ValueError):
            text = str(ast.literal_eval(shown))
        number = as_numbers(pl.Series([text]), WRITTEN[kind])[0]
        notice(f"Column {name!r}: read {shown} as {'a number' if number is None else f'{number:.12g}'}.", notices)


def text_numbers(column: pl.Series, kind: TextKind) -> pl.Series:
    """Return the numbers that a text column holds, null where it is empty; a date becomes days since 1970."""
    if is_dates(kind):
        return as_seconds(column, SLASHED.get(kind)) / SECONDS_PER_DAY
    if kind in WRITTEN:
        return as_numbers(column, WRITTEN[kind])
    words = column.str.strip_chars()
    if kind == "numbers":
        return words.cast(pl.Float64, strict=False)
    return words.str.to_lowercase().replace_strict(BOOLEANS, default=None, return_dtype=pl.Float64)


def check_numbers(
    name: str, summary: NumberSummary, missing: str, notices: list[str] | None, *, typed: bool = False
) -> None:
    """Refuse infinite numbers and, unless they are to be imputed, empty cells."""
    if summary.first_infinite is not None:
        raise ValueError(f"{_place(name, summary.first_infinite)} is infinite; attributes must be finite")
    if not summary.n_empty:
        return
    check_missing(name, summary.first_empty, missing)
    if not summary.n_known:
        raise ValueError(f"column {name!r} is empty; pass {option('ignore', [name])}")
    flagged = f" and flagged them as {missing_name(name)!r}" if missing == "fill" else ""
    filled = plural(summary.n_empty, "empty cell")
    whose = "node's type" if typed else "column"
    notice(f"Column {name!r}: filled {filled} with the mean of the {whose}{flagged}.", notices)


def check_categories(
    name: str, n_values: int, n_empty: int, first_empty: Cell | None, missing: str, notices: list[str] | None
) -> bool:
    """Return whether a column of text becomes categories; one with too many values is left out with a notice."""
    if n_values > MAX_CATEGORIES:
        leave_out(name, f"has {n_values:,} different values (more than {MAX_CATEGORIES})", notices)
        return False
    if n_empty:
        check_missing(name, first_empty, missing)
        notice(f"Column {name!r}: gave {plural(n_empty, 'empty cell')} the category {MISSING_CATEGORY}.", notices)
    return True


def ordered_categories(words: Iterable[str | None]) -> tuple[str, ...]:
    """Return the distinct categories in the order of their columns; an empty cell has a category of its own.

    >>> ordered_categories(["Oslo", None, "Bern", ""])
    ('(missing)', 'Bern', 'Oslo')
    """
    return tuple(sorted({word or MISSING_CATEGORY for word in words}))


def are_whole(numbers: NDArray[Any]) -> bool:
    """Return whether all numbers are whole and small enough to be codes or counts.

    >>> are_whole(np.array([0.0, 1.0])), are_whole(np.array([0.5])), are_whole(np.array([1e300]))
    (True, False, False)
    """
    return bool(((numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)).all())


def missing_name(name: str) -> str:
    """Return the name of the attribute that flags the empty cells of a column of numbers."""
    return f"{name}={MISSING_CATEGORY}"


def is_dates(kind: str) -> bool:
    """Return whether texts of this kind are dates."""
    return kind == "dates" or kind in SLASHED


def names_of_dates(names: Sequence[str]) -> list[str]:
    """Return the names of the attributes made from a column of dates, the first of which says what its numbers are.

    >>> names_of_dates(["opened", "opened=(missing)"])
    ['opened, days since 1970', 'opened=(missing)']
    """
    return [f"{names[0]}{SINCE_1970}", *names[1:]]


def as_days(column: pl.Series) -> pl.Series:
    """Return dates and times as days since 1970."""
    return as_seconds(column) / SECONDS_PER_DAY


def leave_out_truth(name: str, all_whole: bool, notices: list[str] | None) -> bool:
    """Return whether a column that nobody named looks like ground truth, and is left out with a notice.

    Fractions are no labels: a column ``y`` may be a coordinate.
    """
    if not all_whole or not is_truth_name(name):
        return False
    leave_out(name, "looks like ground truth", notices, f"; pass {option('label', name)} to evaluate with it")
    return True


def leave_out_row_id(name: str, notices: list[str] | None) -> None:
    """Give notice of a column that only tells rows apart."""
    leave_out(name, "only tells rows apart", notices)


def wrong_flags(column: pl.Series, flags: Flags) -> pl.Series:
    """Return which cells hold none of the values allowed."""
    return ~flag_words(column, flags).is_in(list(flags.values)).fill_null(False)


def flag_words(column: pl.Series, flags: Flags) -> pl.Series:
    """Return the cells of a column of flags in lower case; an empty cell is a blank where blanks are allowed."""
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return words.fill_null("") if "" in flags.values else words


def check_flags(name: str, first_wrong: Cell | None, flags: Flags) -> None:
    """Refuse a column of flags with a wrong cell."""
    if first_wrong is not None:
        raise ValueError(f"{_place(name, first_wrong)}: {_value(first_wrong)} is not {flags.choices}")


def check_missing(name: str, first_empty: Cell | None, missing: str) -> None:
    """Refuse an empty cell unless it is to be imputed."""
    if missing == "refuse" and first_empty is not None:
        raise ValueError(
            f"{_place(name, first_empty)} is empty or NaN; fill it in, pass {option('ignore', [name])}, or have empty "
            f"cells filled with {option('missing', 'fill')}"
        )


def leave_out(name: str, reason: str, notices: list[str] | None, advice: str = "") -> None:
    """Give notice that a column does not become an attribute."""
    notice(f"Column {name!r} {reason} and is left out{advice}.", notices)


def first_cell(mask: pl.Series, rows: NDArray[np.int64] | None = None, column: pl.Series | None = None) -> Cell | None:
    """Return the first cell where a mask holds, with its value if the column is given."""
    if not mask.any():
        return None
    position = int(mask.arg_true()[0])
    row = position if rows is None else int(rows[position])
    return Cell(row, "" if column is None else shortened(column[position]))


def _place(name: str, cell: Cell | None) -> str:
    return f"column {name!r}" if cell is None else f"column {name!r}, row {cell[0] + 1}"


def _value(cell: Cell | None) -> str:
    return "" if cell is None else cell[1]
