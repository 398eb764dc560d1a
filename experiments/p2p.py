"""Measure graphs of several types: p2p without labels, with 100 labels, time and memory by size; and generated ones.

    python experiments/p2p.py --out experiments/results/p2p.json
    python experiments/p2p.py --what typed --out experiments/results/typed.json

Tables are read from the folder ``p2p`` of HOPSIGHT_DATA (default: ../shared/data). ``default`` rows have the ROC-AUC
over users by seed; ``20+80`` rows that of users without a label, ten draws of 20 frauds and 80 others
(``experiments/labels.py``); ``sizes`` rows the seconds, processor seconds and peak memory of ``hopsight detect
graph.toml`` from tables to report, for a part of the tables, all of them and several copies with ids of their own.
``typed`` rows have the ROC-AUC over the users of generated graphs (:func:`generated`, :func:`story`), without labels
and with 20 anomalies and 80 others, of the tables as they are, of the users and the edges among them alone, and of
everything as one table of nodes (what a type lacks has the mean of the others) and one of edges.
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
SIZES = (0.1, 0.3, 1, 3, 10)
NATURES: dict[str, dict[str, Any]] = {
    "payments, with random cards and devices": {"paid": 0.1},
    "devices alone": {"device": 0.9, "used": 0.1},
    "both, half of each": {"paid": 0.45, "device": 0.85, "used": 0.45},
    "a second relation among users": {"second": 0.1},
    "the users' own attributes": {"own": 2.0, "device": 0.5},
    "more cards": {"cards": 2.5, "device": 0.5},
    "groups of five around two devices": {"farm": 5},
}
STORIES = ("promotions", "shell firms", "bots")
USERS, COMMUNITIES = 1000, 6


def main() -> None:
    """Measure, and write one row per seed, draw and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", default=("default", "20+80", "sizes"))
    parser.add_argument("--natures", nargs="+", default=[*NATURES, *STORIES], help="of generated graphs")
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    folder = Path(os.environ.get("HOPSIGHT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "p2p"
    rows = []
    if {"default", "20+80"} & {*options.what}:
        rows += list(judge(folder, options.seeds if "default" in options.what else 1, options.draws))
    rows = [row for row in rows if row["what"] in options.what]
    rows += [run(folder, size) for size in options.sizes if "sizes" in options.what]
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
            rows = features_of(model, graph, model._learner_columns, model.decision_score_)
            features = rows(np.arange(graph.n_nodes))
            known = {"graph": graph, "model": model, "features": features, "labels": np.asarray(graph.labels)}
            labels.known["p2p"] = known
            for number in range(n_draws):
                yield {"what": "20+80"} | (labels.measure(("p2p", "20+80", number)) or {})


def part_of(tables: dict[str, Any], share: float) -> dict[str, Any]:
    """Return the tables of the first users: their rows, and their devices; whoever they paid becomes one of them."""
    import polars as pl

    users = tables["users.parquet"]["id"].sort()
    kept = users[: round(share * users.len())]
    other = pl.Series(range(users.len())) % kept.len()
    found = {"users.parquet": tables["users.parquet"].filter(pl.col("id").is_in(kept.implode()))}
    for file in [each["file"] for each in EDGES.values()]:
        table = tables[file].filter(pl.col("from_user_id").is_in(kept.implode()))
        if "to_user_id" in table.columns:
            table = table.with_columns(pl.col("to_user_id").replace_strict(users, kept.gather(other)))
        found[file] = table
    mine = found["used_device.parquet"]["to_device_id"].implode()
    return found | {"devices.parquet": tables["devices.parquet"].filter(pl.col("id").is_in(mine))}


def run(folder: Path, size: float) -> dict[str, Any]:
    """Return the time and memory of the command for a part of the tables, or some copies of them with other ids."""
    import polars as pl

    tables = {each["file"]: pl.read_parquet(folder / each["file"]) for each in (*NODES.values(), *EDGES.values())}
    tables = part_of(tables, size) if size < 1 else tables
    copies = max(1, round(size))
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        for file, table in tables.items():
            ids = [name for name in table.columns if name == "id" or name.endswith("_id")]
            parts = [table.with_columns(pl.col(ids) + copy * 10**9) for copy in range(copies)]
            pl.concat(parts).write_parquet(here / file)
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
    n_rows = copies * sum(tables[each["file"]].height for each in EDGES.values())
    return {
        "what": "sizes", "size": size, "edge rows": n_rows,
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


def story(name: str, seed: int) -> tuple[dict[str, Any], dict[tuple[str, str, str], Any]]:
    """Return tables of another kind of graph with about 4% anomalies; the first type of nodes is ranked.

    ``promotions``: accounts of one person share devices, are new, and order little at one shop; so do
    some families share one.
    ``shell firms``: young firms at addresses of many firms with directors of many firms invoice each other; there are
    ordinary ones in business centers. ``bots``: accounts behind a few addresses write short posts of one tone and
    follow anybody.
    """
    import polars as pl

    rng, n = np.random.default_rng([seed, *name.encode()]), 1200
    group, truth = rng.integers(8, size=n), np.zeros(n, dtype=bool)
    crowds = rng.permutation(n)[:48].reshape(-1, {"promotions": 4, "shell firms": 6, "bots": 12}[name])
    truth[crowds] = True
    crowd = np.full(n, -1)
    crowd[crowds] = np.arange(len(crowds))[:, None]

    def pairs(count: Any, n_targets: int, stay: Any = 0.0, among: Any = None) -> tuple[Any, Any]:
        """Return sources and targets, these of the source's group with the chance to stay."""
        source = np.repeat(np.arange(n), count)
        target, places = rng.integers(n_targets, size=source.size), group if among is None else among
        inside = rng.random(source.size) < np.broadcast_to(stay, n)[source]
        for each in range(8):
            mine = inside & (group[source] == each)
            target[mine] = rng.choice(np.flatnonzero(places == each), mine.sum())
        return source, target

    def table(source: Any, target: Any, **columns: Any) -> Any:
        return pl.DataFrame({"source": source, "target": target} | columns).filter(pl.col("source") != pl.col("target"))

    def days(source: Any, sudden: float) -> Any:
        """Return times within a year; those of a crowd within some days."""
        first = rng.integers(300, size=len(crowds) + 1)[crowd[source]]
        spread = np.where(truth[source], rng.random(source.size) * sudden, rng.random(source.size) * 365 - first)
        return ((first + spread) * 86400).astype(np.int64)

    columns: dict[str, Any] = {"id": np.arange(n), "fraud": truth.astype(int)}
    if name == "promotions":
        columns["age"] = np.where(truth, rng.gamma(2, 90, n), rng.gamma(2, 200, n)).round()
        columns["newsletter"], columns["city"] = rng.integers(2, size=n), [f"c{each}" for each in group.tolist()]
        shops = rng.integers(8, size=150)
        source, target = pairs(1 + rng.poisson(4, n), 150, 0.7, shops)
        abused = truth[source] & (rng.random(source.size) < 0.4)
        target[abused] = rng.integers(150, size=len(crowds))[crowd[source[abused]]]
        amount = rng.lognormal(np.where(abused, 2.5, 3.2), 0.6).round(2)
        of_devices = pairs(1 + rng.poisson(0.4, n), 1500)
        home = np.flatnonzero(rng.random(n) < 0.3)  # families have one device, too
        farm = np.sort(crowds.ravel())[rng.random(crowds.size) < 0.6]
        device_ends = [*of_devices[1], *(2000 + home // 3), *(3000 + crowd[farm])]
        referred = pairs(rng.poisson(0.5, n), n, 0.6)
        invites = crowds[rng.random(len(crowds)) < 0.5]
        nodes = {
            "customer": columns,
            "shop": {"id": np.arange(150), "size": rng.lognormal(3, 1, 150), "kind": [f"k{k}" for k in shops.tolist()]},
        }
        edges = {
            ("customer", "ordered", "shop"): table(source, target, weight=amount, time=days(source, 9.0)),
            ("customer", "used", "device"): table([*of_devices[0], *home, *farm], device_ends),
            ("customer", "referred", "customer"): table([*referred[0], *invites[:, 0]], [*referred[1], *invites[:, 1]]),
        }
    elif name == "shell firms":
        columns["age"] = np.where(truth, rng.gamma(2, 4.5, n), rng.gamma(2, 6, n)).round(1)
        columns["staff"] = np.where(truth, rng.lognormal(1.7, 1, n), rng.lognormal(2, 1.2, n)).round()
        columns["sector"] = [f"s{each}" for each in group.tolist()]
        one = np.where(rng.random(n) < 0.8, np.arange(n), 5000 + rng.integers(60, size=n))  # business centers
        address = np.where(truth & (rng.random(n) < 0.6), 6000 + crowd % 4, one)
        source, target = pairs(1 + rng.poisson(0.6, n), 1500)
        target = np.where(truth[source] & (rng.random(source.size) < 0.4), 4000 + crowd[source] % 5, target)
        buyer, seller = pairs(1 + rng.poisson(4, n), n, np.where(truth, 0.6, 0.75))
        inner = truth[buyer] & (rng.random(buyer.size) < 0.1)
        seller[inner] = crowds[crowd[buyer[inner]], rng.integers(6, size=inner.sum())]
        amount = rng.lognormal(np.where(inner, 9.5, 8.0), 0.8).round(2)
        people = np.unique(target)
        nodes = {"firm": columns, "director": {"id": people, "born": rng.integers(1945, 2000, people.size)}}
        edges = {
            ("firm", "directed_by", "director"): table(source, target),
            ("firm", "registered_at", "address"): table(np.arange(n), 10000 + address),
            ("firm", "invoiced", "firm"): table(buyer, seller, weight=amount, time=days(buyer, 200.0)),
        }
    else:
        columns["followers"] = np.where(truth, rng.lognormal(2.6, 1, n), rng.lognormal(3, 1.2, n)).round()
        columns["days"] = rng.gamma(2, 300, n).round()
        columns["topic"] = [f"t{each}" for each in group.tolist()]
        writer = np.repeat(np.arange(n), 1 + rng.poisson(np.where(truth, 7, 4)))
        length = rng.lognormal(np.where(truth[writer], 3.6, 4.0), np.where(truth[writer], 0.6, 0.8)).round()
        tone = np.where(truth[writer], 0.4, 0.0) + rng.normal(0, np.where(truth[writer], 0.8, 1.0))
        source, target = pairs(1 + rng.poisson(1.0, n), 900)
        target = np.where(truth[source] & (rng.random(source.size) < 0.4), 2000 + crowd[source], target)
        nodes = {"user": columns, "post": {"id": np.arange(writer.size), "length": length, "tone": tone}}
        edges = {
            ("user", "wrote", "post"): table(writer, 10**5 + np.arange(writer.size)),
            ("user", "seen_at", "ip"): table(source, target),
            ("user", "follows", "user"): table(*pairs(1 + rng.poisson(5, n), n, np.where(truth, 0.5, 0.8))),
        }
        nodes["post"]["id"] = nodes["post"]["id"] + 10**5
    return {kind: pl.DataFrame(each) for kind, each in nodes.items()}, edges


def graphs_of(nature: str, seed: int) -> dict[str, tuple[Any, Any]]:
    """Return one generated graph read in three ways, and which of its nodes are of the type that is ranked."""
    import polars as pl
    from polars import selectors

    import hopsight as hs

    nodes, edges = story(nature, seed) if nature in STORIES else generated(nature, seed)
    ranked = next(iter(nodes))
    renamed = {
        key: table.with_columns(
            source=pl.format(f"{key[0]} {{}}", "source"), target=pl.format(f"{key[2]} {{}}", "target")
        )
        for key, table in edges.items()
    }
    tables = {kind: table.with_columns(id=pl.format(f"{kind} {{}}", "id")) for kind, table in nodes.items()}
    everything = pl.concat([table.select("source", "target") for table in renamed.values()])
    ids = pl.concat([everything["source"], everything["target"]]).unique().sort().rename("id").to_frame()
    every = ids.join(pl.concat([*tables.values()], how="diagonal"), on="id", how="full", coalesce=True)
    numbers = selectors.numeric() - selectors.by_name("id", "fraud")
    every = every.with_columns(pl.col("fraud").fill_null(0), numbers.fill_null(strategy="mean"))
    among = pl.concat([table for (first, _, second), table in renamed.items() if first == second])
    typed = {kind: {"file": table} | ({"label": "fraud"} if kind == ranked else {}) for kind, table in nodes.items()}
    graphs = {
        "typed": hs.load(nodes=typed, edges=edges, rank=ranked, notices=[]),
        "users alone": hs.load(among, nodes=tables[ranked], label="fraud", notices=[]),
        "as one": hs.load(everything, nodes=every, label="fraud", notices=[]),
    }
    return {
        name: (graph, np.array([str(node).startswith(f"{ranked} ") or name == "typed" for node in graph.node_ids]))
        for name, graph in graphs.items()
    }


def three_ways(nature: str, seed: int) -> dict[str, Any]:
    """Return the ROC-AUC over the ranked nodes of one generated graph, read in three ways, without and with labels."""
    from sklearn.metrics import roc_auc_score

    import hopsight as hs

    row: dict[str, Any] = {"what": "typed", "nature": nature, "seed": seed}
    for name, (graph, users) in graphs_of(nature, seed).items():
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
