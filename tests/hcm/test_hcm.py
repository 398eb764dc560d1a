"""HCM: it beats chance, keeps its presets, and every edge is seen and judged."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hopsight.graph import AttributedGraph
from hopsight.hcm.hcm import HCM
from toys import quick, two_groups

SMALL: dict[str, Any] = {
    key: HCM.quick[key] for key in ("n_units", "mlp_units", "n_epochs", "burn_in", "min_class_pairs")
}


def test_bridges_between_two_groups_are_found_over_several_seeds() -> None:
    """Chance is 0.5 with a standard error of 0.15 for four of eighty; the mean of five is far beyond."""
    found = []
    for seed in range(5):
        graph = two_groups(seed)
        found.append(roc_auc_score(graph.labels, quick("hcm", seed=seed, score="ahp").fit(graph).decision_score_))
    assert np.mean(found) > 0.9 and min(found) > 0.75


def test_bridges_in_a_new_graph_are_found() -> None:
    model = quick("hcm", score="ahp").fit(two_groups(0))
    found = []
    for seed in (20, 21, 22):
        new = two_groups(seed, n_each=20, n_misfits=2)
        found.append(roc_auc_score(new.labels, model.decision_function(new)))
    assert np.mean(found) > 0.8


@pytest.mark.parametrize("preset", ["paper", "authors"])
def test_presets_beat_chance(preset: str) -> None:
    graph = two_groups(0)
    model = getattr(HCM, preset)(**SMALL | {"n_epochs": 60, "burn_in": 20}).fit(graph)
    assert roc_auc_score(graph.labels, model.ahp_) > 0.8


def test_presets_hold_the_published_settings() -> None:
    paper, authors = HCM.paper(n_layers=4), HCM.authors(seed=3)
    for model in (paper, authors):
        assert (model.n_units, model.mlp_units, model.n_components) == (128, 256, 20)
        assert (model.drop_ratio, model.n_classes, model.sampling_ratio) == (0.2, 4, 0.3)
        assert (model.weight_decay, model.prediction) == (5e-8, "argmax")
    assert (paper.n_layers, paper.optimizer, paper.dropout) == (4, "psgld", 0.0)
    assert (paper.deviation, paper.similarity, paper.score) == ("variance", "auto", "hav")
    assert (authors.n_layers, authors.optimizer, authors.lr, authors.seed) == (2, "adam", 0.01, 3)
    assert (authors.dropout, authors.dropout_at_prediction) == (0.5, True)
    assert (authors.n_epochs, authors.burn_in, authors.n_samples) == (100, 40, 60)
    assert (authors.similarity, authors.deviation) == ("euclidean", "std")


def test_predictions_with_dropout_are_those_of_the_fit() -> None:
    """The authors drop units while predicting as well: scoring the training graph again drops the same ones."""
    graph = two_groups(0)
    model = HCM.authors(**SMALL).fit(graph)
    assert np.ptp(model.iv_) > 0
    np.testing.assert_allclose(model.decision_function(graph), model.decision_score_, rtol=1e-9)


def test_more_layers_fit_too(two_cliques: AttributedGraph) -> None:
    assert np.isfinite(HCM(**SMALL, n_layers=4).fit(two_cliques).decision_score_).all()


def test_dropping_edges_changes_the_classes_not_the_judged_edges() -> None:
    graph = two_groups(0)
    whole, half = (quick("hcm", drop_ratio=ratio).fit(graph) for ratio in (0.0, 0.5))
    assert whole.class_sizes_[0] == graph.n_edges and half.class_sizes_[0] == graph.n_edges - graph.n_edges // 2
    assert whole.edge_hop_.shape == half.edge_hop_.shape == (graph.n_edges,)
