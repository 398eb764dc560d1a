"""Four kinds of evidence from edges as events (source, target, amount, time), each one number per node.

Times give burst, amounts give amount, and both together give pass_through and cycle as well. Each is compared with the
bulk of the nodes as the other kinds of evidence are (:mod:`hopsight.hcm.evidence`). What is usual
(:class:`FlowBaseline`) is part of a saved model, so that a new graph is judged by the same yardstick.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import bdtrc, stdtr

from hopsight.canonical import Events
from hopsight.detectors.tails import Tail, fit_tail
from hopsight.flow.kernels import busiest, chains, passed
from hopsight.graph import AttributedGraph
from hopsight.system.arrays import id_hashes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KINDS = ("burst", "pass_through", "cycle", "amount")
SECONDS_PER_DAY = 86400.0
OUR_TIME = (3.15e8, 4.2e9)  # UNIX seconds from 1980 to 2103
FEWEST_DAYS, DAYS = 30.0, 120.0  # a record has at least so many days, and this many if times have no unit
WIDTHS = (0.125, 0.5, 1.0, 2.0, 4.0, 7.0, 14.0)  # of windows, in days
SERIES = 3  # what is counted in a window: events, new partners, and the money of first payments
N_SIZES = 33  # powers of two of the number of events
KNOWN_DAYS = 14.0  # after the first event between two nodes, they know each other
PASSING_DAYS = 3.0  # within which what came in goes out again, and within which one link of a chain follows another
LOWEST, HIGHEST = 0.75, 1.1  # ratio of an amount to that before it in a chain
LEAST_LINK = 0.3  # −log₁₀ of the expected number of such links by chance
LONGEST = 10  # events in a cycle
LEAST_MEMBERS = 3  # of a group
CHAIN_SHARE = 0.5  # what a chain that does not return counts
BANDS = (0.15, 0.1, 0.05)  # amounts so little below a round limit, as a share of it, are just below
LEAST_CLOSE = 0.25  # share of them in the narrowest band: amounts that avoid a limit pile up against it
FEWEST_BELOW = 3  # amounts just below a limit
PRIOR = 3.0  # events: what is usual for everybody counts as so many of a node's own
N_LIMITS = 60
FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class FlowBaseline:
    """What is usual for events.

    Attributes
    ----------
    day
        (2,) length of a day and of the whole record, in the unit of the times.
    counts
        (2, 3, n_widths, n_sizes) what is usual in the busiest window: sent and received, events, new partners and the
        money of first payments, by width and by log₂ of 1 + the number of a node's other events.
    windows
        (2, 3, n_widths, 5) the cautious tail of what exceeds that number, in the same order.
    currencies, typical
        (n,) hash of each currency's name, and (n, 2) median and deviation of the logarithm of its amounts.
    limits
        (3, 60) share of amounts in each band below a round limit among those just below and just above it; the amounts
        that one account has near it count as one.
    """

    day: FloatArray
    counts: FloatArray
    windows: FloatArray
    currencies: NDArray[np.uint64]
    typical: FloatArray
    limits: FloatArray

    def __post_init__(self) -> None:
        n = len(self.currencies)
        counts = (2, SERIES, len(WIDTHS), N_SIZES)
        shapes = ((2,), counts, (*counts[:3], len(fields(Tail))), (n,), (n, 2), (len(BANDS), N_LIMITS))
        parts = (self.day, self.counts, self.windows, self.currencies, self.typical, self.limits)
        if any(np.shape(part) != shape for part, shape in zip(parts, shapes, strict=True)) or not (self.day > 0).all():
            raise ValueError("what is usual for events has the wrong length, or a day of no length")

    def of_currency(self, events: Events) -> FloatArray:
        """Return median and deviation of log amounts for each currency; an unknown one is judged by itself."""
        known = {int(each): row for each, row in zip(self.currencies, self.typical, strict=True)}
        hashes = id_hashes(np.array(events.currencies or ("",), dtype=object))
        rows = [known.get(int(each)) for each in hashes]
        return np.array([_typical(_of_currency(events, at)) if row is None else row for at, row in enumerate(rows)])


@dataclass(frozen=True)
class Sorted:
    """Events in order of node and time: where those of each node begin, and their positions among all events."""

    start: IntArray
    order: IntArray


@dataclass(frozen=True)
class Flow:
    """Events in order of time and the evidence that they give; see :func:`flow_of`."""

    given: Events = field(repr=False)
    n_nodes: int
    usual: FlowBaseline = field(repr=False)
    whole: float | None = None  # length of the record, if these are not all events of it
    places: IntArray | None = field(default=None, repr=False)  # of nodes in the order of ids, if they are not in it

    @classmethod
    def fit(cls, events: Events, n_nodes: int) -> Flow:
        """Return the evidence of some events, judged by what is usual among themselves."""
        names = np.array(events.currencies or ("",), dtype=object)
        usual = FlowBaseline(
            _day_and_span(events.time),
            np.zeros((2, SERIES, len(WIDTHS), N_SIZES)),
            np.zeros((2, SERIES, len(WIDTHS), len(fields(Tail)))),
            id_hashes(names),
            np.array([_typical(_of_currency(events, each)) for each in range(names.size)]),
            np.repeat(np.array(BANDS)[:, None] / (2.0 * BANDS[0]), N_LIMITS, axis=1),
        )
        flow = cls(events, n_nodes, usual)
        if events.time is not None:
            for way in (0, 1):
                for series, each in enumerate(flow.windows[way]):
                    for width, found in enumerate(each):
                        usual.counts[way, series, width] = _usual_by_size(found[:, 0], flow.others(way, found))
                        beyond = flow.beyond_usual(way, series, width)
                        usual.windows[way, series, width] = fit_tail(beyond).numbers()
        if events.amount is not None:
            limit, below = flow.near_limit
            of_ends = [np.unique(ends * (N_LIMITS + 1) + limit, return_inverse=True)[1] for ends in flow.accounts]
            weight = 1.0 / np.max([np.bincount(group)[group] for group in of_ends], axis=0)
            tally = [np.bincount(limit, weight * (below >= least), N_LIMITS + 1)[1:] for least in range(4)]
            usual.limits[:] = (np.array(tally[1:]) + 10.0 * usual.limits) / (tally[0] + 10.0)
        return flow

    @cached_property
    def order(self) -> IntArray:
        """Positions of the events in order of time; those without a time or a positive amount are left out.

        Of events at the same time, the order does not depend on that of the rows or of the nodes.
        """
        kept = np.ones(self.given.size, dtype=np.bool_)
        if self.given.time is not None:
            kept &= np.isfinite(self.given.time)
        if self.given.amount is not None:
            kept &= ~(self.given.amount <= 0.0)
        rows = np.flatnonzero(kept)
        ends = (self.given.target, self.given.source)
        ends = ends if self.places is None else (self.places[ends[0]], self.places[ends[1]])
        keys = (self.given.currency, self.given.amount, *ends, self.given.time)
        return np.asarray(rows[np.lexsort([key[rows] for key in keys if key is not None])])

    @cached_property
    def events(self) -> Events:
        """The events in that order."""
        return self.given.rows(self.order)

    @cached_property
    def left_out(self) -> IntArray:
        """Positions of the events that are not in that order."""
        others = np.ones(self.given.size, dtype=np.bool_)
        others[self.order] = False
        return np.flatnonzero(others)

    @cached_property
    def undated(self) -> Events:
        """The events without a time, where others have one."""
        rows = self.left_out
        return self.given.rows(rows[:0] if self.given.time is None else rows[~np.isfinite(self.given.time[rows])])

    @cached_property
    def every(self) -> Events:
        """The events in that order, and then those that are left out."""
        return self.given.rows(np.concatenate([self.order, self.left_out]))

    @cached_property
    def past(self) -> Flow | None:
        """The earlier events of these nodes; None without any."""
        earlier = self.given.earlier
        return None if earlier is None or not earlier.size else replace(self, given=earlier, whole=None)

    @cached_property
    def time(self) -> FloatArray:
        """Time of each event in days since the first."""
        times = self.events.time
        return np.asarray((times - times.min(initial=np.inf)) / self.usual.day[0] if times.size else times)

    @cached_property
    def by_node(self) -> tuple[Sorted, Sorted]:
        """Events by source, and by target."""
        return _sorted(self.events.source, self.n_nodes), _sorted(self.events.target, self.n_nodes)

    @cached_property
    def first(self) -> IntArray:
        """The first event between the two ends of each event, in either direction, as a position."""
        _, first, inverse = np.unique(self._pairs(self.events), return_index=True, return_inverse=True)
        return np.asarray(first[inverse])

    def _pairs(self, events: Events) -> IntArray:
        """Return a number for the two ends of each event, whatever the direction."""
        low, high = np.minimum(events.source, events.target), np.maximum(events.source, events.target)
        return np.asarray(low * self.n_nodes + high)

    @cached_property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether an event is the first between its two ends; one without a time may have come before it.

        An event of zero or a refund comes before it as well, though it is not in order.
        """
        new, others = np.asarray(self.first == np.arange(self.events.size)), self.given.rows(self.left_out)
        if self.past is not None:
            new &= ~np.isin(self._pairs(self.events), self._pairs(self.past.given))
        return new if self.events.time is None else new & (self._met(others) > self.events.time)

    def _met(self, others: Events) -> FloatArray:
        """Return when the two ends of each event first met in other events; infinite if they did not."""
        if not others.size:
            return np.full(self.events.size, np.inf)
        time, pairs = np.nan_to_num(others.time, nan=-np.inf), self._pairs(others)
        order = np.lexsort([time, pairs])
        known, first = np.unique(pairs[order], return_index=True)
        place = np.searchsorted(known, self._pairs(self.events)).clip(max=known.size - 1)
        return np.where(known[place] == self._pairs(self.events), time[order[first]][place], np.inf)

    @cached_property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether the two ends of an event had dealt with each other for two weeks before it."""
        if self.events.time is None:
            return np.zeros(self.events.size, dtype=np.bool_)
        since = self.events.time[self.first]
        if self.past is not None:
            since = np.minimum(since, self._met(self.past.given))
        return np.asarray((self.events.time - since) / self.usual.day[0] > KNOWN_DAYS)

    # burst

    @cached_property
    def windows(self) -> list[list[list[FloatArray]]]:
        """The busiest windows of each node: sent and received, by :data:`SERIES`, by width."""
        one, every = np.ones(self.events.size), np.ones(self.events.size, dtype=np.bool_)
        series = [(one, every), (one, self.is_new)]
        if self.events.amount is not None:
            series.append((self.size, self.is_new))
        found = []
        for mine in self.by_node:
            time = self.time[mine.order]
            sorted_ = [(weight[mine.order], counted[mine.order]) for weight, counted in series]
            found.append([[busiest(mine.start, time, *each, width) for width in WIDTHS] for each in sorted_])
        return found

    @cached_property
    def size(self) -> FloatArray:
        """log₂(1 + a / m) for each amount a, with m the median of its currency; 0 without an amount."""
        rows = self.typical[0 if self.events.currency is None else self.events.currency]
        return np.asarray(np.log2(1.0 + np.nan_to_num(self.events.amount) / np.exp(rows[..., 0])))

    @cached_property
    def burst(self) -> tuple[FloatArray, IntArray]:
        """How many events, new partners or first payments come in a time that is short for the node, in which window.

        With k the number in the busiest window of a width (of first payments, their :attr:`size`), u what is usual for
        a node with as many other events, and s the same of all events in the next busiest window apart from that one,
        also of :attr:`past` events, x = 2 (√k − √(max(u, s) + 1)) exceeds what is usual, and p is the tail of x among
        all nodes for such windows: log(1 − log₁₀ p), the largest over sent and received, :data:`SERIES`, and seven
        widths from three hours to two weeks, if the window has two such events or more. What recurs, as salaries and
        fees do, is no burst.
        """
        best, which = np.zeros(self.n_nodes), np.zeros(self.n_nodes, dtype=np.int64)
        for number in range(2 * SERIES * len(WIDTHS)):
            way, series, width = (int(at) for at in np.unravel_index(number, (2, SERIES, len(WIDTHS))))
            if series >= len(self.windows[way]):
                continue
            tail = Tail(*self.usual.windows[way, series, width])
            beyond = self.beyond_usual(way, series, width)
            value = np.log1p(tail.surprise(beyond) / np.log(10.0))
            several = self.windows[way][series][width][:, 3] > 1.0  # one payment is no burst, however large
            more = (value > best) & (beyond > 0.0) & several
            best[more], which[more] = value[more], number
        return best, which

    def beyond_usual(self, way: int, series: int, width: int) -> FloatArray:
        """Return how much the busiest window of each node exceeds what is usual; NaN for a node without events."""
        found = self.windows[way][series][width]
        usual = usual_count(self.usual.counts[way, series, width], self.others(way, found))
        usual = np.maximum(usual, found[:, 2])
        if self.past is not None and series < len(self.past.windows[way]):
            usual = np.maximum(usual, self.past.windows[way][series][width][:, 0])
        beyond = 2.0 * (np.sqrt(found[:, 0]) - np.sqrt(usual + 1.0))
        return np.where(np.diff(self.by_node[way].start) > 0, np.maximum(beyond, 0.0), np.nan)

    def others(self, way: int, found: FloatArray) -> FloatArray:
        """Return how many events each node sent (way 0) or received (1) besides those in its busiest window.

        In a longer or shorter record than that of the fit, as many as there would be in that one.
        """
        n_events, span = np.diff(self.by_node[way].start) - found[:, 3], self.span
        if self.past is not None:
            n_events, span = n_events + np.diff(self.past.by_node[way].start), span + self.past.span
        return np.asarray(n_events * (self.usual.day[1] / span))

    @cached_property
    def span(self) -> float:
        """Length of the record in the unit of the times."""
        return float(_day_and_span(self.given.time)[1]) if self.whole is None else self.whole

    # accounts: a node has one for each currency

    @cached_property
    def n_currencies(self) -> int:
        """Number of currencies, at least 1."""
        return max(1, len(self.events.currencies))

    @cached_property
    def accounts(self) -> tuple[IntArray, IntArray]:
        """The account that each event leaves, and the one that it reaches."""
        return self._accounts_of(self.events)

    def _accounts_of(self, events: Events) -> tuple[IntArray, IntArray]:
        currency = 0 if events.currency is None else events.currency
        source, target = (end * self.n_currencies + currency for end in (events.source, events.target))
        return source, target

    @cached_property
    def typical(self) -> FloatArray:
        """Median and deviation of the logarithm of amounts, for each currency."""
        return self.usual.of_currency(self.given)

    @cached_property
    def level(self) -> FloatArray:
        """Logarithm of each amount, in deviations from the median of its currency; NaN without an amount."""
        rows = self.typical[0 if self.events.currency is None else self.events.currency]
        return np.asarray((np.log(self.events.amount) - rows[..., 0]) / rows[..., 1])

    def _of_nodes(self, values: FloatArray) -> FloatArray:
        """Return the largest value over the accounts of each node."""
        return np.asarray(values.reshape(self.n_nodes, self.n_currencies).max(axis=1))

    def currency_of(self, rows: IntArray) -> str | None:
        """Return the currency of some events if it is the same for all."""
        if self.events.currency is None or not rows.size:
            return None
        found = np.unique(self.events.currency[rows])
        return self.events.currencies[int(found[0])] or None if found.size == 1 else None

    # pass_through

    @cached_property
    def movements(self) -> FloatArray:
        """(2, n_events) what each event brought to its target, and took from its source.

        What goes back within three days to where it came from did not move: a refund passes nothing on.
        """
        amount = np.nan_to_num(self.events.amount)
        moved = np.stack([amount, -amount])
        ends, others = np.stack(self.accounts[::-1]), np.stack(self.accounts)
        returned = self._matched(ends * (self.n_nodes * self.n_currencies) + others, moved)
        return np.asarray(moved - np.sign(moved) * returned)

    def _matched(self, groups: IntArray, moved: NDArray[Any]) -> FloatArray:
        """Return (2, n_events) how much came in and went out again within three days, in groups of movements.

        At the same time, what comes in is first.
        """
        groups, amount, time = groups.ravel(), moved.ravel(), np.tile(self.time, 2)
        order = np.lexsort([amount < 0.0, time, groups])
        start = np.append(np.unique(groups[order], return_index=True)[1], groups.size)
        found = np.empty(amount.size)
        found[order] = passed(start, time[order], amount[order], PASSING_DAYS)
        return found.reshape(2, -1)

    @cached_property
    def passed_on(self) -> FloatArray:
        """(2, n_events) what of each event went on from its target within three days, and what of it came from there.

        Only events between ends that are new to each other count.
        """
        return self._matched(np.stack(self.accounts[::-1]), np.where(self.is_known, 0.0, self.movements))

    @cached_property
    def passing(self) -> FloatArray:
        """(n_accounts, 3) what came in, what of it went on within three days, and that between ends that are new."""
        every = self._matched(np.stack(self.accounts[::-1]), self.movements)
        moved = (np.nan_to_num(self.events.amount), every[0], self.passed_on[0])
        found = np.zeros((self.n_nodes * self.n_currencies, 3))
        for column, each in enumerate(moved):
            found[:, column] = np.bincount(self.accounts[1], each, minlength=len(found))
        undated = self._accounts_of(self.undated)[1]
        np.add.at(found[:, 0], undated, np.maximum(np.nan_to_num(self.undated.amount), 0.0))
        return found

    @cached_property
    def usual_share(self) -> float:
        """Median share of what came in that went on within three days, over accounts that received anything."""
        total, out, _ = self.passing[self.passing[:, 0] > 0.0].T
        return float(np.median(out / total))

    @cached_property
    def pass_digits(self) -> FloatArray:
        """How unlikely it is that what went on would have left the account anyway: Σ −log₁₀ q over what came in.

        Whatever comes in, an account that sends S during a record of T days sends p or more within three days with a
        chance of at most 3 S / (T p) (Markov's inequality). That is q for an event of which p went on, and 1 if it is
        more: who pays wages covers any small amount that comes in, and one payment soon after another happens.
        """
        amount = np.maximum(np.nan_to_num(self.events.amount), 0.0)
        sent = np.bincount(self.accounts[0], amount, minlength=len(self.passing))
        np.add.at(sent, self._accounts_of(self.undated)[0], np.maximum(np.nan_to_num(self.undated.amount), 0.0))
        into, went_on = self.accounts[1], self.passed_on[0]
        by_chance = PASSING_DAYS * self.usual.day[0] / self.span * sent[into]
        times = np.divide(went_on, by_chance, out=np.ones_like(went_on), where=by_chance > 0.0)
        return np.asarray(np.bincount(into, np.log10(np.maximum(times, 1.0)), minlength=sent.size))

    @cached_property
    def pass_value(self) -> FloatArray:
        """How much of what came in went out again soon, and how unlikely that is by chance.

        With I what came into an account, P what of it left within three days, N the same if only events count between
        ends that have known each other for less than two weeks, m the median amount of all events, and d from
        :attr:`pass_digits`: √(d · √(P N) / I · log(1 + N / m)), which is small if either is. So a rent that flatmates
        collect every month counts little, and an account that does nothing but pass on counts also when its partners
        stay the same.
        """
        total, out, new = self.passing.T
        median = np.tile(np.exp(self.typical[:, 0]), self.n_nodes)
        share = np.divide(np.sqrt(out * new), total, out=np.zeros_like(out), where=total > 0.0)
        return np.asarray(np.sqrt(self.pass_digits * share * np.log1p(new / median)))

    # cycle

    @cached_property
    def chained(self) -> tuple[Any, ...]:
        """Chains and cycles of events; see :func:`hopsight.flow.kernels.chains`."""
        source, target = self.accounts
        n_accounts = self.n_nodes * self.n_currencies
        reached = _sorted(target, n_accounts)
        amount = np.nan_to_num(self.events.amount, nan=np.inf)
        return chains(
            source, target, self.time, amount, self._rarity(amount), reached.start, reached.order,
            self.time[reached.order], PASSING_DAYS, LOWEST, HIGHEST, LEAST_LINK, LONGEST, n_accounts,
        )  # fmt: skip

    def _rarity(self, amount: FloatArray) -> FloatArray:
        """Return the share of events of a currency that would be followed by each event, going by amounts."""
        share = np.ones(amount.size)
        for each in range(self.n_currencies):
            mine = (
                np.ones(amount.size, dtype=np.bool_) if self.events.currency is None else self.events.currency == each
            )
            rows = np.flatnonzero(mine)[np.argsort(amount[mine])]
            ordered = amount[rows]  # in order, they are looked up much faster
            high, low = (np.searchsorted(ordered, ordered / ratio) for ratio in (LOWEST, HIGHEST))
            share[rows] = (high - low + 1.0) / (ordered.size + 1.0)
        return share

    @cached_property
    def cycle_value(self) -> FloatArray:
        """How far an amount that passes a node travels on, and whether it returns.

        Event e follows d if it leaves the account that d reached for another one than d came from, at the same time or
        at most three days later, with .75 to 1.1 of the amount. With c the number of events that came in during those
        days and q the share of all events whose amount would fit, the link counts −log₁₀(c q): links by chance are
        common at busy accounts and for common amounts, and count nothing. With s the sum over the links of the best
        cycle of three to ten events through a node, or half the sum over the best chain through it if that is more:
        log(1 + s).
        """
        _, _, into, out, _, value, _, _ = self.chained
        through, best = into + out, value.copy()
        for ends in self.accounts:
            np.maximum.at(best, ends, CHAIN_SHARE * through)
        return np.log1p(best)

    @property
    def has_rare_chain(self) -> NDArray[np.bool_]:
        """Whether the best cycle or chain through a node counts s > log₁₀ n: of n nodes, none has it by chance."""
        return np.asarray(np.expm1(self._of_nodes(self.cycle_value)) > np.log10(self.n_nodes))

    def chain_of(self, node: int) -> IntArray:
        """Return the events of the best cycle or chain through a node, in order of time."""
        before, after, into, out, _, value, last, length = self.chained
        account = self.account_of(node, self.cycle_value)
        if np.log1p(value[account]) >= self.cycle_value[account]:
            rows = [int(last[account])]
            while len(rows) < length[account]:
                rows.insert(0, int(before[rows[0]]))
            return np.array(rows)
        source, target = self.accounts
        mine = np.flatnonzero((source == account) | (target == account))
        rows = [int(mine[np.argmax((into + out)[mine])])]
        while before[rows[0]] >= 0:
            rows.insert(0, int(before[rows[0]]))
        while after[rows[-1]] >= 0:
            rows.append(int(after[rows[-1]]))
        return np.array(rows)

    def rings(self, suspects: NDArray[np.bool_]) -> list[tuple[IntArray, IntArray]]:
        """Return groups of suspects that passed an amount on among themselves: their nodes, and the events.

        A suspect paid another that is new to it, or both have chains that none has by chance, with an event that
        follows another or is followed by one (:attr:`chained`), or of which at least half had just come in and at least
        half went on (:attr:`passed_on`), whatever the amounts before and after. Suspects belong together if such
        payments lead from each to all others and back. A group has at least three members, and as many pairs that paid
        as members: who only pays back what came from one other is no part of a circle.
        """
        before, after, *_ = self.chained
        source, target = self.events.source, self.events.target
        linked = (before >= 0) | (after >= 0) | (self.passed_on >= 0.5 * np.nan_to_num(self.events.amount)).all(axis=0)
        rare = self.has_rare_chain
        counted = suspects[source] & suspects[target] & (~self.is_known | (rare[source] & rare[target]))
        rows = np.flatnonzero(linked & counted)
        ones = np.ones(rows.size)
        paid = sp.coo_array((ones, (source[rows], target[rows])), shape=(self.n_nodes, self.n_nodes))
        component = connected_components(paid, connection="strong")[1]
        rows = rows[component[source[rows]] == component[target[rows]]]
        found = []
        for number in np.unique(component[source[rows]]):
            mine = rows[component[source[rows]] == number]
            members = np.unique([source[mine], target[mine]])
            pairs = np.unique(np.sort([source[mine], target[mine]], axis=0), axis=1)
            if LEAST_MEMBERS <= members.size <= pairs.shape[1]:
                found.append((members, mine))
        return found

    def account_of(self, node: int, values: FloatArray) -> int:
        """Return the account of a node with the largest value."""
        first = node * self.n_currencies
        return first + int(np.argmax(values[first : first + self.n_currencies]))

    # amount

    @cached_property
    def near_limit(self) -> tuple[IntArray, NDArray[np.int8]]:
        """The number of the round limit that each amount is near, 0 for none, and in how many bands below it is."""
        amount = np.where(np.isfinite(self.events.amount), self.events.amount, FLOOR)
        power = np.floor(np.log10(np.maximum(amount, FLOOR)))
        limit, below = np.zeros(amount.size, dtype=np.int64), np.zeros(amount.size, dtype=np.int8)
        for place, factor in enumerate((1.0, 2.0, 5.0, 10.0)):
            round_ = factor * 10.0**power
            number = (3 * power + place + 13).astype(np.int64)
            distance = np.abs(amount - round_) / round_
            near = (distance <= BANDS[0]) & (number > 0) & (number <= N_LIMITS)
            limit[near] = number[near]
            below[near] = np.sum([distance <= band for band in BANDS], axis=0)[near] * (amount < round_)[near]
        return limit, below

    @cached_property
    def _next_limit(self) -> tuple[IntArray, FloatArray]:
        """The number of the next round limit above each amount, and the amount as a share of it."""
        amount = np.where(np.isfinite(self.events.amount), self.events.amount, FLOOR)
        values = np.array([limit_value(each) for each in range(N_LIMITS + 1)])
        number = np.minimum(np.searchsorted(values[1:], amount, side="right") + 1, N_LIMITS)
        return number, amount / values[number]

    @cached_property
    def is_habit(self) -> NDArray[np.bool_]:
        """Whether the two ends of an event know each other, and no other amount makes one of it that was split.

        That is one from 30% below the same limit on, the same way and within three days: rents are paid once a month.
        """
        number, share = self._next_limit
        rows = np.flatnonzero(share >= 1.0 - 2.0 * BANDS[0])
        if not rows.size or not self.is_known.any():  # such as without times
            return self.is_known
        source, target = (ends[rows] for ends in self.accounts)
        order = np.lexsort([self.time[rows], number[rows], target, source])
        same = np.ones(rows.size - 1, dtype=np.bool_)
        for each in (source, target, number[rows]):
            same &= np.diff(each[order]) == 0
        near = np.flatnonzero(same & (np.diff(self.time[rows][order]) <= PASSING_DAYS))
        found = self.is_known.copy()
        found[rows[order[np.concatenate([near, near + 1])]]] = False
        return found

    @cached_property
    def below_limits(self) -> tuple[FloatArray, IntArray, IntArray]:
        """How much more amounts of an account are just below a round limit than just above it; which limit and way.

        With n different amounts within 15% of the limit, b of them below it by 15%, 10% or 5% of it at most, p the
        share of such amounts among all events near that limit, and k the number of limits that all amounts are near:
        −log₁₀ P(X ≥ b) − log₁₀ 6k for X binomial with n trials of probability p, the largest over sent and received,
        bands and limits with b ≥ 3, if a quarter of the amounts below it, less a standard error, lie within 5% of the
        limit, and more within 15% than between 15% and 30% below it: rents of about 880 do not avoid 1,000, nor do
        receipts of which there are fewer the larger they are. A limit below the usual amount of the currency restricts
        nobody: what lies below it are prices. What ends that know each other do by habit does not count
        (:attr:`is_habit`).
        """
        limit, below = self.near_limit
        currency = 0 if self.events.currency is None else self.events.currency
        values = np.array([limit_value(each) for each in range(N_LIMITS + 1)])
        restricts = values[limit] > np.exp(self.typical[currency, 0])
        near = np.flatnonzero((limit > 0) & restricts & ~self.is_habit)
        n_accounts = self.n_nodes * self.n_currencies
        best, which, ways = np.zeros(n_accounts), *np.zeros((2, n_accounts), dtype=np.int64)
        free = np.log10(2.0 * len(BANDS) * max(1, np.unique(limit[near]).size))
        for way, ends in enumerate(self.accounts):
            cents = np.round(self.events.amount[near] * 100.0)
            rows = np.unique(np.column_stack([ends[near] * (N_LIMITS + 1) + limit[near], cents, below[near]]), axis=0)
            keys, group = np.unique(rows[:, 0].astype(np.int64), return_inverse=True)
            account, number = keys // (N_LIMITS + 1), keys % (N_LIMITS + 1)
            n_in = np.array([np.bincount(group, rows[:, 2] >= least) for least in (1, 2, 3)])
            chance = bdtrc(n_in - 1.0, np.bincount(group), self.usual.limits[:, number - 1])
            least = LEAST_CLOSE * n_in[0] - np.sqrt(LEAST_CLOSE * (1.0 - LEAST_CLOSE) * n_in[0])
            piled = (
                (n_in >= FEWEST_BELOW) & (n_in[2] >= np.maximum(least, 1.0)) & (n_in[0] > self._well_below(ends, keys))
            )
            digits = -np.log10(np.maximum(np.where(piled, chance, 1.0).min(axis=0), 1e-300)) - free
            for place in np.argsort(digits, kind="stable"):
                if digits[place] > best[account[place]]:
                    best[account[place]], which[account[place]] = digits[place], number[place]
                    ways[account[place]] = way
        return best, which, ways

    def _well_below(self, ends: IntArray, keys: IntArray) -> IntArray:
        """Return for accounts and limits how many different amounts lie between 15% and 30% below the limit."""
        number, share = self._next_limit
        low = (share >= 1.0 - 2.0 * BANDS[0]) & (share < 1.0 - BANDS[0]) & ~self.is_habit
        cents = np.round(np.nan_to_num(self.events.amount) * 100.0)
        pairs = np.column_stack([ends * (N_LIMITS + 1) + number, cents])
        found = np.sort(np.unique(pairs[low], axis=0)[:, 0])
        return np.asarray(np.searchsorted(found, keys, side="right") - np.searchsorted(found, keys, side="left"))

    @cached_property
    def unlike(self) -> FloatArray:
        """How unlike the earlier amounts of both of its ends each amount is: the smaller of two −log₁₀ P, at least 0.

        With x the level of an amount, Σ over the n earlier amounts of the same account in the same direction, center
        c = Σx / (n + 3) and variance v = (3 + Σx² − c Σx) / (n + 3): P = P(T ≥ z) with z = (x − c) / √(v (1 + 1 / (n +
        3))) and T of Student's distribution with n + 3 degrees of freedom, as a normal distribution predicts whose
        center and variance are learned. The first amount of a node says little: nothing is known of what it does. Ends
        that have known each other for two weeks have 0.
        """
        rows = np.flatnonzero(~self.is_known & np.isfinite(self.level))
        found = np.zeros(self.events.size)
        found[rows] = np.inf
        for z, freedom in map(self._z, (0, 1)):
            rows = rows[z[rows] > 0.0]
            digits = np.zeros(found.size)
            digits[rows] = -np.log10(np.maximum(stdtr(freedom[rows], -z[rows]), 1e-300))
            found = np.minimum(found, digits)
        return found

    def levels_before(self, way: int, account: int) -> FloatArray:
        """Return the levels of the amounts that an account sent (0) or received (1) before these events began."""
        if self.past is None or self.past.given.amount is None:
            return np.empty(0)
        levels = self.past.level[self.past.accounts[way] == account]
        return levels[np.isfinite(levels)]

    def _z(self, way: int) -> tuple[FloatArray, FloatArray]:
        """Return each level against the earlier ones of an account, or all others if there are no times, and n + 3."""
        ends, n_accounts = self.accounts[way], self.n_nodes * self.n_currencies
        sorted_ = _sorted(ends, n_accounts)
        x = np.nan_to_num(self.level)[sorted_.order]
        has = np.isfinite(self.level[sorted_.order]).astype(np.float64)
        account = ends[sorted_.order]
        sums = [np.concatenate([[0.0], np.cumsum(part)]) for part in (has, x, x * x)]
        first, last = sorted_.start[account], sorted_.start[account + 1]
        here = np.arange(x.size)
        if self.events.time is None:
            n, total, squares = (
                each[last] - each[first] - own for each, own in zip(sums, (has, x, x * x), strict=True)
            )
        else:
            n, total, squares = (each[here] - each[first] for each in sums)
        if self.past is not None and self.past.given.amount is not None:
            then, level = self.past.accounts[way], self.past.level
            known = np.nan_to_num(level)
            before = (
                np.bincount(then, each, n_accounts)[account] for each in (np.isfinite(level), known, known * known)
            )
            n, total, squares = (now + each for now, each in zip((n, total, squares), before, strict=True))
        center = total / (n + PRIOR)
        variance = np.maximum(PRIOR + squares - total * center, PRIOR * 0.05) / (n + PRIOR)
        z, freedom = np.empty((2, x.size))
        z[sorted_.order] = (x - center) / np.sqrt(variance * (1.0 + 1.0 / (n + PRIOR)))
        freedom[sorted_.order] = n + PRIOR
        return z, freedom

    @cached_property
    def amount_value(self) -> FloatArray:
        """How unusual the amounts of a node are for it and its partners, and how they keep below a limit.

        The sum over a node's events of what :attr:`unlike` says minus log₁₀ n if positive, with n the number of its
        events in that direction, plus what :attr:`below_limits` says.
        """
        found = self.below_limits[0].copy()
        for ends, digits in zip(self.accounts, self.unlike_digits, strict=True):
            found += np.bincount(ends, digits, minlength=found.size)
        return found

    @cached_property
    def unlike_digits(self) -> FloatArray:
        """(2, n_events) what :attr:`unlike` says of each event for its source, and for its target."""
        counts = [np.bincount(ends)[ends] for ends in self.accounts]
        return np.stack([np.maximum(self.unlike - np.log10(count), 0.0) for count in counts])

    @property
    def _able(self) -> tuple[bool, bool, bool]:
        """Whether events have times, amounts, and both of a kind that can be passed on."""
        timed, valued = self.events.time is not None, self.events.amount is not None
        return timed, valued, timed and valued and self.given.moves

    @cached_property
    def raw(self) -> FloatArray:
        """(4, n_nodes) every kind in its own unit, in the order of :data:`KINDS`; NaN where there is none."""
        timed, valued, moves = self._able
        none = np.full(self.n_nodes, np.nan)
        active = np.zeros(self.n_nodes, dtype=np.bool_)
        active[self.events.source], active[self.events.target] = True, True
        readers: tuple[tuple[bool, Callable[[], FloatArray]], ...] = (
            (timed, lambda: self.burst[0]),
            (moves, lambda: self._of_nodes(self.pass_value)),
            (moves, lambda: self._of_nodes(self.cycle_value)),
            (valued, lambda: self._of_nodes(self.amount_value)),
        )
        return np.stack([np.where(active, read(), np.nan) if able else none for able, read in readers])

    # events

    @cached_property
    def of_events(self) -> FloatArray:
        """(4, n_events) how much of the evidence about an end of each event rests on that event; 0 where there is none.

        The larger of both ends counts. An event in the busiest window of a node has its burst; if that is one of new
        partners, an event with an old one has not. The share of an event that came in and went out again counts times
        pass_through, and each event of a cycle or chain what the links count together. An amount counts as far as it is
        unlike others; just below a limit, what that says of the node is added.
        """
        timed, valued, moves = self._able
        none = np.zeros(self.events.size)
        readers = ((timed, self._bursting), (moves, self._passing_on), (moves, self._chaining),
                   (valued, self._unlike_or_below))  # fmt: skip
        return np.stack([read() if able else none for able, read in readers])

    def _bursting(self) -> FloatArray:
        value, which = self.burst
        found = np.zeros(self.events.size)
        for way, ends in enumerate((self.events.source, self.events.target)):
            begin = np.full(self.n_nodes, np.inf)
            of_way, series, width = np.unravel_index(which, (2, SERIES, len(WIDTHS)))
            for number in np.unique(which[(of_way == way) & (value > 0.0)]):
                nodes = np.flatnonzero((which == number) & (value > 0.0))
                first = self.windows[way][series[nodes[0]]][width[nodes[0]]][nodes, 1].astype(np.int64)
                begin[nodes] = self.time[self.by_node[way].order[first]]
            inside = (self.time >= begin[ends]) & (self.time <= (begin + np.array(WIDTHS)[width])[ends])
            inside &= self.is_new | (series[ends] == 0)
            found = np.maximum(found, np.where(inside, value[ends], 0.0))
        return found

    def _passing_on(self) -> FloatArray:
        amount = np.nan_to_num(self.events.amount)
        share = np.divide(self.passed_on, amount, out=np.zeros_like(self.passed_on), where=amount > 0.0)
        source, target = self.accounts
        return np.maximum(share[0] * self.pass_value[target], share[1] * self.pass_value[source])

    def _chaining(self) -> FloatArray:
        _, _, into, out, around, *_ = self.chained
        return np.log1p(np.maximum(around, CHAIN_SHARE * (into + out)))

    def _unlike_or_below(self) -> FloatArray:
        (limit, below), (digits, which, ways) = self.near_limit, self.below_limits
        found = np.zeros(self.events.size)
        for way, ends in enumerate(self.accounts):
            near = (limit == which[ends]) & (below > 0) & ~self.is_habit & (ways[ends] == way)
            found = np.maximum(found, self.unlike_digits[way] + np.where(near, digits[ends], 0.0))
        return found


def flow_without(graph: AttributedGraph, usual: FlowBaseline, node: int, absent: IntArray) -> FloatArray:
    """Return (4, 1) the flow evidence that a node would have without its events with some partners.

    ``absent`` are (2, n) the ends of edges. Of the other events, those of the node and of its partners count. A chain
    or a cycle that lacks an event counts nothing.
    """
    flow = flow_of(graph, usual)
    assert flow is not None
    source, target = flow.given.source, flow.given.target
    partners = np.unique(np.concatenate([[node], target[source == node], source[target == node]]))
    gone = np.setdiff1d(absent.ravel(), [node])
    lost = ((source == node) & np.isin(target, gone)) | ((target == node) & np.isin(source, gone))
    near = (np.isin(source, partners) | np.isin(target, partners)) & ~lost
    local = np.unique(np.concatenate([source[near], target[near], [node]]))
    places = np.full(graph.n_nodes, -1, dtype=np.int64)
    places[local] = np.arange(local.size)
    events = replace(flow.given.rows(near), earlier=None).renumbered(places)
    if flow.given.earlier is not None:
        events = replace(events, earlier=flow.given.earlier.within(places))
    found = Flow(events, local.size, usual, flow.span, graph.id_places[local]).raw[:, [places[node]]].copy()
    cycle = KINDS.index("cycle")
    found[cycle] = flow.raw[cycle, node]
    if found[cycle, 0] > 0.0 and lost[flow.order[flow.chain_of(node)]].any():
        found[cycle] = 0.0
    return found


@lru_cache(maxsize=1)
def flow_of(graph: AttributedGraph, usual: FlowBaseline | None = None) -> Flow | None:
    """Return the evidence from the events of a graph, judged by a baseline or by its own; None without events."""
    if graph.events is None or not graph.events.size:
        return None
    parts = graph.events, graph.n_nodes
    return Flow.fit(*parts) if usual is None else Flow(*parts, usual, places=graph.id_places)


def limit_value(number: int) -> float:
    """Return the round limit with a number from :attr:`Flow.near_limit`.

    >>> [limit_value(number) for number in (19, 20, 21, 22)]
    [100.0, 200.0, 500.0, 1000.0]
    """
    power, place = divmod(number - 13, 3)
    return float((1.0, 2.0, 5.0)[place] * 10.0**power)


def usual_count(table: FloatArray, others: FloatArray) -> FloatArray:
    """Return the usual number for nodes with so many other events, from the medians where the number doubles."""
    return np.interp(np.log2(1.0 + others), np.arange(N_SIZES), table)


def _usual_by_size(counts: FloatArray, others: FloatArray) -> FloatArray:
    """Return the median among nodes whose numbers of other events are alike, for each power of two."""
    level = np.log2(1.0 + others)
    group = np.floor(level).astype(np.int64)
    active = counts > 0.0
    known = [each for each in range(N_SIZES) if ((group == each) & active).any()]
    if not known:
        return np.zeros(N_SIZES)
    chosen = [(group == each) & active for each in known]
    centers = [float(level[mine].mean()) for mine in chosen]
    return np.interp(np.arange(N_SIZES), centers, [float(np.median(counts[mine])) for mine in chosen])


def _sorted(node: IntArray, n_nodes: int) -> Sorted:
    order = np.argsort(node, kind="stable")
    return Sorted(np.searchsorted(node[order], np.arange(n_nodes + 1)), order)


def _day_and_span(time: FloatArray | None) -> FloatArray:
    """Return the length of a day, that of a calendar day for dates and less in a short record, and of the record.

    Three of the shorter days are whole hours, or whole minutes in a very short record, so that words can say it.
    """
    known = np.empty(0) if time is None else time[np.isfinite(time)]
    if not known.size or known.max() <= known.min():
        return np.ones(2)
    span = float(known.max() - known.min())
    dated = OUR_TIME[0] <= known.min() and known.max() <= OUR_TIME[1]
    day = min(SECONDS_PER_DAY, span / FEWEST_DAYS) if dated else span / DAYS
    unit = next((size / PASSING_DAYS for size in (3600.0, 60.0) if dated and PASSING_DAYS * day >= size), 0.0)
    return np.array([day // unit * unit if unit else day, span])


def _of_currency(events: Events, currency: int) -> FloatArray:
    if events.amount is None:
        return np.empty(0)
    amount = events.amount if events.currency is None else events.amount[events.currency == currency]
    return np.asarray(amount[amount > 0.0])


def _typical(amount: FloatArray) -> tuple[float, float]:
    """Return median and robust deviation of the logarithm of some amounts."""
    if not amount.size:
        return 0.0, 1.0
    low, middle, high = np.quantile(np.log(amount), [0.16, 0.5, 0.84])
    return float(middle), max(float(high - low) / 2.0, 0.1)
