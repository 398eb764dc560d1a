"""Generate attributed graphs of any size with communities, heavy-tailed degrees and planted anomalies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.graph import AttributedGraph

_MIXING = 0.2  # share of edges that ignore communities
_TAIL = 2.0  # Pareto shape of the expected degrees: P(degree > d) falls as d**-2
_MAX_DENSITY = 0.25  # largest share of pairs that may be edges; beyond it, most draws are duplicates
_MAX_ROUNDS = 100  # of replacing duplicates by new draws


def make_graph(
    n_nodes: int,
    *,
    n_edges: int | None = None,
    n_communities: int | None = None,
    n_attributes: int = 32,
    n_structural: int | None = None,
    n_attribute_anomalies: int | None = None,
    seed: int | None = 0,
) -> AttributedGraph:
    """Return a graph in which connected nodes mostly belong to one community and have similar attributes.

    Edges follow a degree-corrected block model: one end of an edge is drawn with a probability proportional to
    its weight θ (Pareto), the other end in the same way within the same community, or among all nodes for a fifth of
    the edges. Attributes are the center of the community plus Gaussian noise, both with a standard deviation of 1.

    The edges of structural anomalies (kind 1) lead to any community; attribute anomalies (kind 2) have attributes
    around the center of another community. Neither changes degrees or norms on average.

    Parameters
    ----------
    n_nodes
        Number of nodes, at least 4.
    n_edges
        Exact number of edges, at most a quarter of all pairs; by default 10 per node.
    n_communities
        Number of communities; by default about √n_nodes / 4.
    n_attributes
        Number of attributes (float32).
    n_structural, n_attribute_anomalies
        Number of anomalies of each kind; by default 1% of the nodes each.
    seed
        Random seed.

    Returns
    -------
    graph
        The graph, with ``labels`` and ``kinds``.

    Examples
    --------
    >>> graph = make_graph(200, n_edges=900, n_structural=5, n_attribute_anomalies=7)
    >>> graph.n_nodes, graph.n_edges, graph.n_attributes, int(graph.labels.sum())
    (200, 900, 32, 12)
    """
    n_edges = 10 * n_nodes if n_edges is None else n_edges
    n_communities = max(2, round(n_nodes**0.5 / 4)) if n_communities is None else n_communities
    n_structural = n_nodes // 100 if n_structural is None else n_structural
    n_foreign = n_nodes // 100 if n_attribute_anomalies is None else n_attribute_anomalies
    _check(n_nodes, n_edges, n_communities, n_attributes, n_structural, n_foreign)

    community_rng, planting_rng, edge_rng, attribute_rng = np.random.default_rng(seed).spawn(4)
    blocks = _draw_blocks(n_nodes, n_communities, mean_degree=2.0 * n_edges / n_nodes, rng=community_rng)
    kinds = np.zeros(n_nodes, dtype=np.int8)
    planted = planting_rng.choice(n_nodes, size=n_structural + n_foreign, replace=False)
    kinds[planted[:n_structural]], kinds[planted[n_structural:]] = 1, 2

    source, target = _draw_edges(blocks, kinds == 1, n_edges, rng=edge_rng)
    attributes = _draw_attributes(blocks.community, kinds == 2, n_attributes, rng=attribute_rng)
    return AttributedGraph.from_edges(
        source, target, attributes, labels=kinds > 0, kinds=kinds, name=f"synthetic-{n_nodes}"
    )


@dataclass(frozen=True)
class _Blocks:
    """Communities and weights, arranged so that a weighted draw is one binary search.

    ``order`` lists the nodes by community, ``starts`` holds where each community begins in it, and ``cumulative``
    the cumulative weights θ in that order, starting at 0.
    """

    community: NDArray[np.int64]
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    cumulative: NDArray[np.float64]

    def draw(self, size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return nodes drawn by weight among all, sorted as in ``order`` because sorted searches are far faster."""
        return self._at(np.sort(rng.random(size)) * self.cumulative[-1])

    def draw_beside(self, nodes: NDArray[np.int64], *, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return, for each node, a node of its community drawn by weight."""
        bounds = self.cumulative[self.starts]
        community = self.community[nodes]
        return self._at(bounds[community] + rng.random(nodes.size) * np.diff(bounds)[community])

    def _at(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        place = np.searchsorted(self.cumulative, points, side="right") - 1
        return self.order[np.minimum(place, self.order.size - 1)]


def _draw_blocks(n_nodes: int, n_communities: int, *, mean_degree: float, rng: np.random.Generator) -> _Blocks:
    """Return communities of unequal sizes (at least 2) and Pareto weights, capped so that hubs fit a community."""
    shares = np.cumsum(rng.uniform(0.5, 1.5, size=n_communities))
    extra = np.round((n_nodes - 2 * n_communities) * shares / shares[-1]).astype(np.int64)
    starts = np.concatenate([[0], extra + 2 * np.arange(1, n_communities + 1)])
    order = rng.permutation(n_nodes)
    community = np.empty(n_nodes, dtype=np.int64)
    community[order] = np.repeat(np.arange(n_communities), np.diff(starts))
    weights = (1.0 - rng.random(n_nodes)) ** (-1.0 / _TAIL)
    largest = weights.mean() * n_nodes / n_communities / (4.0 * mean_degree)
    weights = np.minimum(weights, max(2.0, largest))
    return _Blocks(community, order, starts, np.concatenate([[0.0], np.cumsum(weights)]))


def _draw_edges(
    blocks: _Blocks, rootless: NDArray[np.bool_], n_edges: int, *, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two ends of ``n_edges`` distinct edges; those of ``rootless`` nodes lead to any community."""
    n_nodes = blocks.order.size
    edges = np.empty(0, dtype=np.int64)  # source * n_nodes + target, source < target
    for _ in range(_MAX_ROUNDS):
        n_draws = int(1.05 * (n_edges - edges.size)) + 64
        source = blocks.draw(n_draws, rng=rng)
        target = blocks.draw_beside(source, rng=rng)
        mixed = (rng.random(n_draws) < _MIXING) | rootless[source]
        to_rootless = ~mixed & rootless[target]
        target[mixed] = rng.permutation(blocks.draw(int(mixed.sum()), rng=rng))
        source[to_rootless] = rng.permutation(blocks.draw(int(to_rootless.sum()), rng=rng))
        drawn = np.minimum(source, target) * n_nodes + np.maximum(source, target)
        edges = np.sort(np.concatenate([edges, drawn[source != target]]))
        edges = edges[np.diff(edges, prepend=-1) > 0]
        if edges.size >= n_edges:
            surplus = rng.choice(edges.size, size=edges.size - n_edges, replace=False)
            return np.divmod(np.delete(edges, surplus), n_nodes)
    raise ValueError(f"n_edges is too large for these communities, got {n_edges}")


def _draw_attributes(
    community: NDArray[np.int64], foreign: NDArray[np.bool_], n_attributes: int, *, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Return the center of each node's community, or of another one for ``foreign`` nodes, plus noise."""
    n_communities = int(community.max()) + 1
    centers = rng.standard_normal((n_communities, n_attributes), dtype=np.float32)
    shown = community.copy()
    shift = rng.integers(1, n_communities, size=int(foreign.sum()))
    shown[foreign] = (shown[foreign] + shift) % n_communities
    attributes = rng.standard_normal((community.size, n_attributes), dtype=np.float32)
    attributes += centers[shown]
    return attributes


def _check(
    n_nodes: int, n_edges: int, n_communities: int, n_attributes: int, n_structural: int, n_foreign: int
) -> None:
    check_count("n_nodes", n_nodes, low=4)
    check_count("n_edges", n_edges, high=int(_MAX_DENSITY * n_nodes * (n_nodes - 1) / 2))
    check_count("n_communities", n_communities, low=2, high=n_nodes // 2)
    check_count("n_attributes", n_attributes)
    check_count("n_structural", n_structural, low=0, high=n_nodes)
    check_count("n_attribute_anomalies", n_foreign, low=0, high=n_nodes - n_structural)
