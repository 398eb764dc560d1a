"""The columns of an edge list: weight, time, numbers, categories, and what is left out or refused."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl
import pytest

from hopsight.io.edges import EdgeColumns, edge_columns


def sorted_in(columns: dict[str, Any], **options: Any) -> tuple[EdgeColumns, list[str]]:
    notices: list[str] = []
    frame = pl.DataFrame(columns)
    return edge_columns(frame, frame.columns, notices=notices, **options), notices


def test_every_column_finds_its_place() -> None:
    found, notices = sorted_in(
        {
            "amount": [1.5, 2.0, None],
            "When": ["2024-05-31 17:30", "2024-06-01", "2024-06-02"],
            "how": ["cash", "card", "cash"],
            "weight": [1, 2, 3],
            "hot": ["true", "false", ""],
            "label": [0, 1, 0],
            "ref": ["a1", "b2", "c3"],
            "nothing": [None, None, None],
        }
    )
    assert (found.weight, found.time) == ("weight", "When")
    assert list(found.numbers) == ["amount", "weight", "hot"]
    assert found.times["When"].to_list() == [1717176600.0, 1717200000.0, 1717286400.0]
    assert list(found.categories) == ["how"]
    assert notices == [
        "Column 'label' of the edge list looks like ground truth and is left out.",
        "Column 'ref' only tells rows apart and is left out.",
        "Column 'nothing' has no value at all and is left out.",
        "Read column 'weight' as the weight of each edge.",
        "Read column 'When' as the time of each edge.",
    ]


def test_the_fields_of_the_edges_are_filled_and_aligned() -> None:
    found, notices = sorted_in(
        {"amount": [1.0, None, 3.0], "ts": [datetime(1970, 1, 1, 0, 1)] * 3, "speed": [4, 5, 6]}, weight_column="amount"
    )
    fields = found.edge_fields(notices)
    assert fields["edge_weight"].tolist() == [1.0, 2.0, 3.0]
    assert fields["edge_time"].tolist() == [60.0] * 3
    assert fields["edge_attributes"].tolist() == [[4.0], [5.0], [6.0]]
    assert fields["edge_attribute_names"] == ["speed"]
    assert "Column 'amount' of the edge list: filled 1 empty cell with the median, 2." in notices
    assert found.summarized()[1][0].to_list() == [pytest.approx(60.0 / 86400.0)] * 3  # dates in days


def test_a_named_column_is_used_whatever_it_is_called() -> None:
    found, notices = sorted_in({"label": [0, 1], "class": [7, 8]}, weight_column="label", category=["class"])
    assert found.weight == "label"
    assert found.categories["class"].to_list() == ["7", "8"]
    assert notices == []


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"w": ["1", "many"]}, {"weight_column": "w"}, "column 'w', row 2: 'many' is not a number, so no weight"),
        ({"t": ["2024-05-31", "soon"]}, {"time_column": "t"}, "column 't', row 2: 'soon' is not a time; write numbers"),
        ({"x": [1.0, float("inf")]}, {}, "column 'x', row 2 is infinite"),
        ({"x": ["1", "2", "n.a."]}, {}, r"column 'x', row 3: 'n.a.' is not a number.*category=\['x'\] or ignore="),
    ],
)
def test_cells_that_do_not_fit_are_refused(columns: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sorted_in(columns, **options)


@pytest.mark.parametrize(
    ("times", "units"),
    [
        (["2024-03-01", "2024-03-05"], {"timestamp": " in days"}),
        ([1709251200, 1709596800], {"timestamp": " in seconds"}),
        ([1, 2], {}),  # whatever they count
    ],
)
def test_the_unit_of_times_is_known_or_not(times: list[Any], units: dict[str, str]) -> None:
    assert sorted_in({"timestamp": times})[0].units == units
