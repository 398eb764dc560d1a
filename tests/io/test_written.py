"""Numbers as people write them, with either decimal mark."""

import polars as pl
import pytest

from hopsight.io.rules import are_written, as_numbers, plain_numbers


@pytest.mark.parametrize(
    ("text", "mark", "number"),
    [
        ("1,234,567.5", ".", 1234567.5),
        ("1.234.567,5", ",", 1234567.5),
        ("1 234,5 kr", ",", 1234.5),
        ("1'234.50 CHF", ".", 1234.5),
        ("-£12.", ".", -12.0),
        ("(1,000)", ".", -1000.0),
        (",5", ",", 0.5),
        ("7 %", ".", 7.0),
    ],
)
def test_a_number_is_read(text: str, mark: str, number: float) -> None:
    words = pl.Series([text])
    assert are_written(plain_numbers(words), mark)
    assert as_numbers(words, mark).to_list() == [number]


@pytest.mark.parametrize("text", ["12,34,5", "1.2.3", "12 34", "USD", "%", "-", "5 apples", "1,2345.6", ""])
@pytest.mark.parametrize("mark", [".", ","])
def test_other_texts_are_no_numbers(text: str, mark: str) -> None:
    words = pl.Series([text])
    assert not are_written(plain_numbers(words), mark)
    assert as_numbers(words, mark).to_list() == [None]
