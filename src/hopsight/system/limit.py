"""The memory limit of a run: one rule for every place that allocates much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple


class _Limit(NamedTuple):
    n_bytes: float
    refusal: str


_limits: list[_Limit] = []  # of the run in progress, which may have none


@contextmanager
def memory_limit(n_bytes: int, refusal: str) -> Iterator[None]:
    """Have :func:`check_limit` refuse, in these words, what would make this process hold more bytes of its own."""
    _limits.append(_Limit(n_bytes, refusal))
    try:
        yield
    finally:
        _limits.pop()


def check_limit(n_bytes: float = 0) -> None:
    """Refuse to allocate what would exceed the limit of the run; every place that allocates much asks beforehand."""
    for limit in _limits:
        from hopsight.system.machine import own_memory

        if own_memory() + n_bytes > limit.n_bytes:
            raise MemoryError(limit.refusal)
