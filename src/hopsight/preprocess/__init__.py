"""Preprocessing: scaling, PCA, similarity of connected nodes, and dropping edges."""

from __future__ import annotations

from hopsight.preprocess.similarity import drop_edges, edge_similarity
from hopsight.preprocess.transform import AttributeTransform, principal_axes

__all__ = ["AttributeTransform", "drop_edges", "edge_similarity", "principal_axes"]
