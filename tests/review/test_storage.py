"""Rows that are never changed; nothing confirmed is lost by a kill."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.review.storage import COLUMNS, UNDO, Store, current, graph_key
from toys import refuses

WRITER = """
import sys, uuid
from pathlib import Path
from hopsight.review.storage import Store
store, who = Store(Path(sys.argv[1]), "g"), sys.argv[2]
for number in range(100000):
    row = store.add(f"{who}-{sys.argv[3]}-{number}", f"node-{number % 50}", "normal", "", who)
    print(row.request, row.number, flush=True)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "verdicts.sqlite", "g")


def test_every_row_is_kept(store: Store) -> None:
    """Write, repeat, undo and read."""
    first = store.add("r1", "ann", "anomalous", "looks odd", "eve")
    assert store.add("r1", "ann", "anomalous", "", "eve") == first  # the same request is written once
    store.add("r2", "bob", "normal", "", "eve")
    store.add("r3", "ann", "unsure", "", "dan")
    assert {node: row.verdict for node, row in current(store.rows()).items()} == {"ann": "unsure", "bob": "normal"}
    undone = store.undo("u1", "dan")
    assert undone is not None and undone.node == "ann" and undone.verdict == UNDO
    assert store.undo("u1", "dan") == undone  # repeated: nothing else is undone
    assert store.undo("u2", "dan") is None
    for node, verdict in (("ann", "normal"), ("bob", "anomalous")):
        refuses("used for another graph or decision", store.add, "r1", node, verdict, "", "eve")
    refuses("used for another graph or decision", store.undo, "r2", "eve")
    assert current(store.rows())["ann"].verdict == "anomalous"
    assert [row.verdict for row in store.rows()] == ["anomalous", "normal", "unsure", UNDO]  # nothing is removed
    assert Store(store.path, "another graph").rows() == []
    refuses("verdict must be one of", store.add, "r9", "ann", "guilty", "", "eve")
    hostile = "'; DROP TABLE decisions; --"
    store.add("r4", hostile, "normal", hostile, hostile)
    assert current(store.rows())[hostile].note == hostile
    with sqlite3.connect(store.path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_two_threads_write_at_once_and_every_row_has_its_own_number(store: Store) -> None:
    def write(who: str) -> None:
        for number in range(25):
            store.add(f"{who}-{number}", f"node-{number}", "normal", "", who)

    threads = [threading.Thread(target=write, args=(who,)) for who in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = store.rows()
    assert len(rows) == len({row.number for row in rows}) == 50


def test_a_folder_that_cannot_be_written_or_a_table_of_something_else_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot keep verdicts"):
        Store(tmp_path / "no-such-folder" / "verdicts.sqlite", "g")
    with sqlite3.connect(tmp_path / "verdicts.sqlite") as connection:
        connection.execute(f"CREATE TABLE decisions ({', '.join(COLUMNS)})")
        connection.execute("INSERT INTO decisions VALUES (1, 'r1', 'g', 'ann', 'normal', NULL, 7, NULL, NULL)")
    with pytest.raises(OSError, match="not hopsight's"):
        Store(tmp_path / "verdicts.sqlite", "g").rows()


def test_runs_on_the_same_nodes_share_their_verdicts() -> None:
    one, two, three = (
        AttributedGraph.from_edges([0], [1], np.zeros((2, 1)), node_ids=ids)
        for ids in (["a", "b"], ["a", "b"], ["a", "c"])
    )
    assert graph_key(one) == graph_key(two) != graph_key(three)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.attack)])
def test_nothing_confirmed_is_lost_when_two_writers_are_killed(kills: int, tmp_path: Path) -> None:
    """Kill two writers again and again; every row that they had confirmed is there, once."""
    place = tmp_path / "verdicts.sqlite"
    confirmed: list[str] = []
    for attempt in range(kills):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-c", WRITER, str(place)]
        writers = [subprocess.Popen([*command, who, str(attempt)], **pipes) for who in ("ann", "bob")]
        for writer in writers:
            assert writer.stdout is not None
            confirmed += [writer.stdout.readline().strip() for _ in range(5 + attempt)]
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            assert writer.stdout is not None
            confirmed += [line.strip() for line in writer.stdout if line.endswith("\n")]
            writer.wait()
            writer.stdout.close()
            assert writer.stderr is not None
            assert all(confirmed), writer.stderr.read()
            writer.stderr.close()
    rows = {f"{row.request} {row.number}" for row in Store(place, "g").rows()}
    assert len(confirmed) >= 10 * kills and set(confirmed) <= rows
    assert len(rows) <= len(confirmed) + 2 * kills  # at most the row that each was confirming when it was killed
    assert len({row.request for row in Store(place, "g").rows()}) == len(rows)


def test_verdicts_are_not_written_through_a_link_or_into_a_pipe(tmp_path: Path) -> None:
    """A run folder may come from somebody else."""
    (tmp_path / "link").symlink_to(tmp_path / "other.sqlite")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        refuses("symbolic link, pipe or device", Store, tmp_path / name, "g")
    assert not (tmp_path / "other.sqlite").exists()
