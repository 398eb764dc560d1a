"""The saved state: complete, small, refused when damaged; rows that were not committed are cut off."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.runs.folder import STATE
from hopsight.streams import memory
from hopsight.streams import state as module
from hopsight.streams.events import Columns
from hopsight.streams.kernel import advance
from hopsight.streams.results import new_habits, unguarded_text
from hopsight.streams.state import Journal, State, write_rows
from stream_toys import read_events, toy_events
from toys import called


def new_files() -> dict:
    return {"sizes": {}, "tails": {}, "files": {}}


ONE = pl.DataFrame({"node": ["one"]})
NOTES = {"window": "1d", "seed": 0, "hours": True, "fits": [], "habits": new_habits(), "currencies": {"": [0, 0]}}


def test_a_loaded_state_continues_to_the_bit(tmp_path: Path) -> None:
    events = read_events(toy_events(2000), Columns(time="time", amount="amount"))
    state = State.new(dict(NOTES), seed=0)
    advance(state, events[:1200])
    state.save(tmp_path / STATE)
    again = State.load(tmp_path / STATE)
    one, two = (advance(each, events[1200:])[0] for each in (state, again))
    np.testing.assert_array_equal(one, two)
    assert again.notes == state.notes
    assert (tmp_path / STATE).stat().st_size < 5_000_000


def test_the_tables_never_grow() -> None:
    """After events between ever new nodes, the tables hold the most recently seen."""
    full = memory.new_memory(1024, 1024)
    entry, find = called(memory.entry), called(memory.find)
    for number in range(1, 20_000):
        entry(full.nodes, np.uint64(number), number, number)
    assert np.count_nonzero(full.nodes.key) == 1024
    assert [find(full.nodes, np.uint64(key))[1] for key in (19_999, 1)] == [True, False]


def test_refuses_a_missing_and_a_damaged_state(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run over time"):
        State.load(tmp_path / STATE)
    (tmp_path / STATE).write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(ValueError, match="damaged"):
        State.load(tmp_path / STATE)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_refuses_a_pipe_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / STATE)
    with pytest.raises(ValueError, match="is not a file but a folder, pipe or device"):
        State.load(tmp_path / STATE)


def test_refuses_a_forged_table_and_a_file_that_unpacks_to_more_than_it_is(tmp_path: Path) -> None:
    state = State.new(dict(NOTES), seed=0)
    state.tallies["nodes"] = pl.DataFrame({"node": ["a", "b"]})
    state.save(tmp_path / STATE)
    with np.load(tmp_path / STATE) as saved:
        values = {name: saved[name] for name in saved.files}
    values["tally_nodes"] = values["tally_nodes"][:-20]
    np.savez(tmp_path / STATE, **values)
    with pytest.raises(ValueError, match="a table in it cannot be read"):
        State.load(tmp_path / STATE)
    np.savez_compressed(tmp_path / STATE, **values)
    with pytest.raises(ValueError, match="it is compressed"):
        State.load(tmp_path / STATE)


def begun(folder: Path) -> Journal:
    """Return the journal of a table with one row."""
    journal = Journal(folder, State.new(new_files(), seed=0))
    journal.append("a.csv", ONE)
    journal.commit(("a.csv",))
    return journal


def test_what_was_not_committed_is_cut_off(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    journal.append("a.csv", ONE)  # and the process is killed
    assert journal.recover({}) == []
    assert (tmp_path / "a.csv").read_bytes() == b"node\none\n"
    journal.show_open({"a.csv": ONE})
    assert (tmp_path / "a.csv").read_bytes() == b"node\none\none\n"
    assert journal.recover({"a.csv": ONE}) == []
    assert (tmp_path / "a.csv").read_bytes() == b"node\none\n"


@pytest.mark.parametrize("edited", [b"", b"node\nO\n", b"node\none\nmine\n", b"node;comment\none;seen\n"])
def test_a_table_that_somebody_changed_is_left_alone_and_another_goes_on_beside_it(
    tmp_path: Path, edited: bytes
) -> None:
    journal = begun(tmp_path)
    (tmp_path / "a.csv").write_bytes(edited)
    assert journal.recover({"a.csv": pl.DataFrame({"node": ["open"]})}) == ["a.csv"]
    journal.append("a.csv", ONE)
    journal.commit(("a.csv",))
    assert journal.recover({}) == []
    assert (tmp_path / "a.csv").read_bytes() == edited
    assert (tmp_path / "a-2.csv").read_bytes() == b"node\none\n"
    assert [path.name for path in journal.paths("a.csv")] == ["a.csv", "a-2.csv"]
    assert len(list(tmp_path.iterdir())) == 3  # and the state


def test_a_table_that_somebody_removed_begins_anew(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    (tmp_path / "a.csv").unlink()
    for missing in (["a.csv"], []):
        assert journal.begin_missing({"a.csv": ["node"]}) == missing
        assert journal.recover({}) == []
    journal.append("a.csv", ONE)
    assert (tmp_path / "a.csv").read_bytes() == b"node\none\n"


def test_refuses_a_state_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "VERSION", 7)
        State.new(dict(NOTES), seed=0).save(tmp_path / STATE)
    with pytest.raises(ValueError, match="it has version 7, not 9; start again with hopsight stream"):
        State.load(tmp_path / STATE)


def test_a_link_in_the_folder_is_never_followed(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "precious", tmp_path / "run"
    elsewhere.write_bytes(b"precious")
    folder.mkdir()
    (folder / "a.csv").symlink_to(elsewhere)
    with pytest.raises(ValueError, match="not a file of this run"):
        Journal(folder, State.new(new_files(), seed=0)).append("a.csv", ONE)
    for name in ("a.csv", "../precious"):  # a state that somebody else wrote
        with pytest.raises(ValueError, match="not a file of this run"):
            Journal(folder, State.new({**new_files(), "sizes": {name: 0}}, seed=0)).recover({})
    assert elsewhere.read_bytes() == b"precious"


def test_a_cell_that_looks_like_a_formula_is_guarded() -> None:
    nodes = ["=1+1", "ann", "  ＝1+1", "\ufeff@x", "'tis", "-5"]
    frame = pl.DataFrame({"node": nodes, "score": [-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    file = io.BytesIO()
    write_rows(file, frame, header=True)
    lines = file.getvalue().decode().splitlines()
    assert lines[:3] == ["node,score", "'=1+1,-1.0", "ann,2.0"]
    assert [line.partition(",")[0] for line in lines[3:]] == ["'  ＝1+1", "'\ufeff@x", "''tis", "'-5"]
    assert unguarded_text(pl.read_csv(file.getvalue())).equals(frame)
