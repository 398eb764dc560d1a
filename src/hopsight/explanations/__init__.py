"""From a fitted detector to reasons: why a node has its score, and whether an edge looks out of place."""

from hopsight.explanations.explainer import Explainer, explain
from hopsight.explanations.groups import GroupExplanation
from hopsight.explanations.reasons import EdgeExplanation, Explanation

__all__ = ["EdgeExplanation", "Explainer", "Explanation", "GroupExplanation", "explain"]
