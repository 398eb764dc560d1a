"""The tables of the run folder: ``scores.csv``, ``edges.csv`` and ``groups.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.detectors.table import score_table
from hopsight.explanations.edges import edge_order, edge_reasons
from hopsight.explanations.groups import Shared
from hopsight.graph import AttributedGraph
from hopsight.system.cells import guarded, guarded_frame
from hopsight.system.files import naming
from hopsight.system.forks import check_polars


def write_scores(path: Path, graph: AttributedGraph, model: Any) -> None:
    """Write one row per node, most anomalous first: node, rank, score, flagged, judged, degree, the detector's own."""
    table = score_table(model, graph)
    _write(path, table)


def write_edges(path: Path, graph: AttributedGraph, model: Any) -> None:
    """Write one row per edge, the most out of place first, with what the detector knows of it and a reason."""
    order = edge_order(model)
    source, target = model.edge_index_[:, order]
    table = {
        "source": graph.node_ids[source],
        "target": graph.node_ids[target],
        "rank": np.arange(1, order.size + 1),
        "hop": model.edge_hop_[order],
        "probability": model.edge_probability_[order],
        "variance": model.edge_variance_[order],
    }
    optional = {"surprise": "edge_surprise_", "score": "edge_score_", "flagged": "edge_label_"}
    table |= {name: getattr(model, value)[order] for name, value in optional.items() if hasattr(model, value)}
    _write(path, table | {"reason": edge_reasons(model).gather(order)})


def write_groups(path: Path, graph: AttributedGraph, model: Any) -> None:
    """Write one row per group: group, kind, members (separated by ``; ``), density, score, shared."""
    groups, shared = model.groups_, Shared(graph)
    table = {
        "group": np.arange(1, len(groups) + 1),
        "kind": [group.kind for group in groups],
        "members": [
            "; ".join(guarded(str(node)) for node in graph.node_ids[group.members].tolist()) for group in groups
        ],
        "density": [group.density for group in groups],
        "score": [group.score for group in groups],
        "shared": [shared.among(group.members) for group in groups],
    }
    _write(path, table)


def _write(path: Path, table: Mapping[str, Any]) -> None:
    import polars as pl

    check_polars()
    columns = {
        name: values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
        for name, values in table.items()
    }
    with naming(path):
        guarded_frame(pl.DataFrame(columns), but=["members"]).write_csv(path)  # each member is guarded already
