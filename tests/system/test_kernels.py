"""Compiled functions need no place to write."""

from __future__ import annotations

from typing import Any

import pytest

from hopsight.system import kernels as module
from hopsight.system.kernels import compiled


def test_a_function_is_compiled_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses to cache where the package and the user's cache are both read-only, as in a container."""
    whole = module.njit

    def no_cache(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available for file")
        return whole(**options)

    monkeypatch.setattr(module, "njit", no_cache)

    @compiled(nogil=True)
    def double(value: int) -> int:
        return 2 * value

    assert double(21) == 42
