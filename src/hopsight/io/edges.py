"""Decide what the columns of an edge table are beside its ends: weight, time, numbers, categories, or nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.canonical import Events
from hopsight.checks import Refusal, listed, option, plural, shortened
from hopsight.graph import AttributedGraph
from hopsight.io import rules
from hopsight.io.derive import DERIVE, IN_CURRENCY, Arcs, Derivation, EdgeRows, derive
from hopsight.io.nodes import NO_ATTRIBUTES, as_words, distinct
from hopsight.io.notices import notice
from hopsight.io.rules import FEWEST_ROWS, LEAST_ROWS, are_clocks, is_row_id, number_unit
from hopsight.io.times import are_unix, find_clock, find_time, is_unix_time, notice_clock, seconds_of_day
from hopsight.io.vocabulary import (
    ANOMALOUS,
    DOLLARS,
    ISO_CURRENCIES,
    MEASURES,
    MONEY,
    NORMAL,
    TIME_NAMES,
    VOID,
    WEIGHT_NAMES,
    currency_in,
    date_parts,
    first_known,
    how_secondary,
    is_amount_name,
    is_currency_name,
    is_money_name,
    is_status_name,
    ways,
    words_of,
)
from hopsight.system.lazy_polars import pl

MOST_CURRENCIES = 200  # there are some 180
MOST_NEGATIVE = 0.2  # share of amounts that may be negative, such as refunds
MOST_WAYS, MOST_WORDS = 0.8, 4  # share of cells that say which way money went, and different words
JUDGING = VOID | ANOMALOUS | NORMAL  # words of a column that may say what did not take place, or which cases are known
LEAST_NAMED = 0.9  # share of rows with a currency, if the others have the same one
MOST_RATINGS = 20  # different values of a weight that may be a rating or a count
MOST_OTHERS, MOST_SHOWN = 8, 4  # columns of a message, and values of each


@dataclass(frozen=True)
class EdgeColumns:
    """The usable columns of an edge table, one cell per row."""

    weight: str | None = None  # names of the columns among the others that hold the weight and the time of an edge
    time: str | None = None
    numbers: dict[str, pl.Series] = field(default_factory=dict)  # null where a cell is empty
    times: dict[str, pl.Series] = field(default_factory=dict)  # seconds since 1970, or the table's own numbers
    categories: dict[str, pl.Series] = field(default_factory=dict)  # text
    dated: dict[str, str] = field(default_factory=dict)  # how the columns of times that hold dates write them
    units: dict[str, str] = field(default_factory=dict)  # the currency that cells of a column of numbers say
    reference: str | None = None  # the currency that amounts in others are scaled to; the most frequent one by default

    def summarized(self) -> tuple[list[pl.Series], list[pl.Series], list[pl.Series], dict[str, str]]:
        """Return columns of numbers, of times and of categories, and the units of times, for :class:`EdgeRows`.

        Dates are in days, as people count. Numbers that are no UNIX seconds have a unit of their own.
        """
        days = [column / rules.SECONDS_PER_DAY if name in self.dated else column for name, column in self.times.items()]
        units = {name: rules.IN_SECONDS for name, column in self.times.items() if are_unix(column)}
        units |= dict.fromkeys(self.dated, rules.IN_DAYS)
        return [self._comparable(name) for name in self.numbers], days, [*self.categories.values()], units

    def __bool__(self) -> bool:
        return bool(self.numbers or self.times or self.categories)

    def edge_fields(self, notices: list[str] | None) -> dict[str, Any]:
        """Return weight, time and attributes of every row for ``AttributedGraph.from_edges``.

        An empty time or attribute is unknown (NaN), and an empty weight adds nothing to the others of its edge.
        """
        others = [self._comparable(name) for name in self.numbers if name != self.weight]
        weight = None if self.weight is None else self._comparable(self.weight)
        time = None if self.time is None else self.times[self.time]
        empty = [each for each in (weight, time, *others) if each is not None and each.null_count()]
        if empty:
            shown = ", ".join(f"{each.null_count():,} in {each.name!r}" for each in empty)
            notice(
                f"Empty cells of the edge list count in no sum, mean or span of time: {shown}.", notices, detail=True
            )
        return {
            "edge_weight": None if weight is None else weight.fill_null(0.0).to_numpy(),
            "edge_time": None if time is None else time.to_numpy(),
            "edge_attributes": np.column_stack([each.to_numpy() for each in others]) if others else None,
            "edge_attribute_names": [each.name for each in others],
        }

    @cached_property
    def sides(self) -> list[str]:
        """Two columns of amounts that left and reached an account, of which each row has one; none if there are not.

        Either both or none are called like money: a refund beside an amount is no side, and a fee beside it neither.
        """
        used = {name: each.fill_null(0.0) != 0.0 for name, each in self.numbers.items() if each.n_unique() > 2}
        for one, other in combinations((name for name in used if name != self.weight), 2):
            alike = len({(is_money_name(name), how_secondary(name)) for name in (one, other)}) == 1
            alike = alike and not (used[one] & used[other]).any()
            if alike and (used[one] | used[other]).mean() >= LEAST_NAMED:  # type: ignore[operator]
                return [one, other]
        return []

    @cached_property
    def amount(self) -> str | None:
        """The column that says how much an event is about: one that is called so, or the weight of rows with a time.

        Few of its numbers are negative, and none of a weight, which has more different values than a rating.
        """
        named = [name for name in self.numbers if is_money_name(name) and name not in self.sides]
        named.sort(key=lambda name: (len(words_of(name)) > 1, words_of(name)[-1] not in MONEY))
        named.sort(key=lambda name: (name != self.weight, how_secondary(name)))
        weight = [self.weight] if self.weight is not None and self.time is not None else []
        return next((name for name in [*named, *weight] if _are_amounts(self.numbers[name], name)), None)

    def events(self, source: NDArray[Any], target: NDArray[Any]) -> Events | None:
        """Return the rows as events if they have an amount or a time; self-loops are left out."""
        amount = None if self.amount is None else self.numbers[self.amount].to_numpy()
        time = None if self.time is None or self.time not in self.times else self.times[self.time].to_numpy()
        if amount is None and time is None:
            return None
        names: tuple[str, ...] = ()
        currency = None
        if amount is not None and self.currency is not None:
            names = tuple(self._currencies.unique().sort().to_list())
            places = {name: place for place, name in enumerate(names)}
            currency = self._currencies.replace_strict(places, return_dtype=pl.Int64).to_numpy()
        elif self.unit is not None:
            names, currency = (self.unit,), np.zeros(source.size, dtype=np.int64)
        dates = self.dated.get(self.time or "", Events.dates)
        moves = self.amount is None or MEASURES.isdisjoint(words_of(self.amount))
        return Events(source, target, amount, time, currency, names, dates, moves).rows(source != target)

    @cached_property
    def currency(self) -> str | None:
        """The column that says in which currency the amounts are: called so, or with codes of currencies only."""
        coded = (name for name, words in self.categories.items() if rules.are_currencies(words))
        of_amount = {*words_of(self.amount or "")}
        called = sorted(self._called_currencies, key=lambda name: len(words_of(name)) > 1)
        called.sort(key=lambda name: (how_secondary(name), of_amount.isdisjoint(words_of(name))))
        return next(iter([*called, *coded]), None)

    @cached_property
    def _called_currencies(self) -> list[str]:
        return [name for name, words in self.categories.items() if _are_called_currencies(name, words)]

    @cached_property
    def _currencies(self) -> pl.Series:
        """The currency of each row; the few rows without one have that of all others."""
        assert self.currency is not None
        words = rules.as_currencies(self.categories[self.currency])
        known = words.filter(words != "")
        is_clear = known.n_unique() == 1 and len(known) >= LEAST_NAMED * len(words)
        return words.replace("", known[0]) if is_clear else words

    @cached_property
    def unit(self) -> str | None:
        """The currency of all amounts, as the name of their column or their cells say."""
        return None if self.amount is None else currency_in(self.amount) or self.units.get(self.amount)

    @cached_property
    def _scales(self) -> tuple[str, dict[str, float]]:
        """The currency of reference, and by what an amount in each currency is multiplied: the ratio of medians."""
        assert self.amount is not None
        table = pl.DataFrame({"currency": self._currencies, "amount": self.numbers[self.amount]})
        found = table.group_by("currency").agg(pl.len(), pl.col("amount").median())
        found = found.sort("len", "currency", descending=[True, False])
        own = dict(zip(found["currency"], found["amount"], strict=True))
        main = found["currency"][0] if self.reference is None else self.reference
        if main not in own:
            raise Refusal("currency", f"must be one that amounts are in ({', '.join(sorted(own))}), got {main!r}")
        typical = own[main] or 1.0
        return main, {word: typical / (median or typical) for word, median in own.items()}

    def _comparable(self, name: str) -> pl.Series:
        """Return a column of numbers; amounts of several currencies are scaled so that their medians are the same.

        A hundred of one currency may be worth one of another: their amounts say nothing about each other.
        """
        numbers = self.numbers[name]
        if self.currency is None or self.amount is None or not (is_money_name(name) or name == self.amount):
            return numbers
        main, scales = self._scales
        factor = self._currencies.replace_strict(scales, return_dtype=pl.Float64)
        return (numbers * factor).rename(f"{name}{IN_CURRENCY}{main}" if main else name)

    def _span(self, name: str) -> str:
        """Return from where to where a column of numbers or times reaches, and the sums of amounts by currency."""
        known = (self.times if name in self.times else self.numbers)[name].drop_nulls()
        if not len(known):
            return ""
        least, most = float(known.min()), float(known.max())  # type: ignore[arg-type]
        if name in self.times:
            pattern = self.dated.get(name) or (Events.dates if are_unix(known) else None)
            return rules.time_span(least, most, pattern)
        if name != self.amount:
            return rules.amount_span(least, most)
        if self.currency is None:
            return rules.amount_span(least, most, {self.unit or "": float(known.sum())})
        sums = pl.DataFrame({"unit": self._currencies, "amount": self.numbers[name]}).drop_nulls("amount")
        return rules.amount_span(least, most, dict(sums.group_by("unit").sum().sort("unit").rows()))

    def notice_guesses(self, given: Collection[str | None], notices: list[str] | None) -> None:
        """Say which columns are the weight, the time and the amount of each edge, and how far they reach."""
        roles = {"weight": self.weight, "time": self.time, "amount": self.amount}
        roles.pop("amount" if self.amount == self.weight else "", None)
        for role, name in roles.items():
            if name is not None and (span := self._span(name)):
                notice(f"Read column {name!r} as the {role} of each edge: {span}.", notices)
        if self.amount is not None and (n_negative := int((self.numbers[self.amount] < 0.0).sum())):
            what, one = f"{plural(n_negative, 'negative amount')} in column {self.amount!r}", n_negative == 1
            said = (
                f"{'it counts' if one else 'they count'} in sums and means, but not in evidence from amounts and times"
            )
            notice(f"{what}: {said}.", notices)
        for name, words in self.categories.items():
            known = words.drop_nulls()  # "-" is no empty cell beside "+"
            values = known.unique(maintain_order=True).to_list()
            sides = ways(values)
            if (
                len(values) <= MOST_WORDS
                and all(sides)
                and int(known.is_in([*sides[0], *sides[1]]).sum()) >= MOST_WAYS * len(known)
            ):
                shown = " and ".join(sorted(repr(side[0]) for side in sides))
                what = f"Column {name!r} may say which way money went ({shown}), but every row counts as sent"
                notice(f"{what} by its source; swap the ends of the others.", notices)
        if self.amount is None:
            self._notice_no_amount(given, notices)
        else:
            self._notice_currencies(self.amount, notices)
        roles_of = {self.weight, self.time, self.amount, *([] if self.amount is None else [self.currency])}
        if others := [name for name in (*self.categories, *self.numbers, *self.times) if name not in roles_of]:
            shown = ", ".join(map(self._shown, others[:MOST_OTHERS]))
            more = f" and {len(others) - MOST_OTHERS} more" if len(others) > MOST_OTHERS else ""
            notice(f"Other columns describe edges: {shown}{more}.", notices, detail=self.amount is not None)
        may_judge = (name for name in others if self._may_judge(name))
        if judging := [name for name in may_judge if not (name in self.categories and is_status_name(name))]:
            example = ", for example" if len(judging) > 1 else ""
            void = next((value for value in self._values(judging[0])[1] if value.lower() in VOID), "VALUE")
            leave_out = f"to leave rows out, {option('ignore', [f'{judging[0]}={void}'])}"
            says = "say which cases are known or which events did not take place"
            says = says if len(judging) > 1 else f"says{says[3:]}"
            advice = f"pass {option('learn_from', judging[0])} or, {leave_out}{example}"
            notice(f"If {listed([*map(repr, judging)])} {says}, {advice}.", notices)

    def _may_judge(self, name: str) -> bool:
        """Return whether few values may say which events did not take place, or two of them which cases are known."""
        column, values = self._values(name)
        judging = JUDGING if len(values) == 2 and "-1" not in values else VOID  # a sign of a direction judges nothing
        is_mark = len(values) == 1 and column.null_count() > 0
        return is_mark or (len(values) <= rules.MOST_STATUSES and not judging.isdisjoint(map(str.lower, values)))

    def _values(self, name: str) -> tuple[pl.Series, list[str]]:
        """Return a column and its different values as a message shows them; those of times do not count."""
        column = next(each[name] for each in (self.categories, self.numbers, self.times) if name in each)
        known = column.drop_nulls().unique().sort() if name not in self.times else column.clear()
        return column, [each if name in self.categories else f"{each:g}" for each in known]

    def _shown(self, name: str) -> str:
        """Return what a column holds, as words that tell somebody who knows it whether it was understood."""
        if name in self.times:
            return f"{name!r} (times)"
        column, values = self._values(name)
        if len(values) > MOST_SHOWN:
            return f"{name!r} ({'numbers' if name in self.numbers else f'{len(values)} categories'})"
        words = [shortened(value) if name in self.categories else value for value in values]
        return f"{name!r} ({', '.join([*words, *(['empty'] if column.null_count() else [])])})"

    def _notice_no_amount(self, given: Collection[str | None], notices: list[str] | None) -> None:
        """Say why a column that is called like an amount is none, or which other column may be the weight."""
        names = [name for name in self.numbers if name not in given]
        money = next((name for name in names if is_money_name(name) and name not in self.sides), None)
        measures = [name for name in names if words_of(name)[-1] in MEASURES]
        if money is not None:
            n_negative, n_known = int((self.numbers[money] < 0.0).sum()), self.numbers[money].count()
            why = f"{n_negative:,} of {n_known:,} are negative; if minus is the other direction, swap the ends instead"
            why = why if n_negative > MOST_NEGATIVE * n_known else "its numbers are all the same"
            notice(f"Column {money!r} is not used as the amount of each edge: {why}.", notices)
        elif self.sides:
            one, other = map(repr, self.sides)
            why = "as each row has only one of them: write them into one column, and swap the ends where it came in"
            notice(f"Columns {one} and {other} are not used as amounts, {why}.", notices)
        elif self.weight is None and len(measures) == 1:
            weigh = f"pass {option('weight_column', measures[0])} to weigh edges by it"
            notice(f"Column {measures[0]!r} is an attribute of edges; {weigh}.", notices)
        elif self.weight is None and self.time in self.dated:
            may_be = [name for name in names if _are_amounts(self.numbers[name], name)]
            if may_be:
                example = ", for example" if len(may_be) > 1 else ""
                shown = " or ".join(map(repr, may_be[:MOST_SHOWN]))
                weigh = f"if {shown} is one, pass {option('weight_column', may_be[0])}{example}"
                notice(f"No column is read as the amount of each edge; {weigh}.", notices)

    def _notice_currencies(self, amount: str, notices: list[str] | None) -> None:
        """Say what several currencies mean, and which one counts where a column, a name and cells differ."""
        if len(self._called_currencies) > 1:
            notice(f"Read column {self.currency!r} as the currency of column {amount!r}.", notices, detail=True)
        codes = sorted({*self._currencies}) if self.currency is not None else []
        if len(codes) > 1:
            shown = ", ".join(code or "none" for code in codes[:4]) + (", …" if len(codes) > 4 else "")
            advice = f"pass {option('ignore', [self.currency])} to compare them as they are"
            many = f"Amounts are in {len(codes)} currencies ({shown})"
            notice(f"{many}: each is compared with its own; {advice}.", notices, detail=True)
        elif codes and (n_blank := self.categories[self.currency or ""].null_count()):
            notice(f"Read the currency of {plural(n_blank, 'row')} without one as {codes[0]}.", notices)
        said = ({*codes} - {""}, {currency_in(amount)}, {self.units.get(amount)})  # the first counts
        places = (f"column {self.currency!r}", f"the name of column {amount!r}", f"the cells of column {amount!r}")
        known = [each for each in zip(places, said, strict=True) if each[1] and each[1] <= ISO_CURRENCIES]
        for place, units in known[1:]:
            first, counts = known[0]
            if not (counts <= units or ("USD" in units and counts <= DOLLARS)):
                one, other = (", ".join(sorted(map(str, each))) for each in (counts, units))
                what = f"Amounts are in {one} by {first}, but in {other} by {place}"
                notice(f"{what}: {first} counts; correct what is wrong.", notices)


def _are_called_currencies(name: str, words: pl.Series) -> bool:
    """Return whether a column is called like a currency and holds codes, signs, names or numbers of currencies."""
    known = words.drop_nulls().unique()
    has_digits = bool(known.str.contains(r"\d").any())
    are_numbers = MONEY.isdisjoint(words_of(name)) and bool(known.str.contains(r"^\d{1,3}$").all())
    return is_currency_name(name) and 0 < len(known) <= MOST_CURRENCIES and (are_numbers or not has_digits)


def _are_amounts(column: pl.Series, name: str) -> bool:
    known = column.drop_nulls()
    least, most = (1, MOST_NEGATIVE) if is_money_name(name) else (MOST_RATINGS, 0.0)
    return len(known) > 0 and int((known < 0.0).sum()) <= most * len(known) and known.n_unique() > least


def edge_columns(
    frame: pl.DataFrame,
    names: Sequence[str],
    *,
    weight_column: str | None = None,
    time_column: str | None = None,
    category: Collection[str] = (),
    currency: str | None = None,
    notices: list[str] | None = None,
) -> EdgeColumns:
    """Return what these columns of an edge table hold.

    A column called ``weight`` is the weight of an edge, and the first column of dates, or called ``timestamp``,
    ``time``, ``date`` and the like, is its time, unless others are named. Columns that look like ground truth, only
    identify rows, or cannot be used are left out with a notice.
    """
    weight = weight_column or first_known(names, WEIGHT_NAMES)
    time = time_column or find_time(frame, [name for name in names if name != weight and name not in category])
    found = EdgeColumns(weight, time, reference=None if currency is None else currency.upper())
    for role, given in (("weight", weight_column), ("time", time_column)):
        if given is not None and given not in names:
            raise ValueError(f"column {given!r} cannot be the {role} of edges: it is one of their ends, or left out")
    named = {weight_column, time_column, *category}
    clock = find_clock(frame, names, time) if time is not None and time not in category else None
    for name in names:
        column = frame[name]
        if name == clock:
            continue
        if column.null_count() == len(column):
            rules.leave_out(name, rules.NO_VALUE, notices, _wanted(name)[1])
        elif name in category:
            found.categories[name] = rules.in_one_case(as_words(column), notices)
        elif name == time:
            _put_times(column, found, notices)
        elif name == weight:
            _put_weights(column, found, notices)
        elif name not in named and not _is_left_out(column, notices):
            _sort_in(column, found, notices)
    if clock is not None and time is not None and time in found.dated:
        since_midnight = seconds_of_day(frame[clock], notices)
        notice_clock(time, clock, int((since_midnight.is_null() & found.times[time].is_not_null()).sum()), notices)
        found.times[time] += since_midnight
    for name in found.times:
        found.times[name] = _without_far_times(found, frame[name], notices)
    if time is None and len(parts := [name for name in date_parts(names) if frame[name].dtype.is_numeric()]) > 1:
        notice(
            f"Columns {', '.join(map(repr, parts))} are plain numbers: write dates such as 2024-05-31 into one column.",
            notices,
        )
    if currency is not None and (found.currency is None or found.amount is None):
        raise Refusal("currency", "needs amounts and a column of their currencies")
    found.notice_guesses((weight_column, time_column), notices)
    return found


def _without_far_times(found: EdgeColumns, column: pl.Series, notices: list[str] | None) -> pl.Series:
    """Return times without placeholders such as 1900-01-01, and those of edges within the usual span of 90% of them.

    The first and the last time, which may be a placeholder of many rows, do not count in that span.
    """
    seconds = found.times[column.name]
    far = rules.are_placeholders(seconds)
    between = seconds.filter((seconds > seconds.min()) & (seconds < seconds.max()))
    known = between if len(between) else seconds.drop_nulls()
    low, high = known.quantile(0.05, "higher"), known.quantile(0.95, "lower")
    if column.name == found.time and low is not None and high is not None:
        dated = column.name in found.dated or low > rules.UNIX[0]
        far |= ~seconds.is_between(*rules.usual_times(low, high, dated=dated)).fill_null(True)
    rules.notice_far(column, far, notices)
    return seconds.set(far, None)


def _is_left_out(column: pl.Series, notices: list[str] | None) -> bool:
    """Return whether a column looks like ground truth or only identifies rows, with a notice if so."""
    fractions = column.dtype.is_float() and bool((column != column.floor()).any())
    if rules.is_truth(column) and not fractions:
        rules.leave_out_truth(column.name, "of the edge list ", notices)
        return True
    if is_row_id(column) and not is_amount_name(column.name):
        rules.leave_out(column.name, rules.ROW_ID, notices)
        return True
    return False


def _sort_in(column: pl.Series, found: EdgeColumns, notices: list[str] | None) -> None:
    """Put a column where it belongs by its type and its values."""
    name, kind = column.name, column.dtype
    if isinstance(kind, pl.Duration):
        found.numbers[name] = rules.as_seconds(column)
    elif kind.is_temporal():
        _put_times(column, found, notices)
    elif not kind.is_nested() and _are_called_currencies(name, column.cast(pl.String)):
        _put_categories(column.cast(pl.String), found, notices)
    elif rules.are_code_numbers(column):
        if _put_categories(column, found, notices):
            notice(f"Column {name!r} holds ids or codes; they are read as categories.", notices)
    elif are_clocks(column):
        first = rules.filled(column)[0]
        if first.count(":") == 1:
            notice(f"Column {name!r}: read {first!r} as hours and minutes.", notices)
        if found.time is None and first_known([name], TIME_NAMES):
            notice(f"Column {name!r} is not the time of each edge: it has times of day without a date.", notices)
        found.numbers[name] = seconds_of_day(column, notices)
    elif kind.is_numeric() and is_unix_time(column):
        _put_times(column, found, notices)
    elif kind == pl.Boolean or kind.is_numeric():
        if re.search(r"date|datum|fecha", name.lower()):
            rules.notice_plain(column, notices)
        found.numbers[name] = _finite(column.cast(pl.Float64))
    elif kind in (pl.Categorical, pl.Enum, pl.String):
        column = column.cast(pl.String)
        holds = rules.text_kind(column, notices) if kind == pl.String else "categories"
        if holds == "categories" and is_money_name(name) and (marked := rules.without_mark(column)) is not None:
            column, found.units[name] = marked
            holds = rules.text_kind(column, notices)
        if holds == "categories":
            wanted, advice = _wanted(name)
            said = f"holds text (such as {shortened(rules.filled(column)[0])}) instead of {wanted}" if wanted else ""
            if _put_categories(column, found, notices, said, advice) and said:
                notice(f"Column {name!r} {said} and is read as categories{advice}.", notices)
        elif rules.is_dates(holds):
            _put_dates(column, holds, found, notices)
        elif holds == "empty":
            rules.leave_out(name, rules.NO_VALUE, notices, _wanted(name)[1])
        else:
            _put_numbers(column, holds, found, notices)
    else:
        rules.leave_out(name, f"holds neither numbers nor text but {kind}", notices)


def _wanted(name: str) -> tuple[str, str]:
    """Return what a column called like an amount or a time should hold, and advice how to write it."""
    if is_money_name(name):
        return "numbers", "; write plain numbers such as 1234.50"
    return ("times", "; write times such as 2024-05-31 17:30") if first_known([name], TIME_NAMES) else ("", "")


def _put_categories(
    column: pl.Series, found: EdgeColumns, notices: list[str] | None, said: str = "", advice: str = ""
) -> bool:
    """Add a column of categories, and return whether it is one: free text and numbers of rows hardly ever repeat."""
    words = as_words(column)
    n_values, n_filled = words.drop_nulls().n_unique(), len(words) - words.null_count()
    if FEWEST_ROWS <= n_filled == n_values or (n_filled >= LEAST_ROWS and 2 * n_values > n_filled):
        rules.leave_out(column.name, said or "has different values in most rows", notices, advice, can_keep=not said)
        return False
    found.categories[column.name] = rules.in_one_case(words, notices)
    return True


def _put_weights(column: pl.Series, found: EdgeColumns, notices: list[str] | None) -> None:
    if column.dtype.is_numeric():
        found.numbers[column.name] = _finite(column.cast(pl.Float64))
        return
    words = column.cast(pl.String)
    holds = rules.text_kind(words, notices)
    if holds not in ("numbers", *rules.WRITTEN):
        rules.check_none(rules.is_filled(words), column, "is not a number, so no weight")
    _put_numbers(words, holds, found, notices)


def _put_numbers(column: pl.Series, kind: str, found: EdgeColumns, notices: list[str] | None) -> None:
    """Add numbers that are written as text, and their currency."""
    rules.notice_written(column, kind, notices)
    numbers = found.numbers[column.name] = _finite(rules.text_numbers(column, kind))
    units = rules.units_of(column.filter(numbers.is_not_null())) if kind in rules.WRITTEN else []
    if units and units != ["%"]:
        found.units[column.name] = units[0]


def _put_times(column: pl.Series, found: EdgeColumns, notices: list[str] | None) -> None:
    """Add a column of times: numbers as they are, dates and finer units than seconds as seconds."""
    if column.dtype.is_temporal():
        _put_dates(column, "dates", found, notices)
        return
    words = column.cast(pl.String)
    holds = "numbers" if column.dtype.is_numeric() else rules.text_kind(words, notices)
    if rules.is_dates(holds):
        _put_dates(words, holds, found, notices)
        return
    if holds not in ("numbers", *rules.WRITTEN):
        problem = "is not a time; write numbers, or dates such as 2024-05-31 17:30"
        rules.check_none(rules.is_filled(words), column, problem)
    numbers = _finite(column.cast(pl.Float64) if column.dtype.is_numeric() else rules.text_numbers(words, holds))
    rules.check_one_unit(numbers)
    unit = number_unit(numbers)
    found.times[column.name] = rules.settled_seconds(column, numbers, unit, notices)
    rules.notice_plain(numbers, notices)
    if unit is not None:
        found.dated[column.name] = "%Y%m%d" if unit == "dates" else "%Y-%m-%d"
        first = numbers.filter(numbers > 0)[0]
        notice(f"Read the times in column {column.name!r}, such as {int(first)}, as {unit}.", notices)


def _put_dates(column: pl.Series, kind: str, found: EdgeColumns, notices: list[str] | None) -> None:
    order = rules.SLASHED.get(kind)
    rules.notice_offsets(column, notices)
    found.times[column.name] = rules.as_seconds(column, order)
    found.dated[column.name] = rules.date_pattern(column, order)


def _finite(numbers: pl.Series) -> pl.Series:
    """Refuse infinite numbers, and return NaN as null."""
    remedy = f"correct it, or pass {option('ignore', [numbers.name])}"
    rules.check_finite(numbers, f"edges need finite numbers: {remedy}")
    return numbers.fill_nan(None)


WEIGHT, TIME = "weight", "time"
LEFT_OUT = ("id", "key")  # what files and multigraphs call edges


def own_edges(frame: pl.DataFrame, weight: str, time: str) -> EdgeColumns:
    """Return the columns of a file that hopsight wrote: numbers under their names, where nothing is guessed."""
    columns = {name: frame[name].cast(pl.Float64) for name in frame.columns}
    times = {time: columns.pop(time)} if time in columns else {}
    return EdgeColumns(weight if weight in columns else None, next(iter(times), None), columns, times)


def assemble(
    source: NDArray[Any],
    target: NDArray[Any],
    fields: dict[str, Any],
    others: EdgeColumns,
    order: pl.Series,
    *,
    kinds: Sequence[str] | None,
    directed: bool,
    ours: bool = False,
    sends: bool = True,
    notices: list[str] | None,
    **more: Any,
) -> AttributedGraph:
    """Return the graph of rows of edges between nodes, with the attributes that they derive.

    ``fields`` are those of its nodes, ``order`` are ids to sort them by, and ``more`` are other parameters of
    ``AttributedGraph.from_edges``. Rows that nobody ``sends`` have no direction. If the user names no ``kinds`` of
    attributes to derive, they are all kinds if nodes have no attributes; otherwise what edges with data say about their
    nodes, unless hopsight wrote the file (``ours``), with all attributes.
    """
    if kinds is None:
        kinds = DERIVE if "attributes" not in fields else DERIVE[1:] if others and not ours else ()
    rows = EdgeRows.apart(source, target, *others.summarized(), directed=sends)
    merged = add_derived(fields, rows, order, kinds, notices)
    fields |= others.edge_fields(notices) | {"events": others.events(source, target) if sends else None}
    merged = None if directed else merged
    return AttributedGraph.from_edges(source, target, directed=directed, merged_edges=merged, **fields, **more)


def add_derived(
    fields: dict[str, Any], rows: EdgeRows, node_ids: pl.Series, kinds: Sequence[str], notices: list[str] | None
) -> tuple[Any, int] | None:
    """Put derived attributes beside the others, and return the directed edges if that found them.

    It is what :meth:`hopsight.graph.AttributedGraph.from_edges` takes as ``merged_edges``. Attributes are derived in
    the order of ids, because sums in another order differ in their last bits, and training amplifies that.
    """
    edges = arcs = None
    if kinds:
        n_nodes, is_sorted = len(node_ids), node_ids.is_sorted()
        place = np.arange(n_nodes) if is_sorted else node_ids.rank("ordinal").to_numpy().astype(np.int64) - 1
        if not is_sorted:
            rows = replace(rows, source=place[rows.source], target=place[rows.target])
        if rows.directed:
            arcs = Arcs.of(rows.source, rows.target, n_nodes)
            edges = (arcs.adjacency(), arcs.n_opposite) if is_sorted else None
        matrix, names, fields["left_out"] = derive(rows, n_nodes, kinds, arcs)
        matrix = matrix if is_sorted else matrix[place]
        if names:
            fields["derivation"] = Derivation(rows, place, tuple(kinds), tuple(names))
            about = "summaries of their columns"
            words = dict.fromkeys(kind if rows.directed or kind == DERIVE[0] else about for kind in kinds)
            notice(
                f"Derived {plural(len(names), 'attribute')} from the edges: {', '.join(words)}.", notices, detail=True
            )
        known = fields.get("attributes")
        if known is not None:
            stack = sp.csr_array(sp.hstack([known, matrix])) if sp.issparse(known) else np.hstack([known, matrix])
            matrix, names = stack, distinct([*fields["attribute_names"], *names])
        fields["attributes"], fields["attribute_names"] = matrix, names
    if "attributes" not in fields:
        raise ValueError(
            f"{NO_ATTRIBUTES}; give a node table ({option('nodes')}), or leave out {option('derive', 'none')}"
        )
    if not fields["attributes"].shape[1]:
        why = "the nodes do not differ in any attribute" if rows.source.size else "no edge joins two different nodes"
        raise ValueError(f"there is nothing to learn from: {why}")
    return edges


def columns_of(graph: AttributedGraph) -> dict[str, NDArray[np.float64]]:
    """Return the weights, times and attributes of the edges as named columns, to write them to a file."""
    columns = {WEIGHT: graph.edge_weight, TIME: graph.edge_time}
    columns = {name: values for name, values in columns.items() if values is not None}
    if graph.edge_attributes is not None:
        names = distinct(graph.edge_attribute_names, (WEIGHT, TIME, *LEFT_OUT))
        columns |= dict(zip(names, graph.edge_attributes.T, strict=True))
    return columns


IntArray = NDArray[np.int64]


def each_once(source: IntArray, target: IntArray, fields: dict[str, Any]) -> tuple[IntArray, IntArray, dict[str, Any]]:
    """Return the edges of an undirected graph once each if all are stored in both directions with the same values.

    Otherwise a weight would count twice. Edges of which some are stored in one direction only are returned unchanged.

    >>> each_once(np.array([0, 1, 2]), np.array([1, 0, 2]), {"edge_weight": np.array([5.0, 5.0, 1.0])})
    (array([0, 2]), array([1, 2]), {'edge_weight': array([5., 1.])})
    """
    forth, back = np.flatnonzero(source < target), np.flatnonzero(source > target)
    if forth.size != back.size:
        return source, target, fields
    forth_order = forth[np.lexsort([target[forth], source[forth]])]
    back_order = back[np.lexsort([source[back], target[back]])]
    pairs = [(source, target), (target, source), *((values, values) for values in fields.values())]
    if not all(
        np.array_equal(one[forth_order], two[back_order], equal_nan=one.dtype.kind == "f") for one, two in pairs
    ):
        return source, target, fields
    kept = np.flatnonzero(source <= target)
    return source[kept], target[kept], {name: values[kept] for name, values in fields.items()}


def edge_weights(matrix: Any, graph: AttributedGraph) -> NDArray[np.float64] | None:
    """Return the weights in an adjacency matrix, in the order of the edges of its graph, or None if all are 1.

    An undirected edge has the number of a symmetric matrix, and the sum of both directions otherwise.
    """
    matrix = matrix if sp.issparse(matrix) else np.atleast_2d(np.asarray(matrix))
    numbers = matrix.data if sp.issparse(matrix) else matrix
    if numbers.dtype.kind == "b" or np.isin(numbers, (0, 1)).all():
        return None
    weights = sp.csr_array(matrix).astype(np.float64)
    weights.sum_duplicates()
    if not graph.directed and (weights != weights.T).nnz:
        weights = sp.csr_array(weights + weights.T)
    return np.asarray(weights[graph.edges[0], graph.edges[1]], dtype=np.float64).ravel()


def weight_matrix(graph: AttributedGraph) -> Any:
    """Return the adjacency matrix with the weights of the edges in place of 1.

    A matrix cannot hold an edge of weight 0, so that a graph with one holds 1 for every edge.
    """
    if graph.edge_weight is None or not graph.edge_weight.all():
        return graph.adjacency.astype(np.float64)
    source, target = graph.edges
    matrix = sp.coo_array((graph.edge_weight, (source, target)), shape=graph.adjacency.shape).tocsr()
    return matrix if graph.directed else matrix + matrix.T
