"""Pairs: the edges that are kept and the pool are those of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.spark import pairs as stages
from hopsight.spark.blocks import BLOCK, NO_FOLD, Layout
from hopsight.spark.session import run_settings
from spark_stages import FirstStages, cluster_numbers


def test_the_pool_is_that_of_the_local_engine(
    spark: Any, first_stages: FirstStages, graph: AttributedGraph, reference: CrossHCM
) -> None:
    from hopsight.hcm.folds import pool_seed
    from hopsight.preprocess import drop_edges, edge_similarity

    attributes = reference._transformed(graph)
    similarity = edge_similarity(attributes, graph.edges, "euclidean")
    kept = drop_edges(similarity, reference.drop_ratio, rng=np.random.default_rng(0))
    seed = pool_seed(reference.seed)
    wanted = reference._pool(graph, kept, seed)
    with run_settings(spark):
        found = first_stages.engine._pairs(first_stages.graph, first_stages.x, first_stages.splits, seed, "euclidean")
    np.testing.assert_allclose(found.sizes, wanted.sizes)
    assert (found.n_classes, found.n_pairs) == (wanted.n_classes, wanted.n_pairs)
    number = cluster_numbers(first_stages)
    for one, two in zip(found.pools, wanted.pools, strict=True):
        for pairs, same in zip(one, two, strict=True):
            ends = np.sort(pairs, axis=0), np.sort(number[same], axis=0)
            np.testing.assert_array_equal(*ends)  # in the same order, too


@pytest.mark.parametrize("sizes", [(600,), (350, 250)])
def test_the_search_counts_the_nodes_of_a_circle(spark: Any, sizes: tuple[int, ...]) -> None:
    layout = Layout(sizes, 2)
    first = layout.offsets
    ids = np.arange(600)
    block = np.searchsorted(first[1:], ids, side="right")
    position = ids - first[block]
    cells = []
    for cell, (i, j) in enumerate(layout.pairs):
        ends = [(a, (a + 1) % 600) for a in range(600)]
        ends = [pair if block[pair[0]] <= block[pair[1]] else pair[::-1] for pair in ends]
        mine = np.array([pair for pair in ends if (block[pair[0]], block[pair[1]]) == (i, j)])
        cells.append((cell, 0, *(position[end].astype(np.int32).tobytes() for end in mine.T)))
    hashes = ids.astype(np.uint64)
    x = [(NO_FOLD, b, 0, "hash", hashes[block == b].tobytes()) for b in range(len(sizes))]
    frames = spark.createDataFrame(x, BLOCK), spark.createDataFrame(cells, stages.KEPT_EDGES)
    state = stages.search_hops(*frames, layout, (block, position, hashes), 3)
    counts = stages._class_counts(state, layout, 600, 4)  # more sources than a portion has
    assert counts.tolist() == [[2, 2, 2, 593]] * 600
