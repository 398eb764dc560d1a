"""One row per node, most anomalous first: the columns of ``scores.csv`` and of ``Detector.to_frame()``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.derive import is_derived
from hopsight.metrics import ranking, ranks
from hopsight.system.lazy_polars import pl

FLOW_KINDS = ("burst", "pass_through", "cycle", "amount")  # from amounts and times; others need neither
RELATION_KINDS = ("relations", "sharing")  # of nodes with relations to other types
KINDS = ("misfit", "ring", "outlier", "activity", "lockstep", *FLOW_KINDS, *RELATION_KINDS)  # the order of the columns
WEIGHTS = {
    "misfit": 1.0,
    "ring": 0.8,
    "outlier": 0.4,
    "activity": 0.5,
    "lockstep": 1.0,
    "burst": 1.0,
    "pass_through": 1.0,
    "cycle": 0.3,  # what goes around also passes through, and is listed as a group
    "amount": 1.0,
    "relations": 0.8,
    "sharing": 1.0,
}  # of their strengths in a score


OUTLIER_ALONE = 0.8  # attributes that come from edges say what a node did; columns of a table may mean nothing


def weights_of(model: Any) -> dict[str, float]:
    """Return the weight of each kind of evidence in the scores of a model."""
    transform = getattr(model, "transform_", None)
    return WEIGHTS if transform is None else weights_for(transform.names)


def weights_for(names: Sequence[str]) -> dict[str, float]:
    """Return the weight of each kind of evidence; without attributes from a table, outlier counts more."""
    return WEIGHTS | ({"outlier": OUTLIER_ALONE} if all(map(is_derived, names)) else {})


def weighted(
    evidence: Mapping[str, NDArray[np.float64]], chosen: Sequence[str], weights: Mapping[str, float] = WEIGHTS
) -> NDArray[np.float64]:
    """Return (n_kinds, n_nodes) strengths times their weights; 0 for flow evidence that the graph does not have."""
    lacking = np.zeros_like(next(iter(evidence.values())))
    return np.stack([weights[kind] * evidence.get(kind, lacking) for kind in chosen])


UNLABELED = "score without labels"  # its name among what a learner sees


def score_table(model: Any, graph: AttributedGraph) -> dict[str, NDArray[Any]]:
    """Return the columns node, rank, score, flagged, judged and degree, then the detector's own, in order of rank.

    Where some nodes have no row in the node table, ``known`` says which have one.

    The detector's own columns are the values per node that its class names (such as ahp), one per kind of evidence,
    ``decided_by``, ``anomaly_probability`` and ``rank_before`` after learning from labels, and ``stability`` after
    repeated fits. The last columns are the ``type`` and the ``name`` of nodes that have one.
    """
    scores = np.asarray(model.decision_score_, dtype=np.float64)
    order = shown_order(model, graph)
    judged = np.asarray(getattr(model, "judged_", np.ones(graph.n_nodes, dtype=bool)))
    table = {
        "node": graph.node_ids[order],
        "rank": ranks(scores, graph.id_places)[order],
        "score": scores[order],
        "flagged": (scores > model.threshold_)[order].astype(np.int8),
        "judged": judged[order].astype(np.int8),
        "degree": graph.degrees[order],
    }
    table |= {} if graph.known is None else {"known": graph.known[order].astype(np.int8)}
    table |= {name: np.asarray(values)[order] for name, values in own_columns(model).items()}
    if graph.node_types is not None:
        table["type"] = graph.node_types[order]
    return table if graph.node_names is None else table | {"name": graph.node_names[order]}


def shown_order(model: Any, graph: AttributedGraph) -> NDArray[np.int64]:
    """Return node positions from the most to the least anomalous, of the nodes that the run is asked to rank."""
    order = ranking(np.asarray(model.decision_score_, dtype=np.float64), graph.id_places)
    return order[model.only_[order]] if hasattr(model, "only_") else order


def own_columns(model: Any) -> dict[str, NDArray[Any]]:
    """Return the values per node that only this detector has, by the name of their column."""
    names = getattr(type(model), "node_values", {})
    found = {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    found |= evidence_of(model)
    decided = decided_by(model)
    if decided is not None:
        learned = getattr(model, "learned_", None)
        by_evidence = learned is None or bool(learned.kept[0])
        found["decided_by"] = decided if by_evidence else np.full(decided.shape, "labels")
    if hasattr(model, "probability_"):
        found["anomaly_probability"] = model.probability_
    if hasattr(model, "rank_before_"):
        found["rank_before"] = model.rank_before_
    if hasattr(model, "stability_"):
        found["stability"] = model.stability_
    return found


def evidence_of(model: Any) -> dict[str, NDArray[np.float64]]:
    """Return the evidence of each kind, always in the same order; empty for a detector without any."""
    evidence = getattr(model, "evidence_", {})
    return {kind: evidence[kind] for kind in KINDS if kind in evidence}


def decided_by(model: Any) -> NDArray[np.str_] | None:
    """Return the kind of evidence that each score comes from; None where scores do not come from evidence."""
    if not hasattr(model, "decided_by_") or getattr(model, "score", "evidence") != "evidence":
        return None
    return np.asarray(model.evidence, dtype=np.str_)[np.asarray(model.decided_by_, dtype=np.int64)]


def to_frame(model: Any, graph: AttributedGraph) -> pl.DataFrame:
    """Return the table as a polars DataFrame."""
    columns = score_table(model, graph)
    return pl.DataFrame(
        {name: values.tolist() if values.dtype == object else values for name, values in columns.items()}
    )
