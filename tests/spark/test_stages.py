"""Stages with a form of their own on Spark, and the session."""

import logging
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hopsight.detectors.predict import threshold
from hopsight.detectors.tails import flag_limit
from hopsight.hcm.evidence import KINDS, EdgeBaseline, EdgeFeatures
from hopsight.hcm.groups import find_groups
from hopsight.spark import blocks, results, session
from hopsight.spark import model as on_cluster
from hopsight.spark.blocks import BACK, BLOCK, NO_FOLD, Layout, OrderedColumn, sum_over_cells
from hopsight.spark.evidence import triangle_blocks
from hopsight.spark.model import JUDGED, VALUES
from hopsight.spark.session import ending_quietly
from toys import refuses


def packed(layout: Layout, ends: np.ndarray, *columns: np.ndarray) -> list[tuple[Any, ...]]:
    """Return edges between nodes, numbered over all blocks, as cells: both positions, and the columns as bytes."""
    block = np.searchsorted(layout.offsets[1:], ends, side="right")
    position = (ends - layout.offsets[block]).astype(np.int32)
    swap = block[0] > block[1]
    block, position = (np.where(swap, part[::-1], part) for part in (block, position))
    rows = []
    for cell, pair in enumerate(layout.pairs):
        mine = (block == np.array(pair)[:, None]).all(axis=0)
        rows.append((cell, 0, *(part[mine].tobytes() for part in position), *(c[..., mine].tobytes() for c in columns)))
    return rows


def test_order_statistics_agree_with_numpy_and_flags_with_the_local_rule(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hopsight.spark.blocks.SHORT", 0)  # as in a large graph
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=(3, 600))
    scores[0, :50] += 9.0  # some stand out, none does, many are tied
    scores[2, :300] = 0.0
    columns = {f"s{number}": values for number, values in enumerate(scores)}
    ordered = blocks.ordered_columns(spark.createDataFrame(pa.table(columns)).repartition(3), list(columns))
    orders = [OrderedColumn(ordered, 600, number) for number in range(3)]
    assert [flag_limit(order, 0.1) for order in orders] == [threshold(values, "auto", 0.1) for values in scores]
    found = blocks.quantiles(ordered, [0.25, 0.9], 600)
    np.testing.assert_allclose(found, [np.quantile(scores[0], 0.25), np.quantile(scores[1], 0.9)], rtol=1e-14)


@pytest.mark.parametrize(("sizes", "directed"), [((600,), True), ((350, 250), False)])
def test_the_search_counts_the_nodes_of_a_circle(spark: Any, sizes: tuple[int, ...], directed: bool) -> None:
    layout, ids = Layout(sizes, 2), np.arange(600)
    block = np.searchsorted(layout.offsets[1:], ids, side="right")
    ends = np.stack([ids, (ids + 1) % 600])
    last = np.arange(600) == 599  # this arc leads back
    way = np.where(last, BACK, 0).astype(np.uint8) if directed else np.empty((0, 600), dtype=np.uint8)
    cells = packed(layout, np.sort(ends, axis=0), way)
    x = [(NO_FOLD, b, 0, "hash", ids[block == b].astype(np.uint64).tobytes()) for b in range(len(sizes))]
    frames = spark.createDataFrame(x, BLOCK), spark.createDataFrame(cells, on_cluster.KEPT)
    sources = on_cluster.Sources(block, ids - layout.offsets[block], ids.astype(np.uint64))  # more than a portion has
    reached = on_cluster.search_hops(*frames, layout, sources, 3)
    counts = on_cluster._class_counts(reached, layout, sources, 4)
    assert counts.tolist() == [[1, 1, 1, 596] if directed else [2, 2, 2, 593]] * 600


def test_triangles_and_groups_are_those_of_the_local_engine(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, layout, n_nodes = np.random.default_rng(0), Layout((30, 30), 2), 60
    ends = np.stack(np.triu_indices(n_nodes, 1))
    clique = (ends[1] < 6) | ((ends[0] >= 50) & (ends[1] < 57))
    chosen = clique | (rng.random(clique.size) < 0.1)
    ends, clique = ends[:, chosen], clique[chosen]
    values = rng.random((len(VALUES), clique.size))
    values[VALUES.index("surprise"), clique] += 1
    values[VALUES.index("dissimilarity"), clique] -= 1
    edges = EdgeFeatures(*(values[VALUES.index(name)] for name in ("hop", "surprise", "dissimilarity")))
    baseline, empty = EdgeBaseline.fit(edges), np.empty((0, clique.size), dtype=np.uint8)
    judged = spark.createDataFrame(packed(layout, ends, empty, empty, values), JUDGED)
    degrees = np.bincount(ends.ravel(), minlength=n_nodes).astype(np.int32)
    parts = [(NO_FOLD, block, 0, "degree", part.tobytes()) for block, part in enumerate(np.split(degrees, 2))]
    partial = triangle_blocks(judged, spark.createDataFrame(parts, BLOCK), layout, baseline)
    found = sorted(sum_over_cells(partial, layout).collect(), key=lambda row: row["block"])
    sums = np.concatenate([np.frombuffer(row["payload"]).reshape(-1, 2) for row in found])
    np.testing.assert_allclose(sums.T, baseline.triangles(ends, edges, n_nodes))

    evidence = {"ring": rng.random(n_nodes), "lockstep": rng.random(n_nodes)}
    evidence["ring"][[*range(6), 30]] += 5  # the last belongs to no group
    evidence["lockstep"][50:57] += 5
    sides = {"ring": baseline.strangeness(edges), "lockstep": baseline.alikeness(edges)}
    wanted = [g for kind, v in evidence.items() for g in find_groups(kind, ends, sides[kind], v, v > 2.0)]
    order = rng.permutation(n_nodes)  # of the nodes on the cluster, in the table
    scores = spark.createDataFrame(pa.table({"number": order, **evidence}))
    nodes = spark.createDataFrame(
        pa.table({"number": order, "id": [f"n{i}" for i in range(n_nodes)], "row": np.arange(n_nodes)})
    )
    one, other = order[ends]
    columns = {"one": one, "other": other, "hop": edges.hop, "surprise": edges.surprise}
    rows = spark.createDataFrame(pa.table({**columns, "dissimilarity": edges.dissimilarity}))
    notices: list[str] = []

    def groups(limit: float = 2.0) -> list[Any]:
        return results.collect_groups(scores, rows, nodes, baseline, np.full(len(KINDS), limit), notices)

    assert [group.kind for group in wanted] == ["ring", "lockstep"]
    for group, local in zip(groups(), wanted, strict=True):
        assert group.members.tolist() == [f"n{node}" for node in local.members]
        assert (group.kind, group.density, group.score) == (local.kind, local.density, local.score)
    assert groups(100.0) == [] and notices == []
    for name, what in (("MOST_SUSPECTS", "nodes may belong"), ("MOST_EDGES", "edges connect")):
        with monkeypatch.context() as patch:
            patch.setattr(results, name, 5)
            assert groups() == []
        assert f"more than 5 {what}" in notices.pop()


def test_without_pyspark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None if name == "pyspark" else name)
    refuses(r"the Spark engine needs pyspark: pip install 'hopsight\[spark\]'", session.open_session)


def test_without_java_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: name)
    monkeypatch.setattr(session.shutil, "which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    refuses("the Spark engine needs Java 17", session.check_requirements)


def test_settings_of_the_user_are_restored(spark: Any) -> None:
    given = {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "7"}
    with session.run_settings(spark):  # restores those of the other tests
        for name, value in given.items():
            spark.conf.set(name, value)
        with session.run_settings(spark):
            assert [spark.conf.get(name) for name in given] == ["false", "2"]
        assert [spark.conf.get(name) for name in given] == ["true", "7"]
    assert [spark.conf.get(name) for name in given] == ["false", "2"] and session.open_session() is spark


def test_an_interrupt_is_the_last_word_whatever_fails_after_it(capfd: pytest.CaptureFixture[str]) -> None:
    def clean_up_after_an_interrupt() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            logging.error("KeyboardInterrupt while sending command.")  # as py4j does
            raise OSError("Java is gone")

    with pytest.raises(KeyboardInterrupt), ending_quietly():
        clean_up_after_an_interrupt()
    with pytest.raises(OSError, match="disk"), ending_quietly():
        raise OSError("disk full")
    assert capfd.readouterr().err == ""
