"""From a fitted detector to reasons: why a node has its score, and whether an edge looks out of place."""

from hopsight.explanations.edge_explanation import EdgeExplanation, EdgeValue
from hopsight.explanations.evidence import Companions, Evidence, OwnValue
from hopsight.explanations.explainer import Explainer, explain
from hopsight.explanations.groups import GroupExplanation, Member
from hopsight.explanations.reasons import (
    AttributeGap,
    Category,
    Explanation,
    Neighbor,
    NodeValue,
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
