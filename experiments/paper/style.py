"""The style of figures: colors that color-blind readers can tell apart; markers and hatches for black and white."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hopsight.system.files import replacing

# Okabe and Ito's palette, without its yellow, which is too light for lines
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HATCHES = ("", "///", "...", "xx", "\\\\\\", "++", "oo")

PAGE = 7.2  # inches, the width of a journal page

_SETTINGS: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "hatch.linewidth": 0.5,
    "axes.grid": True,
    "grid.linewidth": 0.3,
    "grid.color": "#cccccc",
    "axes.axisbelow": True,
    "svg.hashsalt": "hopsight",  # the same figure gives the same file
    "svg.fonttype": "none",
}


@contextlib.contextmanager
def journal_style() -> Iterator[None]:
    """Use this style inside the block, and restore matplotlib's settings after it."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure without pyplot, which would keep a global list of figures."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, folder: Path, name: str) -> Path:
    """Write a figure as PNG (300 dpi) and SVG, each complete or not at all, and return the PNG's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("svg", "png"):
        with replacing(folder / f"{name}.{kind}") as temporary:
            figure.savefig(temporary, format=kind, dpi=300, metadata={"Date": None} if kind == "svg" else None)
    return folder / f"{name}.png"


def line_style(position: int) -> dict[str, Any]:
    """Return the color, marker and dash of the n-th line of a plot: no two of the first 35 share all three."""
    return {
        "color": COLORS[position % len(COLORS)],
        "marker": MARKERS[position % len(MARKERS)],
        "linestyle": LINES[position % len(LINES)],
    }


def bar_style(position: int) -> dict[str, Any]:
    """Return color and hatch of the n-th group of bars."""
    return {
        "color": COLORS[position % len(COLORS)],
        "hatch": HATCHES[position % len(HATCHES)],
        "edgecolor": "black",
        "linewidth": 0.5,
    }
