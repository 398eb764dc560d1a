"""What a saved model reveals, and how to save one that reveals less.

Weights, centers and scales are sums over all nodes. Two parts hold values of single nodes: quantiles of the columns
(the first and the last are the exact minimum and maximum), and the rows that distances are compared with. Scores and
what is known of each node and edge are in the order of the training graph, but the graph itself is not saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.validation import columns_of

FloatArray = NDArray[np.float64]

LEAST = 5  # nodes behind every number that a private model holds
COARSEST = 0.02  # share of nodes between two quantiles of a private model, at least
DIGITS = 3  # significant digits of a quantile
OF_THE_GRAPH = ("edge_index_", "evidence_", "stability_")


def private_state(detector: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a model needs to score other graphs, without values of single nodes and edges of its own.

    Scores are kept as coarse quantiles, for probabilities. Quantiles of columns become coarse and lose their extremes;
    the rows that distances are compared with become means of five similar nodes. Scores of others change a little.
    """
    if not type(detector).transferable:
        raise ValueError(
            f"{type(detector).__name__} can only judge the graph it was fitted on, so that a private model would be "
            "empty: save it without private=True"
        )
    scores, n_nodes = detector.decision_score_, detector.decision_score_.size
    dropped = {name for name, _, _ in columns_of(detector)}.union(OF_THE_GRAPH)
    kept = {name: value for name, value in state.items() if name not in dropped}
    transform = kept.get("transform_")
    if transform is not None and transform.quantiles is not None:
        kept["transform_"] = replace(transform, quantiles=coarse(transform.quantiles, n_nodes))
    if "references_" in kept:
        kept["references_"] = replace(kept["references_"], rows=averaged(kept["references_"].rows))
    reference = coarse(scores[:, None], n_nodes)[:, 0]
    labels = (reference > detector.threshold_).astype(np.int64)
    return kept | {"decision_score_": reference, "label_": labels, "private_": True}


def coarse(values: FloatArray, n_nodes: int) -> FloatArray:
    """Return 1001 points between few quantiles of each column, of which at least five nodes lie beyond the outermost.

    >>> coarse(np.arange(101.0)[:, None], 100)[[0, 500, 1000], 0].round(6).tolist()
    [5.0, 50.0, 95.0]
    """
    step = min(0.25, max(COARSEST, LEAST / n_nodes))
    levels = np.linspace(step, 1.0 - step, max(2, round(1.0 / step) - 1))
    found = np.quantile(values, levels, axis=0)
    magnitude = 10.0 ** np.floor(np.log10(np.maximum(np.abs(found), 1e-300)))
    rounded = np.round(found / magnitude, DIGITS - 1) * magnitude
    fine = np.linspace(0.0, 1.0, 1001)
    return np.column_stack([np.interp(fine, levels, column) for column in rounded.T])


def averaged(rows: FloatArray) -> FloatArray:
    """Return rows of which each is the mean of at least five similar ones; their number stays the same.

    >>> averaged(np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [90.0], [91.0], [92.0], [93.0], [94.0]])).ravel().tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0, 92.0, 92.0, 92.0, 92.0, 92.0]
    """
    found = np.array(rows, dtype=np.float64)
    left = np.arange(len(rows))
    while left.size:
        far = left[np.argmax(((rows[left] - rows[left].mean(axis=0)) ** 2).sum(axis=1))]
        near = np.argsort(((rows[left] - rows[far]) ** 2).sum(axis=1), kind="stable")
        group = left[near[: LEAST if left.size >= 2 * LEAST else left.size]]
        found[group] = rows[group].mean(axis=0)
        left = np.setdiff1d(left, group)
    return found
