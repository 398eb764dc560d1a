"""The order of rows in a file changes neither the ranking nor what is known of nodes and edges."""

import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight import CrossHCM, load
from hopsight.detectors.base import Epoch, NodeOrder
from hopsight.detectors.storage import load_detector
from hopsight.explanations.edges import edge_order
from hopsight.graph import AttributedGraph
from hopsight.runs.results import write_edges
from toys import quick, renumbered, two_groups


@pytest.mark.parametrize("name", ["hcm", "cross_hcm", "dominant", "resgcn"])
@pytest.mark.parametrize("directed", [False, True])
def test_every_value_follows_its_node_or_edge_to_the_bit(name: str, directed: bool) -> None:
    graph = two_groups(0, directed=directed)
    moved = renumbered(graph, np.random.default_rng(3).permutation(graph.n_nodes))
    told: list[np.ndarray] = []

    def listen(epoch: Epoch) -> None:
        if epoch.number == epoch.total:
            told.append(epoch.scores())

    first, second = (quick(name).fit(each, callback=listen) for each in (graph, moved))
    assert second.graph_ is moved
    place = [graph.index_of(node) for node in moved.node_ids]
    for value in ("decision_score_", "label_", *(f"{each}_" for each in type(first).node_values)):
        assert np.array_equal(getattr(second, value), getattr(first, value)[place]), value
    assert np.array_equal(told[-1], told[0][place])
    for kind, values in getattr(first, "evidence_", {}).items():
        assert np.array_equal(second.evidence_[kind], values[place]), kind
    if name in ("hcm", "cross_hcm"):
        assert np.array_equal(second.edge_index_, moved.edges) and hops(second, moved) == hops(first, graph)


def hops(model: object, graph: AttributedGraph) -> dict[object, float]:
    """Return the predicted hop count of each edge, by the ids of its ends."""
    pairs = graph.node_ids[graph.edges].T.tolist()
    ends = [tuple(pair) if graph.directed else frozenset(pair) for pair in pairs]
    return dict(zip(ends, model.edge_hop_.tolist(), strict=True))  # type: ignore[attr-defined]


def test_equal_scores_are_in_the_order_of_ids() -> None:
    """In a ring whose nodes repeat, as many scores are equal."""
    ring = pl.DataFrame(
        {"a": [f"n{k}" for k in range(24)] * 2, "b": [f"n{(k + d) % 24}" for d in (1, 3) for k in range(24)]}
    )
    nodes = pl.DataFrame({"id": [f"n{k}" for k in range(24)], "age": [k % 5 for k in range(24)]})
    tables = []
    for seed in (0, 1):
        graph = load(ring, nodes=nodes.sample(fraction=1.0, shuffle=True, seed=seed))
        model = CrossHCM.untrained().fit(graph)
        order = edge_order(model, graph)
        tables.append((model.to_frame(), graph.node_ids[graph.directions[:, order]].tolist()))
    assert tables[0][0]["score"].n_unique() < 24
    assert tables[0][0].equals(tables[1][0]) and tables[0][1] == tables[1][1]


def test_payments_at_one_time_are_ranked_alike_in_any_order_of_rows(tmp_path: Path) -> None:
    """Payments of whole days, some of which differ in their currency alone."""
    rng = np.random.default_rng(4)
    days = [f"2024-01-{day:02}" for day in rng.integers(1, 29, 200)]
    ends = [rng.choice(40, 2, replace=False) for _ in days]
    rows = [(f"C{a}", f"C{b}", 10 * b % 7 + 10, "EUR", day) for (a, b), day in zip(ends, days, strict=True)]
    rows += [("C5", f"C{6 + k % 3}", 100, ("EUR", "USD")[k % 2], "2024-01-15") for k in range(15)]
    edges = pl.DataFrame(rows, schema=["payer", "payee", "amount", "currency", "date"], orient="row")
    nodes = pl.DataFrame({"id": [f"C{k}" for k in range(40)], "age": rng.integers(18, 80, 40)})
    found = []
    for turn in (1, -1):
        graph = load(edges[::turn], nodes=nodes[::turn], notices=[])
        write_edges(tmp_path / "edges.csv", graph, CrossHCM.untrained().fit(graph))
        found.append((tmp_path / "edges.csv").read_bytes())
    assert found[0] == found[1]


def test_a_graph_in_the_order_of_its_ids_is_used_as_it_is() -> None:
    assert NodeOrder.of(two_groups(0)) is None  # 0-2 comes before 0-10
    numbers = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3))
    assert NodeOrder.of(numbers) is None
    assert NodeOrder.of(dataclasses.replace(numbers, node_ids=[5, 3, 9])) is not None


def test_ids_with_any_digits_are_sorted() -> None:
    ids = ["x10", "٣", "x9", "²", "9" * 5000, "x009", "8" * 5000, "x"]
    graph = AttributedGraph.from_edges([0, 1], [1, 2], np.eye(8), node_ids=ids)
    found = NodeOrder.of(graph)
    assert found is not None
    assert found.graph.node_ids.tolist() == ["8" * 5000, "9" * 5000, "x", "x009", "x9", "x10", "²", "٣"]


def test_weights_and_times_stay_with_their_edges() -> None:
    graph = AttributedGraph.from_edges(
        [0, 1, 2], [1, 2, 3], np.arange(4.0)[:, None], node_ids=["d", "a", "c", "b"], edge_weight=[1.0, 2.0, 3.0]
    )
    found = NodeOrder.of(graph)
    assert found is not None
    named = {frozenset(pair): float(weight) for pair, weight in zip(
        found.graph.node_ids[found.graph.edges].T.tolist(), found.graph.edge_weight, strict=True
    )}  # fmt: skip
    assert named == {frozenset("da"): 1.0, frozenset("ac"): 2.0, frozenset("cb"): 3.0}


@pytest.fixture(scope="module")
def payments() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return an edge list and a node table from which attributes of every kind are derived, with empty cells."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 60, (2, 400))
    days = rng.integers(0, 400, 400)
    edges = pl.DataFrame({
        "source": [f"p{each}" for each in source],
        "target": [f"p{each}" for each in target],
        "amount": np.where(rng.random(400) < 0.1, -1, 1) * rng.lognormal(3, 1, 400).round(2),
        "date": [f"2024-{1 + day // 31 % 12:02}-{1 + day % 28:02}" for day in days],
        "channel": [f"channel {each}" for each in rng.integers(0, 12, 400)],
    })  # fmt: skip
    age = [None if each < 0.1 else each for each in rng.random(60)]
    return edges, pl.DataFrame({"id": [f"p{each}" for each in range(60)], "age": age, "kind": ["a", "b"] * 30})


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("type_column", [None, "kind"])
def test_derived_attributes_follow_their_nodes_to_the_bit(
    payments: tuple[pl.DataFrame, pl.DataFrame], directed: bool, type_column: str | None
) -> None:
    edges, nodes = payments
    options = {"directed": directed, "type_column": type_column, "derive": "structure,sent,received", "notices": []}
    first = load(edges, nodes, **options)
    for seed in range(3):
        moved = load(
            edges.sample(fraction=1, shuffle=True, seed=seed),
            nodes.sample(fraction=1, shuffle=True, seed=seed),
            **options,
        )
        place = [first.index_of(node) for node in moved.node_ids]
        assert moved.attribute_names == first.attribute_names
        for column, name in enumerate(first.attribute_names):
            assert np.array_equal(moved.attributes[:, column], first.attributes[place, column]), name


def test_a_fit_and_a_saved_model_score_any_order_of_rows_alike(
    payments: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    edges, nodes = payments
    first, moved = (load(edges, each, notices=[]) for each in (nodes, nodes.sample(fraction=1, shuffle=True, seed=1)))
    place = [first.index_of(node) for node in moved.node_ids]
    models = [quick("cross_hcm").fit(each) for each in (first, moved)]
    assert np.array_equal(models[1].decision_score_, models[0].decision_score_[place])
    models[0].save(tmp_path / "model")
    saved = load_detector(tmp_path / "model")
    assert np.array_equal(saved.decision_function(moved), saved.decision_function(first)[place])
