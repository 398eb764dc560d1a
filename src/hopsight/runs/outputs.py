"""The tables of the run folder: ``scores.csv``, ``edges.csv`` (both Parquet if they are long) and ``groups.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.table import score_table
from hopsight.explanations.edges import Alike, edge_order, edge_reasons
from hopsight.explanations.groups import Shared
from hopsight.graph import AttributedGraph
from hopsight.runs.tables import write_rows, write_table
from hopsight.system.cells import guarded
from hopsight.system.lazy_polars import pl


def write_scores(path: Path, graph: AttributedGraph, model: Any, *, csv: bool = True) -> Path:
    """Write one row per node, most anomalous first: node, rank, score, flagged, judged, degree, the detector's own.

    Without ``csv``, more than a million rows are written as Parquet, as :func:`write_table` says.
    """
    return write_table(path, _frame(score_table(model, graph)), csv=csv)


def write_edges(path: Path, graph: AttributedGraph, model: Any, *, csv: bool = True) -> Path:
    """Write one row per edge, the most out of place first, with what the detector knows of it and a reason."""
    order, alike = edge_order(model), Alike.of(model)
    names = _series(graph.node_ids)  # text is repeated by polars, not as Python objects
    known = {"hop": "edge_hop_", "probability": "edge_probability_", "variance": "edge_variance_"}
    optional = {"surprise": "edge_surprise_", "score": "edge_score_", "flagged": "edge_label_"}
    known |= {name: value for name, value in optional.items() if hasattr(model, value)}

    def rows(places: slice) -> pl.DataFrame:
        edges = order[places]
        source, target = model.edge_index_[:, edges]
        table = {
            "source": names.gather(source),
            "target": names.gather(target),
            "rank": np.arange(places.start + 1, places.stop + 1),
        }
        table |= {name: _double(getattr(model, value)[edges]) for name, value in known.items()}
        return _frame(table | {"reason": edge_reasons(model, edges, alike)})

    return write_rows(path, order.size, rows, csv=csv)


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
    write_table(path, _frame(table), but=["members"])  # each member is guarded already


def _double(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float64) if values.dtype == np.float32 else values


def _frame(table: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({name: _series(values) for name, values in table.items()})


def _series(values: Any) -> pl.Series:
    """Return values as a column; polars takes Python objects from a list only."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    return values if isinstance(values, pl.Series) else pl.Series(values)
