"""The flagged nodes that a report explains beside the first ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopsight.explanations import Explainer, Explanation
from hopsight.metrics import ranking

MOST = 300  # explanations with all their tables in a page, to keep the file small
MOST_EDGES = 40_000  # of the nodes that are added, for the same reason
MOST_SENTENCES = 10_000  # explaining so many nodes of a large graph takes a minute or two


def with_flagged(explainer: Explainer, explanations: Sequence[Explanation]) -> tuple[list[Explanation], dict[int, str]]:
    """Return the explanations with those of further flagged nodes, and one paragraph about each of the others.

    Both begin with the most anomalous nodes; the paragraphs are by position. The further nodes are not scored again
    without some of their edges, which takes longest.
    """
    model, graph, scores = explainer.model, explainer.graph, explainer.scores
    if not explanations:
        return [], {}
    known = {graph.index_of(each.node) for each in explanations}
    order = ranking(scores)
    ranked = getattr(model, "only_", np.ones(scores.size, dtype=np.bool_))  # a run may rank some of the nodes only
    further = [node for node in order[((scores > model.threshold_) & ranked)[order]].tolist() if node not in known]
    most = max(0, MOST - len(explanations))
    in_full = further[: min(most, int(np.searchsorted(np.cumsum(graph.degrees[further]), MOST_EDGES)))]
    found = [*explanations, *explainer.many(in_full, absent=0)]
    rest = further[len(in_full) :][:MOST_SENTENCES]
    spoken = zip(rest, explainer.many(rest, top=2, absent=0), strict=True)
    return found, {node: explanation.summary for node, explanation in spoken}
