"""Find exact order statistics of values that are spread over the cluster, by counting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.spark.blocks import Array, each_row, sum_to_driver

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HashArray = NDArray[np.uint64]
Keys = Callable[[dict[str, Any]], Iterable[tuple[int, HashArray]]]

Found = tuple[int, int, int]  # column, the first bits of a word, and its rank among the words with these bits

WORD = 64
BITS = 16  # found in one round
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

    Rounds of counting find the words from their highest bits on, up to 16 bits in a round, until the values that share
    those bits are so few that the driver can sort them.

    Parameters
    ----------
    frame
        Rows that hold the values in any form.
    keys
        Function that returns the words of a row as pairs ``(column, words)``.
    n_values
        Approximate number of values per column.
    """
    found = [(column, 0, rank) for column, rank in wanted]
    taken, n_left = 0, n_values
    while n_left > FEW and taken < WORD:
        cases = _by_column(found)
        n_cases = max(prefixes.size for prefixes in cases.values())
        bits = min(WORD - taken, max(1, BITS - (n_cases - 1).bit_length()))  # what a task returns has a bound
        counts = sum_to_driver(frame, _counter(keys, cases, taken, bits))
        found, n_left = _narrowed(found, cases, counts, bits)
        taken += bits
    if taken == WORD:
        return [np.uint64(prefix) for _, prefix, _ in found]
    ordered = _sorted(frame, keys, _by_column(found), taken)
    return [ordered[column, prefix][rank] for column, prefix, rank in found]


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


def _by_column(found: Sequence[Found]) -> dict[int, HashArray]:
    """Return the distinct prefixes of each column, in ascending order."""
    cases: dict[int, set[int]] = {}
    for column, prefix, _ in found:
        cases.setdefault(column, set()).add(prefix)
    return {column: np.array(sorted(prefixes), dtype=np.uint64) for column, prefixes in cases.items()}


def _narrowed(
    found: Sequence[Found], cases: dict[int, HashArray], counts: dict[int, Array], bits: int
) -> tuple[list[Found], int]:
    """Return the words with the bits that a round has found, and how many values share the bits of one of them."""
    narrowed, sizes = [], {}
    for column, prefix, rank in found:
        row = int(np.searchsorted(cases[column], np.uint64(prefix)))
        below = np.cumsum(counts[column].reshape(-1, 1 << bits)[row]).astype(np.int64)
        digit = int(np.searchsorted(below, rank, side="right"))
        before = int(below[digit - 1]) if digit else 0
        narrowed.append((column, (prefix << bits) | digit, rank - before))
        sizes[narrowed[-1][:2]] = int(below[digit]) - before
    return narrowed, sum(sizes.values())


def _counter(
    keys: Keys, cases: dict[int, HashArray], taken: int, bits: int
) -> Callable[[dict[str, Any]], Iterator[tuple[int, Array]]]:
    """Return the function that counts the next bits of the words that begin with each prefix."""

    def count(row: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        for column, words in keys(row):
            if column in cases:
                place, inside = _inside(words, cases[column], taken)
                digits = (inside >> np.uint64(WORD - taken - bits)) & np.uint64((1 << bits) - 1)
                codes = (place << bits) + digits.astype(np.int64)
                yield column, np.bincount(codes, minlength=cases[column].size << bits).astype(np.float64)

    return count


def _inside(words: HashArray, prefixes: HashArray, taken: int) -> tuple[NDArray[np.int64], HashArray]:
    """Return the words that begin with one of the prefixes, and with which of them."""
    if not taken:
        return np.zeros(words.size, dtype=np.int64), words
    top = words >> np.uint64(WORD - taken)
    place = np.minimum(np.searchsorted(prefixes, top), prefixes.size - 1)
    known = prefixes[place] == top
    return place[known], words[known]


def _sorted(frame: DataFrame, keys: Keys, cases: dict[int, HashArray], taken: int) -> dict[tuple[int, int], HashArray]:
    """Collect and sort the words that begin with each prefix."""
    schema = "column int, place int, payload binary"

    def words_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for column, words in keys(row):
            if column in cases:
                place, inside = _inside(words, cases[column], taken)
                for each in np.unique(place).tolist():
                    yield {"column": column, "place": each, "payload": inside[place == each]}

    parts: dict[tuple[int, int], list[HashArray]] = {}
    for row in frame.mapInArrow(each_row(words_of, schema), schema).collect():
        prefix = int(cases[row["column"]][row["place"]])
        parts.setdefault((row["column"], prefix), []).append(np.frombuffer(row["payload"], dtype=np.uint64))
    return {case: np.sort(np.concatenate(words)) for case, words in parts.items()}
