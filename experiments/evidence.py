"""Measure CrossHCM's evidence: development and reserved graphs, ablation, textbook anomalies, calibration.

    python experiments/evidence.py dev --commit COMMIT --out experiments/results/evidence_dev.json
    python experiments/evidence.py reserved --out experiments/results/evidence_reserved.json
    python experiments/evidence.py steady --commit COMMIT --out experiments/results/evidence_steady.json
    python experiments/evidence.py textbook --out experiments/results/evidence_textbook.json
    python experiments/evidence.py table experiments/results/evidence_*.json

Graphs are read from HOPSIGHT_DATA (default: ../shared/data). ``dev`` holds the seven graphs whose labels helped to
choose the defaults; BlogCatalog and Flickr have 5 injections x 2 seeds, the others 10 seeds. Each fit is a row; rows of
``dev`` contain the ROC-AUC of every ablation and the calibration error. ``reserved`` also fits DOMINANT. ``steady``
fits every graph with 50 anomalies or more, and gen_1000, which has 20, with 10 seeds, and BlogCatalog with injections
of seeds 101 to 105. ``table`` prints the tables of RESULTS.md from the files.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

INJECTED = {"BlogCatalog": 10, "Flickr": 15}
DEVELOPMENT = ("BlogCatalog", "Flickr", "inj_cora", "Amazon", "Disney", "Enron", "amazon_fraud")
RESERVED = ("tolokers", "bitcoin_alpha", "enron_bond", "gen_1000")
STEADY = ("BlogCatalog", "Flickr", "inj_cora", "amazon_fraud", "tolokers", "bitcoin_alpha", "gen_1000")
SETTINGS = {"5x12": (5, 12, 1.5), "12x40": (12, 40, 0.7), "2x2": (2, 2, 2.0)}
CALIBRATION_PAIRS = 1000


class Cell(NamedTuple):
    """One fit."""

    what: str
    graph: str
    injection: int
    seed: int
    detector: str
    device: str


def main() -> None:
    """Run one kind of measurement, or print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("dev", "reserved", "steady", "textbook", "table"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default="", help="Commit of the code, kept in every row")
    options = parser.parse_args()
    if options.what == "table":
        print_tables([row for file in options.files for row in json.loads(file.read_text())])
        return
    rows = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, context) as pool:
        futures = [pool.submit(measure, cell) for cell in cells(options.what, options.seeds, options.device)]
        for future in as_completed(futures):
            rows.append(future.result() | {"commit": options.commit})
            if options.out:
                options.out.write_text(json.dumps(sorted(rows, key=json.dumps), indent=0))
    print_tables(rows)


def cells(what: str, n_seeds: int, device: str) -> Iterator[Cell]:
    """Yield the fits of a measurement."""
    if what == "dev":
        for number in range(n_seeds):
            for graph in DEVELOPMENT:
                injection, seed = divmod(number, 2) if graph in INJECTED else (0, number)
                yield Cell(what, graph, injection, seed, "cross_hcm", device)
    elif what == "steady":
        for seed in range(n_seeds):
            for graph in STEADY:
                yield Cell(what, graph, 101 if graph in INJECTED else 0, seed, "cross_hcm", device)
        for injection in range(102, 106):
            yield Cell(what, "BlogCatalog", injection, 0, "cross_hcm", device)
    elif what == "reserved":
        for seed in range(n_seeds):
            for graph in RESERVED:
                for detector in ("cross_hcm", "dominant"):
                    yield Cell(what, graph, 0, seed, detector, device)
    else:
        from hopsight.datasets.textbook import KINDS

        for seed in range(n_seeds):
            for setting in SETTINGS:
                for kind in KINDS:
                    yield Cell(what, f"{setting}/{kind}", 0, seed, "cross_hcm", device)


def measure(cell: Cell) -> dict[str, Any]:
    """Fit, and return one row."""
    warnings.simplefilter("ignore")
    import torch

    import hopsight as hs

    torch.set_num_threads(1)
    graph = make(cell)
    start = time.perf_counter()
    model = hs.DETECTORS[cell.detector](seed=cell.seed, device=cell.device).fit(graph)
    row = cell._asdict() | {"seconds": round(time.perf_counter() - start, 2), "torch": torch.__version__}
    scores, truth = model.decision_score_, np.asarray(graph.labels)
    if cell.what != "textbook":
        row |= {"auc": auc(truth, scores)}
        if cell.detector == "cross_hcm":
            row |= {"evidence": {kind: auc(truth, values) for kind, values in model.evidence_.items()}}
            row |= {"probability": round(float(model.edge_probability_.mean()), 4)}
    if cell.what == "dev":
        row |= {"ablation": ablation(model, graph), "calibration": calibration_error(model, graph)}
    if cell.what == "textbook":
        row |= textbook_row(model, cell, truth)
    return row


def make(cell: Cell) -> Any:
    """Return the graph of a fit."""
    import hopsight as hs

    if cell.what == "textbook":
        setting, kind = cell.graph.split("/")
        communities, attributes, separation = SETTINGS[setting]
        return hs.make_textbook(
            kind, 1000, cell.seed, n_communities=communities, n_attributes=attributes, separation=separation
        )
    folder = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    graph = hs.load(folder / f"{cell.graph}.mat")
    if cell.graph in INJECTED:
        n_cliques = INJECTED[cell.graph]
        return hs.inject(graph, n_cliques=n_cliques, clique_size=15, n_attribute=15 * n_cliques, seed=cell.injection)
    return graph


def auc(truth: Any, scores: Any) -> float:
    """Return the ROC-AUC over the labeled nodes."""
    from hopsight.metrics import roc_auc

    return round(roc_auc(truth, scores), 4)


def ablation(model: Any, graph: Any) -> dict[str, float]:
    """Return the ROC-AUC with every ingredient of the score removed in turn, and with no model at all."""
    from hopsight.hcm.evidence import KINDS, EdgeBaseline, EdgeFeatures, NodeBaseline, combine, strengths
    from hopsight.hcm.views import inputs_of

    truth, attributes = np.asarray(graph.labels), inputs_of(graph, model.transform_, model.magnitude_)
    counted = [kind for kind in model.evidence if kind in model.evidence_]
    found = {f"without {kind}": combine(model.evidence_, [k for k in counted if k != kind])[0] for kind in counted}
    found["with lockstep"] = combine(model.evidence_, KINDS)[0]
    features = EdgeFeatures(model.edge_hop_, model.edge_surprise_, model.edge_dissimilarity_)
    unlike = EdgeFeatures(*[model.edge_dissimilarity_] * 3)
    trials = {
        "no model at all": (unlike, [0, 1]),
        "without hop count in misfit": (features, [1, 1]),
        "without dissimilarity in misfit": (features, [0, 0]),
    }
    baseline = model.edge_baseline_
    for name, (edges, means) in trials.items():
        model.edge_baseline_ = EdgeBaseline.fit(edges)
        nodes = model._node_features(graph, edges, attributes)
        nodes = replace(nodes, edge_means=nodes.edge_means[means])
        found[name] = combine(strengths(nodes, NodeBaseline.fit(nodes)), model.evidence)[0]
    model.edge_baseline_ = baseline
    found["without cross-fitting"] = judged_by_others(model, graph, attributes)
    return {name: auc(truth, scores) for name, scores in found.items()}


def judged_by_others(model: Any, graph: Any, attributes: Any) -> Any:
    """Return the scores if every edge is judged by a network that trained on it."""
    import torch

    from hopsight.hcm.splits import edge_hashes
    from hopsight.nn.device import resolve_device

    others = copy.copy(model)
    others.samples_, others.calibrations_ = np.roll(model.samples_, 1, axis=1), np.roll(model.calibrations_, 1, axis=0)
    device = resolve_device(model.device)
    edges = torch.from_numpy(graph.edges.copy()).to(device)
    views = others._views(graph, attributes, model.splits.of(edge_hashes(graph)), device)
    judged = others._judge(views, edges, views.index.part)
    return others._weigh(graph, attributes, judged, model.edge_dissimilarity_, refit=True)


def calibration_error(model: Any, graph: Any) -> dict[str, Any] | None:
    """Return the expected calibration error of p(one hop), in ten bins.

    For each network, as many pairs of every hop class: edges that it judges, and farther pairs that it did not train
    on (in a small graph, those that it set aside).
    """
    import torch

    from hopsight.hcm.posterior import calibrated, predict
    from hopsight.hcm.splits import edge_hashes, pool_seed
    from hopsight.hcm.train import schedule_of
    from hopsight.hcm.views import adjacency_of, inputs_of
    from hopsight.hops.pool import pair_pool
    from hopsight.nn.device import resolve_device
    from hopsight.preprocess import drop_edges, edge_similarity

    attributes = inputs_of(graph, model.transform_, model.magnitude_)
    alike = edge_similarity(attributes, graph.edges, model.resolve_similarity(model.transform_.scaling))
    kept = drop_edges(alike, model.drop_ratio, rng=np.random.default_rng(model.seed).spawn(6)[1])
    hashes, splits = edge_hashes(graph), model.splits
    index = splits.of(hashes)
    positives = [index.positives(fold) & kept for fold in splits.folds]
    shown = [graph.edges[:, kept & (index.part != network)] for network in range(model.n_folds)]
    settings = {name: getattr(model, name) for name in ("n_classes", "sampling_ratio", "max_pairs", "min_class_pairs")}
    trained, fresh = (
        pair_pool(
            [adjacency_of(edges, graph.n_nodes, directed=False) for edges in shown], positives, graph.edges,
            graph.edges, graph.node_hashes, pool_seed(seed),
            judged_by=lambda pair_hashes: splits.of(pair_hashes).part, **settings,
        )
        for seed in (model.split_seed_, model.split_seed_ + 991)
    )  # fmt: skip
    device = resolve_device(model.device)
    views = model._views(graph, attributes, index, device)
    shape = model.n_inputs_, model.n_classes_
    networks = model.build_networks(*shape, np.random.default_rng(0), device, directed=graph.directed)
    schedule, part = schedule_of(model, len(model.samples_), device), views.index.part
    rng = np.random.default_rng(5)
    found, truth = [], []
    for k, network in enumerate(networks):
        classes = [graph.edges[:, part == k]]
        for kind in range(1, trained.n_classes):
            new, old = (np.concatenate([pool[kind] for pool in pools.pools], axis=1) for pools in (fresh, trained))
            keys = [ends.min(axis=0) * graph.n_nodes + ends.max(axis=0) for ends in (new, old)]
            unseen = np.unique(new[:, ~np.isin(*keys)], axis=1)
            aside = trained.pools[k * model.n_inner][kind]  # where every pair is in the pool, those set aside
            classes.append(unseen if unseen.shape[1] >= CALIBRATION_PAIRS else aside)
        n_pairs = min(CALIBRATION_PAIRS, *(pairs.shape[1] for pairs in classes))
        if n_pairs < 20:
            return None
        chosen = [pairs[:, rng.choice(pairs.shape[1], n_pairs, replace=False)] for pairs in classes]
        pairs = torch.from_numpy(np.concatenate(chosen, axis=1)).to(device)
        total, seen = np.zeros(1), views.of(views.index.trained(k))
        for epoch, weights in zip(schedule.sample_epochs(len(seen)), model.samples_, strict=True):
            network.set_flat_weights(weights[k])
            view = seen[epoch % len(seen)]
            blocks = predict(network, view, pairs, torch.arange(pairs.shape[1], device=device), schedule)
            logits = torch.cat([block for _, block in blocks])
            total = total + torch.softmax(calibrated(logits, model.calibrations_[k]), 1)[:, 0].double().cpu().numpy()
        found.append(total / len(model.samples_))
        truth.append(np.repeat(np.arange(len(classes)), n_pairs) == 0)
    probability, one_hop = np.concatenate(found), np.concatenate(truth)
    bins = np.clip((probability * 10).astype(int), 0, 9)
    count = np.bincount(bins, minlength=10)
    means, shares = (np.bincount(bins, values, 10) / np.maximum(count, 1) for values in (probability, one_hop))
    error = float(np.sum(count * abs(means - shares)) / count.sum())
    return {
        "error": round(error, 4),
        "mean": means.round(4).tolist(),
        "share": shares.round(4).tolist(),
        "n": count.tolist(),
    }


def textbook_row(model: Any, cell: Cell, truth: Any) -> dict[str, Any]:
    """Return the percentile of the planted nodes, and the share of them among the first 2k."""
    from hopsight.hcm.evidence import KINDS, combine

    scores = model.decision_score_
    if cell.graph.endswith("lockstep"):
        scores = combine(model.evidence_, KINDS)[0]
    planted = np.flatnonzero(truth == 1)
    place = np.empty(scores.size)
    place[np.argsort(-scores, kind="stable")] = np.arange(scores.size)
    return {
        "percentile": round(float(np.mean([(scores < scores[node]).mean() for node in planted])), 4),
        "among_first_2k": round(float((place[planted] < 2 * planted.size).mean()), 4),
    }


def print_tables(rows: Sequence[dict[str, Any]]) -> None:
    """Print the tables of RESULTS.md."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["what"], row["graph"], row["detector"]].append(row)
    for (what, graph, detector), mine in groups.items():
        mean = {
            name: np.mean([row[name] for row in mine])
            for name in ("auc", "percentile", "among_first_2k")
            if name in mine[0]
        }
        text = ", ".join(f"{name} {value:.3f}" for name, value in mean.items())
        if "calibration" in mine[0] and mine[0]["calibration"]:
            text += f", calibration error {np.mean([row['calibration']['error'] for row in mine]):.3f}"
        print(f"{what} | {graph} | {detector} | {len(mine)} fits | {text}")
    development = [mine for (what, _, _), mine in groups.items() if what == "dev"]
    if development:
        print("dev mean", round(float(np.mean([np.mean([row["auc"] for row in mine]) for mine in development])), 4))
        for name in development[0][0]["ablation"]:
            values = [np.mean([row["ablation"][name] for row in mine]) for mine in development]
            print(
                "ablation |",
                name,
                "|",
                " | ".join(f"{value:.3f}" for value in values),
                "|",
                round(float(np.mean(values)), 4),
            )


if __name__ == "__main__":
    main()
