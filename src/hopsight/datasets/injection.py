"""Plant anomalies in a graph: cliques of unrelated nodes, and nodes with the attributes of another node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import Refusal, check_choice, check_count
from hopsight.graph import AttributedGraph

_N_DRAWS = 256  # at most, until a draw is even enough; one of 150 nodes is off by .024 (one standard deviation)
_EVEN_ENOUGH = 0.01
PROTOCOLS = ("dominant", "hcm", "leak-free")

Nodes = NDArray[np.int64]


def inject(
    graph: AttributedGraph,
    *,
    n_cliques: int = 10,
    clique_size: int = 15,
    n_attribute: int | None = None,
    n_candidates: int = 50,
    protocol: str = "dominant",
    seed: int | None = 0,
) -> AttributedGraph:
    """Return a copy of a graph with structural and attribute anomalies planted in it.

    Structural anomalies (kind 1): ``n_cliques`` times, ``clique_size`` nodes are all connected to each other.
    Attribute anomalies (kind 2): a node receives the attributes of a node that differs from it. The two sets are
    disjoint, and all other attributes stay unchanged.

    Parameters
    ----------
    graph
        The graph, which is not changed. Nodes that are labeled as anomalies or unlabeled are not chosen.
    n_cliques, clique_size
        Number of cliques, and number of nodes per clique.
    n_attribute
        Number of attribute anomalies; by default as many as structural ones.
    n_candidates
        Number of random nodes to compare a node with (at most all); the one at the largest Euclidean distance
        is taken.
    protocol
        ``"dominant"``: node i receives the row of the farthest candidate and is the anomaly. ``"hcm"``, as the
        HCM paper words it: the farthest candidate receives the row of node i and is the anomaly.
        ``"leak-free"``: as "dominant", but neither degree nor attribute norm gives the anomalies away.
    seed
        Random seed.

    Returns
    -------
    injected
        The new graph with ``labels`` and ``kinds``. Sparse attributes stay sparse.

    Raises
    ------
    ValueError
        If there are not enough nodes, if all nodes have the same attributes, or (leak-free) if cliques of this size
        would stand out by the degrees of their members.

    Notes
    -----
    The two usual protocols leak: a clique raises the degree of its members, and the farthest of 50 rows
    nearly always has a large norm, so that the norm alone finds it (ROC-AUC .98 on BlogCatalog). Leak-free
    injection chooses nodes by maximum-entropy weights under which the expected share of nodes with a smaller
    degree (after injection) or norm is one half. It takes the new row of an attribute anomaly from the
    ``n_candidates`` nodes (at most 5% of all) whose norm is closest to its own; the farthest of those is the one
    with the smallest cosine.

    References
    ----------
    Ding, Li, Bhanushali & Liu: Deep Anomaly Detection on Attributed Networks. SDM 2019.

    Examples
    --------
    >>> ring = AttributedGraph.from_edges(range(6), [1, 2, 3, 4, 5, 0], np.arange(12.0).reshape(6, 2))
    >>> planted = inject(ring, n_cliques=1, clique_size=3, n_attribute=1, n_candidates=2)
    >>> sorted(planted.kinds.tolist()), int(planted.labels.sum()), ring.labels
    ([0, 0, 1, 1, 1, 2], 4, None)
    """
    n_attribute = n_cliques * clique_size if n_attribute is None else n_attribute
    free = np.ones(graph.n_nodes, dtype=bool) if graph.labels is None else graph.labels == 0
    free &= True if graph.ranked is None else graph.ranked
    _check(graph, n_cliques, clique_size, n_attribute, n_candidates, protocol, int(free.sum()))
    clique_rng, attribute_rng = np.random.default_rng(seed).spawn(2)
    n_structural = n_cliques * clique_size
    choose = _choose_leak_free if protocol == "leak-free" else _choose_at_random
    structural = choose(graph, n_structural, clique_size - 1, free, rng=clique_rng)
    free[structural] = False
    if protocol == "hcm":
        changed, donors = _receiving_candidates(graph, n_attribute, n_candidates, free, rng=attribute_rng)
    else:
        changed = choose(graph, n_attribute, 0, free, rng=attribute_rng)
        draw = _similar_norms if protocol == "leak-free" else _random_others
        donors = _farthest_donors(graph, changed, draw(graph, changed, n_candidates, rng=attribute_rng))
    return _planted(graph, structural.reshape(n_cliques, clique_size), changed, donors)


def _check(
    graph: AttributedGraph, n_cliques: int, clique_size: int, n_attribute: int, n_candidates: int, protocol: str,
    n_free: int,
) -> None:  # fmt: skip
    check_choice("protocol", protocol, PROTOCOLS)
    if graph.edge_relation is not None:
        raise ValueError("anomalies are planted in graphs with one type of node: inject into one of the edge tables")
    check_count("n_cliques", n_cliques, low=0)
    check_count("clique_size", clique_size, low=2)
    check_count("n_attribute", n_attribute, low=0)
    check_count("n_candidates", n_candidates)
    n_planted = n_cliques * clique_size + n_attribute
    if n_planted > n_free:
        asked = f"{n_cliques} cliques of {clique_size} and {n_attribute} others"
        raise ValueError(f"{asked} are {n_planted} nodes, but only {n_free} are normal")
    if protocol == "leak-free":
        _check_degrees_can_hide(graph, n_cliques, clique_size)


def _choose_at_random(
    graph: AttributedGraph, size: int, _: int, free: NDArray[np.bool_], *, rng: np.random.Generator
) -> Nodes:
    """Return ``size`` distinct free nodes."""
    return rng.choice(np.flatnonzero(free), size=size, replace=False)


def _choose_leak_free(
    graph: AttributedGraph, size: int, n_new_edges: int, free: NDArray[np.bool_], *, rng: np.random.Generator
) -> Nodes:
    """Return free nodes whose degree, including the new edges, and norm are average."""
    norms = _squared_norms(graph.attributes)
    shares = np.column_stack([share_below(graph.degrees + n_new_edges, graph.degrees), share_below(norms, norms)])
    nodes = np.flatnonzero(free)
    return nodes[balanced_choice(shares[nodes], size, rng=rng)]


def _check_degrees_can_hide(graph: AttributedGraph, n_cliques: int, clique_size: int) -> None:
    """Refuse cliques so large that even nodes with the fewest edges would stand out by their degree as members."""

    def can_hide(size: int) -> bool:
        shares = np.sort(share_below(graph.degrees + size - 1, graph.degrees))
        return float(shares[: n_cliques * size].mean()) <= 0.5

    if n_cliques and not can_hide(clique_size):
        largest = next((size for size in range(clique_size - 1, 1, -1) if can_hide(size)), None)
        allowed = "is too large whatever it is" if largest is None else f"must be at most {largest}"
        raise Refusal(
            "clique_size",
            f"{allowed} for leak-free injection into this graph, whose median degree is "
            f"{np.median(graph.degrees):g}, got {clique_size}",
        )


def _random_others(graph: AttributedGraph, nodes: Nodes, n_candidates: int, *, rng: np.random.Generator) -> list[Nodes]:
    """Return, for each node, ``n_candidates`` distinct other nodes."""
    n_others = graph.n_nodes - 1
    draws = [rng.choice(n_others, size=min(n_candidates, n_others), replace=False) for _ in nodes]
    return [draw + (draw >= node) for draw, node in zip(draws, nodes, strict=True)]


def _similar_norms(graph: AttributedGraph, nodes: Nodes, n_candidates: int, *, rng: np.random.Generator) -> list[Nodes]:
    """Return, for each node, the other nodes whose norm is closest to its own, at most 5% of all."""
    n_near = max(2, min(n_candidates, graph.n_nodes // 20))
    order = np.lexsort([rng.random(graph.n_nodes), _squared_norms(graph.attributes)])  # ties in random order
    place = np.argsort(order)
    starts = np.clip(place[nodes] - n_near // 2, 0, max(0, graph.n_nodes - n_near - 1))
    windows = [order[start : start + n_near + 1] for start in starts]
    return [window[window != node] for window, node in zip(windows, nodes, strict=True)]


def _farthest_donors(graph: AttributedGraph, nodes: Nodes, candidates: list[Nodes]) -> Nodes:
    """Return, for each node, the candidate whose attributes are farthest from its own."""
    squared_norms, all_nodes = _squared_norms(graph.attributes), np.arange(graph.n_nodes)
    pairs = zip(nodes, candidates, strict=True)
    donors = [_farthest(graph.attributes, squared_norms, node, others, all_nodes) for node, others in pairs]
    return np.array(donors, dtype=np.int64)


def _receiving_candidates(
    graph: AttributedGraph,
    n_attribute: int,
    n_candidates: int,
    free: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
) -> tuple[Nodes, Nodes]:
    """Return (changed, donors) as the HCM paper words it: the farthest candidate receives the row of node i."""
    squared_norms = _squared_norms(graph.attributes)
    donors = rng.choice(np.flatnonzero(free), size=n_attribute, replace=False)
    changed = np.empty(n_attribute, dtype=np.int64)
    available = free.copy()
    for position, donor in enumerate(donors):
        eligible = np.setdiff1d(np.flatnonzero(available), donor)
        others = rng.choice(eligible, size=min(n_candidates, eligible.size), replace=False)
        changed[position] = _farthest(graph.attributes, squared_norms, donor, others, eligible)
        available[changed[position]] = False
    return changed, donors


def _farthest(attributes: Any, squared_norms: NDArray[np.float64], node: int, others: Nodes, eligible: Nodes) -> int:
    """Return the node farthest from ``node`` among ``others``, or among all eligible nodes if those are all equal."""
    for candidates in (others, eligible):
        distances = _squared_distances(attributes, squared_norms, node, candidates)
        if distances.max(initial=0.0) > 1e-12 * squared_norms[node]:
            return int(candidates[np.argmax(distances)])
    raise ValueError("attribute anomalies need attributes that differ, but all available nodes have the same")


def _planted(graph: AttributedGraph, cliques: NDArray[np.int64], changed: Nodes, donors: Nodes) -> AttributedGraph:
    """Return the graph with these cliques, and with the rows of ``donors`` in place of those of ``changed``."""
    kinds = np.zeros(graph.n_nodes, dtype=np.int8) if graph.kinds is None else graph.kinds.copy()
    kinds[cliques.ravel()], kinds[changed] = 1, 2
    planted = np.concatenate([cliques.ravel(), changed])
    labels = np.zeros(graph.n_nodes, dtype=np.int8) if graph.labels is None else graph.labels.copy()
    labels[planted] = 1
    rows = np.arange(graph.n_nodes)
    rows[changed] = donors
    bare = replace(
        graph, edge_weight=None, edge_time=None, edge_attributes=None, edge_attribute_names=None, events=None
    )
    changed_graph = replace(
        bare,
        adjacency=_with_cliques(graph.adjacency, cliques),
        attributes=graph.attributes[rows],
        labels=labels,
        kinds=kinds,
        filled={name: np.flatnonzero(np.isin(rows, filled)) for name, filled in graph.filled.items()},
    )
    return _with_edge_data(changed_graph, graph) if graph.edge_data else changed_graph


def _with_edge_data(planted: AttributedGraph, graph: AttributedGraph) -> AttributedGraph:
    """Return the planted graph with the edge data of the original; a planted edge gets the median of each number."""
    before, after = (each.edges[0] * graph.n_nodes + each.edges[1] for each in (graph, planted))
    kept = np.searchsorted(after, before)
    fields: dict[str, Any] = {}
    for field in ("edge_weight", "edge_time", "edge_attributes"):
        values = getattr(graph, field)
        if values is not None:
            fields[field] = np.broadcast_to(np.nanmedian(values, axis=0), (after.size, *values.shape[1:])).copy()
            fields[field][kept] = values
    return replace(planted, **fields, edge_attribute_names=graph.edge_attribute_names)


def _with_cliques(adjacency: Any, cliques: NDArray[np.int64]) -> Any:
    """Return the adjacency matrix with all members of each clique connected, in both directions."""
    first, second = np.nonzero(~np.eye(cliques.shape[1], dtype=bool))
    source, target = cliques[:, first].ravel(), cliques[:, second].ravel()
    ones = np.ones(source.size, dtype=adjacency.dtype)
    return adjacency + sp.csr_array((ones, (source, target)), shape=adjacency.shape)


def _squared_norms(attributes: Any) -> NDArray[np.float64]:
    squares = attributes.multiply(attributes) if sp.issparse(attributes) else attributes**2
    return np.asarray(squares.sum(axis=1, dtype=np.float64)).ravel()


def _squared_distances(
    attributes: Any, squared_norms: NDArray[np.float64], node: int, others: Nodes
) -> NDArray[np.float64]:
    """Return ‖x − y‖² = ‖x‖² + ‖y‖² − 2 x·y between one node and others, without densifying sparse rows."""
    if not sp.issparse(attributes):
        squares = (attributes[others].astype(np.float64) - attributes[node]) ** 2
        return np.asarray(squares.sum(axis=1))
    products = (attributes[others].astype(np.float64) @ attributes[[node]].T).toarray().ravel()
    return np.asarray(squared_norms[others] + squared_norms[node] - 2.0 * products)


def share_below(values: NDArray[Any], population: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of a population below each value; ties count half.

    The mean over a set of nodes is the ROC-AUC with which the quantity separates them from the population.

    >>> share_below(np.array([1, 2, 9]), np.array([1, 2, 2, 3])).tolist()
    [0.125, 0.5, 1.0]
    """
    ordered = np.sort(population)
    below = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return below / (2.0 * ordered.size)


def balanced_choice(shares: NDArray[np.float64], size: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the positions of ``size`` different rows of ``shares`` with a mean of about one half in every column.

    Row i is drawn with weight exp(λ·(shares_i − ½)), where λ makes the weighted mean of every column one half; of
    all such weights, these are the closest to equal weights. Uneven draws are repeated, and the most even one counts.
    """
    if size == 0:
        return np.empty(0, dtype=np.int64)
    centered = shares - 0.5  # (n, n_columns)
    log_weights = np.log(_even_weights(centered))
    best, least = np.empty(0, dtype=np.int64), np.inf
    for _ in range(_N_DRAWS):  # the largest sums of log weight and Gumbel noise are a weighted draw without replacement
        keys = log_weights + rng.gumbel(size=log_weights.size)
        draw = np.argpartition(keys, log_weights.size - size)[-size:]
        unevenness = float(np.abs(centered[draw].mean(axis=0)).max())
        if unevenness < least:
            best, least = draw, unevenness
        if least <= _EVEN_ENOUGH:
            break
    return rng.permutation(best)


def _even_weights(centered: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positive weights with a weighted mean of (nearly) zero in every column, by Newton's method.

    The weights minimize log Σ exp(λ·x_i), which is convex in λ. For a column that cannot be balanced, λ stops at 50.
    """
    multipliers = np.zeros(centered.shape[1])
    for _ in range(100):
        exponents = centered @ multipliers
        weights = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        mean = weights @ centered
        if np.abs(mean).max() < 1e-9:
            break
        spread = (centered * weights[:, None]).T @ centered - np.outer(mean, mean)
        step = np.linalg.solve(spread + 1e-6 * np.eye(mean.size), mean)
        multipliers = np.clip(multipliers - np.clip(step, -2.0, 2.0), -50.0, 50.0)
    return np.asarray(np.maximum(weights, 1e-300))
