"""Packed text is restored exactly, and damaged text is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopsight.io.npz import pack_text, unpack_text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=10))
def test_any_words_are_restored(words: list[str]) -> None:
    buffer, offsets = pack_text(words)
    assert unpack_text(buffer, offsets, len(words)) == words


@pytest.mark.parametrize(
    ("offsets", "count"),
    [([0, 2, 4], 3), ([1, 2, 4], 2), ([0, 3, 2, 4], 3), ([0, 2, 9], 2), ([0, -2, 4], 2), ([], 0), ([0.0, 2.0, 4.0], 2)],
)
def test_offsets_that_do_not_match_are_refused(offsets: list[float], count: int) -> None:
    with pytest.raises(ValueError, match="damaged"):
        unpack_text(np.frombuffer(b"abcd", dtype=np.uint8), np.array(offsets), count)
