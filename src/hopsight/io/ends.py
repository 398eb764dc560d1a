"""Find the two columns of an edge list that hold the ends of an edge, by their names and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hopsight.io.dates import are_clocks, is_time, number_unit
from hopsight.io.end_words import is_amount_name, paired
from hopsight.io.nodes import check_column
from hopsight.io.notices import notice
from hopsight.io.roles import is_event_name, normalized_name
from hopsight.io.sides import PAIRS
from hopsight.io.written import WRITTEN, are_written, plain_numbers
from hopsight.system.lazy_polars import pl

END_NAMES = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("u", "v"),
    ("source_id", "target_id"),
    ("src_id", "dst_id"),
    ("from_id", "to_id"),
    ("sourceid", "targetid"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("id_1", "id_2"),
    ("start", "end"),
    ("head", "tail"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("sender_id", "receiver_id"),
    ("sender_id", "recipient_id"),
    ("from_node_id", "to_node_id"),
    ("from_node", "to_node"),
    ("from_address", "to_address"),
    ("from_account", "to_account"),
    ("source_node", "target_node"),
    ("payer", "payee"),
    ("payer_id", "payee_id"),
    ("buyer", "seller"),
    ("buyer_id", "seller_id"),
    ("origin", "destination"),
    ("orig", "dest"),
    ("name_orig", "name_dest"),
    ("rater", "ratee"),
    ("caller", "callee"),
    ("giver", "taker"),
    ("follower", "followee"),
    ("auftraggeber", "empfänger"),
    ("absender", "empfänger"),
    ("i", "j"),
    *PAIRS,
)
FEW_ROWS = 5  # below which a rule about values may hold by chance
SHARED = 0.3  # of the values of two columns of text, if they name the same nodes
MOST_LOOKED_AT = 20  # columns whose first values are looked at


def find_ends(
    names: Sequence[str],
    source: str | None,
    target: str | None,
    head: Callable[[Sequence[str]], pl.DataFrame] | None = None,
) -> tuple[str, str]:
    """Return the names of the two columns of an edge list that hold the ends of an edge.

    Without known names, or names that differ by known words, they are the first two columns, except for columns that
    are called like the number, the date or the amount of an event or hold dates, amounts, one value or nothing, and
    for a second name of the first. Columns of text that share values come before others. ``head`` returns the first
    rows of some columns.

    >>> find_ends(["amount", "Sender", "Receiver"], None, None)
    ('Sender', 'Receiver')
    >>> find_ends(["Booking ID", "Date", "Account", "Shop", "Amount"], None, None)
    ('Account', 'Shop')
    """
    check_column("source_column", source, names)
    check_column("target_column", target, names)
    if len(names) < 2:
        raise ValueError(f"an edge list needs two columns, but there is only one{f', {names[0]!r}' if names else ''}")
    known = {normalized_name(name): name for name in reversed(names)}
    guess = next(((known[a], known[b]) for a, b in END_NAMES if a in known and b in known), None) or paired(names)
    if guess is None:
        guess = (source, target) if source is not None and target is not None else _first(names, head)
    if source is None:
        source = next(name for name in (*guess, *names) if name != target)
    if target is None:
        target = next(name for name in (guess[1], *names) if name != source)
    if source == target:
        raise ValueError(f"source_column and target_column must differ, but both are {source!r}")
    return source, target


def state_ends(ends: tuple[str, str], given: tuple[str | None, str | None], notices: list[str] | None) -> None:
    """Say which columns are read as the ends of an edge, unless they are named or called source and target."""
    if None in given and tuple(map(normalized_name, ends)) != END_NAMES[0]:
        notice(f"Read edges from column {ends[0]!r} to column {ends[1]!r}.", notices)


def _first(names: Sequence[str], head: Callable[[Sequence[str]], pl.DataFrame] | None) -> tuple[str, str]:
    """Return the first two columns that may hold node ids."""
    rows = None if head is None else head(names[:MOST_LOOKED_AT])
    if rows is not None and rows.height:
        _check_matrix(names, rows)
    likely = [name for name in names if not is_event_name(name)]
    if rows is not None:
        likely = [name for name in likely if name not in rows.columns or _may_be_ids(rows[name])]
    for unlikely in (is_amount_name, lambda name: rows is not None and name in rows.columns and _is_one(rows[name])):
        rest = [name for name in likely if not unlikely(name)]
        likely = rest if len(rest) > 1 else likely
    first = likely if len(likely) > 1 else list(names)
    return (first[0], first[1]) if rows is None or len(likely) < 2 else _apart(first, rows)


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
    """Return whether values are text and not figures."""
    if values.dtype in (pl.Categorical, pl.Enum):
        return True
    return values.dtype == pl.String and not bool(values.drop_nulls().str.contains(r"^[\d.,+-]*$").any())


def _say_the_same(one: pl.Series, other: pl.Series) -> bool:
    """Return whether each value of a column goes with one value of another, as an account goes with its owner."""
    n_values = one.n_unique()
    if not 1 < n_values < len(one) or other.n_unique() != n_values or other.dtype.is_nested():
        return False
    return pl.DataFrame({"one": one, "other": other}).n_unique() == n_values


def _shared(rows: pl.DataFrame, one: str, other: str) -> float:
    """Return the share of the values of a column that another has too."""
    first, second = ({*rows[name].drop_nulls().cast(pl.String)} for name in (one, other))
    return len(first & second) / max(1, min(len(first), len(second)))


def _may_be_ids(values: pl.Series) -> bool:
    """Return whether values may be node ids: neither dates, nor amounts, nor true and false, nor all empty."""
    known = values.drop_nulls()
    if values.dtype == pl.String:
        known = known.str.strip_chars()
        known = known.filter(known != "")
    if not len(known) or is_time(known) or known.dtype == pl.Boolean or known.dtype.is_nested():
        return False
    if known.dtype == pl.String:
        if are_clocks(known) or _are_compact_dates(known.cast(pl.Float64, strict=False)):
            return False
        plain = plain_numbers(known)
        if not any(are_written(plain, mark) for mark in WRITTEN.values()):
            return True
        return not bool(known.str.contains(r"[^\d+-]").any())
    if known.dtype.is_numeric() and _are_compact_dates(known.cast(pl.Float64)):
        return False
    return not known.dtype.is_float() or bool((known == known.floor()).all())


def _are_compact_dates(numbers: pl.Series) -> bool:
    """Return whether numbers are dates such as 20240531."""
    return len(numbers) >= FEW_ROWS and not numbers.null_count() and number_unit(numbers) == "dates"


def _check_matrix(names: Sequence[str], rows: pl.DataFrame) -> None:
    """Refuse an adjacency matrix, whose first column repeats the header."""
    if rows.dtypes[0].is_nested():
        return
    labels = rows.to_series(0).cast(pl.String, strict=False).str.strip_chars().to_list()
    count = min(len(labels), len(names) - 1)
    if count > 2 and labels[:count] == [name.strip() for name in names[1 : count + 1]]:
        raise ValueError(
            "it is an adjacency matrix, with the same names across and down: write one row per edge instead, or pass "
            "the pair (matrix, attributes) to hopsight.load() in Python"
        )
