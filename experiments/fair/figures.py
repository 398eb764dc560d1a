"""The figures of the comparison: heat map, critical differences, in-sample against out-of-sample, and mean scores.

Positions are fixed and letters stay letters, so that the same cells give the same bytes.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fair.graphs import GRAPHS
from fair.plan import DETECTORS, NO_MODEL, OURS, PAPER_GRAPHS, TRIVIAL
from fair.stats import IN_SAMPLE, LEAK_FREE, RESERVED, Results, critical_difference, interval, mean_ranks
from fair.tables import PAPER_ROWS, digits, marked, named, paper_rows

BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#777777"  # Okabe and Ito's colors
SETTINGS: Any = {
    "svg.hashsalt": "hopsight",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "axes.titlesize": 7,
}


def figures(results: Results) -> dict[str, bytes]:
    """Return every figure of the comparison as SVG, by its name."""
    drawings: dict[str, Callable[[Results], Any]] = {
        "heat_map": heat_map, "critical_difference": critical_differences, "in_and_out": in_and_out,
        "mean_scores": mean_scores,
    }  # fmt: skip
    return {name: svg(draw(results)) for name, draw in drawings.items()}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Use the same settings everywhere inside the block, whatever was set before, and restore them after it."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        yield


def svg(figure: Any) -> bytes:
    """Return a figure as SVG without date and version."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def mean_scores(results: Results) -> Any:
    """Draw the mean AHP and HAV of anomalies and of the other nodes, in the paper's setting and in the authors'."""
    figure, _ = canvas(9.8, 2.3, (0, 0, 1, 1))
    figure.clear()
    panels = [(recipe, ranking) for recipe in PAPER_ROWS for ranking in ("ahp", "hav")]
    places = np.arange(len(PAPER_GRAPHS))
    for number, (recipe, ranking) in enumerate(panels):
        axis = figure.add_axes((0.045 + 0.242 * number, 0.17, 0.205, 0.7))
        for offset, column, color, label in (
            (-0.19, "mean_anomalous", ORANGE, "anomalies"), (0.19, "mean_normal", BLUE, "other nodes"),
        ):  # fmt: skip
            values = [
                [float(row[column]) for row in paper_rows(results, recipe, graph, ranking)] for graph in PAPER_GRAPHS
            ]
            heights = [float(np.mean(each)) for each in values]
            spreads = [float(np.std(each)) for each in values]
            axis.bar(
                places + offset, heights, 0.36, yerr=spreads, color=color, label=label, error_kw={"linewidth": 0.7}
            )
        axis.set(title=f"{PAPER_ROWS[recipe]}, mean {ranking.upper()}")
        axis.set_xticks(places, [name.split(" ")[0] for name in PAPER_GRAPHS], fontsize=6)
        axis.margins(y=0.25)
    figure.axes[0].legend(frameon=False, fontsize=6, loc="upper right")
    return figure


def heat_map(results: Results) -> Any:
    """Draw detectors by graphs: ROC-AUC as color and number, half of the 95% interval below it."""
    graphs, rows = (*IN_SAMPLE, *RESERVED, *LEAK_FREE), drawn(results)
    figure, axis = canvas(9.8, 0.27 * len(rows) + 1.3, (0.175, 0.01, 0.755, 0.885))
    table = np.array([[results.value(name, graph) for graph in graphs] for name in rows])
    edges = np.arange(len(graphs) + 1) - 0.5, np.arange(len(rows) + 1) - 0.5  # squares, not an image: the same bytes
    axis.pcolormesh(*edges, np.ma.masked_invalid(table), cmap="RdBu", vmin=0.1, vmax=0.9)
    axis.invert_yaxis()
    for y, name in enumerate(rows):
        for x, graph in enumerate(graphs):
            write_cell(axis, x, y, table[y, x], results.samples(name, graph))
    axis.set_xticks(range(len(graphs)), [marked(name) for name in graphs], rotation=32, ha="left")
    axis.set_yticks(range(len(rows)), [plain(name) for name in rows])
    axis.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for place in (len(IN_SAMPLE), len(IN_SAMPLE) + len(RESERVED)):
        axis.axvline(place - 0.5, color="black", linewidth=1.5)
    for place in boundaries(rows):
        axis.axhline(place - 0.5, color="black", linewidth=0.6)
    return figure


def write_cell(axis: Any, x: int, y: int, value: float, samples: Any) -> None:
    """Write a value and half of its interval, or that there is none."""
    if np.isnan(value):
        axis.text(x, y, "–", ha="center", va="center", color=GRAY)
        return
    low, high = interval(samples)
    color = "white" if abs(value - 0.5) > 0.28 else "black"
    axis.text(x, y - 0.02, digits(value), ha="center", va="bottom", color=color, fontsize=6.5)
    axis.text(x, y + 0.03, f"± {digits((high - low) / 2)}", ha="center", va="top", color=color, fontsize=4.5)


def critical_differences(results: Results) -> Any:
    """Draw mean ranks on the in-sample and on the reserved graphs, with what Nemenyi's test cannot tell apart."""
    names = results.complete(DETECTORS, (*IN_SAMPLE, *RESERVED))
    sections = {f"{len(IN_SAMPLE)} in-sample graphs †": IN_SAMPLE, f"{len(RESERVED)} reserved graphs": RESERVED}
    figure, _ = canvas(7.6, 6.8, (0, 0, 1, 1))
    figure.clear()
    for number, (title, graphs) in enumerate(sections.items()):
        axis = figure.add_axes((0.0, 0.505 - 0.5 * number, 1.0, 0.485))
        axis.axis("off")
        draw_ranks(axis, mean_ranks(results, names, graphs), critical_difference(len(names), len(graphs)), title)
    return figure


def draw_ranks(axis: Any, ranks: dict[str, float], distance: float, title: str) -> None:
    """Draw one critical-difference diagram: an axis of ranks, names on both sides, bars over what is not told apart."""
    order = sorted(ranks, key=lambda name: ranks[name])
    half = (len(order) + 1) // 2
    axis.set(xlim=(-0.36 * len(order), 1.36 * len(order) + 1), ylim=(half + 4.2, -3.4))
    axis.text(1, -2.9, f"{title}: mean rank, the best on the left", fontsize=8)
    axis.plot([1, len(order)], [0, 0], color="black", linewidth=0.8)
    for tick in range(1, len(order) + 1, 3):
        axis.plot([tick, tick], [-0.25, 0], color="black", linewidth=0.8)
        axis.text(tick, -0.4, str(tick), ha="center", va="bottom")
    axis.plot([1, min(1 + distance, len(order))], [-1.6, -1.6], color=ORANGE, linewidth=2)
    beyond = "" if 1 + distance <= len(order) else ", more than the axis is long"
    axis.text(1, -1.8, f"critical difference {distance:.1f}{beyond}", va="bottom", color=ORANGE)
    bars = groups([ranks[name] for name in order], distance)
    for level, (first, last) in enumerate(bars):
        y = 0.45 + 0.38 * level
        axis.plot([ranks[order[first]] - 0.1, ranks[order[last]] + 0.1], [y, y], color=BLUE, linewidth=2.2)
    below = 1.2 + 0.38 * len(bars)
    for place, name in enumerate(order):
        left = place < half
        y = below + (place if left else len(order) - 1 - place)
        end = 0.2 if left else len(order) + 0.8
        color = color_of(name)
        axis.plot([ranks[name], ranks[name], end], [0, y, y], color=color, linewidth=0.5)
        text = f"{plain(name)}  {ranks[name]:.1f}" if left else f"{ranks[name]:.1f}  {plain(name)}"
        axis.text(end + (-0.3 if left else 0.3), y, text, ha="right" if left else "left", va="center", color=color)


def groups(ranks: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """Return the longest runs of sorted ranks that are not a critical difference apart, as first and last place.

    >>> groups([1.0, 2.0, 3.5, 9.0], 2.0)
    [(0, 1), (1, 2)]
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(place for place, other in enumerate(ranks) if other - rank <= distance)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def in_and_out(results: Results) -> Any:
    """Draw each detector's mean on the in-sample graphs beside its mean on the reserved ones, with intervals."""
    names = results.complete(DETECTORS, (*IN_SAMPLE, *RESERVED))
    names.sort(key=lambda name: float(np.mean([results.value(name, graph) for graph in RESERVED])))
    figure, axis = canvas(6.8, 0.19 * len(names) + 0.9, (0.215, 0.075, 0.77, 0.875))
    for y, name in enumerate(names):
        for part, shift, face in ((IN_SAMPLE, 0.16, "white"), (RESERVED, -0.16, color_of(name))):
            mean = float(np.mean([results.value(name, graph) for graph in part]))
            ends = interval(np.mean([results.samples(name, graph) for graph in part], axis=0))
            axis.plot(ends, [y + shift] * 2, color=color_of(name), linewidth=0.7)
            axis.plot([mean], [y + shift], marker="o", markersize=4, color=color_of(name), markerfacecolor=face)
    axis.axvline(0.5, color="#bbbbbb", linewidth=0.8)
    axis.set_yticks(range(len(names)), [plain(name) for name in names])
    axis.set(ylim=(-0.7, len(names) - 0.3), xlabel="mean ROC-AUC and its 95% interval")
    axis.grid(axis="y", color="#eeeeee", linewidth=4)
    axis.set_axisbelow(True)
    axis.set_title(
        "hollow: 7 in-sample graphs †, whose labels helped to choose our defaults; filled: 4 reserved graphs"
    )
    return figure


def canvas(width: float, height: float, place: tuple[float, float, float, float]) -> tuple[Any, Any]:
    """Return a figure and its axes at a fixed place."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    return figure, figure.add_axes(place)


def drawn(results: Results) -> list[str]:
    """Return the detectors that ended anywhere."""
    return [name for name in DETECTORS if any(results.fixed(name, graph) for graph in GRAPHS)]


def boundaries(rows: Sequence[str]) -> list[int]:
    """Return the places where trivial scores, our detectors and each library begin, but for the first."""
    kinds = [kind(name) for name in rows]
    return [place for place in range(1, len(rows)) if kinds[place] != kinds[place - 1]]


def kind(name: str) -> str:
    """Return what a row is: a trivial score, one of our detectors, or a library's."""
    return "trivial" if name in (*TRIVIAL, NO_MODEL) else "ours" if name in OURS else name.partition(":")[0]


def color_of(name: str) -> str:
    """Return the color of a detector: CrossHCM, ours, trivial, and the libraries' apart."""
    return ORANGE if name == "cross_hcm" else {"ours": BLUE, "trivial": GRAY}.get(kind(name), GREEN)


def plain(name: str) -> str:
    """Return a detector's name without emphasis."""
    return named(name).strip("*")
