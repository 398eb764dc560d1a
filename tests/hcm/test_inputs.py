"""Transformed attributes: in double precision, in a large graph in single precision, in memory or on disk."""

import numpy as np
import pytest
import scipy.sparse as sp

import hopsight as hs
from hopsight.graph import AttributedGraph
from hopsight.hcm import views as inputs
from hopsight.hcm.views import fit_inputs, in_unit, inputs_of, spread_of


def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every graph as one of more than 200,000 nodes and 4 million edges."""
    monkeypatch.setattr("hopsight.hcm.views.HALF_PRECISION_NODES", 0)
    monkeypatch.setattr("hopsight.hcm.posterior.SINGLE_PRECISION_EDGES", 0)


@pytest.mark.parametrize(("scaling", "n_components", "sparse", "typed"), [
    ("mixed", None, False, False), ("mixed", 5, False, True), ("standard", 4, True, False),
    ("none", None, True, False),
])  # fmt: skip
def test_a_large_graph_has_the_same_attributes_in_single_precision(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, scaling: str, n_components: int | None, sparse: bool,
    typed: bool,
) -> None:  # fmt: skip
    values = rng.normal(size=(3000, 8)) * (rng.random((3000, 8)) < 0.3) * 1e6
    ends = rng.integers(0, 3000, (2, 9000))
    graph = AttributedGraph.from_edges(
        *ends, sp.csr_array(values) if sparse else values, node_types=rng.choice(["a", "b"], 3000) if typed else None
    )
    options = {"scaling": scaling, "n_components": n_components}
    _, expected, magnitude = fit_inputs(graph, rng=np.random.default_rng(0), **options)
    monkeypatch.setattr(inputs, "HALF_PRECISION_NODES", 100)
    transform, found, again = fit_inputs(graph, rng=np.random.default_rng(0), **options)
    assert found.dtype == np.float32 and again == pytest.approx(magnitude, rel=1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(inputs_of(graph, transform, again), found)
    rows = np.array([7, 2999, 0])
    np.testing.assert_array_equal(inputs_of(graph, transform, again, rows), found[rows])
    assert spread_of(found) == pytest.approx(expected.std(), rel=1e-5)
    np.testing.assert_array_equal(in_unit(found, 3.0), found / np.float32(3.0))


@pytest.mark.parametrize("directed", [False, True])
def test_scores_of_a_large_graph_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch, directed: bool) -> None:
    """The same to the bit, whatever the blocks; nearly those of double precision."""
    graph = hs.make_graph(600, n_edges=3000, seed=0)
    if directed:
        graph = AttributedGraph.from_edges(*graph.edges, graph.attributes, directed=True)
    settings = {**hs.CrossHCM.quick, "seed": 0}
    double = hs.CrossHCM(**settings).fit(graph)
    large(monkeypatch)
    kept = hs.CrossHCM(**settings).fit(graph)
    monkeypatch.setattr("hopsight.hcm.views.BLOCK_VALUES", 3000)
    monkeypatch.setattr("hopsight.hcm.network.ROWS_AT_ONCE", 50)
    monkeypatch.setattr("hopsight.preprocess.transform.MANY_VALUES", 5000)
    in_blocks = hs.CrossHCM(**settings).fit(graph)
    for name in ("decision_score_", "edge_hop_", "edge_score_", "edge_dissimilarity_", "samples_"):
        np.testing.assert_array_equal(getattr(in_blocks, name), getattr(kept, name), err_msg=name)
    assert kept.edge_hop_.dtype == np.float32 and double.edge_hop_.dtype == np.float64
    assert np.corrcoef(kept.decision_score_, double.decision_score_)[0, 1] > 0.99
    np.testing.assert_allclose(kept.decision_function(graph), kept.decision_score_, rtol=1e-4, atol=1e-4)
