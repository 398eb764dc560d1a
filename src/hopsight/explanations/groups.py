"""Explain groups: who belongs to one, what holds it together, and what the members share."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import Refusal, listed, plural, printable
from hopsight.explanations.attributes import category_columns
from hopsight.explanations.events import Calendar, exchanged, money
from hopsight.explanations.reasons import SCALE
from hopsight.explanations.text import Readable, Table, origin, shown_name, shown_value
from hopsight.graph import AttributedGraph
from hopsight.io.derive import FOR_COUNT

IntArray = NDArray[np.int64]

WHAT = {
    "ring": "Its members look far apart, and yet their edges close triangles.",
    "lockstep": "Its members are near-copies of each other and densely tied.",
    "cycle": "Payments that soon went on lead from each member to all others and back.",
    "sharing": "Its members have in common what few others have.",
}
CALLED = {"ring": "a ring", "lockstep": "a lockstep group", "cycle": "a circle of payments", "sharing": "a group"}
MOST_AROUND = 3  # nodes of other types that are named
MOST = 0.8  # share of the members that must have a value for the group to share it
RARE = 0.5  # a value that a larger share of all nodes has says nothing about a group
ALIKE = 0.5  # members are alike in a number that spreads at most this much of its spread over all nodes
N_ALIKE, N_UNLIKE = 3, 2


@dataclass(frozen=True)
class Member:
    """One node of a group: its rank, whether it is flagged, and its evidence of the group's kind."""

    node: Hashable
    rank: int
    flagged: bool
    strength: float


@dataclass(frozen=True, repr=False)
class GroupExplanation(Readable):
    """Who belongs to a group and why; ``density`` is the share of the pairs of members that are edges."""

    group: int
    kind: str
    detector: str
    members: tuple[Member, ...]
    density: float
    score: float
    shared: str
    exchanged: str = ""
    around: str = ""

    def __repr__(self) -> str:
        return f"<Explanation of group {self.group}: a {self.kind} of {plural(len(self.members), 'node')}>"

    @property
    def summary(self) -> str:
        """What the members have to do with each other."""
        tied = f"{self.density:.0%} of their pairs are connected."
        return " ".join(filter(None, (WHAT[self.kind], self.around, self.exchanged, tied)))

    def _parts(self) -> Iterator[str | Table]:
        size = plural(len(self.members), "node")
        yield f"Group {self.group}: {CALLED[self.kind]} of {size}, judged by {self.detector}"
        yield self.summary
        yield f"Mean strength {self.score:.1f} ({SCALE})."
        yield f"Attributes of the members: {self.shared}."
        rows = [
            [printable(each.node), f"{each.rank:,}", f"{each.strength:.1f}", "yes" if each.flagged else ""]
            for each in self.members
        ]
        yield Table("", ("member", "rank", self.kind, "flagged"), rows)


class Groups:
    """The groups of a fitted detector, found once, and looked up by number or by member."""

    def __init__(self, model: Any, graph: AttributedGraph, ranks: IntArray) -> None:
        self.model, self.graph, self._ranks = model, graph, ranks
        self.shared = Shared(graph)

    @cached_property
    def found(self) -> list[Any]:
        """The groups in the order of ``groups.csv``; empty for a detector without any."""
        return list(getattr(self.model, "groups_", ()))

    def of(self, kind: str, position: int) -> tuple[int, Any] | None:
        """Return the group of a kind that a node belongs to, and its number from 1."""
        for i, group in enumerate(self.found, start=1):
            if group.kind == kind and position in group.members:
                return i, group
        return None

    def first(self, position: int) -> int | None:
        """Return the number of the first group that a node belongs to."""
        return next((i for i, group in enumerate(self.found, start=1) if position in group.members), None)

    def explain(self, number: int) -> GroupExplanation:
        """Explain a group by its number."""
        if not self.found:
            raise ValueError(f"{type(self.model).__name__} found no groups in this graph")
        if not 1 <= number <= len(self.found):
            raise Refusal("group", f"must be at least 1 and at most {len(self.found)}, got {number}")
        group = self.found[number - 1]
        members = tuple(self._member(group.kind, position) for position in group.members.tolist())
        return GroupExplanation(
            group=number,
            kind=group.kind,
            detector=type(self.model).__name__,
            members=members,
            density=group.density,
            score=group.score,
            shared=self.shared.among(group.members),
            exchanged=within(self.graph, group),
            around=around(self.graph, group),
        )

    def _member(self, kind: str, position: int) -> Member:
        name = self.graph.node_ids[position]
        return Member(
            node=name.item() if isinstance(name, np.generic) else name,
            rank=int(self._ranks[position]),
            flagged=bool(self.model.decision_score_[position] > self.model.threshold_),
            strength=float(self.model.evidence_[kind][position]),
        )


def around(graph: AttributedGraph, group: Any) -> str:
    """Say which nodes of other types hold a group together, and how many of its members share each.

    Where a group was not found by what its members share, that is what most of them share, and at most as many others.
    """
    context, names = graph.context, list[str]()
    if context is None:
        return ""
    things = group.around
    if not things:
        having = np.bincount(context.links[1, np.isin(context.links[0], group.members)], minlength=len(context.others))
        things = np.flatnonzero((2 * having > group.members.size) & (2 * having >= context.n_sharing))
        things = things[np.argsort(context.n_sharing[things] - having[things], kind="stable")]
    if not len(things):
        return ""
    for number in things[:MOST_AROUND]:
        sharing = context.links[0, context.links[1] == number]
        who = f"{np.isin(group.members, sharing).sum()} of {plural(group.members.size, 'member')}"
        names.append(f"{context.types[context.other_types[number]]} {context.others[number]} ({who})")
    more = len(things) - len(names)
    return printable(f"They share {listed([*names, *([f'{more:,} more'] if more else [])])}.")


def within(graph: AttributedGraph, group: Any) -> str:
    """Say how much the members sent each other and, of a circle, how much of it went around."""
    said = exchanged(graph, group.members)
    if group.total is None:
        return said
    amount, span = money(group.total, currency=group.currency), Calendar.of(graph).span(group.first, group.last)
    return said if amount in said and span in said else f"{said[:-1]}; {amount} of it went around ({span})."


def groups_sentence(graph: AttributedGraph, groups: Sequence[Any]) -> str:
    """Say how many groups were found and who is in the first; empty without any."""
    if not groups:
        return ""
    first = groups[0]
    names = [printable(name) for name in graph.node_ids[first.members].tolist()]
    names[MOST_AROUND:] = [f"{len(names) - MOST_AROUND:,} more"][: len(names) - MOST_AROUND]
    start = f"{plural(len(groups), 'group')} found, in groups.csv; the first is {CALLED[first.kind]}"
    return f"{start} of {first.members.size:,} nodes: {listed(names)}. {around(graph, first)}".strip()


class Shared:
    """Says what the members of groups share, looking at the attributes of all nodes once.

    >>> attributes = np.array([[30.0, 1.0], [31.0, 900.0], [30.0, 500.0], [60.0, 300.0], [10.0, 400.0], [80.0, 600.0]])
    >>> graph = AttributedGraph.from_edges([0], [1], attributes, attribute_names=["age", "income"])
    >>> Shared(graph).among(np.array([0, 1, 2]))
    'alike in age 30 to 31; unlike in income 1 to 900'
    """

    def __init__(self, graph: AttributedGraph) -> None:
        self.graph = graph

    @cached_property
    def _usual(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the spread of each column over all nodes, and whether it has only 0 and 1."""
        values = _of_known(self.graph, slice(None))
        return values.std(axis=0, dtype=np.float64), ((values == 0) | (values == 1)).all(axis=0)

    def among(self, members: IntArray) -> str:
        """Say in which attributes some nodes are alike and in which they are unlike, compared with all nodes.

        Differences from nodes with about as many edges are left out: nobody can check them in a table.
        """
        graph = self.graph
        theirs = graph.attributes[members if graph.known is None else members[graph.known[members]]]
        if not theirs.shape[0]:
            return _sentence([], [])
        if sp.issparse(theirs):
            return _sentence(_shared_words(graph, theirs, np.arange(graph.n_attributes)), [])
        values = np.asarray(theirs, dtype=np.float64)
        alike, taken = _shared_categories(graph, values)
        no_value = {name for name, rows in graph.no_value.items() if np.isin(members, rows).any()}
        free = np.array(
            [column not in taken and name not in no_value for column, name in enumerate(graph.attribute_names)]
        )
        spread, binary = self._usual
        alike += _shared_words(graph, values, np.flatnonzero(binary & free))
        plain = np.array([not name.endswith(FOR_COUNT) for name in graph.attribute_names])
        numeric = np.flatnonzero((spread > 0) & ~binary & free & plain).tolist()
        # Sums over members depend on their order in the last digits, which would decide between equal columns.
        ratio = {column: round(float(values[:, column].std() / spread[column]), 9) for column in numeric}
        same = [c for c in sorted(numeric, key=ratio.__getitem__) if ratio[c] <= ALIKE and values[:, c].any()]
        unalike = [c for c in sorted(numeric, key=lambda c: -ratio[c]) if ratio[c] >= 1]
        alike, unlike = ([*words, *_ranges(graph, values, chosen)] for words, chosen in ((alike, same), ([], unalike)))
        unlike += _mixed_categories(graph, values)
        return _sentence(alike, unlike)


def _of_known(graph: AttributedGraph, columns: Any) -> Any:
    """Return some attributes of the nodes that have a row in the node table; others have none to compare with."""
    chosen = graph.attributes[:, columns]
    return chosen if graph.known is None else chosen[graph.known]


def _shared_words(graph: AttributedGraph, theirs: Any, columns: IntArray) -> list[str]:
    """Return the words, or yes-or-no attributes, that most members have and most nodes do not, rarest first."""
    share = np.asarray((theirs[:, columns] != 0).mean(axis=0)).ravel()
    common = columns[share >= MOST]
    everywhere = np.asarray((_of_known(graph, common) != 0).mean(axis=0)).ravel()
    order = [place for place in np.argsort(everywhere, kind="stable").tolist() if everywhere[place] < RARE]
    return [
        f"{printable(graph.attribute_names[common[place]])} ({100 * everywhere[place]:.2g}% of nodes)"
        for place in order
    ]


def _shared_categories(graph: AttributedGraph, values: Any) -> tuple[list[str], set[int]]:
    """Return the category values that most members have and most nodes do not, rarest first, and all their columns."""
    found, taken = [], set()
    for name, columns in category_columns(graph).items():
        taken |= set(columns)
        share = values[:, columns].mean(axis=0)
        common = columns[int(np.argmax(share))]
        everywhere = float(_of_known(graph, common).mean())
        if share.max() >= MOST and everywhere < RARE:
            who = "all members" if share.max() == 1 else f"{share.max():.0%} of members"
            value = printable(graph.attribute_names[common].partition("=")[2])
            found.append((everywhere, f"{printable(name)} {value} ({who}, {100 * everywhere:.2g}% of nodes)"))
    return [text for _, text in sorted(found)], taken


def _mixed_categories(graph: AttributedGraph, values: Any) -> list[str]:
    """Return the categories in which no value belongs to more than half of the members."""
    found = []
    for name, columns in category_columns(graph).items():
        share = values[:, columns].mean(axis=0)
        n_values = int((share > 0).sum())
        if share.max() <= 0.5 and n_values > 1:
            found.append(f"{printable(name)} ({n_values} values)")
    return found


def _ranges(graph: AttributedGraph, values: Any, columns: Sequence[int]) -> list[str]:
    """Return the ranges of some attributes, one for each column that they are derived from."""
    found: dict[str, str] = {}
    for column in columns:
        name = graph.attribute_names[column]
        low, high = (shown_value(name, float(value)) for value in (values[:, column].min(), values[:, column].max()))
        found.setdefault(origin(name), f"{printable(shown_name(name))} {low if low == high else f'{low} to {high}'}")
    return list(found.values())


def _sentence(alike: list[str], unlike: list[str]) -> str:
    parts = []
    if alike:
        parts.append(f"alike in {'; '.join(alike[:N_ALIKE])}")
    if unlike:
        parts.append(f"unlike in {'; '.join(unlike[:N_UNLIKE])}")
    return "; ".join(parts) or "no attribute sets them apart"
