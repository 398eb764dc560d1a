"""Functions compiled by numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from numba import njit

from hopsight.system.forks import forked


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function on its first call, and cache the machine code for the next process where possible.

    It is not possible where neither the package's folder nor the user's cache is writable, as in many containers.
    A function with ``parallel=True`` runs on one thread in a forked process, where OpenMP would end the process.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            fast = njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no folder to cache in
            fast = njit(**options)(function)
        return _unless_forked(function, fast) if options.get("parallel") else fast

    return compile_


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled code calls.

    It has no entry for Python and is not cached by itself: with many arguments both take longer than the function.
    """
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def frozen(array: Any) -> Any:
    """Return a view that nothing can be written to: compiled code exists once for both kinds of arrays.

    Where functions get their arrays from the caller, for input and for output, they are compiled much sooner, too.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _unless_forked(function: Callable[..., Any], fast: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``fast``, or in a forked process the same code compiled for one thread."""
    serial = njit(function)  # not cached: numba would confuse the two

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return (serial if forked() else fast)(*arguments)

    return call
