"""Find exact order statistics of values that are spread over the cluster, by counting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.spark.blocks import each_row, sum_to_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HashArray = NDArray[np.uint64]
Keys = Callable[[dict[str, Any]], Iterable[tuple[int, HashArray]]]

BITS = 16
FEW = 1 << 17  # up to here the values are sorted on the driver


def sortable(values: NDArray[np.float64]) -> HashArray:
    """Return 64-bit words in the order of the numbers.

    >>> words = sortable(np.array([-2.0, -1.0, 0.0, 3.0]))
    >>> bool((words[1:] > words[:-1]).all()), from_sortable(words).tolist()
    (True, [-2.0, -1.0, 0.0, 3.0])
    """
    words = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # −0 becomes 0
    top = np.uint64(1 << 63)
    return np.where(words & top, ~words, words | top)


def from_sortable(words: HashArray) -> NDArray[np.float64]:
    """Return the numbers of :func:`sortable` words."""
    top = np.uint64(1 << 63)
    return np.where(words & top, words & ~top, ~words).view(np.float64)


def hash_limit(n_wanted: int, n_hashes: float) -> np.uint64:
    """Return a limit below which at least ``n_wanted`` of so many random hashes lie, or all, and hardly more."""
    share = (n_wanted + 8 * np.sqrt(n_wanted)) / max(n_hashes, 1)
    return np.uint64(min(share * 2.0**64, 2.0**64 - 2048))


def nth(frame: DataFrame, keys: Keys, wanted: Sequence[tuple[int, int]], n_values: int) -> list[np.uint64]:
    """Return, for each ``(column, rank)`` in ``wanted``, the word with that rank (from 0) in the column.

    Each of four rounds of counting finds 16 more bits; a few values are sorted on the driver instead.

    Parameters
    ----------
    frame
        Rows that hold the values in any form.
    keys
        Function that returns the words of a row as pairs ``(column, words)``.
    n_values
        Approximate number of values per column.
    """
    if n_values <= FEW:
        return _sorted(frame, keys, wanted)
    found = [(column, np.uint64(0), rank) for column, rank in wanted]
    for taken in range(0, 64, BITS):
        cases = sorted({(column, int(prefix)) for column, prefix, _ in found})
        counts = sum_to_driver(frame, _counter(keys, cases, taken))
        narrowed = []
        for column, prefix, rank in found:
            below = np.cumsum(counts[cases.index((column, int(prefix)))]).astype(np.int64)
            digit = int(np.searchsorted(below, rank, side="right"))
            rest = rank - (int(below[digit - 1]) if digit else 0)
            narrowed.append((column, np.uint64((int(prefix) << BITS) | digit), rest))
        found = narrowed
    return [prefix for _, prefix, _ in found]


def quantiles(frame: DataFrame, keys: Keys, levels: Sequence[tuple[int, float]], n_values: int) -> NDArray[np.float64]:
    """Return ``np.quantile`` for each ``(column, level)``; each column has ``n_values`` words."""
    places = [(n_values - 1) * level for _, level in levels]
    wanted = [
        (column, int(end(place)))
        for (column, _), place in zip(levels, places, strict=True)
        for end in (np.floor, np.ceil)
    ]
    values = from_sortable(np.array(nth(frame, keys, wanted, n_values), dtype=np.uint64)).reshape(-1, 2)
    share = np.array(places) - np.floor(places)
    return values[:, 0] + share * (values[:, 1] - values[:, 0])


def _counter(
    keys: Keys, cases: list[tuple[int, int]], taken: int
) -> Callable[[dict[str, Any]], Iterator[tuple[int, NDArray[np.float64]]]]:
    def count(row: dict[str, Any]) -> Iterator[tuple[int, NDArray[np.float64]]]:
        for column, words in keys(row):
            for number, (wanted, prefix) in enumerate(cases):
                if wanted != column:
                    continue
                inside = words[words >> np.uint64(64 - taken) == np.uint64(prefix)] if taken else words
                digits = (inside >> np.uint64(64 - taken - BITS)) & np.uint64((1 << BITS) - 1)
                yield number, np.bincount(digits.astype(np.int64), minlength=1 << BITS).astype(np.float64)

    return count


def _sorted(frame: DataFrame, keys: Keys, wanted: Sequence[tuple[int, int]]) -> list[np.uint64]:
    schema = "column int, payload binary"

    def words_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for column, words in keys(row):
            yield {"column": column, "payload": words.tobytes()}

    columns: dict[int, list[HashArray]] = {}
    for row in frame.mapInArrow(each_row(words_of, schema), schema).collect():
        columns.setdefault(row["column"], []).append(np.frombuffer(row["payload"], dtype=np.uint64))
    ordered = {column: np.sort(np.concatenate(parts)) for column, parts in columns.items()}
    return [ordered[column][rank] for column, rank in wanted]
