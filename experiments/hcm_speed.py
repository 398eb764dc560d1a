"""Time a straightforward HCM against ours on injected BlogCatalog, in one run.

    python experiments/hcm_speed.py --out hcm_speed.json

The straightforward form follows the paper's description: it keeps the full n×n matrix of hop counts, searches it for
every class in every epoch, and scores all edges in both directions in every epoch, in single precision. Ours is timed
with the same model, epochs, pairs and posterior samples, with HCM's defaults and with CrossHCM's. Also prints the time
of each stage, and the time that the arithmetic and the memory traffic alone would take on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch.nn.functional import cross_entropy

import hopsight as hs
from hopsight.metrics import roc_auc
from hopsight.nn.device import resolve_device, training_dtype
from hopsight.preprocess import AttributeTransform, drop_edges, edge_similarity
from hopsight.system.machine import machine, versions

N_CLASSES, SHARE, DROP = 4, 0.3, 0.2
UNITS, HIDDEN = 128, 256


def main() -> None:
    """Time the four fits and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--burn-in", type=int, default=40)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--data-dir")
    parser.add_argument("--out", type=Path, default=Path("hcm_speed.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    graph = hs.inject(hs.load("blogcatalog", data_dir=options.data_dir), n_cliques=10, clique_size=15, seed=0)
    warm = hs.make_graph(300, seed=0)
    schedule = {"n_epochs": options.epochs, "burn_in": options.burn_in, "n_samples": options.epochs - options.burn_in}
    models: dict[str, Any] = {
        "same": hs.HCM(max_pairs=10_000_000, sampling_ratio=SHARE, drop_ratio=DROP, n_classes=N_CLASSES, **schedule),
        "default": hs.HCM(),
        "cross": hs.CrossHCM(),
    }
    result: dict[str, Any] = {
        "machine": machine(), "versions": versions(), "threads": options.threads, "schedule": schedule,
    }  # fmt: skip
    for name, model in models.items():
        type(model)(n_epochs=12, burn_in=0).fit(warm)  # loads compiled code before the timing starts
        start = time.perf_counter()
        model.fit(graph)
        result[name] = {"seconds": time.perf_counter() - start, "stages": model.seconds_}
        result[name]["roc_auc"] = float(roc_auc(graph.labels, model.ahp_ if name != "cross" else model.decision_score_))
        report(result, name, options.out)
    result["floor"] = floor(models["same"], graph)
    report(result, "floor", options.out)
    start = time.perf_counter()
    scores = straightforward(graph, options.epochs, options.burn_in)
    result["straightforward"] = {
        "seconds": time.perf_counter() - start,
        "roc_auc": float(roc_auc(graph.labels, scores)),
    }
    for name in models:
        result["straightforward"][f"times {name}"] = result["straightforward"]["seconds"] / result[name]["seconds"]
    report(result, "straightforward", options.out)


def report(result: dict[str, Any], name: str, out: Path) -> None:
    """Print one part and keep all."""
    print(name, json.dumps(result[name]), flush=True)
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")


def straightforward(graph: hs.AttributedGraph, n_epochs: int, burn_in: int) -> Any:
    """Fit the paper's model without regard to time and memory, and return AHP."""
    rng = np.random.default_rng(0)
    generator = torch.Generator().manual_seed(0)
    transform = AttributeTransform.fit(graph.attributes, graph.attribute_names, n_components=20, rng=rng)
    attributes = transform.apply(graph.attributes, graph.attribute_names)
    kept = drop_edges(edge_similarity(attributes, graph.edges, "euclidean"), DROP, rng=rng)
    hops = all_hops(graph.n_nodes, graph.edges[:, kept])
    normalized = normalized_matrix(graph.adjacency)
    features = torch.from_numpy(attributes.astype(np.float32))
    shapes = [(20, UNITS), (UNITS, UNITS), (UNITS, HIDDEN), (HIDDEN, N_CLASSES)]
    weights = [((torch.rand(s, generator=generator) * 2 - 1) * (6 / sum(s)) ** 0.5).requires_grad_() for s in shapes]
    biases = [torch.zeros(shape[1], requires_grad=True) for shape in shapes]
    optimizer = torch.optim.Adam([*weights, *biases], lr=hs.HCM().lr, weight_decay=5e-8)

    def logits(pairs: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(normalized @ (features @ weights[0]) + biases[0])
        z = normalized @ (hidden @ weights[1]) + biases[1]
        distance = (z[pairs[0]] - z[pairs[1]]).abs()
        return torch.relu(distance @ weights[2] + biases[2]) @ weights[3] + biases[3]

    both_ways = torch.from_numpy(np.stack(graph.adjacency.nonzero()).astype(np.int64))
    predictions = []
    for epoch in range(n_epochs):
        pairs, labels = sample(hops, int(SHARE * kept.sum()), rng)
        optimizer.zero_grad()
        torch.autograd.backward(cross_entropy(logits(pairs), labels))
        optimizer.step()
        with torch.no_grad():
            predicted = logits(both_ways).argmax(dim=1) + 1
        if epoch >= burn_in:
            predictions.append(predicted.numpy())
    mean = np.stack(predictions).mean(axis=0)
    rows = both_ways[0].numpy()
    return np.bincount(rows, mean, graph.n_nodes) / np.maximum(np.bincount(rows, minlength=graph.n_nodes), 1)


def all_hops(n_nodes: int, edges: Any) -> Any:
    """Return the n×n matrix of hop classes by repeated products with the adjacency matrix."""
    adjacency = np.zeros((n_nodes, n_nodes), dtype=np.float32)
    adjacency[edges[0], edges[1]] = adjacency[edges[1], edges[0]] = 1.0
    hops = np.full((n_nodes, n_nodes), N_CLASSES, dtype=np.int8)
    reached = np.eye(n_nodes, dtype=bool)
    frontier = reached.astype(np.float32)
    for hop in range(1, N_CLASSES):
        frontier = ((frontier @ adjacency) > 0).astype(np.float32)
        hops[(frontier > 0) & ~reached] = hop
        reached |= frontier > 0
    np.fill_diagonal(hops, 0)
    return hops


def sample(hops: Any, n_pairs: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Search the matrix for every class and draw the same number of pairs from each."""
    pairs = []
    for hop in range(1, N_CLASSES + 1):
        rows, columns = np.nonzero(np.triu(hops == hop))
        chosen = rng.choice(rows.size, n_pairs, replace=False)
        pairs.append(np.stack([rows[chosen], columns[chosen]]))
    return torch.from_numpy(np.concatenate(pairs, axis=1)), torch.arange(N_CLASSES).repeat_interleave(n_pairs)


def normalized_matrix(adjacency: Any) -> torch.Tensor:
    """Return D^-1/2 (A + I) D^-1/2 as a sparse tensor."""
    with_loops = sp.coo_array(adjacency + sp.eye_array(adjacency.shape[0]))
    inverse = 1 / np.sqrt(np.bincount(with_loops.row, minlength=adjacency.shape[0]))
    values = torch.from_numpy((inverse[with_loops.row] * inverse[with_loops.col]).astype(np.float32))
    where = torch.from_numpy(np.stack([with_loops.row, with_loops.col]).astype(np.int64))
    return torch.sparse_coo_tensor(where, values, adjacency.shape, check_invariants=False).coalesce()


def floor(model: hs.HCM, graph: hs.AttributedGraph) -> dict[str, float]:
    """Return the operations and bytes of training and judging, and the time they need at the measured speeds."""
    pairs, judged = model.n_epochs * model.n_pairs_ * model.n_classes_, len(model.samples_) * graph.n_edges
    pair = UNITS * HIDDEN + HIDDEN * model.n_classes_
    passes = 3 * model.n_epochs + len(model.samples_)
    node = graph.n_nodes * UNITS * (model.n_inputs_ + UNITS) + graph.adjacency.nnz * UNITS
    training, judging = 2.0 * (3 * pairs * pair + passes * node), 2.0 * judged * pair
    moved = 4.0 * (3 * pairs + judged) * (3 * UNITS + 2 * HIDDEN + 2 * model.n_classes_)
    half, single, bandwidth = speed(torch.bfloat16), speed(torch.float32), copy_speed()
    fast = half if training_dtype(model.precision, resolve_device(model.device)) == torch.bfloat16 else single
    least = max(training / fast + judging / single, moved / bandwidth)
    spent = model.seconds_["train"] + model.seconds_["judge"]
    return {
        "operations": training + judging, "bytes": moved, "bfloat16_per_s": half, "float32_per_s": single,
        "bytes_per_s": bandwidth, "seconds_of_operations": training / fast + judging / single,
        "seconds_of_bytes": moved / bandwidth, "floor": least, "spent": spent, "times_floor": spent / least,
    }  # fmt: skip


def speed(dtype: torch.dtype) -> float:
    """Return the operations per second of a matrix product of the model's shape."""
    left, right = torch.randn(8192, UNITS).to(dtype), torch.randn(UNITS, HIDDEN).to(dtype)
    best = min(_seconds(lambda: left @ right) for _ in range(20))
    return 2.0 * left.numel() * HIDDEN / best


def copy_speed() -> float:
    """Return the bytes per second that adding two large arrays reads and writes."""
    a = torch.ones(1 << 25)
    b = torch.empty_like(a)
    best = min(_seconds(lambda: torch.add(a, 1.0, out=b)) for _ in range(5))
    return 2.0 * a.numel() * 4 / best


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
