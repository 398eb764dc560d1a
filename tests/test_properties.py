"""Any graph of up to forty nodes gives finite scores or is refused with a ValueError."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from toys import has_field, quick

# Values of hyperparameters that make a fit as short as it can be, for every detector that has them.
SHORTEST = {
    "n_epochs": 6,
    "burn_in": 3,
    "n_units": 4,
    "mlp_units": 4,
    "min_class_pairs": 3,
    "n_inner": 3,
    "n_rounds": 10,
}

VALUES = {
    "ordinary": st.floats(-100, 100, width=32),
    "whole": st.integers(-5, 5).map(float),
    "flags": st.booleans().map(float),
    "scales": st.sampled_from([0.0, 1.0, -1.0, 1e-12, 1e12, -5e11, 3.5]),
    "anything": st.floats(allow_nan=False, allow_infinity=False),
}


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
