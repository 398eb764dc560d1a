"""The rules about columns: parts that add up to the whole, and one decision for both engines."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopsight.io.rules import (
    KINDS,
    LABELS,
    Cell,
    NumberSummary,
    TextSummary,
    check_categories,
    check_flags,
    check_numbers,
    first_cell,
    leave_out_truth,
    ordered_categories,
    text_kind,
    text_numbers,
    wrong_flags,
)

CELLS = st.sampled_from(["1", " 2.5", "-3e2", "nan", "NA", "", None, "true", "False", "1,5", "Oslo", "7 apples"])
NUMBERS = st.sampled_from([0.0, 1.0, 2.5, np.nan, np.inf, None])


@settings(max_examples=80, deadline=None)
@given(cells=st.lists(CELLS, min_size=2, max_size=12), data=st.data())
def test_the_parts_of_a_text_column_add_up_to_the_whole(cells: list[str | None], data: Any) -> None:
    column = pl.Series("x", cells, dtype=pl.String)
    cut = data.draw(st.integers(1, len(cells) - 1))
    rows = np.arange(len(cells))
    parts = TextSummary.of(column[:cut], rows[:cut]) + TextSummary.of(column[cut:], rows[cut:])
    assert parts == TextSummary.of(column)


@settings(max_examples=80, deadline=None)
@given(
    numbers=st.lists(st.sampled_from([0.0, 1.0, 2.5, np.nan, np.inf, None]), min_size=2, max_size=12), data=st.data()
)
def test_the_parts_of_a_number_column_add_up_to_the_whole(numbers: list[float | None], data: Any) -> None:
    column = pl.Series("x", numbers, dtype=pl.Float64)
    cut = data.draw(st.integers(1, len(numbers) - 1))
    rows = np.arange(len(numbers))
    parts = NumberSummary.of(column[:cut], rows[:cut]) + NumberSummary.of(column[cut:], rows[cut:])
    assert parts == NumberSummary.of(column)


def test_a_summary_survives_json() -> None:
    summary = TextSummary.of(pl.Series("x", ["1,5", "a", None]))
    again = TextSummary(**json.loads(json.dumps(asdict(summary))))
    assert text_kind("x", again + again) == "categories"
    assert tuple(again.first_comma or ()) == summary.first_comma


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e2"], "numbers"),
        ([" 1", "", "NA"], "numbers"),
        (["nan", "nan"], "numbers"),
        (["true", "False", ""], "booleans"),
        (["a", "7", "b"], "categories"),
        (["1,5", "a,b", "2,5"], "categories"),
        (["", "n/a", None], "empty"),
    ],
)
def test_what_a_text_column_holds(cells: list[str | None], kind: str) -> None:
    assert text_kind("x", TextSummary.of(pl.Series("x", cells, dtype=pl.String))) == kind


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ["31", "42", "many"],
            "column 'x', row 3: 'many' is not a number, unlike the rest of the column; correct it, or pass "
            "category=['x'] or ignore=['x']",
        ),
        (
            ["", "1,500", "2,500"],
            "column 'x', row 2: '1,500' has a comma that may stand for a decimal point or separate thousands; write "
            "numbers with a decimal point, or pass ignore=['x']",
        ),
    ],
)
def test_text_among_numbers_and_doubtful_commas_are_refused(cells: list[str], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        text_kind("x", TextSummary.of(pl.Series("x", cells)))
    assert str(caught.value) == message


def test_text_becomes_numbers() -> None:
    assert text_numbers(pl.Series([" 1", "NA", "2.5"]), "numbers").to_list() == [1.0, None, 2.5]
    assert text_numbers(pl.Series(["TRUE", "", "false "]), "booleans").to_list() == [1.0, None, 0.0]


def test_numbers_are_checked_and_empty_cells_counted() -> None:
    summary = NumberSummary.of(pl.Series([1.0, None, 3.0, np.nan]))
    assert (summary.mean, summary.n_empty, summary.first_empty) == (2.0, 2, Cell(1, ""))
    notices: list[str] = []
    check_numbers("x", summary, "mean", notices)
    assert notices == ["Column 'x': filled 2 empty cells with the mean of the column."]
    with pytest.raises(ValueError, match="column 'x', row 2 is empty or NaN; fill it in, pass ignore="):
        check_numbers("x", summary, "refuse", notices)
    with pytest.raises(ValueError, match="column 'x' is empty; pass ignore="):
        check_numbers("x", NumberSummary.of(pl.Series([None, np.nan], dtype=pl.Float64)), "mean", notices)
    with pytest.raises(ValueError, match="column 'x', row 2 is infinite"):
        check_numbers("x", NumberSummary.of(pl.Series([1.0, np.inf])), "mean", notices)


def test_categories_are_few_sorted_and_have_one_for_empty_cells() -> None:
    notices: list[str] = []
    assert check_categories("x", 50, 1, Cell(3, ""), "mean", notices)
    assert not check_categories("x", 51, 0, None, "refuse", notices)
    assert notices == [
        "Column 'x': gave 1 empty cell the category (missing).",
        "Column 'x' has 51 different values (more than 50) and is left out.",
    ]
    with pytest.raises(ValueError, match="row 4 is empty"):
        check_categories("x", 3, 1, Cell(3, ""), "refuse", notices)
    assert ordered_categories(["b", "", None, "a", "b"]) == ("(missing)", "a", "b")


def test_what_looks_like_ground_truth_is_left_out_unless_it_holds_fractions() -> None:
    notices: list[str] = []
    assert leave_out_truth(" isFraud ", True, notices)
    assert not leave_out_truth("y", False, notices)
    assert not leave_out_truth("age", True, notices)
    assert notices == [
        "Column ' isFraud ' looks like ground truth and is left out; pass label=' isFraud ' to evaluate with it."
    ]


def test_flags_out_of_range_are_found() -> None:
    column = pl.Series("y", ["-1", "True", "2", None])
    assert wrong_flags(column, LABELS).to_list() == [False, False, True, False]
    assert wrong_flags(column, KINDS).to_list() == [True, False, False, True]
    check_flags("y", None, LABELS)
    with pytest.raises(ValueError, match="column 'y', row 3: '2' is not 0 or 1"):
        check_flags("y", first_cell(wrong_flags(column, LABELS), column=column), LABELS)


def test_the_first_cell_is_named_by_its_row_in_the_table() -> None:
    mask = pl.Series([False, True, True])
    assert first_cell(mask, np.array([10, 11, 12]), pl.Series(["a", "b", "c"])) == Cell(11, "'b'")
    assert first_cell(pl.Series([False])) is None


@pytest.mark.parametrize(
    ("words", "days"),
    [(["02/01/1970", "31/01/1970"], [1.0, 30.0]), (["01/02/1970 12:00", "", "1/31/1970"], [1.5, None, 30.0])],
)
def test_dates_with_slashes_are_read_in_the_order_that_some_row_decides(
    words: list[str], days: list[float | None]
) -> None:
    column = pl.Series("when", words)
    kind = text_kind("when", TextSummary.of(column))
    assert kind in ("day-first dates", "month-first dates")
    assert text_numbers(column, kind).to_list() == days


def test_dates_with_slashes_that_no_row_decides_are_refused() -> None:
    with pytest.raises(ValueError, match="may have its day or its month first, and no row decides; write dates as"):
        text_kind("when", TextSummary.of(pl.Series("when", ["01/02/2024", "03/04/2024"])))
