"""What a saved model reveals: never the edges, and with private=True no value of a single node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load

from hopsight.detectors import DETECTORS
from hopsight.detectors.privacy import averaged, coarse
from hopsight.detectors.storage import load_detector
from hopsight.explanations import Explainer
from hopsight.metrics import ranking
from toys import quick, two_groups

GRAPH = two_groups(0, n_each=70)
NEW = two_groups(1, n_each=70)
TRANSFERABLE = [name for name, kind in DETECTORS.items() if kind.transferable]


@pytest.fixture(scope="module", params=TRANSFERABLE)
def fitted(request: pytest.FixtureRequest) -> Any:
    """Return each detector that can score another graph, fitted; CrossHCM has quantiles and references too."""
    return quick(request.param).fit(GRAPH)


def saved_arrays(folder: Path) -> dict[str, np.ndarray]:
    return load((folder / "arrays.safetensors").read_bytes())


def test_a_model_has_no_edges_but_recognizes_its_graph(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    assert not any(array.shape == GRAPH.edges.shape for array in saved_arrays(tmp_path).values())
    loaded = load_detector(tmp_path)
    assert Explainer(loaded, GRAPH).node("0-3").score == fitted.decision_score_[3]
    if hasattr(fitted, "edge_hop_"):
        with pytest.raises(ValueError, match="graph must have the edges"):
            Explainer(loaded, NEW)


def test_a_private_model_scores_other_graphs_without_values_of_its_own(fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path, private=True)
    arrays = saved_arrays(tmp_path)
    of_the_graph = {GRAPH.n_nodes, GRAPH.n_edges}
    found = {name for name, array in arrays.items() if of_the_graph & set(array.shape)}
    assert found <= {"references_.rows"}  # in a small graph all nodes are references, and each row is a mean of five
    single = np.concatenate([GRAPH.attributes.min(axis=0), GRAPH.attributes.max(axis=0)])
    everything = np.concatenate([array.ravel() for array in arrays.values() if array.dtype == np.float64])
    assert not np.isin(single, everything).any()
    assert not [name for name in json.loads((tmp_path / "detector.json").read_text())["values"] if "edge_index" in name]
    loaded = load_detector(tmp_path)
    expected, again = fitted.decision_function(NEW), loaded.decision_function(NEW)
    assert np.intersect1d(ranking(expected)[:20], ranking(again)[:20]).size >= 15
    assert Explainer(loaded.judge(NEW), NEW).node("1-0").rank >= 1
    assert loaded.predict(NEW, return_pred=False, return_prob=True).min() >= 0
    for ask in (loaded.predict, lambda: Explainer(loaded, GRAPH)):
        with pytest.raises(ValueError, match="saved without"):
            ask()


def test_a_detector_that_only_knows_its_own_graph_is_not_saved_privately(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="LOF can only judge the graph it was fitted on"):
        quick("lof").fit(GRAPH).save(tmp_path, private=True)


def test_coarse_quantiles_leave_at_least_five_nodes_outside() -> None:
    values = np.random.default_rng(0).lognormal(size=(400, 1))
    found = coarse(values, 400)
    assert (values < found[0]).sum() >= 5 and (values > found[-1]).sum() >= 5
    assert np.all(np.diff(found, axis=0) >= 0)


def test_averaged_rows_belong_to_at_least_five_nodes() -> None:
    rows = np.random.default_rng(0).normal(size=(33, 4))
    found, counts = np.unique(averaged(rows), axis=0, return_counts=True)
    assert counts.min() >= 5 and len(found) > 3
    assert np.allclose(averaged(rows).mean(axis=0), rows.mean(axis=0))
