"""MADAN at the time scale that the labels prefer, as its authors report it: an upper bound, not a detector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hopsight.baselines.madan import GRID, concentrations, edge_weights
from hopsight.detectors.base import Detector
from hopsight.graph import AttributedGraph
from hopsight.metrics import roc_auc
from hopsight.nn.device import resolve_device

ADDRESS = "paper.oracle:MADANOracle"


@dataclass(kw_only=True)
class MADANOracle(Detector):
    """Choose MADAN's time scale by the ROC-AUC, which needs the labels."""

    title: ClassVar[str] = "MADAN, best t by the labels"
    deterministic: ClassVar[bool] = True
    uses_labels: ClassVar[bool] = True

    sigma: float | None = None

    def _fit(
        self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callable[..., None] | None
    ) -> NDArray[np.float64]:
        kept, _ = concentrations(edge_weights(graph, self.sigma)[0], GRID, device=resolve_device(self.device))
        best = int(np.argmax([roc_auc(graph.labels, row) for row in kept]))
        self.t_ = float(GRID[best])
        return np.asarray(kept[best], dtype=np.float64)
