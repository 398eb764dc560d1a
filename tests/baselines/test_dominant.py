"""DOMINANT: closed forms with zero weights, presets, new graphs, and comparison with PyGOD's network."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from hopsight.baselines.dominant import DOMINANT, Autoencoder
from hopsight.baselines.networks import Inputs
from hopsight.graph import AttributedGraph
from hopsight.nn.gcn import Layers
from toys import dense_propagation


def fitted_with(graph: AttributedGraph, weights: float | np.ndarray, **settings: Any) -> DOMINANT:
    """Return a detector with given instead of learned weights."""
    model = DOMINANT(**{"n_epochs": 1, "scaling": "none"} | settings).fit(graph)
    model.weights_ = np.broadcast_to(np.float32(weights), model.weights_.shape).copy()
    return model


@pytest.fixture
def counts(random_graph: AttributedGraph) -> AttributedGraph:
    """Return the random graph with attributes that are not negative."""
    return AttributedGraph(random_graph.adjacency, abs(random_graph.attributes))


@pytest.mark.parametrize("self_loops", [True, False])
def test_with_zero_weights_the_score_is_norm_and_degree(counts: AttributedGraph, self_loops: bool) -> None:
    model = fitted_with(counts, 0.0, self_loops=self_loops, attribute_weight=0.7)
    expected = 0.7 * np.linalg.norm(counts.attributes, axis=1) + 0.3 * np.sqrt(counts.degrees + self_loops)
    np.testing.assert_allclose(model.decision_function(counts), expected, rtol=1e-5, atol=1e-5)


def test_scores_are_those_of_pygod_with_the_same_weights(random_graph: AttributedGraph) -> None:
    pygod = pytest.importorskip("pygod.nn", reason="pygod is not installed")
    torch.manual_seed(0)
    theirs = pygod.DOMINANTBase(6)
    blocks = (theirs.shared_encoder, theirs.attr_decoder, theirs.struct_decoder.nn)
    flat = []
    for block in blocks:
        flat += [conv.lin.weight.T.reshape(-1) for conv in block.convs] + [conv.bias for conv in block.convs]
    model = DOMINANT.pygod(n_epochs=1, scaling="none").fit(random_graph)
    model.weights_ = torch.cat(flat).detach().numpy()
    X, A = torch.tensor(random_graph.attributes).float(), torch.tensor(random_graph.adjacency.toarray())
    attributes, edges = theirs(X, A.nonzero().T)
    expected = theirs.loss_func(X, attributes, A, edges, 0.5).detach().numpy()
    np.testing.assert_allclose(model.decision_function(random_graph), expected, rtol=1e-4)


def test_the_preset_trains_and_scores_its_training_graph_again(random_graph: AttributedGraph) -> None:
    model = DOMINANT.pygod(n_epochs=30).fit(random_graph)
    assert model.loss_.shape == (30,) and model.loss_[-1] < model.loss_[0]
    np.testing.assert_allclose(model.decision_function(random_graph), model.decision_score_, atol=1e-4)
    assert np.ptp(model.decision_score_) > 0.1


COLUMNS = (
    "encoder_units", "attribute_units", "structure_units", "final_activation", "self_loops", "attribute_weight", "lr",
    "n_epochs", "dropout", "initial", "last_step",
)  # fmt: skip
PUBLISHED = {
    "defaults": ((64, 64), (64,), (64,), "relu", True, 0.8, 0.005, 100, 0.3, "uniform", True),
    "pygod": ((64, 64), (64,), (64,), "none", False, 0.5, 0.004, 100, 0.0, "glorot", False),
}


@pytest.mark.parametrize("preset", PUBLISHED)
def test_presets_have_the_published_settings(preset: str) -> None:
    model = DOMINANT() if preset == "defaults" else getattr(DOMINANT, preset)()
    assert tuple(getattr(model, name) for name in COLUMNS) == PUBLISHED[preset]
    assert model.scaling == ("none" if preset == "pygod" else "auto") and DOMINANT.pygod(lr=0.1).lr == 0.1


def test_scores_that_are_all_alike_count_as_a_collapse() -> None:
    """The network works, but the nodes of a complete graph with equal attributes cannot be told apart."""
    graph = AttributedGraph(np.ones((7, 7)), np.tile([1.0, 2.0, 3.0], (7, 1)))
    with pytest.warns(UserWarning, match="collapsed") as caught:
        model = DOMINANT(n_epochs=3, scaling="none").fit(graph)
    assert ["second time" in str(warning.message) for warning in caught] == [False, True]
    assert model.embed(graph).any()


def test_loss_is_the_mean_of_the_scores(random_graph: AttributedGraph) -> None:
    settings: dict[str, Any] = {"n_epochs": 1, "dropout": 0.0, "last_step": False, "attribute_weight": 0.8}
    model = DOMINANT(**settings).fit(random_graph)
    assert model.loss_[0] == pytest.approx(model.decision_score_.mean(), rel=1e-5)


def test_scores_are_the_weighted_sum_of_both_errors(random_graph: AttributedGraph) -> None:
    seen: list[np.ndarray] = []
    model = DOMINANT(n_epochs=5, attribute_weight=0.3)
    model.fit(random_graph, callback=lambda epoch: seen.append(epoch.scores()))
    assert np.array_equal(seen[4], model.decision_score_)
    weighted = 0.3 * model.attribute_error_ + 0.7 * model.structure_error_
    np.testing.assert_allclose(weighted, model.decision_score_, rtol=1e-6)
    assert all(getattr(model, f"{name}_").shape == (60,) for name in DOMINANT.node_values)


def test_negative_attributes_lose_the_output_relu(random_graph: AttributedGraph, counts: AttributedGraph) -> None:
    assert DOMINANT(n_epochs=1, scaling="none").fit(random_graph).attribute_activation_ == "none"
    assert DOMINANT(n_epochs=1, scaling="none").fit(counts).attribute_activation_ == "relu"
    assert DOMINANT.pygod(n_epochs=1, scaling="none").fit(counts).attribute_activation_ == "none"


def test_new_graph_far_from_the_fit_is_refused(random_graph: AttributedGraph) -> None:
    model = DOMINANT(n_epochs=1).fit(random_graph)
    with pytest.raises(ValueError, match="too far from those of the fit"):
        model.decision_function(AttributedGraph(random_graph.adjacency, random_graph.attributes * 1e60))


CPU = torch.device("cpu")


def dense_forward(network: Autoencoder, graph: AttributedGraph) -> tuple[Tensor, Tensor]:
    """Every layer as act(Â H W + b) with dense matrices, in the authors' order."""
    A = dense_propagation(graph)

    def block(layers: Layers, values: Tensor) -> Tensor:
        for position, weight in enumerate(layers.weights):
            values = A @ (values @ weight) + layers.biases[position]
            if network.ends_in_relu or position < len(layers) - 1:
                values = torch.relu(values)
        return values

    Z = block(network.encoder, torch.tensor(graph.attributes))
    return block(network.attribute, Z), block(network.structure, Z)


@pytest.mark.parametrize("stored", ["dense", "sparse"])
@pytest.mark.parametrize("ends_in_relu", [True, False])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_factorized_network_equals_the_dense_one(
    random_graph: AttributedGraph, stored: str, ends_in_relu: bool, depth: int
) -> None:
    options: dict[str, Any] = {"ends_in_relu": ends_in_relu, "generator": torch.Generator().manual_seed(3)}
    network = Autoencoder(6, (7, 4), (5,) * depth, (6,) * depth, initial="uniform", **options).double()
    attributes = random_graph.attributes if stored == "dense" else sp.csr_array(random_graph.attributes)
    output = network(Inputs.of(random_graph.adjacency, attributes, CPU, torch.float64))
    attributes_hat = output.left @ output.right.T
    expected, units = dense_forward(network, random_graph)
    torch.testing.assert_close(torch.relu(attributes_hat) if ends_in_relu else attributes_hat, expected)
    torch.testing.assert_close(output.units, units)
