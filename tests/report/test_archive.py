"""All nodes of a graph fit into little space, and come out of it as they were."""

from __future__ import annotations

import base64
import json
import zlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking
from hopsight.report.archive import archive

PLENTY = 1_000_000


def unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def numbers(content: bytes) -> list[int]:
    """Read numbers of seven bits per byte, lowest first, independently of the page."""
    found, value, shift = [], 0, 0
    for byte in content:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            found.append(value)
            value = shift = 0
    return found


def edges_of(found: dict[str, Any]) -> set[tuple[int, int]]:
    """Return pairs of ranks, from 0."""
    values = numbers(unpacked(found["ends"]))
    counts, gaps = values[: found["n"]], iter(values[found["n"] :])
    pairs = set()
    for low, count in enumerate(counts):
        other = 0
        for _ in range(count):
            other += next(gaps)
            pairs.add((low, other))
    return pairs


def names_of(found: dict[str, Any]) -> list[str]:
    text, width = unpacked(found["names"]).decode(), found["width"]
    rest = [text[i : i + width] for i in range(0, len(text), width)] if width else json.loads(text)
    return [found["prefix"] + name for name in rest]


def test_every_node_and_edge_comes_out_again(suspected: Any) -> None:
    graph = suspected.graph_
    graph = AttributedGraph(
        graph.adjacency, graph.attributes, node_ids=graph.node_ids, labels=np.arange(80) % 3 - 1, name="x"
    )
    found = archive(suspected, graph, {5: "because"}, PLENTY)
    assert found is not None
    order = ranking(suspected.decision_score_)
    rank = np.argsort(order)
    assert names_of(found) == graph.node_ids[order].tolist()
    assert json.loads(unpacked(found["degrees"])) == graph.degrees[order].tolist()
    assert json.loads(unpacked(found["scores"])) == pytest.approx(suspected.decision_score_[order], rel=1e-3)
    assert edges_of(found) == {tuple(sorted(pair)) for pair in rank[graph.edges].T.tolist()}
    assert found["m"] == graph.n_edges
    assert json.loads(unpacked(found["words"])) == [[int(rank[5]) + 1, "because"]]
    planes = np.frombuffer(unpacked(found["planes"]), np.uint8).reshape(7, 80)
    flagged = suspected.decision_score_ > suspected.threshold_
    expected = flagged + 2 * (graph.labels == 0) + 4 * (graph.labels == 1)
    assert planes[0].tolist() == expected[order].tolist()
    assert [found["decides"][i] for i in planes[1]] == [suspected.evidence[i] for i in suspected.decided_by_[order]]
    for plane, kind in zip(planes[2:], found["kinds"], strict=True):
        assert plane / 10 == pytest.approx(np.minimum(suspected.evidence_[kind][order], 25.5), abs=0.101)
    hops = np.frombuffer(unpacked(found["hops"]), np.uint8) / 10
    pairs = [tuple(sorted(pair)) for pair in rank[graph.edges].T.tolist()]
    by_ends = dict(zip(pairs, suspected.edge_hop_, strict=True))
    assert hops.tolist() == pytest.approx([by_ends[pair] for pair in sorted(edges_of(found))], abs=0.051)


def test_edges_give_way_first_and_those_most_out_of_place_stay(judged: Any) -> None:
    graph = judged.graph_
    whole = archive(judged, graph, {}, PLENTY)
    assert whole is not None
    size = sum(len(value) for value in whole.values() if isinstance(value, str))
    found = archive(judged, graph, {}, size - 150)
    assert found is not None
    assert sum(len(value) for value in found.values() if isinstance(value, str)) <= size - 150
    assert found["n"] == 80 and 0 < found["m"] < graph.n_edges
    rank = np.argsort(ranking(judged.decision_score_))
    farthest = [max(zip(judged.edge_hop_[at], at, strict=True))[1] for at in
                (np.flatnonzero((graph.edges == node).any(axis=0)) for node in range(80))]  # fmt: skip
    assert {tuple(sorted(rank[graph.edges[:, edge]].tolist())) for edge in farthest} <= edges_of(found)


def test_the_least_anomalous_nodes_are_left_out_where_not_all_fit(rng: np.random.Generator) -> None:
    names = [f"{rng.integers(10**15)} {'é' * (i % 5)}" for i in range(2000)]
    graph = AttributedGraph.from_edges(*rng.integers(0, 2000, size=(2, 4000)), np.zeros((2000, 1)), node_ids=names)
    model = SimpleNamespace(decision_score_=rng.random(2000), threshold_=0.9)
    found = archive(model, graph, {}, 12_000)
    assert found is not None
    assert 100 < found["n"] < 2000
    assert names_of(found) == graph.node_ids[ranking(model.decision_score_)[: found["n"]]].tolist()
    assert found["hops"] is None and found["decides"] is None and found["kinds"] == []
    assert sum(len(value) for value in found.values() if isinstance(value, str)) <= 12_000
    assert archive(model, graph, {}, 10) is None
    assert archive(model, graph, {}, -5) is None


def test_both_directions_of_an_edge_are_one_pair_of_neighbors() -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 0, 0], np.zeros((3, 1)), directed=True)
    model = SimpleNamespace(decision_score_=np.array([3.0, 2.0, 1.0]), threshold_=2.5)
    found = archive(model, graph, {}, PLENTY)
    assert found is not None
    assert edges_of(found) == {(0, 1), (0, 2)}
