"""Tell a header from a row of data."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_YEAR = re.compile(r"\s*(19|20)[0-9]{2}\s*")


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds names, judged by the rows below it.

    A row of numbers is data. So is a row with a number above numbers (unless the numbers are years), and a row of text,
    one of whose first two cells returns below, as the ids of an edge list do.

    >>> has_header([["payer", "amount"], ["ann", "5"]])
    True
    >>> has_header([["ann", "7"], ["bo", "5"]])
    False
    >>> has_header([["ann", "bo"], ["bo", "cy"]])
    False
    >>> has_header([["country", "2019", "2020"], ["NO", "1.5", "2.5"]])
    True
    """
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if all(_NUMBER.fullmatch(cell) for cell in first):
        return False
    if not rest:
        return True
    above = [
        cell for column, cell in enumerate(first)
        if cell.strip() and all(_NUMBER.fullmatch(row[column]) for row in rest if row[column])
    ]  # fmt: skip
    if any(not _NUMBER.fullmatch(cell) for cell in above):
        return True
    if above:
        return all(_YEAR.fullmatch(cell) for cell in above) and len(above) > 1
    if not all(cell.strip() for cell in first):
        return True
    below = {cell for row in rest for cell in row[:2]}
    return not any(cell in below for cell in first[:2])
