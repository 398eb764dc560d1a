"""The contents of an explanation: plain values that print as text and convert to JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from hopsight.checks import plural
from hopsight.explanations.text import aligned, fixed, listed, number, percent, printable
from hopsight.system.plain import plain


@dataclass(frozen=True)
class Neighbor:
    """One edge of the explained node: how far its other end looks; ``None`` where the detector predicts no hops.

    ``probability`` is that of really being 1 hop away; the contributions of all edges sum to the node's AHP.
    """

    node: Hashable
    score: float
    rank: int
    degree: int
    hop: float | None = None
    variance: float | None = None
    probability: float | None = None
    contribution: float | None = None


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
        return number(self.median) if self.low == self.high else f"{number(self.low)} to {number(self.high)}"

    def sentence(self, n_neighbors: int) -> str:
        """Say how the node differs from its neighbors in this attribute."""
        if self.category is not None:
            return _category_sentence(self.category, n_neighbors)
        start = f"It differs most in {printable(self.name)}: {number(self.value)}"
        if n_neighbors == 1:
            return f"{start}, while its only neighbor has {number(self.median)}."
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
            name, own = printable(self.name), number(self.value)
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


@dataclass(frozen=True)
class Explanation:
    """Why a node has its score.

    ``neighbors`` holds all of them, farthest first (highest score first where the detector predicts no hops);
    ``attributes`` holds those that differ most; printing shows the first ``top`` of both. ``method`` says what
    the score of this detector measures.
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

    @property
    def summary(self) -> str:
        """Two or three sentences: the rank, and what is unusual."""
        flagged = "flagged" if self.flagged else "not flagged"
        return f"Ranks {self.rank:,} of {self.n_nodes:,} ({flagged}). {self.unusual}".strip()

    @property
    def unusual(self) -> str:
        """One sentence about the distance of the neighbors and one about the attribute that differs most."""
        sentences = []
        if any(neighbor.hop is not None for neighbor in self.neighbors):
            sentences.append(self._distance())
        if self.attributes:
            sentences.append(self.attributes[0].sentence(len({neighbor.node for neighbor in self.neighbors})))
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        return {"summary": self.summary, **plain(dataclasses.asdict(self))}

    def __str__(self) -> str:
        return "\n".join(self._lines())

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
        for value in self.values:
            higher = f"higher than for {percent(value.percentile)} of nodes"
            yield f"{value.name} {number(value.value)}: {value.meaning}; {higher}."
        yield from (f"Note: {note}" for note in self.notes)
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
            yield from ("", "Neighbors, farthest first")
            header = ("neighbor", "hops", "variance", "P(1 hop)", "part of AHP")
            digits = {"hop": 2, "variance": 3, "probability": 3, "contribution": 4}
            rows = [
                [printable(each.node), *(fixed(getattr(each, key), digits[key]) for key in digits)] for each in shown
            ]
        yield from aligned(header, rows)
        n_more = len(self.neighbors) - len(shown)
        if n_more:
            yield f"  … and {n_more:,} more"


@dataclass(frozen=True)
class EdgeExplanation:
    """Why an edge looks out of place, or does not.

    ``attributes`` compares the source (``value``) with the target (``median``); a share is the part of that
    end's AHP that this edge carries; rank 1 is the edge whose ends look farthest apart.
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

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        values: dict[str, Any] = plain(dataclasses.asdict(self))
        return values

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        source, target = printable(self.source), printable(self.target)
        yield f"Edge {source} – {target}, judged by {self.detector}"
        if self.hop is None:
            yield f"{self.detector} judges nodes, not edges."
        else:
            yield f"Its ends look {number(self.hop)} hops apart (variance {number(self.variance)}); " + (
                f"the probability that they are really 1 hop apart is {number(self.probability)}."
            )
            yield f"Ranks {self.rank:,} of {plural(self.n_edges, 'edge')}, farthest first."
            yield f"It carries {self.source_share:.0%} of the AHP of {source} and " + (
                f"{self.target_share:.0%} of {target}'s."
            )
        yield f"Scores: {source} {number(self.source_score)}, {target} {number(self.target_score)}; " + (
            f"{plural(self.common_neighbors, 'neighbor')} in common."
        )
        if self.attributes:
            yield from ("", "Attributes that differ most")
            rows = [_compared(gap) for gap in self.attributes]
            yield from aligned(("attribute", source, target, "difference"), rows)


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


def _compared(gap: AttributeGap) -> tuple[str, str, str, str]:
    difference = f"{gap.difference:+.1f}"
    if gap.category is not None:
        category = gap.category
        return printable(category.name), printable(category.value), printable(category.common), difference
    return printable(gap.name), number(gap.value), number(gap.median), difference
