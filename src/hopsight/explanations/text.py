"""Numbers, names and small tables as text for a terminal."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from hopsight.checks import plural
from hopsight.checks import printable as printable
from hopsight.system.arrays import plain


class Readable:
    """An explanation that prints as lines of text; a base of dataclasses."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON."""
        values: dict[str, Any] = plain(dataclasses.asdict(self))  # type: ignore[call-overload]
        return values

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        raise NotImplementedError


def number(value: float | None) -> str:
    """Format a number with four significant digits; a dash stands for an unknown value.

    >>> number(1234.56), number(0.1), number(None)
    ('1,235', '0.1', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"


def fixed(value: float | None, digits: int) -> str:
    """Format a number with a fixed number of decimals; a dash stands for an unknown value."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float) -> str:
    """Format a percentage, rounded down so that it never reads 100% by rounding.

    >>> percent(41.7), percent(99.97)
    ('41%', '99.9%')
    """
    return f"{math.floor(value)}%" if value < 99 else f"{math.floor(10 * value) / 10:g}%"


def flagged_sentence(model: Any, n_flagged: int, n_nodes: int, *, scored: bool = False) -> str:
    """Say how many nodes are flagged, above which score, and by which rule.

    ``scored`` is for a graph that the detector was not fitted on: it keeps the threshold of the fit.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(contamination="auto", false_alarms=0.1, threshold_=3.0)
    >>> print(flagged_sentence(model, 24, 2400))
    24 nodes flagged (score above 3); about 10% of them are expected to be false alarms.
    >>> print(flagged_sentence(SimpleNamespace(contamination=0.05, threshold_=3.0), 120, 2400))
    120 nodes flagged (score above 3): 5% of all, as asked.
    """
    start = f"{plural(n_flagged, 'node')} flagged (score above {number(float(model.threshold_))})"
    share = getattr(model, "contamination", None)
    if scored:
        return f"{start}, by the threshold of the fit."
    if isinstance(share, float | int):
        asked = "" if abs(n_flagged - share * n_nodes) <= 1 else "; of nodes with equal scores all are flagged or none"
        return f"{start}: {100 * share:.3g}% of all, as asked{asked}."
    if share != "auto":
        return f"{start}."
    alarms = f"{100 * model.false_alarms:.3g}%"
    if n_flagged == 0:
        return f"No node flagged: none stands out enough for an expected share of false alarms of {alarms}."
    if n_flagged == 1:
        return f"{start}; the chance of a false alarm is about {alarms}."
    return f"{start}; about {alarms} of them are expected to be false alarms."


def printable_json(value: Any, *, indent: int | None = 1) -> str:
    r"""Return a value as JSON for a terminal: every character that does not print is escaped, C1 controls included.

    >>> print(printable_json("é\x9b2J"))
    "é\u009b2J"
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column is aligned left, the others right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for first, *rest in (header, *rows):
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        yield ("  " + "  ".join(cells)).rstrip()
