"""Alerts: on single events, and on accounts for what their events did together; one per episode, with a reason.

An episode lasts while what is flagged goes on. An event is flagged for its pair, or for one end alone (a burst of what
it sends or receives, or a streak); a window without another flag ends that. An account is flagged for its new partners
(`accounts.py`); that ends after as long as the longest blocks look back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopsight.checks import plural
from hopsight.explanations.events import Calendar, about, money
from hopsight.streams import accounts as said
from hopsight.streams.kernel import Judged
from hopsight.streams.memory import SEVERAL
from hopsight.streams.times import ISO, NAMES, UNITS, Window, moment_words, parse_window
from hopsight.system.lazy_polars import pl

COLUMNS = (
    "alert", "account", "source", "target", "time", "window", "amount", "usual_amount", "currency", "score",
    "decided_by", "hop", "surprise", "reason",
)  # fmt: skip
PARTNERS, CHAIN = "partners", "cycle"  # the kinds of evidence of an account
OF_CHAIN = 2  # beside source (0) and target (1): the source, for what it sends on
PARTS = {"hop": "pair", "amount": "amount", "hour": "hour"}  # kinds of evidence that count together, in words
STREAKS = (
    ("went to unlikely receivers", "came from unlikely senders"),
    ("have unusual amounts",) * 2,
    ("came at unusual hours of the day",) * 2,
)  # what is unusual about the events of a streak that one end sent, or the other received
ALONE = {"sender": 0, "receiver": 1}  # kinds of evidence of one end
LEAST_TOO = math.log(10.0)  # nats: what less than a tenth of events have is named besides what decided
SINGLE = 1.0  # digits that events with amounts have to be rarer: there are ten times as many as episodes of accounts
OF_PAIR = 3  # flagged events of a pair within GAP that need not be rarer: together they are
GAP = 1.0  # windows without a flag that end the episode of an event
LOOK_BACK = 2.0 * max(said.LENGTHS)


@dataclass(frozen=True)
class Wording:
    """How times and amounts are written in alerts."""

    window: Window
    dated: bool
    times: str  # a pattern for dates, as in the file
    currencies: tuple[str, ...] = ("",)  # of amounts, such as EUR
    paid: bool = False  # whether events have amounts
    origin: float = 0.0  # windows from time 0 to where the first block begins
    money: bool = False  # whether the amounts are money; what else is sent is not paid

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> Wording:
        """Return how a stream writes them, by its notes."""
        return cls(
            parse_window(notes["window"]), bool(notes["hours"]), notes["shown"] or ISO, tuple(notes["currencies"]),
            notes["paid"], notes.get("origin", 0.0), notes.get("money", notes["paid"]),
        )  # fmt: skip

    def currency(self, number: float) -> str | None:
        """Return the currency with this number; None of no amounts, or of amounts in several.

        >>> wording = Wording(Window("1d", 86400.0, None), True, "%Y-%m-%d", ("EUR", "JPY"))
        >>> wording.currency(2.0), wording.currency(SEVERAL)
        ('JPY', None)
        """
        return self.currencies[int(number) - 1] if number > 0 else None

    def moment(self, seconds: float) -> str:
        """Return a time as the file writes it."""
        return moment_words(seconds, self.times) if self.dated else f"{seconds:g}"

    def title(self, window: int) -> str:
        """Return the span of a window."""
        return self.window.title(window, self.dated, self.times)

    @property
    def calendar(self) -> Calendar:
        """How lengths of time are written, as in other reasons."""
        return Calendar(self.times if self.dated else None, self.dated and "%H" not in self.times)

    def within(self, first: float, last: float) -> str:
        """Return within how long something happened.

        >>> Wording(Window("1d", 86400.0, None), True, "%d.%m.%Y").within(86400.0, 86400.0)
        'a day'
        """
        if not self.dated and first == last:
            return "the same unit of time"
        return self.calendar.lasting(first, last) + ("" if self.dated else " units of time")

    def after(self, first: float, last: float) -> str:
        """Return how long after the first of two times the second was, as the end of a clause.

        >>> dates = Wording(Window("1d", 86400.0, None), True, "%d.%m.%Y")
        >>> [dates.after(0.0, 86400.0 * days) for days in (0, 1, 3)]
        [', the same day', ', the day after', ', 3 days after']
        >>> times = Wording(Window("1d", 86400.0, None), True, "%d.%m.%Y %H:%M")
        >>> [times.after(0.0, 60.0 * minutes) for minutes in (0.2, 70, 140, 3000)]
        [', a minute after', ', 70 minutes after', ', 2 hours after', ', 2 days after']
        """
        n_days = round((last - first) / UNITS["d"])
        if self.calendar.whole_days:
            return ", the same day" if not n_days else ", the day after" if n_days == 1 else f", {n_days} days after"
        unit = next((name for name in ("d", "h", "m") if last - first >= 2.0 * UNITS[name]), None)
        if not self.dated or unit is None:
            return f", {self.within(first, last)} after" if last > first else " when"
        return f", {plural(round((last - first) / UNITS[unit]), NAMES[unit])} after"

    def block(self, share: float) -> str:
        """Return how long a block of so many windows is, at least a day where times have no hour."""
        short = self.calendar.whole_days and share * (self.window.seconds or math.inf) < UNITS["d"]
        return f"block of {'a day' if short else self.window.words_of(share, dated=self.dated)}"

    @property
    def began(self) -> str:
        """When the first block began; empty where windows count events."""
        return "" if self.window.seconds is None else self.moment(self.origin * self.window.seconds)

    def at_most(self, most: float, currency: str, share: float, place: float, since: str) -> str:
        """Return the most that an account moved in a block of so many windows, and from when to when these are.

        An alert is about the block of ``place``, a time in windows, and the one before it.
        """
        text = f"at most {money(most, currency=currency)} in each {self.block(share)}"
        if self.window.seconds is None:
            return f"{text} before the last two"
        last = self.origin + (math.floor(place / share) - 1.0) * share
        return f"{text} from {since} to {self.moment(last * self.window.seconds)}"

    def so_far(self, values: Sequence[float], place: float, end: int) -> str:
        """Return how many other events an account had, and the most that it sent (``end`` 0) or received in a block.

        >>> values = np.zeros(said.N_SAID)
        >>> values[[said.OTHERS, said.MOST, said.MOST_IN, said.LENGTH, said.N_LATE]] = 5.0, 1.09, 1.0, 2.0, 3.0
        >>> wording = Wording(Window("1d", 86400.0, None), True, "%d.%m.%Y", paid=True, origin=10.0, money=True)
        >>> for part in wording.so_far(values, 13.5, 0).split("; "):
        ...     print(part)
        5 other payments since 11.01.1970, and it sent at most 1.09 in each block of 4 days from then to 19.01.1970
        3 payments that came late are not counted
        """
        noun, others, late = "payment" if self.money else "event", int(values[said.OTHERS]), int(values[said.N_LATE])
        text = plural(others, f"other {noun}") if others else "nothing else"
        if self.began:
            text += f" since {self.began}"
        currency, share = self.currency(values[said.MOST_IN]), said.LENGTHS[int(values[said.LENGTH])]
        if currency is not None:
            most = self.at_most(values[said.MOST], currency, share, place, "then")
            text += f", and it {('sent', 'received')[end]} {most}"
        if late:
            text += f"; {plural(late, noun)} that came late {'is' if late == 1 else 'are'} not counted"
        return text


def new_alerts(
    frame: pl.DataFrame, judged: Judged, tallies: dict[str, pl.DataFrame], alarm: float, first: int, wording: Wording,
    left_out: pl.Series | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Return the alerts of events with their judgments, numbered from ``first`` on; none on accounts ``left_out``.

    ``tallies`` holds the episodes that are open and the last flags of pairs, and is changed.
    """
    of_accounts = (_of_accounts(frame, judged, end, alarm) for end in (0, 1, OF_CHAIN))
    found = pl.concat([_of_events(frame, judged, tallies, alarm, wording), *of_accounts])
    account = pl.when(pl.col("end") == 1).then("target").otherwise("source").cast(pl.String)
    found = found.with_columns(account=account).filter(~pl.col("account").is_in([] if left_out is None else left_out))
    found = found.sort("number", "level", maintain_order=True)
    before = tallies.get("episodes", found.select("key", pl.col("place").alias("last")).clear())
    found = found.join(before, on="key", how="left", maintain_order="left").with_columns(
        last=pl.col("place").shift(1).over("key").fill_null(pl.col("last"))
    )
    now = float(judged.places[-1])
    still = pl.concat([before, found.select("key", pl.col("place").alias("last"))])
    tallies["episodes"] = (
        still.group_by("key", maintain_order=True).agg(pl.col("last").max()).filter(pl.col("last") > now - LOOK_BACK)
    )
    gap = pl.when(pl.col("level") == 0).then(GAP).otherwise(LOOK_BACK)
    begun = found.filter((pl.col("place") - pl.col("last") > gap).fill_null(True))
    rows = [_row(row, wording) for row in begun.iter_rows(named=True)]
    kinds: Any = {
        "account": pl.String, "time": pl.String, "window": pl.String, "amount": pl.Float64, "usual_amount": pl.Float64,
        "currency": pl.String, "reason": pl.String,
    }  # fmt: skip
    texts = pl.DataFrame(rows, schema=kinds, orient="row")
    alerts = begun.drop([*kinds, "alert"], strict=False).with_columns(
        *texts, begun["window"].alias("number_of_window"), alert=pl.int_range(pl.len()) + first
    )  # fmt: skip
    # Sums of cents have many digits; what is usual is known in single precision.
    short = (pl.col("amount").round_sig_figs(13), pl.col("usual_amount").round_sig_figs(8))
    return alerts.with_columns(short).select(*COLUMNS, "number_of_window")


def _of_events(
    frame: pl.DataFrame, judged: Judged, tallies: dict[str, pl.DataFrame], alarm: float, wording: Wording
) -> pl.DataFrame:
    """Return the flagged events, with the key of their episodes.

    Where events have amounts, these must be rarer, or the third of a pair within a window.
    """
    streak, received = pl.col("decided_by") == "streak", pl.col("streak_place") >= len(PARTS)
    end = (
        pl.when((pl.col("decided_by") == "sender") | (streak & ~received)).then(0)
        .when((pl.col("decided_by") == "receiver") | streak).then(1)
    )  # fmt: skip
    source, target = (pl.col(name).cast(pl.String) for name in ("source", "target"))
    pair = pl.format("2 {} {}", source, target)
    flagged = frame.with_row_index("number").with_columns(place=judged.places, level=pl.lit(0), end=end, key=pair)
    flagged = flagged.filter(pl.col("flagged") == 1)
    rare = pl.col("score") >= alarm + SINGLE
    if wording.paid:
        flagged = flagged.filter(rare | _among_several(flagged, tallies, float(judged.places[-1])))
    alone = (
        pl.when(pl.col("end") == 0).then(pl.format("0 {}", source)).when(pl.col("end") == 1)
        .then(pl.format("1 {}", target)).otherwise("key")
    )  # fmt: skip
    key = pl.when(rare).then(alone).otherwise("key") if wording.paid else alone
    empty: Any = [pl.lit(None, dtype=pl.List(pl.Float64)).alias("said")]
    return flagged.with_columns(*empty, key=key).select(
        "number", *frame.columns, "place", "level", "end", "key", "said"
    )


def _among_several(flagged: pl.DataFrame, tallies: dict[str, pl.DataFrame], now: float) -> pl.Series:
    """Return which flagged events are at least the third of their pair within a window; late ones count in none."""
    places = flagged.select(pl.when(~pl.col("late")).then(pl.col("key", "place")))
    both = pl.concat([tallies.get("flags", places.clear()), places])
    recent = both.filter(pl.col("place") >= now - GAP)
    tallies["flags"] = recent.group_by("key", maintain_order=True).tail(OF_PAIR - 1)
    lasted = pl.col("place") - pl.col("place").shift(OF_PAIR - 1).over("key")
    return both.select((lasted <= GAP).fill_null(False)).to_series().tail(flagged.height)


def _of_accounts(frame: pl.DataFrame, judged: Judged, end: int, alarm: float) -> pl.DataFrame:
    """Return the events at which an end is flagged for its new partners, or the source for what it sends on."""
    score = judged.accounts[:, end, said.SCORE]
    chosen = np.flatnonzero(score >= alarm)
    who = pl.col("target" if end == 1 else "source").cast(pl.String)
    return frame[chosen].with_columns(
        pl.Series("number", chosen, dtype=pl.UInt32), pl.Series("place", judged.places[chosen]),
        pl.Series("score", score[chosen], dtype=pl.Float32),
        pl.lit(CHAIN if end == OF_CHAIN else PARTNERS).alias("decided_by"), pl.lit(1).alias("level"),
        pl.lit(end).alias("end"), pl.format("3{} {}", pl.lit(end), who).alias("key"),
        pl.Series("said", judged.accounts[chosen, end].tolist(), dtype=pl.List(pl.Float64)),
    ).select("number", *frame.columns, "place", "level", "end", "key", "said")  # fmt: skip


def _row(row: Mapping[str, Any], wording: Wording) -> tuple[Any, ...]:
    """Return the account, time, window, amount, usual amount, currency of both and reason of an alert."""
    account = row["account"]
    when, window = wording.moment(row["start"]), wording.title(row["window"])
    if row["said"] is None:
        amounts = (*(None if math.isnan(row[name]) else row[name] for name in ("amount", "usual_amount")),)
        return account, when, window, *amounts, row["currency"] or None, f"{when}: {event_reason(row, wording)}"
    values = row["said"]
    if row["end"] == OF_CHAIN:
        same = wording.currency(values[said.MOST_SENT_IN]) == row["currency"]
        amounts = (row["amount"], values[said.MOST_SENT] if same else None)
        return account, when, window, *amounts, row["currency"] or None, f"{when}: {chain_reason(row, wording)}"
    began = wording.moment(values[said.BEGAN])
    span = when if began == when else f"{began} to {when}"
    return account, when, window, *_sums(values, wording), f"{span}: {account_reason(account, row, wording)}"


def _sums(values: Sequence[float], wording: Wording) -> tuple[float | None, float | None, str | None]:
    """Return the amount of new partners, the most that the account moved before, and the currency of both."""
    number = values[said.AMOUNT_IN] or values[said.MOST_IN]
    if not wording.paid or number == SEVERAL:
        return None, None, None
    usual = values[said.MOST] if values[said.MOST_IN] == number else None
    return values[said.AMOUNT] or None, usual, wording.currency(number) or None


def account_reason(account: str, row: Mapping[str, Any], wording: Wording) -> str:
    """Say what the new partners of an account are, and what it did before."""
    values = row["said"]
    partners = plural(int(values[said.N_NEW]), "new partner")
    within = wording.within(values[said.BEGAN], row["start"])
    does = ("paid", "was paid by") if wording.money else ("sent to", "received from")
    text = f"{account} {does[row['end']]} {partners} within {within} so far"
    return f"{text}{_first_amounts(values, wording)}; {wording.so_far(values, row['place'], row['end'])}."


def _first_amounts(values: Sequence[float], wording: Wording) -> str:
    """Say what the first payments of new partners are, if they have amounts."""
    noun, number = "payments" if wording.money else "events", int(values[said.N_AMOUNTS])
    if not number:
        return ""
    if (currency := wording.currency(values[said.AMOUNT_IN])) is None:
        return f", first {noun} in several currencies"
    total = money(values[said.AMOUNT], currency=currency)
    each = money(values[said.SMALLEST], values[said.LARGEST], currency=currency)
    if number == values[said.N_NEW]:
        return f", {total} in first {noun} ({each} each)"
    each = f"{each} each; " if number > 1 else ""
    return f", {total} in {number:,} of the first {noun} ({each}the others have no amount above 0)"


def chain_reason(row: Mapping[str, Any], wording: Wording) -> str:
    """Say what an account received and sent on, along which chain, and the most that it sent before."""
    values = row["said"]
    received = money(values[said.RECEIVED], currency=wording.currency(values[said.RECEIVED_IN]))
    sent = money(row["amount"], currency=row["currency"])
    later = wording.after(values[said.RECEIVED_AT], row["start"])
    most, currency = "", wording.currency(values[said.MOST_SENT_IN])
    if currency is not None:
        at_most = wording.at_most(values[said.MOST_SENT], currency, said.LENGTHS[-1], row["place"], wording.began)
        most = f" It sent {at_most}."
    return (
        f"{row['source']} sent {sent} on to {row['target']}{later} it received {received}. Since "
        f"{wording.moment(values[said.CHAIN_BEGAN])}, such an amount has been passed on "
        f"{plural(int(values[said.N_LINKS]), 'time')} in a row along this chain.{most}"
    )


def event_reason(row: Mapping[str, Any], wording: Wording) -> str:
    """Say what is unusual about an event, and what else is."""
    kind, source, target = row["decided_by"], row["source"], row["target"]
    paid = not math.isnan(row["amount"])
    amounts = money(row["amount"], currency=row["currency"]) if paid else ""
    if not math.isnan(row["usual_amount"]) and paid:
        amounts += f", {about(row['usual_amount'], row['currency'])} expected"
    count, usual = plural(round(row["count"]), "event"), f"about {max(row['usual'], 0.1):.1f} expected"
    tick, span = wording.window.span_words(dated=wording.dated)
    within = f"{'a day' if wording.calendar.whole_days else span if row['scale'] else tick} so far"
    if carried := round(row["carried"]):
        within += f" (and {carried:,} counted from before)"
    ends, partner = ((f"{source} sent", f", to {target},"), (f"{target} received", f", from {source},")), ""
    if kind == "hop":
        share = math.exp(-row["hop_evidence"])
        rare = f"about {share:.1%}" if share >= 0.001 else "less than 0.1%"
        unusual = f"{rare} of earlier events had a pair this unlikely"
        if row["hop_evidence"] < LEAST_TOO:
            unusual = "pair, amount and hour are unusual only together"
        text = f"{source} and {target} {_path(row['past_hop'])}; {unusual}"
    elif kind == "amount":
        text = f"{source} {'paid' if wording.money else 'sent'} {target} {amounts}"
    elif kind == "hour":
        text = f"{source} is active at an unusual hour of the day"
    elif kind == "pair":
        text = f"{count} from {source} to {target} within {within}, {usual}"
    elif kind in ALONE:
        does, partner = ends[ALONE[kind]]
        text = f"{does} {count} within {within}, {usual}"
    else:
        end, part = divmod(row["streak_place"], len(PARTS))
        least = math.ceil(row["streak_size"] - 0.001)  # no event counts more than one, and older ones less
        number = f"{least:,} or more recent events" if least > 1 else "recent events"
        does, partner = ends[end]
        text = f"Taken together, {number} that {does} {STREAKS[part][end]}"
    if paid and kind != "amount":
        text += f" ({amounts})" if kind in PARTS else f"; the amount of the last{partner} is {amounts}"
    also = [word for other, word in PARTS.items() if other != kind and row[f"{other}_evidence"] >= LEAST_TOO]
    if kind not in PARTS or not also:
        return f"{text}."
    return f"{text}. The {' and the '.join(also)} {'are' if len(also) > 1 else 'is'} also unusual."


def _path(hop: float) -> str:
    if hop >= 4:
        return "have never dealt with each other, nor have their partners"
    if hop >= 3:
        return "have never dealt with each other, only partners of their partners have"
    return "have never dealt with each other, only their partners have" if hop >= 2 else "have dealt before"
