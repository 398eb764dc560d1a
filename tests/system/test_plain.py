"""Values that JSON can hold."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from hopsight.system.arrays import plain


def test_what_a_record_may_hold_becomes_json() -> None:
    value = {"a": np.float32(0.5), "b": (np.int64(3), math.inf), "c": np.array([[True]]), "d": Path("x"), 5: None}
    text = json.dumps(plain(value), allow_nan=False)
    assert json.loads(text) == {"a": 0.5, "b": [3, None], "c": [[True]], "d": "x", "5": None}


def test_digits_are_significant_ones() -> None:
    assert plain([1234.5678, 0.00012345678], digits=4) == [1235.0, 0.0001235]
