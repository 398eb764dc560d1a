"""The one form that every graph is brought into: 0/1 edges without self-loops, finite attributes, ids of one type.

Edges may carry weight, time and attributes besides their two ends; those of duplicate edges are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from hopsight.checks import check_choice, plural
from hopsight.system.arrays import frozen, frozen_csr, is_simple, simple_csr, still_writeable

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
DATE_PATTERNS = (  # as strftime writes them
    "%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%m/%d/%Y", "%m-%d-%Y", "%d %b %Y",
)  # fmt: skip
MOST_BITS = 10.0  # of rarity, one in a thousand, that are extrapolated from smaller numbers
DUPLICATES = ("sum", "count", "last")


def canonical_adjacency(adjacency: Any, directed: bool) -> tuple[Any, int]:
    """Return the 0/1 CSR form without self-loops, and the number of self-loops removed."""
    if is_simple(adjacency):
        return adjacency, 0
    matrix: Any = adjacency if sp.issparse(adjacency) else np.atleast_2d(np.asarray(adjacency))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        hint = "; of an edge index make a graph with AttributedGraph.from_edges(*edge_index, attributes)"
        pairs = "; of pairs of nodes make a table, polars.DataFrame(pairs, schema=['source', 'target'], orient='row')"
        hint = hint if matrix.shape[0] == 2 else pairs if matrix.shape[1:] == (2,) else ""
        raise ValueError(f"the adjacency matrix must be square, got shape {matrix.shape}{hint}")
    if sp.issparse(matrix) and matrix.format not in ("coo", "csr", "csc"):
        matrix = matrix.tocsr()
    if matrix.dtype.kind not in "biufc" or np.isnan(matrix.data if sp.issparse(matrix) else matrix).any():
        raise ValueError("the adjacency matrix must hold numbers and no NaN")
    edges = _as_edges(matrix)
    n_loops = int(edges.diagonal().sum())
    if n_loops:
        coo = edges.tocoo()
        keep = coo.row != coo.col
        edges = sp.coo_array((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=edges.shape).tocsr()
    if not directed:
        edges = edges + edges.T.tocsr()
    edges.sort_indices()
    edges.data[:] = 1.0
    return (frozen_csr if directed else simple_csr)(edges), n_loops


def _as_edges(matrix: Any) -> Any:
    """Return a new CSR array with 1 where a matrix has a nonzero entry."""
    if not sp.issparse(matrix):
        return sp.csr_array((matrix != 0).astype(np.float32))
    if matrix.format == "coo":  # summing duplicates must not let 1 and -1 cancel
        edges = sp.coo_array((matrix.data != 0, (matrix.row, matrix.col)), shape=matrix.shape).tocsr()
    else:
        csr = matrix.tocsr()
        edges = sp.csr_array((csr.data != 0, csr.indices, csr.indptr), shape=matrix.shape, copy=True)
        edges.sum_duplicates()
    edges.eliminate_zeros()
    return edges.astype(np.float32)


def canonical_attributes(attributes: Any, n_nodes: int) -> Any:
    """Return a finite float matrix, CSR if the input is sparse and dense otherwise."""
    if sp.issparse(attributes):
        matrix: Any = sp.csr_array(attributes)
        matrix = matrix.astype(_float_type(matrix.dtype), copy=False)
        if not matrix.has_canonical_format or still_writeable(matrix.data, getattr(attributes, "data", None)):
            matrix = matrix.copy()
            matrix.sum_duplicates()
        values = matrix.data
    else:
        try:
            given = np.asarray(attributes)
            matrix = given.astype(_float_type(given.dtype), copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"attributes must be numbers: {error}") from None
        if not isinstance(attributes, list | tuple) and still_writeable(matrix, given):
            matrix = matrix.copy()
        values = matrix
    if matrix.ndim != 2 or matrix.shape[0] != n_nodes:
        raise ValueError(f"attributes must have one row for each of the {n_nodes} nodes, got shape {matrix.shape}")
    if not np.isfinite(values).all():
        row, column = _first_bad_entry(matrix)
        raise ValueError(f"attributes must be finite: row {row}, column {column} is NaN or infinite")
    return frozen_csr(matrix) if sp.issparse(matrix) else frozen(matrix)


def _first_bad_entry(matrix: Any) -> tuple[int, int]:
    if sp.issparse(matrix):
        coo = matrix.tocoo()
        where = int(np.flatnonzero(~np.isfinite(coo.data))[0])
        return int(coo.row[where]), int(coo.col[where])
    row, column = np.argwhere(~np.isfinite(matrix))[0]
    return int(row), int(column)


def _float_type(dtype: Any) -> type:
    if dtype.kind == "c":
        raise ValueError("attributes must be real numbers, got complex ones")
    return np.float32 if dtype == np.float32 else np.float64


def canonical_ids(node_ids: Any, n_nodes: int) -> NDArray[Any]:
    """Return an int64 array if every id is an integer, and an object array of strings otherwise."""
    if node_ids is None:
        return frozen(np.arange(n_nodes, dtype=np.int64))
    numbers = isinstance(node_ids, np.ndarray) and node_ids.dtype == np.int64 and node_ids.shape == (n_nodes,)
    if numbers and ((np.diff(node_ids) > 0).all() or np.unique(node_ids).size == n_nodes):
        return frozen(node_ids.copy())
    # np.asarray would pad every text to the length of the longest.
    values = node_ids.tolist() if isinstance(node_ids, np.ndarray) else list(node_ids)
    if len(values) != n_nodes:
        raise ValueError(f"node_ids must have one id for each of the {n_nodes} nodes, got {len(values)}")
    ids: NDArray[Any] = np.empty(n_nodes, dtype=object)
    if all(_is_int64(node) for node in values):
        ids = np.array(values, dtype=np.int64)
    else:
        ids[:] = [str(node) for node in values]
    if len(set(ids.tolist())) != n_nodes:
        twice, _ = Counter(ids.tolist()).most_common(1)[0]
        raise ValueError(f"node ids must be unique, but {twice!r} occurs twice")
    return frozen(ids)


def _is_int64(node: Hashable) -> bool:
    return isinstance(node, int | np.integer) and not isinstance(node, bool) and -(2**63) <= int(node) < 2**63


def canonical_names(names: Sequence[str] | None, n_attributes: int) -> tuple[str, ...]:
    """Return one name per column."""
    if names is None:
        return tuple(f"x{column}" for column in range(n_attributes))
    if len(names) != n_attributes:
        raise ValueError(f"attribute_names must have one name for each of the {n_attributes} columns, got {len(names)}")
    return tuple(str(name) for name in names)


def flags(field: str, values: ArrayLike | None, n_nodes: int, *, low: int, high: int) -> NDArray[np.int8] | None:
    """Return small whole numbers, one per node, or None."""
    if values is None:
        return None
    flags = np.asarray(values).ravel()
    if flags.shape != (n_nodes,):
        raise ValueError(f"{field} must have one value for each of the {n_nodes} nodes, got shape {flags.shape}")
    if not np.isin(flags, range(low, high + 1)).all():
        raise ValueError(f"{field} must be whole numbers from {low} to {high}")
    return frozen(flags.astype(np.int8))


def texts(field: str, values: Any, n_nodes: int) -> NDArray[np.object_] | None:
    """Return texts, one per node, or None."""
    if values is None:
        return None
    texts = np.empty(n_nodes, dtype=object)
    words = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if len(words) != n_nodes:
        raise ValueError(f"{field} must have one text for each of the {n_nodes} nodes, got {len(words)}")
    texts[:] = [str(word) for word in words]
    return frozen(texts)


@dataclass(frozen=True)
class Aside:
    """A column of a table that is no attribute but may be asked for by its name, such as a column of known cases.

    Attributes
    ----------
    rows
        (n_rows,) positions of the nodes that the rows of a node table are about, or (2, n_rows) positions of the ends
        of the edges that the rows of an edge table are about.
    words, codes
        The different values of the column, as text, and (n_rows,) places of each row's value among them.
    """

    rows: IntArray
    words: tuple[str, ...]
    codes: IntArray


@dataclass(frozen=True)
class EdgeData:
    """Weight, time and attributes of edges, each None if they have none; rows are aligned with the edges.

    Attributes
    ----------
    weight, time
        (n_edges,) numbers.
    attributes
        (n_edges, n_columns) numbers. An unknown time or attribute is NaN.
    """

    weight: Any = None
    time: Any = None
    attributes: Any = None

    def checked(self, n_edges: int) -> EdgeData:
        """Return the same data as read-only float64 arrays; refuse those that do not match the edges."""
        return EdgeData(
            _numbers("edge_weight", self.weight, n_edges, 1),
            _numbers("edge_time", self.time, n_edges, 1),
            _numbers("edge_attributes", self.attributes, n_edges, 2),
        )

    def rows(self, chosen: NDArray[Any]) -> EdgeData:
        """Return the data of some edges, by positions or by a mask."""
        parts = (self.weight, self.time, self.attributes)
        return EdgeData(*(None if part is None else np.asarray(part)[chosen] for part in parts))

    def filled(self) -> EdgeData:
        """Return the same data with the median of the edges where a time or an attribute is unknown."""

        def known(part: Any) -> Any:
            if part is None or not np.isnan(part).any():
                return part
            columns = part.reshape(len(part), -1).T
            medians = [np.median(each[~np.isnan(each)]) if not np.isnan(each).all() else 0.0 for each in columns]
            return np.where(np.isnan(columns), np.array(medians)[:, None], columns).T.reshape(part.shape)

        return EdgeData(self.weight, known(self.time), known(self.attributes))

    def columns(self) -> list[Any]:
        """Return attributes, weight and time as columns, by the last of which to sort first; NaN is least."""
        attributes = [] if self.attributes is None else [*self.attributes.T]
        known = [part for part in (*attributes, self.weight, self.time) if part is not None]
        return [np.nan_to_num(part, nan=-np.inf) for part in known]

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.weight, self.time, self.attributes))


EVENT_COLUMNS = {
    "source": np.int64, "target": np.int64, "amount": np.float64, "time": np.float64, "currency": np.int64,
    "row": np.int64,
}  # fmt: skip


@dataclass(frozen=True)
class Events:
    """The rows of an edge table as events, where they have an amount or a time; duplicate rows are not merged.

    Attributes
    ----------
    source, target
        (n_events,) node positions, in the direction in which the rows give them.
    amount, time
        (n_events,) numbers, NaN where a cell is empty; None without the column. Dates are seconds since 1970. Negative
        amounts, such as refunds, count in sums only.
    currency, currencies
        (n_events,) position of each event's currency among the names; None without the column.
    dates
        How the user's file writes dates, one of ``DATE_PATTERNS``.
    moves
        Whether an amount can be passed on, as money can: bytes and durations cannot.
    earlier
        Events between the same nodes before these began, which say what is usual for each; they are not judged.
    row, ids
        (n_events,) positions among the ids of payments in the user's table; None without a column of ids. No file has
        them.
    """

    source: Any
    target: Any
    amount: Any = None
    time: Any = None
    currency: Any = None
    currencies: tuple[str, ...] = ()
    dates: str = "%Y-%m-%d"
    moves: bool = True
    earlier: Events | None = None
    row: Any = None
    ids: Any = None

    @property
    def size(self) -> int:
        """Number of events."""
        return int(self.source.size)

    def rows(self, chosen: NDArray[Any]) -> Events:
        """Return some of the events, by positions or by a mask."""
        kept: dict[str, Any] = {name: getattr(self, name) for name in EVENT_COLUMNS}
        kept = {name: each if each is None else each[chosen] for name, each in kept.items()}
        return replace(self, **kept)

    def sums(self, chosen: NDArray[Any]) -> tuple[tuple[float, str | None], ...]:
        """Return the sum of the known amounts of some events and its currency, for each currency."""
        if self.amount is None:
            return ()
        chosen = chosen[np.isfinite(self.amount[chosen])]
        kinds = np.zeros(chosen.size, dtype=np.int64) if self.currency is None else self.currency[chosen]
        names = self.currencies or (None,)
        return tuple(
            (float(self.amount[chosen[kinds == kind]].sum()), names[kind] or None) for kind in np.unique(kinds).tolist()
        )

    def in_currencies(self, others: Events) -> Events:
        """Return events with the numbers that others give to currencies, without amounts in currencies of their own."""
        plain = replace(self, dates=others.dates, moves=others.moves, earlier=None, currencies=others.currencies)
        if self.amount is None or others.amount is None or (self.currency is None) != (others.currency is None):
            return replace(plain, amount=None, currency=None)
        if self.currency is None:
            return plain
        at = {name: number for number, name in enumerate(others.currencies)}
        number = np.array([at.get(name, -1) for name in self.currencies])[self.currency]
        return replace(plain, amount=np.where(number < 0, np.nan, self.amount), currency=np.maximum(number, 0))

    def renumbered(self, places: NDArray[Any]) -> Events:
        """Return the events of a graph in which node ``k`` is at ``places[k]``."""
        earlier = None if self.earlier is None else self.earlier.renumbered(places)
        ends = frozen(places[self.source]), frozen(places[self.target])
        return replace(self, source=ends[0], target=ends[1], earlier=earlier)

    def within(self, places: NDArray[Any]) -> Events:
        """Return the events of a part of the graph in which node ``k`` is at ``places[k]``, which is -1 elsewhere."""
        earlier = None if self.earlier is None else self.earlier.within(places)
        inside = self.rows((places[self.source] >= 0) & (places[self.target] >= 0))
        return replace(replace(inside, earlier=None).renumbered(places), earlier=earlier)

    def checked(self, n_nodes: int) -> Events:
        """Return the same events as read-only arrays of one type each; refuse those that do not match the graph."""
        given: dict[str, Any] = {name: getattr(self, name) for name in EVENT_COLUMNS}
        found: dict[str, Any] = {
            name: each if each is None else frozen(np.asarray(each, EVENT_COLUMNS[name]))
            for name, each in given.items()
        }
        if any(each is not None and each.shape != found["source"].shape for each in found.values()):
            raise ValueError(f"events must have {found['source'].size} values in every column")
        ends = (found["source"], found["target"])
        if any(end.size and (end.min() < 0 or end.max() >= n_nodes) for end in ends):
            raise ValueError(f"an event has an end outside 0..{n_nodes - 1}")
        earlier = None if self.earlier is None else self.earlier.checked(n_nodes)
        return replace(self, **found, currencies=tuple(map(str, self.currencies)), earlier=earlier)


def merged(source: NDArray[Any], target: NDArray[Any], n_nodes: int, data: EdgeData, rule: str) -> EdgeData:
    """Return the data of distinct edges, in the order of (source, target).

    Rows with the same two ends become one edge. Its weight is the ``"sum"`` of their weights, the ``"count"`` of the
    rows, or that of the ``"last"`` row: the latest one if rows have times, otherwise the last one given. Its time is
    that of the latest row; its attributes are the mean over the rows, or with ``"last"`` those of the last row. What is
    unknown in some rows is that of the others. Sums are over rows in the order of their values, so that they are the
    same to the bit in any order of rows.

    >>> rows = EdgeData(weight=np.array([5.0, 2.0, 1.0]), time=np.array([30.0, 10.0, 20.0]))
    >>> found = merged(np.array([0, 0, 1]), np.array([1, 1, 2]), 3, rows, "sum")
    >>> found.weight.tolist(), found.time.tolist()
    ([7.0, 1.0], [30.0, 20.0])
    """
    check_choice("duplicates", rule, DUPLICATES)
    data = data.checked(source.size)
    key = source.astype(np.int64) * n_nodes + target
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    if first.size < key.size and (rule != "last" or data.time is not None):
        order = np.lexsort([*data.columns(), key])
    last = np.append(first[1:], key.size)[: first.size] - 1
    count = np.diff(np.append(first, key.size)).astype(np.float64)
    sorted_rows = data.rows(order)
    if rule == "last":
        return sorted_rows.rows(last)
    weight = count if rule == "count" else _sums(sorted_rows.weight, first)
    attributes = sorted_rows.attributes
    if attributes is not None:
        unknown = np.isnan(attributes)
        n_known = np.add.reduceat(~unknown, first, axis=0, dtype=np.float64) if first.size else np.zeros((0, 1))
        total: Any = _sums(np.where(unknown, 0.0, attributes), first)
        attributes = np.divide(total, n_known, out=np.full(total.shape, np.nan), where=n_known > 0)
    return EdgeData(weight, None if data.time is None else sorted_rows.time[last], attributes)


@dataclass(frozen=True)
class Context:
    """What relations of a graph with several types say about each node, beside its attributes.

    Attributes
    ----------
    counts
        (n_nodes, n_counts) number of rows of each relation that a node has, such as its cards.
    distinct
        (n_nodes, n_counts) number of different nodes of another type in those rows; by default the number of rows.
    names
        What is counted; in a graph of several types, ``type.name``, and other types have 0.
    types
        The types of which nodes share some.
    others, other_types, n_sharing
        Ids of the nodes of other types that several nodes share, the number of the type of each, and how many share it.
    links
        (2, n_links) a node and the number of one of the others that it shares, in order.
    means, mean_names
        (n_nodes, n_means) means of the attributes of a node's neighbors of other types, and what each is. Nodes that
        share a neighbor are alike in them, so that only what learns from labels sees them.
    """

    counts: Any
    names: Sequence[str]
    types: Sequence[str] = ()
    others: Sequence[str] = ()
    other_types: Any = ()
    n_sharing: Any = ()
    links: Any = ((), ())
    means: Any = None
    mean_names: Sequence[str] = ()
    distinct: Any = None

    def checked(self, n_nodes: int) -> Context:
        """Return the same numbers as read-only arrays; refuse those that do not match the nodes."""
        found = []
        distinct = self.counts if self.distinct is None else self.distinct
        for name, values, names in (
            ("counts", self.counts, self.names), ("distinct", distinct, self.names),
            ("means", self.means, self.mean_names),
        ):  # fmt: skip
            array = np.zeros((n_nodes, 0)) if values is None else np.asarray(values, dtype=np.float64)
            if array.shape != (n_nodes, len(names)) or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite and of shape {(n_nodes, len(names))}, got {array.shape}")
            found.append(frozen(array))
        counts, distinct, means = found
        n_others = len(self.others)
        kinds, n_sharing, links = (
            np.asarray(each, dtype=np.int64) for each in (self.other_types, self.n_sharing, self.links)
        )
        fits = kinds.shape == n_sharing.shape == (n_others,) and links.ndim == 2 and len(links) == 2
        for values, end in ((kinds, len(self.types)), (links[:1], n_nodes), (links[1:], n_others)):
            fits = fits and not ((values < 0) | (values >= end)).any()
        if not fits or (n_sharing < 2).any():
            raise ValueError("links must name nodes, and nodes of other types that at least two of them share")
        kinds, n_sharing, links = (frozen(each) for each in (kinds, n_sharing, links))
        names, types, others = (tuple(each) for each in (self.names, self.types, self.others))
        return Context(counts, names, types, others, kinds, n_sharing, links, means, tuple(self.mean_names), distinct)

    def rows(self, chosen: NDArray[Any]) -> Context:
        """Return what relations say about some nodes, none of them twice."""
        place = np.full(len(self.counts), -1)
        place[chosen] = np.arange(len(chosen))
        links = np.stack([place[self.links[0]], self.links[1]])[:, place[self.links[0]] >= 0]
        order = np.lexsort(links[::-1])
        counts, distinct, means = (each[chosen] for each in (self.counts, self.distinct, self.means))
        return replace(self, counts=counts, distinct=distinct, links=links[:, order], means=means)

    @cached_property
    def has(self) -> Any:
        """(n_nodes, n_others) CSR matrix of 1 where a node shares one of the others."""
        return sp.csr_array((np.ones(len(self.links[0])), self.links), shape=(len(self.counts), len(self.others)))

    @cached_property
    def had_by(self) -> Any:
        """The same by column: who has each of the others."""
        return self.has.tocsc()

    @cached_property
    def shared(self) -> FloatArray:
        """(n_nodes, n_types) number of nodes of another type that a node shares with others of its own type."""
        return self._sums(np.ones(len(self.others)))

    @cached_property
    def rarity(self) -> FloatArray:
        """(n_nodes, n_types) the same, where each node counts what it is :attr:`worth`."""
        return self._sums(self.worth)

    @cached_property
    def worth(self) -> FloatArray:
        """(n_others,) how much a node that d nodes share counts: (1 + b) / (log₂ d)², with b bits of rarity.

        Of the N nodes of its type that several share, the share s is shared by d or more, and q by three or more: b is
        −log₂ s, or −(d − 2) log₂ q if that is more, but at most 10 and 2 log₂ N. So what two share counts 1, and what
        many share counts less; but seven count more in a world of pairs than where hundreds are common.
        """
        worth = np.zeros(len(self.others))
        for kind in range(len(self.types)):
            mine = self.other_types == kind
            number = self.n_sharing[mine]
            size = max(1, number.size)
            counted = -np.log2(1.0 - np.searchsorted(np.sort(number), number) / size)
            rarer = -np.log2((1 + (number > 2).sum()) / (1 + size)) * (number - 2)
            bits = np.maximum(counted, np.minimum(rarer, min(MOST_BITS, 2.0 * np.log2(size))))
            worth[mine] = (1.0 + bits) / np.log2(number) ** 2
        return worth

    @property
    def learned_names(self) -> list[str]:
        """What the columns of :attr:`learned` are called."""
        shared = [f"{word} {kind}" for word in ("shared", "rarely shared") for kind in self.types]
        counts = (f"{'number of' if 'edges ' in name else 'rows with'} {name}" for name in self.names)
        return [*counts, *shared, *self.mean_names]

    @property
    def learned(self) -> FloatArray:
        """(n_nodes, n_columns) what a learner sees: all counts, what is shared, and means."""
        return np.hstack([self.counts, self.shared, self.rarity, self.means])

    def _sums(self, worth: FloatArray) -> FloatArray:
        shape = len(self.counts), len(self.types)
        node, other = self.links
        places = node * shape[1] + self.other_types[other]
        return np.bincount(places, worth[other], shape[0] * shape[1]).reshape(shape).astype(np.float64, copy=False)


def relations(codes: Any, names: Sequence[str] | None, n_edges: int) -> tuple[Any, tuple[str, ...]]:
    """Return the number of each edge's relation and the names of the relations; None and no names without any."""
    if codes is None:
        return None, ()
    numbers, words = np.asarray(codes), tuple(str(name) for name in names or ())
    if numbers.shape != (n_edges,) or (n_edges and (numbers.dtype.kind not in "iu" or numbers.min() < 0)):
        raise ValueError(f"edge_relation must have a whole number for each of the {n_edges} edges")
    if n_edges and numbers.max() >= len(words):
        raise ValueError(
            f"edge_relation has number {numbers.max()}, and there are {plural(len(words), 'relation name')}"
        )
    return frozen(numbers.astype(np.int32)), words


def edge_names(names: Sequence[str] | None, attributes: Any) -> tuple[str, ...]:
    """Return the names of the edge attributes; by default ``e0, e1, …``."""
    n_columns = 0 if attributes is None else attributes.shape[1]
    if names is None or (not len(names) and n_columns):
        return tuple(f"e{column}" for column in range(n_columns))
    if len(names) != n_columns:
        raise ValueError(f"edge_attribute_names must have {plural(n_columns, 'name')}, got {len(names)}")
    return tuple(str(name) for name in names)


def _sums(values: FloatArray | None, first: IntArray) -> FloatArray | None:
    return values if values is None or not first.size else np.add.reduceat(values, first, axis=0)


def _numbers(field: str, values: ArrayLike | None, n_edges: int, n_dims: int) -> FloatArray | None:
    if values is None:
        return None
    try:
        given = np.asarray(values)
        numbers = given.astype(np.float64, copy=given.flags.writeable)
    except (TypeError, ValueError):
        raise ValueError(f"{field} must be numbers") from None
    if numbers.ndim != n_dims or numbers.shape[0] != n_edges:
        raise ValueError(f"{field} must have one row for each of the {n_edges} edges, got shape {numbers.shape}")
    wrong = ~np.isfinite(numbers) if field == "edge_weight" else np.isinf(numbers)
    if wrong.any():
        where = int(np.argwhere(wrong)[0][0])
        raise ValueError(f"{field} must be finite, but that of edge {where} is NaN or infinite")
    view = numbers.view()
    view.flags.writeable = False
    return view
