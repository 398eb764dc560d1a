"""Values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any, *, digits: int | None = None) -> Any:
    """Return a value in JSON's own types.

    NumPy's numbers and arrays become Python's, tuples become lists, numbers that are not finite become None, and
    what JSON does not know becomes its text. ``digits`` rounds to that many significant digits.

    >>> plain({"scores": np.array([1.5, np.nan]), 7: (True, None)})
    {'scores': [1.5, None], '7': [True, None]}
    >>> plain(1 / 3, digits=3)
    0.333
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item, digits=digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, digits=digits) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), digits=digits)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    return value if value is None or isinstance(value, str | int | bool) else str(value)
