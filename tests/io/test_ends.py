"""The two ends of an edge are found by the names of their columns, or by what the first rows hold."""

import polars as pl
import pytest

from hopsight.io.edges import find_ends, state_ends


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["w", "From ID", "to-id"], ("From ID", "to-id")),
        (["PAYER", "payee", "Amount"], ("PAYER", "payee")),
        (["Datum", "Auftraggeber", "Empfänger"], ("Auftraggeber", "Empfänger")),
        (["amount.value", "sender.id", "receiver.id"], ("sender.id", "receiver.id")),
        (["Date", "Card Number", "Merchant Name"], ("Card Number", "Merchant Name")),
    ],
)
def test_known_names(names: list[str], ends: tuple[str, str]) -> None:
    assert find_ends(names, None, None) == ends


def test_columns_of_dates_amounts_and_flags_are_no_ends() -> None:
    frame = pl.DataFrame(
        {"day": ["2024-05-31", "2024-06-01"], "sum": ["1,50", "2,75"], "rate": [0.5, 1.5], "ok": [True, False],
         "empty": pl.Series([None, None], dtype=pl.String), "left": [7, 8], "right": ["x", "y"]}
    )  # fmt: skip
    assert find_ends(frame.columns, None, None, head=frame.select) == ("left", "right")
    assert find_ends(frame.columns, "day", None, head=frame.select)[0] == "day"  # whoever names a column means it


def test_the_guess_is_stated_unless_it_is_obvious() -> None:
    notices: list[str] = []
    state_ends(("source", "target"), (None, None), notices)
    state_ends(("a", "b"), ("a", "b"), notices)
    assert notices == []
    state_ends(("a", "b"), (None, None), notices)
    assert notices == ["Read edges from column 'a' to column 'b'."]
