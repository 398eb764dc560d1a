"""Baselines and evidence: every kind by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from hopsight.detectors.tails import Tail
from hopsight.graph import AttributedGraph
from hopsight.hcm import evidence as module
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import DEFAULT_EVIDENCE, KINDS, AttributeBaseline, EdgeBaseline, NodeBaseline, strengths


def node_means(rng: np.random.Generator, between: float, within: float, n: int = 20_000) -> tuple[np.ndarray, ...]:
    degrees = rng.integers(1, 60, n)
    spread = np.sqrt(between / (1.0 + degrees / 3.0) + within / degrees)
    return 3.0 + spread * rng.standard_normal(n), degrees


@pytest.mark.parametrize(("between", "within"), [(0.5, 2.0), (0.0, 4.0), (1.0, 0.0)])
def test_between_and_within_are_found(between: float, within: float, rng: np.random.Generator) -> None:
    """Trimming the largest 2% of squared normal deviates lowers a variance by about a tenth."""
    center, a, b = module.fit_mean_baseline(*node_means(rng, between, within))
    assert center == pytest.approx(3.0, abs=0.05)
    assert a == pytest.approx(0.9 * between, abs=0.08) and b == pytest.approx(0.9 * within, abs=0.3)


def test_a_few_anomalies_do_not_move_the_baseline(rng: np.random.Generator) -> None:
    means, degrees = node_means(rng, 0.5, 2.0)
    clean = module.fit_mean_baseline(means, degrees)
    means[:100] += 50.0
    np.testing.assert_allclose(module.fit_mean_baseline(means, degrees), clean, atol=0.15)
    assert module.mean_z(means, degrees, clean)[:100].min() > 20


def test_standard_errors_by_hand() -> None:
    """The same mean over a hundred times as many edges is ten times as sharp where nodes do not differ."""
    z = module.mean_z(np.array([5.0, 5.0, np.nan]), np.array([4, 1, 0]), np.array([1.0, 3.0, 4.0]))
    np.testing.assert_allclose(z, [4.0 / np.sqrt(3.0 / (7 / 3) + 1.0), 4.0 / np.sqrt(3.0 / (4 / 3) + 4.0), np.nan])
    hub, other = module.mean_z(np.array([2.0, 2.0]), np.array([400, 4]), np.array([1.0, 0.0, 1.0]))
    assert hub == pytest.approx(10.0 * other)


def test_the_line_by_hand() -> None:
    """Three nodes are three groups; slopes 1, 1 and 1 between them, and node 3 without edges counts for nothing."""
    degrees = np.array([1, 7, 49, 0])
    np.testing.assert_allclose(module.degree_line(np.log(np.array([2, 14, 98, 1])), degrees), [np.log(2.0), 1.0])
    assert module.degree_line(np.array([4.0, 6.0, 5.0]), np.array([3, 3, 3])).tolist() == [5.0, 0.0]
    assert module.degree_line(np.array([4.0, 1.0]), np.array([3, 0])).tolist() == [0.0, 0.0]


def test_ridges_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    """Five regressions on standardized columns, one penalty for all by cross-validation, the median residual zero."""
    columns = rng.normal(size=(300, 6)) * np.array([1.0, 5.0, 0.1, 2.0, 1.0, 1.0]) + 3.0
    columns[:, 5] = 7.0  # says nothing
    wanted = columns[:, 0] - 0.4 * columns[:, 1] + rng.normal(size=300) ** 2 + 12.0  # no prediction is below 0
    folds = rng.integers(0, 5, 300)
    spread = columns.std(axis=0)
    standard = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    errors, predictions = [], []
    for penalty in module.PENALTIES:
        predicted = np.empty(300)
        for fold in range(5):
            mine = folds == fold
            predicted[mine] = Ridge(penalty).fit(standard[~mine], wanted[~mine]).predict(standard[mine])
        errors.append(((predicted - wanted) ** 2).mean())
        predictions.append(predicted)
    best = predictions[int(np.argmin(errors))]
    usual = AttributeBaseline(columns.mean(axis=0), module.fit_ridges(columns, wanted, folds, 5))
    degrees = np.expm1(wanted - wanted.min()).round().astype(np.int64)
    found = np.log1p(degrees) - usual.residual(columns, degrees, folds)
    np.testing.assert_allclose(found, best + np.median(wanted - best), rtol=1e-8)
    assert np.median(wanted - found) == pytest.approx(0.0, abs=1e-12)


def test_a_node_has_no_part_in_its_own_prediction(rng: np.random.Generator) -> None:
    columns, degrees = rng.normal(size=(200, 3)), rng.integers(1, 20, 200)
    folds = np.arange(200) % 5
    before = AttributeBaseline.fit(columns, degrees, folds)
    changed = degrees.copy()
    changed[7] = 4_000
    after = AttributeBaseline.fit(columns, changed, folds)
    one, other = (usual.ridges[folds[7], :-1] for usual in (before, after))
    np.testing.assert_allclose(one, other, rtol=0.5)
    assert after.residual(columns, changed, folds)[7] > 5.0


def test_a_part_of_the_edges_is_the_level_of_its_graph_and_hubs_keep_their_share_of_it(
    rng: np.random.Generator,
) -> None:
    """A third of every node's edges: a hub with 300 is expected to have 100, one with 6 to have 2."""
    hub = np.arange(2_000) % 20 == 0
    columns, folds = np.column_stack([hub, rng.normal(size=2_000)]), rng.integers(0, 5, 2_000)
    degrees = rng.poisson(np.where(hub, 300.0, 6.0))
    usual = AttributeBaseline.fit(columns, degrees, folds)
    assert usual.at_level_of(columns, degrees, folds).times == 1.0
    for share in (1.0 / 3.0, 1.0 / 10.0):
        part = rng.binomial(degrees, share)
        level = usual.at_level_of(columns, part, folds)
        expected = level.expected(columns, folds)
        assert np.median(expected[hub]) == pytest.approx(300.0 * share, rel=0.25)
        assert np.median(expected[~hub]) == pytest.approx(6.0 * share, rel=0.25)
    nothing = usual.at_level_of(columns, degrees * 0, folds)
    assert np.abs(nothing.residual(columns, degrees * 0, folds)).max() < 1e-3
    assert usual.at_level_of(columns[:0], degrees[:0], folds[:0]).times == 1.0


def test_residuals_and_deviation_by_hand() -> None:
    """Nobody has less than no edges, and 9 edges vary more than 99: by √(1.1 / 1.01) on a logarithmic scale."""
    none = AttributeBaseline(np.zeros(1), np.array([[0.0, -1.0]]))
    assert none.residual(np.zeros((1, 1)), np.array([0]), np.array([0])).tolist() == [0.0]
    many = AttributeBaseline(np.zeros(1), np.array([[0.0, np.log(100.0)]]), spread=1.0)
    tenth = replace(many, times=1.0 / 11.0)
    columns, fold = np.zeros((1, 1)), np.array([0])
    assert many.expected(columns, fold) == pytest.approx(99.0) and tenth.expected(columns, fold) == pytest.approx(9.0)
    assert many.residual(columns, np.array([999]), fold) == pytest.approx(np.log(10.0))
    assert tenth.residual(columns, np.array([99]), fold) == pytest.approx(np.log(10.0) * np.sqrt(1.01 / 1.1))
    usual = AttributeBaseline(np.array([1.0, 1.0]), np.zeros((5, 3)))
    np.testing.assert_allclose(usual.deviation(np.array([[1.0, 1.0], [4.0, 5.0]])), [0.0, 5.0 / np.sqrt(2.0)])


@pytest.fixture
def features(rng: np.random.Generator) -> module.EdgeFeatures:
    return module.EdgeFeatures(rng.uniform(1, 4, 2_001), rng.exponential(size=2_001), rng.random(2_001))


def one(hop: float, surprise: float, dissimilarity: float) -> module.EdgeFeatures:
    return module.EdgeFeatures(*(np.array([value]) for value in (hop, surprise, dissimilarity)))


def test_the_middle_edge_by_hand(features: module.EdgeFeatures) -> None:
    """Rank ½: ½² of the strangeness, ½⁴ of the alikeness."""
    usual = EdgeBaseline.fit(features)
    middle = one(2.0, float(np.median(features.surprise)), float(np.median(features.dissimilarity)))
    np.testing.assert_allclose(usual.strangeness(middle), 0.25, atol=1e-3)
    np.testing.assert_allclose(usual.alikeness(middle), 1 / 16, atol=1e-3)


def test_scores_are_tails_of_both_features_together(features: module.EdgeFeatures) -> None:
    """Both features are centered on the median and divided by their distance to the quantile .8."""
    usual = EdgeBaseline.fit(features)
    both = np.zeros(2_001)
    for values in (features.surprise, features.dissimilarity):
        middle, high = np.quantile(values, [0.5, 0.8])
        both += (values - middle) / (high - middle) / 2
    np.testing.assert_allclose(usual.scores(features), Tail(*usual.tail).surprise(both) / np.log(10.0))
    assert usual.scores(one(4.0, 40.0, 1.0))[0] > usual.scores(features).max()


def test_node_means_and_triangles_by_hand() -> None:
    edges = np.array([[0, 0, 1], [1, 2, 2]])
    features = module.EdgeFeatures(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.4, 0.9]))
    usual = EdgeBaseline.fit(features)
    expected = [[1.5, 2.0, 2.5, np.nan], [0.3, 0.55, 0.65, np.nan]]
    np.testing.assert_allclose(usual.node_means(edges, features, 4), expected)
    strangers, lookalikes = usual.triangles(edges, features, 4)
    assert strangers.tolist() == lookalikes.tolist() == [0.0] * 4  # the least strange side has rank 0


def test_an_edge_counts_by_its_absolute_weight() -> None:
    edges = np.array([[0, 0, 3], [1, 2, 4]])
    features = module.EdgeFeatures(np.array([1.0, 2.0, 5.0]), np.array([0.0, 1.0, 5.0]), np.array([0.2, 0.4, 5.0]))
    usual = EdgeBaseline.fit(features)
    means = usual.node_means(edges, features, 5, np.array([3.0, -1.0, 0.0]))
    np.testing.assert_allclose(means[:, 0], [1.25, 0.25])
    np.testing.assert_allclose(means[:, 3], [5.0, 5.0])  # no weight at all: all edges alike
    same = usual.node_means(edges, features, 5, np.full(3, 7.0))
    np.testing.assert_allclose(same, usual.node_means(edges, features, 5))


BY_HAND = module.NodeFeatures(
    degrees=np.array([4, 1, 0]), edge_means=np.array([[2.0, 1.0, np.nan], [0.9, 0.5, np.nan]]),
    strangers=np.array([8.0, 0.0, 0.0]), lookalikes=np.array([2.0, 0.5, 0.0]), deviation=np.array([1.0, 2.0, 7.0]),
    residual=np.array([-0.5, 0.25, -3.0]),
)  # fmt: skip
LAWS = NodeBaseline(
    means=np.array([[1.0, 0.0, 4.0], [0.5, 0.04 * 7 / 3, 0.0]]), lines=np.array([[0.5, 1.0], [0.25, 0.0]]),
    tails=np.zeros((5, 5)), counts=np.ones(5),
)  # fmt: skip


def ordinary(rng: np.random.Generator, n: int = 2_000) -> module.NodeFeatures:
    degrees = rng.integers(1, 30, n)
    means = np.array([2.0, 0.5])[:, None] + rng.standard_normal((2, n)) / np.sqrt(degrees)
    return module.NodeFeatures(
        degrees, means, rng.exponential(size=n) * degrees / 20, rng.exponential(size=n) * degrees / 20,
        1.0 + 0.1 * rng.standard_normal(n), 0.3 * rng.standard_normal(n),
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "expected"), [
    ("misfit", [1.5, 0.0, np.nan]),  # node 0 has 4 edges: A is divided by 7/3, z = 1 and 2; node 1 lies in the middle
    # √(2T / degree) minus the line at log degree
    ("ring", [2.0 - 0.5 - np.log(4.0), -0.5, np.nan]), ("lockstep", [0.75, 0.75, np.nan]),
    ("outlier", [1.0, 2.0, 7.0]), ("activity", [0.5, 0.25, np.nan]),
])  # fmt: skip
def test_every_kind_by_hand(kind: str, expected: list[float]) -> None:
    np.testing.assert_allclose(getattr(module, kind)(BY_HAND, LAWS), expected)


def test_unequal_weights_widen_the_standard_error_of_misfit() -> None:
    """Weights 3, 1, 1 and 1 are worth 6² / 12 = 3 edges: z(hop) = 1 / √(4/3), not 1, and A is divided by 2."""
    weighted = replace(BY_HAND, effective=np.array([3.0, 1.0, 0.0]))
    hop, unlike = 1.0 / np.sqrt(4.0 / 3.0), 0.4 / np.sqrt(0.14 / 3)
    np.testing.assert_allclose(module.misfit(weighted, LAWS), [(hop + unlike) / 2, 0.0, np.nan])


def test_a_graph_without_triangles_has_no_ring_and_no_lockstep_evidence(rng: np.random.Generator) -> None:
    nodes = replace(ordinary(rng), strangers=np.zeros(2_000), lookalikes=np.zeros(2_000))
    notices: list[str] = []
    assert not nodes.have_triangles(notices) and "ring and lockstep evidence is not available" in notices[0]
    usual = NodeBaseline.fit(nodes, triangles=False)
    found = strengths(nodes, usual)
    assert not found["ring"].any() and not found["lockstep"].any() and found["misfit"].any()
    three = ("misfit", "outlier", "activity")
    np.testing.assert_array_equal(module.combine(found, DEFAULT_EVIDENCE)[0], module.combine(found, three)[0])


def test_few_triangles_of_small_blocks_make_no_ring() -> None:
    """Four groups of fifty with attributes of their own: by chance, few nodes have a strength of 2 or more."""
    group, (i, j) = np.arange(200) % 4, np.triu_indices(200, 1)
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        edges = rng.random(i.size) < np.where(group[i] == group[j], 0.1, 0.01)
        attributes = 1.5 * rng.normal(size=(4, 8))[group] + rng.normal(size=(200, 8))
        graph = AttributedGraph.from_edges(i[edges], j[edges], attributes)
        found.append(CrossHCM.untrained(seed=seed).fit(graph).evidence_["ring"])
    assert (np.array(found) >= 2.0).mean() <= 0.03 and (np.array(found) >= 3.0).mean() <= 0.005


def test_evidence_is_the_cautious_tail_and_half_of_the_nodes_are_as_unusual_as_the_middle(
    rng: np.random.Generator,
) -> None:
    nodes = ordinary(rng)
    usual = NodeBaseline.fit(nodes)
    found, raw = strengths(nodes, usual), module.raw_evidence(nodes, usual)
    for number, kind in enumerate(KINDS):
        tail = Tail(*usual.tails[number]).surprise(raw[kind]) / np.log(10.0)
        if kind == "activity":  # how many edges were expected: less than one away is nothing unusual
            within = np.abs(nodes.degrees + 1 - (nodes.degrees + 1) / np.exp(nodes.residual)) < 1
            tail[within] = np.minimum(tail[within], np.log10(2.0))
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
    scores, decided = module.combine(evidence, ("ring", "misfit"))
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
    assert module.combine(found, DEFAULT_EVIDENCE)[1][0] == DEFAULT_EVIDENCE.index("outlier")
