"""Extreme numbers and random graphs: scores are finite, or a sentence says what to do."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hopsight.cli import main
from hopsight.datasets import make_graph
from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.loading import load
from toys import has_field, quick, set_options

# Values of hyperparameters that make a fit as short as it can be, for every detector that has them.
SHORTEST = {
    "n_epochs": 6, "burn_in": 3, "n_units": 4, "mlp_units": 4, "min_class_pairs": 3, "n_inner": 3, "n_rounds": 10,
}  # fmt: skip

VALUES = {
    "ordinary": st.floats(-100, 100, width=32), "whole": st.integers(-5, 5).map(float),
    "flags": st.booleans().map(float), "scales": st.sampled_from([0.0, 1.0, -1.0, 1e-12, 1e12, -5e11, 3.5]),
    "anything": st.floats(allow_nan=False, allow_infinity=False),
}  # fmt: skip


@st.composite
def graphs(draw: st.DrawFn) -> AttributedGraph:
    """Draw edges and attributes of every kind: empty, complete, disconnected, constant, tiny, huge, sparse."""
    n_nodes, n_attributes = draw(st.integers(0, 40)), draw(st.integers(0, 5))
    elements = VALUES[draw(st.sampled_from(sorted(VALUES)))]
    attributes: Any = draw(arrays(np.float64, (n_nodes, n_attributes), elements=elements))
    if draw(st.booleans()):
        attributes = sp.csr_array(attributes)
    shape = draw(st.sampled_from(["list", "random", "complete", "star"]))
    if shape == "list":
        node = st.integers(0, max(0, n_nodes - 1))
        ends = draw(st.lists(st.tuples(node, node), max_size=60 if n_nodes else 0))
        edges = np.zeros((n_nodes, n_nodes))
        for source, target in ends:
            edges[source, target] = 1
    elif shape == "random":
        rng = np.random.default_rng(draw(st.integers(0, 1000)))
        edges = (rng.random((n_nodes, n_nodes)) < draw(st.sampled_from([0.05, 0.2, 0.6]))).astype(float)
    else:
        edges = np.ones((n_nodes, n_nodes))
        if shape == "star":
            edges[1:, 1:] = 0
    return AttributedGraph(edges, attributes, directed=draw(st.booleans()))


def fits_or_is_refused(name: str, graph: AttributedGraph) -> None:
    chosen = {key: value for key, value in SHORTEST.items() if name in has_field(key)}
    model = quick(name, **chosen)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* collapsed|MADAN's default sigma")
        try:
            model.fit(graph)
        except ValueError as error:
            assert "\n" not in str(error) and len(str(error)) < 300  # one sentence
            return
    assert model.decision_score_.shape == (graph.n_nodes,) and np.isfinite(model.decision_score_).all()
    assert np.isfinite(model.threshold_) and set(model.label_.tolist()) <= {0, 1}


RELAXED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}


@pytest.mark.parametrize("name", DETECTORS)
@settings(max_examples=40, **RELAXED)
@given(graph=graphs())
def test_any_graph_fits_or_is_refused(name: str, graph: AttributedGraph) -> None:
    fits_or_is_refused(name, graph)


@pytest.mark.attack
@pytest.mark.parametrize("name", DETECTORS)
@settings(max_examples=1_000, **RELAXED)
@given(graph=graphs())
def test_any_graph_fits_or_is_refused_at_length(name: str, graph: AttributedGraph) -> None:
    fits_or_is_refused(name, graph)


@pytest.mark.parametrize("name", has_field("lr"))
def test_a_loss_that_is_not_finite_stops_the_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    write(make_graph(80, n_edges=240, n_attributes=5, seed=0), tmp_path / "graph.npz")
    settings = {**DETECTORS[name].quick, "lr": 1e30}
    command = ["detect", str(tmp_path / "graph.npz"), "--detector", name, *set_options(settings)]
    assert main([*command, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hopsight: the loss ") and "lr" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DETECTORS if name != "madan"])  # too slow for 13,533 nodes
def test_enron_whose_largest_value_is_5e11(name: str, data_dir: Path) -> None:
    graph = load("enron", data_dir=data_dir)
    assert 5e11 < abs(graph.attributes).max() < 6e11
    scores = quick(name).fit(graph).decision_score_
    assert np.isfinite(scores).all() and np.unique(scores).size > 5_000
