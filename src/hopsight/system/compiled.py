"""Functions compiled by numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call, and keep the result for the next process where there is a place for it.

    There is none where neither the package's folder nor the user's cache can be written to, as in many containers.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # no place
            return njit(**options)(function)

    return compile_
