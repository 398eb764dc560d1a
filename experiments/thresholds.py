"""Measure the thresholds: what is flagged in graphs of many kinds, without anomalies and with planted ones.

    python experiments/thresholds.py battery --commit COMMIT --processes 16 --out experiments/results/thresholds.json
    python experiments/thresholds.py labeled --commit COMMIT --seeds 3 --out experiments/results/thresholds_labeled.json
    python experiments/thresholds.py older --commit 1bf6701 --out experiments/results/thresholds_older.npz

``battery`` makes every graph of :data:`GENERATORS` with five seeds, once as it is and once with anomalies planted in it
(:data:`PLANTED`, one way per seed). The rule was chosen on the generators that are not :data:`HELD_OUT`. ``labeled``
fits the graphs with labels in HOPSIGHT_DATA (default: ../shared/data). Each fit is a row: how many nodes, edges and
groups it flags or lists, and how many of those are planted. ``older`` keeps the flags of the battery's planted graphs;
run it with the code of an older commit, whose flags ``battery`` then compares its own with.

Graphs from edges alone need polars: ``--part attributes`` and ``--part edges`` measure the others and these, and rows
of another part that are already in the file stay there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Rng = np.random.Generator

PLANTED = ("cliques", "swapped", "outliers", "strangers", "mixed")  # by seed
OLDER = Path(__file__).resolve().parent / "results" / "thresholds_older.npz"  # flags of commit 1bf6701
INJECTED = {"BlogCatalog": 10, "Flickr": 15}  # cliques of 15, and as many attribute anomalies
LABELED = (
    "BlogCatalog", "Flickr", "inj_cora", "gen_1000", "Amazon", "Disney", "Enron", "enron_bond", "amazon_fraud",
    "bitcoin_alpha", "tolokers",
)  # fmt: skip


@dataclass(frozen=True)
class Draft:
    """A graph before anything is planted: edges, perhaps weights, and attributes unless it comes from edges alone."""

    edges: IntArray
    attributes: Any
    n_nodes: int
    weight: Any = None  # one number per edge
    directed: bool = False
    n_left: int = 0  # nodes of the first kind in a bipartite graph


class Cell(NamedTuple):
    """One fit."""

    what: str
    graph: str
    planted: str
    seed: int
    device: str


def random_edges(n: int, degree: float, rng: Rng, weights: FloatArray | None = None) -> IntArray:
    """Return edges between nodes drawn uniformly, or by weights."""
    share = None if weights is None else weights / weights.sum()
    return simple(rng.choice(n, size=(2, round(n * degree / 2)), p=share))


def simple(edges: IntArray) -> IntArray:
    """Return undirected edges, each once and none from a node to itself."""
    low, high = edges.min(axis=0), edges.max(axis=0)
    return np.unique(np.stack([low, high])[:, low < high], axis=1)


def block_edges(
    groups: IntArray, degree: float, rng: Rng, across: float = 0.15, weights: FloatArray | None = None
) -> IntArray:
    """Return edges within groups, and a share of them across."""
    n = groups.size
    weights = np.ones(n) if weights is None else weights
    n_edges = round(n * degree / 2)
    source = rng.choice(n, size=n_edges, p=weights / weights.sum())
    target = rng.choice(n, size=n_edges, p=weights / weights.sum())
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        inside = np.flatnonzero((groups[source] == group) & (rng.random(n_edges) >= across))
        target[inside] = rng.choice(members, size=inside.size, p=weights[members] / weights[members].sum())
    return simple(np.stack([source, target]))


def centers(groups: IntArray, n_columns: int, rng: Rng, apart: float = 1.5) -> FloatArray:
    """Return Gaussian attributes around a center for each group."""
    return apart * rng.normal(size=(groups.max() + 1, n_columns))[groups] + rng.normal(size=(groups.size, n_columns))


def noise(n: int, degree: float, n_columns: int = 8) -> Callable[[Rng], Draft]:
    """Return the generator of Erdős–Rényi graphs with Gaussian attributes."""
    return lambda rng: Draft(random_edges(n, degree, rng), rng.normal(size=(n, n_columns)), n)


def blocks(
    n: int, n_groups: int, degree: float, n_columns: int, apart: float = 1.5, across: float = 0.15
) -> Callable[[Rng], Draft]:
    """Return the generator of stochastic block models with Gaussian attributes."""

    def draw(rng: Rng) -> Draft:
        groups = rng.integers(n_groups, size=n)
        return Draft(block_edges(groups, degree, rng, across), centers(groups, n_columns, rng, apart), n)

    return draw


def overlapping(rng: Rng) -> Draft:
    """Draw nodes with one to three memberships; edges arise within any of them."""
    n, k = 1000, 8
    member = rng.random((n, k)) < 0.2
    member[np.arange(n), rng.integers(k, size=n)] = True
    pairs = [rng.choice(np.flatnonzero(member[:, group]), size=(2, 700)) for group in range(k)]
    edges = simple(np.concatenate([*pairs, random_edges(n, 1.5, rng)], axis=1))
    return Draft(edges, member @ rng.normal(size=(k, 10)) + rng.normal(size=(n, 10)), n)


def power_law(rng: Rng) -> Draft:
    """Draw communities with power-law degrees."""
    n = 1500
    groups, weights = rng.integers(6, size=n), (1.0 - rng.random(n)) ** (-1 / 1.6)
    weights = np.minimum(weights, 60.0)
    return Draft(block_edges(groups, 9, rng, weights=weights), centers(groups, 12, rng), n)


def preferential(rng: Rng) -> Draft:
    """Draw a Barabási–Albert graph with Gaussian attributes."""
    return Draft(nx_edges("barabasi_albert_graph", 1200, 4, rng), rng.normal(size=(1200, 10)), 1200)


def nx_edges(name: str, *options: Any) -> IntArray:
    """Return the edges of a generator of NetworkX; the last option is the random generator."""
    import networkx as nx

    graph = getattr(nx, name)(*options[:-1], seed=int(options[-1].integers(2**31)))
    return simple(np.array(nx.convert_node_labels_to_integers(graph).edges()).T)


def lognormal(rng: Rng) -> Draft:
    """Draw communities with lognormal attributes, as amounts are."""
    n = 1000
    groups = rng.integers(5, size=n)
    return Draft(block_edges(groups, 10, rng), np.exp(0.7 * centers(groups, 8, rng, 1.0)), n)


def student(rng: Rng) -> Draft:
    """Draw communities with attributes of Student's t with three degrees of freedom."""
    n = 1000
    groups = rng.integers(4, size=n)
    return Draft(block_edges(groups, 8, rng), centers(groups, 10, rng, 1.0) + rng.standard_t(3, size=(n, 10)), n)


def geometric(rng: Rng) -> Draft:
    """Draw points in a square, edges between near ones, and attributes that change slowly from place to place."""
    n = 1200
    place = rng.random((n, 2))
    return Draft(near_edges(place, 0.055), smooth(place, 8, rng), n)


def near_edges(place: FloatArray, radius: float) -> IntArray:
    """Return the edges between points that are near each other."""
    from scipy.spatial import cKDTree

    return simple(cKDTree(place).query_pairs(radius, output_type="ndarray").T.astype(np.int64))


def smooth(place: FloatArray, n_columns: int, rng: Rng) -> FloatArray:
    """Return waves over places, with noise."""
    waves = np.sin(place @ rng.normal(scale=4.0, size=(place.shape[1], n_columns)) + rng.uniform(0, 6, n_columns))
    return waves + 0.4 * rng.normal(size=waves.shape)


def words(rng: Rng) -> Draft:
    """Draw communities with bags of words."""
    import scipy.sparse as sp

    n, n_words = 1000, 300
    groups = rng.integers(6, size=n)
    popular = rng.dirichlet(np.full(n_words, 0.15), size=6)
    counts = np.stack([rng.multinomial(rng.poisson(15) + 1, popular[group]) for group in groups])
    return Draft(block_edges(groups, 10, rng), sp.csr_array((counts > 0).astype(float)), n)


def bipartite(rng: Rng) -> Draft:
    """Draw users and items of uneven popularity, from edges alone."""
    n_left, n_right = 700, 300
    users, items = rng.lognormal(0, 0.8, n_left), rng.lognormal(0, 1.0, n_right)
    source = rng.choice(n_left, 5000, p=users / users.sum())
    target = n_left + rng.choice(n_right, 5000, p=items / items.sum())
    return Draft(simple(np.stack([source, target])), None, n_left + n_right, n_left=n_left)


def complete_bipartite(n_left: int, n_right: int, n_columns: int) -> Callable[[Rng], Draft]:
    """Return the generator of complete bipartite graphs."""

    def draw(rng: Rng) -> Draft:
        edges = np.stack(np.meshgrid(np.arange(n_left), n_left + np.arange(n_right))).reshape(2, -1)
        n = n_left + n_right
        return Draft(edges, rng.normal(size=(n, n_columns)) if n_columns else None, n, n_left=n_left)

    return draw


def transactions(rng: Rng) -> Draft:
    """Draw payments with lognormal amounts between accounts of uneven activity, from edges alone."""
    n = 1000
    activity = rng.lognormal(0, 1.0, n)
    edges = rng.choice(n, size=(2, 6000), p=activity / activity.sum())
    edges = edges[:, edges[0] != edges[1]]
    size = rng.lognormal(4, 0.5, n)
    return Draft(edges, None, n, weight=size[edges[0]] * rng.lognormal(0, 0.8, edges.shape[1]), directed=True)


def weighted(rng: Rng) -> Draft:
    """Draw communities whose edges have uneven weights."""
    draft = blocks(1000, 5, 10, 10)(rng)
    return replace(draft, weight=rng.pareto(2.0, draft.edges.shape[1]) + 0.1)


def categorical(rng: Rng) -> Draft:
    """Draw communities with four categories in place of numbers."""
    n = 1000
    groups = rng.integers(5, size=n)
    columns = []
    for n_values in (3, 5, 8, 12):
        usual = rng.dirichlet(np.ones(n_values), size=5)
        columns.append(np.eye(n_values)[[rng.choice(n_values, p=usual[group]) for group in groups]])
    return Draft(block_edges(groups, 9, rng), np.concatenate(columns, axis=1), n)


def small_world(rng: Rng) -> Draft:
    """Draw a Watts–Strogatz graph with attributes that change along the circle."""
    n = 1000
    angle = 2 * np.pi * np.arange(n) / n
    edges = nx_edges("watts_strogatz_graph", n, 8, 0.1, rng)
    return Draft(edges, smooth(np.stack([np.cos(angle), np.sin(angle)], axis=1), 6, rng), n)


def tree(rng: Rng) -> Draft:
    """Draw a random recursive tree whose nodes resemble their parents."""
    n = 800
    parent = np.array([0, *(rng.integers(node) for node in range(1, n))])
    values = rng.normal(size=(n, 8))
    for node in range(1, n):
        values[node] = 0.8 * values[parent[node]] + 0.6 * values[node]
    return Draft(simple(np.stack([np.arange(1, n), parent[1:]])), values, n)


def citations(rng: Rng) -> Draft:
    """Draw a directed graph in which newer nodes point to older ones of their field."""
    n = 1200
    groups = rng.integers(6, size=n)
    edges = block_edges(groups, 9, rng, weights=1.0 / (50 + np.arange(n)))
    return Draft(edges[::-1], centers(groups, 10, rng, 1.0), n, directed=True)


def structure_alone(rng: Rng) -> Draft:
    """Draw Erdős–Rényi edges without attributes."""
    return Draft(random_edges(1000, 8, rng), None, 1000)


def factors(rng: Rng) -> Draft:
    """Draw attributes that follow from three factors, with edges between nodes near each other in these."""
    n = 1000
    factor = rng.normal(size=(n, 3))
    return Draft(near_edges(factor, 0.42), factor @ rng.normal(size=(3, 20)) + 0.7 * rng.normal(size=(n, 20)), n)


def teams(rng: Rng) -> Draft:
    """Draw a graph of co-workers: everybody in a team of three to eight knows each other, whoever they are."""
    n = 1000
    groups = rng.integers(5, size=n)
    found = []
    for _ in range(350):
        pool = np.flatnonzero(groups == rng.integers(5)) if rng.random() < 0.8 else np.arange(n)
        team = rng.choice(pool, size=rng.integers(3, 9), replace=False)
        found.append(np.stack([team[each] for each in np.triu_indices(team.size, 1)]))
    return Draft(simple(np.concatenate(found, axis=1)), centers(groups, 10, rng, 1.0), n)


def uneven(rng: Rng) -> Draft:
    """Draw communities of uneven size, spread and density."""
    n = 1200
    groups = rng.choice(6, size=n, p=np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03]))
    spread, density = rng.lognormal(0, 0.4, 6)[groups], rng.lognormal(0, 0.5, 6)[groups]
    values = centers(groups, 10, rng) * spread[:, None]
    return Draft(block_edges(groups, 9, rng, weights=density), values, n)


def grid(rng: Rng) -> Draft:
    """Draw a grid with a tenth of its edges missing, as roads are."""
    side = 32
    edges = grid_edges(side)
    edges = edges[:, rng.random(edges.shape[1]) > 0.1]
    place = np.stack(np.divmod(np.arange(side**2), side), axis=1) / side
    return Draft(edges, smooth(place, 6, rng), side**2)


def grid_edges(side: int) -> IntArray:
    """Return the edges of a square grid."""
    place = np.arange(side**2).reshape(side, side)
    right, down = (
        np.stack([a.ravel(), b.ravel()]) for a, b in ((place[:, :-1], place[:, 1:]), (place[:-1], place[1:]))
    )
    return simple(np.concatenate([right, down], axis=1))


def clustered_hubs(rng: Rng) -> Draft:
    """Draw a Holme–Kim graph (hubs and triangles) with exponential attributes."""
    return Draft(nx_edges("powerlaw_cluster_graph", 1200, 4, 0.5, rng), rng.exponential(size=(1200, 8)), 1200)


def copying(rng: Rng) -> Draft:
    """Draw a directed graph in which a new node copies the targets of an older one, from edges alone."""
    n = 1000
    targets: list[list[int]] = [[0], [0], [0, 1]]
    for node in range(3, n):
        model = int(rng.integers(1, node))
        kept = [each for each in targets[model] if rng.random() < 0.6]
        targets.append(sorted({model, *kept, *rng.integers(node, size=2).tolist()}))
    pairs = [(node, each) for node in range(1, n) for each in targets[node] if each != node]
    return Draft(np.array(pairs).T, None, n, directed=True)


def sphere(rng: Rng) -> Draft:
    """Draw points on a sphere, without a border, with edges between near ones and skewed attributes."""
    n = 1000
    place = rng.normal(size=(n, 3))
    place /= np.linalg.norm(place, axis=1, keepdims=True)
    return Draft(near_edges(place, 0.2), np.exp(smooth(place, 6, rng)), n)


def hierarchy(rng: Rng) -> Draft:
    """Draw communities within communities, with numbers and categories."""
    n = 1000
    fine = rng.integers(16, size=n)
    edges = np.concatenate([block_edges(fine, 5, rng, 0.05), block_edges(fine // 4, 4, rng, 0.1)], axis=1)
    kinds = np.eye(4)[np.where(rng.random(n) < 0.8, fine // 4, rng.integers(4, size=n))]
    return Draft(simple(edges), np.concatenate([centers(fine, 6, rng, 1.0), kinds], axis=1), n)


def uniform_small(rng: Rng) -> Draft:
    """Draw a small Erdős–Rényi graph with uniform attributes."""
    return Draft(random_edges(150, 6, rng), rng.random((150, 5)), 150)


def degree_bound(rng: Rng) -> Draft:
    """Draw power-law degrees that attributes reflect, without communities."""
    n = 1200
    weights = np.minimum((1.0 - rng.random(n)) ** (-1 / 1.8), 40.0)
    values = np.log(weights)[:, None] * rng.normal(size=6) + rng.normal(size=(n, 6))
    return Draft(random_edges(n, 8, rng, weights), values, n)


def ratings(rng: Rng) -> Draft:
    """Draw users and items of several tastes with attributes and weights."""
    n_left, n_right = 600, 250
    tastes = rng.integers(4, size=n_left + n_right)
    source = rng.integers(n_left, size=6000)
    target = n_left + rng.integers(n_right, size=6000)
    kept = (tastes[source] == tastes[target]) | (rng.random(6000) < 0.3)
    edges = simple(np.stack([source, target])[:, kept])
    weight = rng.integers(1, 6, edges.shape[1]).astype(float)
    return Draft(edges, centers(tastes, 8, rng, 1.0), n_left + n_right, weight=weight, n_left=n_left)


def payments(rng: Rng) -> Draft:
    """Draw payments between customers and merchants with power-law activity, from edges alone."""
    n, n_merchants = 1200, 100
    activity = np.minimum(rng.pareto(1.5, n) + 0.2, 50.0)
    target = np.where(
        rng.random(7000) < 0.6, rng.integers(n_merchants, size=7000), rng.choice(n, 7000, p=activity / activity.sum())
    )
    edges = np.stack([rng.choice(n, 7000, p=activity / activity.sum()), target])
    edges = edges[:, edges[0] != edges[1]]
    price = rng.lognormal(3, 1.0, n)
    return Draft(edges, None, n, weight=price[edges[1]] * rng.lognormal(0, 0.5, edges.shape[1]), directed=True)


def regular(rng: Rng) -> Draft:
    """Draw a random regular graph with counts for attributes."""
    n = 1000
    rates = rng.lognormal(0.5, 0.8, 8)
    return Draft(nx_edges("random_regular_graph", 8, n, rng), rng.poisson(rates, size=(n, 8)).astype(float), n)


def nearest(rng: Rng) -> Draft:
    """Draw a mixture of Gaussians of several widths; each point chooses its six nearest, noisily."""
    from scipy.spatial import cKDTree

    n = 1200
    groups = rng.choice(5, size=n, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    values = 3.0 * rng.normal(size=(5, 4))[groups] + rng.lognormal(0, 0.5, (5, 4))[groups] * rng.normal(size=(n, 4))
    near = cKDTree(values + 0.5 * rng.normal(size=values.shape)).query(values, 7)[1][:, 1:]
    edges = np.stack([np.repeat(np.arange(n), 6), near.ravel()])
    return Draft(edges[:, edges[0] != edges[1]], values, n, directed=True)


def configuration(rng: Rng) -> Draft:
    """Draw lognormal degrees and correlated yes-or-no attributes, without communities."""
    n = 1200
    answers = rng.normal(size=(n, 2)) @ rng.normal(size=(2, 15)) + rng.normal(size=(n, 15)) > rng.normal(size=15)
    return Draft(random_edges(n, 10, rng, rng.lognormal(0, 1.0, n)), answers.astype(float), n)


def core_periphery(rng: Rng) -> Draft:
    """Draw a dense core and a sparse periphery that differ a little in their attributes."""
    n = 1000
    core = np.arange(n) < n // 10
    values = centers(core.astype(np.int64), 8, rng, 0.7)
    return Draft(random_edges(n, 9, rng, np.where(core, 8.0, 1.0)), values, n)


def zero_inflated(rng: Rng) -> Draft:
    """Draw communities whose attributes are mostly zero, else lognormal."""
    n = 1000
    groups = rng.integers(5, size=n)
    used = rng.random((n, 12)) < rng.uniform(0.05, 0.4, (5, 12))[groups]
    return Draft(block_edges(groups, 10, rng), used * rng.lognormal(1.0, 1.0, (n, 12)), n)


def memberships(rng: Rng) -> Draft:
    """Draw people and clubs of several cities, from edges alone."""
    n_left, n_right = 900, 200
    city = rng.integers(4, size=n_left + n_right)
    source, target = rng.integers(n_left, size=6000), n_left + rng.integers(n_right, size=6000)
    kept = (city[source] == city[target]) | (rng.random(6000) < 0.2)
    return Draft(simple(np.stack([source, target])[:, kept]), None, n_left + n_right, n_left=n_left)


def messages(rng: Rng) -> Draft:
    """Draw messages that are often answered, between people of uneven activity, from edges alone."""
    n = 1000
    activity = rng.gamma(1.0, size=n) + 0.1
    sent = rng.choice(n, size=(2, 3500), p=activity / activity.sum())
    edges = np.concatenate([sent, sent[::-1, rng.random(3500) < 0.6]], axis=1)
    return Draft(np.unique(edges[:, edges[0] != edges[1]], axis=1), None, n, directed=True)


def trade(rng: Rng) -> Draft:
    """Draw flows that grow with the sizes of both ends and fall with their distance; attributes follow size."""
    n = 800
    place, size = rng.random((n, 2)), rng.lognormal(0, 1.0, n)
    first, second = np.triu_indices(n, 1)
    distance = np.linalg.norm(place[first] - place[second], axis=1) + 0.05
    flow = np.sqrt(size[first] * size[second]) / distance**2 * rng.lognormal(0, 0.7, first.size)
    kept = flow > np.quantile(flow, 1 - 5 * n / flow.size)
    values = np.concatenate([place, np.log(size)[:, None] + 0.5 * rng.normal(size=(n, 5))], axis=1)
    return Draft(np.stack([first, second])[:, kept], values, n, weight=flow[kept])


def duplication(rng: Rng) -> Draft:
    """Draw nodes that inherit the attributes of an older one with changes, and some of its neighbors."""
    n = 1000
    values, near = rng.normal(size=(n, 8)), [{1}, {0}]
    for node in range(2, n):
        parent = int(rng.integers(node))
        values[node] = 0.9 * values[parent] + 0.45 * values[node]
        near.append({parent, *(other for other in near[parent] if rng.random() < 0.4)})
        for other in near[node]:
            near[other].add(node)
    pairs = [(node, other) for node in range(n) for other in sorted(near[node]) if other < node]
    return Draft(simple(np.array(pairs).T), values, n)


def caves(rng: Rng) -> Draft:
    """Draw cliques of 12 with a fifth of their edges rewired, with numbers that a clique shares and categories."""
    groups = np.arange(960) // 12
    numbers = rng.gamma(2.0, size=(80, 5))[groups] + 0.5 * rng.normal(size=(960, 5))
    kinds = np.eye(6)[rng.integers(6, size=80)[groups]]
    edges = nx_edges("relaxed_caveman_graph", 80, 12, 0.2, rng)
    return Draft(edges, np.concatenate([numbers, kinds], axis=1), 960)


def baskets(rng: Rng) -> Draft:
    """Draw products that are bought together; an edge weighs as often as that happens."""
    n = 900
    taste, popular = rng.integers(8, size=n), rng.lognormal(0, 0.8, n)
    found = []
    for _ in range(1500):
        chance = popular * np.where(taste == rng.integers(8), 1.0, 0.02)
        basket = rng.choice(n, size=rng.integers(2, 6), replace=False, p=chance / chance.sum())
        found.append(np.stack([basket[each] for each in np.triu_indices(basket.size, 1)]))
    pairs = np.sort(np.concatenate(found, axis=1), axis=0)
    edges, times = np.unique(pairs, axis=1, return_counts=True)
    price = np.exp(centers(taste, 4, rng, 0.5))
    return Draft(edges, np.concatenate([price, centers(taste, 4, rng, 0.7)], axis=1), n, weight=times.astype(float))


def crowded(rng: Rng) -> Draft:
    """Draw faint communities with some 120 neighbors per node and Laplace attributes."""
    n = 900
    groups = rng.integers(4, size=n)
    values = 0.8 * rng.normal(size=(4, 10))[groups] + rng.laplace(size=(n, 10))
    return Draft(block_edges(groups, 130, rng, 0.4, rng.lognormal(0, 0.4, n)), values, n)


def calls(rng: Rng) -> Draft:
    """Draw calls with durations within families, to friends and to services, from edges alone."""
    n, n_services = 1100, 30
    family = rng.integers(250, size=n)
    caller = rng.choice(n, size=6500, p=(activity := rng.gamma(2.0, size=n)) / activity.sum())
    kind = rng.random(6500)
    callee = np.where(kind < 0.15, rng.integers(n_services, size=6500), (caller + rng.geometric(0.05, size=6500)) % n)
    for place in np.flatnonzero(kind > 0.6):
        callee[place] = rng.choice(np.flatnonzero(family == family[caller[place]]))
    edges = np.stack([caller, callee])[:, caller != callee]
    return Draft(edges, None, n, weight=rng.lognormal(1.0, 1.0, edges.shape[1]), directed=True)


def incomes(rng: Rng) -> Draft:
    """Draw an Erdős–Rényi graph of people whose only attribute is a lognormal income."""
    n = 1000
    return Draft(random_edges(n, 6, rng), rng.lognormal(10, 0.5, (n, 1)), n)


def contacts(rng: Rng) -> Draft:
    """Draw rows between two of 200 nodes at random, from edges alone; a few rows repeat."""
    edges = rng.integers(200, size=(2, 600))
    return Draft(edges[:, edges[0] != edges[1]], None, 200, directed=True)


def visits(rng: Rng) -> Draft:
    """Draw rows between people and places at random, from edges alone; a few rows repeat."""
    edges = np.stack([rng.integers(150, size=750), 150 + rng.integers(100, size=750)])
    return Draft(edges, None, 250, directed=True, n_left=150)


GENERATORS: dict[str, Callable[[Rng], Draft]] = {
    "noise, 100 nodes": noise(100, 6),
    "noise, 200 nodes, sparse": noise(200, 3, 4),
    "noise, 200 nodes, dense": noise(200, 20, 16),
    "noise, 1,000 nodes": noise(1000, 10),
    "noise, 2,000 nodes, sparse": noise(2000, 4),
    "noise, 2,000 nodes, dense": noise(2000, 20, 20),
    "edges alone": structure_alone,
    "blocks, 150 nodes": blocks(150, 3, 8, 6),
    "blocks": blocks(1000, 5, 10, 12),
    "blocks, faint": blocks(1500, 12, 8, 40, 0.7, 0.3),
    "blocks, overlapping": overlapping,
    "blocks, uneven": uneven,
    "power-law degrees": power_law,
    "Barabási–Albert": preferential,
    "lognormal attributes": lognormal,
    "heavy-tailed attributes": student,
    "geometric": geometric,
    "small world": small_world,
    "tree": tree,
    "bag of words": words,
    "categories": categorical,
    "factors": factors,
    "teams": teams,
    "citations, directed": citations,
    "weighted": weighted,
    "bipartite, edges alone": bipartite,
    "complete bipartite, 30 nodes": complete_bipartite(10, 20, 4),
    "transactions, edges alone": transactions,
    "clustered hubs, exponential": clustered_hubs,
    "copying, directed, edges alone": copying,
    "sphere, skewed": sphere,
    "hierarchy, mixed columns": hierarchy,
    "noise, 150 nodes, uniform": uniform_small,
    "degrees in attributes": degree_bound,
    "ratings": ratings,
    "payments, edges alone": payments,
    "grid": grid,
    "complete bipartite, 100 nodes": complete_bipartite(30, 70, 3),
    "regular, counts": regular,
    "nearest neighbors, directed": nearest,
    "uneven degrees, yes or no": configuration,
    "core and periphery": core_periphery,
    "mostly zero": zero_inflated,
    "memberships, edges alone": memberships,
    "messages, edges alone": messages,
    "trade, weighted": trade,
    "duplication": duplication,
    "cliques, rewired": caves,
    "baskets, weighted": baskets,
    "120 neighbors per node": crowded,
    "calls, edges alone": calls,
    "noise, 1,000 nodes, incomes": incomes,
    "contacts, edges alone": contacts,
    "visits, edges alone": visits,
}
HELD_OUT = tuple(list(GENERATORS)[38:])  # played no part in choosing the rule


def plant(draft: Draft, how: str, rng: Rng) -> tuple[Draft, IntArray]:
    """Return the graph with anomalies in it, and their labels."""
    n, labels = draft.n_nodes, np.zeros(draft.n_nodes, dtype=np.int64)
    size, few = (12, max(3, n // 50)) if n >= 300 else (7, max(2, n // 50))
    some = rng.permutation(n)
    if how in ("cliques", "mixed"):
        for number in range(2 if how == "cliques" and n >= 300 else 1):
            members = some[number * size : (number + 1) * size]
            if draft.n_left:
                each = size // 2
                left = number * each + np.arange(each)
                members = np.concatenate([rng.permutation(draft.n_left)[left], draft.n_left + left])
            draft = with_clique(draft, members, rng)
            labels[members] = 1
    rest = rng.permutation(np.flatnonzero(labels == 0))
    shares = {
        "swapped": (few, 0, 0),
        "outliers": (0, few, 0),
        "strangers": (0, 0, few),
        "mixed": (few // 2, few // 2, 0),
    }
    n_swapped, n_outliers, n_strangers = shares.get(how, (0, 0, 0))
    chosen = rest[: n_swapped + n_outliers + n_strangers]
    labels[chosen] = 1
    if draft.attributes is None:
        return with_busy(draft, chosen, rng), labels
    attributes = draft.attributes.copy()
    dense = attributes.toarray() if hasattr(attributes, "toarray") else attributes
    for node in chosen[:n_swapped]:
        others = rng.choice(n, size=min(50, n), replace=False)
        dense[node] = draft_rows(draft, others)[np.argmax(((draft_rows(draft, others) - dense[node]) ** 2).sum(axis=1))]
    for node in chosen[n_swapped : n_swapped + n_outliers]:
        columns = rng.random(dense.shape[1]) < 0.5
        far = dense.mean(axis=0) + 5 * dense.std(axis=0) * rng.choice([-1, 1], dense.shape[1])
        dense[node] = np.where(columns, far, dense[node])
    if hasattr(attributes, "toarray"):
        dense = type(attributes)(np.clip(np.round(dense), 0, 1))
    edges = draft.edges.copy()
    for node in chosen[n_swapped + n_outliers :]:  # its edges lead to random nodes instead
        for row in range(2):
            mine = np.flatnonzero(edges[row] == node)
            low, high = (draft.n_left, n) if draft.n_left and node < draft.n_left else (0, draft.n_left or n)
            edges[1 - row, mine] = rng.integers(low, high, size=mine.size)
    return replace(draft, edges=edges, attributes=dense), labels


def draft_rows(draft: Draft, nodes: IntArray) -> FloatArray:
    """Return the attributes of some nodes."""
    rows = draft.attributes[nodes]
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def with_clique(draft: Draft, members: IntArray, rng: Rng) -> Draft:
    """Return the graph with edges between all of the members, or between the two kinds of them."""
    first, second = np.triu_indices(members.size, 1)
    new = members[np.stack([first, second])]
    if draft.n_left:
        new = new[:, (new.min(axis=0) < draft.n_left) & (new.max(axis=0) >= draft.n_left)]
        new = np.stack([new.min(axis=0), new.max(axis=0)])
    weight = None if draft.weight is None else np.append(draft.weight, rng.choice(draft.weight, new.shape[1]))
    return replace(draft, edges=np.concatenate([draft.edges, new], axis=1), weight=weight)


def with_busy(draft: Draft, nodes: IntArray, rng: Rng) -> Draft:
    """Return the graph with 60 more edges for each of some nodes, and large amounts where there are any."""
    low = draft.n_left or 0
    for node in nodes:
        if node >= draft.n_left > 0:
            partners = rng.choice(draft.n_left, size=min(60, draft.n_left), replace=False)
            new = np.stack([partners, np.full(partners.size, node)])
        else:
            partners = rng.choice(np.arange(low, draft.n_nodes), size=min(60, draft.n_nodes - low), replace=False)
            new = np.stack([np.full(partners.size, node), partners])
        weight = draft.weight
        if weight is not None:
            weight = np.append(weight, np.full(new.shape[1], np.quantile(weight, 0.99)))
        draft = replace(draft, edges=np.concatenate([draft.edges, new], axis=1), weight=weight)
    return draft


def make(cell: Cell) -> Any:
    """Return the graph of a fit."""
    import hopsight as hs

    if cell.what == "labeled":
        folder = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
        graph = hs.load(folder / f"{cell.graph}.mat")
        n_cliques = INJECTED.get(cell.graph)
        if n_cliques is None:
            return graph
        return hs.inject(graph, n_cliques=n_cliques, clique_size=15, n_attribute=15 * n_cliques, seed=cell.seed)
    rng = np.random.default_rng([cell.seed, zlib.crc32(cell.graph.encode())])
    draft = GENERATORS[cell.graph](rng)
    labels = np.zeros(draft.n_nodes, dtype=np.int64)
    if cell.planted:
        draft, labels = plant(draft, cell.planted, rng)
    source, target = draft.edges
    if draft.attributes is not None:
        return hs.AttributedGraph.from_edges(
            source, target, draft.attributes, directed=draft.directed, edge_weight=draft.weight, labels=labels
        )
    import polars as pl

    columns = {"source": source, "target": target}
    columns |= {} if draft.weight is None else {"amount": draft.weight.round(2)}
    graph = hs.load(pl.DataFrame(columns), directed=draft.directed)
    return replace(graph, labels=labels[np.asarray(graph.node_ids, dtype=np.int64)])


def measure(cell: Cell) -> dict[str, Any]:
    """Fit, and return one row."""
    warnings.simplefilter("ignore")
    import torch

    import hopsight as hs

    torch.set_num_threads(1)
    graph = make(cell)
    start = time.perf_counter()
    model = hs.CrossHCM(seed=cell.seed, device=cell.device).fit(graph)
    truth, flagged = np.asarray(graph.labels) == 1, model.label_ == 1
    if cell.what == "older":
        return cell._asdict() | {"flagged": flagged}
    older = older_flags(cell, truth)
    touched, edges = truth[graph.edges].any(axis=0), model.edge_label_ == 1
    groups = [group.members for group in model.groups_]
    row = cell._asdict() | {
        "seconds": round(time.perf_counter() - start, 2),
        "n_nodes": graph.n_nodes,
        "n_planted": int(truth.sum()),
        "n_flagged": int(flagged.sum()),
        "n_false": int((flagged & ~truth).sum()),
        "n_edges": graph.n_edges,
        "edges_flagged": int(edges.sum()),
        "edges_false": int((edges & ~touched).sum()),
        "groups": len(groups),
        "groups_false": sum(bool(truth[members].mean() < 0.5) for members in groups),
    }
    return row | ({"older_true": int(older.sum()), "older_kept": int((older & flagged).sum())} if cell.planted else {})


def older_flags(cell: Cell, truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which planted nodes an older commit flags in the same graph, none in a kind that was added later."""
    with np.load(OLDER) as flags:
        key = key_of(cell._asdict())
        return truth & flags[key] if key in flags else np.zeros_like(truth)


def key_of(row: dict[str, Any]) -> str:
    """Return the name of a fit."""
    return "|".join(str(row[name]) for name in ("graph", "planted", "seed"))


def cells(what: str, n_seeds: int, device: str, part: str) -> Iterator[Cell]:
    """Yield the fits of a measurement."""
    for seed in range(n_seeds):
        for graph in LABELED if what == "labeled" else GENERATORS:
            if part in ("all", "edges" if graph.endswith("edges alone") else "attributes"):
                if what == "battery" or what == "labeled":
                    yield Cell(what, graph, "", seed, device)
                if what != "labeled":
                    yield Cell(what, graph, PLANTED[seed % len(PLANTED)], seed, device)


def main() -> None:
    """Run the fits in parallel and write one row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("battery", "labeled", "older"))
    parser.add_argument("--commit", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--part", choices=("all", "attributes", "edges"), default="all")
    parser.add_argument("--graphs", nargs="+", help="only these kinds of graph")
    options = parser.parse_args()
    wanted = list(cells(options.what, options.seeds, options.device, options.part))
    wanted = [cell for cell in wanted if options.graphs is None or cell.graph in options.graphs]
    with ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        rows = [row | {"commit": options.commit} for row in pool.map(measure, wanted)]
    if options.what == "older":
        before = dict(np.load(options.out)) if options.out.is_file() else {}
        np.savez_compressed(options.out, **before | {key_of(row): row["flagged"] for row in rows})
        return
    if options.out.is_file():
        measured = {(cell.graph, cell.planted, cell.seed) for cell in wanted}
        before = json.loads(options.out.read_text())
        rows += [row for row in before if (row["graph"], row["planted"], row["seed"]) not in measured]
    rows.sort(key=lambda row: (row["graph"], row["seed"], row["planted"]))
    options.out.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
