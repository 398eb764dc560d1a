"""Explanations are plain, unchangeable values."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from hopsight.explain import explain


def test_an_explanation_cannot_be_changed(fitted: Any) -> None:
    reasons = explain(fitted, "hub")
    with pytest.raises(dataclasses.FrozenInstanceError):
        reasons.score = 0.0  # type: ignore[misc]


def test_to_dict_holds_every_neighbor_whatever_is_printed(fitted: Any) -> None:
    plain = explain(fitted, "hub", top=1).to_dict()
    assert [row["node"] for row in plain["neighbors"]] == ["c", "a", "d", "b"]
    assert len(plain["attributes"]) == 1
    assert plain["summary"].startswith("Ranks 1 of 6 (flagged).")
