"""Arrays and ids: read-only views, lookups, the order of ids, and values that JSON can hold."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Hashable, Mapping
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.system.machine import check_limit

NUMBER = re.compile("[0-9]+")


def zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return zeros that fit into the memory limit of the run."""
    check_limit(prod(shape) * np.dtype(dtype).itemsize)
    return np.zeros(shape, dtype=dtype)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; the array of the caller stays writeable.

    Compiled code that is given such views exists once for both kinds of arrays, and is compiled much sooner.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def frozen_csr(matrix: Any) -> Any:
    """Return a CSR array over read-only views of the three parts."""
    parts = tuple(frozen(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    return sp.csr_array(parts, shape=matrix.shape, copy=False)


def simple_csr(matrix: Any) -> Any:
    """Return a symmetric 0/1 CSR matrix without a diagonal, read-only and marked as such.

    The caller knows that it is one; finding out would take as long as making one.
    """
    simple = frozen_csr(matrix)
    simple.is_simple = (simple.data, simple.indices, simple.indptr)
    return simple


def is_simple(matrix: Any) -> bool:
    """Return whether a matrix is from :func:`simple_csr` and still has the same three read-only parts.

    >>> path = simple_csr(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32)))
    >>> is_simple(path), is_simple(path.copy())
    (True, False)
    """
    parts = getattr(matrix, "is_simple", None)
    return parts is not None and all(
        part is now and not now.flags.writeable
        for part, now in zip(parts, (matrix.data, matrix.indices, matrix.indptr), strict=True)
    )


def still_writeable(array: NDArray[Any], given: Any) -> bool:
    """Return whether the caller could still change this array; a read-only array needs no copy."""
    return isinstance(given, np.ndarray) and given.flags.writeable and np.may_share_memory(array, given)


IntArray = NDArray[np.int64]


class Positions:
    """Where each id is among some ids: a dictionary of texts, or numbers in order, which take no memory of their own.

    >>> positions = Positions(np.array([7, 3, 5]))
    >>> positions.get(5), positions.get(4), positions.get("5")
    (2, None, None)
    """

    def __init__(self, ids: NDArray[Any]) -> None:
        self.ids = ids

    def get(self, node: Hashable) -> int | None:
        """Return the position of an id, None if there is no such id."""
        if self.ids.dtype == object:
            return self._texts.get(node)
        if not isinstance(node, int | np.integer) or isinstance(node, bool) or not self.ids.size:
            return None
        place = int(np.searchsorted(self.ids, int(node), sorter=self._order)) if -(2**63) <= node < 2**63 else 0
        place = min(place, self.ids.size - 1)
        position = place if self._order is None else int(self._order[place])
        return position if int(self.ids[position]) == node else None

    @cached_property
    def _texts(self) -> dict[Hashable, int]:
        return {node: position for position, node in enumerate(self.ids.tolist())}

    @cached_property
    def _order(self) -> IntArray | None:
        """The order of ids that do not ascend."""
        return None if bool((self.ids[1:] > self.ids[:-1]).all()) else np.argsort(self.ids)


def find_edges(edges: IntArray, starts: IntArray, source: IntArray, target: IntArray) -> IntArray:
    """Return where edges are, or belong, among edges sorted by their first and then their second end.

    ``starts`` says where the edges of each first end begin.

    >>> edges, starts = np.array([[0, 0, 1], [1, 3, 2]]), np.array([0, 2, 3, 3, 3])
    >>> find_edges(edges, starts, np.array([0, 1, 0]), np.array([3, 2, 2])).tolist()
    [1, 2, 1]
    """
    low, high = starts[source], starts[source + 1]
    while (open_ := low < high).any():
        middle = (low + high) // 2
        smaller = open_ & (edges[1, np.where(open_, middle, 0)] < target)
        low, high = np.where(smaller, middle + 1, low), np.where(open_ & ~smaller, middle, high)
    return low


def ids_ascend(ids: NDArray[Any]) -> bool:
    """Return whether ids ascend.

    >>> ids_ascend(np.array(["p2", "p10"], dtype=object)), ids_ascend(np.array([2, 1]))
    (True, False)
    """
    if ids.dtype.kind in "iu":
        return bool((ids[1:] >= ids[:-1]).all())
    return all(one <= other for one, other in pairwise((_key(str(each)), str(each)) for each in ids.tolist()))


def sorted_by_id(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return the positions of ids in ascending order."""
    if ids.dtype.kind in "iu":
        return np.argsort(ids, kind="stable")
    texts = [str(each) for each in ids.tolist()]
    by_text = sorted(range(len(texts)), key=texts.__getitem__)  # x9 and x09 have the same key
    keys = [_key(text) for text in texts]
    return np.array(sorted(by_text, key=keys.__getitem__), dtype=np.int64)


def _key(text: str) -> str:
    """Return a text that sorts as the words and numbers of another: each number follows its length.

    >>> sorted(["p10", "p9", "pa", "p"], key=_key)
    ['p', 'p9', 'p10', 'pa']
    """
    return NUMBER.sub(lambda found: f"\0{len(digits := found[0].lstrip('0')):05}{digits}", text)


def id_hashes(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits of BLAKE2b of every id written as text, so that 7 and "7" agree."""
    texts = map(str, ids.tolist() if isinstance(ids, np.ndarray) else ids)
    digests = b"".join([blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def csr_tensor(start: Any, columns: Any, values: Any, size: tuple[int, ...]) -> Any:
    """Return a torch CSR tensor where ``values`` are, without warnings that it is in beta and that nobody checks it."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta|Sparse invariant checks are")
        return torch.sparse_csr_tensor(start, columns, values, size=size, device=values.device, check_invariants=False)


def plain(value: Any, *, digits: int | None = None) -> Any:
    """Return a value in JSON's own types.

    NumPy's numbers and arrays become Python's, tuples become lists, numbers that are not finite become None, and
    what JSON does not know becomes its text. ``digits`` rounds to that many significant digits.

    >>> plain({"scores": np.array([1.5, np.nan]), 7: (True, None)})
    {'scores': [1.5, None], '7': [True, None]}
    >>> plain(1 / 3, digits=3)
    0.333
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item, digits=digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, digits=digits) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), digits=digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    return value if value is None or isinstance(value, str | int | bool) else str(value)
