"""Why an edge looks out of place, or does not: plain values that print as text and convert to JSON."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hopsight.checks import plural
from hopsight.explanations.cards import edge_card
from hopsight.explanations.derived import named, said
from hopsight.explanations.reasons import AttributeGap
from hopsight.explanations.text import Readable, aligned, number, percent, printable
from hopsight.graph import AttributedGraph
from hopsight.io.derive import FOR_COUNT
from hopsight.io.rules import UNIX


@dataclass(frozen=True)
class EdgeValue:
    """What the edge list says about one edge; ``text`` is the value as people read it."""

    name: str
    value: float
    text: str

    def __str__(self) -> str:
        return f"{printable(self.name)} {self.text}"


def edge_values(graph: AttributedGraph, edge: int) -> tuple[EdgeValue, ...]:
    """Return weight, time and attributes of an edge; of several rows, what :mod:`hopsight.canonical` makes of them.

    >>> times = [1.7e9, 1.7e9 + 3600]
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], [[1.0]] * 3, edge_weight=[12.5, 48900.0], edge_time=times)
    >>> [str(each) for each in edge_values(graph, 1)]
    ['weight 48,900', 'time 2023-11-14 23:13']
    """
    found = []
    if graph.edge_weight is not None:
        found.append(("weight", float(graph.edge_weight[edge])))
    if graph.edge_attributes is not None:
        names = graph.edge_attribute_names or ()
        found += zip(names, graph.edge_attributes[edge].tolist(), strict=False)
    values = [EdgeValue(name, value, number(value)) for name, value in found]
    if graph.edge_time is not None:
        moment = float(graph.edge_time[edge])
        dated = bool((graph.edge_time >= UNIX[0]).all() and (graph.edge_time <= UNIX[1]).all())
        shown = f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}" if dated else number(moment)
        values.append(EdgeValue("time", moment, shown.removesuffix(" 00:00")))
    return tuple(values)


@dataclass(frozen=True, repr=False)
class EdgeExplanation(Readable):
    """Why an edge looks out of place, or does not.

    ``data`` holds what the edge list says about it, such as its amount and its time. ``attributes`` compares the source
    (``value``) with the target (``median``); a share is the part of that end's AHP that this edge carries; rank 1 is
    the edge most out of place. ``surprise`` is the mean of −log P(1 hop) over the samples, ``dissimilarity`` the share
    of nodes chosen at random that are nearer to an end than the other is, ``unlikeness`` the percentage of edges whose
    ends are more alike, ``score`` −log₁₀ of the share of ordinary edges that look so unusual, ``reason`` the clause of
    ``edges.csv``.
    """

    source: Hashable
    target: Hashable
    detector: str
    rank: int | None
    n_edges: int
    hop: float | None
    variance: float | None
    probability: float | None
    source_share: float | None
    target_share: float | None
    source_score: float
    target_score: float
    common_neighbors: int
    attributes: tuple[AttributeGap, ...]
    surprise: float | None = None
    dissimilarity: float | None = None
    unlikeness: float | None = None
    score: float | None = None
    flagged: bool | None = None
    reason: str | None = None
    data: tuple[EdgeValue, ...] = ()

    def __repr__(self) -> str:
        return f"<Explanation of the edge {printable(self.source)} – {printable(self.target)}>"

    def _repr_html_(self) -> str:
        return edge_card(self)

    @property
    def summary(self) -> str:
        """What is unusual about the edge, in one or two sentences."""
        if self.hop is None:
            return f"{self.detector} judges nodes, not edges."
        flagged = "" if self.flagged is None else " (flagged)" if self.flagged else " (not flagged)"
        far = f"its ends look {self.hop:.1f} hops apart"
        if self.unlikeness is not None:
            far += f" and are less alike than those of {percent(self.unlikeness)} of edges"
        text = f"Ranks {self.rank:,} of {plural(self.n_edges, 'edge')}{flagged}: {far}."
        if not self.attributes:
            return text
        name, own, theirs, _ = compared(plainest(self.attributes, 1)[0])
        return f"{text} They differ most in {name}: {own} and {theirs}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON, the summary first."""
        return {"summary": self.summary, **super().to_dict()}

    def _lines(self) -> Iterator[str]:
        source, target = printable(self.source), printable(self.target)
        yield f"Edge {source} – {target}, judged by {self.detector}"
        yield self.summary
        if self.data:
            yield f"In the edge list: {'; '.join(str(value) for value in self.data)}."
        if self.hop is not None:
            yield from self._figures(source, target)
        yield f"Scores of its ends: {source} {number(self.source_score)}, {target} {number(self.target_score)}; " + (
            f"{plural(self.common_neighbors, 'neighbor')} in common."
        )
        if self.attributes:
            yield from ("", "Attributes that differ most")
            rows = [compared(gap) for gap in self.attributes]
            yield from aligned(("attribute", source, target, "difference"), rows)

    def _figures(self, source: str, target: str) -> Iterator[str]:
        """Give the figures behind the summary."""
        if self.score is not None:
            yield f"Score {number(self.score)} (3 = one ordinary edge in a thousand is so unusual)."
        chance = "below 0.001" if (self.probability or 0.0) < 0.001 else number(self.probability)
        sure = f"variance of the hops {number(self.variance)}"
        yield f"The probability that its ends are really 1 hop apart is {chance} ({sure})."
        if self.surprise is not None and self.dissimilarity is not None:
            yield f"Its surprise, the mean of −log P(1 hop) over the samples, is {number(self.surprise)}; " + (
                f"its dissimilarity is {number(self.dissimilarity)} on a scale from 0 to 1."
            )
        shares = f"{self.source_share:.0%} of the AHP of {source} and {self.target_share:.0%} of {target}'s"
        yield f"It carries {shares} (AHP: how many hops away the neighbors look on average)."


def plainest(gaps: Sequence[AttributeGap], most: int) -> list[AttributeGap]:
    """Return the largest differences, one for each column that attributes are derived from.

    One at least half as large that needs no comparison with nodes of as many edges is preferred.
    """
    chosen: dict[str, AttributeGap] = {}
    for gap in gaps:
        column = gap.name.partition(", ")[0]
        known = chosen.setdefault(column, gap)
        simpler = known.name.endswith(FOR_COUNT) and not gap.name.endswith(FOR_COUNT)
        if simpler and abs(gap.difference) >= abs(known.difference) / 2:
            chosen[column] = gap
    return list(chosen.values())[:most]


def compared(gap: AttributeGap) -> tuple[str, str, str, str]:
    """Return the row of an attribute of an edge: its name, both values, and their difference."""
    difference = f"{gap.difference:+.1f}"
    if gap.category is not None:
        category = gap.category
        return printable(category.name), printable(category.value), printable(category.common), difference
    return printable(named(gap.name)), said(gap.name, gap.value), said(gap.name, gap.median), difference
