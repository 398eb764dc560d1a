"""What a column is for, judged by its name and its values: ground truth, row numbers, times, names of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

TRUTH_NAMES = {
    "label", "labels", "y", "gnd", "truth", "ground_truth", "class", "fraud", "is_fraud", "fraudulent",
    "is_flagged_fraud", "anomaly", "is_anomaly", "outlier", "is_outlier", "attack", "is_attack", "isfraud",
}  # fmt: skip
WEIGHT_NAMES = ("hopsight_weight", "weight", "weights", "edge_weight")
TIME_NAMES = (
    "hopsight_time", "timestamp", "time", "datetime", "date", "ts", "t", "unixtime", "unix_time", "epoch", "created_at",
    "sent_at", "event_time", "minute", "hour", "day", "step",
)  # fmt: skip
TYPE_NAMES = ("hopsight_type", "node_type")
NAME_NAMES = ("hopsight_name", "name", "full_name", "display_name", "title")
FEWEST_ROWS = 3  # of a table in which an id that differs in every row tells rows apart
LEAST_ROWS = 10  # of a table in which a column of different texts is a column of names
SECONDS_PER_DAY = 86400.0
_ROW_ID = re.compile(r"(.*_)?(id|uid|uuid|guid|hash|idx|index|rowid|row|row_number|mid|tid|txid|msgid|key)")
_EVENT = re.compile(
    r"(booking|transaction|trans|tx|txn|event|record|row|message|msg|order|invoice|payment|transfer|entry|reference|ref)"
    r"_?(id|uid|no|nr|number|hash|index|key|date|time)|id|uuid|guid|index|row|date|datetime|timestamp"
)
_DATE = r"^\s*(\d{4})[-/](\d{1,2})[-/](\d{1,2})"
_GERMAN_DATE = r"^\s*(\d{1,2})\.(\d{1,2})\.(\d{4})"
_SLASHED_DATE = r"^\s*(\d{1,2})/(\d{1,2})/(\d{4})"
SLASHED = {"day-first dates": "dmy", "month-first dates": "mdy"}  # 31/12/2024 and 12/31/2024
_CLOCK = r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?)?\s*(?:Z|UTC|([+-]\d{2}):?(\d{2}))?\s*$"


def normalized_name(name: str) -> str:
    """Return a column name in lower case, with underscores between its words.

    >>> normalized_name(" Node-ID "), normalized_name("isFraud"), normalized_name("FromNodeId")
    ('node_id', 'is_fraud', 'from_node_id')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-_]+", "_", parted.lower())


def is_truth_name(name: str) -> bool:
    """Return whether a column is called like a ground-truth label.

    >>> [is_truth_name(name) for name in ("Label", "label_source", "isFraud", "y", "labor", "age")]
    [True, True, True, True, False, False]
    """
    known = normalized_name(name)
    return known in TRUTH_NAMES or known.startswith("label_")


def is_row_id_name(name: str) -> bool:
    """Return whether a column is called like a number that only tells rows apart.

    >>> [is_row_id_name(name) for name in ("tx_id", "mid", "transactionID", "uuid", "paid", "amount")]
    [True, True, True, True, False, False]
    """
    return _ROW_ID.fullmatch(normalized_name(name)) is not None


def is_event_name(name: str) -> bool:
    """Return whether a column is called like the number or the time of an event, which is no end of an edge.

    >>> [is_event_name(name) for name in ("Booking ID", "tx_id", "Date", "account_id", "shop")]
    [True, True, True, False, False]
    """
    known = normalized_name(name)
    return _EVENT.fullmatch(known) is not None


def is_row_id(column: pl.Series) -> bool:
    """Return whether whole numbers or text only tell rows apart.

    Such a column is called like an id and differs in most rows, or it numbers the rows without a gap.
    """
    import polars as pl

    known = column.drop_nulls()
    n_rows = len(known)
    if n_rows < FEWEST_ROWS or not (known.dtype.is_integer() or known.dtype in (pl.String, pl.Categorical)):
        return False
    if is_row_id_name(column.name):
        return known.n_unique() > (n_rows / 2 if n_rows >= LEAST_ROWS else n_rows - 1)
    return known.dtype.is_integer() and n_rows >= 2 * LEAST_ROWS and is_gapless(known)


def is_gapless(numbers: pl.Series) -> bool:
    """Return whether whole numbers are those from the lowest to the highest, each once."""
    low, high = numbers.min(), numbers.max()
    return int(high) - int(low) == len(numbers) - 1 and numbers.n_unique() == len(numbers)  # type: ignore[arg-type]


def first_known(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the first of some known names that a table has, as the table writes it.

    >>> first_known(["Amount", "Created-At", "T"], TIME_NAMES)
    'T'
    """
    by_name = {normalized_name(name): name for name in reversed(names)}
    return next((by_name[name] for name in known if name in by_name), None)


def is_time(column: pl.Series) -> bool:
    """Return whether a column holds dates or times, as such or as text."""
    import polars as pl

    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String:
        return False
    words = column.drop_nulls()
    return bool(len(words)) and (are_dates(words) or any(are_slashed(words, kind) for kind in SLASHED))


def are_dates(words: pl.Series) -> bool:
    """Return whether every text that is not blank is a date such as 2024-05-31, 2024-05-31 17:30 or 31.5.2024."""
    stripped = words.str.strip_chars()
    filled = stripped.filter(stripped != "")
    either = filled.str.contains(_DATE + _CLOCK) | filled.str.contains(_GERMAN_DATE + _CLOCK)
    return bool(either.fill_null(True).all())


def are_slashed(words: pl.Series, kind: str) -> bool:
    """Return whether every text that is not blank is a date with slashes, its day or its month first.

    >>> import polars as pl
    >>> dates = pl.Series(["01/02/2024", "31/12/2024 17:30"])
    >>> are_slashed(dates, "day-first dates"), are_slashed(dates, "month-first dates")
    (True, False)
    """
    import polars as pl

    stripped = words.str.strip_chars()
    filled = stripped.filter(stripped != "")
    parts = [filled.str.extract(_SLASHED_DATE + _CLOCK, number).cast(pl.Int32) for number in (1, 2)]
    day, month = (parts[SLASHED[kind].index(part)] for part in "dm")
    return bool((day.is_between(1, 31) & month.is_between(1, 12)).fill_null(False).all())


def slashed_order(words: pl.Series) -> str | None:
    """Return the order of day and month in dates with slashes, or None if they are other dates.

    Raises
    ------
    ValueError
        If no row decides between both orders.
    """
    found = [order for kind, order in SLASHED.items() if are_slashed(words, kind)]
    if len(found) > 1:
        raise ValueError(ambiguous_date(words.name, words.drop_nulls()[0]))
    return found[0] if found else None


def ambiguous_date(name: str, value: str) -> str:
    """Return the message for a column of dates in which no row has a day after the 12th."""
    return (
        f"column {name!r}: {value} may have its day or its month first, and no row decides; write dates as 2024-05-31, "
        f"or pass --category {name} or --ignore {name}"
    )


def as_seconds(column: pl.Series, order: str | None = None) -> pl.Series:
    """Return dates and times as seconds since 1970 (of a time of day: since midnight), null where there is none.

    ``order`` is that of dates with slashes, ``"dmy"`` or ``"mdy"``; without it they are not read.

    >>> import polars as pl
    >>> as_seconds(pl.Series(["1970-01-02", "1970-01-01 00:01:30", "1970-01-01T01:00+01:00", "2.1.1970"])).to_list()
    [86400.0, 90.0, 0.0, 86400.0]
    """
    import polars as pl

    kind = column.dtype
    if kind == pl.Date:
        return column.cast(pl.Int32).cast(pl.Float64) * SECONDS_PER_DAY
    if kind == pl.Time:
        return column.cast(pl.Int64).cast(pl.Float64) / 1e9
    if isinstance(kind, pl.Datetime | pl.Duration):
        return column.cast(pl.Int64).cast(pl.Float64) / {"ns": 1e9, "us": 1e6, "ms": 1e3}[kind.time_unit]
    frame = pl.DataFrame({"text": column.cast(pl.String)})
    if order is not None:
        return frame.select(_parts(_SLASHED_DATE, order)).to_series().rename(column.name)
    iso, german = _parts(_DATE, "ymd"), _parts(_GERMAN_DATE, "dmy")
    return frame.select(pl.coalesce(iso, german)).to_series().rename(column.name)


def _parts(pattern: str, order: str) -> pl.Expr:
    """Return the seconds of dates written by a pattern whose first groups are year, month and day in some order."""
    import polars as pl

    def group(number: int, default: float | None = 0.0) -> pl.Expr:
        found = pl.col("text").str.extract(pattern + _CLOCK, number).cast(pl.Float64, strict=False)
        return found if default is None else found.fill_null(default)

    year, month, day = (group(order.index(part) + 1, None).cast(pl.Int32) for part in "ymd")
    right = month.is_between(1, 12) & day.is_between(1, 31)
    first = pl.date(year, pl.when(right).then(month).otherwise(1), 1).cast(pl.Int32).cast(pl.Float64)
    offset = group(7) * 3600.0 + group(7).sign() * group(8) * 60.0
    clock = group(4) * 3600.0 + group(5) * 60.0 + group(6) - offset
    return pl.when(right).then((first + day - 1) * SECONDS_PER_DAY + clock)
