"""Appending: what was not committed is cut off, and a file that lost rows is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.streams.journal import Journal
from hopsight.streams.state import State

ONE = pl.DataFrame({"node": ["one"]})


def test_what_was_not_committed_is_cut_off(tmp_path: Path) -> None:
    journal = Journal(tmp_path, State.new({"sizes": {}}, seed=0))
    journal.append("a.csv", ONE)
    journal.commit(("a.csv",))
    journal.append("a.csv", ONE)  # and the process is killed
    journal.recover()
    assert (tmp_path / "a.csv").read_bytes() == b"node\none\n"


def test_a_file_that_lost_rows_is_refused(tmp_path: Path) -> None:
    journal = Journal(tmp_path, State.new({"sizes": {}}, seed=0))
    journal.append("a.csv", ONE)
    journal.commit(("a.csv",))
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(ValueError, match="shorter than it was"):
        journal.recover()
