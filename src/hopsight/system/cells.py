"""Text cells that no spreadsheet takes for a formula."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from hopsight.system.lazy_polars import pl

TELEPHONE = re.compile(r"\+[0-9]{7,15}")
FORMULA = ("=", "+", "-", "@")  # how formulas begin
IGNORED = ("Cc", "Cf", "Zl", "Zp", "Zs")  # kinds of characters that spreadsheets skip: spaces, controls, marks of order
CANDIDATE = r"^(?:'|\s|[^\p{L}\p{N}]*[=+\-@⁺⁼₊₌⩵⩶﬩﹢﹣﹦﹫＋－＝＠])"  # fits every cell that is guarded
MARK = "hopsight_guarded_"  # before the name of the first column of a table that is read back


def guarded(cell: str) -> str:
    """Return a text cell with a ``'`` before it if a spreadsheet could take it for a formula.

    Spaces, control characters and byte order marks before a sign do not hide it, nor does a full-width sign. A text
    that already begins with ``'`` gets another, so that :func:`unguarded` always restores the original. A
    telephone number such as +254727738420 is no formula.

    >>> guarded("=1+1"), guarded("Ada"), guarded("'tis"), guarded("  ＝1+1"), guarded("+254727738420")
    ("'=1+1", 'Ada', "''tis", "'  ＝1+1", '+254727738420')
    """
    if TELEPHONE.fullmatch(cell):
        return cell
    if cell.startswith(("'", "\t", "\r", "\n")):
        return f"'{cell}"
    for character in cell:
        if unicodedata.category(character) not in IGNORED:
            return f"'{cell}" if unicodedata.normalize("NFKC", character).startswith(FORMULA) else cell
    return cell


def unguarded(cell: str) -> str:
    """Return the text that :func:`guarded` was given.

    >>> unguarded("'=1+1"), unguarded("Ada"), unguarded("''tis")
    ('=1+1', 'Ada', "'tis")
    """
    return cell[1:] if cell.startswith("'") else cell


def guarded_frame(frame: pl.DataFrame, *, but: Sequence[str] = ()) -> pl.DataFrame:
    """Return a table in which every cell of text is guarded, except in the columns ``but``.

    >>> import polars as pl
    >>> guarded_frame(pl.DataFrame({"node": ["=1+1", "Ada"], "score": [-1.0, 2.0]})).rows()
    [("'=1+1", -1.0), ('Ada', 2.0)]
    """
    changed = []
    for column in frame.get_columns():
        if column.dtype == pl.String and column.name not in but:
            risky = column.filter(column.str.contains(CANDIDATE).fill_null(False)).unique()
            cells = [(cell, guarded(cell)) for cell in risky.to_list()]
            old, new = zip(*cells, strict=True) if cells else ((), ())
            changed.append(column.replace(list(old), list(new)) if old else column)
    return frame.with_columns(changed)


def unguarded_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table that :func:`guarded_frame` was given, as far as its columns are text.

    >>> import polars as pl
    >>> unguarded_frame(pl.DataFrame({"node": ["'=1+1", "Ada", None], "score": [-1.0, 2.0, 3.0]})).rows()
    [('=1+1', -1.0), ('Ada', 2.0), (None, 3.0)]
    """
    return frame.with_columns(pl.col(pl.String).str.strip_prefix("'"))


def mark_guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table whose cells and names are guarded, and marked as such if any of them changed.

    The mark is in the name of the first column. :func:`unguarded_names` recognizes it, so that other people's tables,
    in which a ``'`` is just a ``'``, are read as they are.
    """
    safe = guarded_frame(frame)
    names = [guarded(name) for name in frame.columns]
    if names == frame.columns and safe.equals(frame):
        return frame
    safe.columns = [MARK + frame.columns[0], *names[1:]]
    return safe


def unguarded_names(names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names that :func:`mark_guarded` was given, or None if the table has no mark.

    >>> unguarded_names(["hopsight_guarded_id", "'=x"]), unguarded_names(["id", "'=x"])
    (('id', '=x'), None)
    """
    if not names or not names[0].startswith(MARK):
        return None
    return (names[0].removeprefix(MARK), *map(unguarded, names[1:]))
