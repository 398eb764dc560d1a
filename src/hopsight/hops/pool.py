"""A bounded pool of node pairs by hop class, chosen by hashes, so that every engine and node order finds the same one.

Sources are the nodes with the smallest hashes. Of the pairs that the search from them finds in a class, the pool
keeps those with the smallest hashes. Training then draws its epochs from the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.hops.search import WORD, HopSearch, below, count, draw_epochs, scramble
from hopsight.system.threads import by_parts, for_each, in_order

IntArray = NDArray[np.int64]
HashArray = NDArray[np.uint64]

SEARCHED_PAIRS = 1 << 31  # pairs of a source and a node to look at; fixes the number of sources in large graphs
LEAST_SOURCES, MOST_SOURCES = 2048, 8192  # of all networks together
FIRST_SOURCES = 256  # that limits are guessed from
POOL_PER_FOLD = 16_384  # pairs of one class that a fold draws from, and more if it draws many in an epoch
POOL_EPOCHS = 8  # epochs that the pool of a fold suffices for without repeating a pair


@dataclass(frozen=True)
class PairPool:
    """Pairs by fold and class, each list ordered by the hashes of its pairs.

    Attributes
    ----------
    sizes, errors
        Number of pairs at 1, 2, …, C−1 and ≥ C hops in the graph of a network, on average, and the standard error of
        each.
    class_of_hop
        The class (from 0) of each of those after small ones were merged.
    n_classes, n_pairs
        Number of classes after merging, the effective C, and number of pairs drawn from every class per epoch.
    pools
        For every fold and class, (2, n) pairs to draw from; the one-hop pairs are edges that the fold hides.
    n_networks
        The folds belong to this many networks in turn. Of several, a network sets the first aside from training.
    """

    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    class_of_hop: IntArray
    n_classes: int
    n_pairs: int
    pools: Sequence[Sequence[IntArray]]
    n_networks: int

    @property
    def labels(self) -> IntArray:
        """Return the class of every pair of an epoch, in the order of :meth:`draw`."""
        return np.repeat(np.arange(self.n_classes), self.n_pairs)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the pool as named arrays, for a file."""
        pools = {f"{f}.{kind}": pairs for f, fold in enumerate(self.pools) for kind, pairs in enumerate(fold)}
        known = {"sizes": self.sizes, "errors": self.errors, "class_of_hop": self.class_of_hop}
        return known | pools | {"n_pairs": np.array(self.n_pairs), "n_networks": np.array(self.n_networks)}

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> PairPool:
        """Return the pool of :meth:`arrays`."""
        class_of_hop = arrays["class_of_hop"]
        n_classes = int(class_of_hop.max()) + 1
        n_folds = sum(name.endswith(".0") for name in arrays)
        pools = [[arrays[f"{f}.{kind}"] for kind in range(n_classes)] for f in range(n_folds)]
        counts = int(arrays["n_pairs"]), pools, int(arrays["n_networks"])
        return cls(arrays["sizes"], arrays["errors"], class_of_hop, n_classes, *counts)

    def nodes(self, fold: int) -> IntArray:
        """Return the nodes that the pairs of a fold consist of, in ascending order."""
        return np.flatnonzero(self._has(fold))

    def _has(self, fold: int) -> NDArray[np.bool_]:
        """Return which nodes, up to the last, the pairs of a fold consist of."""
        has = np.zeros(1 + max(int(pairs.max(initial=-1)) for pairs in self.pools[fold]), dtype=np.bool_)
        for pairs in self.pools[fold]:
            has[pairs] = True
        return has

    def renumbered(self) -> PairPool:
        """Return the pool with each node's place among :meth:`nodes` of its fold instead of its number."""
        places = (np.cumsum(self._has(fold)) - 1 for fold in range(len(self.pools)))
        pools = [[place[pairs] for pairs in mine] for place, mine in zip(places, self.pools, strict=True)]
        return replace(self, pools=pools)

    def draw(self, epoch: int, n_epochs: int, *, rng: np.random.Generator) -> IntArray:
        """Return ``(n_epochs, n_networks, 2, n_classes · n_pairs)`` pairs, in epoch t from fold t of each network."""
        drawn = np.empty((n_epochs, self.n_networks, 2, self.n_classes * self.n_pairs), dtype=np.int64)
        words = rng.integers(2**64, size=(n_epochs, self.n_networks, self.n_classes), dtype=np.uint64)
        n_inner = len(self.pools) // self.n_networks
        first = min(1, n_inner - 1)
        folds = first + np.arange(epoch, epoch + n_epochs) % (n_inner - first)
        columns = self._columns  # once, before several threads would ask for them
        for_each(lambda k: _draw(columns, k * n_inner + folds, words, k, drawn), range(self.n_networks))
        return drawn

    def draw_aside(self, network: int, most: int, *, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return pairs that a network does not train on, equally many of each class, and their classes."""
        fold = network * len(self.pools) // self.n_networks
        n_pairs = min(most, *(pairs.shape[1] for pairs in self.pools[fold]))
        drawn = np.empty((1, 1, 2, self.n_classes * n_pairs), dtype=np.int64)
        words = rng.integers(2**64, size=(1, 1, self.n_classes), dtype=np.uint64)
        _draw(self._columns, np.array([fold]), words, 0, drawn)
        return drawn[0, 0], np.repeat(np.arange(self.n_classes), n_pairs)

    @cached_property
    def _columns(self) -> tuple[IntArray, IntArray]:
        """All pairs side by side, and where those of each fold and class begin: compiled code takes no lists."""
        sizes = [[pairs.shape[1] for pairs in pools] for pools in self.pools]
        ends = np.cumsum(sizes).reshape(len(self.pools), -1)
        starts = np.column_stack([np.concatenate([[0], ends[:-1, -1]]), ends])
        return np.concatenate([pairs for pools in self.pools for pairs in pools], axis=1), starts


def _draw(columns: tuple[IntArray, IntArray], folds: IntArray, words: HashArray, network: int, out: IntArray) -> None:
    pairs, starts = columns
    draw_epochs(pairs, starts, folds, words, network, np.arange(np.diff(starts).max()), out)


def pair_pool(
    adjacencies: Sequence[Any],
    positives: Sequence[NDArray[np.bool_]],
    edges: IntArray,
    apart: IntArray,
    hashes: HashArray,
    seed: np.uint64,
    *,
    judged_by: Callable[[HashArray], NDArray[Any]] | None = None,
    n_classes: int,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
    directed: bool = False,
    n_sources: int | None = None,
) -> PairPool:
    """Choose the pool.

    Parameters
    ----------
    adjacencies
        For every network, the 0/1 CSR matrix of the edges that it counts hops along.
    positives
        For every fold, a mask of the edges that it learns one hop from.
    edges, apart
        (2, n_edges) all edges, and those that are never an example of a farther pair, even where hops are not counted
        along them.
    hashes, seed
        64 bits per node, and the seed that selects the pool.
    judged_by
        The network that judges pairs with these sums of their ends' hashes. A network learns from none of the pairs
        that it judges, be they edges or not: otherwise it would remember which are not.
    n_classes
        C: the classes are 1, 2, …, C−1 and ≥ C hops.
    sampling_ratio, max_pairs
        S: number of pairs per class and epoch, as a share of the smallest class; and the largest number of pairs per
        epoch, over all classes.
    min_class_pairs
        A class smaller than this is merged into the next nearer one, but never into the one-hop class: that
        stays pure, and the next farther class takes the pairs instead.
    directed
        Count hops along the arcs, and (a, b) apart from (b, a).
    n_sources
        Sources of each network, at most; None means those of :func:`source_count`.

    Raises
    ------
    ValueError
        If there are no edges, or every pair is connected.
    """
    check_count("n_classes", n_classes, low=2)
    check_count("max_pairs", max_pairs, low=2)
    check_count("min_class_pairs", min_class_pairs, low=1)
    n_networks, n_arcs = len(adjacencies), sum(adjacency.nnz for adjacency in adjacencies)
    if n_arcs == 0:
        raise ValueError("the graph has no edges to learn hop counts from")
    order = np.argsort(scramble(hashes ^ seed), kind="stable")
    searches = [HopSearch(adjacency, n_classes - 1, directed=directed) for adjacency in adjacencies]
    sources = [mine[:n_sources] for mine in source_places(order, n_networks)]
    plan, found = _searched(searches, sources, hashes, seed, lambda counts: plan_pool(
        counts, hashes.size, n_arcs / n_networks / (1 if directed else 2), len(positives) // n_networks, n_networks,
        directed=directed, n_classes=n_classes,
        sampling_ratio=sampling_ratio, max_pairs=max_pairs, min_class_pairs=min_class_pairs,
    ))  # fmt: skip

    def training(network: int) -> list[IntArray]:
        mine = found[network]
        if judged_by is None:
            return [without(pairs, apart, hashes.size) for pairs in mine]
        judged = [judged_by(hashes[pairs[0]] + hashes[pairs[1]]) == network for pairs in mine]
        return allowed(mine, judged, apart, hashes.size)

    words = pair_hashes(hashes, edges, seed)

    def nearest(mask: NDArray[np.bool_]) -> IntArray:
        places = np.flatnonzero(mask)
        return edges[:, places[smallest(words[places], plan.per_fold, hashes[edges[0, places]])]]

    return plan.pool(list(in_order(nearest, positives)), list(in_order(training, range(n_networks))))


def source_places(order: IntArray, n_networks: int) -> list[IntArray]:
    """Return the sources of each network from nodes in the order of their hashes: other ones where there are enough.

    >>> [mine.tolist() for mine in source_places(np.arange(4), 3)]
    [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]]
    """
    n_sources = source_count(order.size, n_networks)
    turns = np.arange(n_sources)
    if n_networks * n_sources > order.size:
        return [order[:n_sources]] * n_networks
    return [order[network * n_sources + turns] for network in range(n_networks)]


def allowed(
    pairs: Sequence[IntArray], judged: Sequence[NDArray[np.bool_]], edges: IntArray, n_nodes: int
) -> list[IntArray]:
    """Return those of the farther pairs of each class that a network may learn from.

    They are neither edges nor pairs that it judges. In a tiny graph, where nothing else is left, it learns from such
    pairs as well if they are not edges.
    """
    others = [without(some[:, ~mine], edges, n_nodes) for some, mine in zip(pairs, judged, strict=True)]
    return others if any(some.size for some in others) else [without(some, edges, n_nodes) for some in pairs]


def smallest(words: HashArray, most: int, ties: HashArray | None = None) -> IntArray:
    """Return the positions of the smallest words in their order, equal ones by ``ties`` or else by position.

    >>> smallest(np.array([7, 5, 9, 5], dtype=np.uint64), 2).tolist()
    [1, 3]
    """
    limit = np.partition(words, most - 1)[most - 1] if words.size > most else np.uint64(2**64 - 1)
    near = np.flatnonzero(words <= limit)
    return near[np.lexsort([near if ties is None else ties[near], words[near]])[:most]]


def without(pairs: IntArray, edges: IntArray, n_nodes: int) -> IntArray:
    """Return the pairs that are not among some edges, whatever the order of their ends.

    >>> without(np.array([[0, 3], [1, 2]]), np.array([[1], [0]]), 4).tolist()
    [[3], [2]]
    """
    if not pairs.size:
        return pairs
    keys, gone = (np.minimum(*ends) * n_nodes + np.maximum(*ends) for ends in (pairs, edges))
    if not gone.size:
        return pairs
    if (gone[1:] < gone[:-1]).any():  # the edges of an undirected graph are in order
        gone.sort()
    return pairs[:, gone[np.searchsorted(gone, keys).clip(max=gone.size - 1)] != keys]


@dataclass(frozen=True)
class PoolPlan:
    """What the counts decide: classes, pairs per epoch, and the hash below which a pair of a class is taken."""

    sizes: NDArray[np.float64]
    errors: NDArray[np.float64]
    class_of_hop: IntArray
    n_classes: int
    n_pairs: int
    per_fold: int  # pairs of a class that a fold draws from
    wanted: int  # and those of all inner folds of a network
    limits: HashArray  # (n_hops,) largest hash that is looked at

    def pool(self, near: Sequence[IntArray], far: Sequence[Sequence[IntArray]]) -> PairPool:
        """Return the pool from every fold's edges and every network's farther pairs of each class, sorted by hash.

        The r-th of these belongs to inner fold r mod n_inner, in both orders of its ends. A class that held nothing
        but dropped edges takes the pairs of another class.
        """
        n_inner = len(near) // len(far)

        def dealt(pairs: IntArray) -> list[IntArray]:
            turn = _turns(pairs) % n_inner
            return [pairs[:, turn == f] for f in range(n_inner)]

        pools: list[list[IntArray]] = []
        for network, mine in enumerate(far):
            if not any(pairs.size for pairs in mine):
                raise ValueError("every pair of nodes is connected, so there are no hop counts to learn")
            full = [pairs if pairs.size else next(other for other in mine if other.size) for pairs in mine]
            shares = zip(*in_order(dealt, [pairs[:, : self.wanted] for pairs in full]), strict=True)
            edges = near[network * n_inner : (network + 1) * n_inner]
            pools += [[one_hop, *share] for one_hop, share in zip(edges, shares, strict=True)]
        filled = [_filled(pools, fold, n_inner) for fold in range(len(pools))]
        return PairPool(self.sizes, self.errors, self.class_of_hop, self.n_classes, self.n_pairs, filled, len(far))

    def collector(self, hashes: HashArray, seed: np.uint64) -> Callable[[Any, IntArray], Any]:
        """Return what collects the pairs below the limits from a search."""
        return lambda reached, batch: below(reached, hashes[batch], hashes, seed, self.class_of_hop, self.limits)

    def chosen(self, sources: IntArray, found: Sequence[Any], hashes: HashArray) -> list[IntArray]:
        """Return, for every class beyond one hop, the collected pairs below the limit in the order of their hashes."""
        bit, target, kind, rank = (np.concatenate(column) for column in zip(*found, strict=True))
        batch = np.repeat(np.arange(len(found)), [len(part[0]) for part in found])
        limits = np.array([self.limits[self.class_of_hop == each].max() for each in range(self.n_classes)])

        def one_class(far: int) -> IntArray:
            mine = np.flatnonzero((kind == far) & (rank <= limits[far]))
            source = sources[bit[mine] + WORD * batch[mine]]
            order = np.lexsort([hashes[source], rank[mine]])  # both orders of two ends have one hash
            return np.stack([source[order], target[mine[order]]])

        return list(in_order(one_class, range(1, self.n_classes)))


def plan_pool(
    counts: IntArray,
    n_nodes: int,
    n_edges: float,
    n_folds: int,
    n_networks: int = 1,
    *,
    directed: bool = False,
    n_classes: int,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
) -> PoolPlan:
    """Choose classes and limits from the nodes at each distance of a source.

    ``counts`` is (n_sources, n_classes) for the sources of all networks, ``n_edges`` the mean number of edges in the
    graph of a network. Of the pairs below the limits, a network may learn from those that it does not judge.
    """
    n_sources = counts.shape[0]
    weight = n_nodes if directed else n_nodes / 2
    sizes = weight * counts.mean(axis=0)
    spread = counts.std(axis=0, ddof=1) if n_sources > 1 else np.full(n_classes, np.inf)
    errors = np.zeros(n_classes) if n_sources == n_nodes * n_networks else weight * spread / np.sqrt(n_sources)
    sizes[0], errors[0] = n_edges, 0.0
    class_of_hop, pools, n_pairs = choose_classes(
        sizes, counts, n_edges, n_networks,
        sampling_ratio=sampling_ratio, max_pairs=max_pairs, min_class_pairs=min_class_pairs,
    )  # fmt: skip
    per_fold = max(POOL_PER_FOLD, POOL_EPOCHS * n_pairs)
    wanted = n_folds * per_fold
    looked_at = (wanted + 8 * np.sqrt(wanted)) * n_networks / max(1, n_networks - 1)
    shares = np.minimum(looked_at / np.maximum(pools, 1), 1.0)[class_of_hop]
    limits = np.where(shares < 1.0, shares * 2.0**64, 2.0**64 - 2048).astype(np.uint64)
    return PoolPlan(sizes, errors, class_of_hop, pools.size, n_pairs, per_fold, wanted, limits)


def source_count(n_nodes: int, n_networks: int = 1) -> int:
    """Return the number of sources of each network: all nodes of a small graph, fewer the larger it is.

    >>> source_count(2_400), source_count(100_000), source_count(1_000_000), source_count(1_000_000, 3)
    (2400, 8192, 2147, 715)
    """
    return min(n_nodes, max(LEAST_SOURCES, min(MOST_SOURCES, SEARCHED_PAIRS // n_nodes)) // n_networks)


def _turns(pairs: IntArray) -> IntArray:
    """Return the number of each pair among pairs sorted by hash; both orders of the same ends have one number."""
    first, second = np.minimum(*pairs), np.maximum(*pairs)
    return np.concatenate([[0], np.cumsum((first[1:] != first[:-1]) | (second[1:] != second[:-1]))])


def _filled(pools: Sequence[Sequence[IntArray]], fold: int, n_inner: int) -> list[IntArray]:
    """Return the pools of a fold; an empty one is filled from the other folds of its network.

    In tiny graphs a network may see no edge at all: each node paired with itself then stands for one hop.
    """
    first = fold - fold % n_inner
    mine = [pairs if pairs.size else np.concatenate([other[kind] for other in pools[first : first + n_inner]], axis=1)
            for kind, pairs in enumerate(pools[fold])]  # fmt: skip
    if mine[0].size == 0:
        nodes = np.unique(np.concatenate([pairs.ravel() for pairs in mine[1:]]))
        mine[0] = np.stack([nodes, nodes])
    return mine


def pair_hashes(hashes: HashArray, pairs: IntArray, seed: np.uint64) -> HashArray:
    """Return the hash of every pair, whatever the order of its ends."""
    return np.asarray(
        by_parts(lambda part: scramble((hashes[pairs[0, part]] + hashes[pairs[1, part]]) ^ seed), pairs.shape[1])
    )


def _searched(
    searches: Sequence[HopSearch],
    sources: Sequence[IntArray],
    hashes: HashArray,
    seed: np.uint64,
    plan_of: Callable[[IntArray], PoolPlan],
) -> tuple[PoolPlan, list[list[IntArray]]]:
    """Return the plan and, for every network and class beyond one hop, the pairs below the limit by their hashes.

    Limits follow from counts over all sources, and searching takes longest. So pairs below limits guessed from a few
    sources are collected while counting; in the rare case that the guess was too low, all sources are searched again.
    """

    def counts_of(most: int, times: int) -> IntArray:
        each = zip(searches, sources, strict=True)
        return np.concatenate([np.tile(_counts(search, mine[:most]), (times, 1)) for search, mine in each])

    def collected(work: Callable[[Any, IntArray], Any]) -> list[list[Any]]:
        return [search.each(work, mine) for search, mine in zip(searches, sources, strict=True)]

    guess, n_sources = None, sources[0].size
    if n_sources > 2 * FIRST_SOURCES:
        with suppress(ValueError):  # nothing is known of some class yet
            guess = plan_of(counts_of(FIRST_SOURCES, n_sources // FIRST_SOURCES))
            guess = replace(guess, limits=_wider(guess.limits))
    if guess is None:
        plan = plan_of(counts_of(n_sources, 1))
    else:
        collect = guess.collector(hashes, seed)
        both = collected(lambda reached, batch: (count(reached, batch.size), collect(reached, batch)))
        plan = plan_of(np.concatenate([counts for network in both for counts, _ in network]))
        if (plan.class_of_hop == guess.class_of_hop).all() and (plan.limits <= guess.limits).all():
            found = [[pairs for _, pairs in network] for network in both]
            return plan, [plan.chosen(mine, each, hashes) for mine, each in zip(sources, found, strict=True)]
    found = collected(plan.collector(hashes, seed))
    return plan, [plan.chosen(mine, each, hashes) for mine, each in zip(sources, found, strict=True)]


def _counts(search: HopSearch, sources: IntArray) -> IntArray:
    """Count the nodes at 1, …, C−1 and ≥ C hops of every source."""
    return np.concatenate(search.each(lambda reached, batch: count(reached, batch.size), sources))


def _wider(limits: HashArray) -> HashArray:
    """Return limits that those of a plan from more sources will hardly exceed."""
    return np.maximum(limits, np.minimum(1.25 * limits.astype(np.float64), 2.0**64 - 2048).astype(np.uint64))


def choose_classes(
    sizes: NDArray[np.float64],
    counts: IntArray,
    n_edges: float,
    n_networks: int,
    *,
    sampling_ratio: float,
    max_pairs: int,
    min_class_pairs: int,
) -> tuple[IntArray, IntArray, int]:
    """Return the class of each hop after merging, the pairs available in each class, and the pairs per epoch.

    ``sizes`` counts the pairs of a network's graph, ``counts`` (n_sources, C) those of the sources of all networks.
    """
    class_of_hop = merge_classes(sizes, min_class_pairs)
    n_kept = int(class_of_hop.max()) + 1
    pools = np.array([counts[:, class_of_hop == kept].sum() / n_networks for kept in range(n_kept)])
    pools[0] = n_edges
    if n_kept < 2 or pools.min() == 0:
        raise ValueError("every pair of nodes is connected, so there are no hop counts to learn")
    smallest = min(sizes[class_of_hop == kept].sum() for kept in range(n_kept))
    n_pairs = int(min(max(1, sampling_ratio * smallest), max_pairs // n_kept, pools.min()))
    return class_of_hop, pools, max(1, n_pairs)


def merge_classes(sizes: NDArray[np.float64], min_class_pairs: int) -> IntArray:
    """Return the class of each hop after small classes were merged into a neighboring one."""
    groups = [[hop] for hop in range(len(sizes))]
    for index in range(len(groups) - 1, 1, -1):  # from the farthest down to two hops
        if sum(sizes[hop] for hop in groups[index]) < min_class_pairs:
            groups[index - 1] += groups.pop(index)
    if len(groups) > 2 and sum(sizes[hop] for hop in groups[1]) < min_class_pairs:
        groups[1:3] = [groups[1] + groups[2]]
    class_of_hop = np.empty(len(sizes), dtype=np.int64)
    for index, hops in enumerate(groups):
        class_of_hop[hops] = index
    return class_of_hop
