"""All nodes of a graph in little space, so that a report can open any of them.

A page explains its most anomalous nodes in full. Of every other node it keeps the name, score, evidence, number of
edges, label and the neighbors along its edges most out of place: as compressed text that it unpacks in the background.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.detectors.table import decided_by, evidence_of
from hopsight.explanations.edges import JudgedEdges, edge_order
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking
from hopsight.report.neighborhood import cut
from hopsight.system.kernels import best_places

IntArray = NDArray[np.int64]

EDGE_BYTES = 3.3  # of the text of one edge, at first guess
NODES_SHARE = 0.7  # of the space, at most, for what is kept of the nodes themselves
ROUNDS = 6
N_TRIED = 20_000  # nodes that tell how much space a node takes
LEVEL = 6  # of compression: 9 takes eight times as long for 2% less
ANOMALY, NORMAL = 4, 2  # beside 1 for flagged: bits of one byte per node


def archive(
    model: Any, graph: AttributedGraph, sentences: Mapping[int, str], space: int, edges: JudgedEdges | None = None
) -> dict[str, Any] | None:
    """Return what the page keeps of all nodes in at most ``space`` characters, or None where nothing fits.

    Nodes are in the order of their ranks. Where not all of them fit, the most anomalous are kept, and of their edges
    first the one most out of place at each node, then the second, and so on. ``sentences`` has a reason for some nodes,
    by position. ``edges`` saves sorting the edges again.
    """
    judged = edges or JudgedEdges(graph, model)
    order = ranking(np.asarray(model.decision_score_, dtype=np.float64))
    spoken = [[rank, sentences[node]] for rank, node in enumerate(order.tolist(), start=1) if node in sentences]
    words = packed_json(spoken) if spoken else None
    left = space - len(words or "")
    nodes = _nodes_within(model, graph, order, int(NODES_SHARE * left))
    if nodes is None:
        return None
    left -= sum(len(text) for text in nodes.values() if isinstance(text, str))
    kept = _edges_within(judged, order[: nodes["n"]], left)
    return nodes | kept | {"words": words, "kinds": list(evidence_of(model))}


def _nodes_within(model: Any, graph: AttributedGraph, order: IntArray, space: int) -> dict[str, Any] | None:
    """Return names, scores, degrees and bytes of as many nodes as fit."""
    n, best = min(order.size, N_TRIED), None
    for _ in range(ROUNDS):
        found = _nodes(model, graph, order[:n])
        size = sum(len(text) for text in found.values() if isinstance(text, str))
        fitting = min(order.size, int(0.97 * n * space / max(1, size)))
        if size <= space:
            best = found
            if fitting <= 1.05 * n:
                break
        n = fitting
        if n < 1:
            break
    return best


def _nodes(model: Any, graph: AttributedGraph, order: IntArray) -> dict[str, Any]:
    scores = np.asarray(model.decision_score_, dtype=np.float64)
    asked = getattr(model, "only_", np.ones(scores.size, dtype=np.bool_))
    flags = ((scores > model.threshold_) & asked).astype(np.uint8)
    if graph.labels is not None:
        flags += ANOMALY * (graph.labels == 1).astype(np.uint8) + NORMAL * (graph.labels == 0).astype(np.uint8)
    decided = getattr(model, "decided_by_", None) if decided_by(model) is not None else None
    planes = [flags, np.zeros(scores.size) if decided is None else np.asarray(decided)]
    planes += [_tenths(values) for values in evidence_of(model).values()]
    return {
        "n": order.size,
        **_names([cut(str(name)) for name in graph.node_ids[order].tolist()]),
        "titles": None
        if graph.node_names is None
        else packed_json([cut(str(name)) for name in graph.node_names[order].tolist()]),
        "scores": packed_json([float(f"{score:.4g}") for score in scores[order].tolist()]),
        "degrees": packed_json(graph.degrees[order].tolist()),
        "planes": packed(b"".join(plane[order].astype(np.uint8).tobytes() for plane in planes)),
        "decides": None if decided is None else list(model.evidence),
    }


def _names(names: list[str]) -> dict[str, Any]:
    """Return names without the prefix that all share; where all are equally long, nothing separates them.

    >>> found = _names(["ACC17", "ACC42"])
    >>> found["prefix"], found["width"], zlib.decompress(base64.b64decode(found["names"]))
    ('ACC', 2, b'1742')
    """
    prefix = os.path.commonprefix(names)  # noqa: RUF071 (of letters, not of folders)
    rest = [name[len(prefix) :] for name in names]
    widths = {len(name) for name in rest}
    if len(widths) == 1 and widths != {0} and all(name.isascii() for name in rest):
        return {"prefix": prefix, "width": widths.pop(), "names": packed("".join(rest).encode())}
    return {"prefix": prefix, "width": 0, "names": packed_json(rest)}


def _tenths(strengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return strengths in tenths, in steps of two below 1, which says that nothing is unusual.

    >>> _tenths(np.array([0.16, 0.33, 0.94, 1.28, 40.0])).tolist()
    [2.0, 4.0, 10.0, 13.0, 255.0]
    """
    return np.clip(np.where(strengths < 1, 2 * np.round(5 * strengths), np.round(10 * strengths)), 0, 255)


def _edges_within(edges: JudgedEdges, order: IntArray, space: int) -> dict[str, Any]:
    """Return as many edges among some nodes as fit, those that matter most to one of their ends first."""
    graph, model = edges.graph, edges.model
    rank = np.full(graph.n_nodes, -1, dtype=np.int64)
    rank[order] = np.arange(order.size)
    shown = rank >= 0
    near = np.flatnonzero(shown[graph.edges[0]] | shown[graph.edges[1]])
    levels = _levels(edges, near)
    both = shown[graph.edges[0, near]] & shown[graph.edges[1, near]]
    near, levels = near[both], levels[both]
    kept = max(0, min(near.size, int(space / EDGE_BYTES)))
    near = near[np.argsort(levels, kind="stable")[:kept]]
    low, high = np.sort(rank[graph.edges[:, near]], axis=0)
    for _ in range(ROUNDS):
        rows = np.lexsort((high[:kept], low[:kept]))
        ends, hops = packed(_ends(low[rows], high[rows], order.size)), _hops(model, near[rows])
        size = len(ends) + len(hops or "")
        if size <= space:
            return {"ends": ends, "hops": hops, "m": rows.size}
        kept = int(0.97 * kept * space / size) if space > 0 else 0
    return {"ends": packed(_ends(low[:0], high[:0], order.size)), "hops": None, "m": 0}


def _levels(edges: JudgedEdges, near: IntArray) -> IntArray:
    """Return for some edges their place among those of a node, most out of place first, at the end where it is best.

    >>> from types import SimpleNamespace
    >>> path = AttributedGraph.from_edges([0, 1, 1], [1, 2, 3], np.zeros((4, 1)))
    >>> hops = SimpleNamespace(edge_hop_=np.array([1.0, 3.0, 2.0]), edge_probability_=np.zeros(3))
    >>> _levels(JudgedEdges(path, hops), np.arange(3)).tolist()
    [0, 0, 0]
    """
    graph = edges.graph
    if edges.has_hops:
        first = edge_order(edges.model, near)
    else:
        scores = np.asarray(edges.model.decision_score_)
        first = np.argsort(-scores[graph.edges[:, near]].max(axis=0), kind="stable")
    levels: IntArray = best_places(graph.edges[0], graph.edges[1], near, first, graph.n_nodes)
    return levels


def _ends(low: IntArray, high: IntArray, n: int) -> bytes:
    """Return edges, sorted by their ends, as bytes: the number at each node, then the gaps between the other ends.

    >>> list(_ends(np.array([0, 0, 1]), np.array([1, 200, 2]), 3))
    [2, 1, 0, 1, 199, 1, 2]
    """
    counts = np.bincount(low, minlength=n)
    before = np.concatenate([[0], high[:-1]])
    starts = np.concatenate([[True], low[1:] != low[:-1]])[: low.size]
    return _numbers(counts) + _numbers(np.where(starts, high, high - before[: high.size]))


def _numbers(values: IntArray) -> bytes:
    """Return small numbers as bytes: seven bits each, lowest first, the eighth says that more follow.

    >>> list(_numbers(np.array([5, 300])))
    [5, 172, 2]
    """
    columns, more = [], values.astype(np.uint64)
    width = max(1, (int(values.max(initial=0)).bit_length() + 6) // 7)
    present: list[NDArray[np.bool_]] = []
    for _ in range(width):
        follows = more >> np.uint64(7)
        columns.append((more & np.uint64(127)) | ((follows > 0).astype(np.uint64) << np.uint64(7)))
        present.append(more > 0 if present else np.ones(values.size, dtype=np.bool_))
        more = follows
    grid, kept = np.stack(columns, axis=1), np.stack(present, axis=1)
    return bytes(grid[kept].astype(np.uint8).tobytes())


def _hops(model: Any, edges: IntArray) -> str | None:
    """Return the hops of edges in tenths, one byte each."""
    hops = getattr(model, "edge_hop_", None)
    return None if hops is None else packed(np.clip(np.round(10 * hops[edges]), 0, 255).astype(np.uint8).tobytes())


def packed_json(value: Any) -> str:
    """Return a value as compressed JSON, for a page to unpack."""
    return packed(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace"))


def packed(content: bytes) -> str:
    """Return bytes as compressed text; digits that do not repeat take less space without a search for repetitions."""
    coder = zlib.compressobj(LEVEL, strategy=zlib.Z_HUFFMAN_ONLY)
    best = min(zlib.compress(content, LEVEL), coder.compress(content) + coder.flush(), key=len)
    return base64.b64encode(best).decode()
