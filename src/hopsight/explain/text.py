"""Explanations as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopsight.explain.reasons import AttributeGap, EdgeExplanation, Explanation


def number(value: float | None) -> str:
    """Write a number with four significant digits; a dash stands for what is not known.

    >>> number(1234.56), number(0.1), number(None)
    ('1,235', '0.1', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"


def percent(value: float) -> str:
    """Write a percentage that never rounds up to everything.

    >>> percent(41.7), percent(99.97)
    ('41 %', '99.9 %')
    """
    return f"{math.floor(value)} %" if value < 99 else f"{math.floor(10 * value) / 10:g} %"


def printable(name: object) -> str:
    r"""Write a name that a stranger chose: control characters must not reach the terminal.

    >>> print(printable("a\x1b[2J"))
    a\x1b[2J
    """
    text = str(name)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def node_summary(explanation: Explanation) -> str:
    """Say in two or three sentences what matters most."""
    flagged = "flagged" if explanation.flagged else "not flagged"
    sentences = [f"Ranks {explanation.rank:,} of {explanation.n_nodes:,} ({flagged})."]
    hops = [neighbor.hop for neighbor in explanation.neighbors if neighbor.hop is not None]
    if hops:
        sentences.append(_distance(explanation, hops))
    if explanation.attributes:
        gap = explanation.attributes[0]
        sentences.append(
            f"It differs most in {printable(gap.name)}: {number(gap.value)}, where {_typical(gap, explanation.degree)}."
        )
    return " ".join(sentences)


def node_text(explanation: Explanation) -> str:
    """Write the whole explanation of a node: summary, neighbors, attributes, what would change it."""
    return "\n".join(_node_lines(explanation))


def edge_text(edge: EdgeExplanation) -> str:
    """Write the whole explanation of an edge."""
    return "\n".join(_edge_lines(edge))


def _distance(explanation: Explanation, hops: Sequence[float]) -> str:
    ahp = next((value for value in explanation.values if value.name == "ahp"), None)
    farther = f", more than for {percent(ahp.percentile)} of all nodes" if ahp and ahp.percentile >= 50 else ""
    mean = sum(hops) / len(hops)
    if len(hops) == 1:
        return f"Its only neighbor looks {mean:.1f} hops away{farther}."
    return f"Its {len(hops):,} neighbors look {mean:.1f} hops away on average{farther}."


def _typical(gap: AttributeGap, degree: int) -> str:
    if gap.share is not None and degree > 1:
        return f"{100 * gap.share:.0f} % of its neighbors have 1" if gap.share else "none of its neighbors has 1"
    return f"its {'neighbor has' if degree == 1 else 'neighbors have'} {_range(gap)}"


def _range(gap: AttributeGap) -> str:
    return number(gap.median) if gap.low == gap.high else f"{number(gap.low)} to {number(gap.high)}"


def _node_lines(explanation: Explanation) -> Iterator[str]:
    yield f"Node {printable(explanation.node)}, judged by {explanation.detector}"
    yield explanation.summary
    if explanation.method is not None:
        yield f"The score of {explanation.detector} says {explanation.method}."
    yield f"Score {number(explanation.score)} (flagged above {number(explanation.threshold)}); " + (
        f"{explanation.degree:,} {'edge' if explanation.degree == 1 else 'edges'}, "
        f"more than {percent(explanation.degree_percentile)} of all nodes."
    )
    for value in explanation.values:
        higher = f"higher than for {percent(value.percentile)} of all nodes"
        yield f"{value.name} {number(value.value)}: {value.meaning}; {higher}."
    for note in explanation.notes:
        yield f"Note: {note}"
    yield from _neighbor_lines(explanation)
    yield from _attribute_lines(explanation.attributes)
    if explanation.without is not None:
        without = explanation.without
        names = ", ".join(printable(name) for name in without.neighbors)
        yield ""
        yield f"Without the edges to {names} the score would be {number(without.score)}, rank {without.rank:,}."


def _neighbor_lines(explanation: Explanation) -> Iterator[str]:
    shown = explanation.neighbors[: explanation.top]
    if not shown:
        return
    yield ""
    if shown[0].hop is None:
        yield "Neighbors, most anomalous first"
        header: tuple[str, ...] = ("neighbor", "score", "rank", "edges")
        rows = [[printable(each.node), number(each.score), f"{each.rank:,}", f"{each.degree:,}"] for each in shown]
    else:
        yield "Neighbors, farthest first"
        header = ("neighbor", "hops", "variance", "P(1 hop)", "part of AHP")
        digits = {"hop": 2, "variance": 3, "probability": 3, "contribution": 4}
        rows = [[printable(each.node), *(_fixed(getattr(each, key), digits[key]) for key in digits)] for each in shown]
    yield from _table(header, rows)
    left = len(explanation.neighbors) - len(shown)
    if left:
        yield f"  … and {left:,} more"


def _attribute_lines(gaps: Sequence[AttributeGap]) -> Iterator[str]:
    if not gaps:
        return
    yield ""
    yield "Attributes that differ most from the neighbors'"
    rows = [
        (
            printable(gap.name),
            number(gap.value),
            _range(gap) if gap.share is None else f"{100 * gap.share:.0f} % have 1",
            f"{gap.difference:+.1f}",
            percent(gap.percentile),
        )
        for gap in gaps
    ]
    yield from _table(("attribute", "value", "neighbors", "difference", "lower in"), rows)


def _edge_lines(edge: EdgeExplanation) -> Iterator[str]:
    source, target = printable(edge.source), printable(edge.target)
    yield f"Edge {source} – {target}, judged by {edge.detector}"
    if edge.hop is None:
        yield f"{edge.detector} judges nodes, not edges."
    else:
        yield f"Its ends look {number(edge.hop)} hops apart (variance {number(edge.variance)}); " + (
            f"the probability that they are really 1 hop apart is {number(edge.probability)}."
        )
        yield f"Ranks {edge.rank:,} of {edge.n_edges:,} edges, the longest-looking first."
        yield f"It carries {_share(edge.source_share)} of the AHP of {source}, " + (
            f"{_share(edge.target_share)} of that of {target}."
        )
    yield f"Scores: {source} {number(edge.source_score)}, {target} {number(edge.target_score)}; " + (
        f"neighbors in common: {edge.common_neighbors:,}."
    )
    rows = [
        (printable(gap.name), number(gap.value), number(gap.median), f"{gap.difference:+.1f}")
        for gap in edge.attributes
    ]
    if rows:
        yield ""
        yield "Attributes that differ most"
        yield from _table(("attribute", source, target, "difference"), rows)


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _share(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        first, *rest = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        yield ("  " + "  ".join(cells)).rstrip()
