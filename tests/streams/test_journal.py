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


def test_a_link_in_the_folder_is_never_followed(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "precious", tmp_path / "run"
    elsewhere.write_bytes(b"precious")
    folder.mkdir()
    (folder / "a.csv").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="not a file of this run"):
        Journal(folder, State.new({"sizes": {}}, seed=0)).append("a.csv", ONE)
    for name in ("a.csv", "../precious"):  # a state that somebody else wrote
        with pytest.raises(ValueError, match="not a file of this run"):
            Journal(folder, State.new({"sizes": {name: 0}}, seed=0)).recover()
    assert elsewhere.read_bytes() == b"precious"
