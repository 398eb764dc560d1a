"""Preprocessing: scaling, PCA, similarity of connected nodes, and dropping edges."""

from __future__ import annotations

from hopsight.preprocess.drop_edges import drop_edges
from hopsight.preprocess.pca import principal_axes
from hopsight.preprocess.similarity import edge_similarity
from hopsight.preprocess.transform import AttributeTransform

__all__ = ["AttributeTransform", "drop_edges", "edge_similarity", "principal_axes"]
