"""Hashes of node ids, the same on every engine."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray


def id_hashes(ids: NDArray[Any]) -> NDArray[np.uint64]:
    """Return 64 bits of BLAKE2b of every id written as text, so that 7 and "7" agree."""
    texts = map(str, ids.tolist() if isinstance(ids, np.ndarray) else ids)
    digests = b"".join([blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest() for text in texts])
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
