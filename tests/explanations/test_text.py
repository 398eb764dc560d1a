"""Numbers, names and tables as text."""

from __future__ import annotations

import pytest

from hopsight.explanations.text import aligned, fixed, percent, printable


@pytest.mark.parametrize(("value", "text"), [(0.0, "0%"), (98.99, "98%"), (99.56, "99.5%"), (99.999, "99.9%")])
def test_a_percentage_never_rounds_up_to_everything(value: float, text: str) -> None:
    assert percent(value) == text


def test_unknown_numbers_are_a_dash() -> None:
    assert (fixed(None, 2), fixed(1.005, 1)) == ("–", "1.0")


def test_control_and_direction_characters_are_escaped() -> None:
    assert printable("a\nb\u202e") == "a\\nb\\u202e"


def test_columns_are_aligned_under_their_header() -> None:
    assert list(aligned(("node", "hops"), [["a", "10.5"], ["longer", "2"]])) == [
        "  node    hops",
        "  a       10.5",
        "  longer     2",
    ]
