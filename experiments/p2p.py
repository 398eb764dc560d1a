"""Measure graphs of several types on p2p: users ranked without labels, with 100 labels, and time and memory by size.

    python experiments/p2p.py --out experiments/results/p2p.json

Tables are read from the folder ``p2p`` of HOPSIGHT_DATA (default: ../shared/data). ``default`` rows have the ROC-AUC
over users by five seeds; ``20+80`` rows that of users without a label, ten draws of 20 frauds and 80 others
(``experiments/labels.py``); ``copies`` rows the seconds, processor seconds and peak memory of ``hopsight detect
graph.toml`` from tables to report, for the tables and for two and four copies of them with ids of their own.
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


def main() -> None:
    """Measure, and write one row per seed, draw and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", default=("default", "20+80", "copies"))
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


if __name__ == "__main__":
    main()
