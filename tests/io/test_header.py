"""A header or a row of data."""

from __future__ import annotations

import pytest

from hopsight.io.header import has_header


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,x\na,1\nb,2", True),
        ("id,x", True),
        ("7,8", False),
        ("7,0.5\n8,1.5", False),
        ("source,target\nann,bo\nbo,cy", True),
        ("ann,bo\nbo,cy", False),
        ("ann,bo,7.5\ncy,dee,8", False),
        ("ann,bo,2010-05-01,x\ncy,dee,2010-05-02,y", True),  # nothing tells it from names
        ("country,2019,2020\nNO,1,2", True),
        ("2019,2020\n1,2", False),
        (",age\nann,31\nbo,42", True),
        ("name,city\nann,Oslo\nbo,Oslo", True),
        ("id,note\n1,id\n2,note", True),
        ("user,item\n1,1\n2,1", True),
    ],
)
def test_rows_below_decide(text: str, expected: bool) -> None:
    assert has_header([line.split(",") for line in text.split("\n")]) is expected
