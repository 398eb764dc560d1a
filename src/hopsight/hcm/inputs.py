"""The attributes that networks learn from: transformed, dense, and in a unit that single precision can hold.

In a large graph they are kept in single precision, and in a temporary file where memory is scarce.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import HALF_PRECISION_NODES
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.scale import unit_of
from hopsight.system.scratch import release, zeros
from hopsight.system.threads import in_order

ROWS_AT_ONCE = 1 << 16

Matrix = NDArray[Any]  # float64, or float32 in a large graph


def fit_inputs(
    graph: AttributedGraph, scratch: Path | None, **options: Any
) -> tuple[AttributeTransform, Matrix, float]:
    """Learn how to transform the attributes; return that, the transformed attributes, and what they were divided by.

    ``options`` are those of :meth:`AttributeTransform.fit_apply`.
    """
    large = in_single_precision(graph)
    transform, attributes = AttributeTransform.fit_apply(
        graph.attributes,
        graph.attribute_names,
        types=graph.node_types,
        out=(lambda shape: zeros(shape, np.float32, scratch)) if large else None,
        **options,
    )
    dense: Matrix = attributes.toarray() if sp.issparse(attributes) else attributes
    magnitude = unit_of(dense)
    return transform, _divided(dense, magnitude, in_place=large), magnitude


def inputs_of(
    graph: AttributedGraph,
    transform: AttributeTransform,
    magnitude: float,
    rows: NDArray[np.int64] | None = None,
) -> Matrix:
    """Return the attributes of a graph, or of some of its rows, as a fit transformed them."""
    chosen = graph.attributes if rows is None else graph.attributes[rows]
    types = None if graph.node_types is None else graph.node_types if rows is None else graph.node_types[rows]
    large = in_single_precision(graph)
    out = (lambda shape: np.empty(shape, dtype=np.float32)) if large else None
    attributes = transform.apply(chosen, graph.attribute_names, types, out)
    return _divided(attributes.toarray() if sp.issparse(attributes) else attributes, magnitude, in_place=large)


def in_unit(attributes: Matrix, unit: float, scratch: Path | None) -> NDArray[np.float32]:
    """Return the attributes in another unit and in single precision."""
    scaled = zeros(attributes.shape, np.float32, scratch)

    def fill(start: int) -> None:
        scaled[start : start + ROWS_AT_ONCE] = attributes[start : start + ROWS_AT_ONCE] / unit

    for _ in in_order(fill, range(0, len(scaled), ROWS_AT_ONCE)):
        pass
    release(attributes)
    return scaled


def spread_of(attributes: Matrix) -> float:
    """Return the standard deviation of all numbers, added up in double precision."""
    if attributes.dtype == np.float64:
        return float(attributes.std())
    blocks = [attributes[start : start + ROWS_AT_ONCE] for start in range(0, len(attributes), ROWS_AT_ONCE)]
    n_values = max(1, attributes.size)
    mean = np.float64(sum(in_order(lambda block: float(block.sum(dtype=np.float64)), blocks)) / n_values)
    return float(np.sqrt(sum(in_order(lambda block: float(((block - mean) ** 2).sum()), blocks)) / n_values))


def in_single_precision(graph: AttributedGraph) -> bool:
    """Return whether a graph is so large that its transformed attributes are kept in single precision."""
    return graph.n_nodes > HALF_PRECISION_NODES


def _divided(attributes: Matrix, magnitude: float, *, in_place: bool) -> Matrix:
    if magnitude == 1.0:
        return attributes
    return np.divide(attributes, magnitude, out=attributes if in_place else None)
