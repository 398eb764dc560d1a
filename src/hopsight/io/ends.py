"""Find the two columns of an edge table that hold the ends of an edge, by name or by value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hopsight.checks import Refusal, option
from hopsight.io import rules
from hopsight.io.frames import Table
from hopsight.io.ids import forms_of, share_known
from hopsight.io.nodes import check_column
from hopsight.io.notices import notice
from hopsight.io.rules import LEAST_ROWS, are_clocks, is_time
from hopsight.io.times import are_moments
from hopsight.io.vocabulary import (
    END_WORDS,
    ROW_NUMBERS,
    find_end_names,
    first_known,
    goes_back,
    is_amount_name,
    is_event_name,
    normalized_name,
    ways,
)
from hopsight.system.lazy_polars import pl

FEW_ROWS = 5  # below which a rule about values may hold by chance
MOST_KNOWN = 0.5  # share of the values of a column that are ids of the node table
SAME = 1.05  # pairs of values for each value of two columns that are two names of the same nodes
SHARED = 0.3  # of the values of two columns of text, if they name the same nodes
MOST_LOOKED_AT = 20  # columns whose values are looked at
HARDLY_REPEATED = 0.9  # share of different values among the rows of a column that numbers them


def find_ends(
    names: Sequence[str],
    source: str | None,
    target: str | None,
    table: Table | None = None,
    where: str = "",
    joins: Callable[[], pl.Series] | None = None,
) -> tuple[str, str]:
    """Return the names of the two columns of an edge list that hold the ends of an edge.

    Without known names, or names that differ by known words, they are the first two columns, except for columns that
    are called like the number, the date or the amount of an event or hold dates, amounts, one value or nothing, and
    for a second name of the first. Numbers of rows are no ends, and columns of text that share values come before
    others. Without ``table``, names alone decide; ``where`` is its place in a description of several, whose types say
    which end is which. A column that is called as the ids of the node table, which ``joins`` returns, is an end, and so
    are the only two that hold them.

    >>> find_ends(["amount", "Sender", "Receiver"], None, None)
    ('Sender', 'Receiver')
    >>> find_ends(["Booking ID", "Date", "Account", "Shop", "Amount"], None, None)
    ('Account', 'Shop')
    """
    parameters = (f"{where}.source", f"{where}.target") if where else ("source_column", "target_column")
    check_column(parameters[0], source, names)
    check_column(parameters[1], target, names)
    if len(names) < 2:
        found = f"there is only one, {names[0]!r}" if names else "there is none"
        raise ValueError(f"an edge list needs two columns, but {found}")
    guess = next(iter(_called(names, table)), None)
    if source is None or target is None:
        held = _holding(names, table, joins)
        if guess is None or (len(held) == 2 and not {*held}.intersection(guess)):
            guess = (held[0], held[1]) if len(held) == 2 else _first(names, table, joins)
            guess = guess[::-1] if not where and goes_back(*guess) else guess
    guess = (source or "", target or "") if guess is None else guess
    if source is None:
        source = next(name for name in (*guess, *names) if name != target)
    if target is None:
        target = next(name for name in (*reversed(guess), *names) if name != source)
    if source == target:
        raise Refusal(parameters[0], f"and {option(parameters[1])} must differ, but both are {source!r}")
    return source, target


def state_ends(ends: tuple[str, str], given: tuple[str | None, str | None], notices: list[str] | None) -> None:
    """Say which columns are read as the ends of an edge, unless they are named or called source and target."""
    if None in given and tuple(map(normalized_name, ends)) != END_WORDS[0]:
        notice(f"Read edges from column {ends[0]!r} to column {ends[1]!r}.", notices)


def _called(names: Sequence[str], table: Table | None) -> list[tuple[str, str]]:
    """Return the pairs of columns that are called like ends; if they may hold them, in the first rows, these first."""
    found = find_end_names(names)
    if table is None or not found:
        return found
    rows = table.head([*dict.fromkeys(name for pair in found for name in pair)])
    if not rows.height:
        return found
    never = {each.name for each in rows if _are_never_ids(each)}
    same = {each.name for each in rows if _is_one(each)}
    found = [pair for pair in found if not never.issuperset(pair)]
    return sorted(found, key=lambda pair: (not never.isdisjoint(pair), not same.isdisjoint(pair)))


def _are_never_ids(values: pl.Series) -> bool:
    """Return whether values are dates, currencies or all empty, whatever their column is called."""
    known = rules.filled(values)
    return not len(known) or is_time(known) or (known.dtype == pl.String and rules.are_currencies(known))


def _holding(names: Sequence[str], table: Table | None, joins: Callable[[], pl.Series] | None) -> list[str]:
    """Return the columns most of whose values are ids of the node table, where there is one."""
    if table is None or joins is None:
        return []
    likely = [name for name in names[:MOST_LOOKED_AT] if not (is_event_name(name) or is_amount_name(name))]
    known = joins()
    return [each.name for each in table.sample(likely) if share_known(forms_of(each, False), known) >= MOST_KNOWN]


def _first(names: Sequence[str], table: Table | None, joins: Callable[[], pl.Series] | None) -> tuple[str, str]:
    """Return the first two columns that may hold node ids."""
    rows = None if table is None else table.sample(names[:MOST_LOOKED_AT])
    if rows is not None and rows.height:
        _check_matrix(names, rows)
    likely = [name for name in names if not is_event_name(name)]
    if rows is not None:
        likely = [name for name in likely if name not in rows.columns or _may_be_ids(rows[name])]
    for unlikely in (is_amount_name, lambda name: rows is not None and name in rows.columns and _is_one(rows[name])):
        rest = [name for name in likely if not unlikely(name)]
        likely = rest if len(rest) > 1 else likely
    first = likely if len(likely) > 1 else list(names)
    if table is None or rows is None or len(likely) < 2:
        return first[0], first[1]
    first = _without_row_numbers(first, rows, table)
    joined = None if joins is None else first_known(first, [normalized_name(joins().name)])
    if joined is not None:
        first = sorted((joined, next(name for name in first if name != joined)), key=first.index)
    return _apart(first, rows)


def _without_row_numbers(names: list[str], rows: pl.DataFrame, table: Table) -> list[str]:
    """Return the columns that may hold ends: not one that hardly repeats beside two columns of codes that do.

    A code has a digit, and another character or many digits.
    """
    if rows.height < 2 * LEAST_ROWS:
        return names
    shown = rows.select(pl.col(name).cast(pl.String) for name in names if name in rows.columns)
    codes = [each.name for each in shown if rules.nearly_all(rules.filled(each).str.contains(r"\d.*\D|\D.*\d|\d{5}"))]
    if len(codes) < 2:
        return names
    likely = [each.name for each in shown if _hardly_repeats(each)]  # among few different rows, any may
    unique = [each.name for each in table.sample(likely, copies=True) if _hardly_repeats(each)] if likely else []
    return [name for name in names if name not in unique] if len({*codes} - {*unique}) > 1 else names


def _hardly_repeats(values: pl.Series) -> bool:
    """Return whether nearly every row has a value of its own."""
    known = values.drop_nulls()
    return known.n_unique() > HARDLY_REPEATED * len(known)


def _apart(names: Sequence[str], rows: pl.DataFrame) -> tuple[str, str]:
    """Return the first two columns that are not two names of the same nodes, or else columns of text that share ids."""
    shown = [name for name in names if name in rows.columns]
    others = [name for name in names[1:] if name not in shown or not _say_the_same(rows[names[0]], rows[name])]
    first = (names[0], others[0] if others else names[1])
    texts = [name for name in shown if _is_text(rows[name])]
    if all(name in texts for name in first) and _shared(rows, *first):
        return first
    pairs = ((a, b) for place, a in enumerate(texts) for b in texts[place + 1 :])
    shares = {pair: _shared(rows, *pair) for pair in pairs if not _say_the_same(rows[pair[0]], rows[pair[1]])}
    best = max(shares, key=lambda pair: shares[pair], default=first)
    return best if shares.get(best, 0.0) >= SHARED else first


def _is_one(values: pl.Series) -> bool:
    """Return whether several rows have one and the same value."""
    return len(values) >= FEW_ROWS and values.n_unique() == 1


def _is_text(values: pl.Series) -> bool:
    """Return whether most values are text and not figures."""
    if values.dtype in (pl.Categorical, pl.Enum):
        return True
    return values.dtype == pl.String and 2 * int(values.str.contains(r"^[\d.,+-]*$").sum()) < values.count()


def _say_the_same(one: pl.Series, other: pl.Series) -> bool:
    """Return whether nearly each value of a column goes with one value of another, as an account with its owner."""
    fewer, more = sorted((one.n_unique(), 1 if other.dtype.is_nested() else other.n_unique()))
    if not fewer > 1 or more == len(one):
        return False
    return pl.DataFrame({"one": one, "other": other}).n_unique() <= SAME * fewer


def _shared(rows: pl.DataFrame, one: str, other: str) -> float:
    """Return the share of the values of a column that another has too."""
    first, second = ({*rows[name].drop_nulls().cast(pl.String)} for name in (one, other))
    return len(first & second) / max(1, min(len(first), len(second)))


def _may_be_ids(values: pl.Series) -> bool:
    """Return whether values may be node ids: neither dates, amounts, numbers of rows, true and false, nor all empty."""
    known = rules.filled(values)
    if normalized_name(values.name) in ROW_NUMBERS and known.n_unique() == len(values):
        return False
    if not len(known) or is_time(known) or known.dtype == pl.Boolean or known.dtype.is_nested():
        return False
    if known.dtype == pl.String:
        came, went = ways(words := known.unique().to_list()) if len(known) >= FEW_ROWS else ([], [])
        if came and went and len(came) + len(went) == len(words):  # as in the statement of one account
            return False
        if are_clocks(known) or rules.are_compact_dates(known.cast(pl.Float64, strict=False)):
            return False
        if not (whole := known.cast(pl.Int64, strict=False)).null_count() and are_moments(whole):
            return False
        return not rules.are_written(known) or not bool(known.str.contains(r"[^\d+-]").any())
    if known.dtype.is_numeric() and (rules.are_compact_dates(known) or are_moments(known)):
        return False
    return not known.dtype.is_float() or bool((known == known.floor()).all())


def _check_matrix(names: Sequence[str], rows: pl.DataFrame) -> None:
    """Refuse an adjacency matrix, whose first column repeats the header."""
    if rows.dtypes[0].is_nested():
        return
    labels = rows.to_series(0).cast(pl.String, strict=False).str.strip_chars().to_list()
    if len({*labels}) == len(labels) > 2 and {*labels} <= {name.strip() for name in names[1:]}:
        raise ValueError(
            "it is an adjacency matrix, with the same names across and down: write one row per edge instead, or pass "
            "the pair (matrix, attributes) to hopsight.load() in Python"
        )
