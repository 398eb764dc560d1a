"""The Spark engine: agreement with one machine, growth, shuffled bytes against formulas, and a hub.

    python benchmarks/spark_growth.py --nodes 100000 --compare --out growth.json
    python benchmarks/spark_growth.py --injected blogcatalog --data-dir DIR --compare
    python benchmarks/spark_growth.py --nodes 100000 --hub --blocks 4

Prints one JSON object: seconds, shuffled rows and bytes, the bytes that the formula of each stage gives, the share of
the largest task, and with --compare Spearman's correlation and the common part of the top 50 with one machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
from scipy.stats import spearmanr

import hopsight as hs
from hopsight.pools import source_count
from hopsight.spark.detection import detect
from hopsight.spark.session import open_session


def main() -> None:
    """Run once and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--injected", help="a network of the catalogue, with 150 + 150 planted anomalies")
    parser.add_argument("--data-dir")
    parser.add_argument("--hub", action="store_true", help="link one node to half of all")
    parser.add_argument("--compare", action="store_true", help="fit on one machine too")
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    graph = network(options)
    report: dict[str, Any] = {"nodes": graph.n_nodes, "links": graph.n_edges, "attributes": graph.n_attributes}
    spark = open_session(options.master)
    with tempfile.TemporaryDirectory() as folder:
        write(graph, Path(folder))
        links, nodes = (spark.read.parquet(f"{folder}/{name}.parquet") for name in ("links", "nodes"))
        started = time.perf_counter()
        found = detect(links, nodes, hs.CrossHCM(seed=0), n_blocks=options.blocks)
        report |= {"seconds": time.perf_counter() - started, "n_blocks": found.network["n_blocks"]}
        scores = {row["node"]: row["score"] for row in found.scores.select("node", "score").collect()}
    wanted = expected_bytes(graph, found.network["n_blocks"], hs.CrossHCM())
    report["stages"] = {name: {**stage, "formula_bytes": wanted.get(name)} for name, stage in found.stages.items()}
    if options.compare:
        report |= compare(graph, np.array([scores[int(node)] for node in range(graph.n_nodes)]))
    text = json.dumps(report, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


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

    n nodes, m links, q blocks, F folds in R repeats, d columns of X, w words of 64 sources; an id takes 8 bytes.
    """
    n, m = graph.n_nodes, graph.n_edges
    folds, repeats = model.n_folds * model.n_repeats, model.n_repeats
    bag = hs.preprocess.scale.choose_scaling(graph.attributes) == "none"
    d = min(model.n_components or 10**9, graph.n_attributes * (1 if bag else 2))
    w = -(-source_count(n) // 64)
    again = q if q > 1 else 0  # one block needs no second shuffle to add up
    return {
        "index": n * (8 * d + 48) + n * (8 * d + 24),
        "links": 2 * n * 32 + 2 * m * 40 + m * 20 + again * n * 4 * (folds + 1),
        "pairs": q * n * (4 * d + 8) + m * 16 + 3 * (m * 24 + (q + again) * n * 8 * w) + n * 16 * w,
        "views": folds * (q * n * (4 * d + 4 * folds + 4) + m * 16 + again * n * 4 * d),
        "judge": folds * (q * n * 8 * d + m * 16) + repeats * m * 40 + m * 16,
        "score": q * n * 4 + m * 40 + 2 * q * m * 24 + q * n * 32 + q * q * n * 8,
        "rank": n * (80 + 32) + n * 80 + m * (44 + 60 + 60) + 2 * n * 24,
    }


if __name__ == "__main__":
    main()
