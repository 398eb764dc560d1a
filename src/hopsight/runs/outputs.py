"""The tables of the run folder: ``scores.csv`` and ``edges.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.explanations.edges import edge_ranking
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking

RISKY = ("=", "+", "-", "@", "\t", "\r", "'")


def guarded(cell: str) -> str:
    """Return a text cell that no spreadsheet takes for a formula, with a ``'`` before a risky first character.

    A text that already begins with ``'`` gets another, so that :func:`unguarded` always restores the original.

    >>> guarded("=1+1"), guarded("Ada"), guarded("'tis")
    ("'=1+1", 'Ada', "''tis")
    """
    return f"'{cell}" if cell.startswith(RISKY) else cell


def unguarded(cell: str) -> str:
    """Return the text that :func:`guarded` was given.

    >>> unguarded("'=1+1"), unguarded("Ada"), unguarded("''tis")
    ('=1+1', 'Ada', "'tis")
    """
    return cell[1:] if cell.startswith("'") else cell


def write_scores(
    path: Path,
    graph: AttributedGraph,
    scores: NDArray[np.float64],
    threshold: float,
    *,
    judged: NDArray[np.bool_] | None = None,
    columns: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write one row per node, most anomalous first: node, rank, score, flagged, judged, degree, then ``columns``."""
    order = ranking(scores)
    known = np.ones(graph.n_nodes, dtype=bool) if judged is None else judged
    table = {
        "node": _cells(graph.node_ids[order]),
        "rank": np.arange(1, graph.n_nodes + 1),
        "score": scores[order],
        "flagged": (scores > threshold)[order].astype(np.int8),
        "judged": known[order].astype(np.int8),
        "degree": graph.degrees[order],
    }
    _write(path, table | {name: np.asarray(values)[order] for name, values in (columns or {}).items()})


def write_edges(path: Path, graph: AttributedGraph, model: Any) -> None:
    """Write one row per edge, farthest first: source, target, rank, hop, probability, variance."""
    order = edge_ranking(model.edge_hop_, model.edge_probability_)
    source, target = model.edge_index_[:, order]
    table = {
        "source": _cells(graph.node_ids[source]),
        "target": _cells(graph.node_ids[target]),
        "rank": np.arange(1, order.size + 1),
        "hop": model.edge_hop_[order],
        "probability": model.edge_probability_[order],
        "variance": model.edge_variance_[order],
    }
    _write(path, table)


def node_columns(model: Any) -> dict[str, NDArray[Any]]:
    """Return the detector's own columns: the values per node that its class names, such as ahp."""
    names = getattr(type(model), "node_values", {})
    return {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}


def _cells(ids: NDArray[Any]) -> Any:
    """Return ids as cells: integers unchanged, text guarded."""
    return ids if ids.dtype.kind == "i" else [guarded(node) for node in ids.tolist()]


def _write(path: Path, table: Mapping[str, Any]) -> None:
    import polars as pl

    pl.DataFrame(dict(table)).write_csv(path)
