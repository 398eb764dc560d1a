"""Numbers as people and banks write them: 1.234,56 or $1,234.56, with a currency, a percent sign or parentheses."""

from __future__ import annotations

from hopsight.system.lazy_polars import pl

WRITTEN = {"point numbers": ".", "comma numbers": ","}  # what a column of such numbers holds, and its decimal mark
_MONEY = r"(?:[$€£¥₹₽₩₺฿]|(?i:USD|EUR|GBP|CHF|JPY|CNY|INR|NOK|SEK|DKK|PLN|CZK|CAD|AUD|NZD|BRL|MXN|ZAR|kr\.?|zł))"
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
    whole = rf"(?:\d{{1,3}}(?:[{thousands}{_SPACE}]\d{{3}})+|\d+)"
    return rf"^[+-]?\s?(?:{whole}(?:[{decimal}]\d*)?|[{decimal}]\d+)$"
