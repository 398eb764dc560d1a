"""The flagged nodes that a report explains beside the first ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hopsight.explanations import Explainer, Explanation
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking

MOST = 300  # explanations in a page, to keep the file small
MOST_EDGES = 40_000  # of the nodes that are added, for the same reason


def with_flagged(model: Any, graph: AttributedGraph, explanations: Sequence[Explanation]) -> list[Explanation]:
    """Return the explanations and those of further flagged nodes, most anomalous first.

    The further ones are not scored again without some of their edges, which takes longest.
    """
    scores = np.asarray(model.decision_score_, dtype=np.float64)
    known = {graph.index_of(each.node) for each in explanations}
    if not explanations or len(explanations) >= MOST:
        return list(explanations)
    order = ranking(scores)
    ranked = getattr(model, "only_", np.ones(scores.size, dtype=np.bool_))  # a run may rank some of the nodes only
    further = [node for node in order[((scores > model.threshold_) & ranked)[order]].tolist() if node not in known]
    further = further[: MOST - len(explanations)]
    kept = int(np.searchsorted(np.cumsum(graph.degrees[further]), MOST_EDGES)) if further else 0
    explainer = Explainer(model, graph)
    return [*explanations, *(explainer.node(graph.node_ids[node], absent=0) for node in further[:kept])]
