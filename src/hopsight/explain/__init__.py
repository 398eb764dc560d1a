"""From a fitted detector to reasons: why a node ranks where it does, why an edge looks out of place."""

from hopsight.explain.explainer import Explainer, explain, explain_edge
from hopsight.explain.reasons import AttributeGap, EdgeExplanation, Explanation, Neighbor, NodeValue, WithoutEdges

__all__ = [
    "AttributeGap",
    "EdgeExplanation",
    "Explainer",
    "Explanation",
    "Neighbor",
    "NodeValue",
    "WithoutEdges",
    "explain",
    "explain_edge",
]
