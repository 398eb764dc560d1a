"""The style of figures."""

from __future__ import annotations

import matplotlib
import pytest

from paper.style import bar_style, journal_style, line_style, new_figure, save_figure


def test_the_style_ends_with_its_block():
    before = matplotlib.rcParams["font.size"]
    with journal_style():
        assert matplotlib.rcParams["font.size"] == 8
    assert matplotlib.rcParams["font.size"] == before


def test_lines_and_bars_differ_without_color():
    marks = {line_style(i)["marker"] for i in range(10)}
    assert len(marks) == 10
    assert len({bar_style(i)["hatch"] for i in range(7)}) == 7
    assert len({tuple(map(str, line_style(i).values())) for i in range(35)}) == 35


def test_a_figure_that_cannot_be_written_leaves_no_file(tmp_path):
    class Broken:
        def savefig(self, path, **options):
            path.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save_figure(Broken(), tmp_path, "x")
    assert list(tmp_path.iterdir()) == []
    figure = new_figure(2, 2)
    figure.subplots()
    assert save_figure(figure, tmp_path, "x").name == "x.png"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.png", "x.svg"]
