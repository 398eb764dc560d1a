"""What an explanation holds: plain values that print as text and turn into JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from hopsight.explain.text import edge_text, node_summary, node_text


@dataclass(frozen=True)
class Neighbor:
    """One edge of the explained node: how far its other end looks; ``None`` where the detector cannot say.

    ``probability`` is that of really being 1 hop away; the ``contribution`` of all edges sums to the node's AHP.
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
class AttributeGap:
    """One attribute: the node's value, its neighbors' middle and 10–90 % range, and where it lies in the network.

    ``difference`` is the value minus the mean of the neighbors, in units of how much connected nodes usually
    differ in this attribute; ``percentile`` is the percentage of all nodes with a lower value. Where node and
    neighbors only have 0 or 1, ``share`` is the share of the neighbors that have 1.
    """

    name: str
    value: float
    low: float
    median: float
    high: float
    difference: float
    percentile: float
    share: float | None = None


@dataclass(frozen=True)
class NodeValue:
    """A value the detector keeps for the node, what it means, and the percentage of nodes with a lower one."""

    name: str
    value: float
    percentile: float
    meaning: str


@dataclass(frozen=True)
class WithoutEdges:
    """The node's score and rank from a real re-scoring in which the edges to ``neighbors`` are absent."""

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
        """Two or three sentences in plain words."""
        return node_summary(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        return {"summary": self.summary, **_plain(dataclasses.asdict(self))}

    def __str__(self) -> str:
        return node_text(self)


@dataclass(frozen=True)
class EdgeExplanation:
    """Why an edge looks out of place, or does not.

    ``attributes`` compares the source (``value``) with the target (``median``); a share is the part of that
    end's AHP which this edge carries; rank 1 is the edge that looks longest.
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
        plain: dict[str, Any] = _plain(dataclasses.asdict(self))
        return plain

    def __str__(self) -> str:
        return edge_text(self)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
