"""Fit on the driver what is usual among nodes and edges, to the sample that the local engine takes, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.hcm.evidence import N_FOLDS, AttributeBaseline, EdgeBaseline, EdgeFeatures
from hopsight.hcm.splits import BASELINE_EDGES, BASELINE_NODES, mix, parts_of
from hopsight.preprocess.references import References
from hopsight.spark.attributes import matrix_of
from hopsight.spark.blocks import Array, Layout, each_row, gather_rows
from hopsight.spark.judging import edge_readings
from hopsight.spark.quantiles import hash_limit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class LawNodes:
    """The nodes that laws are fitted to, in the order of the hashes of their ids.

    Attributes
    ----------
    numbers
        Their numbers over all blocks.
    hashes, attributes
        The hashes of their ids, and their attributes as the model sees them.
    """

    numbers: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    attributes: NDArray[np.float64]


def choose_law_nodes(nodes: DataFrame, layout: Layout, magnitude: float) -> LawNodes:
    """Collect the nodes of :func:`hopsight.hcm.splits.baseline_nodes`."""
    limit = int(hash_limit(BASELINE_NODES, layout.n_nodes) >> np.uint64(1))
    chosen = nodes.filter(f"shiftrightunsigned(hash, 1) <= {limit}").select("block", "position", "hash", "x").toArrow()
    hashes = chosen.column("hash").to_numpy().view(np.uint64)
    order = np.argsort(hashes, kind="stable")[:BASELINE_NODES]
    numbers = layout.offsets[chosen.column("block").to_numpy()] + chosen.column("position").to_numpy()
    attributes = matrix_of(chosen.combine_chunks().to_batches()[0], "x")[order]
    return LawNodes(numbers[order], hashes[order], attributes if magnitude == 1.0 else attributes / magnitude)


def fit_attribute_laws(chosen: LawNodes, degrees: DataFrame, layout: Layout) -> AttributeBaseline:
    """Fit the laws of attributes, given the blocks ``degree``."""
    degree = gather_rows(degrees, layout, np.int32, chosen.numbers)[:, 0].astype(np.int64)
    return AttributeBaseline.fit(chosen.attributes, degree, parts_of(mix(chosen.hashes), N_FOLDS))


def choose_references(chosen: LawNodes, similarity: str) -> References:
    """Choose the references of the local engine."""
    return References.choose(chosen.attributes, np.arange(chosen.numbers.size), cosine=similarity == "cosine")


def fit_edge_laws(judged: DataFrame, n_edges: int) -> EdgeBaseline:
    """Fit the laws of edges to those of :func:`hopsight.hcm.splits.baseline_edges`."""
    limit = hash_limit(BASELINE_EDGES, n_edges)

    def choose(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        hashes = np.frombuffer(row["hash"], dtype=np.uint64)
        edges = edge_readings(row)
        readings: list[Array] = [hashes.view(np.float64), edges.hop, edges.surprise, edges.dissimilarity]
        yield {"payload": np.stack(readings)[:, hashes <= limit]}

    schema = "payload binary"
    rows = judged.mapInArrow(each_row(choose, schema), schema).collect()
    found = np.concatenate([np.frombuffer(row["payload"]).reshape(4, -1) for row in rows], axis=1)
    order = np.argsort(found[0].copy().view(np.uint64), kind="stable")[:BASELINE_EDGES]
    return EdgeBaseline.fit(EdgeFeatures(*found[1:, order]))
