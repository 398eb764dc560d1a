"""Pictures of a fitted detector, each drawn on matplotlib axes and returned for further changes.

Every function takes ``ax=``, the axes to draw on; without it, a new figure is made. In a notebook,
``hs.plot.scores(model)`` is all that is needed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_count, plural, printable
from hopsight.detectors.table import evidence_of, weights_of
from hopsight.explanations.edges import JudgedEdges
from hopsight.graph import AttributedGraph
from hopsight.metrics import ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["evidence", "neighborhood", "scores"]

BLUE, WARM, GRAY = "#2f6f9f", "#bd4a12", "#8d8a83"
KIND_COLORS = {
    "misfit": "#2f6f9f", "ring": "#bd4a12", "outlier": "#5b8c5a", "activity": "#c79a2b", "lockstep": "#8d6aa8",
    "burst": "#c2437a", "pass_through": "#2a8f8f", "cycle": "#6b6f2a", "amount": "#7a5638",
    "relations": "#4f8a8b", "sharing": "#a0522d",
}  # fmt: skip
MAX_NAME, LONGEST_NEIGHBOR = 24, 20


def scores(model: Any, *, bins: int = 48, ax: Axes | None = None) -> Axes:
    """Draw how the scores are distributed, and the threshold above which nodes are flagged.

    Parameters
    ----------
    model
        A fitted detector.
    bins
        Number of bars.
    ax
        The axes to draw on; by default a new figure.
    """
    check_count("bins", bins)
    values = _scores(model)
    axes = _axes(ax, 6.4, 3.2)
    limit = float(model.threshold_)
    edges = np.histogram_bin_edges(values, bins).tolist()
    axes.hist(values[values <= limit], edges, color=BLUE, label="not flagged")
    flagged = values[values > limit]
    axes.hist(flagged, edges, color=WARM, label=f"{flagged.size:,} flagged")
    axes.axvline(limit, color=GRAY, linestyle="--", linewidth=1, label=f"threshold {limit:.3g}")
    axes.set_yscale("log")
    axes.set(xlabel="score (higher = more anomalous)", ylabel="nodes", title=f"Scores of {plural(values.size, 'node')}")
    axes.legend(frameon=False)
    return axes


def evidence(model: Any, *, top: int = 12, graph: AttributedGraph | None = None, ax: Axes | None = None) -> Axes:
    """Draw how strong each kind of evidence is for the most anomalous nodes.

    A strength of 3 means as unusual as an estimated 1 in 1,000 ordinary nodes.

    Parameters
    ----------
    model
        A fitted CrossHCM.
    top
        Number of nodes.
    graph
        The graph that the detector was fitted on; needed for a detector loaded from disk.
    ax
        The axes to draw on; by default a new figure.
    """
    check_count("top", top)
    kinds = evidence_of(model)
    if not kinds:
        raise ValueError(f"{type(model).__name__} has no kinds of evidence to draw: fit CrossHCM")
    nodes = ranking(_scores(model))[:top]
    axes = _axes(ax, 7.6, 1.2 + 0.3 * nodes.size)
    rows = np.arange(nodes.size)
    height = 0.8 / len(kinds)
    for place, (kind, strength) in enumerate(kinds.items()):
        counts = kind in model.evidence
        axes.barh(
            rows + (place - (len(kinds) - 1) / 2) * height,
            strength[nodes],
            height,
            color=KIND_COLORS[kind],
            alpha=1.0 if counts else 0.45,
            label=_counted(kind, weights_of(model)[kind] if counts else 0.0),
        )
    axes.set_yticks(rows, [_short(_graph(model, graph).node_ids[node]) for node in nodes])
    axes.invert_yaxis()
    axes.set(xlabel="strength (3 = one ordinary node in a thousand)", title="Evidence about the most anomalous nodes")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside the bars, never over them
    return axes


def _counted(kind: str, weight: float) -> str:
    """Return a kind of evidence with how much of it counts, unless it is all."""
    return kind if weight == 1.0 else f"{kind} (counts {weight:.0%})" if weight else f"{kind} (does not count)"


def neighborhood(
    model: Any, node: Hashable, *, graph: AttributedGraph | None = None, limit: int = 24, ax: Axes | None = None
) -> Axes:
    """Draw a node and its neighbors; the farther away a neighbor looks, the farther out it is.

    Rings are hops. For a detector that predicts no hops all neighbors are on the first ring, and the color says
    whether a neighbor is flagged.

    Parameters
    ----------
    model
        A fitted detector.
    node
        The id of the node.
    graph
        The graph that the detector was fitted on; needed for a detector loaded from disk.
    limit
        Number of neighbors to draw, the most out of place first.
    ax
        The axes to draw on; by default a new figure.
    """
    check_count("limit", limit)
    known = _graph(model, graph)
    position = known.index_of(node)
    judged = JudgedEdges(known, model)
    edges, others = (found[:limit] for found in judged.at(position))
    hops = np.array([hop or 1.0 for hop in judged.values(edges)[0]])
    angle = 2 * np.pi * np.arange(others.size) / max(1, others.size)
    places = np.column_stack([hops * np.cos(angle), hops * np.sin(angle)])
    axes = _axes(ax, 6.4, 6.4)
    names = [_short(known.node_ids[other], LONGEST_NEIGHBOR) for other in others.tolist()]
    _draw_rings(axes, hops, between=np.pi / max(2, others.size), longest=max(map(len, names), default=0))
    flagged = _scores(model)[others] > model.threshold_
    for (x, y), turn, name, hot in zip(places, angle.tolist(), names, flagged.tolist(), strict=True):
        color = WARM if hot else BLUE
        axes.plot([0, x], [0, y], color=color, linewidth=1, alpha=0.5, zorder=1)
        axes.scatter([x], [y], color=color, zorder=2)
        _label(axes, name, x, y, turn)
    axes.scatter([0], [0], s=90, color="black", edgecolor="white", zorder=3)
    n_more = int(known.degrees[position]) - others.size
    more = f"\n({n_more:,} more not drawn)" if n_more else ""
    axes.set(title=f"{_short(node)}: how far its neighbors look{more}", aspect="equal")
    axes.axis("off")
    return axes


def __dir__() -> list[str]:
    return __all__


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _draw_rings(axes: Axes, hops: NDArray[np.float64], *, between: float, longest: int) -> None:
    """Draw a circle for every whole number of hops, with its number at an angle between two neighbors.

    Around them is room for names of ``longest`` characters.
    """
    from matplotlib.patches import Circle

    outer = int(np.ceil(hops.max(initial=1.0)))
    for ring in range(1, outer + 1):
        axes.add_patch(Circle((0, 0), ring, fill=False, color=GRAY, linewidth=0.6, alpha=0.6))
        place = (ring * np.cos(between), ring * np.sin(between))
        axes.annotate(plural(ring, "hop"), place, color=GRAY, size=7, ha="center", va="center")
    radius = axes.get_window_extent().width / axes.figure.dpi / 2  # in inches
    share = min(0.7, (0.07 * longest + 0.1) / radius)
    limit = max(1.05 * outer, float(hops.max(initial=1.0)) / (1 - share))
    axes.set_xlim(-limit, limit)
    axes.set_ylim(-limit, limit)


def _label(axes: Axes, text: str, x: float, y: float, turn: float) -> None:
    """Write a name outward along the line from the center, so that no two names can overlap."""
    left = np.cos(turn) < -1e-9
    away = (7 * np.cos(turn), 7 * np.sin(turn))
    rotation = np.degrees(turn) + (180 if left else 0)
    axes.annotate(
        text, (x, y), away, textcoords="offset points", size=8, rotation=rotation, rotation_mode="anchor",
        ha="right" if left else "left", va="center",
    )  # fmt: skip


def _scores(model: Any) -> NDArray[np.float64]:
    if not hasattr(model, "decision_score_"):
        raise ValueError(f"{type(model).__name__} is not fitted yet: call fit first")
    return np.asarray(model.decision_score_, dtype=np.float64)


def _graph(model: Any, graph: AttributedGraph | None) -> AttributedGraph:
    found: AttributedGraph | None = graph if graph is not None else getattr(model, "graph_", None)
    if found is None:
        name = type(model).__name__
        raise ValueError(f"this {name} was loaded from disk without its graph: pass graph=, the one it was fitted on")
    return found


def _short(name: object, longest: int = MAX_NAME) -> str:
    """Return a name that fits a label and holds no formula for matplotlib to set."""
    text = printable(name).replace("$", r"\$")
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
