"""Scores with little or no learning that every detector must beat, behind the contract of a detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.detectors.base import Detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EdgeBaseline, EdgeFeatures, NodeBaseline, combine, strengths
from hopsight.hcm.views import inputs_of

FloatArray = NDArray[np.float64]


@dataclass(kw_only=True)
class DistanceFromMean(Detector):
    """Return the distance of each node's attributes from their mean, as the view has them."""

    title: ClassVar[str] = "distance from the mean"
    deterministic: ClassVar[bool] = True

    def _fit(
        self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callable[..., None] | None
    ) -> FloatArray:
        X: Any = graph.attributes
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if not sp.issparse(X):
            return np.asarray(np.linalg.norm(X - mean, axis=1))
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2.0 * (X @ mean) + mean @ mean
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


@dataclass(kw_only=True)
class NoModel(CrossHCM):
    """CrossHCM with the dissimilarity of the ends of an edge in place of what a network says of it.

    Networks are still built, with one epoch, because the folds and baselines of the fit need them; none of it is read.
    """

    title: ClassVar[str] = "CrossHCM without a model"
    n_epochs: int = 2
    burn_in: int = 1
    n_samples: int = 1

    def _fit(self, graph: AttributedGraph, **options: Any) -> FloatArray:
        super()._fit(graph, **options)
        edges = EdgeFeatures(*[self.edge_dissimilarity_] * 3)
        self.edge_baseline_ = EdgeBaseline.fit(edges)
        nodes = self._node_features(graph, edges, inputs_of(graph, self.transform_, self.magnitude_))
        return combine(strengths(nodes, NodeBaseline.fit(nodes)), self.evidence)[0]
