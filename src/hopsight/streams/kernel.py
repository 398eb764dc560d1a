"""One pass over events in order: judge each by what was known, then remember it; fit the network when that is due."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopsight.io.rules import SECONDS_PER_DAY
from hopsight.streams import memory as at
from hopsight.streams.accounts import N_SAID, look_at_account, look_at_chain, open_span
from hopsight.streams.events import keys_of
from hopsight.streams.evidence import (
    PAIR,
    SENDER,
    amount_surprise,
    burst_evidence,
    dispersion_of,
    fill_tail,
    hour_surprise,
    spread_of,
    streak_evidence,
    streak_level,
    tail_evidence,
    usual_amount,
)
from hopsight.streams.memory import Memory, entry, find, mixed, pair_key_of
from hopsight.streams.network import Network, apart, describe, fit, judge, loss_of
from hopsight.streams.state import State
from hopsight.streams.times import SPANS, parse_window
from hopsight.system.kernels import compiled, inner
from hopsight.system.lazy_polars import pl

LARGEST_SURPRISE, LARGEST_OFF, LARGEST_TOGETHER = 16.0, 6.0, 32.0  # nats; the logarithm of 1 + standard deviations
DENSE = 50_000  # examples after which only every tenth event is one
FIRST_FIT, LEAST_BETWEEN, MOST_BETWEEN = 400, 1000, 20_000  # examples between two fits
DRIFT, LEAST_DRIFT = 0.15, 400  # nats that the loss may rise, and examples needed to say so
YOUNG = 10  # windows in which too little is known of who is popular for good
NEW_END = 0.1  # share of the ends of random pairs that are nodes never seen
LN10 = math.log(10.0)
LARGEST_AMOUNT, LARGEST_USUAL = 1e9, 500.0  # times the usual amount, and its logarithm: sums of these are finite
LARGEST_PAID = 1e300

# Columns of the judgment of one event.
(
    HOP,
    SURPRISE,
    SCORE,
    KIND,
    PAST_HOP,
    NEW_PAIR,
    COUNT_SEEN,
    COUNT_USUAL,
    COUNT_CARRIED,
    SCALE,
    EV_HOP,
    EV_PAIR,
    EV_SENDER,
    EV_RECEIVER,
    EV_AMOUNT,
    EV_HOUR,
    EV_STREAK,
    EV_TOGETHER,
    STREAK_PLACE,
    STREAK_SIZE,
    SOURCE_SCORE,
    TARGET_SCORE,
    USUAL_AMOUNT,
) = range(23)
N_COLUMNS = 23
MAX_FITS = 500  # fits that the record lists


class Judged(NamedTuple):
    """What is known of events after they were judged."""

    events: NDArray[np.float32]  # a row of columns as above
    windows: NDArray[np.int64]
    accounts: NDArray[np.float64]  # (events, 3 for source, target and chain, columns of hopsight.streams.accounts)
    places: NDArray[np.float64]  # times in windows since the stream began
    late: NDArray[np.bool_]


def advance(state: State, events: pl.DataFrame, attributes: NDArray[np.float32] | None = None) -> Judged:
    """Judge events, which are in order of time, and remember them; ``attributes`` are those of their ends, if known.

    An event that is older than the newest one so far is late: it counts as if it came at the newest time, but not in
    what happened within some time: bursts, streaks, new partners and chains.
    """
    memory, window = state.memory, parse_window(state.notes["window"])
    seed = int(state.notes["seed"])
    seconds, amounts = events["seconds"].to_numpy(), (events["amount"] * events["factor"]).to_numpy()
    moments = np.maximum(np.maximum.accumulate(seconds), memory.sums[at.NEWEST])
    late = seconds < moments
    memory.clock[at.N_LATE] += int(late.sum())
    first = int(memory.clock[at.EVENTS])
    ticks = window.ticks(moments, first, dated=bool(state.notes["hours"]))
    spans = window.number(moments, first, SPANS)
    hours, paid = _hours(state, seconds), _as_paid(state, events)
    sources, targets = keys_of(events)
    places = window.places(moments, first) - state.notes.setdefault("origin", float(window.number(moments, first)[0]))
    judgments = np.zeros((events.height, N_COLUMNS), np.float32)
    accounts = np.zeros((events.height, 3, N_SAID))
    if attributes is None:
        attributes = np.zeros((0, 2, at.N_ATTRIBUTES), np.float32)
    place, money = 0, bool(state.notes.get("money", False))
    while True:
        place = process(
            memory, state.network, sources, targets, ticks, spans, hours, amounts, paid, places, moments, late, place,
            seed, money, judgments, accounts, attributes,
        )  # fmt: skip
        if place >= events.height:
            break
        refit(state, float(moments[place]), seed)
    memory.sums[at.NEWEST] = moments[-1]
    return Judged(judgments, window.number(moments, first), accounts, places, late)


def _as_paid(state: State, events: pl.DataFrame) -> NDArray[np.float64]:
    """Return (events, 2): amounts as they were paid, 0 if unknown or a refund, and the numbers of their currencies."""
    numbers = {name: number for number, name in enumerate(state.notes["currencies"], 1)}
    currencies = [numbers[name] for name in events["currency"]]
    amounts = np.nan_to_num(events["amount"].to_numpy()).clip(0.0, LARGEST_PAID)
    return np.stack([amounts, currencies], axis=1)


def _hours(state: State, seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the hour of each event: on the first day, when every hour is new, 24 more; −1 if times have none."""
    began = state.notes.setdefault("began", float(seconds[0]))
    if not state.notes["hours"]:
        return np.full(seconds.size, -1)
    first_day = (began <= seconds) & (seconds < began + SECONDS_PER_DAY)
    return np.asarray((seconds // 3600 % at.N_HOURS).astype(np.int64) + at.N_HOURS * first_day)


def refit(state: State, moment: float, seed: int) -> None:
    """Fit the network to the most recent examples, and note when and why."""
    memory = state.memory
    examples = memory.examples[: min(int(memory.clock[at.N_TRAINED]), at.N_EXAMPLES)]
    before = float(memory.sums[at.LOSS] / max(int(memory.clock[at.SINCE_FIT]), 1))
    reason = "first" if memory.sums[at.FITTED] == 0.0 else "schedule"
    if reason != "first" and before > memory.sums[at.BASE_LOSS] + DRIFT:
        reason = "drift"
    state.network = fit(state.network, examples, seed + int(memory.sums[at.FITTED]))
    memory.sums[at.BASE_LOSS] = loss_of(state.network, examples)
    memory.sums[at.LOSS] = 0.0
    memory.sums[at.FITTED] += 1.0
    memory.clock[at.SINCE_FIT] = 0
    note: dict[str, Any] = {
        "event": int(memory.clock[at.EVENTS]), "time": moment, "reason": reason,
        "loss_before": before, "loss_after": float(memory.sums[at.BASE_LOSS]),
    }  # fmt: skip
    state.notes["fits"] = [*state.notes["fits"], note][-MAX_FITS:]


@compiled()
def process(
    memory: Memory, network: Network, sources: NDArray[np.uint64], targets: NDArray[np.uint64],
    ticks: NDArray[np.int64], spans: NDArray[np.int64], hours: NDArray[np.int64], amounts: NDArray[np.float64],
    paid: NDArray[np.float64], places: NDArray[np.float64], moments: NDArray[np.float64], late: NDArray[np.bool_],
    start: int, seed: int, money: bool, judgments: NDArray[np.float32], accounts: NDArray[np.float64],
    attributes: NDArray[np.float32],
) -> int:  # fmt: skip
    """Judge events from ``start`` on; return where it stopped: at the end, or where the network is to be fitted again.

    Hours below 0 and amounts that are NaN are left out. Hours from 24 on, of the first day, are only learned. Where
    amounts are ``money``, what one end alone does at once is no evidence: wages and rents are many payments in a day.
    """
    row, random_row = np.zeros(at.N_FEATURES, np.float32), np.zeros(at.N_FEATURES, np.float32)
    clock = memory.clock
    for event in range(start, sources.size):
        tick = ticks[event]
        if tick != clock[at.NOW]:
            if _fit_is_due(memory) and clock[at.SINCE_FIT] > 0:
                return event
            _open_tick(memory, tick, spans[event])
        clock[at.EVENTS] += 1
        now = clock[at.EVENTS]
        source = _node(memory, sources[event], tick, now)
        target = _node(memory, targets[event], tick, now)
        if attributes.shape[0] > 0:
            memory.attributes[source], memory.attributes[target] = attributes[event, 0], attributes[event, 1]
        pair, is_new = entry(memory.pairs, pair_key_of(sources[event], targets[event]), tick, now)
        if is_new:
            memory.judged[pair] = 0.0
            memory.met[pair] = places[event]
            _, known = find(memory.pairs, pair_key_of(targets[event], sources[event]))
            judgments[event, NEW_PAIR] = 0.0 if known else 1.0
        learns = clock[at.N_TRAINED] < DENSE or now % 10 == 0
        # What is known changes between ticks only, so that a pair is judged once per tick.
        again = memory.judged[pair, at.STEP_JUDGED] == clock[at.STEP]
        if learns or not again:
            past = describe(memory, source, target, sources[event], targets[event], tick, 8 * now, row)
            odds = judge(network, row)
            memory.judged[pair, at.STEP_JUDGED] = clock[at.STEP]
            memory.judged[pair, at.ODDS], memory.judged[pair, at.PAST] = odds, past
            if learns:
                _learn(
                    memory, network, row, random_row, odds, sources[event], source, targets[event], target, tick, now,
                    seed,
                )  # fmt: skip
        _look_at_pair(memory, judgments[event], memory.judged[pair, at.ODDS], memory.judged[pair, at.PAST])
        _remember(memory, judgments[event], pair, source, target, hours[event], amounts[event], late[event], money)
        _combine(memory, judgments[event], source, target, again or late[event], money)
        _decide(judgments[event])
        if late[event]:
            memory.late[source, 0] += 1
            memory.late[target, 1] += 1
            continue
        new, amount = judgments[event, NEW_PAIR] > 0.0, _bounded(memory, amounts[event])
        for end in range(2):
            slot = source if end == 0 else target
            look_at_account(
                memory, slot, end, places[event], moments[event], new, amount, paid[event], accounts[event, end]
            )
        look_at_chain(
            memory, source, target, pair, places[event], moments[event], amount, paid[event], accounts[event, 2]
        )
    return sources.size


@inner
def _bounded(memory: Memory, amount: float) -> float:
    """Return an amount that can be added to others: 0 if unknown or a refund, at most a billion times what is usual."""
    most = LARGEST_AMOUNT * math.exp(min(memory.amounts[0, 1], LARGEST_USUAL))
    return 0.0 if math.isnan(amount) else min(max(amount, 0.0), most)


@inner
def _node(memory: Memory, key: np.uint64, tick: int, now: int) -> int:
    """Return the slot of a node, with a new one if it is unknown, and bring it up to this tick."""
    slot, is_new = entry(memory.nodes, key, tick, now)
    if is_new:
        memory.node_hours[slot] = np.float32(0.0)
        memory.streaks[slot] = 0.0
        memory.since[slot] = 0.0
        memory.late[slot] = 0
        memory.blocks[slot] = 0.0
        memory.arrivals[slot] = 0.0
        memory.attributes[slot] = np.float32(np.nan)
        memory.order[memory.clock[at.N_ORDER] % memory.order.size] = slot
        memory.clock[at.N_ORDER] += 1
    return slot


@inner
def _fit_is_due(memory: Memory) -> bool:
    clock, sums = memory.clock, memory.sums
    since = clock[at.SINCE_FIT]
    if sums[at.FITTED] == 0.0:
        return since >= FIRST_FIT
    if since >= min(max(LEAST_BETWEEN, clock[at.N_TRAINED] // 8), MOST_BETWEEN):
        return True
    return since >= LEAST_DRIFT and sums[at.LOSS] / since > sums[at.BASE_LOSS] + DRIFT


@inner
def _open_tick(memory: Memory, tick: int, span: int) -> None:
    """Let what has been learned so far count as known."""
    memory.clock[at.NOW] = tick
    memory.clock[at.STEP] += 1  # ticks without any event do not count in bursts
    if span != memory.clock[at.SPAN] or memory.clock[at.SPAN_STEP] == 0:
        memory.clock[at.SPAN] = span
        memory.clock[at.SPAN_STEP] += 1
        open_span(memory)
    memory.clock[at.N_KNOWN] = memory.clock[at.N_ORDER]
    for level in range(3):
        for scale in range(at.N_SCALES):
            population = memory.population[level, scale]
            population[at.ALL_SPREAD] = spread_of(population, memory.offs[level, scale])
    for kind in range(memory.seen.shape[0]):
        fill_tail(memory.seen[kind], memory.tail[kind], at.SEEN_SUM <= kind <= at.SEEN_TOGETHER)
    for place in range(2 * at.N_PARTS):
        memory.dispersion[place // at.N_PARTS, place % at.N_PARTS] = dispersion_of(memory.tail[at.SEEN_STREAKS + place])


@inner
def _learn(
    memory: Memory, network: Network, row: NDArray[np.float32], random_row: NDArray[np.float32], odds: float,
    source_key: np.uint64, source: int, target_key: np.uint64, target: int, tick: int, now: int, seed: int,
) -> None:  # fmt: skip
    """Keep the features of this event and of a random pair at the same time as an example to train on.

    An end of that pair that is a node never seen has the attributes of a random node, as a real one would have some.
    """
    clock, sums = memory.clock, memory.sums
    known = min(clock[at.N_KNOWN], memory.order.size)
    if known < 2:
        return
    bits = mixed(np.uint64(now) ^ (np.uint64(seed) << np.uint64(40)))
    replaced = np.int64(bits & np.uint64(3))  # 0 the source, 1 the target, 2 and 3 both
    likes: Any = (source, target)
    for end in range(2):
        if replaced == end or replaced >= 2:
            slot: Any = -1
            key = source_key if end == 0 else target_key
            bits = mixed(bits)
            if np.float64(bits >> np.uint64(11)) / 2.0**53 >= NEW_END:
                bits = mixed(bits)
                slot = np.int64(memory.order[np.int64(bits % np.uint64(known))])
                key = memory.nodes.key[slot]
            like = np.int64(memory.order[np.int64(mixed(~bits) % np.uint64(known))]) if slot < 0 else slot
            if end == 0:
                source, source_key, likes = slot, key, (like, likes[1])
            else:
                target, target_key, likes = slot, key, (likes[0], like)
    if source == target and source >= 0:
        return
    describe(memory, source, target, source_key, target_key, tick, 8 * now + 4, random_row)
    random_row[18], random_row[19] = apart(memory.attributes[likes[0]], memory.attributes[likes[1]])
    place = clock[at.N_TRAINED] % memory.examples.shape[0]
    for column in range(row.size):
        memory.examples[place, 0, column] = row[column]
        memory.examples[place, 1, column] = random_row[column]
    clock[at.N_TRAINED] += 1
    clock[at.SINCE_FIT] += 1
    sums[at.LOSS] += 0.5 * (np.logaddexp(0.0, -odds) + np.logaddexp(0.0, judge(network, random_row)))


@inner
def _look_at_pair(memory: Memory, judgment: NDArray[np.float32], odds: float, past: float) -> None:
    """Say how many hops apart the ends should have been, and how unusual the pair is."""
    near = 1.0 / (1.0 + math.exp(-min(max(odds, -50.0), 50.0)))
    surprise = min(np.logaddexp(0.0, -odds), LARGEST_SURPRISE)
    judgment[HOP] = near + (1.0 - near) * past
    judgment[SURPRISE] = surprise
    judgment[PAST_HOP] = past
    if memory.sums[at.FITTED] > 0.0:
        judgment[EV_HOP] = tail_evidence(
            memory.seen[at.SEEN_HOP], memory.tail[at.SEEN_HOP], surprise / LARGEST_SURPRISE
        )
    else:
        judgment[EV_HOP] = 0.0


@inner
def _remember(
    memory: Memory, judgment: NDArray[np.float32], pair: int, source: int, target: int, hour: int, amount: float,
    late: bool, money: bool,
) -> None:  # fmt: skip
    """Count the event, and say how unusual its count, its amount and its hour are; a late one is part of no burst."""
    nodes, pairs = memory.nodes, memory.pairs
    first = pairs.counts[pair, at.BEFORE] + pairs.counts[pair, at.WITHIN] == 0
    strongest = 0.0
    for level in range(3):
        judgment[EV_PAIR + level] = 0.0
        for scale in range(0 if late or (money and level != PAIR) else at.N_SCALES):
            if level == PAIR:
                counts = pairs.bursts[pair, 0, scale]
            else:
                counts = nodes.bursts[source, 0, scale] if level == SENDER else nodes.bursts[target, 1, scale]
            now = memory.clock[at.STEP] if scale == 0 else memory.clock[at.SPAN_STEP]
            young = scale == 1 and now <= YOUNG * SPANS
            found, _, usual = burst_evidence(
                counts, memory.population[level, scale], memory.offs[level, scale], now, memory.clock[at.SPAN] // SPANS,
                young,
            )  # fmt: skip
            if scale == 1 and now <= SPANS:  # in the first window there is nothing to compare with
                found = 0.0
            judgment[EV_PAIR + level] = max(judgment[EV_PAIR + level], found)
            if found > strongest:
                strongest = found
                judgment[COUNT_SEEN], judgment[COUNT_USUAL] = counts[at.COUNT], math.expm1(usual)
                judgment[COUNT_CARRIED] = counts[at.CARRY]
                judgment[SCALE] = scale
    judgment[EV_AMOUNT] = judgment[EV_HOUR] = 0.0
    if not math.isnan(amount):
        judgment[USUAL_AMOUNT] = math.expm1(abs(usual_amount(nodes.amount[source], pairs.amount[pair], memory.amounts)))
        off = amount_surprise(nodes.amount[source], pairs.amount[pair], memory.amounts, amount)
        share = math.log1p(off) / LARGEST_OFF
        judgment[EV_AMOUNT] = tail_evidence(memory.seen[at.SEEN_AMOUNT], memory.tail[at.SEEN_AMOUNT], share)
    if hour >= 0:
        off = hour_surprise(memory.node_hours[source], memory.hours, hour % at.N_HOURS)
        if hour < at.N_HOURS:
            found = tail_evidence(memory.seen[at.SEEN_HOUR], memory.tail[at.SEEN_HOUR], off / LARGEST_SURPRISE)
            judgment[EV_HOUR] = found if off > math.log(at.N_HOURS) else 0.0  # one of 24 is no unusual hour
    pairs.counts[pair, at.WITHIN] += 1
    nodes.counts[source, at.SENT_NOW] += 1
    nodes.counts[target, at.RECEIVED_NOW] += 1
    if first:
        for one, other in ((source, target), (target, source)):
            memory.ring[one, (nodes.counts[one, at.MET] + nodes.counts[one, at.MET_NOW]) % at.N_NEIGHBORS] = other
            nodes.counts[one, at.MET_NOW] += 1


@inner
def _combine(memory: Memory, judgment: NDArray[np.float32], source: int, target: int, again: bool, money: bool) -> None:
    """Say how unusual pair, amount and hour are together, and whether the event is part of a streak.

    Their sum is compared with that of earlier events, as three things that are a little unusual rarely come together,
    and so is the strongest of them, which the sum dilutes. A pair that comes again in the same tick is judged by the
    same past: it adds nothing to a streak. Nor does an event that is late. Where amounts are money, there are no
    streaks: customers of a utility all pay on one morning, and what moves with new partners is judged with them
    (``accounts.py``).
    """
    parts = (judgment[EV_HOP], judgment[EV_AMOUNT], judgment[EV_HOUR])
    seen, tail = memory.seen, memory.tail
    together = 0.0
    for kind, value in ((at.SEEN_SUM, parts[0] + parts[1] + parts[2]), (at.SEEN_STRONGEST, max(parts))):
        together = max(together, tail_evidence(seen[kind], tail[kind], value / LARGEST_TOGETHER))
    kind = at.SEEN_TOGETHER
    judgment[EV_TOGETHER] = tail_evidence(seen[kind], tail[kind], together / LARGEST_TOGETHER)
    judgment[EV_STREAK] = judgment[SOURCE_SCORE] = judgment[TARGET_SCORE] = 0.0
    for place in range(0 if money else 2 * at.N_PARTS):
        end, part = place // at.N_PARTS, place % at.N_PARTS
        row = memory.streaks[source if end == 0 else target, end, part]
        found, level = 0.0, 0.0
        if again:
            level = streak_level(row)
        else:
            found, level = streak_evidence(row, seen[at.SEEN_STREAKS + place], memory.clock[at.SPAN_STEP], parts[part])
        found /= memory.dispersion[end, part]
        if found > judgment[EV_STREAK]:
            judgment[EV_STREAK], judgment[STREAK_PLACE], judgment[STREAK_SIZE] = found, place, row[at.NUMBER]
        judgment[SOURCE_SCORE + end] = max(judgment[SOURCE_SCORE + end], level / memory.dispersion[end, part])


@inner
def _decide(judgment: NDArray[np.float32]) -> None:
    """Let the strongest evidence decide; the score is −log₁₀ of the chance that an ordinary event has as much.

    For each end it counts less by the evidence by which the other end alone is more unusual. Of an end alone speak the
    burst of its own events, its streak and, of the source, the hour if that decided. So the targets of a scan are not
    as suspicious as who scans, nor are the senders to an account that collects.
    """
    best = EV_HOP
    for column in (EV_AMOUNT, EV_HOUR):
        if judgment[column] > judgment[best]:
            best = column
    strongest = judgment[EV_TOGETHER]
    for column in (EV_PAIR, EV_SENDER, EV_RECEIVER, EV_STREAK):
        if judgment[column] > strongest:
            best, strongest = column, judgment[column]
    judgment[SCORE] = strongest / LN10
    judgment[KIND] = best - EV_HOP
    judgment[SOURCE_SCORE] = max(judgment[SOURCE_SCORE], judgment[EV_SENDER])
    judgment[TARGET_SCORE] = max(judgment[TARGET_SCORE], judgment[EV_RECEIVER])
    if judgment[KIND] == EV_HOUR - EV_HOP:
        judgment[SOURCE_SCORE] = max(judgment[SOURCE_SCORE], judgment[EV_TOGETHER])
    more = (judgment[SOURCE_SCORE] - judgment[TARGET_SCORE]) / LN10
    judgment[SOURCE_SCORE] = max(0.0, judgment[SCORE] - max(0.0, -more))
    judgment[TARGET_SCORE] = max(0.0, judgment[SCORE] - max(0.0, more))
