"""Say why ids of edges are not in the node table: how many, examples from both sides, the likely cause, the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import option, plural, shortened
from hopsight.system.lazy_polars import pl

EXAMPLES = 3
MOST = 0.5  # share of the unknown ids that a cause must explain
LARGEST = 1_000_000  # values of a column that are compared; a cause shows in fewer


def describe_strangers(
    ids: pl.Series,
    ends: Sequence[pl.Series],
    found: Sequence[NDArray[np.int64]],
    others: Mapping[str, pl.Series],
) -> str:
    """Return the message for edges whose ends have no row in the node table.

    >>> import polars as pl
    >>> ids, ends = pl.Series(["7", "8", "9"]), pl.Series(["007", "008", "9"])
    >>> for part in describe_strangers(ids, [ends], [np.array([-1, -1, 2])], {}).split("; "):
    ...     print(part)
    2 of 3 node ids in the edges have no row in the node table: '007', '008'
    it has '7', '8' instead, so they differ in leading zeros: write them alike in both tables
    """
    unknown = pl.concat([end.filter(place < 0).alias("id") for end, place in zip(ends, found, strict=True)])
    unknown = unknown.unique(maintain_order=True)
    total = pl.concat([end.alias("id") for end in ends]).n_unique()
    cause = _cause(unknown, ids, others)
    if len(unknown) == 1 and cause is None:
        return (
            f"node {shortened(unknown[0])} is in an edge but has no row in the node table; add one, or remove its edges"
        )
    start = (
        f"{len(unknown):,} of {plural(total, 'node id')} in the edges {'has' if len(unknown) == 1 else 'have'} no row "
        f"in the node table: {_listed(unknown)}"
    )
    if cause is not None:
        return f"{start}; {cause}"
    unused = ids.filter(~ids.is_in(pl.concat([end.alias("id") for end in ends]).implode()))
    table = f"; it has {_listed(unused if len(unused) else ids)} instead"
    if len(unknown) > MOST * total:
        columns = f"{option('id_column')}, {option('source_column')} and {option('target_column')}"
        return f"{start}{table}; name the right columns with {columns}"
    return f"{start}{table if len(unused) else ''}; add rows for them, or remove their edges"


def _cause(unknown: pl.Series, ids: pl.Series, others: Mapping[str, pl.Series]) -> str | None:
    """Return what most unknown ids have in common, with the remedy, or None."""
    words, known = (column.head(LARGEST).cast(pl.String) for column in (unknown, ids))
    for difference, plain in _FORMS.items():
        by_form = dict(zip(plain(known).to_list(), known.to_list(), strict=True))
        alike = [by_form[form] for form in plain(words).to_list() if form in by_form]
        if alike and len(alike) >= MOST * len(words):
            return (
                f"it has {_listed(pl.Series(alike))} instead, so they differ in {difference}: write them alike in both "
                "tables"
            )
    for name, column in others.items():
        if column.dtype.is_nested() or column.dtype.is_float():
            continue
        values = column.head(LARGEST).cast(pl.String, strict=False)
        if int(words.is_in(values.implode()).sum()) >= MOST * len(words):
            return f"they are in its column {name!r}: pass {option('id_column', name)}"
    return None


def _decimals(words: pl.Series) -> pl.Series:
    return words.str.replace(r"^([+-]?\d+)\.0*$", "$1")


_FORMS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "spaces around them": lambda words: words.str.strip_chars(),
    "upper and lower case": lambda words: words.str.strip_chars().str.to_lowercase(),
    "a decimal point": lambda words: _decimals(words.str.strip_chars()),
    "leading zeros": lambda words: _decimals(words.str.strip_chars()).str.replace(r"^0+(\d)", "$1"),
}


def _listed(values: pl.Series) -> str:
    return ", ".join(shortened(value) for value in values.head(EXAMPLES)) + (", …" if len(values) > EXAMPLES else "")
