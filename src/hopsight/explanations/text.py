"""Explanations as text and as HTML: paragraphs, small tables, numbers, and values of attributes as people read them.

Derived attributes are shown as counts instead of logarithms, as differences with a sign, as times and as dates.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from hopsight import markup
from hopsight.checks import option, plural
from hopsight.io.derive import FOR_COUNT, IN_CURRENCY, is_derived
from hopsight.io.rules import IN_DAYS, IN_SECONDS, SECONDS_PER_DAY, SINCE_1970
from hopsight.io.vocabulary import is_money_name, is_year_name
from hopsight.system.arrays import plain

LEAST_FACTOR = 0.001
LOGARITHMS = (", mean log", ", log", ", log count")  # ends of the names of attributes that are log(1 + count)
UNITS = (
    ("year", 365.25 * SECONDS_PER_DAY), ("day", SECONDS_PER_DAY), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0),
)  # fmt: skip
EPOCH = date(1970, 1, 1)
FEW_FLAGGED = 0.01  # share of nodes that a user may ask for where none is flagged
SURE = 3.0  # standard errors by which labels are more often anomalous than a random sample of nodes would be
ALIKE = 0.03  # more than that, and labels may not be a random sample, though so few cannot show it
WIDTH, LEAST_NAME = 80, 16  # columns of a terminal, and of a name in it


@dataclass(frozen=True)
class Table:
    """A part of an explanation: rows of texts under a header, both after a title; each of the two may be empty."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_more: int = 0  # rows that are not shown


class Readable:
    """An explanation made of paragraphs and tables, for a terminal and for a notebook; a base of dataclasses."""

    summary: Any  # a property: the explanation in a few sentences

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings, ready for JSON, the summary first."""
        return {"summary": self.summary, **plain(dataclasses.asdict(self))}  # type: ignore[call-overload]

    def __str__(self) -> str:
        lines: list[str] = []
        after_table = False
        for part in self._parts():
            if isinstance(part, Table):
                more = [f"  … and {part.n_more:,} more"] if part.n_more else []
                lines += ["", *filter(None, [part.title]), *aligned(part.header, part.rows), *more]
            else:
                lines += ["", broken(part, "")] if after_table else [broken(part, "")]
            after_table = isinstance(part, Table)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title, *parts = self._parts()
        content = []
        for part in parts:
            if isinstance(part, Table):
                more = f"… and {part.n_more:,} more" if part.n_more else ""
                content += [markup.paragraph(part.title), markup.table(part.header, part.rows), markup.paragraph(more)]
            else:
                content.append(markup.paragraph(part))
        return markup.card(str(title), *content)

    def _parts(self) -> Iterator[str | Table]:
        """Yield a title, then paragraphs and tables."""
        raise NotImplementedError


def number(value: float | None) -> str:
    """Format a number with four significant digits or more; a dash stands for an unknown value.

    >>> number(1234.56), number(0.1), number(109512345.0), number(None)
    ('1,235', '0.1', '109,500,000', '–')
    """
    if value is None:
        return "–"
    if 1e7 <= abs(value) < 1e15:
        value = float(f"{value:.4g}")
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def fixed(value: float | None, digits: int) -> str:
    """Format a number with a fixed number of decimals; a dash stands for an unknown value."""
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float) -> str:
    """Format a percentage, rounded down so that it never reads 100% by rounding.

    >>> percent(41.7), percent(99.97)
    ('41%', '99.9%')
    """
    value = round(value, 9)  # of 0.58 too
    return f"{math.floor(value)}%" if value < 99 else f"{math.floor(10 * value) / 10:g}%"


def chance(probability: float) -> str:
    """Format the probability of being anomalous, which never reads 0% or 100% by rounding.

    >>> chance(0.004), chance(0.876), chance(0.9996)
    ('<1%', '88%', '99.9%')
    """
    return "<1%" if probability < 0.01 else percent(100 * probability) if probability >= 0.99 else f"{probability:.0%}"


def chance_of(score: float) -> float:
    """Return the probability that a score after learning stands for, −log₁₀ of the probability of being normal.

    >>> chance_of(1.0), chance_of(2.0)
    (0.9, 0.99)
    """
    return -math.expm1(-score * math.log(10.0))


def flagged_from(model: Any) -> float | None:
    """Return the probability from which nodes are flagged; None where labels do not make the ranking."""
    learned = getattr(model, "learned_", None)
    return None if learned is None or learned.kept[0] else chance_of(float(model.threshold_))


def flagged_sentence(
    model: Any, n_flagged: int, n_nodes: int, *, scored: bool = False, shown: Any = slice(None)
) -> str:
    """Say how many nodes are flagged, above which score or from which probability, and by which rule.

    Only a detector that has learned from labels says how many false alarms to expect: without labels, no estimate
    holds on every kind of graph, nor if labels are anomalous more often than nodes seem to be, such as known cases.
    ``scored`` is for a graph that the detector was not fitted on: it keeps the threshold of the fit. ``shown`` are the
    positions of the nodes that count, all by default.

    >>> from types import SimpleNamespace
    >>> print(flagged_sentence(SimpleNamespace(contamination="auto", threshold_=3.0), 24, 2400))
    24 nodes stand out (score above 3).
    >>> print(flagged_sentence(SimpleNamespace(contamination=0.05, threshold_=3.0), 120, 2400))
    120 nodes flagged (score above 3): 5% of all, as asked.
    """
    least = flagged_from(model)
    limit = f"score above {number(float(model.threshold_))}" if least is None else f"probability of {least:.1%} or more"
    start = f"{plural(n_flagged, 'node')} flagged ({limit})"
    share = "auto" if scored else getattr(model, "contamination", None)
    if hasattr(model, "only_"):  # a run that ranks some of the nodes
        return f"{n_flagged:,} of the {plural(len(shown), 'listed node')} flagged ({limit})."
    if scored and n_flagged:
        return f"{start}, by the threshold of the fit."
    if isinstance(share, float | int):
        if n_flagged == share * n_nodes:
            return f"{start}: {100 * share:.3g}% of all, as asked."
        real = f"{100 * n_flagged / n_nodes:.3g}% of all, where {100 * share:.3g}% were asked for"
        tied = int((model.decision_score_ == model.threshold_).sum()) > 1
        return f"{start}: {real}{'; of nodes with equal scores all are flagged or none' if tied else ''}."
    if share != "auto":
        return f"{start}."
    probability, before, were = getattr(model, "probability_", None), "", ""
    if hasattr(model, "before_"):
        flagged_before = model.before_["label_"][shown] == 1
        n_before, n_lost = int(flagged_before.sum()), int((flagged_before & (model.label_[shown] == 0)).sum())
        lost = f", of which {n_lost:,} {'is' if n_lost == 1 else 'are'} no longer flagged" if n_lost else ""
        before, were = f", {n_before:,} without the labels{lost}", f"{n_before:,} were flagged without the labels; "
    if n_flagged == 0:
        n_first = math.ceil(FEW_FLAGGED * (n_nodes - 1))
        advice = f"{option('contamination', FEW_FLAGGED)} flags the first {'one' if n_first == 1 else f'{n_first:,}'}"
        if probability is None:
            none = f"No node stands out enough to be flagged ({limit}{', the threshold of the fit' if scored else ''})"
            return f"{none}; the ranking says where to look first, and {advice}."
        most = chance(float(probability[shown].max()))
        none = f"No node is probable enough to be flagged (the largest probability is {most}); {were}"
        return f"{none}the ranking says where to look first, and {advice}."
    if probability is None:
        words = "stands out" if n_flagged == 1 else "stand out"
        return f"{plural(n_flagged, 'node')} {words} ({limit})."
    anomalous, mean = model.learned_.anomalous, float(probability[shown].mean())
    spread = SURE * math.sqrt(mean * (1.0 - mean) / anomalous.size)
    if anomalous.mean() > mean + min(spread, ALIKE):
        are = "are not" if anomalous.mean() > mean + spread else "may not be"
        why = f"the labels {are} a random sample ({anomalous.mean():.0%} of them are anomalous)"
        return f"{start}{before}. How many are false alarms is unknown, and the probabilities may be too high: {why}."
    normal = float((1.0 - probability[shown][model.label_[shown] == 1]).mean())
    start = f"{start}{before}; if the labels are a random sample"
    if n_flagged == 1:
        return f"{start}, the chance of a false alarm is {100 * normal:.2g}%."
    return f"{start}, {100 * normal:.2g}% of them are expected to be false alarms."


def printable_json(value: Any, *, indent: int | None = 1) -> str:
    r"""Return a value as JSON for a terminal: every character that does not print is escaped, C1 controls included.

    >>> print(printable_json("é\x9b2J"))
    "é\u009b2J"
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def broken(text: str, indent: str = "  ") -> str:
    """Break a text into lines of at most 80 columns, unless a word is longer; later lines are indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or text


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: the first column is aligned left, the others right.

    A long first column is broken where lines would be wider than a terminal, as are lines of one cell.
    """
    lines = [header, *rows] if header else rows
    if len(lines[0]) == 1:
        yield from (broken(f"  {cell}", "    ") for (cell,) in lines)
        return
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    widths[0] = min(widths[0], max(LEAST_NAME, WIDTH - sum(width + 2 for width in widths[1:]) - 2))
    for name, *rest in lines:
        parts = name if len(name) <= widths[0] else name.replace("=", "= ")
        first, *more = textwrap.wrap(parts, widths[0], subsequent_indent="  ") or [""]
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        yield ("  " + "  ".join(cells)).rstrip()
        yield from (f"  {line}" for line in more)


def shown_value(name: str, value: float) -> str:
    """Return the value of an attribute as text.

    What is compared with nodes that have about as many edges is a difference, or a factor where it is one of
    logarithms.

    >>> shown_value("in-degree, log", 3.0445), shown_value("age", 31.0), shown_value("opened, days since 1970", 19783.4)
    ('20', '31', '2024-03-01')
    >>> shown_value("year", 1985.0)
    '1985'
    >>> shown_value("amount sent, maximum for its count", 1220.0)
    '+1,220'
    >>> shown_value("amount sent, log sum for its count", -0.6931)
    '×0.5'
    >>> shown_value("date sent, first in days for its count", -0.25)
    '-6 hours'
    """
    if name.endswith(FOR_COUNT):
        if ", log " in name:
            return f"×{math.exp(min(max(value, math.log(LEAST_FACTOR)), 300.0)):,.2g}"
        text = _difference(name, abs(value))
        return f"+{text}" if value > 0 else f"-{text}" if value < 0 else text
    if name.endswith(SINCE_1970):
        return _date(value)
    if is_year_name(name) and 1000 <= value < 10_000:
        return f"{value:.0f}"
    return number(round(math.expm1(value), 6)) if name.endswith(LOGARITHMS) and 0 <= value < 100 else number(value)


def shown_name(name: str) -> str:
    """Return the name of an attribute without the logarithm or the unit that its values no longer have.

    Only amounts are called sent and received: other edges may be claims, calls or log-ins.

    >>> shown_name("edges sent, log count"), shown_name("amount sent, log sum for its count")
    ('outgoing edges', 'amount sent, sum for its count')
    >>> shown_name("date received, first in days for its count"), shown_name("opened, days since 1970")
    ('date of incoming edges, first for its count', 'opened')
    """
    summary = re.fullmatch("(.+' |)(.+) (sent|received)(, .+)", name)
    if summary and is_derived(name.removeprefix(summary[1])) and not is_amount(summary[2]):
        edges = "outgoing edges" if summary[3] == "sent" else "incoming edges"
        name = f"{summary[1]}{edges if summary[2] == 'edges' else f'{summary[2]} of {edges}'}{summary[4]}"
    if name.endswith(FOR_COUNT):
        short = name.removesuffix(FOR_COUNT).removesuffix(IN_DAYS).removesuffix(IN_SECONDS)
        return f"{short.replace(', log ', ', ')}{FOR_COUNT}"
    for end in (*LOGARITHMS, SINCE_1970):
        name = name.removesuffix(end)
    return name


def origin(name: str) -> str:
    """Return what an attribute is derived from, such as the amounts sent; a column of a table is its own origin.

    >>> origin("amount sent, median"), origin("age")
    ('amount sent', 'age')
    """
    return name.partition(", ")[0] if is_derived(name) else name


def is_amount(name: str) -> bool:
    """Return whether numbers of this name are amounts, in a currency or not.

    >>> is_amount("amount in EUR"), is_amount("weight")
    (True, False)
    """
    return is_money_name(name.partition(IN_CURRENCY)[0])


def phrase(name: str, value: float) -> str:
    """Return an attribute with its value as a part of a sentence.

    >>> phrase("amount sent, maximum for its count", 1220.0)
    'amount sent, maximum: 1,220 more than usual for as many edges'
    >>> phrase("amount sent, log sum for its count", 2.92), phrase("in-degree, log", 3.0445)
    ('amount sent, sum: 19 times what is usual for as many edges', 'in-degree 20')
    >>> phrase("date sent, first in days for its count", 48.0)
    'date of outgoing edges, first: 48 days later than usual for as many edges'
    """
    text, short = shown_value(name, value), shown_name(name)
    if not name.endswith(FOR_COUNT):
        return f"{short} {text}"
    short = short.removesuffix(FOR_COUNT)
    if text.startswith("×"):
        times = text[1:] if value > math.log(LEAST_FACTOR) else f"less than {LEAST_FACTOR}"  # a sum below 0 has none
        return f"{short}: {times} times what is usual for as many edges"
    if value == 0:
        return f"{short}: as usual for as many edges"
    words = ("later", "earlier") if is_time(name) else ("more", "less")
    return f"{short}: {_difference(name, abs(value))} {words[value < 0]} than usual for as many edges"


def is_time(name: str) -> bool:
    """Return whether the values of an attribute are later or earlier, not higher or lower.

    >>> is_time("opened, days since 1970"), is_time("date sent, last for its count"), is_time("amount sent, median")
    (True, True, False)
    """
    return name.endswith(SINCE_1970) or shown_name(name).endswith((f", first{FOR_COUNT}", f", last{FOR_COUNT}"))


def length_of_time(seconds: float) -> str:
    """Return a length of time in the largest unit of which it has at least one, or two years.

    >>> [length_of_time(each) for each in (86400.0, 3.24 * 86400, 100 * 86400, 5400, 59.0, 0.5, 1e9)]
    ['1 day', '3.2 days', '100 days', '1.5 hours', '59 seconds', '0.5 seconds', '32 years']
    """
    unit, size = next((each for each in UNITS if seconds >= each[1] * (2 if each[0] == "year" else 1)), UNITS[-1])
    count = float(f"{seconds / size:.2g}") if seconds < 100 * size else round(seconds / size)
    return plural(int(count), unit) if count == int(count) else f"{count:g} {unit}s"


def _difference(name: str, size: float) -> str:
    """Return the size of a difference, as a length of time if the unit of the attribute is known."""
    start = name.removesuffix(FOR_COUNT)
    if size and start.endswith((IN_DAYS, IN_SECONDS)):
        return length_of_time(size * SECONDS_PER_DAY if start.endswith(IN_DAYS) else size)
    return number(size)


def _date(days: float) -> str:
    try:
        return (EPOCH + timedelta(days=math.floor(days))).isoformat()
    except OverflowError:  # before the year 1 or after 9999
        return number(days)
