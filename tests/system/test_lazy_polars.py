"""polars is imported when it is first used, and not in a forked process, where it would wait forever."""

from __future__ import annotations

import subprocess
import sys

import polars
import pytest

from hopsight.system.lazy_polars import pl


def test_it_is_polars() -> None:
    assert pl.DataFrame is polars.DataFrame and pl.col is polars.col


def test_it_is_not_imported_before_it_is_used() -> None:
    program = (
        "import sys; from hopsight.system.lazy_polars import pl; before = 'polars' in sys.modules; "
        "pl.Series; print(before, 'polars' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True"]


def test_a_forked_process_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.system.threads._process.lost_polars", True)
    with pytest.raises(ValueError, match="forked after its parent did so"):
        _ = pl.DataFrame
