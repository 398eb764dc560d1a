"""Fit in the order of node ids, so that the order of rows in a file changes nothing.

A detector that draws by position, or adds up in order what training then amplifies, gets the graph with its nodes
sorted by id; numbers within ids count as numbers, so that p2 comes before p10. What it learns of nodes and edges is
returned to the order of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.validation import columns_of
from hopsight.graph import AttributedGraph
from hopsight.system.id_order import sorted_by_id

if TYPE_CHECKING:
    from hopsight.detectors.base import Epoch

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class NodeOrder:
    """A graph with its nodes sorted by id, and where the nodes and edges of the given graph are in it."""

    graph: AttributedGraph
    nodes: IntArray
    edges: IntArray

    @classmethod
    def of(cls, graph: AttributedGraph) -> NodeOrder | None:
        """Return the graph in the order of its ids, or None if it already is.

        >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), node_ids=["p10", "p2", "p1"])
        >>> found = NodeOrder.of(path)
        >>> found.graph.node_ids.tolist(), found.nodes.tolist()
        (['p1', 'p2', 'p10'], [2, 1, 0])
        """
        if graph.ids_in_order:
            return None
        order = sorted_by_id(graph.node_ids)
        nodes = np.argsort(order)
        moved = AttributedGraph(
            graph.adjacency[order][:, order],
            graph.attributes[order],
            directed=graph.directed,
            node_ids=graph.node_ids[order],
            attribute_names=graph.attribute_names,
            name=graph.name,
        )
        ends = nodes[graph.edges]
        codes, known = (_codes(pairs, graph) for pairs in (ends, moved.edges))  # the same numbers in two orders
        edges = np.empty(graph.n_edges, dtype=np.int64)
        edges[np.argsort(codes)] = np.argsort(known, kind="stable")  # they are nearly in order
        data = graph.edge_data.rows(np.argsort(edges))
        moved = replace(
            moved,
            edge_weight=data.weight,
            edge_time=data.time,
            edge_attributes=data.attributes,
            edge_attribute_names=graph.edge_attribute_names,
            node_types=None if graph.node_types is None else graph.node_types[order],
        )
        return cls(moved, nodes, edges)

    def restore(self, detector: Any) -> None:
        """Put what a detector knows of each node and edge into the order of the given graph."""
        for name, _, _ in columns_of(detector):
            if name not in ("decision_score_", "label_") and hasattr(detector, name):
                setattr(detector, name, getattr(detector, name)[self.edges if name.startswith("edge_") else self.nodes])
        if hasattr(detector, "evidence_"):
            detector.evidence_ = {kind: values[self.nodes] for kind, values in detector.evidence_.items()}


class Following:
    """A callback that receives scores in the order of the given graph."""

    def __init__(self, callback: Any, nodes: IntArray) -> None:
        self._callback, self._nodes = callback, nodes

    def __call__(self, epoch: Epoch) -> None:
        """Pass an epoch on."""
        self._callback(replace(epoch, scores=lambda: epoch.scores()[self._nodes]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._callback, name)


def _codes(pairs: IntArray, graph: AttributedGraph) -> IntArray:
    first, second = pairs if graph.directed else np.sort(pairs, axis=0)
    return np.asarray(first * np.int64(graph.n_nodes) + second)
