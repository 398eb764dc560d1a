"""The contract every detector keeps: hyperparameters in, ``fit``, one score a node, higher = more anomalous."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count
from hopsight.detectors.predict import answer, threshold
from hopsight.detectors.storage import save_detector
from hopsight.graph import AttributedGraph
from hopsight.io import as_graph

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after every epoch; ``scores()`` are this epoch's own, not averaged."""

    number: int
    total: int
    loss: float
    scores: Callable[[], FloatArray]


Callback = Callable[[Epoch], None]


@dataclass(kw_only=True)
class Detector(ABC):
    """Base of all detectors. A subclass adds its fields and :meth:`_fit`, nothing else is needed.

    Every value that ``fit`` sets ends in an underscore, and is what ``save`` writes.
    """

    _LEAST_NODES: ClassVar[int] = 2

    seed: int | None = 0
    contamination: float | str = 0.1
    device: str = "auto"

    def fit(self, source: Any, callback: Callback | Any = None, *, label: Any = None) -> Self:
        """Learn from a graph (or a PyG ``Data``, NetworkX graph, ``(adjacency, attributes)`` pair) and score it.

        ``callback`` is told after every epoch. Labels may be given as PyGOD takes them, second or as ``label``:
        nothing looks at them.
        """
        threshold(np.zeros(1), self.contamination)  # a bad share is refused before the work, not after it
        if self.seed is not None:
            check_count("seed", self.seed, low=0)
        graph = as_graph(source)
        if graph.n_nodes < self._LEAST_NODES:
            raise ValueError(f"a network needs at least {self._LEAST_NODES} nodes, this one has {graph.n_nodes}")
        if graph.n_attributes < 1:
            raise ValueError("a network needs at least 1 attribute, this one has none")
        rng = np.random.default_rng(self.seed)
        self.graph_ = graph
        told = None if hasattr(callback, "__len__") else callback  # what has a length are labels
        return self._finish(self._fit(graph, rng=rng, callback=told))

    @abstractmethod
    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        """Check the parameters, set the fitted values and return one score a node."""

    def _finish(self, scores: FloatArray) -> Self:
        if not np.isfinite(scores).all():
            raise ValueError(f"{type(self).__name__} produced scores that are not finite; try another scaling")
        self.decision_score_ = np.asarray(scores, dtype=np.float64)
        self.threshold_ = threshold(self.decision_score_, self.contamination)
        self.label_ = (self.decision_score_ > self.threshold_).astype(np.int64)
        return self

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a new graph; only detectors that learn a transferable model can, others know the graph of the fit.

        Nothing looks at ``label``.
        """
        if hasattr(self, "graph_") and _alike(as_graph(source), self.graph_):
            return self.decision_score_
        raise ValueError(f"{type(self).__name__} can only judge the graph it was fitted on")

    def embed(self, source: Any = None) -> FloatArray:
        """Return the learned representation of every node of a graph, or of the training graph; few detectors can."""
        raise ValueError(f"{type(self).__name__} has no representation of nodes to return")

    def predict(
        self,
        data: Any = None,
        label: Any = None,
        return_pred: bool = True,
        return_score: bool = False,
        return_prob: bool = False,
        prob_method: str = "linear",
        return_conf: bool = False,
        return_emb: bool = False,
    ) -> Any:
        """Answer as PyGOD's ``predict`` does; see :func:`hopsight.detectors.predict.answer` for the flags.

        ``label`` is taken because PyGOD takes it; nothing looks at it. ``return_emb`` adds :meth:`embed` at the end.
        """
        if not hasattr(self, "decision_score_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet: call fit first")
        return answer(
            self,
            self.decision_score_ if data is None else self.decision_function(data),
            return_pred=return_pred,
            return_score=return_score,
            return_prob=return_prob,
            prob_method=prob_method,
            return_conf=return_conf,
            embedding=self.embed(data) if return_emb else None,
        )

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to a folder: safetensors and JSON, never a pickle."""
        save_detector(self, Path(path))


def _alike(graph: AttributedGraph, other: AttributedGraph) -> bool:
    """Return whether two networks have the same links and attributes."""
    if graph.adjacency.shape != other.adjacency.shape or graph.attributes.shape != other.attributes.shape:
        return False
    differ = graph.attributes != other.attributes
    return not (graph.adjacency != other.adjacency).nnz and not differ.sum()
