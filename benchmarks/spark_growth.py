"""The Spark engine: agreement with one machine, growth, shuffled bytes against formulas, and a hub.

    python benchmarks/spark_growth.py --nodes 100000 --compare --out growth.json
    python benchmarks/spark_growth.py --nodes 1000000 --plain
    python benchmarks/spark_growth.py --injected blogcatalog --data-dir DIR --compare
    python benchmarks/spark_growth.py --nodes 100000 --blocks 4 --hub

Prints one JSON object: seconds, peak memory of Java and all Python processes, ROC-AUC where anomalies are known; of
every stage rows and bytes shuffled, the bytes that its formula gives, the share of its longest task and of the task
that reads most; with --compare Spearman's correlation and the common part of the top 50 with one machine. Formulas
count the bytes before compression: --plain has Spark write them so.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from scipy.stats import spearmanr

import hopsight as hs
from hopsight.detectors.splits import MANY_NODES
from hopsight.pools import source_count
from hopsight.spark.detection import detect
from hopsight.spark.measure import Measures
from hopsight.spark.pairs import PORTION
from hopsight.spark.session import open_session


def main() -> None:
    """Run once and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--injected", help="a network of the catalogue, with 150 + 150 planted anomalies")
    parser.add_argument("--data-dir")
    parser.add_argument("--hub", action="store_true", help="link one node to half of all")
    parser.add_argument("--compare", action="store_true", help="fit on one machine too")
    parser.add_argument("--plain", action="store_true", help="do not compress what is shuffled")
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    graph = network(options)
    report: dict[str, Any] = {"nodes": graph.n_nodes, "links": graph.n_edges, "attributes": graph.n_attributes}
    if options.plain:
        os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.shuffle.compress=false pyspark-shell"
    spark = open_session(options.master)
    with tempfile.TemporaryDirectory() as folder:
        write(graph, Path(folder))
        links, nodes = (spark.read.parquet(f"{folder}/{name}.parquet") for name in ("links", "nodes"))
        watched = Measures(spark, lambda name: print(time.strftime("%X"), name, file=sys.stderr, flush=True))
        memory = PeakMemory()
        memory.start()
        started = time.perf_counter()
        found = detect(links, nodes, hs.CrossHCM(seed=0), n_blocks=options.blocks, measures=watched)
        report |= {"seconds": time.perf_counter() - started, "peak_gb": memory.end() / 1e9}
        rows = found.scores.select("node", "score").toArrow()
    scores = np.empty(graph.n_nodes)
    scores[rows["node"].to_numpy()] = rows["score"].to_numpy()
    report["n_blocks"] = found.network["n_blocks"]
    wanted = expected_bytes(graph, found.network["n_blocks"], hs.CrossHCM())
    report["stages"] = {name: {**stage, "formula_bytes": wanted.get(name)} for name, stage in found.stages.items()}
    if graph.labels is not None:
        report["roc_auc"] = hs.metrics.roc_auc(graph.labels, scores)
    if options.compare:
        report |= compare(graph, scores)
    text = json.dumps(report, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


class PeakMemory(threading.Thread):
    """Watches the memory of this process and all below it (Java, Python workers), pages they share counted once."""

    def __init__(self, every: float = 2.0) -> None:
        super().__init__(daemon=True)
        self.every, self.bytes = every, 0
        self._done = threading.Event()

    def run(self) -> None:
        """Look, and look again."""
        while not self._done.wait(self.every):
            self.bytes = max(self.bytes, sum(map(_own_bytes, [me := psutil.Process(), *me.children(recursive=True)])))

    def end(self) -> int:
        """Return the largest sum that was seen, in bytes."""
        self._done.set()
        self.join()
        return self.bytes


def _own_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


def network(options: argparse.Namespace) -> hs.AttributedGraph:
    """Return the network to run on."""
    if options.injected:
        return hs.inject(hs.load(options.injected, data_dir=options.data_dir), seed=0)
    graph = hs.make_network(options.nodes, seed=0)
    if not options.hub:
        return graph
    half = np.arange(1, graph.n_nodes // 2 + 1)
    source, target = np.concatenate([graph.edges, [np.zeros_like(half), half]], axis=1)
    return hs.AttributedGraph.from_edges(source, target, graph.attributes)


def write(graph: hs.AttributedGraph, folder: Path) -> None:
    """Write both tables as Parquet; a node's attributes are one list, its id its position."""
    source, target = graph.edges
    pq.write_table(pa.table({"source": source, "target": target}), folder / "links.parquet")
    dense = graph.attributes.toarray() if sp.issparse(graph.attributes) else np.asarray(graph.attributes)
    flat = pa.array(dense.astype(np.float64).ravel())
    lists = pa.FixedSizeListArray.from_arrays(flat, dense.shape[1]).cast(pa.list_(pa.float64()))
    table = pa.table({"id": np.arange(graph.n_nodes), "x": lists})
    pq.write_table(table, folder / "nodes.parquet", row_group_size=max(1, graph.n_nodes // 8))


def compare(graph: hs.AttributedGraph, scores: np.ndarray) -> dict[str, float]:
    """Fit on one machine and say how the two rankings agree."""
    started = time.perf_counter()
    model = hs.CrossHCM(seed=0).fit(graph)
    top = [set(np.argsort(-values, kind="stable")[:50].tolist()) for values in (scores, model.decision_score_)]
    return {
        "spearman": float(spearmanr(scores, model.decision_score_)[0]),
        "top_50_in_common": len(top[0] & top[1]),
        "seconds_on_one_machine": time.perf_counter() - started,
    }


def expected_bytes(graph: hs.AttributedGraph, q: int, model: hs.CrossHCM) -> dict[str, float]:
    """Return the bytes that every stage shuffles before compression.

    n nodes, m links, q blocks, F folds in R repeats, d columns of X, w words of 64 sources in p portions; an id takes 8
    bytes, a row of numbers 8 a column and 8 of its own, a number of a view b.
    """
    n, m = graph.n_nodes, graph.n_edges
    folds, repeats = model.n_folds * model.n_repeats, model.n_repeats
    bag = hs.preprocess.scale.choose_scaling(graph.attributes) == "none"
    d = min(model.n_components or 10**9, graph.n_attributes * (1 if bag else 2))
    w = -(-source_count(n) // 64)
    p = -(-source_count(n) // PORTION)
    b = 2 if n > MANY_NODES else 4
    again = q if q > 1 else 0  # one block needs no second shuffle to add up
    search = p * (8 * q * n + 8 * (1 - model.drop_ratio) * m)
    if q > 1:
        search += 2 * p * 8 * (1 - model.drop_ratio) * m + n * (40 * p + 72 * w + 40 * q * w)
    return {
        "index": n * (8 * d + 72) + (n * (8 * d + 56)),
        "links": 2 * n * 56 + m * (40 + 72) + m * 32 + again * n * 4 * (folds + 1),
        "pairs": q * n * 4 * d + m * 16 + search,
        "views": repeats * (q * n * (4 * d + 4 * folds + 4) + m * 16) + again * folds * n * 4 * d,
        "judge": folds * (q * n * 2 * b * d + m * 16) + repeats * m * 40 + m * 16,
        "score": q * n * 4 + m * 40 + 2 * q * m * 24 + q * n * 32 + q * q * n * 8,
        "rank": n * (80 + 32) + n * 80 + m * (48 + 64 + 80) + 2 * n * 32,
    }


if __name__ == "__main__":
    main()
