"""Pictures: the axes show the numbers of the fitted detector, and refuse what they cannot show."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hopsight import plot
from hopsight.graph import AttributedGraph
from toys import refuses


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    """Draw without a window, and close what was drawn."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


def fitted(graph: AttributedGraph, **more: Any) -> SimpleNamespace:
    scores = np.linspace(0.0, 1.0, graph.n_nodes)
    return SimpleNamespace(decision_score_=scores, threshold_=0.7, graph_=graph, **more)


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_scores_count_every_node_on_its_side_of_the_threshold(random_graph: AttributedGraph) -> None:
    axes = plot.scores(fitted(random_graph))
    heights = [sum(bar.get_height() for bar in bars) for bars in axes.containers]
    assert heights == [42, 18]  # of 60 scores from 0 to 1, 18 are above 0.7
    assert texts(axes) == ["not flagged", "18 flagged", "threshold 0.7"]


def test_evidence_draws_the_strengths_of_the_first_nodes_and_names_them(path_graph: AttributedGraph) -> None:
    strengths = {"misfit": np.arange(6.0), "ring": np.zeros(6)}
    axes = plot.evidence(fitted(path_graph, evidence_=strengths, evidence=("misfit",)), top=2)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["5", "4"]
    assert [bar.get_width() for bar in axes.containers[0]] == [5.0, 4.0]
    assert texts(axes) == ["misfit", "ring (does not count)"]
    refuses("SimpleNamespace has no kinds of evidence to draw: fit CrossHCM", plot.evidence, fitted(path_graph))


def test_a_neighbor_is_as_far_out_as_it_looks(star_graph: AttributedGraph) -> None:
    hops = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
    model = fitted(star_graph, edge_hop_=hops, edge_variance_=hops, edge_probability_=1 / hops)
    axes = plot.neighborhood(model, 0, limit=3)
    drawn = np.vstack([points.get_offsets() for points in axes.collections])
    assert np.sort(np.linalg.norm(drawn, axis=1)).round(6).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert axes.get_title() == "0: how far its neighbors look\n(2 more not drawn)"
    names = {text.get_text() for text in axes.texts}
    assert {"2", "3", "3 hops"} <= names and "5" not in names


def test_a_name_with_dollars_is_not_read_as_a_formula(path_graph: AttributedGraph) -> None:
    named = AttributedGraph(path_graph.adjacency, path_graph.attributes, node_ids=[f"$x_{i}$" for i in range(6)])
    axes = plot.neighborhood(fitted(named), "$x_2$")
    axes.figure.canvas.draw()
    assert r"\$x\_1\$" in {text.get_text().replace("_", r"\_") for text in axes.texts}


def test_axes_of_the_caller_are_used(path_graph: AttributedGraph) -> None:
    import matplotlib.pyplot as plt

    mine = plt.subplots()[1]
    assert plot.scores(fitted(path_graph), ax=mine) is mine and len(plt.get_fignums()) == 1


def test_a_detector_without_graph_or_fit_is_refused() -> None:
    refuses("SimpleNamespace is not fitted yet: call fit first", plot.scores, SimpleNamespace())
    with pytest.raises(ValueError, match="loaded from disk without its graph: pass graph="):
        plot.neighborhood(SimpleNamespace(decision_score_=np.zeros(3), threshold_=0.0), 1)
