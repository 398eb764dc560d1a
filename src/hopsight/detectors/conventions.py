"""How detectors behave in scikit-learn, in notebooks and in print."""

from __future__ import annotations

import dataclasses
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import plural, suggest
from hopsight.markup import card, paragraph, table
from hopsight.metrics import ranking

FloatArray = NDArray[np.float64]
N_SHOWN = 5  # nodes in a notebook


class Conventions:
    """Methods that scikit-learn and notebooks expect of a detector, in terms of its fields and fitted values.

    A graph takes the place of the matrix: every method that takes one there takes a graph here.
    """

    decision_score_: FloatArray
    threshold_: float
    label_: NDArray[np.int64]

    if TYPE_CHECKING:  # of the detector

        def fit(self, source: Any) -> Self:
            """Learn from a graph."""

        def decision_function(self, source: Any) -> FloatArray:
            """Score a graph."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Conventions.__repr__  # type: ignore[method-assign]  # or else a dataclass makes a long one

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._changed().items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters by name; ``deep`` is ignored, because none of them has hyperparameters."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def set_params(self, **changes: Any) -> Self:
        """Change hyperparameters by name and return the detector; fit it again to use them."""
        names = list(self.get_params())
        for name in changes:
            if name not in names:
                hint = suggest(name, names) or f"; it has {', '.join(names)}"
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}{hint}")
        for name, value in changes.items():
            setattr(self, name, value)
        return self

    def fit_predict(self, source: Any, label: Any = None) -> NDArray[np.int64]:
        """Fit to a graph and return 1 for every flagged node and 0 for the others; ``label`` is ignored."""
        return self.fit(source).label_

    def score_samples(self, source: Any) -> FloatArray:
        """Return the negated scores of a graph, as scikit-learn has them: the lower, the more anomalous.

        Everywhere else in hopsight, higher means more anomalous.
        """
        return -np.asarray(self.decision_function(source))

    def report(self, path: str | os.PathLike[str] | None = None, *, top: int = 20, redact: bool = False) -> Any:
        """Write the HTML report of the graph that the detector was fitted on, or show it in a notebook.

        Parameters
        ----------
        path
            The file to write; by default nothing is written, and the result shows itself in a notebook.
        top
            Number of nodes to explain.
        redact
            Replace the ids and names of nodes by numbers, so that the report can be shared.
        """
        # By name, as the registry finds detectors: detectors know nothing of the pages above them.
        page = import_module("hopsight.report.notebook").report(self, top=top, redact=redact)
        return page if path is None else page.write(path)

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "decision_score_")

    def _changed(self) -> dict[str, Any]:
        """Return the hyperparameters that differ from their defaults."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {each.name: getattr(self, each.name) for each in fields if getattr(self, each.name) != each.default}

    def _repr_html_(self) -> str:
        if not hasattr(self, "decision_score_"):
            return card(repr(self), paragraph("Not fitted yet."))
        scores = self.decision_score_
        graph = getattr(self, "graph_", None)
        ids = np.arange(scores.size) if graph is None else graph.node_ids
        rows = [[ids[node], rank, f"{scores[node]:.4g}"] for rank, node in enumerate(ranking(scores)[:N_SHOWN], 1)]
        flagged = f"{plural(int(self.label_.sum()), 'node')} of {scores.size:,} flagged (score above "
        return card(repr(self), paragraph(f"{flagged}{self.threshold_:.4g})."), table(["node", "rank", "score"], rows))
