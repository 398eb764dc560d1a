"""Run a whole detection: from two DataFrames to ranked nodes and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal
from hopsight.detectors.base import Callback
from hopsight.detectors.predict import threshold
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.evidence import EdgeBaseline
from hopsight.hcm.groups import Group
from hopsight.hcm.splits import Splits, pool_seed, split_seed
from hopsight.io.notices import notice_merged
from hopsight.io.tables import DIRECTED
from hopsight.runs.console import Progress
from hopsight.runs.folder import Stages
from hopsight.spark import evidence, model, results
from hopsight.spark.blocks import cached, computed
from hopsight.spark.graph import (
    Cells,
    PlacedNodes,
    attribute_blocks,
    degree_blocks,
    fit_transform,
    place_edges,
    place_nodes,
    with_hashes,
)
from hopsight.spark.session import run_settings
from hopsight.spark.tables import check_unique, encode_attributes, errors_about, plan_attributes, read_inputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    category: Sequence[str] = (),
    learn_from: str | None = None,
    anomalous_value: object = None,
    n_blocks: int | None = None,
    progress: Progress | None = None,
) -> results.Detection:
    """Find the nodes and edges of a graph in two DataFrames that look out of place.

    The result is that of :class:`CrossHCM` on one machine, up to rounding. The driver never receives data proportional
    to the size of the graph.

    Parameters
    ----------
    edges, nodes
        The edge list and the node table, with the columns that :func:`hopsight.load` expects in files.
    detector
        The hyperparameters; default ``CrossHCM()``.
    label, ignore, source_column, target_column, id_column, missing, directed, category
        As in :func:`hopsight.load`.
    learn_from, anomalous_value
        Column of the node table with labels to learn from, and which of its values means anomalous.
    typed
        False reads text that looks like a number as a number, as in CSV files.
    n_blocks
        Number of blocks that the nodes are divided into; more blocks give smaller tasks. None chooses.
    progress
        Reports the stages and the epochs of the training.
    """
    detector = replace(detector or CrossHCM())  # without what an earlier fit has set
    detector.check()
    threshold(np.zeros(1), detector.contamination, detector.false_alarms)  # refuses a share outside its range
    if not detector.networks:
        raise ValueError("the Spark engine trains networks; set networks to True")
    if detector.dropout and detector.dropout_at_prediction:
        raise ValueError("the Spark engine judges edges without dropout; set dropout_at_prediction to False")
    if learn_from is not None and directed:
        raise Refusal("learn_from", "is for undirected graphs on Spark; leave out the direction, or the Spark engine")
    show, notices = progress or Progress(), list[str]()
    context = edges.sparkSession.sparkContext

    def begin(stage: str) -> None:
        context.setJobDescription(f"hopsight: {stage}")
        show.begin(stage)

    stages = Stages(begin, show.end)
    with run_settings(edges.sparkSession):
        with stages.stage("read"):
            inputs = read_inputs(
                edges, nodes, source_column=source_column, target_column=target_column, id_column=id_column,
                typed=typed, notices=notices,
            )  # fmt: skip
            with errors_about("nodes"):
                check_unique(inputs.nodes)
                plans = plan_attributes(
                    inputs.nodes, inputs.columns, label=label, learn_from=learn_from, ignore=ignore,
                    missing=missing, category=category, ours=DIRECTED in edges.columns, notices=notices,
                )  # fmt: skip
        names = [name for plan in plans for name in plan.names]
        labels = None if learn_from is None else evidence.label_rows(inputs.nodes, learn_from, anomalous_value)
        graph = Graph(encode_attributes(inputs.nodes, plans), inputs.edges, names, directed, labels, learn_from)
        found = fit(graph, detector, n_blocks, stages, notices, progress)
        with stages.stage("rank"):
            tables = _ranked(found, detector, notices, directed)
        context.setJobDescription(None)
    layout, cells = found.nodes.layout, found.cells
    notice_merged(cells, notices)
    sizes = {
        "n_nodes": layout.n_nodes, "n_edges": cells.n_edges, "n_attributes": len(names), "directed": directed,
        "n_duplicates": cells.n_duplicates, "n_self_loops": cells.n_self_loops, "n_blocks": layout.n_blocks,
    }  # fmt: skip
    return results.Detection(
        *tables, found.fitted, sizes, stages.seconds, notices, graph.nodes, names, detector, found.feedback
    )


@dataclass(frozen=True)
class Graph:
    """The input of a fit: nodes ``id, row, features``, edges ``source, target, row``, and the names of the features."""

    nodes: DataFrame
    edges: DataFrame
    names: list[str]
    directed: bool
    labels: DataFrame | None = None  # ``id, anomalous``, to learn from
    label: str | None = None  # what they are called


@dataclass(frozen=True)
class Fit:
    """Everything that a fit found, on the cluster."""

    nodes: PlacedNodes
    cells: Cells
    edges: DataFrame  # one row per edge, those of results.edge_rows
    scores: DataFrame  # one row per node, with the columns of evidence.SCORES
    fitted: dict[str, Any]  # what the local engine sets on a fitted CrossHCM, if its size does not depend on the graph
    dissimilarity: NDArray[np.float64]  # of a sample of the edges
    feedback: evidence.Feedback | None  # by labels


def fit(
    graph: Graph,
    detector: CrossHCM,
    n_blocks: int | None,
    stages: Stages,
    notices: list[str],
    callback: Callback | None = None,
) -> Fit:
    """Fit once: each stage reads what the earlier ones computed."""
    detector.directed_ = graph.directed  # networks of a directed graph tell both directions apart
    run_seed = split_seed(detector.seed)
    rngs = np.random.default_rng(run_seed).spawn(6)
    splits, seed = Splits(run_seed, detector.n_folds, detector.n_inner), pool_seed(run_seed)
    with stages.stage("attributes"):
        hashed = cached(with_hashes(graph.nodes))
        transform, n_nodes = fit_transform(hashed, graph.names, detector, rngs[0])
        similarity = detector.resolve_similarity(transform.scaling)
    with stages.stage("index"):
        n_judging = splits.n_folds * (splits.n_inner - 1)
        nodes = place_nodes(hashed, transform, n_nodes, seed, n_blocks, n_judging)
        layout, x = nodes.layout, computed(attribute_blocks(nodes), large=True)
    with stages.stage("edges"):
        cells = place_edges(graph.edges, nodes, directed=graph.directed)
        degrees = computed(degree_blocks(cells.rows, layout, splits))
        sample = evidence.SampledNodes.of(nodes)
        attribute_baseline, references = sample.attribute_baseline(degrees, layout), sample.references(similarity)
    with stages.stage("pairs"):
        all_compared = cached(model.compare_ends(x, cells.rows, layout, similarity, references))
        compared = model.drop_edges(all_compared, cells.n_edges, detector.drop_ratio, seed)
        sources = model.Sources.choose(nodes.rows, layout.n_nodes, splits.n_folds)
        hashes = x.filter("kind = 'hash'")
        reached = [
            model.search_hops(hashes, model.kept_edges(compared, splits, network), layout, mine, detector.n_classes - 1)
            for network, mine in enumerate(sources)
        ]
        pool = model.choose_pool(
            reached, compared, layout, splits, sources, seed, directed=graph.directed,
            n_classes=detector.n_classes, sampling_ratio=detector.sampling_ratio, max_pairs=detector.max_pairs,
            min_class_pairs=detector.min_class_pairs,
        )  # fmt: skip
        for frame in reached:
            frame.unpersist()
    with stages.stage("views"):
        own = x.filter("kind = 'x'")
        around = computed(model.compute_views(own, degrees, cells.rows, layout, splits), large=True)
        views = model.in_view_type(own, layout, "own").unionAll(around)
    with stages.stage("train"):
        trained = model.train(model.collect_views(views, layout, pool), detector, pool, tuple(rngs[2:]), callback)
    with stages.stage("judge"):
        judging = splits, detector, trained
        judged = computed(model.judge(views, compared, layout, *judging, directed=graph.directed))
    with stages.stage("score"):
        sampled_edges = evidence.sample_edges(judged, cells.n_edges)
        edge_baseline = EdgeBaseline.fit(sampled_edges)
        edges = results.edge_rows(judged, layout, edge_baseline)
        limit_of_edges = results.edge_threshold(edges, cells.n_edges, detector.false_alarms)
        triangles = evidence.triangle_blocks(judged, degrees, layout, edge_baseline)
        features = cached(evidence.feature_blocks(judged, triangles, x, layout, attribute_baseline, detector.deviation))
        scores, found = evidence.weigh_nodes(features, layout, sample.numbers, detector, graph.names, notices)
    feedback = None
    if graph.labels is not None:
        with stages.stage("learn"):
            seen = evidence.learner_attributes(x, graph.nodes, nodes, graph.names, transform)
            limit, name = found["threshold_"], str(graph.label)
            feedback = evidence.give_feedback(
                graph.labels, scores, seen, cells.rows, nodes, sample, detector, limit, name, notices
            )
        if feedback is not None:
            scores, found["threshold_"] = feedback.scores, feedback.threshold
    for frame in (hashed, x, degrees, all_compared, around, features):
        frame.unpersist()
    fitted = {
        "transform_": transform, "magnitude_": nodes.magnitude, "unit_": nodes.unit / nodes.magnitude,
        "references_": references, "attribute_baseline_": attribute_baseline, "samples_": trained.samples,
        "calibrations_": trained.calibrations, "loss_": trained.losses, "n_inputs_": trained.n_inputs,
        "n_classes_": trained.n_classes, "directed_": graph.directed, "split_seed_": run_seed, "judging_seed_": 0,
        "edge_baseline_": edge_baseline, "edge_threshold_": limit_of_edges, **found,
    }  # fmt: skip
    return Fit(nodes, cells, edges, scores, fitted, sampled_edges.dissimilarity, feedback)


def _ranked(
    found: Fit, detector: CrossHCM, notices: list[str], directed: bool
) -> tuple[DataFrame, DataFrame, list[Group]]:
    """Return the tables of nodes and edges, and the groups."""
    fitted, nodes, scores = found.fitted, found.nodes.rows, cached(found.scores)
    groups = results.collect_groups(
        scores, found.edges, nodes, fitted["edge_baseline_"], fitted["kind_thresholds_"], notices
    )
    ranked = computed(results.node_table(scores, nodes, detector, fitted["threshold_"]))
    edges = results.edge_table(found.edges, nodes, fitted["edge_threshold_"], directed=directed)
    return ranked, computed(results.with_reasons(edges, found.dissimilarity)), groups  # texts last: not to be shuffled
