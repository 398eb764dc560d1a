"""The contract that every detector keeps: hyperparameters in, ``fit``, one score per node, higher = more anomalous."""

from __future__ import annotations

import copy
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count, plural, suggest
from hopsight.detectors.predict import answer, ranked_last, ranked_threshold, threshold
from hopsight.detectors.storage import columns_of, is_without_graph, save_detector
from hopsight.detectors.table import to_frame
from hopsight.graph import AttributedGraph
from hopsight.io import graph_of
from hopsight.io.typed import ONE_TYPE, has_several
from hopsight.metrics import ranking
from hopsight.preprocess import AttributeTransform
from hopsight.system.arrays import sorted_by_id
from hopsight.system.threads import safe_in_forks

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

N_SHOWN = 5  # nodes in a notebook

if TYPE_CHECKING:
    from polars import DataFrame


@dataclass(frozen=True)
class Epoch:
    """What a callback receives after every epoch; ``scores()`` returns the scores of this epoch's weights alone."""

    number: int
    total: int
    loss: float
    scores: Callable[[], FloatArray]


Callback = Callable[[Epoch], None]


@dataclass(kw_only=True)
class Detector(ABC):
    """Base of all detectors: a subclass adds its fields, its facts and :meth:`_fit`.

    Every value that ``fit`` sets ends in an underscore, and is what ``save`` writes.
    """

    # Facts about the method that tables, explanations, estimates and tests read from the class.
    meaning: ClassVar[str] = "how unusual the node is"  # what the score measures, so that nobody reads more into it
    node_values: ClassVar[Mapping[str, str]] = {}  # fitted values per node (name_), and how to read them
    presets: ClassVar[tuple[str, ...]] = ()  # class methods that return other settings
    deterministic: ClassVar[bool] = False  # whether the seed changes nothing
    transferable: ClassVar[bool] = False  # whether a fitted model can score another graph
    order_matters: ClassVar[bool] = False  # of nodes, if only to rounding: it is fitted in order of id
    quick: ClassVar[Mapping[str, Any]] = {}  # settings that make a fit on a small graph quick
    least_nodes: ClassVar[int] = 2
    dense_copies: ClassVar[int] = 8  # n×d matrices of float64 held at once
    uses_torch: ClassVar[bool] = True
    parts: ClassVar[Mapping[str, Callable[..., Any]]] = {"transform_": AttributeTransform}  # fitted dataclasses

    seed: int | None = 0
    contamination: float | str = "auto"
    false_alarms: float = 0.1
    device: str = "auto"

    def check(self) -> None:  # noqa: B027 (a detector need not have one)
        """Refuse a parameter outside its range, in a fit and in a saved model."""

    @safe_in_forks
    def fit(self, source: Any, label: Any = None, *, callback: Callback | None = None) -> Self:
        """Learn from a graph (or a PyG ``Data``, NetworkX graph, ``(adjacency, attributes)`` pair) and score it.

        Parameters
        ----------
        source
            The graph.
        label
            Ignored: accepted because PyGOD and scikit-learn pass labels second.
        callback
            Called after every epoch with an :class:`Epoch`.
        """
        with alone(self):
            return self._fit_with(self._fit, graph_of(source), callback)

    def _fit_with(self, learn: Callable[..., FloatArray], graph: AttributedGraph, callback: Callback | None) -> Self:
        """Check what every fit needs, call ``learn(graph, rng=…, callback=…)``, and keep the scores it returns."""
        self.check()
        threshold(np.zeros(1), self.contamination, self.false_alarms)  # refuse a bad share before the work
        if self.seed is not None:
            check_count("seed", self.seed, low=0)
        if has_several(graph):
            from hopsight.detectors.types import fit_types

            fitted: Self = fit_types(self, graph)
            return fitted
        vars(self).pop("models_", None)
        if graph.n_nodes < self.least_nodes:
            raise ValueError(f"a graph needs at least {self.least_nodes} nodes, this one has {graph.n_nodes}")
        if graph.n_attributes < 1:
            raise ValueError("a graph needs at least 1 attribute, this one has none")
        self.graph_ = graph
        rng = np.random.default_rng(self.seed)
        order = NodeOrder.of(graph) if self.order_matters else None
        if order is None:
            return self._finish(learn(graph, rng=rng, callback=callback))
        following = None if callback is None else Following(callback, order.nodes)
        scores = learn(order.graph, rng=rng, callback=following)
        order.restore(self)
        self._finish(scores[order.nodes])
        if hasattr(self, "edge_index_"):
            self.edge_index_ = graph.edges
        return self

    def expected_need(self, graph: AttributedGraph) -> tuple[float, float]:
        """Return the bytes and the operations that a fit takes beyond the graph and the libraries.

        The default counts a few n×d matrices and, for each epoch, passes over them and over the edges. Layers
        (parameters called ``..._units``) keep their values for each node, and six numbers per weight.
        """
        width = min(graph.n_attributes, getattr(self, "n_components", None) or graph.n_attributes)
        cells = float(graph.n_nodes * width)
        passes = getattr(self, "n_epochs", 50)
        lists = [getattr(self, field.name) for field in fields(self) if field.name.endswith("_units")]
        counts = [count for each in lists for count in (each if isinstance(each, tuple) else (each,))]
        units = [count for count in counts if isinstance(count, int)]  # fit refuses anything else
        widths = [width, *units, width]
        weights = sum(first * second for first, second in pairwise(widths)) if units else 0
        memory = 8 * self.dense_copies * cells + 16.0 * graph.n_nodes * sum(units) + 24.0 * weights + 16.0 * passes
        return memory, 6.0 * passes * (cells * 64 + 64 * graph.adjacency.nnz)

    @abstractmethod
    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> FloatArray:
        """Check the parameters, set the fitted values and return one score per node."""

    @property
    def scores_are_strengths(self) -> bool:
        """Whether the score x says that about one of 10ˣ ordinary nodes has it."""
        return False

    def _finish(self, scores: FloatArray, *, keep_threshold: bool = False) -> Self:
        if not np.isfinite(scores).all():
            raise ValueError(f"{type(self).__name__} produced scores that are not finite; try another scaling")
        ranked = self.graph_.ranked
        self.decision_score_ = ranked_last(np.asarray(scores, dtype=np.float64), ranked)
        if not keep_threshold:
            self.threshold_ = ranked_threshold(self, self.decision_score_, ranked)
        self.label_ = (self.decision_score_ > self.threshold_).astype(np.int64)
        return self

    @safe_in_forks
    def judge(self, source: Any) -> Self:
        """Return a copy of this detector with the scores of another graph and the threshold of the fit."""
        if hasattr(self, "models_"):
            from hopsight.detectors.types import judge_types

            judged: Self = judge_types(self, graph_of(source))
            return judged
        copied = self._copy_for(graph_of(source))
        return copied._finish(np.asarray(self.decision_function(copied.graph_)), keep_threshold=True)

    def _copy_for(self, graph: AttributedGraph) -> Self:
        """Return a copy that will have the scores of another graph; values of the nodes of the fit are not copied."""
        self._check_fitted()
        copied = copy.copy(self)
        for name in ("without_graph_", "stability_", *(f"{value}_" for value in self.node_values)):
            vars(copied).pop(name, None)
        copied.graph_ = graph
        return copied

    def _check_fitted(self) -> None:
        if not hasattr(self, "decision_score_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet: call fit first")

    def decision_function(self, source: Any, label: Any = None) -> FloatArray:
        """Score a new graph, or return the scores of the fit for the same graph.

        Only detectors that learn a transferable model can score another graph. ``label`` is ignored.
        """
        if hasattr(self, "graph_") and _alike(graph_of(source), self.graph_):
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

        ``label`` is ignored, as in PyGOD. ``return_emb`` adds :meth:`embed` at the end.
        """
        self._check_fitted()
        if data is None and is_without_graph(self):
            raise ValueError("this model does not hold the scores of its own graph: pass a graph to predict")
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

    def predict_proba(self, graph: Any = None) -> FloatArray:
        """Return the probabilities (normal, anomalous) of each node after learning from labels, as scikit-learn does.

        They are those of the graph that the detector was fitted on, or of another one.
        """
        judged = self if graph is None else self.judge(graph)
        chance = getattr(judged, "probability_", None)
        if chance is None:
            raise ValueError(
                f"this {type(self).__name__} has learned from no labels of nodes, and a score is no probability: call "
                "learn first (CrossHCM has it), or use decision_function"
            )
        return np.column_stack([1.0 - chance, chance])

    def to_frame(self) -> DataFrame:
        """Return one row per node, most anomalous first, with the columns of ``scores.csv`` (a polars DataFrame)."""
        self._check_fitted()
        if not hasattr(self, "graph_"):
            raise ValueError(
                f"this {type(self).__name__} was loaded from disk without its graph: set graph_ to the one it was "
                "fitted on, or call judge(graph).to_frame()"
            )
        return to_frame(self, self.graph_)

    def save(self, path: str | Path) -> None:
        """Write the fitted detector to a folder: safetensors and JSON, never a pickle.

        The graph is not saved, but the model holds scores, values of each edge, the exact extremes of some columns and
        the attributes of a few nodes.
        """
        if hasattr(self, "models_"):
            raise ValueError(f"a model of several types is not saved as one: {ONE_TYPE}")
        save_detector(self, Path(path))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Detector.__repr__  # type: ignore[method-assign]  # or else a dataclass makes a long one

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._changed().items())})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyperparameters by name; ``deep`` is ignored, because none of them has hyperparameters."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

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
        page = import_module("hopsight.report.page").report(self, top=top, redact=redact)
        return page if path is None else page.write(path)

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "decision_score_")

    def _changed(self) -> dict[str, Any]:
        """Return the hyperparameters that differ from their defaults."""
        default = {field.name: field.default for field in fields(self)}
        return {name: value for name, value in self.get_params().items() if value != default[name]}

    def _repr_html_(self) -> str:
        from hopsight.markup import card, paragraph, table

        if not hasattr(self, "decision_score_"):
            return card(repr(self), paragraph("Not fitted yet."))
        scores = self.decision_score_
        graph = getattr(self, "graph_", None)
        ids, places = (np.arange(scores.size), None) if graph is None else (graph.node_ids, graph.id_places)
        first = ranking(scores, places)[:N_SHOWN]
        rows = [[ids[node], rank, f"{scores[node]:.4g}"] for rank, node in enumerate(first, 1)]
        flagged = f"{plural(int(self.label_.sum()), 'node')} of {scores.size:,} flagged (score above "
        return card(repr(self), paragraph(f"{flagged}{self.threshold_:.4g})."), table(["node", "rank", "score"], rows))


@contextmanager
def alone(detector: Detector) -> Iterator[None]:
    """Refuse to fit a detector that another thread is fitting: each would overwrite what the other has learned."""
    me = object()
    if _fitted_by.setdefault(id(detector), me) is not me:
        raise ValueError(
            f"this {type(detector).__name__} is being fitted in another thread: create one detector per thread, for "
            "example with copy.copy"
        )
    try:
        yield
    finally:
        _fitted_by.pop(id(detector), None)


_fitted_by: dict[int, object] = {}  # a token for each detector that is being fitted; setdefault is atomic
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fitted_by.clear)


@dataclass(frozen=True)
class NodeOrder:
    """A graph with its nodes sorted by id, and where the nodes and edges of the given graph are in it.

    A detector that draws by position, or adds up in order what training then amplifies, is fitted in the order of ids,
    so that the order of rows in a file changes nothing. Numbers within ids count as numbers: p2 comes before p10.
    """

    graph: AttributedGraph
    nodes: IntArray
    edges: IntArray

    @classmethod
    def of(cls, graph: AttributedGraph) -> NodeOrder | None:
        """Return the graph in the order of its ids, or None if it already is.

        >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), node_ids=["p10", "p2", "p1"])
        >>> found = NodeOrder.of(path)
        >>> found.graph.node_ids.tolist(), found.nodes.tolist()
        (['p1', 'p2', 'p10'], [2, 1, 0])
        """
        if graph.ids_in_order:
            return None
        order = sorted_by_id(graph.node_ids)
        nodes = np.argsort(order)
        moved = AttributedGraph(
            graph.adjacency[order][:, order],
            graph.attributes[order],
            directed=graph.directed,
            node_ids=graph.node_ids[order],
            attribute_names=graph.attribute_names,
            name=graph.name,
        )
        ends = nodes[graph.edges]
        codes, known = (_codes(pairs, graph) for pairs in (ends, moved.edges))  # the same numbers in two orders
        edges = np.empty(graph.n_edges, dtype=np.int64)
        edges[np.argsort(codes)] = np.argsort(known, kind="stable")  # they are nearly in order
        data = graph.edge_data.rows(np.argsort(edges))
        moved = replace(
            moved,
            edge_weight=data.weight,
            edge_time=data.time,
            edge_attributes=data.attributes,
            edge_attribute_names=graph.edge_attribute_names,
            node_types=None if graph.node_types is None else graph.node_types[order],
            known=None if graph.known is None else graph.known[order],
            rank_unknown=graph.rank_unknown,
            unranked=None if graph.unranked is None else graph.unranked[order],
            events=None if graph.events is None else graph.events.renumbered(nodes),
            edge_relation=None if graph.edge_relation is None else graph.edge_relation[np.argsort(edges)],
            relation_names=graph.relation_names,
            context=None if graph.context is None else graph.context.rows(order),
            left_out=graph.left_out,
            derivation=None
            if graph.derivation is None
            else replace(graph.derivation, place=graph.derivation.place[order]),
        )
        return cls(moved, nodes, edges)

    def restore(self, detector: Any) -> None:
        """Put what a detector knows of each node and edge into the order of the given graph."""
        for name, _, _ in columns_of(detector):
            if name not in ("decision_score_", "label_") and hasattr(detector, name):
                setattr(detector, name, getattr(detector, name)[self.edges if name.startswith("edge_") else self.nodes])
        if hasattr(detector, "evidence_"):
            detector.evidence_ = {kind: values[self.nodes] for kind, values in detector.evidence_.items()}


class Following:
    """A callback that receives scores in the order of the given graph."""

    def __init__(self, callback: Any, nodes: IntArray) -> None:
        self._callback, self._nodes = callback, nodes

    def __call__(self, epoch: Epoch) -> None:
        """Pass an epoch on."""
        self._callback(replace(epoch, scores=lambda: epoch.scores()[self._nodes]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._callback, name)


def _codes(pairs: IntArray, graph: AttributedGraph) -> IntArray:
    first, second = pairs if graph.directed else np.sort(pairs, axis=0)
    return np.asarray(first * np.int64(graph.n_nodes) + second)


def _alike(graph: AttributedGraph, other: AttributedGraph) -> bool:
    """Return whether two graphs have the same edges and attributes."""
    if graph.adjacency.shape != other.adjacency.shape or graph.attributes.shape != other.attributes.shape:
        return False
    differ = graph.attributes != other.attributes
    return not (graph.adjacency != other.adjacency).nnz and not differ.sum()
