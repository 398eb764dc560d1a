"""Which nodes and edges a page shows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from hopsight.explanations import Explainer
from hopsight.graph import AttributedGraph
from hopsight.report.nodes import MAX_DRAWN, PageNodes


def on_star(**options: np.ndarray) -> PageNodes:
    graph = AttributedGraph.from_edges([0, 0, 0, 1], [1, 2, 3, 2], np.zeros((4, 1)), node_ids=["hub", "a", "b", "c"])
    model = SimpleNamespace(
        decision_score_=np.array([0.9, 0.1, 0.2, 0.3]),
        threshold_=0.5,
        edge_index_=graph.edges,
        edge_hop_=np.array([1.0, 3.0, 2.0, 1.5]),
        edge_variance_=np.array([0.1, 0.3, 0.2, 0.4]),
        edge_probability_=np.array([0.9, 0.3, 0.5, 0.8]),
    )
    return PageNodes(Explainer(model, graph), **options)


def test_around_gives_the_farthest_first_and_the_edges_among_neighbors() -> None:
    shown = on_star()
    around = shown.around(0)
    assert around["edges"] == [[3, 3.0, 0.3, 0.3, None], [2, 2.0, 0.2, 0.5, None], [4, 1.0, 0.1, 0.9, None]]
    assert around["between"] == [[4, 3, 1.5]]  # a – b, by their ranks
    assert around["total"] == 3
    assert shown.rows[1] == ["hub", 0.9, 1, 3, 1]
    assert shown.rows[4] == ["a", 0.1, 4, 2, 0]


def test_a_limit_keeps_the_farthest_and_gives_the_total() -> None:
    around = on_star().around(0, limit=1)
    assert [edge[1] for edge in around["edges"]] == [3.0]
    assert (around["total"], around["between"]) == (3, [])


def test_nodes_of_an_excerpt_have_the_ranks_and_degrees_of_the_whole() -> None:
    shown = on_star(ranks=np.array([1, 70, 80, 90]), degrees=np.array([40, 5, 6, 7]))
    around = shown.around(0)
    assert ([edge[0] for edge in around["edges"]], around["total"]) == ([80, 90, 70], 40)
    assert shown.rows[80] == ["b", 0.2, 80, 6, 0]
    assert list(on_star(keys=np.arange(4)).around(3)["edges"][0][:2]) == [0, 2.0]


def test_directed_graphs_show_edges_in_both_directions() -> None:
    graph = AttributedGraph.from_edges([0, 1, 2], [1, 0, 0], np.zeros((3, 1)), directed=True)
    model = SimpleNamespace(
        decision_score_=np.zeros(3),
        threshold_=0.5,
        edge_index_=graph.edges,
        edge_hop_=np.array([1.0, 2.0, 3.0]),
        edge_variance_=np.zeros(3),
        edge_probability_=np.ones(3),
    )
    shown = PageNodes(Explainer(model, graph))
    found = [[shown.rows[key][0], hop] for key, hop, *_ in shown.around(0)["edges"]]
    assert found == [["2", 3.0], ["1", 2.0], ["1", 1.0]]


def test_few_neighbors_are_drawn_and_long_names_are_cut(rng: np.random.Generator) -> None:
    names = ["x" * 5000, *map(str, range(1, 600))]
    graph = AttributedGraph.from_edges(*rng.integers(0, 600, size=(2, 90_000)), np.zeros((600, 1)), node_ids=names)
    shown = PageNodes(Explainer(SimpleNamespace(decision_score_=rng.random(600), threshold_=0.9), graph))
    assert len(shown.around(0)["edges"]) == MAX_DRAWN
    assert max(len(row[0]) for row in shown.rows.values()) == 200
