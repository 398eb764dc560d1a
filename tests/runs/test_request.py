"""A request survives its record, and a damaged record is refused."""

from __future__ import annotations

import dataclasses
import json

import pytest

from hopsight.runs.request import Request, Source


def test_every_field_of_a_request_survives_the_record() -> None:
    source = Source(path="e", nodes="n", directed=True, label="l", ignore=("a", "b"), missing="mean")
    request = Request(
        source=source, detector="lof", settings={"contamination": "0.2"}, memory_limit="8GB", top=3, repeat=5
    )
    written = json.loads(json.dumps(dataclasses.asdict(request)))
    assert Request.from_record({"request": written}) == request


@pytest.mark.parametrize("record", [{}, {"request": {}}, {"request": {"source": {"x": 1}}}, {"request": 3}])
def test_a_record_without_a_request_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="how to repeat"):
        Request.from_record(record)
