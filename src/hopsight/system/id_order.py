"""The order of ids: numbers within them count as numbers, so that p2 comes before p10."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBER = re.compile("[0-9]+")


def in_order(ids: NDArray[Any]) -> bool:
    """Return whether ids ascend.

    >>> in_order(np.array(["p2", "p10"], dtype=object)), in_order(np.array([2, 1]))
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
