"""The nodes that a page shows, and the edges around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.explanations import Explainer
from hopsight.explanations.events import node_events

MAX_DRAWN = 60  # neighbors of one node; a drawing with more cannot be read
MAX_NAME = 200
MAX_OTHERS = 12  # nodes of other types that are drawn around one node, those that the fewest share

IntArray = NDArray[np.int64]


class PageNodes:
    """Collects the nodes that a page mentions, each once, under a key: its rank, or what the page addresses it by.

    Parameters
    ----------
    explainer
        What explains the nodes.
    keys
        One number per node of the graph; by default the ranks.
    ranks, degrees
        Those of the nodes, where the graph is an excerpt of a larger one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from hopsight.graph import AttributedGraph
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["a", "b", "c"])
    >>> model = SimpleNamespace(decision_score_=np.array([0.1, 0.9, 0.5]), threshold_=0.8)
    >>> shown = PageNodes(Explainer(model, path))
    >>> shown.around(1)
    {'total': 2, 'edges': [[2, None, None, None, None], [3, None, None, None, None]], 'between': []}
    >>> shown.rows
    {1: ['b', 0.9, 1, 2, 1], 2: ['c', 0.5, 2, 1, 0], 3: ['a', 0.1, 3, 1, 0]}
    """

    def __init__(
        self,
        explainer: Explainer,
        *,
        keys: IntArray | None = None,
        ranks: IntArray | None = None,
        degrees: IntArray | None = None,
    ) -> None:
        self.graph, self.edges, self._levels = explainer.graph, explainer.edges, explainer.levels
        self._flagged = explainer.scores > explainer.model.threshold_
        self._ranks = explainer.ranks if ranks is None else ranks
        self._degrees = self.graph.degrees if degrees is None else degrees
        self._keys = self._ranks if keys is None else keys
        self.rows: dict[int, list[Any]] = {}  # id, score or probability, rank, degree, flagged, perhaps a name

    def key(self, position: int) -> int:
        """Return the key of a node, adding the node if it is new."""
        key = int(self._keys[position])
        if key not in self.rows:
            graph, level, flagged = self.graph, float(self._levels[position]), int(self._flagged[position])
            title = [] if graph.node_names is None else [cut(str(graph.node_names[position]))]
            rank, degree = int(self._ranks[position]), int(self._degrees[position])
            self.rows[key] = [cut(str(graph.node_ids[position])), level, rank, degree, flagged, *title]
        return key

    def around(self, position: int, limit: int = MAX_DRAWN) -> dict[str, Any]:
        """Return the edges of a node that are most out of place, the number of all, and the edges among the neighbors.

        An edge is the key of the neighbor, hops, variance, probability of 1 hop, unlikeness, and its relation if edges
        have several. Where nodes share nodes of other types, these types and ``others`` follow: the number of its type,
        its id, how many share it, and the neighbors here that do.
        """
        self.key(position)
        edges, others = self.edges.at(position)
        total = max(edges.size, int(self._degrees[position]))
        edges, others = edges[:limit], others[:limit]
        neighbors = zip(others.tolist(), *self.edges.values(edges), strict=True)
        between, source, target = self.edges.among(np.unique(others))
        pairs = zip(source.tolist(), target.tolist(), self.edges.values(between)[0], strict=True)
        return {
            "total": total,
            "edges": [
                [self.key(other), *values, *self._relation(edge)]
                for edge, (other, *values) in zip(edges.tolist(), neighbors, strict=True)
            ],
            "between": [[self.key(u), self.key(v), hop] for u, v, hop in pairs],
            **self._others(position, others),
        }

    def _others(self, position: int, neighbors: IntArray) -> dict[str, Any]:
        context = self.graph.context
        if context is None or not context.types:
            return {}
        near = np.unique(neighbors)
        first, last = np.searchsorted(context.links[0], [[position, *near], [position + 1, *(near + 1)]])
        mine, *theirs = (context.links[1, start:end] for start, end in zip(first, last, strict=True))
        chosen = mine[np.argsort(context.n_sharing[mine], kind="stable")][:MAX_OTHERS].tolist()
        sharing = [[self.key(node) for node, has in zip(near, theirs, strict=True) if each in has] for each in chosen]
        rows = [
            [int(context.other_types[each]), cut(context.others[each]), int(context.n_sharing[each]), keys]
            for each, keys in zip(chosen, sharing, strict=True)
        ]
        return {"types": list(context.types), "others": rows, "n_others": mine.size}

    def _relation(self, edge: int) -> list[str]:
        """Return the name of an edge's relation, nothing if edges have none."""
        graph = self.graph
        return [] if graph.edge_relation is None else [graph.relation_names[graph.edge_relation[edge]]]

    def events(self, position: int, most: int) -> dict[str, Any] | None:
        """Return the events of a node with the keys of its partners, None without any."""
        found = node_events(self.graph, position, most)
        if found is None:
            return None
        found["rows"] = [[self.key(partner), *row] for partner, *row in found["rows"]]
        for side in ("received", "sent"):
            found[side][0] = [[self.key(partner), value] for partner, value in found[side][0]]
        return found


def cut(name: str, most: int = MAX_NAME) -> str:
    """Cut a very long name so that it fits the page.

    >>> len(cut("x" * 5000)), cut("Ada")
    (200, 'Ada')
    """
    return name if len(name) <= most else name[: most - 1] + "…"
