"""Textbook anomalies: one archetype at a time, planted into an otherwise ordinary graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_choice, check_count, check_positive
from hopsight.graph import AttributedGraph

KINDS = (
    "stranger", "stranger hub", "spam hub", "ring", "outlier", "outlier hub", "bridge", "lockstep", "isolated outlier",
)  # fmt: skip
N_SINGLE, N_RING, N_LOCKSTEP = 3, 12, 15
MEAN_DEGREE = 10.0
ACROSS = 0.1  # share of edges between communities
PARETO_SHAPE, LARGEST_WEIGHT = 2.5, 12.0  # of the expected degrees
SHIFT = 4.0  # standard deviations by which every attribute of an outlier is off
COPY_NOISE = 0.05  # of near-copies, in units of the noise within a community
LEAST_EDGES = 4  # of a planted node, so that there is something to judge it by

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def make_textbook(
    kind: str,
    n: int = 1000,
    seed: int = 0,
    *,
    n_communities: int = 5,
    n_attributes: int = 12,
    separation: float = 1.5,
) -> AttributedGraph:
    """Return an ordinary graph with one kind of anomaly planted in it.

    The ordinary part has communities of equal size, Pareto-distributed expected degrees (10 edges per node on
    average), a tenth of its edges across communities, and unit Gaussian noise around a center for each community. The
    centers are orthogonal where there are at least as many columns as communities, so that no two communities happen
    to look alike. Planted are 3 nodes, a ring of 12, or a lockstep group of 15; ``labels`` marks them.

    Parameters
    ----------
    kind
        - ``"stranger"``: the attributes of one community, all edges in another.
        - ``"stranger hub"``: the same, with as many edges as the node with most.
        - ``"spam hub"``: as many edges, to anybody.
        - ``"ring"``: 12 nodes of different communities, all connected.
        - ``"outlier"``: every attribute is 4 standard deviations off, the edges are ordinary.
        - ``"outlier hub"``: the same, with as many edges as the node with most, all in its own community.
        - ``"bridge"``: half of the edges in another community.
        - ``"lockstep"``: 15 nodes with nearly the same attributes, all connected.
        - ``"isolated outlier"``: an outlier without edges.
    n
        Number of nodes, at least 100.
    seed
        Random seed.
    n_communities, n_attributes
        Number of communities (at least 2, at most n // 20) and of attribute columns.
    separation
        The root mean square difference of two centers in one column is √2 times this, in units of the noise.

    Examples
    --------
    >>> graph = make_textbook("ring", n=300)
    >>> graph.n_nodes, int(graph.labels.sum())
    (300, 12)
    """
    check_choice("kind", kind, KINDS)
    check_count("n", n, low=100)
    check_count("seed", seed, low=0)
    check_count("n_communities", n_communities, low=2, high=n // 20)
    check_count("n_attributes", n_attributes)
    check_positive("separation", separation)
    for_ordinary, for_planting = np.random.default_rng(seed).spawn(2)
    community = for_ordinary.permutation(np.arange(n) % n_communities)
    weights = np.minimum((1.0 - for_ordinary.random(n)) ** (-1.0 / PARETO_SHAPE), LARGEST_WEIGHT)
    attributes = _attributes(community, n_attributes, separation, for_ordinary)
    draft = _Draft(community, attributes, _ordinary_edges(community, weights, for_ordinary), for_planting)
    labels = np.zeros(n, dtype=np.int64)
    labels[draft.plant(kind)] = 1
    source, target = np.array(sorted(draft.edges), dtype=np.int64).T
    name = f"textbook-{kind.replace(' ', '-')}"
    return AttributedGraph.from_edges(source, target, draft.attributes, labels=labels, name=name)


def _attributes(community: IntArray, n_attributes: int, separation: float, rng: np.random.Generator) -> FloatArray:
    """Return unit Gaussian noise around the centers of the communities."""
    n_communities = int(community.max()) + 1
    centers = rng.standard_normal((n_communities, n_attributes))
    if n_communities <= n_attributes:
        centers = np.linalg.qr(centers.T)[0].T
    squares = ((centers[:, None] - centers[None]) ** 2).sum(axis=2)[np.triu_indices(n_communities, 1)]
    centers *= separation * np.sqrt(2.0 * n_attributes / squares.mean())
    return np.asarray(centers[community] + rng.standard_normal((community.size, n_attributes)))


def _ordinary_edges(community: IntArray, weights: FloatArray, rng: np.random.Generator) -> set[tuple[int, int]]:
    """Draw edges between nodes in proportion to their weights, most of them within a community."""
    n, n_communities = community.size, int(community.max()) + 1
    anywhere = ACROSS * n_communities / (n_communities - 1)  # some of these stay within their community by chance
    edges: set[tuple[int, int]] = set()
    while (missing := int(MEAN_DEGREE * n / 2) - len(edges)) > 0:
        source, target = rng.choice(n, size=(2, missing), p=weights / weights.sum())
        for c in range(n_communities):
            members = np.flatnonzero(community == c)
            mine = (community[source] == c) & (rng.random(missing) >= anywhere)
            target[mine] = rng.choice(members, size=int(mine.sum()), p=weights[members] / weights[members].sum())
        edges |= {_edge(a, b) for a, b in zip(source.tolist(), target.tolist(), strict=True) if a != b}
    return edges


@dataclass
class _Draft:
    """A graph under construction."""

    community: IntArray
    attributes: FloatArray
    edges: set[tuple[int, int]]
    rng: np.random.Generator

    def plant(self, kind: str) -> IntArray:
        """Plant the anomalies and return their positions."""
        if kind == "ring":
            return self._plant_ring()
        if kind == "lockstep":
            return self._plant_lockstep()
        largest = int(np.bincount(np.array(list(self.edges)).ravel()).max())
        planted = self.rng.choice(self.community.size, size=N_SINGLE, replace=False)
        for node in planted.tolist():
            if "outlier" in kind:
                signs = self.rng.choice([-1.0, 1.0], size=self.attributes.shape[1])
                self.attributes[node] += SHIFT * self.attributes.std(axis=0) * signs
            if kind == "outlier":
                continue  # its edges are its own
            n_edges = max(LEAST_EDGES, self._disconnect(node))
            if kind != "isolated outlier":
                self._reconnect(kind, node, largest if "hub" in kind else n_edges, planted)
        return planted

    def _reconnect(self, kind: str, node: int, n_edges: int, planted: IntArray) -> None:
        """Give a node the edges of its kind, none of them to another planted node."""
        ordinary = np.setdiff1d(np.arange(self.community.size), planted)
        home, n_communities = int(self.community[node]), int(self.community.max()) + 1
        other = (home + int(self.rng.integers(1, n_communities))) % n_communities
        at_home, abroad = ordinary[self.community[ordinary] == home], ordinary[self.community[ordinary] == other]
        shares = {
            "stranger": [(abroad, 1.0)], "stranger hub": [(abroad, 1.0)], "spam hub": [(ordinary, 1.0)],
            "outlier hub": [(at_home, 1.0)], "bridge": [(at_home, 0.5), (abroad, 0.5)],
        }[kind]  # fmt: skip
        for nodes, share in shares:
            size = min(nodes.size, round(share * n_edges))
            self._connect(node, self.rng.choice(nodes, size=size, replace=False))

    def _plant_ring(self) -> IntArray:
        """Connect 12 nodes, drawn from the communities in turn."""
        order = self.rng.permutation(self.community.size)
        turn = np.empty(order.size, dtype=np.int64)
        for c in range(int(self.community.max()) + 1):
            mine = np.flatnonzero(self.community[order] == c)
            turn[mine] = np.arange(mine.size)
        ring = order[np.argsort(turn, kind="stable")[:N_RING]]
        for node in ring.tolist():
            self._connect(node, ring)
        return ring

    def _plant_lockstep(self) -> IntArray:
        """Connect 15 nodes of one community, and make their attributes nearly the same."""
        group = self.rng.choice(np.flatnonzero(self.community == 0), size=N_LOCKSTEP, replace=False)
        noise = self.rng.standard_normal((N_LOCKSTEP, self.attributes.shape[1]))
        self.attributes[group] = self.attributes[group[0]] + COPY_NOISE * noise
        for node in group.tolist():
            self._connect(node, group)
        return group

    def _connect(self, node: int, others: IntArray) -> None:
        self.edges |= {_edge(node, other) for other in others.tolist() if other != node}

    def _disconnect(self, node: int) -> int:
        """Remove all edges of a node and return how many there were."""
        before = len(self.edges)
        self.edges = {edge for edge in self.edges if node not in edge}
        return before - len(self.edges)


def _edge(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
