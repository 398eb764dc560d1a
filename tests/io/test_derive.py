"""Derived attributes, by hand: what nodes sent and received."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hopsight.io.derive import EdgeRows, derive, parse_derive, usual

# node 0 pays 1 twice (10 and 60) and 2 once (20); node 3 pays 2 once (-8); node 4 has no rows
ROWS = EdgeRows(
    np.array([0, 0, 0, 3]),
    np.array([1, 1, 2, 2]),
    numbers=[pl.Series("amount", [10.0, 60.0, 20.0, -8.0])],
    times=[pl.Series("day", [1.0, 2.0, 5.0, None])],
    categories=[pl.Series("how", ["cash", "card", "cash", "card"])],
)


def column(kind: str, name: str) -> list[float]:
    matrix, names = derive(ROWS, 5, [kind])
    return matrix[:, names.index(name)].tolist()


def test_amounts_sent_and_received_are_summarized() -> None:
    assert column("sent", "amount sent, median") == [20.0, 6.0, 6.0, -8.0, 6.0]  # others get the median of 20 and -8
    assert column("sent", "amount sent, mean") == [30.0, 11.0, 11.0, -8.0, 11.0]
    assert column("received", "amount received, median") == [20.5, 35.0, 6.0, 20.5, 20.5]
    assert column("sent", "amount sent, share negative") == [0.0, 0.5, 0.5, 1.0, 0.5]
    assert column("sent", "edges sent, log count") == np.log1p([3, 0, 0, 1, 0]).tolist()


def test_categories_become_shares() -> None:
    assert column("sent", "how sent, share cash") == [2 / 3, 1 / 3, 1 / 3, 0.0, 1 / 3]


def test_what_depends_on_the_count_is_compared_with_nodes_of_the_same_count() -> None:
    rows = EdgeRows(
        np.array([0, 1, 2, *[3] * 4, *[4] * 4]),
        np.array([5, 5, 5, *[5, 6] * 4]),
        numbers=[pl.Series("amount", [1.0, 2.0, 9.0, 1.0, 2.0, 3.0, 50.0, 0.0, 1.0, 2.0, 90.0])],
    )
    matrix, names = derive(rows, 7, ["sent"])
    largest = matrix[:, names.index("amount sent, maximum for its count")]
    assert largest[:5].tolist() == [-1.0, 0.0, 7.0, -20.0, 20.0]  # 50 and 90 are ordinary for four rows


def test_times_have_gaps_and_bursts() -> None:
    source = np.array([0] * 4 + [1] * 4)
    times = pl.Series("t", [0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 9.0])
    matrix, names = derive(EdgeRows(source, source + 2, times=[times]), 4, ["sent"])
    gaps, bursts = (
        matrix[:2, names.index(f"t sent, {name} for its count")] for name in ("log median gap", "burstiness")
    )
    np.testing.assert_allclose(np.diff(gaps), [-np.log(2.0)])  # gaps 1, 1, 1 against 0, 0, 9
    deviation = np.std([0, 0, 9])
    np.testing.assert_allclose(np.diff(bursts), [(deviation - 3) / (deviation + 3) + 1])


def test_names_of_times_say_their_unit() -> None:
    times = pl.Series("t", [0.0, 1.0, 5.0])
    rows = EdgeRows(np.array([0, 1, 2]), np.array([1, 2, 0]), times=[times], units={"t": " in days"})
    assert "t sent, first in days for its count" in derive(rows, 3, ["sent"])[1]
    assert any(" in days " in name for name in derive(replace(rows, directed=False), 3, ["sent"])[1])


def test_columns_that_say_nothing_new_are_left_out() -> None:
    _, names = derive(ROWS, 5, ["structure", "sent", "received"])
    assert len(set(names)) == len(names)
    assert not any(np.ptp(values) == 0 for values in derive(ROWS, 5, ["structure", "sent", "received"])[0].T)
    once = EdgeRows(np.array([0, 1, 1]), np.array([1, 2, 3]))
    _, names = derive(once, 4, ["structure", "sent", "received"])
    assert "edges sent, log count" in names
    assert "out-degree, log" not in names  # the same numbers


def test_usual_values_are_interpolated_between_counts() -> None:
    counts = np.array([1.0, 1.0, 1.0, 16.0, 4.0])
    assert usual(np.array([1.0, 2.0, 9.0, 10.0, np.nan]), counts).tolist() == [2.0, 2.0, 2.0, 10.0, 6.0]
    assert usual(np.full(2, np.nan), np.ones(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("given", ["sent,structure", ["structure", "sent"], " structure , sent "])
def test_kinds_are_read_in_any_form(given: object) -> None:
    assert parse_derive(given) == ("structure", "sent")  # type: ignore[arg-type]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match=r"derive must be 'none' or some of .*, got 'sended'; did you mean sent\?"):
        parse_derive("sended")
