"""Text cells that no spreadsheet takes for a formula."""

from __future__ import annotations

import unicodedata

FORMULA = ("=", "+", "-", "@")  # how formulas begin
IGNORED = ("Cc", "Cf", "Zl", "Zp", "Zs")  # kinds of characters that spreadsheets skip: spaces, controls, marks of order


def guarded(cell: str) -> str:
    """Return a text cell with a ``'`` before it if a spreadsheet could take it for a formula.

    Spaces, control characters and byte order marks before a sign do not hide it, nor does a full-width sign. A text
    that already begins with ``'`` gets another, so that :func:`unguarded` always restores the original.

    >>> guarded("=1+1"), guarded("Ada"), guarded("'tis"), guarded("  ＝1+1")
    ("'=1+1", 'Ada', "''tis", "'  ＝1+1")
    """
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
