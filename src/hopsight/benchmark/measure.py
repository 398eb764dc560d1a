"""Measure a ranking against the labels; no other part of the benchmark reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.metrics import (
    KIND_NAMES,
    average_precision,
    precision_at_k,
    recall_at_k,
    roc_auc,
    roc_auc_by_kind,
    roc_auc_interval,
)

CUTS = (50, 100)  # k of precision and recall at k, in addition to the number of anomalies

MEASURES = (
    "auc",
    "auc_low",
    "auc_high",
    "average_precision",
    "precision_at_n",
    *(f"{measure}_at_{k}" for k in CUTS for measure in ("precision", "recall")),
    *(f"auc_{kind}" for kind in KIND_NAMES.values()),
    "mean_anomalous",
    "mean_normal",
)


def measure(graph: AttributedGraph, scores: NDArray[np.float64]) -> dict[str, float]:
    """Return the measures of one ranking, without those that do not exist (no labels, k above the labeled nodes).

    ``precision_at_n`` is the precision at k = number of anomalies, where it equals the recall.

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    >>> found = measure(graph, np.array([0.0, 1.0, 3.0]))
    >>> found["auc"], found["precision_at_n"], found["mean_normal"]
    (1.0, 1.0, 0.5)
    """
    if not np.isfinite(scores).all() or scores.shape != (graph.n_nodes,):
        raise ValueError(f"a ranking needs one finite score for each of the {graph.n_nodes} nodes")
    if graph.labels is None or not _both_classes(graph.labels):
        return {}
    labels = graph.labels
    low, high = roc_auc_interval(labels, scores)
    n_anomalies = int((labels == 1).sum())
    found = {
        "auc": roc_auc(labels, scores),
        "auc_low": low,
        "auc_high": high,
        "average_precision": average_precision(labels, scores),
        "precision_at_n": precision_at_k(labels, scores, n_anomalies),
        "mean_anomalous": float(scores[labels == 1].mean()),
        "mean_normal": float(scores[labels == 0].mean()),
    }
    n_labeled = int((labels >= 0).sum())
    for k in CUTS:
        if k <= n_labeled:
            found[f"precision_at_{k}"] = precision_at_k(labels, scores, k)
            found[f"recall_at_{k}"] = recall_at_k(labels, scores, k)
    by_kind = roc_auc_by_kind(labels, graph.kinds, scores)
    return found | {f"auc_{kind}": value for kind, value in by_kind.items()}


def without_labels(graph: AttributedGraph) -> AttributedGraph:
    """Return the graph as a detector may see it: without labels and kinds."""
    return replace(graph, labels=None, kinds=None)


def curve_point(graph: AttributedGraph, epoch: Any) -> dict[str, float]:
    """Return the ROC-AUC of one epoch's own prediction, with its number and loss."""
    point = {"epoch": int(epoch.number), "loss": float(epoch.loss)}
    if graph.labels is not None and _both_classes(graph.labels):
        point["auc"] = roc_auc(graph.labels, epoch.scores())
    return point


def _both_classes(labels: NDArray[np.int8]) -> bool:
    return {0, 1} <= set(np.unique(labels).tolist())
