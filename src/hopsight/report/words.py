"""A run in plain words, and the small tables that say how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from hopsight.explain import Explanation
from hopsight.explain.text import number
from hopsight.graph import AttributedGraph

TABLES = {
    "parameters": "Parameters",
    "graph": "Network",
    "seconds": "Seconds",
    "versions": "Versions",
    "machine": "Machine",
}


def summary(
    model: Any, graph: AttributedGraph, explanations: Sequence[Explanation], run: Mapping[str, Any]
) -> list[str]:
    """Say what was found, one short paragraph a thought."""
    scores = np.asarray(model.decision_score_)
    flagged = int((scores > model.threshold_).sum())
    sentences = [
        f"{type(model).__name__} looked at {graph.n_nodes:,} nodes and {graph.n_edges:,} edges and flags "
        f"{flagged:,} {'node' if flagged == 1 else 'nodes'} ({100 * flagged / graph.n_nodes:.2g} %), "
        f"those with a score above {number(float(model.threshold_))}."
    ]
    if explanations:
        first = explanations[0]
        rest = first.summary.partition("). ")[2]
        sentences.append(f"The most anomalous is {first.node}. {rest}".strip())
    if hasattr(model, "edge_hop_") and graph.n_edges:
        sentences.append(_farthest_edge(model, graph))
    if hasattr(model, "judged_") and not np.all(model.judged_):
        count = int(np.sum(~np.asarray(model.judged_, dtype=bool)))
        who = "1 node has no edges and was" if count == 1 else f"{count:,} nodes have no edges and were"
        sentences.append(f"{who} not judged: the score there is the median of the others.")
    labels = run.get("labels")
    if labels:
        sentences.append(
            f"The network came with labels, which the detector never saw: of its {labels['n_anomalies']:,} anomalies "
            f"{labels['n_found']:,} are among the first {labels['n_anomalies']:,} (ROC-AUC {labels['roc_auc']:.3f})."
        )
    return sentences


def details(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return titled tables of what was recorded; file names only, since a report is passed on to others."""
    request = run.get("request") or {}
    about = {
        "started": run.get("started"),
        "source": _file_name((request.get("source") or {}).get("path")),
        "detector": run.get("detector"),
        "preset": request.get("preset"),
        "seed": run.get("seed"),
        "peak memory": _memory(run.get("peak_memory_bytes")),
    }
    tables = {"Run": about} | {title: run.get(key) or {} for key, title in TABLES.items()}
    return [
        {"title": title, "rows": [[str(key), _shown(value)] for key, value in rows.items() if value is not None]}
        for title, rows in tables.items()
        if any(value is not None for value in rows.values())
    ]


def _farthest_edge(model: Any, graph: AttributedGraph) -> str:
    edge = int(np.lexsort((model.edge_probability_, -model.edge_hop_))[0])
    source, target = graph.node_ids[graph.edges[:, edge]]
    chance = float(model.edge_probability_[edge])
    probability = "below 0.001" if chance < 0.001 else f"{chance:.2g}"
    return (
        f"The edge most out of place is {source} – {target}: its ends look {model.edge_hop_[edge]:.1f} hops apart, "
        f"and the probability that they are really 1 hop apart is {probability}."
    )


def _file_name(path: str | None) -> str | None:
    return None if path is None else PurePath(path.replace("\\", "/")).name


def _memory(n_bytes: int | None) -> str | None:
    return None if n_bytes is None else f"{n_bytes / 2**20:,.0f} MiB"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
