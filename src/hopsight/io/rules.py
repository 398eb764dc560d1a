"""Decide what a table column holds: one rule, with its messages, for every engine that reads tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from hopsight.checks import option, shortened
from hopsight.io.notices import notice
from hopsight.system.lazy_polars import pl

TRUTH_NAMES = {"label", "labels", "y", "gnd", "truth", "ground_truth", "class", "isfraud", "is_sar", "is_bot"}
_TRUTH = re.compile(
    r"(is_)?(flagged_)?(fraud|fraudulent|anomaly|anomalous|outlier|attack|laundering|money_laundering|suspicious|"
    r"phishing|scam|malicious|malware|spam|illicit)(_(type|category|cat|flag|label))?"
)
CODE_WORDS = {
    "id", "ids", "account", "acct", "iban", "imei", "imsi", "msisdn", "phone", "port", "zip", "zipcode", "postcode",
    "plz", "code", "number", "ref", "reference", "block", "blockno", "nonce",
}  # fmt: skip
WEIGHT_NAMES = ("hopsight_weight", "weight", "weights", "edge_weight")
TIME_NAMES = (
    "hopsight_time", "timestamp", "time", "datetime", "date", "ts", "t", "unixtime", "unix_time", "epoch", "created_at",
    "sent_at", "event_time", "datum", "fecha", "dato", "minute", "hour", "day", "step",
)  # fmt: skip
TYPE_NAMES = ("hopsight_type", "node_type")
NAME_NAMES = ("hopsight_name", "name", "full_name", "display_name", "title")
FEWEST_ROWS = 3  # of a table in which an id that differs in every row identifies rows
LEAST_ROWS = 10  # of a table in which a column of different texts is a column of names
_ROW_ID = re.compile(
    r"(.*_)?(id|uid|uuid|guid|hash|idx|index|rowid|row|mid|tid|txid|msgid|key)|.+_number|\w*(nr|nummer)"
)
_EVENT = re.compile(
    r"(booking|transaction|trans|tx|txn|event|record|row|message|msg|order|invoice|payment|transfer|entry|reference|ref"
    r"|receipt|voucher|beleg|buchungs?|rechnungs?|transaktions?|vorgangs?|auftrags?|zahlungs?)"
    r"_?(id|uid|no|nr|number|nummer|ref|reference|hash|index|key|date|time)_?"
    r"|id|uuid|guid|index|row|date|datetime|timestamp"
)


def normalized_name(name: str) -> str:
    """Return a column name in lower case, with underscores between its words.

    >>> normalized_name(" Node-ID "), normalized_name("isFraud"), normalized_name("FromNodeId")
    ('node_id', 'is_fraud', 'from_node_id')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-_.]+", "_", parted.lower())


def is_truth_name(name: str) -> bool:
    """Return whether a column is called like a ground-truth label.

    >>> [is_truth_name(name) for name in ("Label", "label_source", "isFraud", "Laundering_type", "y", "labor", "age")]
    [True, True, True, True, True, False, False]
    """
    known = normalized_name(name)
    return known in TRUTH_NAMES or known.startswith("label_") or _TRUTH.fullmatch(known) is not None


def is_row_id_name(name: str) -> bool:
    """Return whether a column is called like a number that only identifies rows.

    >>> [is_row_id_name(name) for name in ("tx_id", "mid", "transactionID", "uuid", "paid", "amount")]
    [True, True, True, True, False, False]
    """
    return _ROW_ID.fullmatch(normalized_name(name)) is not None


def is_code_name(name: str) -> bool:
    """Return whether whole numbers of this name are ids or codes, of which no mean can be taken.

    >>> [is_code_name(name) for name in ("IMEI", "cell_id", "A_NUMBER", "id.orig_p", "number", "paid", "amount")]
    [True, True, True, True, False, False, False]
    """
    words = normalized_name(name).split("_")
    if words == ["number"]:  # of what?
        return False
    return words[-1] in CODE_WORDS or (words[0] == "id" and len(words) > 1)


def is_event_name(name: str) -> bool:
    """Return whether a column is called like the number or the time of an event, which is no end of an edge.

    >>> [is_event_name(name) for name in ("Booking ID", "Trans-Nr.", "txn_ref", "Date", "account_id", "shop")]
    [True, True, True, True, False, False]
    """
    known = normalized_name(name)
    return _EVENT.fullmatch(known) is not None


def is_row_id(column: pl.Series) -> bool:
    """Return whether whole numbers or text only identify rows.

    Such a column is called like an id and differs in most rows, or it numbers the rows without a gap.
    """
    known = column.drop_nulls()
    n_rows = len(known)
    if n_rows < FEWEST_ROWS or not (known.dtype.is_integer() or known.dtype in (pl.String, pl.Categorical)):
        return False
    if is_row_id_name(column.name):
        return known.n_unique() > (n_rows / 2 if n_rows >= LEAST_ROWS else n_rows - 1)
    if not known.dtype.is_integer() or n_rows < 2 * LEAST_ROWS or known.n_unique() < n_rows:
        return False
    return int(known.max()) - int(known.min()) == n_rows - 1  # type: ignore[arg-type]


def first_known(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the first of some known names that a table has, as the table writes it.

    >>> first_known(["Amount", "Created-At", "T"], TIME_NAMES)
    'T'
    """
    by_name = {normalized_name(name): name for name in reversed(names)}
    return next((by_name[name] for name in known if name in by_name), None)


SECONDS_PER_DAY = 86400.0
IN_DAYS, IN_SECONDS = " in days", " in seconds"  # in the names of attributes derived from times whose unit is known
SINCE_1970 = ", days since 1970"  # ends the name of an attribute that holds dates
_YEAR = r"[1-9]\d{3}"  # 0001-01-01 is what programs write where there is no date
_DATE = rf"^\s*({_YEAR})[-/](\d{{1,2}})[-/](\d{{1,2}})"
_GERMAN_DATE = rf"^\s*(\d{{1,2}})\.(\d{{1,2}})\.({_YEAR})"
_SLASHED_DATE = rf"^\s*(\d{{1,2}})/(\d{{1,2}})/({_YEAR}|\d{{2}})"
SLASHED = {"day-first dates": "dmy", "month-first dates": "mdy"}  # 31/12/2024 and 12/31/2024
_ANY_DATE = r"^\s*(?:\d{4}[-/]|\d{1,2}[-/.])\d{1,2}[-/.]\d"
_TIME = r"([01]?\d|2[0-4]):([0-5]\d)(?::((?:[0-5]\d|60)(?:\.\d+)?))?\s*([AaPp][Mm])?"
_CLOCK = rf"(?:[T ,]+{_TIME})?\s*(?:Z|UTC|GMT|([+-]\d{{2}}):?(\d{{2}}))?(?:\s*\([A-Za-z ]+\))?\s*$"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_REST = "(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?"  # of the name of a month
_WEEKDAY = r"(?i)^\s*(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
_ENGLISH = {  # 31 May 2024, 31-May-2024 and May 31, 2024
    rf"{_WEEKDAY}(\d{{1,2}})[ -]+({'|'.join(_MONTHS)}){_REST}\.?[ ,-]+(\d{{4}})": "${1}.#${2}#.${3}",
    rf"{_WEEKDAY}({'|'.join(_MONTHS)}){_REST}\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})": "${2}.#${1}#.${3}",
}
_EAST_ASIAN = r"^\s*(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]\s*"  # 2024年5月31日
COMPACT = (19000101, 21001231)  # dates as numbers, 20240531
UNIX = (3e8, 5e9)  # seconds from 1979 to 2128
UNITS = ((1e17, 1e9, "nanoseconds"), (1e14, 1e6, "microseconds"), (1e11, 1e3, "milliseconds"))


def is_time(column: pl.Series) -> bool:
    """Return whether a column holds dates or times, as such or as text."""
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String:
        return False
    words = filled(column)
    return bool(len(words)) and any(bool(readable.all()) for readable in date_readings(words).values())


def filled(words: pl.Series) -> pl.Series:
    """Return the texts that are neither blank nor words for an empty cell, without spaces around them."""
    stripped = words.drop_nulls().str.strip_chars()
    return stripped.filter(~stripped.str.to_lowercase().is_in(EMPTY_NUMBERS))


def date_readings(words: pl.Series) -> dict[str, pl.Series]:
    """Return which texts are dates such as 2024-05-31 17:30 or 31.5.2024, and which are with slashes in either order.

    >>> import polars as pl
    >>> texts = pl.Series(["01/02/2024", "31/12/2024 17:30", "2024-02-29", "2023-02-29", "2024-05-31 25:61"])
    >>> {kind: readable.to_list() for kind, readable in date_readings(texts).items()}["dates"]
    [False, False, True, False, False]
    >>> {kind: readable.arg_true().to_list() for kind, readable in date_readings(texts).items()}
    {'dates': [2], 'day-first dates': [0, 1], 'month-first dates': [0]}
    """
    candidates = in_figures(words).str.contains(_ANY_DATE).fill_null(False)
    places, some = candidates.arg_true(), words.filter(candidates)
    found = {}
    for kind in ("dates", *SLASHED):
        readable = pl.repeat(False, len(words), eager=True)
        if len(some):
            readable = readable.scatter(places, as_seconds(some, SLASHED.get(kind)).is_not_null())
        found[kind] = readable
    return found


def in_figures(words: pl.Series) -> pl.Series:
    """Return dates with the English name of a month, or written in East Asia, in figures; other texts as they are.

    >>> import polars as pl
    >>> in_figures(pl.Series(["31 May 2024 17:30", "Mon, Jan 1, 2024", "Mayor", "2024年5月31日"])).to_list()
    ['31.05.2024 17:30', '1.01.2024', 'Mayor', '2024-5-31']
    """
    if words.head(100).str.contains(_EAST_ASIAN).any():
        words = words.str.replace(_EAST_ASIAN, "${1}-${2}-${3} ").str.strip_chars()
    if not words.head(100).str.contains(r"[A-Za-z]{3}").any():
        return words
    for pattern, figures in _ENGLISH.items():
        words = words.str.replace(pattern, figures)
    numbers = [f"{number + 1:02}" for number in range(12)]
    return words.str.replace_many([f"#{month}#" for month in _MONTHS], numbers, ascii_case_insensitive=True)


def _with_slashes(words: pl.Series) -> pl.Series:
    """Return dates such as 31-12-2024 with slashes."""
    return words.str.replace(r"^\s*(\d{1,2})-(\d{1,2})-(\d{4})\b", "${1}/${2}/${3}")


def are_clocks(words: pl.Series) -> bool:
    """Return whether every text that is not blank is a time of day such as 17:30."""
    known = filled(words)
    return bool(len(known)) and bool(_clocks(known).all())


def _clocks(words: pl.Series) -> pl.Series:
    found = words.str.contains(rf"^{_TIME}$").fill_null(False)
    return found & clock_seconds(words).is_not_null() if found.any() else found


def clock_seconds(words: pl.Series) -> pl.Series:
    """Return times of day as seconds since midnight.

    >>> import polars as pl
    >>> clock_seconds(pl.Series(["00:01", "01:00 pm"])).to_list()
    [60.0, 46800.0]
    """
    return as_seconds("1970-01-01 " + words.str.strip_chars())


def number_unit(numbers: pl.Series) -> str | None:
    """Return what numeric times are if not seconds, judged by their size: dates such as 20240531, or a finer unit.

    >>> import polars as pl
    >>> number_unit(pl.Series([19700102, 19700103])), number_unit(pl.Series([1.7e12, 1.8e12]))
    ('dates', 'milliseconds')
    """
    known = numbers.drop_nulls().cast(pl.Float64)
    if not len(known) or not known.is_finite().all():
        return None
    low, high = float(known.min()), float(known.max())  # type: ignore[arg-type]
    if COMPACT[0] <= low and high <= COMPACT[1] and bool((known == known.floor()).all()):
        return None if in_seconds(known, "dates").null_count() else "dates"
    return next((name for least, _, name in UNITS if low > least), None)


def in_seconds(numbers: pl.Series, unit: str | None) -> pl.Series:
    """Return numeric times of a unit that :func:`number_unit` returned as seconds."""
    if unit == "dates":
        text = numbers.cast(pl.Int64, strict=False).cast(pl.String).str.replace(r"^(\d{4})(\d\d)(\d\d)$", "$1-$2-$3")
        return as_seconds(text.rename(numbers.name))
    factor = next((factor for _, factor, name in UNITS if name == unit), 1.0)
    return numbers.cast(pl.Float64) / factor


def slashed_order(words: pl.Series) -> str | None:
    """Return the order of day and month in dates with slashes, or None if they are other dates.

    Dates of which no row decides between both orders are refused.
    """
    found = slashed_orders(words)
    if len(found) > 1 and not as_seconds(words, found[0]).equals(as_seconds(words, found[1])):
        raise ValueError(ambiguous_date(words.name, words.drop_nulls()[0]))
    return found[0] if found else None


def slashed_orders(words: pl.Series) -> list[str]:
    """Return the orders of day and month in which dates with slashes can be read; none if they are other dates."""
    readings = date_readings(filled(words))
    return [order for kind, order in SLASHED.items() if readings[kind].all()]


def date_pattern(column: pl.Series, order: str | None) -> str:
    """Return how a column writes its dates, one of ``DATE_PATTERNS``; ``order`` is that of day and month.

    >>> import polars as pl
    >>> texts = ("31.12.2024 08:00", "2024/12/31", "31 Dec 2024", "2024-12-31")
    >>> [date_pattern(pl.Series([text]), None) for text in texts], date_pattern(pl.Series(["12-31-2024"]), "mdy")
    (['%d.%m.%Y', '%Y/%m/%d', '%d %b %Y', '%Y-%m-%d'], '%m-%d-%Y')
    """
    known = column.drop_nulls() if column.dtype == pl.String else column.clear()
    known = known.filter(known.str.strip_chars() != "") if len(known) else known
    first = "" if not len(known) else str(known[0]).strip()
    if order is not None:
        mark = "-" if re.match(r"\d{1,2}-", first) else "/"
        return mark.join(f"%{part.upper() if part == 'y' else part}" for part in order)
    if re.search("[A-Za-z]{3}", first.partition(":")[0]):
        return "%d %b %Y"
    return "%d.%m.%Y" if re.match(_GERMAN_DATE, first) else "%Y/%m/%d" if re.match(r"\d{4}/", first) else "%Y-%m-%d"


def ambiguous_date(name: str, value: str) -> str:
    """Return the message for a column of dates in which no row has a day after the 12th."""
    return (
        f"column {name!r}: {value} may have its day or its month first, and no row decides; write dates as 2024-05-31, "
        f"or pass {option('category', [name])} or {option('ignore', [name])}"
    )


def as_seconds(column: pl.Series, order: str | None = None) -> pl.Series:
    """Return dates and times as seconds since 1970 (of a time of day: since midnight), null where there is none.

    ``order`` is that of dates with slashes, ``"dmy"`` or ``"mdy"``; without it they are not read.

    >>> import polars as pl
    >>> as_seconds(pl.Series(["1970-01-02", "1970-01-01 00:01:30", "1970-01-01T01:00+01:00", "2.1.1970"])).to_list()
    [86400.0, 90.0, 0.0, 86400.0]
    """
    kind = column.dtype
    if kind == pl.Date:
        return column.cast(pl.Int32).cast(pl.Float64) * SECONDS_PER_DAY
    if kind == pl.Time:
        return column.cast(pl.Int64).cast(pl.Float64) / 1e9
    if isinstance(kind, pl.Datetime | pl.Duration):
        return column.cast(pl.Int64).cast(pl.Float64) / {"ns": 1e9, "us": 1e6, "ms": 1e3}[kind.time_unit]
    words = column.cast(pl.String)
    different = words.drop_nulls().unique(maintain_order=True)
    if 2 * len(different) < len(words):  # days repeat, and a table has millions of rows
        return words.replace_strict(different, as_seconds(different, order), default=None, return_dtype=pl.Float64)
    words = in_figures(words)
    if order is not None:
        return _seconds(_with_slashes(words), _SLASHED_DATE, order)
    iso, german = _seconds(words, _DATE, "ymd"), _seconds(words, _GERMAN_DATE, "dmy")
    return pl.select(pl.coalesce(iso, german)).to_series()


def _seconds(words: pl.Series, pattern: str, order: str) -> pl.Series:
    """Return the seconds of dates written by a pattern whose first groups are year, month and day in some order."""
    groups = words.str.extract_groups(pattern + _CLOCK).struct.unnest()

    def group(number: int, default: float | None = 0.0) -> pl.Expr:
        found = pl.col(str(number)).cast(pl.Float64, strict=False)
        return found if default is None else found.fill_null(default)

    year, month, day = (group(order.index(part) + 1, None).cast(pl.Int32) for part in "ymd")
    year = pl.when(year < 70).then(year + 2000).when(year < 100).then(year + 1900).otherwise(year)
    right = month.is_between(1, 12)
    first = pl.date(year, pl.when(right).then(month).otherwise(1), 1)
    right &= day.is_between(1, first.dt.month_end().dt.day())
    offset = group(8) * 3600.0 + group(8).sign() * group(9) * 60.0
    half = pl.col("7").str.to_lowercase()
    hour = pl.when(half.is_null()).then(group(4)).otherwise(group(4) % 12 + pl.when(half == "pm").then(12).otherwise(0))
    clock = hour * 3600.0 + group(5) * 60.0 + group(6)
    days = first.cast(pl.Int32).cast(pl.Float64) + day - 1
    found = pl.when(right & (clock <= SECONDS_PER_DAY)).then(days * SECONDS_PER_DAY + clock - offset)
    return groups.select(found).to_series().rename(words.name)


WRITTEN = {"point numbers": ".", "comma numbers": ","}  # what a column of such numbers holds, and its decimal mark
_MONEY = r"(?:[$€£¥₹₽₩₺฿]|(?i:USD|EUR|GBP|CHF|JPY|CNY|INR|NOK|SEK|DKK|PLN|CZK|CAD|AUD|NZD|BRL|MXN|ZAR|kr\.?|zł))"
CURRENCIES = {
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
    "ZŁ": "PLN",
    "KR.": "KR",
}
_SPACE = "\u00a0\u202f '’"  # between thousands
_AROUND = rf"^({_MONEY}|[\s\u00a0])+|(?:{_MONEY}|%|[\s\u00a0])+$"
_SIGNED_MONEY = rf"^([+-])\s*{_MONEY}\s*"


def plain_numbers(words: pl.Series) -> pl.Series:
    """Return written numbers without currency, percent sign and parentheses; separators remain.

    >>> import polars as pl
    >>> plain_numbers(pl.Series(["$1,234.50", "(5,00) €", "-$7", "12%", "3.5-"])).to_list()
    ['1,234.50', '-5,00', '-7', '12', '-3.5']
    """
    return (
        words.str.replace_all(_AROUND, "")
        .str.replace(_SIGNED_MONEY, "$1")
        .str.replace(rf"^\((?:{_MONEY})?\s*(.+?)\s*(?:{_MONEY})?\)$", "-$1")
        .str.replace(r"^([^+-].*)-$", "-$1")
    )


def _units(words: pl.Series) -> list[str]:
    """Return the currencies of written numbers, each once, and % if one is a percentage.

    >>> import polars as pl
    >>> _units(pl.Series(["$7", "8 EUR", "9 €", "10", "-3 usd"]))
    ['EUR', 'USD']
    """
    found = words.str.extract(rf"({_MONEY}|%)").drop_nulls().unique().to_list()
    return sorted({CURRENCIES.get(unit.upper(), unit.upper()) for unit in found})


def are_written(plain: pl.Series, mark: str) -> bool:
    """Return whether every text is a number with this decimal mark; ``plain`` is what ``plain_numbers`` gives.

    >>> import polars as pl
    >>> [are_written(pl.Series(["1.234,56", "7"]), mark) for mark in ".,"]
    [False, True]
    """
    return bool(plain.str.contains(_pattern(mark)).fill_null(True).all())


def as_numbers(words: pl.Series, mark: str) -> pl.Series:
    """Return written numbers with this decimal mark as numbers, null where there is none.

    >>> import polars as pl
    >>> as_numbers(pl.Series(["1.234,56 €", "(7)", None]), ",").to_list()
    [1234.56, -7.0, None]
    """
    plain = plain_numbers(words.str.strip_chars())
    bare = plain.str.replace_all(f"[{_SPACE}{'.' if mark == ',' else ','}]", "").str.replace(",", ".", literal=True)
    frame = pl.DataFrame({"bare": bare.cast(pl.Float64, strict=False), "known": plain.str.contains(_pattern(mark))})
    return frame.select(pl.when("known").then("bare")).to_series().rename(words.name)


def _pattern(mark: str) -> str:
    """Return what matches a number with a decimal mark and separators of thousands."""
    thousands, decimal = (".", ",") if mark == "," else (",", ".")
    whole = rf"(?:[0-9]{{1,3}}(?:[{thousands}{_SPACE}][0-9]{{3}})+|[0-9]+)"
    return rf"^[+-]?\s?(?:{whole}(?:[{decimal}][0-9]*)?|[{decimal}][0-9]+)$"


MAX_CATEGORIES = 50
MISSING = ("fill", "refuse", "mean")
MISSING_CATEGORY, OTHER_CATEGORY = "(missing)", "(other)"
EMPTY_NUMBERS = (  # what people and programs write into an empty number cell
    "", "na", "n/a", "n.a.", "#n/a", "nan", "null", "(null)", "none", "-", "--", "\\n", "?", "unknown", "missing",
    "unbekannt", "k.a.", "k. a.", "#nv",
)  # fmt: skip
UNLABELED = (*EMPTY_NUMBERS, "unlabeled", "unlabelled")  # words for a node without ground truth
BOOLEANS = {"true": 1.0, "false": 0.0}
TextKind = Literal[
    "numbers", "booleans", "dates", "day-first dates", "month-first dates", "point numbers", "comma numbers",
    "categories", "empty",
]  # fmt: skip


def text_kind(column: pl.Series) -> TextKind:
    """Return what a text column holds.

    Raises
    ------
    ValueError
        If some cells of a column of numbers, dates or times of day are something else, if numbers are written with a
        comma that may mean two things, as in 1,234, or if amounts have different currencies: as categories they would
        say nothing.
    """
    name, words = column.name, column.str.strip_chars()
    lower, numbers = words.str.to_lowercase(), words.cast(pl.Float64, strict=False)
    empty = lower.is_in(EMPTY_NUMBERS).fill_null(True)
    is_text = numbers.is_null() & ~empty
    n_numbers = int((numbers.is_not_null() & ~empty).sum())
    if not is_text.any():
        are_parsed = n_numbers or not column.cast(pl.Float64, strict=False).null_count()
        return "numbers" if are_parsed else "empty"
    texts, rows = words.filter(is_text), is_text.arg_true()
    instead = f"{option('category', [name])} or {option('ignore', [name])}"

    def first(which: pl.Series) -> str:
        return place(column, int(rows[int(which.arg_true()[0])]))

    plain = plain_numbers(texts)
    are_point = are_written(plain, ".")
    are_comma = are_written(plain, ",") and are_written(words.filter(~is_text & ~empty), ",")
    commas = texts.str.contains(",", literal=True)
    if are_point and are_comma and commas.any():
        raise ValueError(
            f"{first(commas)} has a comma that may stand for a decimal point or separate thousands; write numbers with "
            f"a decimal point, or pass {option('ignore', [name])}"
        )
    if are_point or are_comma:
        units = _units(texts)
        if len(units) > 1:
            raise ValueError(
                f"column {name!r} has amounts in different currencies ({', '.join(units)}); convert them to one, or "
                f"pass {instead}"
            )
        return "point numbers" if are_point else "comma numbers"
    readings, clocks = date_readings(texts), _clocks(texts)
    dates, day_first, month_first = readings.values()
    dated = dates | day_first | month_first
    for n_alike, noun, others in (
        (n_numbers, "number", texts.is_not_null()),
        (2 * int(dated.sum()), "date", ~dated),
        (2 * int(clocks.sum()), "time of day", ~clocks),
    ):
        if n_alike >= len(texts) and others.any():
            raise ValueError(
                f"{first(others)} is not a {noun}, unlike the rest of the column; correct it, or pass {instead}"
            )
    if lower.is_in([*BOOLEANS, ""]).fill_null(True).all():
        return "booleans"
    fitting: list[Any] = [kind for kind, readable in readings.items() if readable.all()]
    if len(fitting) > 1 and "dates" not in fitting:
        raise ValueError(ambiguous_date(name, shortened(column[int(rows[0])])))
    if not fitting and dated.all():
        odd = [
            which.arg_true()[0] for which in (dates, day_first & ~month_first, month_first & ~day_first) if which.any()
        ]
        shown = " and ".join(shortened(column[int(rows[at])]) for at in sorted(odd)[:2])
        raise ValueError(
            f"column {name!r} has dates in different forms ({shown}); write all of them as 2024-05-31, or pass "
            f"{instead}"
        )
    return fitting[0] if fitting else "categories"


def notice_written(column: pl.Series, kind: str, notices: list[str] | None) -> None:
    """Say how numbers of a text column are read that are not written as programs write them."""
    if kind in WRITTEN:
        words = filled(column)
        first = words.filter(words.cast(pl.Float64, strict=False).is_null()).head(1)
        number = as_numbers(first, WRITTEN[kind])[0]
        notice(f"Column {column.name!r}: read {shortened(first[0])} as {number:.12g}.", notices)


def text_numbers(column: pl.Series, kind: str) -> pl.Series:
    """Return the numbers that a text column holds, null where it is empty; a date becomes days since 1970."""
    if is_dates(kind):
        return as_seconds(column, SLASHED.get(kind)) / SECONDS_PER_DAY
    if kind in WRITTEN:
        return as_numbers(column, WRITTEN[kind])
    words = column.str.strip_chars()
    if kind == "numbers":
        return words.cast(pl.Float64, strict=False)
    return words.str.to_lowercase().replace_strict(BOOLEANS, default=None, return_dtype=pl.Float64)


def is_dates(kind: str) -> bool:
    """Return whether texts of this kind are dates."""
    return kind == "dates" or kind in SLASHED


def are_whole(numbers: pl.Series) -> bool:
    """Return whether all numbers are whole and small enough to be codes or counts; empty cells do not count.

    >>> import polars as pl
    >>> [are_whole(pl.Series(numbers)) for numbers in ([0.0, 1.0, None], [0.5], [1e300])]
    [True, False, False]
    """
    known = numbers.cast(pl.Float64).fill_nan(None).drop_nulls()
    return bool(((known == known.floor()) & (known.abs() < 2**53)).all())


def leave_out(name: str, reason: str, notices: list[str] | None, advice: str = "") -> None:
    """Give notice that a column does not become an attribute."""
    notice(f"Column {name!r} {reason} and is left out{advice}.", notices)


ROW_ID = "only identifies rows"  # reasons to leave out a column
NO_VALUE = "has no value at all"


def place(column: pl.Series, row: int) -> str:
    """Return where a cell is and what it holds, for a message.

    >>> import polars as pl
    >>> place(pl.Series("age", ["31", "old"]), 1)
    "column 'age', row 2: 'old'"
    """
    return f"column {column.name!r}, row {row + 1}: {shortened(column[row])}"


def check_none(wrong: pl.Series, column: pl.Series, problem: str) -> None:
    """Refuse a column if some of its cells are wrong, and name the first one."""
    if wrong.any():
        raise ValueError(f"{place(column, int(wrong.arg_true()[0]))} {problem}")


def check_missing(empty: pl.Series, name: str, missing: str) -> None:
    """Refuse an empty cell unless it is to be imputed."""
    if missing == "refuse" and empty.any():
        raise ValueError(
            f"column {name!r}, row {int(empty.arg_true()[0]) + 1} is empty or NaN; fill it in, pass "
            f"{option('ignore', [name])}, or have empty cells filled with {option('missing', 'fill')}"
        )


def check_finite(numbers: pl.Series, reason: str) -> None:
    """Refuse infinite numbers."""
    infinite = numbers.is_infinite().fill_null(False)
    if infinite.any():
        raise ValueError(f"column {numbers.name!r}, row {int(infinite.arg_true()[0]) + 1} is infinite; {reason}")
