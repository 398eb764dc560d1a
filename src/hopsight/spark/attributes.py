"""Learn the attribute transformation of the local engine from sums over the cluster, and apply it row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.preprocess import AttributeTransform, principal_axes
from hopsight.preprocess.scale import SCALINGS, column_quantiles
from hopsight.spark.blocks import arrow_schema, one_row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FloatArray = NDArray[np.float64]

SMALL = 512  # columns up to which the covariance matrix is added up over the cluster
SAMPLED_VALUES = 1 << 23  # nonzero numbers that the driver collects for ranks and for many principal axes


def fit_transform(
    nodes: DataFrame, names: Sequence[str], *, scaling: str, n_components: int | None, rng: np.random.Generator
) -> tuple[AttributeTransform, int]:
    """Return the transformation of :meth:`AttributeTransform.fit` for a column ``features``, and the number of nodes.

    Means, deviations and covariances are sums over partitions. Ranks, and principal axes of more than 512 columns,
    come from a sample: the rows with the smallest hashes, which hold 2²³ nonzero numbers. In a graph that fits on one
    machine these are all rows.
    """
    check_choice("scaling", scaling, SCALINGS)
    n_columns = len(names)
    n_nodes, lowest, n_filled, peak = _extent(nodes)
    if scaling == "auto":
        scaling = "none" if lowest >= 0 and n_filled <= 0.1 * n_nodes * n_columns else "mixed"
    plain = AttributeTransform(list(names), scaling, np.zeros(n_columns), np.ones(n_columns))
    sample = None
    if scaling in ("rank", "mixed"):
        sample = _sample(nodes, n_filled, n_columns)
        plain = replace(plain, quantiles=column_quantiles(sample))
    if scaling in ("standard", "clipped", "mixed"):
        center, scale = _moments(nodes, peak)
        plain = replace(plain, center=center, scale=scale)
    if n_components is None or n_components >= plain.n_outputs:
        return plain, n_nodes
    if plain.n_outputs <= SMALL:
        return _with_axes(plain, *_covariance(nodes, plain), n_nodes, min(n_components, n_nodes)), n_nodes
    sample = _sample(nodes, n_filled, n_columns) if sample is None else sample
    prepared, center, scale = plain.prepared(sample)
    if scaling != "standard":
        center = np.asarray(prepared.mean(axis=0), dtype=np.float64).ravel()
    axes = principal_axes(prepared, center, scale, n_components, rng=rng)
    return replace(plain, axes=axes, origin=(axes / scale) @ center), n_nodes


def transformed(features: FloatArray, transform: AttributeTransform) -> FloatArray:
    """Return attributes as the model sees them, before they are scaled to their unit."""
    return np.asarray(transform.apply(features, transform.names), dtype=np.float64)


def matrix_of(batch: pa.RecordBatch, name: str = "features") -> FloatArray:
    """Return the matrix whose rows are the equally long lists of a column."""
    column = batch.column(name)
    flat = column.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(batch.num_rows, -1)


def reduce_batches(
    frame: DataFrame, function: Callable[[pa.RecordBatch], FloatArray], combine: Callable[[Any, Any], Any]
) -> FloatArray:
    """Compute one array of numbers per batch, and combine them first in each partition and then on the driver."""

    def partial(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrays = [function(batch) for batch in batches if batch.num_rows]
        if arrays:
            yield pa.RecordBatch.from_pydict({"payload": [reduce(combine, arrays).tobytes()]})

    rows = frame.mapInArrow(partial, "payload binary").collect()
    return reduce(combine, [np.frombuffer(row["payload"]) for row in rows])


def _extent(nodes: DataFrame) -> tuple[int, float, float, FloatArray]:
    """Return the number of rows, the lowest value, the number of nonzero values, and each column's magnitude."""

    def of(batch: pa.RecordBatch) -> FloatArray:
        values = matrix_of(batch)
        head = [float(batch.num_rows), float(values.min(initial=0.0)), float(np.count_nonzero(values))]
        return np.concatenate([head, abs(values).max(axis=0)])

    def combine(a: FloatArray, b: FloatArray) -> FloatArray:
        head = [a[0] + b[0], min(a[1], b[1]), a[2] + b[2]]
        return np.concatenate([head, np.maximum(a[3:], b[3:])])

    found = reduce_batches(nodes.select("features"), of, combine)
    peak = found[3:].copy()
    peak[peak < 1e-300] = 1.0
    return int(found[0]), float(found[1]), float(found[2]), peak


def _moments(nodes: DataFrame, peak: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and standard deviation of each column, as :func:`hopsight.preprocess.scale.column_moments`."""
    width = peak.size

    def of(batch: pa.RecordBatch) -> FloatArray:
        scaled = matrix_of(batch) / peak
        mean = scaled.mean(axis=0)
        return np.concatenate([[float(batch.num_rows)], mean, ((scaled - mean) ** 2).sum(axis=0)])

    def combine(a: FloatArray, b: FloatArray) -> FloatArray:
        count = a[0] + b[0]
        shift = b[1 : 1 + width] - a[1 : 1 + width]
        mean = a[1 : 1 + width] + shift * b[0] / count
        return np.concatenate([[count], mean, a[1 + width :] + b[1 + width :] + shift**2 * a[0] * b[0] / count])

    found = reduce_batches(nodes.select("features"), of, combine)
    mean, deviation = found[1 : 1 + width], np.sqrt(found[1 + width :] / found[0])
    return mean * peak, peak * np.where(deviation < 1e-10, 1.0, deviation)


def _covariance(nodes: DataFrame, plain: AttributeTransform) -> tuple[FloatArray, FloatArray]:
    """Return the sum of the prepared rows, and that of their outer products."""
    width = plain.n_outputs

    def of(batch: pa.RecordBatch) -> FloatArray:
        prepared, center, scale = plain.prepared(matrix_of(batch))
        rows = (prepared - center) / scale
        return np.concatenate([rows.sum(axis=0), (rows.T @ rows).ravel()])

    found = reduce_batches(nodes.select("features"), of, np.add)
    return found[:width], found[width:].reshape(width, width)


def _with_axes(
    plain: AttributeTransform, total: FloatArray, products: FloatArray, n_nodes: int, n_components: int
) -> AttributeTransform:
    mean = total / n_nodes  # zero if the rows are already centered
    _, vectors = np.linalg.eigh(products - n_nodes * np.outer(mean, mean))
    axes = vectors[:, ::-1][:, :n_components].T
    largest = axes[np.arange(len(axes)), abs(axes).argmax(axis=1)]
    axes = axes * np.where(largest < 0, -1.0, 1.0)[:, None]
    if plain.scaling == "standard":
        return replace(plain, axes=axes, origin=(axes / plain.scale) @ plain.center)
    return replace(plain, axes=axes, origin=axes @ mean)


def _sample(nodes: DataFrame, n_filled: float, n_columns: int) -> Any:
    """Collect a bounded sample of the rows on the driver, as a sparse matrix in the order of the table."""
    limit = np.uint64(min(1.0, SAMPLED_VALUES / max(n_filled, 1.0)) * (2**63 - 1024))
    schema = "row binary, start binary, columns binary, payload binary"
    names = arrow_schema(schema)
    kinds = (np.int64, np.int64, np.int32, np.float64)

    def chosen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keep = (batch.column("hash").to_numpy().view(np.uint64) >> np.uint64(1)) <= limit
            rows = sp.csr_array(matrix_of(batch)[keep].astype(np.float64, copy=False))
            parts = (batch.column("row").to_numpy()[keep], np.diff(rows.indptr), rows.indices, rows.data)
            payloads = (np.ascontiguousarray(part, dtype=kind) for part, kind in zip(parts, kinds, strict=True))
            yield one_row(dict(zip(names.names, payloads, strict=True)), names)

    found = nodes.select("row", "hash", "features").mapInArrow(chosen, schema).collect()
    row, length, columns, values = (
        np.concatenate([np.frombuffer(part[name], dtype=kind) for part in found])
        for name, kind in zip(names.names, kinds, strict=True)
    )
    start = np.concatenate([[0], np.cumsum(length)])
    return sp.csr_array((values, columns, start), shape=(row.size, n_columns))[np.argsort(row)]
