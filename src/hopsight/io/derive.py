"""Derive node attributes from the rows of an edge table: what each node sent and received, and the structure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import Refusal, suggest
from hopsight.system.arrays import frozen, simple_csr
from hopsight.system.lazy_polars import pl
from hopsight.system.threads import in_order

FloatArray = NDArray[np.float64]
IntArray = NDArray[Any]

DERIVE = ("structure", "sent", "received")
STRUCTURE = (
    "out-degree, log", "in-degree, log", "reciprocity", "clustering", "core number", "neighbors' degree, mean log",
    "neighbors' degree, spread", "two-hop growth",
)  # fmt: skip
COUNTS = ("edges sent, log count", "edges received, log count")  # numbers of rows, sent and received
REPEATS = tuple(
    f"{rows}, largest share with one node for its count" for rows in ("edges sent", "edges received", "edges")
)
SHARES = 10  # most frequent values of a category column whose shares become attributes
MOST_SHARED = 50  # different values of a category column with such shares
OF_EDGES = "of edges"  # in place of sent and received in an undirected graph
PARTS = 4  # ranges of nodes that threads share
COMPARED = 1000  # values by which columns that differ are told apart
_SUMMARY = re.compile(
    r"(.+ |edges )(sent|received|of edges), (median|mean|log sum|spread|minimum|maximum|share |first|last|"
    r"log median gap|burstiness|different values|largest share)|edges, largest share with one node"
)
IN_CURRENCY = " in "  # between the name of a column of amounts and the currency that they are in or scaled to
SHARE = ", share "  # begins, after the name of a column, the share of one of its values
FOR_COUNT = " for its count"  # ends the name of what is compared with nodes that have about as many rows


@dataclass(frozen=True)
class EdgeRows:
    """The rows of an edge table: positions of both ends, and the columns that can be summarized."""

    source: NDArray[Any]  # node positions
    target: NDArray[Any]
    numbers: Sequence[pl.Series] = ()  # null where a cell is empty
    times: Sequence[pl.Series] = ()  # in seconds, or in the table's unit
    categories: Sequence[pl.Series] = ()  # text
    units: Mapping[str, str] = field(default_factory=dict)  # " in days" or " in seconds" of times, where it is known
    directed: bool = True  # otherwise nodes neither send nor receive, but have edges

    @classmethod
    def apart(cls, *columns: Any, directed: bool) -> EdgeRows:
        """Return the rows between two different nodes: self-loops are removed from a graph."""
        rows = replace(cls(*columns), directed=directed)
        loops = rows.source == rows.target
        return rows.some(~loops) if loops.any() else rows

    def some(self, chosen: NDArray[np.bool_]) -> EdgeRows:
        """Return the chosen rows."""
        return self._changed(lambda ends: ends[chosen], lambda column: column.filter(chosen))

    def both_ways(self) -> EdgeRows:
        """Return every row in both directions."""
        twice = self._changed(lambda ends: np.concatenate([ends, ends]), lambda column: pl.concat([column, column]))
        target = np.concatenate([self.target, self.source])
        return replace(twice, source=np.concatenate([self.source, self.target]), target=target, directed=False)

    def _changed(
        self, of_ends: Callable[[IntArray], IntArray], of_columns: Callable[[pl.Series], pl.Series]
    ) -> EdgeRows:
        numbers, times, categories = ([*map(of_columns, c)] for c in (self.numbers, self.times, self.categories))
        source, target = of_ends(self.source), of_ends(self.target)
        return replace(self, source=source, target=target, numbers=numbers, times=times, categories=categories)


@dataclass(frozen=True)
class Arcs:
    """What the rows of an edge table say about the neighbors of each node."""

    start: IntArray  # as in a CSR matrix, with ``neighbor``
    neighbor: IntArray  # the neighbors of each node in order, in either direction, without the node itself
    n_sent: IntArray  # rows of each node
    n_received: IntArray
    n_targets: IntArray  # different nodes that rows lead to, without the node itself
    n_sources: IntArray  # and that they come from
    most_sent: IntArray  # rows of each node with one and the same node, itself included, at most
    most_received: IntArray

    @classmethod
    def of(cls, source: IntArray, target: IntArray, n_nodes: int) -> Arcs:
        """Count the rows of each node.

        >>> arcs = Arcs.of(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2]), 3)
        >>> arcs.start.tolist(), arcs.neighbor.tolist(), arcs.most_sent.tolist()
        ([0, 1, 2, 2], [1, 0], [2, 1, 1])
        """
        kind = np.int32 if max(n_nodes, source.size) < 2**30 else np.int64
        source, target = source.astype(kind, copy=False), target.astype(kind, copy=False)
        apart, shape = source != target, (n_nodes, n_nodes)
        ones = np.ones(int(apart.sum()), dtype=kind)
        counts = sp.coo_array((ones, (source[apart], target[apart])), shape=shape).tocsr()
        loops = np.bincount(source[~apart], minlength=n_nodes)
        both = sp.csr_array(counts + counts.T.tocsr())
        most_sent, most_received = (
            np.maximum(counts.max(axis=axis).toarray().ravel() if n_nodes else loops, loops) for axis in (1, 0)
        )
        return cls(
            both.indptr,
            both.indices,
            np.bincount(source, minlength=n_nodes),
            np.bincount(target, minlength=n_nodes),
            np.diff(counts.indptr),
            np.bincount(counts.indices, minlength=n_nodes),
            most_sent,
            most_received,
        )

    @property
    def degree(self) -> IntArray:
        """Number of neighbors of each node."""
        degree: IntArray = np.diff(self.start)
        return degree

    @property
    def n_opposite(self) -> int:
        """Number of pairs of nodes with rows in both directions."""
        return int(self.n_targets.sum() + self.n_sources.sum() - self.neighbor.size) // 2

    def adjacency(self) -> Any:
        """Return the undirected adjacency matrix, in the form that an AttributedGraph keeps."""
        shape = (self.start.size - 1,) * 2
        ones = np.ones(self.neighbor.size, dtype=np.float32)
        return simple_csr(sp.csr_array((ones, self.neighbor, self.start), shape=shape))


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
            raise Refusal(
                "derive", f"must be 'none' or some of {', '.join(DERIVE)}, got {word!r}{suggest(word, DERIVE)}"
            )
    return tuple(kind for kind in DERIVE if kind in words)


def derive(
    rows: EdgeRows, n_nodes: int, kinds: Sequence[str], arcs: Arcs | None = None
) -> tuple[FloatArray, list[str], dict[str, str | float]]:
    """Return a matrix of derived attributes with one row per node, the names of its columns, and what is left out.

    ``"structure"`` is what :func:`structure` returns. ``"sent"`` and ``"received"`` summarize the rows in
    which a node is the source or the target: of a column of numbers the mean, median, sum, spread (between the
    quartiles), minimum, maximum and share of negative numbers; of times the first, the last, the median gap and how
    bursty they are; of categories the number of different values and the shares of the most frequent ones. What
    depends on the number of rows by itself is given as the difference from nodes with about as many
    (``amount sent, maximum for its count``). A node without such rows gets the median of the others, and its count
    says that it has none. Attributes that are the same for all nodes, or repeat another one, are left out: what they
    are, a number or the name of the other one, is returned beside the matrix. In an undirected graph, either kind
    summarizes all edges of a node (``amount of edges, median``).
    ``arcs`` are those of the rows, if they are known.
    """
    found = _derived(rows, n_nodes, kinds, arcs)
    left_out = _left_out(found)
    names = [name for name in found if name not in left_out]
    matrix = np.column_stack([found[name] for name in names]) if names else np.zeros((n_nodes, 0))
    return frozen(matrix), names, left_out


def _derived(
    rows: EdgeRows, n_nodes: int, kinds: Sequence[str], arcs: Arcs | None = None, all_rows: EdgeRows | None = None
) -> dict[str, FloatArray]:
    """Return the derived attributes by name; which values of a category have a share is decided by ``all_rows``."""
    found: dict[str, FloatArray] = {}
    whole = rows if all_rows is None else all_rows
    if not rows.directed:
        rows, whole = rows.both_ways(), whole.both_ways()
    arcs = arcs or Arcs.of(rows.source, rows.target, n_nodes)
    chosen = [kind for kind in ("sent", "received") if kind in kinds][: 2 if rows.directed else 1]
    for columns in in_order(lambda kind: _summaries(rows, n_nodes, kind, arcs, whole.categories), chosen):
        found |= columns
    return found | (structure(arcs) if "structure" in kinds else {})


@dataclass(frozen=True)
class Derivation:
    """What some attributes of a graph were derived from, to derive them again without some of its edges.

    Attributes
    ----------
    rows, place
        The rows of the edge table by the places of nodes in the order of their ids, and the place of each node.
    kinds, names
        What was derived (:func:`derive`), and the names of the columns.
    """

    rows: EdgeRows
    place: IntArray
    kinds: Sequence[str]
    names: Sequence[str]

    @cached_property
    def no_rows(self) -> dict[str, IntArray]:
        """Positions of the nodes without rows, by the name of an attribute that summarizes rows."""
        return no_rows(self.rows, self.place, self.names)

    def without(self, edges: NDArray[np.int64], absent: NDArray[np.bool_], *, directed: bool) -> FloatArray:
        """Return the derived columns of a graph with these edges, as if some of them had no rows."""
        n_nodes = self.place.size
        ends = self.place[edges]
        gone = _keys(ends[0][absent], ends[1][absent], n_nodes, directed)
        shown = ~np.isin(_keys(self.rows.source, self.rows.target, n_nodes, directed), gone)
        found = _derived(self.rows.some(shown), n_nodes, self.kinds, all_rows=self.rows)
        nothing = np.zeros(n_nodes)  # a column that only the absent rows gave a reason for
        return np.column_stack([found.get(name, nothing) for name in self.names])[self.place]


def _keys(source: IntArray, target: IntArray, n_nodes: int, directed: bool) -> IntArray:
    """Return one number per pair of nodes, in an undirected graph whatever their order."""
    first, second = (source, target) if directed else (np.minimum(source, target), np.maximum(source, target))
    return first.astype(np.int64) * n_nodes + second


def no_rows(rows: EdgeRows, place: IntArray, names: Sequence[str]) -> dict[str, IntArray]:
    """Return the nodes without rows for each derived attribute that summarizes rows: its value says nothing of them.

    ``place`` is that of each node in the rows.

    >>> rows = EdgeRows(np.array([0, 0]), np.array([1, 2]))
    >>> found = no_rows(rows, np.arange(3), ["paid sent, mean", "edges sent, log count"])
    >>> {name: nodes.tolist() for name, nodes in found.items()}
    {'paid sent, mean': [1, 2]}
    """
    ends = {"sent": rows.source, "received": rows.target, OF_EDGES: np.concatenate([rows.source, rows.target])}
    found = {side: np.flatnonzero(np.bincount(each, minlength=place.size)[place] == 0) for side, each in ends.items()}
    sides = {name: match[2] or OF_EDGES for name in names if (match := _SUMMARY.match(name))}
    return {name: found[side] for name, side in sides.items() if found[side].size}


def is_derived(name: str) -> bool:
    """Return whether an attribute of this name is one of those that :func:`derive` makes.

    >>> [is_derived(name) for name in ("core number", "amount sent, median", "edges sent, log count", "age")]
    [True, True, True, False]
    """
    return name in STRUCTURE or name in COUNTS or bool(_SUMMARY.match(name))


def currency_of(names: Iterable[str]) -> str | None:
    """Return the currency that derived attributes are in, None if their names say none.

    >>> currency_of(["age", "amount in EUR sent, median"]), currency_of(["amount sent, median"])
    ('EUR', None)
    """
    found = (re.search(rf"{IN_CURRENCY}([^\W\d_]+) (sent|received|of edges), ", name) for name in names)
    return next((match[1] for match in found if match), None)


def _left_out(columns: dict[str, FloatArray]) -> dict[str, str | float]:
    """Return the columns that are constant or repeat an earlier one: their one value, or the name of that one."""
    found: dict[str, str | float] = {}
    kept: dict[bytes, list[str]] = {}  # by some of their values, because comparing all of them takes long
    for name, values in columns.items():
        alike = kept.setdefault(values[:: values.size // COMPARED + 1].tobytes(), [])
        same = next((other for other in alike if np.array_equal(values, columns[other])), None)
        if not values.size or np.ptp(values) == 0:
            found[name] = float(values[0]) if values.size else 0.0
        elif same is not None:
            found[name] = same
        else:
            alike.append(name)
    return found


def _summaries(
    rows: EdgeRows, n_nodes: int, kind: str, arcs: Arcs, all_categories: Sequence[pl.Series]
) -> dict[str, FloatArray]:
    """Return the summaries of the rows that nodes sent or received."""
    mine = rows.source if kind == "sent" else rows.target
    counts = (arcs.n_sent if kind == "sent" else arcs.n_received).astype(np.float64)
    found = _counts(arcs.most_sent if kind == "sent" else arcs.most_received, counts, kind if rows.directed else None)
    of = kind if rows.directed else OF_EDGES
    for column in rows.numbers:
        found |= _named(_of_numbers(*_known(mine, column), n_nodes), counts, f"{column.name} {of}")
    for column, whole in zip(rows.categories, all_categories, strict=True):
        frame = pl.DataFrame({"node": pl.Series(mine, dtype=pl.Int64), "value": column}).drop_nulls()
        found |= _named(_grouped(frame, _category_summaries(whole), n_nodes), counts, f"{column.name} {of}")
    for column in rows.times:
        times = _of_times(*_known(mine, column), n_nodes, rows.units.get(column.name, ""))
        found |= _named(times, counts, f"{column.name} {of}")
    return found


def _counts(largest: NDArray[Any], counts: FloatArray, kind: str | None) -> dict[str, FloatArray]:
    """Return how many rows each node has, and the largest share of repeated ones with one of its neighbors.

    The first row with a neighbor repeats none, so that all nodes without repeated rows are alike, whatever their
    number of rows. In an undirected graph, where there is no kind of row, degrees say how many there are.
    """
    share = np.divide(largest - 1.0, counts, out=np.full(counts.size, np.nan), where=counts > 0)
    unusual = _filled(share - usual(share, counts))
    found = {} if kind is None else {COUNTS[kind == "received"]: np.log1p(counts)}
    return found | {REPEATS[("sent", "received", None).index(kind)]: unusual}


def _known(node: NDArray[Any], column: pl.Series) -> tuple[NDArray[Any], FloatArray]:
    """Return the rows whose cell is not empty."""
    values = column.to_numpy()
    empty = np.isnan(values)
    return (node[~empty], values[~empty]) if empty.any() else (node, values)


def _of_numbers(node: NDArray[Any], values: FloatArray, n_nodes: int) -> dict[str, FloatArray]:
    from hopsight.system.kernels import number_summaries, sorted_segments

    found = number_summaries(*sorted_segments(node, values, n_nodes))
    names = ("median", "mean", *(f"{what}{FOR_COUNT}" for what in ("log sum", "spread", "minimum", "maximum")))
    columns = dict(zip(names, found.T, strict=False))
    columns[names[2]] = np.sign(columns[names[2]]) * np.log1p(np.abs(columns[names[2]]))
    if bool((values < 0).any()) and bool((values > 0).any()):
        columns["share negative"] = found[:, 6]
    return columns


def _of_times(node: NDArray[Any], values: FloatArray, n_nodes: int, unit: str) -> dict[str, FloatArray]:
    """Return first and last time, the median gap, and burstiness (deviation − mean) / (deviation + mean) of gaps."""
    from hopsight.system.kernels import sorted_segments, time_summaries

    first, last, gap, mean, deviation = time_summaries(*sorted_segments(node, values, n_nodes)).T
    both = deviation + mean
    return {
        f"first{unit}{FOR_COUNT}": first,
        f"last{unit}{FOR_COUNT}": last,
        f"log median gap{FOR_COUNT}": np.log1p(gap),
        f"burstiness{FOR_COUNT}": np.divide(deviation - mean, both, out=np.full(n_nodes, np.nan), where=both > 0),
    }


def _category_summaries(column: pl.Series) -> dict[str, pl.Expr]:
    value = pl.col("value")
    counts = column.rename("value").drop_nulls().value_counts().sort("count", "value", descending=[True, False])
    frequent = sorted(counts["value"].head(SHARES).to_list())
    found = {f"different values{FOR_COUNT}": value.n_unique().cast(pl.Float64)}
    if counts.height <= MOST_SHARED:
        found |= {f"share {word}": (value == word).mean() for word in frequent}
    return found


def _grouped(frame: pl.DataFrame, summaries: dict[str, pl.Expr], n_nodes: int) -> dict[str, FloatArray]:
    """Return the summaries of each node's rows, NaN for nodes without any."""
    found = frame.group_by("node").agg(**{str(place): each for place, each in enumerate(summaries.values())})
    place = found["node"].to_numpy()
    columns = {name: np.full(n_nodes, np.nan) for name in summaries}
    for number, values in enumerate(columns.values()):
        values[place] = found[str(number)].to_numpy()
    return columns


def _named(columns: dict[str, FloatArray], counts: FloatArray, prefix: str) -> dict[str, FloatArray]:
    """Name the columns; nodes without a value get the median of the others."""
    return {
        f"{prefix}, {name}": _filled(values - usual(values, counts) if name.endswith(FOR_COUNT) else values)
        for name, values in columns.items()
    }


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
    level = np.floor(size[known]).astype(np.int8)
    order = np.argsort(level, kind="stable")
    ends = np.cumsum(np.bincount(level))
    parts = [order[low:high] for low, high in zip((0, *ends), ends, strict=False) if high > low]
    centers = [size[known][part].mean() for part in parts]
    medians = [np.median(values[known][part]) for part in parts]
    return np.interp(size, centers, medians)


def _filled(values: FloatArray) -> FloatArray:
    known = values[np.isfinite(values)]
    return np.where(np.isfinite(values), values, np.median(known) if known.size else 0.0)


def structure(arcs: Arcs) -> dict[str, FloatArray]:
    """Return structural attributes of each node by name.

    Duplicate rows count once and self-loops not at all. A node without edges gets zeros.

    >>> found = structure(Arcs.of(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4))  # a triangle with a tail
    >>> found["clustering"].tolist(), found["core number"].tolist()
    ([1.0, 1.0, 0.3333333333333333, 0.0], [2.0, 2.0, 2.0, 1.0])
    """
    from hopsight.system.kernels import core_numbers

    degree, adjacency = arcs.degree, arcs.adjacency()
    logs = np.log1p(degree, dtype=np.float64)
    near, squares, beyond = (adjacency @ np.column_stack([logs, logs**2, degree - 1.0])).T
    triangles = _triangles(adjacency, degree)
    some = np.maximum(degree, 1.0)
    near = near / some
    spread = np.sqrt(np.maximum(squares / some - near**2, 0.0))
    beyond = beyond - 2.0 * triangles  # paths of two edges that leave the neighborhood
    values = (
        np.log1p(arcs.n_targets, dtype=np.float64),
        np.log1p(arcs.n_sources, dtype=np.float64),
        (arcs.n_targets + arcs.n_sources - degree) / some,
        2.0 * triangles / np.maximum(degree * (degree - 1.0), 1.0),
        core_numbers(arcs.start, arcs.neighbor).astype(np.float64),
        near,
        spread,
        np.log1p(np.maximum(beyond, 0.0) / some),
    )
    return dict(zip(STRUCTURE, values, strict=True))


def _triangles(adjacency: Any, degree: IntArray) -> FloatArray:
    from hopsight.system.kernels import arcs_by_degree, triangles_from

    upper = sp.coo_array(sp.triu(adjacency, k=1, format="csr"))
    start, heads, _ = arcs_by_degree(upper.row, upper.col, degree)
    bounds = np.searchsorted(start, np.linspace(0, start[-1], PARTS + 1)[1:-1])
    count = partial(triangles_from, start, heads, np.ones((heads.size, 1)))
    found: FloatArray = sum(in_order(lambda part: count(*part), pairwise([0, *bounds.tolist(), degree.size])))
    return found.ravel()
