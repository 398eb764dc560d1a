"""The saved state: complete, small for a short stream, and refused when damaged."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.runs.folder import STATE
from hopsight.streams.engine import advance
from hopsight.streams.events import Columns
from hopsight.streams.state import State
from hopsight.streams.tally import new_laws
from stream_toys import read_events, toy_events
from toys import called

NOTES = {"window": "1d", "seed": 0, "hours": True, "fits": [], "laws": new_laws()}


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


def test_the_state_stops_growing(tmp_path: Path) -> None:
    """Saved after events between ever new nodes, it is not larger than its tables allow."""
    from hopsight.streams import memory

    full = memory.new_memory(1024, 1024)
    node_slot, pair_slot = called(memory.node_slot), called(memory.pair_slot)
    for number in range(1, 20_000):
        node_slot(full, np.uint64(number), number, number)
        pair_slot(full, np.uint64(number), number, number)
    assert np.count_nonzero(full.nodes.key) == np.count_nonzero(full.pairs.key) == 1024


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


def test_a_state_with_a_flag_of_its_archive_changed_is_refused(tmp_path: Path) -> None:
    """Python then takes a part for encrypted."""
    State.new(dict(NOTES), seed=0).save(tmp_path / STATE)
    content = bytearray((tmp_path / STATE).read_bytes())
    content[content.index(b"PK\x01\x02") + 8] ^= 1
    (tmp_path / STATE).write_bytes(content)
    with pytest.raises(ValueError, match="damaged or of another version"):
        State.load(tmp_path / STATE)
