"""The tables of the run folder: ``scores.csv`` and ``edges.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

RISKY = ("=", "+", "-", "@", "\t", "\r", "'")
NODE_COLUMNS = ("ahp", "iv", "hav")


def guarded(cell: str) -> str:
    """Return a text cell that no spreadsheet takes for a formula: a risky first character gets a ``'`` before it.

    A text that already begins with ``'`` gets one more, so that :func:`unguarded` always finds the original.

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


def ranking(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return node positions from the most to the least anomalous; equal scores keep the order of the network.

    >>> ranking(np.array([0.1, 0.9, 0.9])).tolist()
    [1, 2, 0]
    """
    return np.argsort(-scores, kind="stable")


def edge_ranking(hop: NDArray[np.float64], probability: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return edge positions from the farthest-looking to the nearest; equal hops by the chance of really being one.

    >>> edge_ranking(np.array([1.0, 3.0, 3.0]), np.array([0.9, 0.2, 0.1])).tolist()
    [2, 1, 0]
    """
    return np.lexsort((probability, -hop))


def write_scores(
    path: Path,
    graph: AttributedGraph,
    scores: NDArray[np.float64],
    threshold: float,
    *,
    judged: NDArray[np.bool_] | None = None,
    columns: Mapping[str, NDArray[Any]] | None = None,
) -> None:
    """Write one row a node, most anomalous first: node, rank, score, flagged, judged, degree, then ``columns``."""
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
    """Write one row an edge, farthest-looking first: source, target, rank, hop, probability, variance."""
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
    """Return the detector's own columns, those of the HCM family: ahp, iv, hav."""
    return {name: getattr(model, f"{name}_") for name in NODE_COLUMNS if hasattr(model, f"{name}_")}


def _cells(ids: NDArray[Any]) -> Any:
    """Return ids as cells: integers as they are, text guarded."""
    return ids if ids.dtype.kind == "i" else [guarded(node) for node in ids.tolist()]


def _write(path: Path, table: Mapping[str, Any]) -> None:
    import polars as pl

    pl.DataFrame(dict(table)).write_csv(path)
