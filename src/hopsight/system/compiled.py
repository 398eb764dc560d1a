"""Functions compiled by numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call, and cache the machine code for the next process where possible.

    It is not possible where neither the package's folder nor the user's cache is writable, as in many containers.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder to cache in
            return njit(**options)(function)

    return compile_


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled code calls.

    It has no entry for Python, where a call would end the process, and is not cached by itself: with many arguments
    both would take longer to make than the function.
    """
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
