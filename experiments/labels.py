"""Measure what labels are worth: ROC-AUC and average precision of the nodes without a label, by how labels are chosen.

    python experiments/labels.py --out experiments/results/labels.json
    python experiments/labels.py table experiments/results/labels.json

The learner of an older version on the same labels, added to the file as the method ``1bf6701``:

    python experiments/labels.py --judged judged.pickle --out experiments/results/labels.json
    git worktree add ../older 1bf6701
    PYTHONPATH=../older/src python experiments/labels.py older experiments/results/labels.json --judged judged.pickle

How many nodes are flagged wrongly after learning, by how labels are chosen:

    python experiments/labels.py flags --out experiments/results/flags.json

The time and memory of learning, after a fit of a generated graph with ten edges per node:

    python experiments/labels.py time --nodes 10000 --attributes 64
    python experiments/labels.py time --nodes 1000000 --attributes 32

Graphs are read from HOPSIGHT_DATA (default: ../shared/data). Each is fitted once; then labels are drawn ten times:
20 anomalous and 80 normal nodes at random (``20+80``), n nodes at random (``random n``), n nodes of the queue (``queue
n``: of the first 1.5 n labeled nodes of ``CrossHCM.queue``, asked once), or n from the top of the ranking (``top n``).
A draw counts where at least ten anomalies stay unlabeled; without labels of both kinds nothing is learned. Rivals on
the same labels: the ranking without labels, a random forest on the attributes, and one on attributes and neighborhood
means (the features of RF-Graph), both with scikit-learn's defaults; and, where they are installed (``pip install
graphspot pyod xgboost coniferest``), graphspot's RFGraph and XGBGraph, PyOD's XGBOD and coniferest's AAD forest on the
attributes that the learner sees.

Questions (``found 20``, ``found 50``, ``found 100``): anomalies among the first 20, 50 and 100 nodes that ``queue``
names, asked once, and with learning after every tenth answer.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import pickle
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ORGANIC = ("tolokers", "amazon_fraud", "bitcoin_alpha", "Amazon", "p2p")
PLANTED = ("inj_cora", "gen_1000", "demo", "BlogCatalog", "Flickr", "tolokers injected", "amazon_fraud injected")
PROTOCOLS = (
    "20+80", "queue 20", "queue 100", "top 100", "random 10", "random 20", "random 50", "random 100", "random 300",
    "random 1000",
)  # fmt: skip
FLAGGED = ("10+10", "20+40", "20+80", "queue 20", "queue 100", "random 100", "random 300")  # whose flags are counted
METHODS = (
    "no labels", "learned", "forest", "forest on neighborhoods", "RFGraph", "XGBGraph", "XGBOD", "AAD forest",
    "1bf6701",
)  # fmt: skip
LEAST_UNLABELED = 10  # anomalies
QUESTIONS, LEARN_EVERY = (20, 50, 100), 10
known: dict[str, dict[str, Any]] = {}  # what the processes that draw labels share


def main() -> None:
    """Fit, draw labels and write what each method makes of them; or print the tables of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("run", "table", "older", "time", "flags"), default="run")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--graphs", nargs="+", default=[*ORGANIC, *PLANTED])
    parser.add_argument("--protocols", nargs="+")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--judged", type=Path, help="file for the labels of every draw")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--nodes", type=int, default=10_000, help="of the generated graph whose learning takes time")
    parser.add_argument("--attributes", type=int, default=64)
    options = parser.parse_args()
    if options.what == "time":
        print(json.dumps(take_time(options.nodes, options.attributes)))
        return
    if options.what == "table":
        print(tables(json.loads(options.file.read_text())))
        return
    warnings.simplefilter("ignore")
    if options.what == "older":
        rows = json.loads(options.file.read_text())
        learn_by_older(rows, pickle.loads(options.judged.read_bytes()), options.device, options.processes)
        write(options.file, rows)
        return
    for name in options.graphs:
        known[name] = fit(name, options.device)
    protocols = options.protocols or (FLAGGED if options.what == "flags" else PROTOCOLS)
    tasks = [(name, protocol, draw) for name in known for protocol in protocols for draw in range(options.draws)]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        if options.what == "flags":
            write(options.out, [row for row in pool.imap(count_flags, tasks, chunksize=4) if row is not None])
            return
        rows = [row for row in pool.imap(measure, tasks, chunksize=4) if row is not None]
        rows += pool.map(ask, known)
    if options.judged:
        options.judged.write_bytes(pickle.dumps({task: judged_in(task) for task in tasks}))
    if options.out:
        write(options.out, rows)
    print(tables(rows))


def take_time(n_nodes: int, n_attributes: int) -> dict[str, Any]:
    """Return the seconds that a fit and three times learning from 20+80 labels take, and the peak memory after each."""
    import resource
    import time

    import hopsight as hs
    from hopsight.datasets import make_graph

    def peak() -> float:
        return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)

    graph = make_graph(n_nodes, n_edges=10 * n_nodes, n_attributes=n_attributes)
    labels, rng = np.asarray(graph.labels), np.random.default_rng(0)
    judged = np.concatenate([rng.choice(np.flatnonzero(labels == kind), n) for kind, n in ((1, 20), (0, 80))])
    given = dict(zip(graph.node_ids[judged].tolist(), (labels[judged] == 1).tolist(), strict=True))
    row: dict[str, Any] = {"nodes": n_nodes, "attributes": n_attributes}
    start = time.perf_counter()
    model = hs.CrossHCM(seed=0).fit(graph)
    row |= {"fit": round(time.perf_counter() - start, 2), "fit_gib": peak()}
    for learning in ("first", "second", "third"):
        start = time.perf_counter()
        model.learn(given, graph=graph)
        row[learning] = round(time.perf_counter() - start, 2)
    return row | {"learn_gib": peak()}


def write(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write raw results, a row per line."""
    file.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def learn_by_older(rows: list[dict[str, Any]], judged: dict[Any, Any], device: str, processes: int | None) -> None:
    """Add to each row what the hopsight on the path, an older one, makes of the same labels."""
    import hopsight as hs

    for name in dict.fromkeys(row["graph"] for row in rows):
        graph = load(name)
        known[name] = {"graph": graph, "model": hs.CrossHCM(seed=0, device=device).fit(graph), "judged": judged}
    drawn = [row for row in rows if row["protocol"] != "found"]
    tasks = [(row["graph"], row["protocol"], row["draw"]) for row in drawn]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for row, figures in zip(drawn, pool.imap(measure_older, tasks, chunksize=4), strict=True):
            row["1bf6701"] = figures


def measure_older(task: tuple[str, str, int]) -> list[float]:
    """Return ROC-AUC and average precision of an older version for one draw of labels."""
    graph, model, judged = (known[task[0]][part] for part in ("graph", "model", "judged"))
    mine, labels = judged[task], np.asarray(graph.labels)
    words = np.where(labels[mine] == 1, "anomalous", "normal").tolist()
    learned = model.learn(dict(zip(graph.node_ids[mine].tolist(), words, strict=True)), graph=graph)
    rest = np.setdiff1d(np.flatnonzero(labels >= 0), mine)
    return figures(labels[rest] == 1, learned.decision_score_[rest])


def fit(name: str, device: str) -> dict[str, Any]:
    """Return a fitted detector, and the features and labels of its graph."""
    import hopsight as hs

    graph = load(name)
    model = hs.CrossHCM(seed=0, device=device).fit(graph)
    from hopsight.feedback.teaching import features_of

    rows = features_of(model, graph, model._learner_columns, model.decision_score_)
    features = rows(np.arange(graph.n_nodes))
    print(f"{name}: {graph}", flush=True)
    seen = model._learner_columns(graph)[0]
    found = {"graph": graph, "model": model, "features": features, "labels": np.asarray(graph.labels), "seen": seen}
    if importlib.util.find_spec("graphspot"):
        from graphspot import Graph, NeighborAggregation

        arcs = graph.adjacency
        found["aggregated"] = NeighborAggregation().fit_transform(Graph(adj=arcs.maximum(arcs.T), x=seen))
    return found


def load(name: str) -> Any:
    """Return a development graph: as it is, the payments of p2p, or with anomalies planted in it."""
    import hopsight as hs

    folder = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if (folder / f"{name}.npz").is_file():  # a copy of p2p or the demo, for a computer that cannot read tables
        return hs.load(str(folder / f"{name}.npz"))
    if name == "demo":
        return hs.make_demo()
    if name == "p2p":
        import polars as pl

        users = pl.read_parquet(folder / "p2p" / "users.parquet").select("id", "fraudMoneyTransfer")
        return hs.load(str(folder / "p2p" / "payments.parquet"), nodes=users, label="fraudMoneyTransfer")
    graph = hs.load(str(folder / f"{name.removesuffix(' injected')}.mat"))
    if name.endswith(" injected") or name in ("BlogCatalog", "Flickr"):
        plain = hs.AttributedGraph(graph.adjacency, graph.attributes, attribute_names=graph.attribute_names, name=name)
        return hs.inject(plain, seed=5)
    return graph


def measure(task: tuple[str, str, int]) -> dict[str, Any] | None:
    """Return ROC-AUC and average precision of each method for one draw of labels, or None if it does not count."""
    from sklearn.ensemble import RandomForestClassifier

    name, protocol, number = task
    labels, model, graph, features = (known[name][part] for part in ("labels", "model", "graph", "features"))
    judged = judged_in(task)
    rest = np.setdiff1d(np.flatnonzero(labels >= 0), judged)
    truth = labels[rest] == 1
    if judged.size == 0 or truth.sum() < LEAST_UNLABELED or truth.all():
        return None
    scores = dict.fromkeys(METHODS[:4], model.decision_score_[rest])
    if "aggregated" in known[name]:
        scores |= dict.fromkeys(METHODS[4:8], model.decision_score_[rest])
    anomalous = labels[judged] == 1
    row: dict[str, Any] = {"graph": name, "protocol": protocol, "draw": number, "anomalous": int(anomalous.sum())}
    if 0 < anomalous.sum() < anomalous.size:
        taught = model.learn(dict(zip(graph.node_ids[judged].tolist(), anomalous.tolist(), strict=True)), graph=graph)
        chance = taught.probability_[rest]
        scores["learned"] = taught.decision_score_[rest]
        own = features.values[:, : len(model._learner_columns(graph, judged[:1])[1])]
        for method, columns in (("forest", own), ("forest on neighborhoods", features.values[:, features.local])):
            forest = RandomForestClassifier(random_state=number, n_jobs=1).fit(columns[judged], anomalous)
            scores[method] = forest.predict_proba(columns[rest])[:, 1]
        if "aggregated" in known[name]:
            scores |= by_graphspot(known[name]["aggregated"], judged, rest, anomalous, number)
            scores |= by_others(known[name]["seen"], judged, rest, anomalous, number)
        brier, base = ((chance - truth) ** 2).mean(), truth.mean() * (1.0 - truth.mean())
        row |= {"ece": calibration_error(truth, chance), "brier": round(float(brier), 4), "base": round(float(base), 4)}
    return row | {method: figures(truth, values) for method, values in scores.items()}


def count_flags(task: tuple[str, str, int]) -> dict[str, Any] | None:
    """Return how many nodes without a label are flagged, how many of them wrongly, and whether that is estimated."""
    from hopsight.explanations.text import flagged_sentence

    name, protocol, number = task
    labels, model, graph = (known[name][part] for part in ("labels", "model", "graph"))
    judged = judged_in(task)
    if len({*labels[judged].tolist()}) < 2:
        return None
    given = dict(zip(graph.node_ids[judged].tolist(), (labels[judged] == 1).tolist(), strict=True))
    learned = model.learn(given, graph=graph)
    rest = np.setdiff1d(np.flatnonzero(labels >= 0), judged)
    flagged = rest[learned.label_[rest] == 1]
    said = flagged_sentence(learned, int(learned.label_.sum()), graph.n_nodes)
    row = {"graph": name, "protocol": protocol, "draw": number, "estimated": int("expected to be" in said)}
    return row | {"flagged": flagged.size, "false": int((labels[flagged] == 0).sum())}


def figures(truth: Any, scores: Any) -> list[float]:
    """Return ROC-AUC and average precision."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    return [round(float(area(truth, scores)), 4) for area in (roc_auc_score, average_precision_score)]


def ask(name: str) -> dict[str, Any]:
    """Return the number of anomalies among the first questions of the queue, with and without learning in between."""
    labels, model, graph = (known[name][part] for part in ("labels", "model", "graph"))

    def asked(learning: bool) -> list[int]:
        taught, answers = model, dict[int, bool]()
        order = iter(model.questions(graph.n_nodes, graph))
        while len(answers) < QUESTIONS[-1]:
            if learning and len(answers) % LEARN_EVERY == 0 and len(set(answers.values())) == 2:
                given = {graph.node_ids[place]: anomalous for place, anomalous in answers.items()}
                taught = model.learn(given, graph=graph)
                order = iter(taught.questions(graph.n_nodes, graph, answers))
            place = next(place for place, _ in order if labels[place] >= 0 and place not in answers)
            answers[place] = bool(labels[place] == 1)
        return [sum(list(answers.values())[:n]) for n in QUESTIONS]

    return {"graph": name, "protocol": "found", "no labels": asked(False), "learned": asked(True)}


def by_graphspot(columns: Any, judged: Any, rest: Any, anomalous: Any, seed: int) -> dict[str, Any]:
    """Return the scores of graphspot's detectors, which learn from aggregated attributes."""
    from graphspot.detectors import RFGraph, XGBGraph

    scores = {}
    for kind in (RFGraph, XGBGraph):
        estimator = kind(random_state=seed, params={"n_jobs": 1})._make_estimator(anomalous.astype(int))
        scores[kind.__name__] = estimator.fit(columns[judged], anomalous.astype(int)).predict_proba(columns[rest])[:, 1]
    return scores


def by_others(columns: Any, judged: Any, rest: Any, anomalous: Any, seed: int) -> dict[str, Any]:
    """Return the scores of XGBOD, which learns from the labeled rows, and of an AAD forest, which sees all rows."""
    from coniferest.aadforest import AADForest
    from coniferest.label import Label
    from pyod.models.xgbod import XGBOD

    rows = np.asarray(columns, dtype=np.float64)
    aad = AADForest(n_jobs=1, random_seed=seed)
    aad.fit_known(rows, rows[judged], np.where(anomalous, Label.ANOMALY, Label.REGULAR))
    scores = {"AAD forest": -aad.score_samples(rows[rest])}
    try:
        xgbod = XGBOD(random_state=seed).fit(rows[judged], anomalous.astype(int))
        scores["XGBOD"] = xgbod.decision_function(rows[rest])
    except ValueError:
        pass  # its neighbors need more than ten labels: the ranking without labels counts
    return scores


def judged_in(task: tuple[str, str, int]) -> Any:
    """Return the positions of the nodes whose labels are given in a draw; none if the graph has too few."""
    name, protocol, number = task
    labels, model, graph = (known[name][part] for part in ("labels", "model", "graph"))
    rng = np.random.default_rng(number)
    nobody = np.zeros(0, dtype=np.int64)
    anomalous, normal = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    if "+" in protocol:
        sizes = [int(size) for size in protocol.split("+")]
        if anomalous.size < sizes[0] + LEAST_UNLABELED or normal.size < sizes[1] + 10:
            return nobody
        both = zip((anomalous, normal), sizes, strict=True)
        return np.sort(np.concatenate([rng.choice(kind, size, replace=False) for kind, size in both]))
    kind, count = protocol.split()
    n, labeled = int(count), np.flatnonzero(labels >= 0)
    if 2 * n > labeled.size:
        return nobody
    if kind == "random":
        return np.sort(rng.choice(labeled, n, replace=False))
    if kind == "queue":
        asked = np.array([place for place, _ in model.questions(graph.n_nodes, graph) if labels[place] >= 0])
    else:
        asked = labeled[np.argsort(-model.decision_score_[labeled], kind="stable")]
    return np.sort(rng.choice(asked[: n + n // 2], n, replace=False))


def calibration_error(truth: Any, chance: Any) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    bins = np.minimum((10 * chance).astype(int), 9)
    wrong = sum(abs(chance[bins == k].sum() - truth[bins == k].sum()) for k in range(10))
    return round(float(wrong / truth.size), 4)


def tables(rows: Sequence[dict[str, Any]]) -> str:
    """Return Markdown: means over graphs by method, single graphs, and how many anomalies the queue found."""
    found = [row for row in rows if row["protocol"] == "found"]
    rows = [row for row in rows if row["protocol"] != "found"]
    methods = [method for method in METHODS if all(method in row for row in rows)]
    lines = [f"| labels | graphs | {' | '.join(methods)} |", "|---|---|" + "---|" * len(methods)]
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        for word, names in (("organic", ORGANIC), ("planted", PLANTED)):
            cells = [_mean(rows, protocol, names, method) for method in methods]
            count = len({row["graph"] for row in rows if row["protocol"] == protocol and row["graph"] in names})
            if count:
                shown = " | ".join(f"{cell[0]:.3f} / {cell[1]:.3f}" for cell in cells)
                lines.append(f"| {protocol} | {count} {word} | {shown} |".replace("0.", "."))
    lines += ["", "| labels | graph | no labels | learned | difference | calibration error | Brier, base rate |",
              "|---|---|---|---|---|---|---|"]  # fmt: skip
    for protocol in ("20+80", "random 100", "queue 20", "queue 100"):
        lines += _single(rows, protocol)
    lines += [
        "",
        f"| graph | {' | '.join(f'first {n}: asked once, learning' for n in QUESTIONS)} |",
        "|---|" + "---|" * 3,
    ]
    for row in found:
        pairs = zip(row["no labels"], row["learned"], strict=True)
        lines.append(f"| {row['graph']} | {' | '.join(f'{once}, {learning}' for once, learning in pairs)} |")
    return "\n".join(lines)


def _single(rows: Sequence[dict[str, Any]], protocol: str) -> Iterator[str]:
    for name in dict.fromkeys(row["graph"] for row in rows):
        mine = [row for row in rows if (row["graph"], row["protocol"]) == (name, protocol)]
        if not mine:
            continue
        pairs = np.array([(row["no labels"][0], row["learned"][0]) for row in mine])
        gains = pairs[:, 1] - pairs[:, 0]
        half = 1.96 * gains.std(ddof=1) / np.sqrt(gains.size) if gains.size > 1 else np.nan
        taught = [row for row in mine if "ece" in row]
        measured = (
            [np.mean([row[key] for row in taught]) for key in ("ece", "brier", "base")] if taught else [np.nan] * 3
        )
        yield (
            f"| {protocol} | {name} | {pairs[:, 0].mean():.3f} | {pairs[:, 1].mean():.3f} "
            f"| {gains.mean():+.3f} ± {half:.3f} | {measured[0]:.3f} | {measured[1]:.3f}, {measured[2]:.3f} |"
        )


def _mean(rows: Sequence[dict[str, Any]], protocol: str, names: Sequence[str], method: str) -> tuple[float, float]:
    """Return mean ROC-AUC and average precision over graphs of the means over draws."""
    found: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        if row["protocol"] == protocol and row["graph"] in names:
            found[row["graph"]].append(row[method])
    means = np.array([np.mean(values, axis=0) for values in found.values()])
    return tuple(means.mean(axis=0)) if means.size else (np.nan, np.nan)


if __name__ == "__main__":
    main()
