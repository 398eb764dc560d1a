"""From one ranking and the truth to the figures of its row; the only place of a benchmark that reads labels."""

from __future__ import annotations

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

CUTS = (50, 100)  # k of precision and recall at k, beside k = number of anomalies

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
    """Return the figures of one ranking; what cannot be measured is left out (no labels, k above the nodes).

    ``precision_at_n`` is the precision at k = number of anomalies, where it equals the recall.

    Examples
    --------
    >>> graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3), labels=[0, 0, 1])
    >>> figures = measure(graph, np.array([0.0, 1.0, 3.0]))
    >>> figures["auc"], figures["precision_at_n"], figures["mean_normal"]
    (1.0, 1.0, 0.5)
    """
    if not np.isfinite(scores).all() or scores.shape != (graph.n_nodes,):
        raise ValueError(f"a ranking needs one finite score for each of the {graph.n_nodes} nodes")
    if graph.labels is None or not 0 < graph.labels.sum() < graph.n_nodes:
        return {}
    labels = graph.labels
    low, high = roc_auc_interval(labels, scores)
    n_anomalies = int(labels.sum())
    figures = {
        "auc": roc_auc(labels, scores),
        "auc_low": low,
        "auc_high": high,
        "average_precision": average_precision(labels, scores),
        "precision_at_n": precision_at_k(labels, scores, n_anomalies),
        "mean_anomalous": float(scores[labels == 1].mean()),
        "mean_normal": float(scores[labels == 0].mean()),
    }
    for k in CUTS:
        if k <= graph.n_nodes:
            figures[f"precision_at_{k}"] = precision_at_k(labels, scores, k)
            figures[f"recall_at_{k}"] = recall_at_k(labels, scores, k)
    by_kind = roc_auc_by_kind(labels, graph.kinds, scores)
    return figures | {f"auc_{kind}": value for kind, value in by_kind.items()}


def without_truth(graph: AttributedGraph) -> AttributedGraph:
    """Return the graph as a detector may see it: no labels, no kinds."""
    return AttributedGraph(
        graph.adjacency,
        graph.attributes,
        node_ids=graph.node_ids,
        attribute_names=graph.attribute_names,
        directed=graph.directed,
        name=graph.name,
    )


def curve_point(graph: AttributedGraph, epoch: Any) -> dict[str, float]:
    """Return the ROC-AUC of one epoch's own prediction, with its number and loss."""
    point = {"epoch": int(epoch.number), "loss": float(epoch.loss)}
    if graph.labels is not None:
        point["auc"] = roc_auc(graph.labels, epoch.scores())
    return point
