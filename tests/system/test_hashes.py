"""Hashes of ids."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from hopsight.system.arrays import id_hashes


def test_an_id_is_hashed_as_the_text_it_is_written_as() -> None:
    ids = np.array([7, "7", "añb", "\ud800"], dtype=object)
    wanted = [int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
              for text in ("7", "7", "añb", "\ud800")]  # fmt: skip
    assert id_hashes(ids).tolist() == wanted
    assert id_hashes(np.array([7])).tolist() == wanted[:1]
