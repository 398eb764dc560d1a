"""The numbers behind the flow evidence of one node, for sentences and pictures.

Times are in the unit of the graph's events (seconds since 1970 for dates), nodes are positions in the graph, and
events are positions in ``graph.events``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.flow.evidence import (
    KINDS,
    LEAST_MEMBERS,
    PASSING_DAYS,
    PRIOR,
    SERIES,
    WIDTHS,
    Flow,
    FlowBaseline,
    flow_of,
    limit_value,
    usual_count,
)
from hopsight.graph import AttributedGraph

IntArray = NDArray[np.int64]

NEARLY_ALL = 0.75  # a shorter time with so much of a burst says more


@dataclass(frozen=True)
class BurstFacts:
    """The busiest time of a node: many events, or many partners that are new to it.

    Attributes
    ----------
    direction
        ``"sent"`` or ``"received"``.
    n_events, n_new
        Number of events in that time, and of partners that it had no event with before.
    with_new
        Whether the events are those with such partners alone: where these make the burst, or are at least half as many.
    first, last
        Time of the first and of the last of them.
    usual
        Usual number of events in the busiest such time of a node with as many events at other times.
    usual_new
        The same for new partners.
    sums
        Sum of their amounts and its currency (None without one), for each currency; empty without amounts.
    smallest, largest
        Smallest and largest of their amounts; None without amounts, and with several currencies.
    n_amounts
        How many of them have an amount.
    events
        Their positions.
    """

    direction: str
    n_events: int
    n_new: int
    with_new: bool
    first: float
    last: float
    usual: float
    usual_new: float
    sums: tuple[tuple[float, str | None], ...]
    smallest: float | None
    largest: float | None
    n_amounts: int
    events: IntArray


@dataclass(frozen=True)
class PassThroughFacts:
    """What came into a node and went out again soon.

    Attributes
    ----------
    received, passed, share
        What came in during the whole record, what of it went out again within ``window``, and passed / received.
    delay
        Median time between coming in and going out, by amount.
    first, last
        Time of the first event that came in and was passed on, and of the last that went out.
    window
        Within which time what goes out counts as passed on.
    usual
        Median share that is passed on so, over nodes that receive anything.
    currency
        The currency, if there is one.
    events
        Positions of the events that came in or went out so, in order of time.
    """

    received: float
    passed: float
    share: float
    delay: float
    first: float
    last: float
    window: float
    usual: float
    currency: str | None
    events: IntArray


@dataclass(frozen=True)
class CycleFacts:
    """A chain of events with similar amounts, each soon after the one before.

    Attributes
    ----------
    returns
        Whether the chain ends where it began.
    nodes
        Node positions along the chain; the first is repeated at the end if it returns.
    events, amounts
        Positions of the events between them, and their amounts.
    first, last
        Time of the first and of the last event.
    currency
        The currency, if there is one.
    """

    returns: bool
    nodes: IntArray
    events: IntArray
    amounts: NDArray[np.float64]
    first: float
    last: float
    currency: str | None


@dataclass(frozen=True)
class AmountFacts:
    """The most unusual amount of a node, and amounts that keep just below a round limit.

    Attributes
    ----------
    direction
        ``"sent"`` or ``"received"``: the direction of the most unusual amount.
    value, usual
        That amount, and the usual amount (geometric mean) of the node's earlier events in that direction, in which what
        is usual for everybody counts as three events. Both None if no amount is unusual for both of its ends.
    n_earlier
        Number of those earlier events (without times, of all others); with 0, ``usual`` is that of everybody.
    is_first
        Whether the node is not known to have an earlier event in that direction, of whatever amount and currency.
    partner
        Position of the node at the other end; None without one.
    time
        Its time; None without times.
    limit, n_near, smallest, largest
        The round limit, and number, smallest and largest of the amounts just below it; None and 0 without any.
    n_regular
        Number of such amounts between ends that have known each other for two weeks, which do not count.
    near_partner
        Position of the node at the other end of all of these amounts and the regular ones; None without a single one.
    near_direction
        Whether those were ``"sent"`` or ``"received"``; None without any.
    currency
        The currency, if there is one.
    events
        Positions of the unusual amount and of those below the limit, in order of time.
    """

    direction: str
    value: float | None
    usual: float | None
    n_earlier: int
    is_first: bool
    partner: int | None
    time: float | None
    limit: float | None
    n_near: int
    n_regular: int
    near_partner: int | None
    smallest: float | None
    largest: float | None
    near_direction: str | None
    currency: str | None
    events: IntArray


Facts = BurstFacts | PassThroughFacts | CycleFacts | AmountFacts


def facts(graph: AttributedGraph, kind: str, node: int, usual: FlowBaseline | None = None) -> Facts | None:
    """Return the numbers behind one kind of flow evidence of a node; None if it has no such evidence.

    ``usual`` is what the node is compared with, ``model.flow_baseline_`` of a detector; by default that of the graph
    itself.
    """
    check_choice("kind", kind, KINDS)
    flow = flow_of(graph, usual)
    if flow is None or not flow.raw[KINDS.index(kind), node] > 0.0:
        return None
    readers: dict[str, Callable[[Flow, int], Facts | None]] = {
        "burst": _burst, "pass_through": _passing, "cycle": _cycle, "amount": _amount,
    }  # fmt: skip
    return readers[kind](flow, node)


def _burst(flow: Flow, node: int) -> BurstFacts:
    way, rest = divmod(int(flow.burst[1][node]), SERIES * len(WIDTHS))
    series, width = divmod(rest, len(WIDTHS))
    weights, counts = (np.array([found[node, column] for found in flow.windows[way][series]]) for column in (0, 3))
    width = int(np.argmax((weights >= NEARLY_ALL * weights[width]) & (counts > 1.0)))  # the shortest
    mine = flow.by_node[way]
    first = int(flow.windows[way][series][width][node, 1])
    rows = mine.order[first : mine.start[node + 1]]
    rows = rows[flow.time[rows] <= flow.time[rows[0]] + WIDTHS[width]]
    others = flow.others(way, flow.windows[way][series][width])[[node]]
    usual = [float(usual_count(flow.usual.counts[way, each, width], others)[0]) for each in (0, 1)]
    new = rows[flow.is_new[rows]]
    if with_new := series > 0 or 2 * new.size >= rows.size:
        rows = rows[np.isin(flow.first[rows], new)]
    sums = flow.events.sums(rows)
    amount = flow.events.amount[rows] if len(sums) == 1 else None
    return BurstFacts(
        ("sent", "received")[way],
        rows.size,
        new.size,
        with_new,
        _time(flow, rows[0]),
        _time(flow, rows[-1]),
        usual[0],
        usual[1],
        sums,
        None if amount is None else float(np.nanmin(amount)),
        None if amount is None else float(np.nanmax(amount)),
        0 if flow.events.amount is None else int(np.isfinite(flow.events.amount[rows]).sum()),
        flow.order[rows],
    )


def _passing(flow: Flow, node: int) -> PassThroughFacts:
    account = flow.account_of(node, flow.pass_value)
    way, event = np.nonzero(np.stack(flow.accounts[::-1]) == account)
    order = np.lexsort([way, flow.time[event]])
    event, left = event[order], flow.movements[way, event][order]
    time, delays, taken, used = flow.time[event], [], [], set()
    for place in np.flatnonzero(left < 0.0):
        begin = np.searchsorted(time, time[place] - PASSING_DAYS)
        for other in begin + np.flatnonzero(left[begin:place] > 0.0):
            part = min(left[other], -left[place])
            if part <= 0.0:
                break
            left[other], left[place] = left[other] - part, left[place] + part
            delays.append(time[place] - time[other])
            taken.append(part)
            used |= {int(event[other]), int(event[place])}
    events = np.array(sorted(used), dtype=np.int64)
    order = np.argsort(delays, kind="stable")
    middle = np.searchsorted(np.cumsum(np.array(taken)[order]), sum(taken) / 2.0)
    received, passed, _ = flow.passing[account]
    day = float(flow.usual.day[0])
    return PassThroughFacts(
        float(received),
        float(passed),
        float(passed / received),
        float(np.array(delays)[order][min(middle, len(delays) - 1)]) * day,
        _time(flow, events[0]),
        _time(flow, events[-1]),
        PASSING_DAYS * day,
        flow.usual_share,
        flow.currency_of(events),
        flow.order[events],
    )


def _cycle(flow: Flow, node: int) -> CycleFacts | None:
    chain = flow.chain_of(node)
    nodes = np.append(flow.events.source[chain], flow.events.target[chain[-1]])
    if np.unique(nodes).size < LEAST_MEMBERS:  # it was paid back
        return None
    return CycleFacts(
        bool(nodes[0] == nodes[-1]),
        nodes,
        flow.order[chain],
        flow.events.amount[chain],
        _time(flow, chain[0]),
        _time(flow, chain[-1]),
        flow.currency_of(chain),
    )


def _amount(flow: Flow, node: int) -> AmountFacts:
    account = flow.account_of(node, flow.amount_value)
    ends = flow.accounts
    rows = [np.flatnonzero(each == account) for each in ends]
    way = int(np.argmax([flow.unlike[mine].max(initial=0.0) for mine in rows]))
    mine = rows[way]
    row = int(mine[np.argmax(flow.unlike[mine])]) if mine.size and flow.unlike[mine].max() > 0.0 else None
    digits, which, near_way = (values[account] for values in flow.below_limits)
    near, n_regular, partners = np.empty(0, dtype=np.int64), 0, np.empty(0, dtype=np.int64)
    if digits > 0.0:
        near = rows[near_way]
        limit, below = flow.near_limit
        near = near[(limit[near] == which) & (below[near] > 0)]
        partners = np.unique((flow.events.target if near_way == 0 else flow.events.source)[near])
        n_regular, near = int(flow.is_habit[near].sum()), near[~flow.is_habit[near]]
    usual, n_earlier = (None, 0) if row is None else _usual_amount(flow, mine, row, flow.levels_before(way, account))
    shown = np.unique(np.concatenate([near, [] if row is None else [row]]).astype(np.int64))
    values = flow.events.amount[near]
    return AmountFacts(
        ("sent", "received")[way],
        None if row is None else float(flow.events.amount[row]),
        usual,
        n_earlier,
        row is not None and _is_first(flow, way, node, row),
        None if row is None else int((flow.events.target if way == 0 else flow.events.source)[row]),
        None if row is None or flow.events.time is None else _time(flow, row),
        limit_value(int(which)) if near.size else None,
        near.size,
        n_regular,
        int(partners[0]) if partners.size == 1 else None,
        float(values.min()) if near.size else None,
        float(values.max()) if near.size else None,
        ("sent", "received")[int(near_way)] if near.size else None,
        flow.currency_of(shown),
        flow.order[shown],
    )


def _usual_amount(flow: Flow, mine: IntArray, row: int, before: NDArray[np.float64]) -> tuple[float, int]:
    """Return the geometric mean of an account's earlier amounts and their number; if few, with what is usual.

    ``before`` are the levels of those before the events that are judged.
    """
    others = mine[mine < row] if flow.events.time is not None else mine[mine != row]
    levels = flow.level[others]
    levels = np.append(before, levels[np.isfinite(levels)])
    currency = 0 if flow.events.currency is None else int(flow.events.currency[row])
    middle, width = flow.typical[currency]
    mean = levels.mean() if levels.size >= PRIOR else levels.sum() / (levels.size + PRIOR)
    return float(np.exp(middle + width * mean)), levels.size


def _is_first(flow: Flow, way: int, node: int, row: int) -> bool:
    """Return whether no other event of a node in a direction is earlier, or may be because it lacks a time."""
    mine = np.flatnonzero((flow.given.target if way else flow.given.source) == node)
    others = mine[mine != flow.order[row]]
    if flow.past is not None and node in (flow.past.given.target if way else flow.past.given.source):
        return False
    return not others.size if flow.given.time is None else bool((flow.given.time[others] > _time(flow, row)).all())


def _time(flow: Flow, row: int) -> float:
    return float(flow.events.time[row])
