"""The place of a node in the network: eigenvectors of Â against a dense decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hopsight.graph import AttributedGraph
from hopsight.nn.gcn import Propagation, normalized_adjacency, propagation
from hopsight.nn.spectral import spectral_embedding


def operator(graph: AttributedGraph) -> Propagation:
    return propagation(graph.adjacency, directed=False, device=torch.device("cpu"))


def embedded(graph: AttributedGraph, n_components: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return spectral_embedding(operator(graph), graph.n_nodes, n_components, generator=generator)


def test_leading_eigenvectors_of_three_groups(random_graph: AttributedGraph) -> None:
    """Three groups have three leading eigenvectors; the rest of the spectrum is far below."""
    values, vectors = np.linalg.eigh(normalized_adjacency(random_graph.adjacency).toarray().astype(float))
    leading = np.argsort(-abs(values))[:4]
    expected = vectors[:, leading] * values[leading]
    found = embedded(random_graph, 4).double().numpy()
    # compared as inner products: sign, rotation within equal eigenvalues and unit are free
    products = [matrix @ matrix.T for matrix in (found, expected)]
    ours, theirs = (product / np.trace(product) for product in products)
    np.testing.assert_allclose(ours, theirs, atol=0.01 * abs(theirs).max())


def test_unit_variance_and_no_more_columns_than_nodes(two_cliques: AttributedGraph) -> None:
    embedding = embedded(two_cliques, 3)
    assert embedding.shape == (8, 3) and float(embedding.std()) == pytest.approx(1.0, abs=1e-5)
    assert embedded(two_cliques, 30).shape == (8, 8)


def test_a_few_seeds_agree_and_one_seed_repeats(two_cliques: AttributedGraph) -> None:
    """Eight nodes need no iteration: any start spans the whole space, and distances must be the same."""
    first, again, other = (embedded(two_cliques, 3, seed) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    torch.testing.assert_close(first @ first.T, other @ other.T, atol=1e-4, rtol=1e-4)


def test_members_of_a_clique_stand_together(two_cliques: AttributedGraph) -> None:
    place = embedded(two_cliques, 2)
    apart = torch.cdist(place, place)
    assert apart[0, 1] < 0.05 and apart[5, 6] < 0.05 and apart[0, 6] > 1.0


def test_without_links_every_node_is_its_own_place() -> None:
    alone = AttributedGraph(np.zeros((5, 5)), np.zeros((5, 1)))
    place = embedded(alone, 5)
    assert torch.isfinite(place).all()
    torch.testing.assert_close(place @ place.T, torch.eye(5) * (place @ place.T)[0, 0], atol=1e-5, rtol=1e-5)
