"""Learn the attribute transformation of the local engine from sums over the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.preprocess import AttributeTransform, principal_axes
from hopsight.preprocess.transform import SCALINGS, column_quantiles
from hopsight.spark.blocks import arrow_schema, one_row, reduce_arrays

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FloatArray = NDArray[np.float64]

SAMPLED_VALUES = 1 << 23  # nonzero numbers that the driver collects for ranks and principal axes
SAMPLE = {"row": np.int64, "length": np.int64, "columns": np.int32, "values": np.float64}


def fit_transform(
    nodes: DataFrame, names: Sequence[str], *, scaling: str, n_components: int | None, rng: np.random.Generator
) -> tuple[AttributeTransform, int]:
    """Return the transformation of :meth:`AttributeTransform.fit` for a column ``features``, and the number of nodes.

    Means and deviations are sums over partitions. Ranks and principal axes come from a sample: the rows with the
    smallest hashes, which hold 2²³ nonzero numbers. In a graph that fits on one machine these are all rows.
    """
    check_choice("scaling", scaling, SCALINGS)
    n_columns = len(names)
    n_nodes, lowest, n_filled, peak = _extent(nodes)
    if not np.isfinite(peak).all():
        odd = names[int(np.argmin(np.isfinite(peak)))]
        raise ValueError(f"attribute {odd!r}: a cell is not a finite number, unlike those before; correct or ignore it")
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
    sample = _sample(nodes, n_filled, n_columns) if sample is None else sample
    prepared, center, scale = plain.prepared(sample)
    if scaling != "standard":
        center = np.asarray(prepared.mean(axis=0), dtype=np.float64).ravel()
    axes = principal_axes(prepared, center, scale, n_components, rng=rng)
    return replace(plain, axes=axes, origin=(axes / scale) @ center), n_nodes


def id_type(nodes: DataFrame) -> str:
    """Return the type of the ids, which are whole numbers or text."""
    return {"bigint": "long"}.get(dict(nodes.dtypes)["id"], "string")


def matrix_of(batch: pa.RecordBatch, name: str = "features") -> FloatArray:
    """Return the matrix whose rows are the equally long lists of a column."""
    return batch.column(name).flatten().to_numpy(zero_copy_only=False).reshape(batch.num_rows, -1)


def lists_of(matrix: FloatArray) -> pa.Array:
    """Return the rows of a matrix as a column of lists."""
    flat = pa.array(np.asarray(matrix, dtype=np.float64).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, matrix.shape[1]).cast(pa.list_(pa.float64()))


def reduce_batches(
    frame: DataFrame, function: Callable[[pa.RecordBatch], FloatArray], combine: Callable[[Any, Any], Any]
) -> FloatArray:
    """Compute one array of numbers per batch, and combine them first in each partition and then on the driver."""
    return reduce_arrays(frame, lambda batch: [function(batch)] if batch.num_rows else [], combine)


def _extent(nodes: DataFrame) -> tuple[int, float, float, FloatArray]:
    """Return the number of rows, the lowest value, the number of nonzero values, and each column's magnitude."""

    def of(batch: pa.RecordBatch) -> FloatArray:
        values = matrix_of(batch)
        head = [float(batch.num_rows), float(values.min(initial=0.0)), float(np.count_nonzero(values))]
        return np.concatenate([head, abs(values).max(axis=0)])

    def combine(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.concatenate([[a[0] + b[0], min(a[1], b[1]), a[2] + b[2]], np.maximum(a[3:], b[3:])])

    found = reduce_batches(nodes.select("features"), of, combine)
    return int(found[0]), float(found[1]), float(found[2]), np.where(found[3:] < 1e-300, 1.0, found[3:])


def _moments(nodes: DataFrame, peak: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and standard deviation of each column, as ``preprocess.transform.column_moments``."""
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


def _sample(nodes: DataFrame, n_filled: float, n_columns: int) -> Any:
    """Collect a bounded sample of the rows on the driver, as a sparse matrix in the order of the table."""
    limit = np.uint64(min(1.0, SAMPLED_VALUES / max(n_filled, 1.0)) * (2**63 - 1024))
    schema = ", ".join(f"{name} binary" for name in SAMPLE)

    def chosen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keep = (batch.column("hash").to_numpy().view(np.uint64) >> np.uint64(1)) <= limit
            rows = sp.csr_array(matrix_of(batch)[keep].astype(np.float64, copy=False))
            parts = (batch.column("row").to_numpy()[keep], np.diff(rows.indptr), rows.indices, rows.data)
            cast = (part.astype(kind) for part, kind in zip(parts, SAMPLE.values(), strict=True))
            yield one_row(dict(zip(SAMPLE, cast, strict=True)), arrow_schema(schema))

    found = nodes.select("row", "hash", "features").mapInArrow(chosen, schema).collect()
    row, length, columns, values = (
        np.concatenate([np.frombuffer(part[name], dtype=kind) for part in found]) for name, kind in SAMPLE.items()
    )
    start = np.concatenate([[0], np.cumsum(length)])
    return sp.csr_array((values, columns, start), shape=(row.size, n_columns))[np.argsort(row)]
