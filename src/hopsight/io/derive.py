"""Derive node attributes from the rows of an edge table: what each node sent and received, and the structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import suggest

if TYPE_CHECKING:
    import polars as pl

FloatArray = NDArray[np.float64]

DERIVE = ("structure", "sent", "received")
STRUCTURE = (
    "out-degree, log", "in-degree, log", "reciprocity", "clustering", "core number", "neighbors' degree, mean log",
    "neighbors' degree, spread", "two-hop growth",
)  # fmt: skip
COUNTS = ("edges sent, log count", "edges received, log count")  # numbers of rows, sent and received
SHARES = 10  # most frequent values of a category column whose shares become attributes
MOST_SHARED = 50  # different values of a category column with such shares
FOR_COUNT = " for its count"  # ends the name of what is compared with nodes that have about as many rows


@dataclass(frozen=True)
class EdgeRows:
    """The rows of an edge table: positions of both ends, and the columns that can be summarized.

    Attributes
    ----------
    source, target
        Node positions.
    numbers, times
        Columns of floating-point numbers; null where a cell is empty. Times are in seconds, or in the table's unit.
    categories
        Columns of text.
    """

    source: NDArray[Any]
    target: NDArray[Any]
    numbers: Sequence[pl.Series] = field(default_factory=tuple)
    times: Sequence[pl.Series] = field(default_factory=tuple)
    categories: Sequence[pl.Series] = field(default_factory=tuple)


def parse_derive(text: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the kinds of attributes to derive; ``"none"`` is no kind, and None leaves the choice to the reader.

    >>> parse_derive("structure, sent"), parse_derive("none"), parse_derive(None)
    (('structure', 'sent'), (), None)
    """
    if text is None:
        return None
    words = [word.strip() for word in (text.split(",") if isinstance(text, str) else text)]
    if words in ([], ["none"], [""]):
        return ()
    for word in words:
        if word not in DERIVE:
            raise ValueError(
                f"derive must be 'none' or some of {', '.join(DERIVE)}, got {word!r}{suggest(word, DERIVE)}"
            )
    return tuple(kind for kind in DERIVE if kind in words)


def derive(rows: EdgeRows, n_nodes: int, kinds: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """Return a matrix of derived attributes with one row per node, and the names of its columns.

    ``"structure"`` is described in :mod:`hopsight.io.structure`. ``"sent"`` and ``"received"`` summarize the rows in
    which a node is the source or the target: of a column of numbers the mean, median, sum, spread (between the
    quartiles), minimum, maximum and share of negative numbers; of times the first, the last, the median gap and how
    bursty they are; of categories the number of different values and the shares of the most frequent ones. What
    depends on the number of rows by itself is given as the difference from nodes with about as many
    (``amount sent, maximum for its count``). A node without such rows gets the median of the others, and its count
    says that it has none. Attributes that are the same for all nodes, or repeat another one, are left out.
    """
    from hopsight.io.structure import structure  # not at the top: most graphs have no need of compiled functions

    found: dict[str, FloatArray] = {}
    for kind in ("sent", "received"):
        if kind in kinds:
            found |= _summaries(rows, n_nodes, kind)
    if "structure" in kinds:
        found |= structure(rows.source, rows.target, n_nodes)
    chosen = _distinct(found)
    matrix = np.column_stack([found[name] for name in chosen]) if chosen else np.zeros((n_nodes, 0))
    return matrix, chosen


def _distinct(columns: dict[str, FloatArray]) -> list[str]:
    """Return the names of the columns that are not constant and do not repeat an earlier one."""
    seen: dict[bytes, str] = {}
    for name, values in columns.items():
        if values.size and np.ptp(values) > 0:
            seen.setdefault(blake2b(values.tobytes(), digest_size=16).digest(), name)
    return list(seen.values())


def _summaries(rows: EdgeRows, n_nodes: int, kind: str) -> dict[str, FloatArray]:
    """Return the summaries of the rows that nodes sent or received."""
    import polars as pl

    mine, other = (rows.source, rows.target) if kind == "sent" else (rows.target, rows.source)
    node = pl.Series("node", mine, dtype=pl.Int64)
    counts = np.bincount(mine, minlength=n_nodes).astype(np.float64)
    found = _counts(mine, other, counts, kind)
    for columns, summaries in ((rows.numbers, _number_summaries), (rows.categories, _category_summaries)):
        for column in columns:
            frame = pl.DataFrame({"node": node, "value": column}).drop_nulls()
            found |= _grouped(frame, summaries(column), counts, f"{column.name} {kind}")
    for column in rows.times:
        frame = _with_gaps(pl.DataFrame({"node": node, "value": column}).drop_nulls())
        found |= _grouped(frame, _time_summaries(), counts, f"{column.name} {kind}")
    return found


def _counts(mine: NDArray[Any], other: NDArray[Any], counts: FloatArray, kind: str) -> dict[str, FloatArray]:
    """Return how many rows each node has and, if pairs of nodes have several, the largest share with one of them."""
    found = {COUNTS[kind == "received"]: np.log1p(counts)}
    pairs, together = np.unique(mine.astype(np.int64) * counts.size + other, return_counts=True)
    if pairs.size < mine.size:
        largest = np.zeros(counts.size)
        owners = pairs // counts.size  # in order, so that each node's pairs are one run
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        largest[owners[first]] = np.maximum.reduceat(together, first)
        share = np.divide(largest, counts, out=np.full(counts.size, np.nan), where=counts > 0)
        found[f"edges {kind}, largest share with one node{FOR_COUNT}"] = _filled(share - usual(share, counts))
    return found


def _number_summaries(column: pl.Series) -> dict[str, pl.Expr]:
    import polars as pl

    value = pl.col("value")
    total = value.sum()
    found = {
        "median": value.median(),
        "mean": value.mean(),
        f"log sum{FOR_COUNT}": total.sign() * total.abs().log1p(),
        f"spread{FOR_COUNT}": value.quantile(0.75) - value.quantile(0.25),
        f"minimum{FOR_COUNT}": value.min(),
        f"maximum{FOR_COUNT}": value.max(),
    }
    if bool((column < 0).any()) and bool((column > 0).any()):
        found["share negative"] = (value < 0).mean()
    return found


def _category_summaries(column: pl.Series) -> dict[str, pl.Expr]:
    import polars as pl

    value = pl.col("value")
    counts = column.drop_nulls().value_counts(sort=True)
    frequent = sorted(counts[column.name].head(SHARES).to_list()) if counts.height > 1 else []
    found = {f"different values{FOR_COUNT}": value.n_unique().cast(pl.Float64)}
    if counts.height <= MOST_SHARED:
        found |= {f"share {word}": (value == word).mean() for word in frequent}
    return found


def _time_summaries() -> dict[str, pl.Expr]:
    """Return first and last time, the median gap, and burstiness (deviation − mean) / (deviation + mean) of gaps."""
    import polars as pl

    mean, deviation = pl.col("gap").mean(), pl.col("gap").std(ddof=0)
    return {
        f"first{FOR_COUNT}": pl.col("value").min(),
        f"last{FOR_COUNT}": pl.col("value").max(),
        f"log median gap{FOR_COUNT}": pl.col("gap").median().log1p(),
        f"burstiness{FOR_COUNT}": (deviation - mean) / (deviation + mean),
    }


def _with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort the times of each node, and add how long after the one before each of them is."""
    import polars as pl

    same = pl.col("node") == pl.col("node").shift(1)
    return frame.sort("node", "value").with_columns(gap=pl.when(same).then(pl.col("value").diff()))


def _grouped(
    frame: pl.DataFrame, summaries: dict[str, pl.Expr], counts: FloatArray, prefix: str
) -> dict[str, FloatArray]:
    """Return the summaries of each node's rows; nodes without any get the median of the others."""
    found = frame.group_by("node").agg(**{str(place): each for place, each in enumerate(summaries.values())})
    place = found["node"].to_numpy()
    columns = {}
    for number, name in enumerate(summaries):
        values = np.full(counts.size, np.nan)
        values[place] = found[str(number)].to_numpy()
        columns[f"{prefix}, {name}"] = _filled(values - usual(values, counts) if name.endswith(FOR_COUNT) else values)
    return columns


def usual(values: FloatArray, counts: FloatArray) -> FloatArray:
    """Return what is usual for a node with about as many rows: the median among nodes whose counts are alike.

    Largest values, spreads and times of few rows differ from those of many rows for no other reason than their number.
    Medians are taken where the count doubles, and interpolated between.

    >>> usual(np.array([1.0, 3.0, 5.0, np.nan]), np.array([1.0, 1.0, 100.0, 0.0])).tolist()
    [2.0, 2.0, 5.0, 2.0]
    """
    known = np.isfinite(values)
    if not known.any():
        return np.zeros(values.size)
    size = np.log2(np.maximum(counts, 1.0))
    level = np.floor(size[known]).astype(np.int64)
    chosen = np.unique(level)
    centers = [size[known][level == each].mean() for each in chosen]
    medians = [np.median(values[known][level == each]) for each in chosen]
    return np.interp(size, centers, medians)


def _filled(values: FloatArray) -> FloatArray:
    known = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, np.median(known) if known.size else 0.0)
