"""Figures: complete, in both formats, labeled, and matplotlib's settings unchanged."""

from __future__ import annotations

import matplotlib
import pytest

from experiments.made import made_suite
from paper import figures
from paper.figures import draw_figures


@pytest.fixture(scope="module")
def rows():
    return made_suite(repetitions=2)[2]


def test_every_figure_comes_as_png_and_svg_and_settings_are_restored(tmp_path, rows):
    before = dict(matplotlib.rcParams)
    drawn = draw_figures(tmp_path, rows)
    assert [name for name, _, _ in drawn] == ["comparison", "mean_scores", "sweeps", "optimizers", "epochs", "growth"]
    for name, caption, picture in drawn:
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert "</svg>" in (tmp_path / f"{name}.svg").read_text()
        assert len(caption) > 60
    assert not list(tmp_path.glob(".*")), "no partial file is left"
    assert dict(matplotlib.rcParams) == before
    assert "one source" in drawn[-1][1]


def test_the_same_rows_give_the_same_svg(tmp_path, rows):
    swept = [row for row in rows if row["experiment"].startswith("sweep")]
    for folder in ("a", "b"):
        draw_figures(tmp_path / folder, swept)
    assert (tmp_path / "a" / "sweeps.svg").read_bytes() == (tmp_path / "b" / "sweeps.svg").read_bytes()


DRAWINGS = ("comparison", "mean_scores", "sweeps", "optimizers", "epochs")


@pytest.mark.parametrize("name", DRAWINGS)
def test_axes_are_labeled_and_lines_named(name, rows):
    draw = getattr(figures, f"draw_{name}")
    figure = draw(rows)
    assert all(axis.get_xlabel() or axis.get_xticklabels() for axis in figure.axes)
    assert figure.axes[0].get_ylabel() or figure.axes[0].get_yticklabels()
    assert len(figure.legends) == 1
    assert draw([]) is None


def test_bars_and_lines_show_the_means(rows):
    axis = figures.draw_optimizers(rows).axes[0]
    bars = {group.get_label(): group.patches[0].get_height() for group in axis.containers if hasattr(group, "patches")}
    assert bars["SGLD, preconditioned, temperature .001"] == pytest.approx(0.71)  # injections 0 and 1
    assert axis.get_ylim()[0] == 0, "bars start at zero"
    line = figures.draw_epochs(rows).axes[0].lines[0]
    assert line.get_xdata()[-1] == 10
    assert line.get_ydata()[-1] == pytest.approx(0.5 + 0.1 + 0.01)
    assert list(figures.draw_sweeps(rows).axes[0].lines[0].get_xdata()) == [0.0, 0.2, 0.4]
