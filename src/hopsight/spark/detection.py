"""Run a whole detection: from two DataFrames to ranked nodes and edges."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopsight.checks import check_count
from hopsight.detectors.base import Callback
from hopsight.detectors.predict import threshold
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import NO_TRIANGLES, NodeBaseline
from hopsight.hcm.groups import Group
from hopsight.hcm.splits import Splits, pool_seed, split_seed
from hopsight.hcm.train import NO_EDGES
from hopsight.hops.pool import PairPool
from hopsight.io.notices import notice, notice_merged
from hopsight.preprocess import AttributeTransform
from hopsight.preprocess.references import References
from hopsight.preprocess.scale import unit_of
from hopsight.spark import graph as graph_stages
from hopsight.spark import judging, laws, pairs, ranking, readings, rings, training, views
from hopsight.spark.attributes import fit_transform, matrix_of, reduce_batches
from hopsight.spark.blocks import Array, Layout, cached, computed, gather_rows, sum_to_driver
from hopsight.spark.columns import Plan, encode_attributes, plan_attributes
from hopsight.spark.drops import drop_limit
from hopsight.spark.flags import flag_limits
from hopsight.spark.graph import SparkGraph
from hopsight.spark.groups import collect_groups
from hopsight.spark.inputs import Inputs, check_known, check_unique, errors_about, read_inputs
from hopsight.spark.repeats import averaged
from hopsight.spark.results import Detection, edge_table, node_table
from hopsight.spark.session import run_settings
from hopsight.spark.stage_measures import StageMeasures
from hopsight.spark.training import TrainedModel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LARGEST_BLOCK = 1 << 28  # numbers in a view of one block; a task holds two views of two blocks
SMALLEST_BLOCK = 32
MANY_TASKS_NODES = 50_000  # from this size on, there are three tasks per core

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
    missing: str = "fill",
    directed: bool = False,
    typed: bool = True,
    n_blocks: int | None = None,
    folder: str | None = None,
    measures: StageMeasures | None = None,
    callback: Callback | None = None,
    distributed: bool = False,
    repeat: int = 1,
    top: int = 20,
) -> Detection:
    """Find the nodes and edges of a graph in two DataFrames that do not belong where they are.

    The result is that of :class:`CrossHCM` on one machine, up to rounding. The driver never receives data proportional
    to the size of the graph.

    Parameters
    ----------
    edges, nodes
        The edge list and the node table, with the columns that :func:`hopsight.load` expects in files.
    detector
        The hyperparameters; default ``CrossHCM()``.
    label, ignore, source_column, target_column, id_column, missing, directed
        As in :func:`hopsight.load`.
    typed
        False reads text that looks like a number as a number, as in CSV files.
    n_blocks
        Number of blocks that the nodes are divided into; more blocks give smaller tasks. None chooses.
    folder
        Where the training sample is written, a path that driver and executors share; None is a temporary folder on
        this machine.
    measures
        Collects time and traffic of the stages, and reports their progress.
    callback
        Called after each epoch, unless ``distributed``.
    distributed
        Train in a process that pyspark's TorchDistributor starts, on an executor if there are any, instead of in this
        process; see :func:`hopsight.spark.training.train_in_process`. The result is the same.
    repeat, top
        Number of fits, with the seeds s, s + 1, …; several rank nodes by their mean score and add the column
        ``stability``, the share of fits in which a node is among the first: the flagged ones, or else ``top`` nodes.
        Edges are those of the first fit.
    """
    detector = replace(detector or CrossHCM())  # without what an earlier fit has set
    detector.check()
    threshold(np.zeros(1), detector.contamination, detector.false_alarms)  # refuses a share outside its range
    if detector.dropout and detector.dropout_at_prediction:
        raise ValueError("the Spark engine judges edges without dropout; set dropout_at_prediction to False")
    check_count("repeat", repeat)
    check_count("top", top)
    if repeat > 1 and detector.seed is None:
        raise ValueError("repeated fits count on from a seed; set the seed of the detector")
    measured = measures or StageMeasures(edges.sparkSession)
    notices: list[str] = []
    with run_settings(edges.sparkSession), _working_folder(folder) as work:
        with measured.stage("read"):
            inputs = read_inputs(
                edges, nodes, source_column=source_column, target_column=target_column, id_column=id_column,
                typed=typed, notices=notices,
            )  # fmt: skip
            plans = _plans(inputs, label=label, ignore=ignore, missing=missing, notices=notices)
        names = [name for plan in plans for name in plan.names]
        features = encode_attributes(inputs.nodes, plans)
        engine = Engine(detector, measured.stage, n_blocks, work, callback, distributed, notices, directed)
        if repeat > 1:
            measured.say(f"Fit 1 of {repeat}, with seed {detector.seed}")
        judged = engine.run(features, inputs.edges, names)
        graph, fits = judged.graph, [judged.scores]
        for number in range(1, repeat):
            measured.say(f"Fit {number + 1} of {repeat}, with seed {engine.seed_of(number)}")
            fits.append(engine.again(number, graph.layout.n_blocks, features, inputs.edges, names))
        with measured.stage("rank"):
            found = _ranked(judged, fits, detector, top, notices)
    notice_merged(graph, notices)
    sizes = graph.sizes() | {"n_attributes": len(names)}
    return Detection(*found, sizes, measured.stages, notices, features, names, detector)


def _ranked(
    judged: Judgment, fits: Sequence[DataFrame], detector: CrossHCM, top: int, notices: list[str]
) -> tuple[DataFrame, DataFrame, list[Group], dict[str, Any]]:
    """Return the tables of nodes and edges, the groups and the fitted values; of several fits, the means."""
    graph, fitted, (scores, *others) = judged.graph, judged.fitted, fits
    if others:
        scores, rows, fitted["threshold_"] = averaged(fits, graph, detector, top)
    else:
        rows = ranking.score_rows(scores, graph.layout, detector.score, detector.evidence)
    rows = cached(rows)
    laws = fitted["edge_baseline_"], fitted["kind_thresholds_"]
    groups = collect_groups(scores, judged.edges, graph.nodes, graph.layout, *laws, notices)
    nodes = computed(node_table(rows, graph.nodes, fitted["threshold_"]))
    edges = computed(edge_table(judged.edges, graph, rows, fitted))
    rows.unpersist()
    return nodes, edges, groups, fitted


def _plans(inputs: Inputs, **options: Any) -> list[Plan]:
    with errors_about("nodes"):
        check_unique(inputs.nodes)
        return plan_attributes(inputs.nodes, inputs.columns, **options)


@contextmanager
def _working_folder(folder: str | None) -> Iterator[str]:
    """Yield the folder, or a temporary one that is removed after the run."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="hopsight-") as temporary:
        yield temporary


@dataclass(frozen=True)
class Judgment:
    """Everything that a run found, on the cluster: cells of judged edges and blocks of scores."""

    graph: SparkGraph
    model: TrainedModel
    edges: DataFrame  # cells with the columns of judging.JUDGED
    scores: DataFrame  # blocks with the columns of ranking.SCORES
    fitted: dict[str, Any]  # what the local engine sets on a fitted CrossHCM, if its size does not depend on the graph


@dataclass
class Engine:
    """One run of CrossHCM on a cluster; each method is a stage that reads what the earlier ones computed.

    Parameters
    ----------
    detector
        The hyperparameters.
    stage
        Returns the context in which a named stage runs, for progress and measurements.
    n_blocks
        Number of blocks of nodes; None chooses.
    folder
        Where the training sample is written, a path that driver and executors share.
    callback
        Called after each epoch.
    distributed
        Whether another process trains.
    notices
        List that receives the notices.
    directed
        Whether edges are arcs from source to target.
    """

    detector: CrossHCM
    stage: Stage
    n_blocks: int | None
    folder: str
    callback: Callback | None = None
    distributed: bool = False
    notices: list[str] = field(default_factory=list)
    directed: bool = False

    def run(self, nodes: DataFrame, edges: DataFrame, names: list[str]) -> Judgment:
        """Judge edges ``source, target`` between nodes ``id, row, features``."""
        detector = self.detector
        detector.directed_ = self.directed  # networks of a directed graph tell both directions apart
        run_seed = split_seed(detector.seed)
        rngs = np.random.default_rng(run_seed).spawn(6)
        splits = Splits(run_seed, detector.n_folds, detector.n_inner)
        seed = pool_seed(run_seed)
        with self.stage("attributes"):
            hashed = cached(graph_stages.with_hashes(nodes))
            transform, n_nodes = fit_transform(
                hashed, names, scaling=detector.scaling, n_components=detector.n_components, rng=rngs[0]
            )
        with self.stage("index"):
            placed, layout, unit, magnitude = self._index(hashed, transform, n_nodes, seed)
            x = computed(graph_stages.attribute_blocks(placed, layout, unit, magnitude), large=True)
        with self.stage("edges"):
            graph = self._edges(edges, placed, layout)
            degrees = computed(graph_stages.degree_blocks(graph.cells, layout, splits))
            similarity = detector.resolve_similarity(transform.scaling)
            chosen = laws.choose_law_nodes(placed, layout, magnitude)
            attribute_laws = laws.fit_attribute_laws(chosen, degrees, layout)
            references = laws.choose_references(chosen, similarity)
        with self.stage("pairs"):
            pool, compared = self._pairs(graph, x, splits, seed, similarity, references)
        with self.stage("views"):
            blocks = x.filter("kind = 'x'").unionAll(degrees)
            around = computed(views.neighborhoods(blocks, graph.cells, layout, splits), large=True)
            both = views.compress_views(x.filter("kind = 'x'"), layout).unionAll(around)
        with self.stage("sample"):
            path = f"{self.folder}/pool"
            training.pool_views(both, layout, pool).write.mode("overwrite").parquet(path)
        with self.stage("train"):
            model = self._train(edges.sparkSession, path, layout, pool, tuple(rngs[2:]))
        with self.stage("judge"):
            sent = judging.send_views(both, layout, splits)
            judged = computed(judging.judged_edges(sent, compared, layout, splits, detector, model))
        with self.stage("score"):
            own = readings.own_blocks(placed, attribute_laws, magnitude)
            scores, found = self._score(graph, judged, degrees, own, chosen.numbers)
        for frame in (hashed, x, degrees, compared, around):
            frame.unpersist()
        fitted = {
            "transform_": transform, "magnitude_": magnitude, "unit_": unit / magnitude, "references_": references,
            "attribute_baseline_": attribute_laws, "samples_": model.samples, "calibrations_": model.calibrations,
            "loss_": model.losses, "n_inputs_": model.n_inputs, "n_classes_": model.n_classes,
            "directed_": self.directed, "split_seed_": run_seed, "judging_seed_": 0, **found,
        }  # fmt: skip
        return Judgment(graph, model, judged, scores, fitted)

    def seed_of(self, number: int) -> int:
        """Return the seed of one of several fits."""
        return int(self.detector.seed or 0) + number

    def again(self, number: int, n_blocks: int, nodes: DataFrame, edges: DataFrame, names: list[str]) -> DataFrame:
        """Fit with another seed, and return nothing but the blocks of scores; notices are those of the first fit."""
        detector = replace(self.detector, seed=self.seed_of(number))
        judged = replace(self, detector=detector, n_blocks=n_blocks, notices=[]).run(nodes, edges, names)
        for frame in (judged.edges, judged.graph.cells, judged.graph.nodes):
            frame.unpersist()
        return judged.scores

    def _score(
        self, graph: SparkGraph, judged: DataFrame, degrees: DataFrame, own: DataFrame, baseline_nodes: Array
    ) -> tuple[DataFrame, dict[str, Any]]:
        """Weigh the evidence, and return the blocks of scores, and the laws and thresholds by name."""
        detector, layout = self.detector, graph.layout
        edge_laws = laws.fit_edge_laws(judged, graph.n_edges)

        def edge_columns(row: dict[str, Any]) -> list[tuple[Array, Array]]:
            scores = edge_laws.scores(judging.edge_readings(row))
            return [(scores, 10.0**-scores)]

        edge_threshold = float(flag_limits(judged, edge_columns, graph.n_edges, detector.false_alarms)[0])
        ring = rings.ring_blocks(judged, degrees, layout, edge_laws)
        read = cached(readings.reading_blocks(judged, ring, own, layout, detector.deviation))
        triangles = readings.have_triangles(read, layout)
        if not triangles and graph.n_edges:
            notice(NO_TRIANGLES, self.notices)
        chosen = readings.node_readings(gather_rows(read, layout, np.float64, baseline_nodes))
        node_laws = NodeBaseline.fit(chosen, triangles=triangles)
        scores = ranking.score_blocks(read, layout, node_laws, detector.evidence, detector.score)
        limit, kind_thresholds = ranking.score_thresholds(scores, layout, detector)
        read.unpersist()
        fitted = {"edge_baseline_": edge_laws, "node_baseline_": node_laws, "edge_threshold_": edge_threshold}
        return scores, fitted | {"threshold_": limit, "kind_thresholds_": kind_thresholds}

    def _index(
        self, hashed: DataFrame, transform: AttributeTransform, n_nodes: int, seed: np.uint64
    ) -> tuple[DataFrame, Layout, float, float]:
        """Place the nodes in blocks, and return with them the unit and the magnitude of the attributes."""
        n_tasks = hashed.sparkSession.sparkContext.defaultParallelism * (1 if n_nodes < MANY_TASKS_NODES else 3)
        n_blocks = self.n_blocks or self._choose_blocks(n_nodes, transform.n_outputs, n_tasks)
        placed = cached(graph_stages.with_positions(hashed, transform, n_blocks, seed))

        def largest(batch: pa.RecordBatch) -> Array:
            return np.array([abs(matrix_of(batch, "x")).max(initial=0.0)])

        magnitude = unit_of(reduce_batches(placed.select("x"), largest, np.maximum))

        def moments(batch: pa.RecordBatch) -> Array:
            values = matrix_of(batch, "x") / magnitude
            return np.array([values.size, values.sum(), (values**2).sum()])

        size, total, squares = reduce_batches(placed.select("x"), moments, np.add)
        deviation = float(np.sqrt(max(squares / size - (total / size) ** 2, 0.0)))
        counts = {row["block"]: row["count"] for row in placed.groupBy("block").count().collect()}
        layout = Layout(tuple(counts.get(block, 0) for block in range(n_blocks)), n_tasks)
        return placed, layout, magnitude * (deviation or 1.0), magnitude

    def _choose_blocks(self, n_nodes: int, width: int, n_tasks: int) -> int:
        """Return the smallest number of blocks that fit into a task's memory and give work to every core."""
        n_blocks = max(1, -(-n_nodes * width // LARGEST_BLOCK))
        n_folds = self.detector.n_folds * (self.detector.n_inner - 1)
        while n_folds * n_blocks * (n_blocks + 1) // 2 < n_tasks and n_nodes >= 2 * n_blocks * SMALLEST_BLOCK:
            n_blocks += 1
        return n_blocks

    def _edges(self, edges: DataFrame, placed: DataFrame, layout: Layout) -> SparkGraph:
        """Check and clean the edges, and put them into cells."""
        ends = cached(graph_stages.edge_ends(edges, placed, layout.n_tasks))
        check_known(ends)
        cells = cached(graph_stages.packed_cells(ends, layout.n_blocks, directed=self.directed))

        def counts(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
            yield 0, np.frombuffer(row["counts"], dtype=np.int64).astype(np.float64)

        n_loops, n_duplicates, n_edges = sum_to_driver(cells, counts)[0].astype(np.int64).tolist()
        ends.unpersist()
        if n_edges == 0:
            raise ValueError(NO_EDGES)
        return SparkGraph(placed, cells, layout, n_edges, n_duplicates, n_loops, self.directed)

    def _pairs(
        self,
        graph: SparkGraph,
        x: DataFrame,
        splits: Splits,
        seed: np.uint64,
        similarity: str,
        references: References,
    ) -> tuple[PairPool, DataFrame]:
        """Drop the edges whose ends are least similar, choose the pool, and return with it all edges, compared."""
        detector, layout = self.detector, graph.layout
        edges = cached(pairs.with_similarity(x, graph.cells, layout, similarity, references))
        limit = drop_limit(edges, graph.n_edges, detector.drop_ratio, seed)
        sources = pairs.choose_sources(graph.nodes, layout.n_nodes)
        reached = pairs.search_hops(x, pairs.kept_edges(edges, limit), layout, sources, detector.n_classes - 1)
        names = ("n_classes", "sampling_ratio", "max_pairs", "min_class_pairs")
        settings = {name: getattr(detector, name) for name in names} | {"directed": graph.directed}
        pool = pairs.choose_pool(reached, edges, layout, splits, sources, limit, seed, **settings)
        reached.unpersist()
        return pool, edges

    def _train(
        self, spark: SparkSession, path: str, layout: Layout, pool: PairPool, rngs: training.Rngs
    ) -> TrainedModel:
        dtype = views.view_dtype(layout)
        if self.distributed:
            return training.train_in_process(spark, path, dtype, self.detector, pool, rngs)
        return training.train_on_driver(spark, path, dtype, self.detector, pool, rngs, self.callback)
