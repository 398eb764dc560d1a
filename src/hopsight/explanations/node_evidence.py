"""Finds what lies behind each kind of evidence about a node."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.table import decided_by, evidence_of
from hopsight.explanations.columns import Columns
from hopsight.explanations.edges import JudgedEdges
from hopsight.explanations.evidence import MEANINGS, MOST_NAMES, Companions, Evidence
from hopsight.explanations.groups import Groups
from hopsight.explanations.own_values import OwnValues
from hopsight.graph import AttributedGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class NodeEvidence:
    """What a detector with kinds of evidence knows of single nodes; for other detectors it finds nothing."""

    def __init__(
        self, model: Any, graph: AttributedGraph, groups: Groups, columns: Columns, edges: JudgedEdges
    ) -> None:
        self.model, self.graph, self._groups, self._columns, self._edges = model, graph, groups, columns, edges
        self._evidence = evidence_of(model)
        self._decided_by = decided_by(model)
        self._expected: dict[int, float] = {}

    def about(self, position: int, top: int) -> dict[str, Any]:
        """Return the fields of an :class:`Explanation` that concern evidence."""
        if not self._evidence:
            return {}
        decided = None if self._decided_by is None else str(self._decided_by[position])
        return {
            "evidence": self._strengths(position),
            "decided_by": decided,
            "own_values": self._own_values.of(position, top),
            "expected_degree": self._expected_degree(position),
            "companions": self._companions(decided, position) if decided in ("ring", "lockstep") else None,
        }

    @cached_property
    def _own_values(self) -> OwnValues:
        return OwnValues(self.graph, self._columns)

    def _strengths(self, position: int) -> tuple[Evidence, ...]:
        from hopsight.hcm.evidence import WEIGHTS

        return tuple(
            Evidence(kind, float(values[position]), kind in self.model.evidence, WEIGHTS[kind], MEANINGS[kind])
            for kind, values in self._evidence.items()
        )

    def _expected_degree(self, position: int) -> float | None:
        """Return how many edges nodes with such attributes have, by the regression of the fit."""
        self.expect(np.array([position]))
        return self._expected.get(position)

    def expect(self, positions: IntArray) -> None:
        """Compute what is needed of some nodes at once, which takes hardly longer than that of one."""
        if self._evidence and positions.size > 1:
            self._own_values.expect(positions)
        laws = getattr(self.model, "attribute_baseline_", None)
        new = np.array([each for each in positions.tolist() if each not in self._expected], dtype=np.int64)
        if laws is None or getattr(self.model, "transform_", None) is None or not new.size:
            return
        from hopsight.hcm.splits import node_folds
        from hopsight.hcm.views import inputs_of

        attributes = inputs_of(self.graph, self.model.transform_, self.model.magnitude_, new)
        degrees = self.graph.degrees[new]
        residual = laws.residual(attributes, degrees, node_folds(self.graph.node_hashes[new]))
        self._expected |= zip(new.tolist(), np.expm1(np.log1p(degrees) - residual).tolist(), strict=True)

    def _companions(self, kind: str | None, position: int) -> Companions | None:
        """Return the group of the node, or else the nodes of its strongest triangles."""
        assert kind is not None
        listed = self._groups.of(kind, position)
        if listed is not None:
            number, group = listed
            others = group.members[group.members != position]
            return Companions(kind, self._names(others), number, group.density)
        if getattr(self.model, "edge_baseline_", None) is None or not hasattr(self.model, "edge_dissimilarity_"):
            return None  # the fit did not keep the laws of edges
        return Companions(kind, self._names(self._triangle_partners(position, kind)))

    def _sides(self, kind: str, chosen: IntArray) -> FloatArray:
        """Return how strange, or how alike, the ends of some edges are."""
        from hopsight.hcm.evidence import EdgeFeatures

        model = self.model
        edges = EdgeFeatures(model.edge_hop_, model.edge_surprise_, model.edge_dissimilarity_).rows(chosen)
        laws = model.edge_baseline_
        found: FloatArray = laws.strangeness(edges) if kind == "ring" else laws.alikeness(edges)
        return found

    def _triangle_partners(self, position: int, kind: str) -> IntArray:
        """Return the neighbors with the largest sums over the triangles that they close with the node."""
        mine, others = self._edges.at(position)
        ascending = np.argsort(mine)  # of two edges with one node, the later counts
        to_me = dict(zip(others[ascending].tolist(), self._sides(kind, mine[ascending]).tolist(), strict=True))
        near = np.unique(others)
        rows = self.graph.adjacency[near]
        source, target = np.repeat(near, np.diff(rows.indptr)), rows.indices.astype(np.int64)
        inside = np.isin(target, near) & (self.graph.directed | (source < target))
        source, target = source[inside], target[inside]
        total = dict.fromkeys(near.tolist(), 0.0)
        between = self._sides(kind, self._edges.positions(source, target)).tolist()
        for u, v, side in zip(source.tolist(), target.tolist(), between, strict=True):
            product = to_me[u] * to_me[v] * side
            total[u] += product
            total[v] += product
        closing = sorted((node for node in total if total[node] > 0), key=lambda node: (-total[node], node))
        return np.array(closing[:MOST_NAMES], dtype=np.int64)

    def _names(self, positions: IntArray) -> tuple[Hashable, ...]:
        return tuple(self.graph.node_ids[positions].tolist())
