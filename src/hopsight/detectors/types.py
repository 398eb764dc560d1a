"""Graphs with several types of nodes: one model per type, each fitted to what its nodes see, and their scores together.

A node is compared with nodes of its own type only. Types whose nodes are listed in no table are context and not ranked.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.typed import is_connected, types_of, view

if TYPE_CHECKING:
    from hopsight.io.labels import Labels

TOGETHER = ("decision_score_", "probability_", "decided_by_", "judged_")  # values per node


def ranked_types(graph: AttributedGraph) -> list[str]:
    """Return the types that are ranked: those with nodes in a table, some of which are connected to each other."""
    ranked = graph.node_types if graph.ranked is None else graph.node_types[graph.ranked]
    found = [kind for kind in types_of(graph) if kind in set(ranked.tolist()) and is_connected(graph, kind)]
    if not found:
        raise ValueError("no two nodes of one type are connected, directly or by a node that few of them share")
    return found


def fit_types(detector: Any, graph: AttributedGraph) -> Any:
    """Fit a copy of a detector to what each type sees; return the detector with all scores."""
    models = {}
    for kind in ranked_types(graph):
        models[kind] = dataclasses.replace(detector).fit(view(graph, kind, []))
    detector.graph_ = graph
    return put_together(detector, graph, models)


def judge_types(detector: Any, graph: AttributedGraph) -> Any:
    """Return a copy of a detector whose scores are those of another graph with the same types."""
    models = {kind: each.judge(view(graph, kind, [])) for kind, each in detector.models_.items()}
    copied = copy.copy(detector)
    copied.graph_ = graph
    return put_together(copied, graph, models, keep_threshold=True)


def learn_types(detector: Any, known: Labels, graph: AttributedGraph) -> Any:
    """Return a copy of a detector in which the model of each type has learned from the labels of its nodes."""
    copied, models = copy.copy(detector), {}
    for kind, each in detector.models_.items():
        rows = np.flatnonzero(graph.node_types == kind)
        mine = np.isin(known.positions, rows)
        part = dataclasses.replace(
            known, positions=np.searchsorted(rows, known.positions[mine]), anomalous=known.anomalous[mine]
        )
        models[kind] = each.learn(part, each.graph_) if mine.any() else each
    return put_together(copied, graph, models)


def put_together(
    detector: Any, graph: AttributedGraph, models: Mapping[str, Any], *, keep_threshold: bool = False
) -> Any:
    """Give a detector the values of the models of all types; a node of a type without a model has the score 0."""
    rows = {kind: np.flatnonzero(graph.node_types == kind) for kind in models}
    detector.models_ = dict(models)
    names = (*TOGETHER, *(f"{name}_" for name in detector.node_values))
    found: dict[str, NDArray[Any]] = {}
    for name in names:
        parts = {kind: getattr(each, name) for kind, each in models.items() if hasattr(each, name)}
        if parts:
            first = np.asarray(next(iter(parts.values())))
            found[name] = np.zeros(graph.n_nodes, dtype=first.dtype)
            for kind, values in parts.items():
                found[name][rows[kind]] = values
    kinds = list(dict.fromkeys(kind for each in models.values() for kind in getattr(each, "evidence_", {})))
    if kinds:
        detector.evidence_ = {kind: np.zeros(graph.n_nodes) for kind in kinds}
        for each, model in models.items():
            for kind, values in model.evidence_.items():
                detector.evidence_[kind][rows[each]] = values
    scores = found.pop("decision_score_")
    for name, values in found.items():
        setattr(detector, name, values)
    return detector._finish(scores, keep_threshold=keep_threshold)
