"""Turn evidence about nodes into groups: rings, lockstep groups, cycles of amounts, nodes around what they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from hopsight.canonical import Context
from hopsight.checks import plural
from hopsight.flow.evidence import Flow
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

TRIANGLES = 2  # that each edge of a group closes; single triangles of suspects, and chains of them, occur by chance
N_LISTED, N_NAMED = 20, 6  # groups, and members of each, in a notebook
COMMON = 0.5  # share of nodes
LEAST_SIDE = 0.25  # strangeness (or alikeness) of an edge that may hold a group together
PASSING = 3.0  # evidence of pass_through that one ordinary node in a thousand has
LEAST_AROUND = 3  # suspects around one node of another type
MOST_THINGS = 100  # of a suspect; who has more has some in common with anybody


@dataclass(frozen=True)
class Group:
    """Nodes that belong together.

    Attributes
    ----------
    kind
        ``"ring"``, ``"lockstep"``, ``"cycle"`` or ``"sharing"``.
    members
        Node positions, the strongest evidence first.
    density
        Share of the pairs of members that are edges.
    score
        Mean evidence of the members, as in ``evidence_``.
    total, first, last, currency
        Of a cycle, the sum of the amounts that went around, the times of the first and of the last of them, and their
        currency; None for others.
    around
        Of a group by sharing, the numbers of the nodes of other types that its members share
        (:class:`hopsight.canonical.Context`), those that most members share first.
    """

    kind: str
    members: IntArray
    density: float
    score: float
    total: float | None = None
    first: float | None = None
    last: float | None = None
    currency: str | None = None
    around: tuple[int, ...] = ()


class GroupList(list[Group]):
    """Groups, the strongest of each kind first; a notebook shows them as a table.

    ``names`` are the ids of all nodes, to name the members in that table.
    """

    def __init__(self, groups: Iterable[Group] = (), *, names: NDArray[Any] | None = None) -> None:
        super().__init__(groups)
        self.names = names

    def _repr_html_(self) -> str:
        from hopsight.markup import card, paragraph, table

        rows = [
            [number, group.kind, group.members.size, f"{group.density:.0%}", f"{group.score:.1f}", self._members(group)]
            for number, group in enumerate(self[:N_LISTED], start=1)
        ]
        more = f"{len(self) - N_LISTED:,} more are not shown." if len(self) > N_LISTED else ""
        header = ["group", "kind", "nodes", "density", "strength", "members"]
        return card(plural(len(self), "group"), table(header, rows), paragraph(more))

    def _members(self, group: Group) -> str:
        first = group.members[:N_NAMED]
        names = ", ".join(str(name) for name in (first if self.names is None else self.names[first]))
        return names + (", …" if group.members.size > N_NAMED else "")


def all_groups(
    edges: IntArray,
    sides: Mapping[str, FloatArray],
    evidence: Mapping[str, FloatArray],
    least: Mapping[str, float],
    names: NDArray[Any] | None,
) -> GroupList:
    """Return the groups of every kind that has sides, among the nodes whose evidence of that kind exceeds the least."""
    groups, common = GroupList(names=names), common_kinds(evidence, least)
    for kind, side in sides.items():
        if kind not in common:
            groups += find_groups(kind, edges, side, evidence[kind], evidence[kind] > least[kind])
    return groups


def common_kinds(evidence: Mapping[str, FloatArray], least: Mapping[str, float]) -> list[str]:
    """Return the kinds of evidence that most nodes have more of than the least, so that it distinguishes none.

    That happens in a graph unlike the one of the fit.
    """
    return [kind for kind in evidence if kind in least and (evidence[kind] > least[kind]).mean() > COMMON]


def by_id(groups: GroupList, evidence: Mapping[str, FloatArray], graph: AttributedGraph) -> GroupList:
    """Return groups of one graph in an order that does not depend on that of its nodes: ids decide among equals."""
    place = graph.id_places
    found = []
    for group in groups:
        own = evidence[group.kind][group.members]
        order = np.lexsort([place[group.members], -own])
        found.append(replace(group, members=group.members[order], score=float(own[order].mean())))
    kinds = list(dict.fromkeys(group.kind for group in groups))
    found.sort(key=lambda each: (kinds.index(each.kind), -each.score, -each.members.size, place[each.members[0]]))
    return GroupList(found, names=groups.names)


def cycle_groups(flow: Flow, edges: IntArray, evidence: FloatArray, least: float, passing: FloatArray) -> list[Group]:
    """Return the groups that passed amounts around (:meth:`hopsight.flow.Flow.rings`), the strongest first.

    Members have more evidence than the least, or a chain that among all nodes none has by chance: where nobody pays
    back, nearly all nodes with any evidence are members of rings, and do not stand out among each other. Or they pass
    on what comes in as one ordinary node in a thousand does.
    """
    groups = []
    for members, rows in flow.rings((evidence > least) | flow.has_rare_chain | (passing > PASSING)):
        inside = np.isin(edges, members).all(axis=0)
        n_inside = np.unique(np.sort(edges[:, inside], axis=0), axis=1).shape[1]
        order = members[np.lexsort([members, -evidence[members]])]
        total, time = float(np.nansum(flow.events.amount[rows])), flow.events.time[rows]
        density = 2.0 * n_inside / (members.size * (members.size - 1))
        span = (float(time.min()), float(time.max()))
        groups.append(
            Group("cycle", order, density, float(evidence[members].mean()), total, *span, flow.currency_of(rows))
        )
    return sorted(groups, key=lambda group: (-group.score, -group.members.size, int(group.members[0])))


def sharing_groups(context: Context, edges: IntArray, evidence: FloatArray, suspects: BoolArray) -> list[Group]:
    """Return groups around nodes of other types, such as users around one device, the strongest first.

    A node of another type, or two of different types together, hold a group together if three suspects or more share
    them, and at most as many others. All who do are members; nodes that share members belong to one group.
    """
    n_suspects = np.bincount(context.links[1, suspects[context.links[0]]], minlength=len(context.others))
    holds = (n_suspects >= LEAST_AROUND) & (2 * n_suspects >= context.n_sharing)
    things: list[tuple[int, ...]] = [(number,) for number in np.flatnonzero(holds).tolist()]
    things += _pairs_around(context, context.has[suspects], np.flatnonzero((n_suspects >= LEAST_AROUND) & ~holds))
    who_has = np.split(context.had_by.indices, context.had_by.indptr[1:-1])
    sharing = [reduce(np.intersect1d, [who_has[number] for number in some]) for some in things]
    kept = [at for at, who in enumerate(sharing) if 2 * suspects[who].sum() >= who.size]
    node = np.concatenate([np.zeros(0, dtype=np.int64), *(sharing[at] for at in kept)])
    holder = np.repeat(np.arange(len(kept)), [sharing[at].size for at in kept])
    n_nodes, size = evidence.size, evidence.size + len(kept)
    both = sp.coo_array((np.ones(node.size), (node, holder + n_nodes)), shape=(size, size))
    component = connected_components(both, directed=False)[1]
    groups = []
    for number in np.unique(component[node]):
        members = np.unique(node[component[node] == number])
        held = np.unique(
            [each for at, own in zip(kept, component[n_nodes:], strict=True) if own == number for each in things[at]]
        )
        n_inside = int((np.isin(edges, members).all(axis=0)).sum())
        density = min(1.0, 2.0 * n_inside / (members.size * (members.size - 1)))
        order = members[np.lexsort([members, -evidence[members]])]
        n_members = np.asarray(context.has[members][:, held].sum(axis=0)).ravel()
        shared = tuple(held[np.argsort(-n_members, kind="stable")].tolist())
        groups.append(Group("sharing", order, density, float(evidence[members].mean()), around=shared))
    return sorted(groups, key=lambda group: (-group.score, -group.members.size, int(group.members[0])))


def _pairs_around(context: Context, has: Any, numbers: IntArray) -> list[tuple[int, ...]]:
    """Return the pairs of some nodes of two other types that three suspects or more have; ``has`` are the suspects'."""
    some = sp.csr_array(has[:, numbers])
    some = some[np.diff(some.indptr) <= MOST_THINGS]
    pairs = sp.coo_array(sp.triu(some.T @ some, k=1))
    first, second = numbers[pairs.row], numbers[pairs.col]
    chosen = (pairs.data >= LEAST_AROUND) & (context.other_types[first] != context.other_types[second])
    return list(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


def find_groups(
    kind: str, edges: IntArray, sides: FloatArray, evidence: FloatArray, suspects: BoolArray
) -> list[Group]:
    """Return the groups of a kind, the strongest first.

    Among the suspects, keep the edges whose side is at least ``LEAST_SIDE`` and that close two triangles of such edges,
    again and again until nothing changes. The connected components that remain are the groups; each has at least four
    members, because every edge belongs to two triangles.

    Parameters
    ----------
    kind
        "ring" or "lockstep".
    edges, sides
        (2, n_edges) positions, and the strangeness (ring) or alikeness (lockstep) of each edge.
    evidence
        Evidence of that kind for each node.
    suspects
        Nodes that may be members.
    """
    chosen = np.flatnonzero(suspects[edges[0]] & suspects[edges[1]])
    nodes, ends = np.unique(edges[:, chosen], return_inverse=True)
    ends = ends.reshape(2, -1)
    inside = _symmetric(ends, nodes.size)
    matrix = _symmetric(ends[:, sides[chosen] >= LEAST_SIDE], nodes.size)
    while True:
        closing = sp.csr_array(matrix.multiply(matrix @ matrix))
        closing.data[closing.data < TRIANGLES] = 0.0
        closing.eliminate_zeros()
        if closing.nnz == matrix.nnz:
            break
        closing.data[:] = 1.0
        matrix = closing
    component = connected_components(matrix, directed=False)[1]
    tied = np.diff(matrix.indptr) > 0
    groups = []
    for number in np.unique(component[tied]):
        members = np.flatnonzero((component == number) & tied)
        n_inside = inside[members][:, members].nnz
        density = n_inside / (members.size * (members.size - 1))
        place = nodes[members]
        order = place[np.lexsort([place, -evidence[place]])]
        groups.append(Group(kind, order, float(density), float(evidence[place].mean())))
    return sorted(groups, key=lambda group: (-group.score, -group.members.size, int(group.members[0])))


def _symmetric(edges: IntArray, n_nodes: int) -> Any:
    """Return the symmetric 0/1 CSR matrix of some edges."""
    both = np.concatenate([edges, edges[::-1]], axis=1)
    matrix = sp.coo_array((np.ones(both.shape[1]), (both[0], both[1])), shape=(n_nodes, n_nodes)).tocsr()
    matrix.data[:] = 1.0
    return matrix
