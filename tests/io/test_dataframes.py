"""Data frames without the libraries that polars would like to have, and objects that are no tables."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hopsight.io.frames import frame_of, is_frame


def test_pandas_needs_no_pyarrow_and_is_not_imported_for_others() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None; import pandas as pd; "
        "from hopsight.io.frames import frame_of; "
        "table = pd.DataFrame({'a': ['x', None], 'b': [1, 2], 't': pd.to_datetime(['2024-01-01', None])}); "
        "print(frame_of(table).rows())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[('x', 1, datetime.datetime(2024, 1, 1, 0, 0)), (None, 2, None)]"
    program = (
        "import sys, polars; from hopsight.io.frames import frame_of; "
        "frame_of(polars.DataFrame({'a': [1]}).lazy()); "
        "assert 'pandas' not in sys.modules and 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_columns_of_pandas() -> None:
    frame = frame_of(
        pd.DataFrame(
            {
                "zone": pd.to_datetime(["2024-01-01T01:00:00+01:00"]).tz_convert("Europe/Oslo"),
                "text": pd.array(["x"], dtype="string"),
                "arrow": pd.array([None], dtype="int64[pyarrow]"),
                "float": [np.nan],
                "decimal": [1],
            }
        )
    )
    assert frame.row(0) == (datetime(2024, 1, 1), "x", None, None, 1)


def test_objects_that_are_no_tables() -> None:
    for thing in (7, [1, 2], {"a": 1}, np.eye(2), pd.Series([1]), pl.Series([1]), pa.chunked_array([[1]])):
        assert not is_frame(thing)
        with pytest.raises(ValueError, match="a table must be a path or a data frame, got"):
            frame_of(thing)


def test_without_narwhals_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ValueError, match=r"needs the package narwhals; run pip install 'hopsight\[frames\]'"):
        frame_of(SimpleNamespace(columns=["a"], __dataframe__=None))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="cannot be read as a table"):
        frame_of(SimpleNamespace(columns=["a"], __dataframe__=None))
