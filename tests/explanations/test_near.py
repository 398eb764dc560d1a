"""Suggestions for ids: those that begin alike first, then those spelled alike, whatever their case."""

from __future__ import annotations

from hopsight.explanations.near import near_names, no_node

NAMES = ["ACC100", "ACC101", "ACC102", "Bo", "ABC10"]


def test_an_id_that_is_not_complete_is_completed() -> None:
    assert near_names("acc10", NAMES) == ["ACC100", "ACC101", "ACC102"]
    assert near_names("CC1", NAMES)[0] in NAMES[:3]  # a part of the id


def test_nothing_is_suggested_where_nothing_is_near() -> None:
    assert near_names("zzzzzz", NAMES) == near_names("", NAMES) == []
    assert no_node("zzzzzz", []) == "there is no node 'zzzzzz' in this graph"


def test_names_are_printed_without_control_characters() -> None:
    assert no_node("a", ["a\x1b[2J"]) == r"there is no node 'a' in this graph; did you mean a\x1b[2J?"
