"""Five kinds of evidence: each by hand, as tails that keep magnitude, and combined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hopsight.detectors.tails import Tail
from hopsight.hcm.evidence import (
    DEFAULT_EVIDENCE,
    KINDS,
    NodeBaseline,
    NodeFeatures,
    activity,
    combine,
    lockstep,
    misfit,
    outlier,
    raw_evidence,
    ring,
    strengths,
)

BY_HAND = NodeFeatures(
    degrees=np.array([4, 1, 0]),
    edge_means=np.array([[2.0, 1.0, np.nan], [0.9, 0.5, np.nan]]),
    strangers=np.array([8.0, 0.0, 0.0]),
    lookalikes=np.array([2.0, 0.5, 0.0]),
    deviation=np.array([1.0, 2.0, 7.0]),
    residual=np.array([-0.5, 0.25, -3.0]),
)
LAWS = NodeBaseline(
    means=np.array([[1.0, 0.0, 4.0], [0.5, 0.04 * 7 / 3, 0.0]]),
    lines=np.array([[0.5, 1.0], [0.25, 0.0]]),
    tails=np.zeros((5, 5)),
    counts=np.ones(5),
)


def ordinary(rng: np.random.Generator, n: int = 2_000) -> NodeFeatures:
    degrees = rng.integers(1, 30, n)
    means = np.array([2.0, 0.5])[:, None] + rng.standard_normal((2, n)) / np.sqrt(degrees)
    return NodeFeatures(
        degrees,
        means,
        rng.exponential(size=n) * degrees / 20,
        rng.exponential(size=n) * degrees / 20,
        1.0 + 0.1 * rng.standard_normal(n),
        0.3 * rng.standard_normal(n),
    )


def test_misfit_by_hand() -> None:
    """Node 0 has 4 edges, so A is divided by 7/3, and z = 1 and 2; node 1 lies in the middle."""
    np.testing.assert_allclose(misfit(BY_HAND, LAWS), [1.5, 0.0, np.nan])


def test_unequal_weights_widen_the_standard_error_of_misfit() -> None:
    """Weights 3, 1, 1 and 1 are worth 6² / 12 = 3 edges: z(hop) = 1 / √(4/3), not 1, and A is divided by 2."""
    weighted = replace(BY_HAND, effective=np.array([3.0, 1.0, 0.0]))
    hop, unlike = 1.0 / np.sqrt(4.0 / 3.0), 0.4 / np.sqrt(0.14 / 3)
    np.testing.assert_allclose(misfit(weighted, LAWS), [(hop + unlike) / 2, 0.0, np.nan])


def test_a_graph_without_triangles_has_no_ring_and_no_lockstep_evidence(rng: np.random.Generator) -> None:
    nodes = replace(ordinary(rng), strangers=np.zeros(2_000), lookalikes=np.zeros(2_000))
    notices: list[str] = []
    assert not nodes.have_triangles(notices)
    assert "ring and lockstep evidence is not available" in notices[0]
    usual = NodeBaseline.fit(nodes, triangles=False)
    found = strengths(nodes, usual)
    assert not found["ring"].any() and not found["lockstep"].any() and found["misfit"].any()
    three = ("misfit", "outlier", "activity")
    np.testing.assert_array_equal(combine(found, DEFAULT_EVIDENCE)[0], combine(found, three)[0])


def test_ring_and_lockstep_by_hand() -> None:
    """√(2T / degree) minus the line at log degree."""
    np.testing.assert_allclose(ring(BY_HAND, LAWS), [2.0 - 0.5 - np.log(4.0), -0.5, np.nan])
    np.testing.assert_allclose(lockstep(BY_HAND, LAWS), [0.75, 0.75, np.nan])


def test_outlier_and_activity_by_hand() -> None:
    assert outlier(BY_HAND, LAWS).tolist() == [1.0, 2.0, 7.0]
    assert activity(BY_HAND, LAWS).tolist() == [0.5, 0.25, 3.0]


def test_evidence_is_the_cautious_tail_and_half_of_the_nodes_are_as_unusual_as_the_middle(
    rng: np.random.Generator,
) -> None:
    nodes = ordinary(rng)
    usual = NodeBaseline.fit(nodes)
    found, raw = strengths(nodes, usual), raw_evidence(nodes, usual)
    for number, kind in enumerate(KINDS):
        tail = Tail(*usual.tails[number]).surprise(raw[kind]) / np.log(10.0)
        np.testing.assert_allclose(found[kind], tail)
        middle = np.abs(raw[kind] - np.median(raw[kind])).argmin()
        assert found[kind][middle] == pytest.approx(np.log10(2.0), rel=0.05)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("misfit", "edge_means", 5.0), ("ring", "strangers", 90.0), ("outlier", "deviation", 3.0),
        ("activity", "residual", 4.0), ("activity", "residual", -4.0), ("lockstep", "lookalikes", 90.0),
    ],
)  # fmt: skip
def test_each_feature_raises_its_own_evidence_and_no_other(
    kind: str, field: str, value: float, rng: np.random.Generator
) -> None:
    nodes = ordinary(rng)
    nodes.degrees[0] = 9
    usual = NodeBaseline.fit(nodes)
    before = strengths(nodes, usual)
    changed: Any = getattr(nodes, field).copy()
    changed[..., 0] = value
    after = strengths(replace(nodes, **{field: changed}), usual)
    assert after[kind][0] > max(3.0, before[kind][0])
    assert all(after[other][0] == before[other][0] for other in KINDS if other != kind)


def test_a_few_anomalies_do_not_hide_each_other(rng: np.random.Generator) -> None:
    """The usual are those of the bulk: forty hubs of strangers among 2,000 nodes are as unusual as one."""
    nodes = ordinary(rng)
    alone, crowd = nodes.deviation.copy(), nodes.deviation.copy()
    alone[0], crowd[:40] = 3.0, 3.0
    scores = []
    for deviation in (alone, crowd):
        changed = replace(nodes, deviation=deviation)
        scores.append(strengths(changed, NodeBaseline.fit(changed))["outlier"][0])
    assert scores[1] > 0.7 * scores[0]


def test_chosen_kinds_add_up_and_the_strongest_decides() -> None:
    evidence = {"misfit": np.array([3.0, 5.0]), "ring": np.array([5.0, 0.0]), "lockstep": np.array([9.0, 9.0])}
    scores, decided = combine(evidence, ("ring", "misfit"))
    assert scores.tolist() == [5.0, 5.0] and decided.tolist() == [0, 1]


def test_a_node_without_edges_is_judged_by_what_it_has(rng: np.random.Generator) -> None:
    nodes = ordinary(rng)
    means = nodes.edge_means.copy()
    means[:, 0] = np.nan
    nodes.degrees[0], nodes.deviation[0], nodes.strangers[0], nodes.lookalikes[0] = 0, 4.0, 0.0, 0.0
    alone = replace(nodes, edge_means=means)
    usual = NodeBaseline.fit(alone)
    assert np.isfinite(usual.means).all() and np.isfinite(usual.tails).all()
    found = strengths(alone, usual)
    assert [found[kind][0] for kind in ("misfit", "ring", "lockstep")] == [0.0] * 3
    assert combine(found, DEFAULT_EVIDENCE)[1][0] == DEFAULT_EVIDENCE.index("outlier")
