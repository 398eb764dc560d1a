"""The figure of measured growth."""

from __future__ import annotations

import pytest

from experiments.made import made_suite
from paper.growth_figure import draw_growth, growth_caption


def test_time_and_memory_against_nodes_and_edges():
    def change(cell):
        return (
            {"status": "time limit"} if cell.detector == "madan" and cell.settings["generate"]["n_nodes"] > 300 else {}
        )

    _, _, rows = made_suite(change=change, experiments=["growth"])
    figure = draw_growth(rows)
    assert len(figure.axes) == 4
    assert {axis.get_xscale() for axis in figure.axes} == {"log"}
    assert figure.axes[0].get_ylabel() == "time of one fit (s)"
    assert figure.axes[2].get_ylabel() == "memory added by the fit (MB)"
    assert (figure.axes[2].get_xlabel(), figure.axes[3].get_xlabel()) == ("number of nodes", "number of edges")
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert list(lines["LOF"].get_xdata()) == [200, 400, 800]
    assert list(lines["LOF"].get_ydata()) == pytest.approx([2.0, 4.0, 8.0])
    assert list(lines["MADAN"].get_xdata()) == [200], "a line ends where its limit was met"
    styles = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(styles)) == len(styles)
    assert "power 1.00 of the nodes" in growth_caption(rows)
    assert draw_growth([]) is None
