"""Pairs: the edges that are kept and the pool are those of the local engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.spark import pairs as stages
from hopsight.spark.blocks import BLOCK, NO_FOLD, Layout
from hopsight.spark.cells import BACK
from hopsight.spark.drops import DropLimit
from spark_stages import FirstStages, cluster_numbers


def test_the_pool_is_that_of_the_local_engine(
    first_stages: FirstStages, graph: AttributedGraph, reference: CrossHCM
) -> None:
    from hopsight.hcm.splits import edge_hashes, pool_seed
    from hopsight.hcm.views import inputs_of

    attributes = inputs_of(graph, reference.transform_, reference.magnitude_)
    seed = pool_seed(reference.seed)
    index = reference.splits.of(edge_hashes(graph))
    wanted = reference._hop_pairs(graph, attributes, index, np.random.default_rng(0))
    parts = (
        first_stages.graph,
        first_stages.x,
        first_stages.splits,
        seed,
        "euclidean",
        reference.references_,
    )
    found, compared = first_stages.engine._pairs(*parts)
    rows = compared.collect()
    np.testing.assert_allclose(found.sizes, wanted.sizes)
    assert (found.n_classes, found.n_pairs, found.n_networks) == (wanted.n_classes, wanted.n_pairs, 2)
    number = cluster_numbers(first_stages)
    for one, two in zip(found.pools, wanted.pools, strict=True):
        for pairs, same in zip(one, two, strict=True):
            ends = np.sort(pairs, axis=0), np.sort(number[same], axis=0)
            np.testing.assert_array_equal(*ends)  # in the same order, too
    unlike = reference.references_.relative_dissimilarity(attributes, graph.edges)
    by_ends = dict(zip(map(frozenset, number[graph.edges].T.tolist()), unlike, strict=True))
    first = first_stages.layout.offsets
    for row in rows:
        i, j = first_stages.layout.pairs[row["cell"]]
        u, v = (np.frombuffer(row[end], dtype=np.int32) for end in ("u", "v"))
        ends = zip((first[i] + u).tolist(), (first[j] + v).tolist(), strict=True)
        np.testing.assert_allclose(np.frombuffer(row["dissimilarity"]), [by_ends[frozenset(pair)] for pair in ends])


def test_dropped_edges_among_far_pairs_are_found(spark: Any) -> None:
    layout = Layout((3, 4), 2)
    similarity = np.array([1, 9, 1], dtype=np.uint64)
    ends = np.array([[0, 1, 2], [3, 0, 1]], dtype=np.int32)  # nodes 0-6, 1-3 and 2-4; the second edge is kept
    row = (1, 0, ends[0].tobytes(), ends[1].tobytes(), np.zeros(3).tobytes(), b"", similarity.tobytes(), b"")
    cells = spark.createDataFrame([row], stages.COMPARED)
    limit = DropLimit(np.uint64(5))
    pairs = np.array([[6, 3, 2], [0, 1, 5]])
    assert stages._dropped_among(cells, layout, limit, pairs).tolist() == [[0], [6]]
    assert stages._dropped_among(cells, layout, limit, pairs[:, :0]).shape == (2, 0)


@pytest.mark.parametrize(("sizes", "directed"), [((600,), True), ((350, 250), False), ((350, 250), True)])
def test_the_search_counts_the_nodes_of_a_circle(spark: Any, sizes: tuple[int, ...], directed: bool) -> None:
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
        back = ((mine[:, 0] + 1) % 600 != mine[:, 1]).astype(np.uint8) * BACK
        way = back.tobytes() if directed else b""
        cells.append((cell, 0, *(position[end].astype(np.int32).tobytes() for end in mine.T), way))
    hashes = ids.astype(np.uint64)
    x = [(NO_FOLD, b, 0, "hash", hashes[block == b].tobytes()) for b in range(len(sizes))]
    frames = spark.createDataFrame(x, BLOCK), spark.createDataFrame(cells, stages.KEPT_EDGES)
    state = stages.search_hops(*frames, layout, (block, position, hashes), 3)
    counts = stages._class_counts(state, layout, 600, 4)  # more sources than a portion has
    assert counts.tolist() == [[1, 1, 1, 596] if directed else [2, 2, 2, 593]] * 600
