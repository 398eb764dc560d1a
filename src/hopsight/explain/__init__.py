"""From a fitted detector to reasons: why a node ranks where it does, why a link looks out of place."""

from hopsight.explain.explainer import Explainer, explain, explain_link
from hopsight.explain.reasons import AttributeGap, Explanation, LinkExplanation, Neighbour, NodeValue, WithoutLinks

__all__ = [
    "AttributeGap",
    "Explainer",
    "Explanation",
    "LinkExplanation",
    "Neighbour",
    "NodeValue",
    "WithoutLinks",
    "explain",
    "explain_link",
]
