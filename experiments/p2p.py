"""Measure graphs of several types: p2p without labels, with 100 labels, time and memory by size; and generated ones.

    python experiments/p2p.py --out experiments/results/p2p.json
    python experiments/p2p.py --what typed --out experiments/results/typed.json

Tables are read from the folder ``p2p`` of HOPSIGHT_DATA (default: ../shared/data). ``default`` rows have the ROC-AUC
over users by seed; ``20+80`` rows that of users without a label, ten draws of 20 frauds and 80 others
(``experiments/labels.py``); ``copies`` rows the seconds, processor seconds and peak memory of ``hopsight detect
graph.toml`` from tables to report, for the tables and for two and four copies of them with ids of their own.
``typed`` rows have the ROC-AUC over the users of generated graphs (:func:`generated`), without labels and with 20
anomalies and 80 others, of the tables as they are, of the users and the edges among them alone, and of everything as
one table of nodes (what a type lacks has the mean of the others) and one of edges.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import labels

NODES: dict[str, dict[str, Any]] = {
    "user": {"file": "users.parquet", "label": "fraudMoneyTransfer", "ignore": ["guid"]},
    "device": {"file": "devices.parquet", "ignore": ["guid"]},
}
EDGES: dict[tuple[str, str, str], dict[str, Any]] = {
    ("user", "paid", "user"): {"file": "payments.parquet", "weight": "totalAmount", "time": "transactionDateTime"},
    ("user", "referred", "user"): {"file": "referred.parquet"},
    ("user", "has_card", "card"): {"file": "has_card.parquet"},
    ("user", "used_device", "device"): {"file": "used_device.parquet"},
}
COPIES = (1, 2, 4)
NATURES = {
    "payments, with random cards and devices": {"paid": 0.1},
    "devices alone": {"device": 0.9, "used": 0.1},
    "both, half of each": {"paid": 0.45, "device": 0.85, "used": 0.45},
    "a second relation among users": {"second": 0.1},
    "the users' own attributes": {"own": 2.0, "device": 0.5},
    "more cards": {"cards": 2.5, "device": 0.5},
    "groups of five around two devices": {"farm": 5},
}
USERS, COMMUNITIES = 1000, 6


def main() -> None:
    """Measure, and write one row per seed, draw and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", default=("default", "20+80", "copies"))
    parser.add_argument("--natures", nargs="+", default=[*NATURES], help="of generated graphs")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    folder = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "p2p"
    rows = []
    if {"default", "20+80"} & {*options.what}:
        rows += list(judge(folder, options.seeds if "default" in options.what else 1, options.draws))
    rows = [row for row in rows if row["what"] in options.what]
    rows += [row for copies in COPIES if "copies" in options.what for row in [run(folder, copies)]]
    if "typed" in options.what:
        rows += [three_ways(nature, seed) for nature in options.natures for seed in range(3)]
    options.out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def judge(folder: Path, n_seeds: int, n_draws: int) -> Any:
    """Yield the ROC-AUC by seed, and of the first seed by draw of labels."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    import hopsight as hs
    from hopsight.feedback.teaching import features_of

    nodes, edges = (
        {key: table | {"file": folder / table["file"]} for key, table in tables.items()} for tables in (NODES, EDGES)
    )
    graph = hs.load(nodes=nodes, edges=edges, rank="user", notices=[])
    for seed in range(n_seeds):
        model = hs.CrossHCM(seed=seed).fit(graph)
        truth, scores = graph.labels == 1, model.decision_score_
        found = {"auc": roc_auc_score(truth, scores), "precision": average_precision_score(truth, scores)}
        yield {"what": "default", "seed": seed} | {name: round(float(value), 4) for name, value in found.items()}
        if seed == 0:
            features = features_of(model, graph, model._learner_columns, model.decision_score_)
            known = {"graph": graph, "model": model, "features": features, "labels": np.asarray(graph.labels)}
            labels.known["p2p"] = known
            for number in range(n_draws):
                yield {"what": "20+80"} | (labels.measure(("p2p", "20+80", number)) or {})


def run(folder: Path, copies: int) -> dict[str, Any]:
    """Return the time and memory of the command for some copies of the tables."""
    import polars as pl

    with tempfile.TemporaryDirectory() as place:
        here, n_rows = Path(place), {}
        for file in [table["file"] for tables in (NODES, EDGES) for table in tables.values()]:
            table = pl.read_parquet(folder / file)
            ids = [name for name in table.columns if name == "id" or name.endswith("_id")]
            parts = [table.with_columns(pl.col(ids) + copy * 10**9) for copy in range(copies)]
            pl.concat(parts).write_parquet(here / file)
            n_rows[file] = copies * table.height
        settings = ['rank = "user"']
        for kind, each in NODES.items():
            settings += [f"[nodes.{kind}]", *(f"{key} = {json.dumps(value)}" for key, value in each.items())]
        for (first, name, second), each in EDGES.items():
            ends = {"source_type": first, "target_type": second}
            settings += [f"[edges.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in (each | ends).items())]
        (here / "graph.toml").write_text("\n".join(settings))
        command = [sys.executable, "-m", "hopsight", "detect", str(here / "graph.toml"), "--out", str(here / "result")]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        assert status == 0
    return {
        "what": "copies", "copies": copies, "edge rows": sum(n_rows[each["file"]] for each in EDGES.values()),
        "seconds": round(seconds, 1), "processor": round(used.ru_utime + used.ru_stime, 1),
        "memory": used.ru_maxrss * 1024,
    }  # fmt: skip


def generated(nature: str, seed: int) -> tuple[dict[str, Any], dict[tuple[str, str, str], Any]]:
    """Return tables of nodes and edges in which 4% of the users are anomalous.

    Users have six attributes around the center of their community and pay mostly within it; each has two cards and
    some devices, drawn at random or (``device``) with this chance from those of the community. Anomalous users stay
    within it with the chance ``paid`` in payments and ``used`` in devices, or differ as the other names say.
    """
    import polars as pl

    what, rng = NATURES[nature], np.random.default_rng([seed, *nature.encode()])
    community, truth = rng.integers(COMMUNITIES, size=USERS), np.zeros(USERS, dtype=bool)
    truth[rng.choice(USERS, USERS // 25, replace=False)] = True

    def draw(places: Any, count: Any, stay: float, stray: float) -> Any:
        """Return ends: as many as ``count`` says for each user, of its community with the chance to stay."""
        users = np.repeat(np.arange(USERS), count)
        ends = rng.integers(places.size, size=users.size)
        inside = rng.random(users.size) < np.where(truth[users], stray, stay)
        for each in range(COMMUNITIES):
            mine = inside & (community[users] == each)
            ends[mine] = rng.choice(np.flatnonzero(places == each), mine.sum())
        return pl.DataFrame({"source": users, "target": ends}).filter(pl.col("source") != pl.col("target"))

    centers = rng.normal(size=(2, COMMUNITIES, 6))
    own = centers[0, community] + rng.normal(size=(USERS, 6))
    own[truth] += rng.choice([-1.0, 1.0], (truth.sum(), 6)) * what.get("own", 0.0)
    n_devices = 2 * USERS if "farm" in what else USERS // 2
    places, stay = rng.integers(COMMUNITIES, size=n_devices), what.get("device", 0.0)
    used = draw(places, 1 if "farm" in what else 1 + rng.poisson(1.5, USERS), stay, what.get("used", stay))
    if "farm" in what:
        farms = np.arange(truth.sum()) // what["farm"]
        pairs = [
            (user, 2 * (n_devices + farm) + k)
            for user, farm in zip(np.flatnonzero(truth), farms, strict=True)
            for k in (0, 1)
        ]
        used = pl.concat([used, pl.DataFrame(pairs, used.schema, orient="row")])
    n_cards = 2 + np.where(truth, rng.poisson(what.get("cards", 0.0), USERS), 0)
    edges = {
        ("user", "paid", "user"): draw(community, 1 + rng.poisson(4, USERS), 0.85, what.get("paid", 0.85)),
        ("user", "used", "device"): used,
        ("user", "has", "card"): draw(rng.integers(COMMUNITIES, size=USERS), n_cards, 0.0, 0.0),
    }
    if "second" in what:
        edges["user", "paid", "user"] = draw(community, 1 + rng.poisson(4, USERS), 0.0, 0.0)
        edges["user", "referred", "user"] = draw(community, 1 + rng.poisson(2, USERS), 0.9, what["second"])
    of_devices = centers[1, places] + rng.normal(size=(n_devices, 6))
    users = {"id": np.arange(USERS), "fraud": truth.astype(int)} | {f"x{at}": column for at, column in enumerate(own.T)}
    devices = {"id": np.arange(n_devices)} | {f"d{at}": column for at, column in enumerate(of_devices.T)}
    return {"user": pl.DataFrame(users), "device": pl.DataFrame(devices)}, edges


def three_ways(nature: str, seed: int) -> dict[str, Any]:
    """Return the ROC-AUC over users of one generated graph, read in three ways, without and with labels."""
    import polars as pl
    from sklearn.metrics import roc_auc_score

    import hopsight as hs

    nodes, edges = generated(nature, seed)
    renamed = {
        key: table.select(source=pl.format(f"{key[0]} {{}}", "source"), target=pl.format(f"{key[2]} {{}}", "target"))
        for key, table in edges.items()
    }
    tables = {kind: table.with_columns(id=pl.format(f"{kind} {{}}", "id")) for kind, table in nodes.items()}
    everything = pl.concat([*renamed.values()])
    ids = pl.concat([everything["source"], everything["target"]]).unique().sort().rename("id").to_frame()
    every = ids.join(pl.concat([*tables.values()], how="diagonal"), on="id", how="full", coalesce=True)
    every = every.with_columns(pl.col("fraud").fill_null(0), pl.exclude("id", "fraud").fill_null(strategy="mean"))
    among = pl.concat([table for (first, _, second), table in renamed.items() if first == second])
    typed = {"user": {"file": nodes["user"], "label": "fraud"}, "device": nodes["device"]}
    graphs = {
        "typed": hs.load(nodes=typed, edges=edges, rank="user", notices=[]),
        "users alone": hs.load(among, nodes=tables["user"], label="fraud", notices=[]),
        "as one": hs.load(everything, nodes=every, label="fraud", notices=[]),
    }
    row: dict[str, Any] = {"what": "typed", "nature": nature, "seed": seed}
    for name, graph in graphs.items():
        users = np.array([str(node).startswith("user ") or name == "typed" for node in graph.node_ids.tolist()])
        model, truth = hs.CrossHCM(seed=seed).fit(graph), np.asarray(graph.labels) == 1
        rng, judged = np.random.default_rng(seed), []
        for part, count in ((users & truth, 20), (users & ~truth, 80)):
            judged += rng.choice(np.flatnonzero(part), count, replace=False).tolist()
        verdicts = {graph.node_ids.tolist()[node]: int(truth[node]) for node in judged}
        learned, rest = model.learn(verdicts, notices=[]), users.copy()
        rest[judged] = False
        found = ((users, model.decision_score_), (rest, learned.decision_score_))
        row[name] = [round(float(roc_auc_score(truth[part], scores[part])), 4) for part, scores in found]
    return row


if __name__ == "__main__":
    main()
