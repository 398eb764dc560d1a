"""Sentences about kinds of evidence."""

from __future__ import annotations

import pytest

from hopsight.explanations.evidence import (
    MEANINGS,
    Companions,
    OwnValue,
    activity_sentence,
    companions_sentence,
    outlier_sentence,
)
from hopsight.hcm.evidence import KINDS


def test_every_kind_has_a_meaning() -> None:
    assert tuple(MEANINGS) == KINDS


def test_an_outlier_is_explained_by_its_three_most_unusual_values() -> None:
    values = [OwnValue("income", 250_000.0, 99.85, 0.0), OwnValue("city", "Rome", share=0.004)]
    values += [OwnValue("age", 3.0, 0.0, 98.0), OwnValue("left out", 1.0, 95.0, 0.0)]
    assert outlier_sentence(values) == (
        "Its own attributes are unusual: income 250,000: higher than for 99.8% of nodes; city Rome: as for 0.4% of "
        "nodes; age 3: lower than for 98% of nodes."
    )
    assert "none of them is unusual by itself" in outlier_sentence([])


def test_one_payment_is_told_once_and_by_its_amount() -> None:
    values = [OwnValue(f"Amount sent, {what} for its count", 46_712.8, 99.6, 0.0) for what in ("minimum", "maximum")]
    values += [OwnValue(f"Amount sent, {what}", 48_900.0, 99.6, 0.0) for what in ("mean", "median")]
    values += [OwnValue("Date sent, first in days for its count", 12.25, 98.0, 1.0)]
    assert outlier_sentence(values) == (
        "Its own attributes are unusual: Amount sent, mean 48,900: higher than for 99.6% of nodes; Date sent, first: "
        "12 days later than usual for as many edges, later than for 98% of nodes."
    )


@pytest.mark.parametrize(
    ("degree", "expected", "sentence"),
    [
        (41, 6.2, "Has 41 edges; nodes with such attributes have about 6."),
        (1, 1.26, "Has 1 edge; nodes with such attributes have about 1.3."),
        (0, 5000.0, "Has no edges; nodes with such attributes have about 5,000."),
        (41, None, "Has 41 edges, more than 97% of nodes."),
    ],
)
def test_activity_is_compared_with_what_is_expected(degree: int, expected: float | None, sentence: str) -> None:
    assert activity_sentence(degree, expected, 97.0, 10_000) == sentence


def test_no_more_edges_are_expected_than_a_node_can_have() -> None:
    assert activity_sentence(35, 532.4, 93.0, 281) == "Has 35 edges; its attributes would suit a node with far more."


def test_the_members_of_a_ring_and_of_a_lockstep_group_are_named() -> None:
    ring = Companions("ring", ("b", "c\n"), 3, 0.93)
    assert companions_sentence("ring", ring) == (
        "It belongs to a ring of 3 nodes that look far apart, 93% of whose pairs are connected (group 3): with b and "
        "c\\n."
    )
    many = Companions("lockstep", tuple("abcdefgh"), 1, 1.0)
    assert companions_sentence("lockstep", many).startswith("It belongs to a lockstep group of 9 near-copies")
    assert companions_sentence("lockstep", many).endswith("with a, b, c, d, e, f and 2 more.")
    loose = Companions("lockstep", ("b", "c"))
    assert companions_sentence("lockstep", loose) == "Its edges close triangles of near-copies with b and c."
    assert companions_sentence("ring", None) == "Its edges close triangles of nodes that look far apart."
