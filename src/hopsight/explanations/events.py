"""What the events of a node say about it, in words: who, how much, from when to when, and what is usual."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from hopsight.checks import plural, printable
from hopsight.detectors.table import FLOW_KINDS
from hopsight.explanations.text import number
from hopsight.io.rules import SECONDS_PER_DAY, UNIX
from hopsight.system.lazy_polars import pl

if TYPE_CHECKING:
    from hopsight.flow.evidence import Flow
    from hopsight.flow.facts import AmountFacts, BurstFacts, CycleFacts, Facts, PassThroughFacts
    from hopsight.graph import AttributedGraph

MOST_NAMES = 8  # of a chain
NOTICEABLE = 1.0  # one ordinary node in ten
DIGITS = 6  # decimals of the strength of an event
EXACT = 15 * SECONDS_PER_DAY  # spans up to this long are told to the minute
UNUSUAL_EVENTS = {
    "burst": "one of many in a short time",
    "pass_through": "part of what came in and soon went out again",
    "cycle": "part of a chain of similar amounts",
    "amount": "unusual for both ends",
}


@dataclass(frozen=True)
class FlowReason:
    """What one kind of evidence from events says about a node, as a sentence and in a few words."""

    kind: str
    sentence: str
    in_short: str


@dataclass(frozen=True)
class Calendar:
    """How the times of events are written: by a pattern of dates, as in the user's file, or as numbers (None).

    ``whole_days`` says that no time has an hour of the day.

    >>> Calendar("%d.%m.%Y").moment(1709296200.0), Calendar(None).moment(7.5)
    ('01.03.2024 12:30', '7.5')
    """

    pattern: str | None = "%Y-%m-%d"
    whole_days: bool = False

    @classmethod
    def of(cls, graph: AttributedGraph) -> Calendar:
        """Return how the times of a graph are written; numbers that look like UNIX seconds are dates."""
        times = graph.events.time if graph.events is not None else graph.edge_time
        known = times[np.isfinite(times)] if times is not None else np.empty(0)
        if not known.size or known.min() < UNIX[0] or known.max() > UNIX[1]:
            return cls(None)
        return cls(graph.events.dates if graph.events else cls.pattern, bool((known % SECONDS_PER_DAY == 0).all()))

    def day(self, time: float) -> str:
        """Return the date of a time."""
        if self.pattern is None:
            return number(time)
        return f"{datetime.fromtimestamp(time, UTC):{self.pattern}}"

    def moment(self, time: float) -> str:
        """Return a time with its minute; midnight is a date alone."""
        if self.pattern is None or time % SECONDS_PER_DAY == 0:
            return self.day(time)
        return f"{datetime.fromtimestamp(time, UTC):{self.pattern} %H:%M}"

    def column(self, times: Any) -> pl.Series:
        """Return many times with their seconds; as numbers, or as dates alone, where that is all there is.

        >>> Calendar("%d.%m.%Y").column(np.array([1709296200.0, np.nan])).to_list()
        ['01.03.2024 12:30:00', None]
        """
        found = pl.Series(times).fill_nan(None)
        if self.pattern is None:
            return found
        moments = (found * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
        return moments.dt.strftime(self.pattern if self.whole_days else f"{self.pattern} %H:%M:%S")

    def span(self, first: float, last: float) -> str:
        """Return from when to when.

        >>> Calendar().span(1709251200.0, 1709769600.0), Calendar().span(1709251200.0, 1709269500.0)
        ('2024-03-01 to 2024-03-07', '2024-03-01 00:00 to 05:05')
        """
        if self.day(first) == self.day(last):
            if self.pattern is None or self.moment(first) == self.moment(last):
                return self.moment(first)
            clocks = (f"{datetime.fromtimestamp(time, UTC):%H:%M}" for time in (first, last))
            return f"{self.day(first)} {' to '.join(clocks)}"
        shown = self.moment if last - first <= EXACT else self.day
        return f"{shown(first)} to {shown(last)}"

    def within(self, first: float, last: float) -> tuple[str, str]:
        """Return within how long something happened and from when to when, and the former alone.

        >>> Calendar(whole_days=True).within(1709251200.0, 1709251200.0)
        ('on 2024-03-01', 'within a day')
        >>> Calendar(whole_days=True).within(1709251200.0, 1709337600.0)
        ('within 2 days (2024-03-01 to 2024-03-02)', 'within 2 days')
        """
        if self.whole_days and first == last:
            return f"on {self.day(first)}", "within a day"
        within = f"within {self.lasting(first, last)}"
        return f"{within} ({self.span(first, last)})", within

    def lasting(self, first: float, last: float) -> str:
        """Return how long it took from one time to another; a day is at least a day."""
        return self.length(last - first + (SECONDS_PER_DAY if self.whole_days else 0.0))

    def limit(self, seconds: float) -> str:
        """Return a length of time exactly; where times are dates alone, the number of days within it.

        >>> [Calendar().limit(hours * 3600.0) for hours in (0.5, 51.0, 72.0)], Calendar(whole_days=True).limit(183600.0)
        (['30 minutes', '51 hours', '3 days'], '2 days')
        """
        if self.pattern is None or (self.whole_days and seconds < SECONDS_PER_DAY):
            return self.length(seconds)
        units = (("day", SECONDS_PER_DAY), ("hour", 3600.0), ("minute", 60.0))
        exact = (plural(int(seconds // size), unit) for unit, size in units if self.whole_days or seconds % size == 0)
        return next(exact, self.length(seconds))

    def length(self, seconds: float) -> str:
        """Return a length of time in whole minutes, hours or days, rounded up.

        >>> [Calendar().length(hours * 3600.0) for hours in (0.0, 0.5, 4.2, 35.0, 41.0)]
        ['a minute', '30 minutes', '5 hours', '35 hours', '2 days']
        """
        if self.pattern is None:
            return number(seconds)
        seconds = round(seconds, 3)
        if self.whole_days and seconds <= SECONDS_PER_DAY:
            return "a day"
        for unit, size, least in (("day", SECONDS_PER_DAY, 1.5), ("hour", 3600.0, 1.0), ("minute", 60.0, 1.0)):
            if seconds >= least * size:
                return plural(int(np.ceil(seconds / size - 1e-9)), unit)
        return "a minute"


def money(*values: float | None, currency: str | None = None) -> str:
    """Return an amount, or the range from a smallest to a largest, with its currency; nothing of an unknown one.

    >>> money(880.0, 995.5, currency="EUR"), money(5840.4), money(20.0, 20.0), money(0.000091234), money(1.728e8)
    ('880 to 995.50 EUR', '5,840', '20', '0.00009123', '172,800,000')
    >>> money(138.94), money(138.9432), about(138.94, "EUR")  # as in the table, converted, and estimated
    ('138.94', '138.9', 'about 138.9 EUR')
    >>> money(999.99, 9999.95), money(float("nan"))  # not 1,000 and 10,000, which somebody may have avoided
    ('999.99 to 9,999.95', '')
    """
    known = [value for value in values if value is not None and np.isfinite(value)]
    if not known:
        return ""
    return _in(" to ".join(dict.fromkeys(map(_amount_text, known))), currency)


def about(value: float, currency: str | None = None) -> str:
    """Return an estimated amount with its currency."""
    return f"about {_in(_rounded(value), currency)}"


def _in(text: str, currency: str | None) -> str:
    return f"{text} {printable(currency)}" if currency else text


def _amount_text(value: float) -> str:
    rounded = float(f"{value:.4g}") if abs(value) < 1e3 else float(round(value))
    is_limit = rounded == float(f"{rounded:.0e}") and f"{abs(rounded):.0e}"[0] in "125"  # 1,000, 2,000 or 5,000
    in_cents = abs(value) < 1e3 and round(value) != value and math.isclose(value, round(value, 2), rel_tol=1e-12)
    if in_cents or (is_limit and 100.0 <= abs(value) < abs(rounded)):
        return f"{value:,.2f}"
    return _rounded(value)


def _rounded(value: float) -> str:
    if abs(value) >= 1e3:
        return f"{value:,.0f}"
    return np.format_float_positional(value, precision=4, fractional=False, trim="-")


def flow_reason(kind: str, facts: Facts, names: Any, calendar: Calendar) -> FlowReason:
    """Return what one kind of evidence says about a node, given the names of all nodes."""
    tell: dict[str, Callable[..., tuple[str, str]]] = {
        "burst": _burst, "pass_through": _pass_through, "cycle": _cycle, "amount": _amount,
    }  # fmt: skip
    sentence, in_short = tell[kind](facts, names, calendar)
    return FlowReason(kind, sentence, in_short)


def _burst(facts: BurstFacts, names: Any, calendar: Calendar) -> tuple[str, str]:
    received = facts.direction == "received"
    when, within = calendar.within(facts.first, facts.last)
    new = facts.with_new
    count, usual = (facts.n_new, facts.usual_new) if new else (facts.n_events, facts.usual)
    usual = max(0, round(usual))
    # In a small graph the node may be the only one of its size.
    usually = f"; nodes this active usually have {usual:,}" if usual < count else ""
    total = _totals(facts.sums)
    only = facts.sums[0][1] if facts.sums else None
    amount, known = total if facts.smallest is None else money(facts.smallest, facts.largest, currency=only), ""
    several = f" in {facts.n_events:,} events" if new and facts.n_events > facts.n_new else ""
    in_all = f", {total} in all" if total != amount else ""
    if 0 < facts.n_amounts < facts.n_events:
        amount, known = "", f"; {plural(facts.n_amounts, 'amount')} known: {amount}"
    if not total:  # nothing is sent: events may be claims, calls or log-ins
        what = plural(facts.n_events, "incoming event" if received else "outgoing event")
        who = f"edges {'from' if received else 'to'} {plural(facts.n_new, 'new partner')}" if new else what
        start = f"It had {who}"
    elif new and received:
        who = plural(facts.n_new, "new sender")
        start = f"{who} sent it {amount}" if amount else f"{who} reached it"
    elif new:
        who = plural(facts.n_new, "new receiver")
        start = f"It sent {amount} to {who}" if amount else f"It reached {who}"
    else:
        what, did = plural(facts.n_events, "amount" if amount else "event"), "received" if received else "sent"
        who, start = f"{what} {did}", f"It {did} {what}" + (f" of {amount}" if amount else "")
    short = f"{who}, {total}" if total else who
    return f"{start}{several} {when}{known}{in_all}{usually}.", f"{short} {within}"


def _totals(sums: Sequence[tuple[float, str | None]]) -> str:
    """Return sums of amounts with their currencies.

    >>> _totals([(600.0, "EUR"), (96000.0, "JPY")])
    '600 EUR and 96,000 JPY'
    """
    return " and ".join(money(total, currency=currency) for total, currency in sums)


def _pass_through(facts: PassThroughFacts, names: Any, calendar: Calendar) -> tuple[str, str]:
    received = money(facts.received, currency=facts.currency)
    same_day = calendar.whole_days and facts.window < SECONDS_PER_DAY
    within = "on the same day" if same_day else f"within {calendar.limit(facts.window)}"
    half = "on the same day" if calendar.whole_days and not facts.delay else f"within {calendar.length(facts.delay)}"
    when = calendar.span(facts.first, facts.last)
    part = f"{min(facts.share, 0.99 if facts.passed < facts.received else 1.0):.0%}"  # 99.8% is not all
    soon = "" if half == within else f", half of that {half}"
    usual = f"{facts.usual:.0%}" if facts.usual else "nothing"
    usually = f"; others usually pass on {usual}" if facts.usual < facts.share else ""
    sentence = f"{part} of the {received} it received went out again, each time {within}{soon} ({when}){usually}."
    return sentence, f"{part} of {received} out again {within}"


def _cycle(facts: CycleFacts, names: Any, calendar: Calendar) -> tuple[str, str]:
    amount = money(float(facts.amounts.min()), float(facts.amounts.max()), currency=facts.currency)
    when, within = calendar.within(facts.first, facts.last)
    places = facts.nodes.tolist()
    n_nodes = len(set(places))
    shown = [printable(names[place]) for place in places]
    way = " → ".join(shown if len(shown) <= MOST_NAMES + 1 else [*shown[: MOST_NAMES - 1], "…", shown[-1]])
    what = f"went around a circle of {n_nodes} nodes" if facts.returns else f"went along a chain of {n_nodes} nodes"
    short = f"{amount} {'around' if facts.returns else 'along'} {n_nodes} nodes {within}"
    return f"{amount} {what} {when}: {way}.", short


def _amount(facts: AmountFacts, names: Any, calendar: Calendar) -> tuple[str, str]:
    from hopsight.flow.evidence import PRIOR

    sentences, shorts = [], []
    if facts.n_near and facts.limit is not None:
        limit, range_ = money(facts.limit, currency=facts.currency), money(facts.smallest, facts.largest)
        what = plural(facts.n_near, "amount")
        lie = "lies" if facts.n_near == 1 else "lie"
        only = "" if facts.near_partner is None else printable(names[facts.near_partner])
        way = "to" if facts.near_direction == "sent" else "from"
        all_ = f" {way} {only}" if only and facts.n_near > 1 else ""
        single = f"does not count, a single amount {way} a partner"
        if facts.n_regular > 1:
            single = f"do not count, single amounts {way} partners"
        more = f"; {facts.n_regular:,} more {single} known for two weeks" if facts.n_regular else ""
        sentences.append(f"{what} it {facts.near_direction}{all_} {lie} just below {limit} ({range_}){more}.")
        shorts.append(f"{what} {facts.near_direction} just below {limit}")
    if facts.value is not None and facts.usual is not None and facts.partner is not None:
        value, usual = money(facts.value, currency=facts.currency), about(facts.usual, facts.currency)
        way = "to" if facts.direction == "sent" else "from"
        when = "" if facts.time is None else f" on {calendar.moment(facts.time)}"
        partner, which = printable(names[facts.partner]), "only" if facts.time is None else "first"
        first = f", the {which} amount it {facts.direction}" if facts.is_first else ""
        whom = "for it" if facts.n_earlier >= PRIOR else "for it and others" if facts.n_earlier else "for others"
        sentences.append(f"It {facts.direction} {value} {way} {partner}{when}{first}; {usual} is usual {whom}.")
        its = f", its {which}" if facts.is_first else ""
        shorts.append(f"{facts.direction} {value}{its}; {about(facts.usual)} is usual {whom}")
    return " ".join(sentences), next(iter(shorts), "")


class EdgeEvents:
    """Says what is unusual about an event, or about the most unusual event of an edge, by its amount and time.

    Attributes
    ----------
    places, strength, kind
        (n_events,) the edge of each event, what the event says about it and by which kind of evidence.
    strongest
        (n_edges,) the event of each edge that says most, of equals the first; -1 if none says anything.
    """

    def __init__(self, graph: AttributedGraph, model: Any, flow: Flow) -> None:
        self.flow, self.calendar = flow, Calendar.of(graph)
        self.places, strength, self.kind = model.judge_events(graph, flow)
        self.strength = strength.round(DIGITS)  # sums over all events depend on the order of nodes in the last digit
        known = np.flatnonzero((self.strength > 0.0) & (self.places < graph.n_edges))
        order = known[np.lexsort([-known, self.strength[known]])]  # the strongest last, of equals the first
        self.strongest = np.full(graph.n_edges, -1)
        self.strongest[self.places[order]] = order

    def scores(self, model: Any) -> Any:
        """Return a score per event, NaN without an edge.

        The score of an edge is √(a² + s²) with the strength s of its strongest event; an event has its own instead.
        What was learned from labels is about edges: all events of one have the same score.
        """
        usual = np.append(model.edge_score_.astype(np.float64), np.nan)[self.places]
        top = np.append(self.strongest, -1)[self.places]
        most = np.where(top < 0, 0.0, self.strength[top])
        own = np.sqrt(np.maximum(usual**2 - most**2, 0.0) + self.strength**2)
        same = (self.strength == most) | (model.edge_learned_ is not None)
        return np.where(same, usual, own)  # to the bit

    def order(self, scores: Any, places: Any) -> Any:
        """Return the events that have an edge, the most out of place first; ``places`` are those of the ids."""
        events = self.flow.every
        keys = [
            events.currency,
            events.amount,
            places[events.target],
            places[events.source],
            events.time,
            -self.strength,
            -scores,
        ]
        return np.lexsort([key for key in keys if key is not None])[: int(np.isfinite(scores).sum())]

    def about(self, row: int) -> str:
        """Return amount and time of an event and what is unusual about it; empty if nothing is, or for -1."""
        if row < 0 or self.strength[row] < NOTICEABLE:
            return ""
        from hopsight.flow.evidence import limit_value

        events, only = self.flow.events, np.array([row])
        amount = "" if events.amount is None else money(events.amount[row], currency=self.flow.currency_of(only))
        when = "" if events.time is None else f"on {self.calendar.moment(events.time[row])}"
        kind = FLOW_KINDS[self.kind[row]]
        unusual = UNUSUAL_EVENTS[kind]
        if kind == "amount" and not self.flow.unlike[row]:
            unusual = f"one of several just below {money(limit_value(int(self.flow.near_limit[0][row])))}"
        return f"{' '.join(filter(None, (amount, when)))}, {unusual}"


def exchanged(graph: AttributedGraph, members: Any) -> str:
    """Say how much some nodes sent each other, or how many events they have, and from when to when; empty if none.

    >>> from hopsight.canonical import Events
    >>> from hopsight.graph import AttributedGraph
    >>> amounts, times = np.array([50.0, 45.0, -5.0, 9.0]), 1.7e9 + np.arange(4.0)
    >>> events = Events(np.array([0, 1, 1, 2]), np.array([1, 0, 0, 0]), amounts, times)
    >>> path = AttributedGraph.from_edges([0, 2], [1, 0], np.zeros((3, 1)), events=events)
    >>> exchanged(path, np.array([0, 1]))  # with a refund
    'They sent each other 90 in 3 events (2023-11-14 22:13).'
    """
    events = graph.events
    if events is None:
        return ""
    inside = np.zeros(graph.n_nodes, dtype=np.bool_)
    inside[members] = True
    rows = np.flatnonzero(inside[events.source] & inside[events.target])
    start = "They sent each other" if events.amount is not None else "Between them:"
    return f"{start} {in_all(graph, rows)}." if rows.size else ""


def in_all(graph: AttributedGraph, rows: Any) -> str:
    """Return how much some events are in all, how many they are, and from when to when."""
    events = graph.events
    sums = _totals(events.sums(rows))
    what = f"{sums} in {plural(rows.size, 'event')}" if sums else plural(rows.size, "event")
    times = events.time[rows] if events.time is not None else np.empty(0)
    times = times[np.isfinite(times)]
    when = f" ({Calendar.of(graph).span(float(times.min()), float(times.max()))})" if times.size else ""
    return f"{what}{when}"


def node_events(graph: AttributedGraph, node: int, most: int, partners: int = 10) -> dict[str, Any] | None:
    """Return the events of a node for drawings; None where rows have neither amount nor time.

    ``rows`` are the largest events, at most so many, in order of time: partner, 1 for received and 0 for sent, amount,
    time, currency. ``all`` is the number of all. ``received`` and ``sent`` have the partners with the largest sums, the
    number and the sum of the others, and the sum of all: of amounts in one ``currency``, or else of events (1 each).
    """
    events = graph.events
    if events is None:
        return None
    mine = np.flatnonzero((events.source == node) | (events.target == node))
    if not mine.size:
        return None
    received = events.target[mine] == node
    partner = np.where(received, events.source[mine], events.target[mine])
    names = [None] * mine.size if events.currency is None else [events.currencies[at] for at in events.currency[mine]]
    amount = None if events.amount is None else np.nan_to_num(events.amount[mine])
    has_sums = amount is not None and len(set(names)) == 1
    value = np.ones(mine.size) if amount is None or not has_sums else amount
    largest = np.argsort(-amount, kind="stable") if amount is not None else np.arange(mine.size)[::-1]
    shown = np.sort(largest[:most])
    if events.time is not None:
        shown = shown[np.argsort(events.time[mine[shown]], kind="stable")]
    columns = [np.full(mine.size, np.nan) if each is None else each[mine] for each in (events.amount, events.time)]
    rows = [
        [int(partner[at]), int(received[at]), *(float(each[at]) if np.isfinite(each[at]) else None for each in columns),
         names[at]]
        for at in shown.tolist()
    ]  # fmt: skip
    return {
        "rows": rows,
        "all": int(mine.size),
        "amounts": has_sums,
        "currency": names[0] if has_sums else None,
        "received": _largest(partner[received], value[received], partners),
        "sent": _largest(partner[~received], value[~received], partners),
    }


def _largest(partner: Any, value: Any, most: int) -> list[Any]:
    """Return the partners with the largest sums as (partner, sum), the number of others, their sum, and that of all."""
    nodes, at = np.unique(partner, return_inverse=True)
    sums = np.maximum(np.bincount(at, weights=value, minlength=nodes.size), 0.0)  # more may come back than went out
    order = np.lexsort([nodes, -sums])
    first = [[int(nodes[place]), float(sums[place])] for place in order[:most].tolist()]
    rest = sums[order[most:]]
    return [first, int(rest.size), float(rest.sum()), float(value.sum())]
