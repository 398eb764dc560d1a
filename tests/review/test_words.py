"""Sentences that a reader understands who has never heard of hop counts."""

from __future__ import annotations

from typing import Any

from hopsight.explanations.evidence import MEANINGS, Evidence
from hopsight.explanations.reasons import AttributeGap, Explanation, Neighbor
from hopsight.review.words import sentences


def explanation(**changes: Any) -> Explanation:
    neighbors = tuple(
        Neighbor(node, 0.1, 9, 2, 3.1, 0.1, 0.01, 0.5, unlike)
        for node, unlike in (("bob", 99.0), ("cy", 95.0), ("di", 12.0))
    )
    strengths = {"misfit": 4.0, "ring": 0.2, "outlier": 1.5, "activity": 0.1}
    values: dict[str, Any] = {
        "node": "ann", "detector": "CrossHCM", "method": None, "score": 4.0, "threshold": 2.0, "rank": 3,
        "n_nodes": 2400, "flagged": True, "judged": True, "degree": 3, "degree_percentile": 10.0,
        "neighbors": neighbors,
        "attributes": (AttributeGap("age", 16.0, 25.0, 40.0, 60.0, -4.0, 1.0),), "values": (), "without": None,
        "notes": (), "decided_by": "misfit",
        "evidence": tuple(Evidence(kind, value, True, 1.0, MEANINGS[kind]) for kind, value in strengths.items()),
    }  # fmt: skip
    return Explanation(**values | changes)


def test_reasons_are_sentences_without_hops() -> None:
    found = sentences(explanation())
    assert found == [
        "It is flagged: it looks more unusual than 99.8% of the 2,400 nodes.",
        "2 of its 3 neighbors are less like it than 90% of connected pairs are alike; bob and cy fit it least. It "
        "differs most in age: 16, while its neighbors have 25 to 60.",
        "Also, its own attributes are unusual.",
    ]
    assert not any("hop" in sentence for sentence in found)


def test_an_ordinary_node_is_called_ordinary() -> None:
    weak = tuple(Evidence(kind, 0.3, True, 1.0, MEANINGS[kind]) for kind in ("misfit", "ring"))
    found = sentences(explanation(evidence=weak, flagged=False, rank=1200))
    assert found == [
        "It is not flagged: it looks more unusual than 50% of the 2,400 nodes.",
        "Nothing about it stands out.",
    ]


def test_what_verdicts_did_to_a_score_is_said() -> None:
    assert sentences(explanation(), 0.2)[-1].endswith("raise its score by 22%.")
    assert sentences(explanation(), -0.3)[-1].endswith("lower its score by 26%.")
    assert len(sentences(explanation(), 0.01)) == 3
