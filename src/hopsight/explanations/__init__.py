"""From a fitted detector to reasons: why a node has its score, and whether an edge looks out of place."""

from hopsight.explanations.explainer import Explainer, explain
from hopsight.explanations.groups import GroupExplanation, Member
from hopsight.explanations.reasons import (
    AttributeGap,
    Category,
    Companions,
    EdgeExplanation,
    EdgeValue,
    Evidence,
    Explanation,
    Neighbor,
    NodeValue,
    OwnValue,
    WithoutEdges,
)

__all__ = [
    "AttributeGap",
    "Category",
    "Companions",
    "EdgeExplanation",
    "EdgeValue",
    "Evidence",
    "Explainer",
    "Explanation",
    "GroupExplanation",
    "Member",
    "Neighbor",
    "NodeValue",
    "OwnValue",
    "WithoutEdges",
    "explain",
]
