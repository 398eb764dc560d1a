"""The small drawings of the page "How it works". ``python docs/drawings.py`` writes them to ``docs/pictures``."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

BLUE, WARM, GREEN, GRAY = "#2f6f9f", "#bd4a12", "#5b8c5a", "#8d8a83"
Places = dict[str, tuple[float, float]]


def all_drawings() -> dict[str, str]:
    """Return every drawing as SVG, by its name."""
    return {"hops": _svg(hops, 7.0, 2.6), "evidence": _svg(evidence, 8.4, 2.4), "groups": _svg(groups, 6.0, 2.7)}


def hops(figure: Any) -> None:
    """Draw a stranger among look-alikes: where its edges are, and where its attributes say it should be."""
    left, right = figure.subplots(1, 2)
    ring = {str(i): (np.cos(a), np.sin(a)) for i, a in enumerate(np.linspace(0, 2 * np.pi, 7)[:-1])}
    for axes, title in ((left, "In the graph: 1 hop to each"), (right, "As the model sees it: 3 hops")):
        axes.set_title(title, size=10)
        far = axes is right
        middle = (3.2, 0.0) if far else (0.0, 0.0)
        _edges(axes, ring, [(str(i), str((i + 1) % 6)) for i in range(6)], GRAY)
        for place in ring.values():
            axes.plot(
                *zip(middle, place, strict=True), color=WARM, linewidth=1, linestyle="--" if far else "-", zorder=1
            )
        _nodes(axes, ring, BLUE)
        _nodes(axes, {"stranger": middle}, WARM, names=True)
        axes.set_xlim(-1.5, 4.0 if far else 1.5)


def evidence(figure: Any) -> None:
    """Draw the five kinds of evidence side by side."""
    kinds: Sequence[tuple[str, Callable[[Any], None]]] = (
        ("misfit", _misfit), ("ring", _ring), ("outlier", _outlier), ("activity", _activity), ("lockstep", _lockstep),
    )  # fmt: skip
    for axes, (name, draw) in zip(figure.subplots(1, 5), kinds, strict=True):
        axes.set_title(name, size=10)
        draw(axes)
        axes.set_xlim(-1.6, 1.6)
        axes.set_ylim(-1.6, 1.6)


def groups(figure: Any) -> None:
    """Draw a ring of strangers beside a lockstep group of near-copies."""
    left, right = figure.subplots(1, 2)
    left.set_title("ring: unlike nodes, all tied", size=10)
    right.set_title("lockstep: copies, all tied", size=10)
    _ring(left)
    _lockstep(right)


def _around(n: int, radius: float = 1.0, turn: float = 0.0) -> Places:
    angles = turn + 2 * np.pi * np.arange(n) / n
    return {str(i): (radius * np.cos(a), radius * np.sin(a)) for i, a in enumerate(angles)}


def _misfit(axes: Any) -> None:
    others = _around(5)
    for place in others.values():
        axes.plot([0, place[0]], [0, place[1]], color=WARM, linewidth=1, zorder=1)
    _nodes(axes, others, BLUE)
    _nodes(axes, {"": (0.0, 0.0)}, WARM)


def _ring(axes: Any) -> None:
    places = _around(5, turn=np.pi / 2)
    _edges(axes, places, [(a, b) for a in places for b in places if a < b], GRAY)
    for (name, place), color in zip(places.items(), (BLUE, WARM, GREEN, "#c79a2b", "#8d6aa8"), strict=True):
        _nodes(axes, {name: place}, color)


def _outlier(axes: Any) -> None:
    others = _around(5)
    for place in others.values():
        axes.plot([0, place[0]], [0, place[1]], color=GRAY, linewidth=1, zorder=1)
    _nodes(axes, others, BLUE)
    axes.scatter([0], [0], s=240, marker="*", color=WARM, zorder=2)


def _activity(axes: Any) -> None:
    others = _around(16, 1.35)
    for place in others.values():
        axes.plot([0, place[0]], [0, place[1]], color=WARM, linewidth=1, zorder=1)
    _nodes(axes, others, BLUE, size=22)
    _nodes(axes, {"": (0.0, 0.0)}, BLUE)


def _lockstep(axes: Any) -> None:
    places = _around(5, turn=np.pi / 2)
    _edges(axes, places, [(a, b) for a in places for b in places if a < b], GRAY)
    _nodes(axes, places, WARM)


def _edges(axes: Any, places: Places, edges: Sequence[tuple[str, str]], color: str) -> None:
    for a, b in edges:
        axes.plot(*zip(places[a], places[b], strict=True), color=color, linewidth=1, zorder=1)


def _nodes(axes: Any, places: Places, color: str, *, names: bool = False, size: int = 90) -> None:
    axes.scatter(*zip(*places.values(), strict=True), s=size, color=color, edgecolor="white", zorder=2)
    for name, place in places.items() if names else ():
        axes.annotate(name, place, (0, -18), textcoords="offset points", ha="center", size=9)


def _svg(draw: Callable[[Any], None], width: float, height: float) -> str:
    """Return a drawing without axes as SVG; the same drawing is the same text."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "hopsight"}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure)
        for axes in figure.axes:
            axes.set_aspect("equal")
            axes.axis("off")
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


if __name__ == "__main__":
    for name, svg in all_drawings().items():
        (Path(__file__).parent / "pictures" / f"{name}.svg").write_text(svg, encoding="utf-8")
