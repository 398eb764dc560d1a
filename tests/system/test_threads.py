"""Threads keep the order and the scores; forked processes never wait forever."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from hopsight.graph import AttributedGraph
from hopsight.system.threads import in_order, n_threads
from toys import refuses

PROGRAM = """
import multiprocessing, sys
import numpy as np
import hopsight as hs

graph = hs.make_graph(300, n_edges=1500, seed=0)

def scores():
    models = [kind(**kind.quick).fit(graph) for kind in (hs.HCM, hs.CrossHCM)]
    return [*(model.decision_score_ for model in models), models[1].judge(graph).decision_score_]

def child(expected):
    assert all(map(np.array_equal, scores(), expected))
    try:
        hs.load(sys.argv[1])
    except ValueError as error:
        print(error)
    print(hs.load(sys.argv[2]).n_nodes, "nodes")

if __name__ == "__main__":
    hs.load(sys.argv[1])
    process = multiprocessing.get_context("fork").Process(target=child, args=(scores(),))
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


def test_environment_lowers_the_number_of_threads_but_never_raises_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    allowed = n_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")
    assert n_threads() == allowed
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert n_threads() == allowed


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.system.threads.n_threads", lambda: 3)


@pytest.mark.usefixtures("three_threads")
def test_threads_that_wait_for_others_do_not_wait_forever() -> None:
    def outer(item: int) -> list[int]:
        return list(in_order(lambda other: 10 * item + other, range(5)))

    assert list(in_order(outer, range(6))) == [[10 * item + other for other in range(5)] for item in range(6)]


@pytest.mark.usefixtures("three_threads")
def test_nothing_runs_on_after_an_error_or_when_nobody_asks_for_more() -> None:
    running, started = Event(), []

    def fails(item: int) -> None:
        started.append(item)
        if item == 0:
            running.wait(timeout=60)
            raise ValueError("the first item")
        running.set()
        time.sleep(0.05)

    refuses("the first item", list, in_order(fails, range(100)))
    count = len(started)
    time.sleep(0.2)
    assert len(started) == count < 100
    some = in_order(lambda item: started.append(item), range(1000))
    next(some)
    some.close()
    count = len(started)
    time.sleep(0.1)
    assert len(started) == count


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_fits_as_its_parent_and_does_not_wait_for_polars(tmp_path: Path) -> None:
    table, matrix = tmp_path / "edges.csv", tmp_path / "graph.npz"
    table.write_text("source,target\n" + "".join(f"a,b{number}\n" for number in range(30)), encoding="utf-8")
    import hopsight as hs
    from hopsight.io import write

    write(hs.load(table), matrix)
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(table), str(matrix)],
        capture_output=True, text=True, check=False, timeout=300,
        env={name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'multiprocessing.get_context("spawn")' in done.stdout and "31 nodes" in done.stdout


def test_everything_that_reads_or_writes_tables_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a child of a process that has used polars: each of these would wait forever."""
    from hopsight.benchmark import Options, make_suite, run
    from hopsight.io.labels import read_labels
    from hopsight.runs.finished import compare, write_redacted
    from hopsight.runs.folder import FORMAT, VERSION
    from hopsight.streams.events import Columns
    from hopsight.streams.run import StreamRequest, stream
    from hopsight.streams.state import State

    (tmp_path / "table.csv").write_text("node,verdict\n1,normal\n")
    (tmp_path / "events.csv").write_text("source,target,time\n1,2,1970-01-01\n")
    table, events = str(tmp_path / "table.csv"), str(tmp_path / "events.csv")
    finished = tmp_path / "finished"
    finished.mkdir()
    (finished / "run.json").write_text(json.dumps({"format": FORMAT, "version": VERSION}))
    (finished / "scores.csv").write_text("node,rank,score,flagged\n1,1,2.5,0\n")
    calls: list[Callable[[], object]] = [
        lambda: compare(finished, finished),
        lambda: read_labels(table, AttributedGraph.from_edges([0], [1], [[0.0], [1.0]])),
        lambda: write_redacted(tmp_path),
        lambda: stream(StreamRequest(path=events, columns=Columns(time="time"), window="1d"), tmp_path / "out"),
        lambda: State.load(tmp_path / "state.npz"),
        lambda: run(make_suite("quick", Options(graphs=["generated"])), tmp_path / "bench"),
    ]
    monkeypatch.setattr("hopsight.system.threads._process.lost_polars", True)
    for call in calls:
        refuses("in a process that was forked after its parent did so: start processes", call)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.csv", "finished", "table.csv"]
