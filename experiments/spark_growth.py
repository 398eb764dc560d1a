"""Measure the Spark engine: agreement with one machine, growth, shuffled bytes against formulas, and a hub.

    python experiments/spark_growth.py --nodes 100000 --compare --out growth.json
    python experiments/spark_growth.py --nodes 1000000 --plain
    python experiments/spark_growth.py --injected blogcatalog --data-dir DIR --compare
    python experiments/spark_growth.py --nodes 100000 --blocks 4 --hub

Prints one JSON object: seconds, peak memory of Java and all Python processes, and ROC-AUC if anomalies are known; for
every stage the shuffled rows and bytes, the bytes that its formula predicts, and the shares of the longest task and of
the task that reads most; with --compare Spearman's correlation with one machine and the overlap of the first 50 nodes.
The formulas count bytes before compression: --plain turns Spark's compression off.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from scipy.stats import spearmanr

import hopsight as hs
from hopsight.hcm.splits import HALF_PRECISION_NODES
from hopsight.hops.pool import source_count
from hopsight.metrics import roc_auc
from hopsight.runs.console import Progress
from hopsight.spark.detection import detect
from hopsight.spark.model import PORTION
from hopsight.spark.session import open_session

MAX_TASKS = 100_000  # of one step that are asked for


def main() -> None:
    """Run once and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--injected", help="a graph of the catalog, with 150 + 150 planted anomalies")
    parser.add_argument("--data-dir")
    parser.add_argument("--hub", action="store_true", help="connect one node to half of the others")
    parser.add_argument("--compare", action="store_true", help="fit on one machine too")
    parser.add_argument("--plain", action="store_true", help="do not compress what is shuffled")
    parser.add_argument("--memory", default="6g", help="heap of the driver's Java, where the tasks are too")
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    graph: Any = make_input(options)
    labels, n_nodes, formula = graph.labels, graph.n_nodes, byte_formula(graph, hs.CrossHCM())
    report: dict[str, Any] = {"nodes": graph.n_nodes, "edges": graph.n_edges, "attributes": graph.n_attributes}
    compress = "false" if options.plain else "true"
    os.environ["PYSPARK_SUBMIT_ARGS"] = (
        f"--driver-memory {options.memory} --conf spark.shuffle.compress={compress} pyspark-shell"
    )
    spark = open_session(options.master)
    with tempfile.TemporaryDirectory() as folder:
        write(graph, Path(folder))
        graph = graph if options.compare else None  # a run on a cluster has no graph in its driver
        edges, nodes = (spark.read.parquet(f"{folder}/{name}.parquet") for name in ("edges", "nodes"))
        measures = StageMeasures(spark)
        memory = PeakMemory()
        memory.start()
        started = time.perf_counter()
        found = detect(edges, nodes, hs.CrossHCM(seed=0), n_blocks=options.blocks, progress=measures)
        report |= {"seconds": time.perf_counter() - started, "peak_gb": memory.end() / 1e9}
        rows = found.scores.select("node", "score").toArrow()
    scores = np.empty(n_nodes)
    scores[rows["node"].to_numpy()] = rows["score"].to_numpy()
    report["n_blocks"] = found.graph["n_blocks"]
    wanted = formula(found.graph["n_blocks"])
    report["stages"] = {name: {**stage, "formula_bytes": wanted.get(name)} for name, stage in measures.stages.items()}
    if labels is not None:
        report["roc_auc"] = roc_auc(labels, scores)
    if options.compare:
        report |= compare(graph, scores)
    text = json.dumps(report, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


class StageMeasures(Progress):
    """Measures the stages of a run by Spark's own counters.

    For each stage ``seconds``, ``tasks``, ``shuffle_rows`` and ``shuffle_bytes`` (written), and two shares: in the
    longest step with more than one task, the longest task's share of the time (``largest_task``); in the step that read
    most from shuffles, the share of the task that read most (``largest_read``).
    """

    def __init__(self, spark: Any) -> None:
        self.stages: dict[str, dict[str, float]] = {}
        self._context = spark.sparkContext
        self._seen: set[tuple[int, int]] = {(step.stageId(), step.attemptId()) for step in self._steps()}

    def begin(self, stage: str) -> None:
        """Say that a stage begins."""
        super().begin(stage)
        print(time.strftime("%X"), stage, file=sys.stderr, flush=True)

    def end(self, stage: str, seconds: float) -> None:
        """Measure what has happened since the last stage ended."""
        self.stages[stage] = {"seconds": seconds, **self._new_steps()}

    def _new_steps(self) -> dict[str, float]:
        steps = [step for step in self._steps() if (step.stageId(), step.attemptId()) not in self._seen]
        self._seen |= {(step.stageId(), step.attemptId()) for step in steps}
        counted = {
            "tasks": sum(step.numCompleteTasks() for step in steps),
            "shuffle_rows": sum(step.shuffleWriteRecords() for step in steps),
            "shuffle_bytes": sum(step.shuffleWriteBytes() for step in steps),
        }
        several = [step for step in steps if step.numCompleteTasks() > 1]
        longest = max(several, key=lambda step: step.executorRunTime(), default=None)
        widest = max(several, key=lambda step: step.shuffleReadBytes(), default=None)
        return counted | {
            "largest_task": self._largest(longest, lambda task: task.executorRunTime()),
            "largest_read": self._largest(widest, _bytes_read),
        }

    def _steps(self) -> list[Any]:
        """Return all of what Spark calls stages that it remembers."""
        core = self._context._jsc.sc()
        core.listenerBus().waitUntilEmpty()
        gateway = self._context._gateway
        nothing = gateway.new_array(gateway.jvm.double, 0)
        found = core.statusStore().stageList(None, False, False, nothing, gateway.jvm.java.util.ArrayList())
        return [found.apply(number) for number in range(found.size())]

    def _largest(self, step: Any, amount: Callable[[Any], int]) -> float:
        """Return the largest task's share of an amount, or 1 if there is none."""
        if step is None:
            return 1.0
        tasks = self._context._jsc.sc().statusStore().taskList(step.stageId(), step.attemptId(), MAX_TASKS)
        metrics = [tasks.apply(number).taskMetrics() for number in range(tasks.size())]
        amounts = [amount(metric.get()) for metric in metrics if metric.isDefined()]
        return max(amounts) / sum(amounts) if amounts and sum(amounts) else 1.0


def _bytes_read(task: Any) -> int:
    read = task.shuffleReadMetrics()
    return int(read.localBytesRead() + read.remoteBytesRead())


class PeakMemory(threading.Thread):
    """Measures the memory of this process and its children (Java, Python workers), shared pages counted once."""

    def __init__(self, every: float = 2.0) -> None:
        super().__init__(daemon=True)
        self.every, self.bytes = every, 0
        self._done = threading.Event()

    def run(self) -> None:
        """Measure until the end."""
        while not self._done.wait(self.every):
            self.bytes = max(self.bytes, sum(map(_own_bytes, [me := psutil.Process(), *me.children(recursive=True)])))

    def end(self) -> int:
        """Return the largest sum in bytes."""
        self._done.set()
        self.join()
        return self.bytes


def _own_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


def make_input(options: argparse.Namespace) -> hs.AttributedGraph:
    """Return the graph to run on."""
    if options.injected:
        return hs.inject(hs.load(options.injected, data_dir=options.data_dir), seed=0)
    graph = hs.make_graph(options.nodes, seed=0)
    if not options.hub:
        return graph
    half = np.arange(1, graph.n_nodes // 2 + 1)
    source, target = np.concatenate([graph.edges, [np.zeros_like(half), half]], axis=1)
    return hs.AttributedGraph.from_edges(source, target, graph.attributes)


def write(graph: hs.AttributedGraph, folder: Path) -> None:
    """Write both tables as Parquet; the attributes of a node are one list, its id is its position."""
    source, target = graph.edges
    pq.write_table(pa.table({"source": source, "target": target}), folder / "edges.parquet")
    dense = graph.attributes.toarray() if sp.issparse(graph.attributes) else np.asarray(graph.attributes)
    flat = pa.array(dense.astype(np.float64).ravel())
    lists = pa.FixedSizeListArray.from_arrays(flat, dense.shape[1]).cast(pa.list_(pa.float64()))
    table = pa.table({"id": np.arange(graph.n_nodes), "x": lists})
    pq.write_table(table, folder / "nodes.parquet", row_group_size=max(1, graph.n_nodes // 8))


def compare(graph: hs.AttributedGraph, scores: np.ndarray) -> dict[str, float]:
    """Fit on one machine and measure how the two rankings agree."""
    started = time.perf_counter()
    model = hs.CrossHCM(seed=0).fit(graph)
    top = [set(np.argsort(-values, kind="stable")[:50].tolist()) for values in (scores, model.decision_score_)]
    return {
        "spearman": float(spearmanr(scores, model.decision_score_)[0]),
        "top_50_in_common": len(top[0] & top[1]),
        "seconds_on_one_machine": time.perf_counter() - started,
    }


def byte_formula(graph: hs.AttributedGraph, model: hs.CrossHCM) -> Callable[[int], dict[str, float]]:
    """Return a function of the number q of blocks: the bytes that every stage shuffles before compression.

    With n nodes, m edges, F folds of K networks, d columns of X, w words of 64 sources in p portions, and b bytes per
    number of a view; an id takes 8 bytes, a row 12 and 8 for each of its fields. See docs/spark.md.
    """
    n, m = graph.n_nodes, graph.n_edges
    bag = hs.preprocess.transform.choose_scaling(graph.attributes) == "none"
    columns = graph.n_attributes * (1 if bag else 2)
    d, settings = min(model.n_components or columns, columns), (model.n_folds, model.n_inner, model.drop_ratio)
    return lambda q: stage_bytes(n, m, q, d, *settings)


def stage_bytes(n: int, m: int, q: int, d: int, networks: int, inner: int, dropped: float) -> dict[str, float]:
    """Return the bytes of every stage."""
    folds, judging = networks * inner, networks * (inner - 1)
    w, p = (networks * -(-source_count(n, networks) // size) for size in (64, PORTION))
    b = 2 if n > HALF_PRECISION_NODES else 4
    search = 24 * w * q * n + 24 * p * (1 - dropped) * (1 - 1 / networks) * m + n * (8 * p + 32 * w)
    again = q if q > 1 else 0  # the results of several cells are added up
    return {
        "read": 36 * n,
        "index": n * (8 * d + 76),
        "edges": 60 * n + 180 * m + again * n * 4 * (folds + 1),
        "pairs": q * n * 8 * d + 44 * m + search + 24 * w * again * n,
        "views": networks * (q * n * (4 * d + 4 * folds + 4) + 16 * m) + again * folds * n * 4 * d,
        "judge": judging * (q * n * 2 * b * d + 24 * m) + 64 * judging / networks * m,
        "score": q * n * (44 + 16 * q) + n * (8 * d + 344) + 64 * m * (q + 2),
        "rank": 344 * n + 260 * m,
    }


if __name__ == "__main__":
    main()
