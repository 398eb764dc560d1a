"""The whole detection: two DataFrames in, scores of nodes and edges out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hopsight.detectors.base import Callback
from hopsight.detectors.predict import threshold
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.folds import pool_seed
from hopsight.hops.pool import PairPool
from hopsight.io.notices import notice
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.scale import unit_of
from hopsight.spark import graph as network
from hopsight.spark import judging, pairs, ranking, rings, training, views
from hopsight.spark.attributes import fit_transform, folded, matrix_of
from hopsight.spark.blocks import Array, Layout, done, gathered, kept
from hopsight.spark.columns import attribute_plan, encoded
from hopsight.spark.folds import Splits
from hopsight.spark.graph import Network
from hopsight.spark.measure import Measures
from hopsight.spark.ranking import score_rows
from hopsight.spark.results import Detection, edge_table, node_table
from hopsight.spark.session import settings
from hopsight.spark.tables import check_known, check_tables, check_unique, concerning
from hopsight.spark.training import Trained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LARGEST_BLOCK = 1 << 28  # numbers in a view of one block; a task holds two views of two blocks
MANY_NODES = 50_000  # from here on there are more tasks than cores
SMALLEST_BLOCK = 32

Stage = Callable[[str], AbstractContextManager[None]]


def detect(
    edges: DataFrame,
    nodes: DataFrame,
    detector: CrossHCM | None = None,
    *,
    label: str | None = None,
    ignore: Sequence[str] = (),
    source_column: str | None = None,
    target_column: str | None = None,
    id_column: str | None = None,
    missing: str = "refuse",
    typed: bool = True,
    n_blocks: int | None = None,
    folder: str | None = None,
    measures: Measures | None = None,
    callback: Callback | None = None,
    distributed: bool = False,
) -> Detection:
    """Find the nodes and edges of a network in two DataFrames that do not belong where they are.

    The result is that of :class:`CrossHCM` on one machine, up to rounding. Edges have no direction here. Nothing
    proportional to the network ever comes to the driver.

    Parameters
    ----------
    edges, nodes
        The edge list and the node table, as :func:`hopsight.load` reads them from files.
    detector
        The hyperparameters; default ``CrossHCM()``.
    label, ignore, source_column, target_column, id_column, missing
        As in :func:`hopsight.load`.
    typed
        False reads text that looks like a number as one, as in CSV files.
    n_blocks
        Blocks that the nodes are put into, which decides how finely the work is cut; None chooses.
    folder
        Where the sample to train on is written, seen by driver and executors; None is a temporary folder here.
    measures, callback
        Told of stages and of epochs.
    distributed
        Train in a process that pyspark's TorchDistributor starts, on an executor where there are any, instead of in
        this one; see :func:`hopsight.spark.distributed.train_apart`. The result is the same, and no epoch is told.
    """
    detector = replace(detector or CrossHCM())  # a copy: what is fitted belongs to this run
    detector._check()
    threshold(np.zeros(1), detector.contamination)
    spark = edges.sparkSession
    found = measures or Measures(spark)
    notices: list[str] = []
    with settings(spark), _working(folder) as work:
        with found.stage("read"):
            tables = check_tables(
                edges, nodes, source_column=source_column, target_column=target_column, id_column=id_column,
                typed=typed, notices=notices,
            )  # fmt: skip
            with concerning("nodes"):
                check_unique(tables.nodes)
                plans = attribute_plan(
                    tables.nodes, tables.columns, label=label, ignore=ignore, missing=missing, notices=notices
                )
        engine = Engine(detector, found.stage, n_blocks, work, callback, distributed)
        names = [name for plan in plans for name in plan.names]
        features = encoded(tables.nodes, plans)
        judged = engine.run(features, tables.edges, names)
        net = judged.net
        with found.stage("rank"):
            rows = kept(score_rows(judged.scores, net.layout, detector.score))
            scores = done(node_table(rows, net.nodes, judged.threshold))
            ranked = done(edge_table(judged.edges, net.layout, net.nodes, rows, net.n_edges))
            rows.unpersist()
    sizes = {
        "n_nodes": net.layout.n_nodes, "n_edges": net.n_edges, "n_attributes": len(names),
        "n_duplicates": net.n_duplicates, "n_self_loops": net.n_self_loops, "n_blocks": net.layout.n_blocks,
    }  # fmt: skip
    for count, what in (
        (net.n_duplicates, "stood there more than once and were merged"),
        (net.n_self_loops, "from a node to itself were removed"),
    ):
        if count:
            notice(f"{count:,} edges {what}", notices)
    losses = judged.trained.losses
    return Detection(scores, ranked, judged.threshold, losses, sizes, found.stages, notices, features, names)


@contextmanager
def _working(folder: str | None) -> Iterator[str]:
    """Give a folder for what only this run needs."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="hopsight-") as made:
        yield made


@dataclass(frozen=True)
class Judged:
    """Everything a run found, still on the cluster: cells of judged edges and blocks of scores."""

    net: Network
    transform: AttributeTransform
    trained: Trained
    edges: DataFrame  # cells, see judging.JUDGED
    scores: DataFrame  # blocks, see ranking.SCORES
    threshold: float
    trends: Array


@dataclass
class Engine:
    """One run of CrossHCM on a cluster; every stage is a method that reads what the ones before it made.

    Parameters
    ----------
    detector
        The hyperparameters.
    stage
        Gives the context that a named stage runs in, for progress and measurements.
    n_blocks
        Blocks of nodes; None chooses.
    folder
        Where the pool of pairs is written, a path that driver and executors share.
    callback
        Told of every epoch.
    distributed
        Whether another process trains.
    """

    detector: CrossHCM
    stage: Stage
    n_blocks: int | None
    folder: str
    callback: Callback | None = None
    distributed: bool = False

    def run(self, nodes: DataFrame, edges: DataFrame, names: list[str]) -> Judged:
        """Judge edges ``source, target`` between nodes ``id, row, features``."""
        detector = self.detector
        rngs = np.random.default_rng(detector.seed).spawn(6)
        splits = Splits(detector.seed, detector.n_folds, detector.n_repeats)
        seed = pool_seed(detector.seed)
        with self.stage("attributes"):
            hashed = kept(network.hashed(nodes))
            transform, n_nodes = fit_transform(
                hashed, names, scaling=detector.scaling, n_components=detector.n_components, rng=rngs[0]
            )
        with self.stage("index"):
            placed, layout, unit, magnitude = self._index(hashed, transform, n_nodes, seed)
            x = done(network.x_blocks(placed, layout, unit, magnitude), large=True)
        with self.stage("edges"):
            net = self._edges(edges, placed, layout)
            degrees = done(network.degree_blocks(net.cells, layout, splits))
        detector.transform_ = transform
        with self.stage("pairs"):
            pool = self._pairs(net, x, splits, seed)
        with self.stage("views"):
            shown = x.filter("kind = 'x'").unionAll(degrees)
            around = done(views.neighborhoods(shown, net.cells, layout, splits), large=True)
            seen = views.kept_views(x.filter("kind = 'x'"), layout).unionAll(around)
        with self.stage("sample"):
            path = self._sample(seen, layout, pool)
        with self.stage("train"):
            trained = self._train(edges.sparkSession, path, layout, pool, tuple(rngs[2:]))
        with self.stage("judge"):
            sent = judging.send_views(seen, layout, splits)
            judged = done(judging.judged_edges(sent, net.cells, layout, splits, detector, trained))
        with self.stage("score"):
            ring = rings.ring_blocks(judged, degrees, layout)
            means = kept(ranking.mean_blocks(judged, ring, layout, detector.deviation))
            trends, n_judged = ranking.degree_trends(means, layout)
            scores = kept(ranking.score_blocks(means, layout, trends, n_judged))
            threshold = ranking.score_threshold(scores, layout, detector.score, detector.contamination)
        for frame in (hashed, x, degrees, around, means):
            frame.unpersist()  # what is left over is the user's to keep or to drop
        return Judged(net, transform, trained, judged, scores, threshold, trends)

    def _index(
        self, hashed: DataFrame, transform: AttributeTransform, n_nodes: int, seed: np.uint64
    ) -> tuple[DataFrame, Layout, float, float]:
        """Place the nodes, and find the unit of their attributes and the magnitude it was measured in."""
        n_tasks = hashed.sparkSession.sparkContext.defaultParallelism * (1 if n_nodes < MANY_NODES else 3)
        n_blocks = self.n_blocks or self._choose_blocks(n_nodes, transform.n_outputs, n_tasks)
        placed = kept(network.placed(hashed, transform, n_blocks, seed))

        def extent(batch: pa.RecordBatch) -> Array:
            values = matrix_of(batch, "x")
            return np.array([abs(values).max(initial=0.0)])

        magnitude = unit_of(folded(placed.select("x"), extent, np.maximum))

        def moments(batch: pa.RecordBatch) -> Array:
            values = matrix_of(batch, "x") / magnitude
            return np.array([values.size, values.sum(), (values**2).sum()])

        size, total, squares = folded(placed.select("x"), moments, np.add)
        deviation = float(np.sqrt(max(squares / size - (total / size) ** 2, 0.0)))
        counts = {row["block"]: row["count"] for row in placed.groupBy("block").count().collect()}
        layout = Layout(tuple(counts.get(block, 0) for block in range(n_blocks)), n_tasks)
        return placed, layout, magnitude * (deviation or 1.0), magnitude

    def _choose_blocks(self, n_nodes: int, width: int, n_tasks: int) -> int:
        """Return the fewest blocks that fit into a task's memory and give every core something to do."""
        n_blocks = max(1, -(-n_nodes * width // LARGEST_BLOCK))
        n_folds = self.detector.n_folds * self.detector.n_repeats
        while n_folds * n_blocks * (n_blocks + 1) // 2 < n_tasks and n_nodes >= 2 * n_blocks * SMALLEST_BLOCK:
            n_blocks += 1
        return n_blocks

    def _edges(self, edges: DataFrame, placed: DataFrame, layout: Layout) -> Network:
        """Clean the edges and put them into cells."""
        ends = kept(network.edge_ends(edges, placed, layout.n_tasks))
        check_known(ends)
        cells = kept(network.packed_cells(ends, layout.n_blocks))
        counted = gathered(cells, lambda row: [(0, np.frombuffer(row["counts"], dtype=np.int64).astype(np.float64))])
        n_loops, n_duplicates, n_edges = (int(count) for count in counted[0]) if counted else (0, 0, 0)
        ends.unpersist()
        if n_edges == 0:
            raise ValueError("the network has no edge, so there is no neighbor to judge a node by")
        return Network(placed, cells, layout, n_edges, n_duplicates, n_loops)

    def _pairs(self, net: Network, x: DataFrame, splits: Splits, seed: np.uint64) -> PairPool:
        """Drop the edges that are least alike and choose the pool."""
        detector, layout = self.detector, net.layout
        likened = kept(pairs.likened(x, net.cells, layout, detector._similarity()))
        limit = pairs.drop_limit(likened, net.n_edges, detector.drop_ratio)
        sources = pairs.sources_of(net.nodes, layout.n_nodes)
        state = pairs.searched(x, pairs.staying(likened, limit), layout, sources, detector.n_classes - 1)
        settings = ("n_classes", "sampling_ratio", "max_pairs", "min_class_pairs")
        pool = pairs.pool_of(
            state, likened, layout, splits, sources, limit, seed, **{name: getattr(detector, name) for name in settings}
        )
        state.unpersist()
        likened.unpersist()
        return pool

    def _sample(self, seen: DataFrame, layout: Layout, pool: PairPool) -> str:
        """Write the views of the pool's nodes to Parquet."""
        path = f"{self.folder}/pool"
        training.chosen_rows(seen, layout, pool).write.mode("overwrite").parquet(path)
        return path

    def _train(
        self, spark: SparkSession, path: str, layout: Layout, pool: PairPool, rngs: tuple[np.random.Generator, ...]
    ) -> Trained:
        """Train here or where Spark puts it."""
        if not self.distributed:
            return training.train(spark, path, layout, self.detector, pool, rngs, self.callback)
        from hopsight.spark.distributed import train_apart

        return train_apart(spark, path, views.view_type(layout), self.detector, pool, rngs)
