"""HTML for notebooks: values are escaped, and a graph shows what it holds."""

from __future__ import annotations

import numpy as np

from hopsight.graph import AttributedGraph
from hopsight.markup import card, graph_card, paragraph, table


def test_nothing_in_a_value_becomes_markup() -> None:
    shown = card("<b>", paragraph("<script>"), table(["<i>"], [["a&b<u>"]]))
    for dangerous in ("<b>", "<script>", "<i>", "<u>"):
        assert dangerous not in shown
    assert "a&amp;b&lt;u&gt;" in shown


def test_an_empty_table_and_an_empty_text_are_nothing() -> None:
    assert table(["a"], []) == "" and paragraph("") == ""


def test_a_graph_shows_counts_names_labels_and_what_edges_have() -> None:
    graph = AttributedGraph.from_edges(
        [0, 1], [1, 2], np.ones((3, 15)), labels=[1, 0, -1], name="tiny", edge_weight=[1.0, 2.0]
    )
    shown = graph_card(graph)
    assert shown == graph._repr_html_()
    for part in ("Graph tiny", ">3<", ">2<", "x11 and 3 more", "1 anomalous, 1 normal", ">weight<"):
        assert part in shown


def test_columns_of_numbers_are_aligned_right_and_words_left() -> None:
    shown = table(["node", "score", "why"], [["7", "14.3", "its neighbors look far away"], ["8", "–", "unusual"]])
    assert shown.count("text-align:right") == 3  # the head and both cells of the score
