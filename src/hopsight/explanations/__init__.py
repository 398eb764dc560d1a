"""From a fitted detector to reasons: why a node has its score, and whether an edge looks out of place."""

from hopsight.explanations.explainer import Explainer, explain
from hopsight.explanations.reasons import (
    AttributeGap,
    Category,
    EdgeExplanation,
    Explanation,
    Neighbor,
    NodeValue,
    WithoutEdges,
)

__all__ = [
    "AttributeGap",
    "Category",
    "EdgeExplanation",
    "Explainer",
    "Explanation",
    "Neighbor",
    "NodeValue",
    "WithoutEdges",
    "explain",
]
