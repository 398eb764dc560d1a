"""The contents of an explanation: plain values that print as text and convert to JSON."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from hopsight.checks import plural
from hopsight.explanations.cards import explanation_card
from hopsight.explanations.derived import named, said
from hopsight.explanations.evidence import (
    MEANINGS,
    NOTICEABLE,
    Companions,
    Evidence,
    OwnValue,
    activity_sentence,
    companions_sentence,
    outlier_sentence,
    standing_out,
    strengths,
    usual_edges,
)
from hopsight.explanations.text import Readable, aligned, fixed, listed, number, percent, printable
from hopsight.io.derive import FOR_COUNT


@dataclass(frozen=True)
class Neighbor:
    """One edge of the explained node: how far its other end looks; ``None`` where the detector predicts no hops.

    ``probability`` is that of really being 1 hop away; the contributions of all edges sum to the node's AHP.
    ``unlikeness`` is the percentage of edges whose two ends are more alike.
    """

    node: Hashable
    score: float
    rank: int
    degree: int
    hop: float | None = None
    variance: float | None = None
    probability: float | None = None
    contribution: float | None = None
    unlikeness: float | None = None

    def __str__(self) -> str:
        clauses = [] if self.hop is None else [f"{self.hop:.1f} hops away"]
        if self.unlikeness is not None and self.unlikeness >= 50:
            clauses.append(f"less alike than the ends of {percent(self.unlikeness)} of edges")
        return printable(self.node) + (f" ({', '.join(clauses)})" if clauses else "")


@dataclass(frozen=True)
class Category:
    """A categorical column such as ``city``: the node's value, and the most common one among its neighbors."""

    name: str
    value: str
    common: str
    common_share: float


@dataclass(frozen=True)
class AttributeGap:
    """One attribute: the node's value, its neighbors' median and 10–90% range, and its place among all nodes.

    ``difference`` is the value minus the mean of the neighbors, in units of how much connected nodes usually
    differ in this attribute; ``percentile`` is the percentage of all nodes with a lower value. Where node and
    neighbors only have 0 or 1, ``share`` is the share of the neighbors that have 1. ``category`` is set where the
    attribute is one value of a categorical column (``city=Oslo``).
    """

    name: str
    value: float
    low: float
    median: float
    high: float
    difference: float
    percentile: float
    share: float | None = None
    category: Category | None = None

    @property
    def range(self) -> str:
        """The 10–90% range of the neighbors as text."""
        low, median, high = (said(self.name, value) for value in (self.low, self.median, self.high))
        return median if self.low == self.high else f"{low} to {high}"

    def sentence(self, n_neighbors: int) -> str:
        """Say how the node differs from its neighbors in this attribute."""
        if self.category is not None:
            return _category_sentence(self.category, n_neighbors)
        start = f"It differs most in {printable(named(self.name))}: {said(self.name, self.value)}"
        if n_neighbors == 1:
            return f"{start}, while its only neighbor has {said(self.name, self.median)}."
        if self.share is None:
            return f"{start}, while its neighbors have {self.range}."
        if self.share in (0, 1):
            return f"{start}, while all {n_neighbors:,} neighbors have {self.share:.0f}."
        return f"{start}, while {self.share:.0%} of its neighbors have 1."

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return the row of this attribute: name, value, neighbors, difference, percentage of lower values."""
        if self.category is not None:
            name, own = printable(self.category.name), printable(self.category.value)
            theirs = f"{self.category.common_share:.0%} {printable(self.category.common)}"
        else:
            name, own = printable(named(self.name)), said(self.name, self.value)
            theirs = self.range if self.share is None else f"{self.share:.0%} have 1"
        higher = percent(self.percentile) if self.share is None else "–"
        return name, own, theirs, f"{self.difference:+.1f}", higher


@dataclass(frozen=True)
class NodeValue:
    """A value that the detector keeps for the node, its meaning, and the percentage of nodes with a lower one."""

    name: str
    value: float
    percentile: float
    meaning: str


@dataclass(frozen=True)
class WithoutEdges:
    """The node's score and rank when it is scored again without the edges to ``neighbors``."""

    neighbors: tuple[Hashable, ...]
    score: float
    rank: int


@dataclass(frozen=True, repr=False)
class Explanation(Readable):
    """Why a node has its score.

    ``neighbors`` holds all of them, the most out of place first (highest score first where the detector predicts no
    hops); ``attributes`` holds those that differ most; printing shows the first ``top`` of both. ``method`` says what
    the score of this detector measures. A detector with kinds of evidence also fills ``evidence``, ``decided_by`` (the
    kind that the score comes from), ``own_values`` (unusual attributes of the node itself), ``expected_degree`` (of
    nodes with such attributes) and ``companions`` (the other nodes of its ring or lockstep group). ``stability`` is the
    share of repeated fits in which the node is among the first.
    """

    node: Hashable
    detector: str
    method: str | None
    score: float
    threshold: float
    rank: int
    n_nodes: int
    flagged: bool
    judged: bool
    degree: int
    degree_percentile: float
    neighbors: tuple[Neighbor, ...]
    attributes: tuple[AttributeGap, ...]
    values: tuple[NodeValue, ...]
    without: WithoutEdges | None
    notes: tuple[str, ...]
    top: int = 10
    evidence: tuple[Evidence, ...] = ()
    decided_by: str | None = None
    own_values: tuple[OwnValue, ...] = ()
    expected_degree: float | None = None
    companions: Companions | None = None
    stability: float | None = None

    @property
    def summary(self) -> str:
        """Two or three sentences: the rank, and what is unusual."""
        flagged = "flagged" if self.flagged else "not flagged"
        decided = "" if self.decided_by is None else f", decided by {self.decided_by}"
        return f"Ranks {self.rank:,} of {self.n_nodes:,} ({flagged}){decided}. {self.unusual}".strip()

    @property
    def unusual(self) -> str:
        """The reason in a few sentences: what decided the score, then what else is at least half as strong."""
        if self.decided_by is None:
            return self._neighborhood()
        strength = next(each.strength for each in self.evidence if each.kind == self.decided_by)
        if strength < NOTICEABLE:
            return f"Nothing about it stands out; its strongest evidence is {self.decided_by} ({strength:.1f})."
        also = [
            each.kind
            for each in sorted(self.evidence, key=lambda each: -each.strength)
            if each.counts and each.kind in ("outlier", "activity") and each.kind != self.decided_by
            if each.strength >= max(NOTICEABLE, strength / 2)
        ]
        sentences = [self._sentence(kind) for kind in (self.decided_by, *also)]
        if self.decided_by == "activity" and "outlier" not in also:
            sentences.append(standing_out(self.own_values))  # the attributes that so many edges are unusual for
        return " ".join(filter(None, sentences))

    @property
    def in_short(self) -> str:
        """What decided the score, in a few words."""
        if self.decided_by == "outlier" and self.own_values:
            return f"unusual in {printable(named(self.own_values[0].name).removesuffix(FOR_COUNT))}"
        if self.decided_by == "activity" and self.expected_degree is not None:
            return f"{plural(self.degree, 'edge')}; {usual_edges(self.expected_degree, self.n_nodes)} would be usual"
        hops = [neighbor.hop for neighbor in self.neighbors if neighbor.hop is not None]
        if self.decided_by == "misfit" and hops:
            who = "only neighbor looks" if len(hops) == 1 else f"{len(hops):,} neighbors look"
            return f"its {who} {sum(hops) / len(hops):.1f} hops away"
        if self.companions is not None and self.companions.nodes:
            names = [printable(node) for node in self.companions.nodes[:2]]
            more = ["others"] if len(self.companions.nodes) > 2 else []
            return f"{'a ring' if self.decided_by == 'ring' else 'in lockstep'} with {listed([*names, *more])}"
        return MEANINGS.get(self.decided_by or "", "")

    def _sentence(self, kind: str) -> str:
        """Say what is unusual in one kind of evidence."""
        if kind == "outlier":
            return outlier_sentence(self.own_values)
        if kind == "activity":
            return activity_sentence(self.degree, self.expected_degree, self.degree_percentile, self.n_nodes)
        if kind in ("ring", "lockstep"):
            return companions_sentence(kind, self.companions)
        return self._neighborhood()

    def _neighborhood(self) -> str:
        """Say how far away the neighbors look, which are farthest, and in which attribute the node differs most."""
        sentences = []
        if any(neighbor.hop is not None for neighbor in self.neighbors):
            sentences.append(self._distance())
        if self.decided_by is not None and len(self.neighbors) > 1:
            sentences.append(f"Most out of place: {listed([str(each) for each in self.neighbors[:2]])}.")
        if self.attributes:
            sentences.append(self.attributes[0].sentence(len({neighbor.node for neighbor in self.neighbors})))
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON, the summary first."""
        return {"summary": self.summary, **super().to_dict()}

    def __repr__(self) -> str:
        return f"<Explanation of {printable(self.node)}: rank {self.rank:,} of {self.n_nodes:,}>"

    def _repr_html_(self) -> str:
        return explanation_card(self)

    def _distance(self) -> str:
        hops = [neighbor.hop for neighbor in self.neighbors if neighbor.hop is not None]
        ahp = next((value for value in self.values if value.name == "ahp"), None)
        farther = f", farther than for {percent(ahp.percentile)} of nodes" if ahp and ahp.percentile >= 50 else ""
        mean = sum(hops) / len(hops)
        if len(hops) == 1:
            return f"Its only neighbor looks {mean:.1f} hops away{farther}."
        return f"Its {len(hops):,} neighbors look {mean:.1f} hops away on average{farther}."

    def _lines(self) -> Iterator[str]:
        yield f"Node {printable(self.node)}, judged by {self.detector}"
        yield self.summary
        if self.method is not None:
            yield f"The {self.detector} score measures {self.method}."
        edges = f"{plural(self.degree, 'edge')}, more than {percent(self.degree_percentile)} of nodes"
        yield f"Score {number(self.score)} (flagged above {number(self.threshold)}); {edges}."
        if self.evidence:
            yield strengths(self.evidence)
        if self.stability is not None:
            yield f"It is among the first nodes with {self.stability:.0%} of the seeds."
        for value in () if self.evidence else self.values:  # evidence says it in words; the JSON has both
            higher = f"higher than for {percent(value.percentile)} of nodes"
            yield f"{value.name} {number(value.value)}: {value.meaning}; {higher}."
        yield from (f"Note: {note}" for note in self.notes)
        if self.own_values:
            yield from ("", "Unusual attributes of the node itself", *(f"  {value}" for value in self.own_values))
        yield from self._neighbor_lines()
        if self.attributes:
            yield from ("", "Attributes that differ most from those of the neighbors")
            header = ("attribute", "value", "neighbors", "difference", "higher than")
            yield from aligned(header, [gap.cells() for gap in self.attributes])
        if self.without is not None:
            names = listed([printable(name) for name in self.without.neighbors])
            edges = "edge" if len(self.without.neighbors) == 1 else "edges"
            result = f"the score would be {number(self.without.score)}, rank {self.without.rank:,}"
            yield from ("", f"Without the {edges} to {names}, {result}.")

    def _neighbor_lines(self) -> Iterator[str]:
        shown = self.neighbors[: self.top]
        if not shown:
            return
        if shown[0].hop is None:
            yield from ("", "Neighbors, most anomalous first")
            header: tuple[str, ...] = ("neighbor", "score", "rank", "edges")
            rows = [[printable(each.node), number(each.score), f"{each.rank:,}", f"{each.degree:,}"] for each in shown]
        else:
            yield from ("", f"Neighbors, {'farthest' if shown[0].unlikeness is None else 'most out of place'} first")
            columns = [("hop", "hops", 2), ("variance", "variance", 3), ("probability", "P(1 hop)", 3)]
            columns += [("contribution", "part of AHP", 4)]
            if self.evidence:  # the score is not made of variances and AHP
                columns = columns[::2]
            header = ("neighbor", *(title for _, title, _ in columns))
            rows = [[printable(each.node), *(fixed(getattr(each, key), n) for key, _, n in columns)] for each in shown]
            if shown[0].unlikeness is not None:
                header = (*header, "less alike than")
                rows = [[*row, percent(each.unlikeness or 0.0)] for row, each in zip(rows, shown, strict=True)]
        yield from aligned(header, rows)
        n_more = len(self.neighbors) - len(shown)
        if n_more:
            yield f"  … and {n_more:,} more"


def _category_sentence(category: Category, n_neighbors: int) -> str:
    own, common = printable(category.value), printable(category.common)
    start = f"Its {printable(category.name)} is {own}"
    if common == own:
        return f"{start}, shared by only {category.common_share:.0%} of its {n_neighbors:,} neighbors."
    if n_neighbors == 1:
        return f"{start}; its only neighbor has {common}."
    if category.common_share == 1:
        return f"{start}; all {n_neighbors:,} neighbors have {common}."
    return f"{start}; {category.common_share:.0%} of its {n_neighbors:,} neighbors have {common}."
