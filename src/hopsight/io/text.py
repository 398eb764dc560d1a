"""Store text as two plain arrays, for formats that hold nothing but numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack_text(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all words in one UTF-8 buffer, and the offsets where each begins and the last ends.

    >>> buffer, offsets = pack_text(["Zoë", "", "Li"])
    >>> offsets.tolist(), unpack_text(buffer, offsets, 3)
    ([0, 4, 4, 6], ['Zoë', '', 'Li'])
    """
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.array([len(word) for word in encoded], dtype=np.int64))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_text(buffer: NDArray[Any], offsets: NDArray[Any], count: int) -> list[str]:
    """Return the words that :func:`pack_text` packed; refuse arrays that do not match."""
    text, ends = buffer.ravel(), offsets.ravel()
    fits = (
        text.dtype == np.uint8
        and ends.dtype.kind in "iu"
        and ends.size == count + 1
        and ends[0] == 0
        and ends[-1] == text.size
        and bool((ends[1:] >= ends[:-1]).all())
    )
    if not fits:
        raise ValueError("its packed text is damaged")
    content, cuts = text.tobytes(), ends.tolist()
    return [content[start:end].decode() for start, end in pairwise(cuts)]
