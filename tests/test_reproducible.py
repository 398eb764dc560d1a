"""The same run gives the same bytes, with any number of threads."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.cli import main
from hopsight.datasets import make_graph
from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.loading import load
from processes import COMMAND
from toys import set_options

FIT = """
import json, sys
import numpy as np
import hopsight.hcm.train as posterior
import hopsight.system.threads as threads
import hopsight.baselines.networks as networks
from hopsight.detectors import DETECTORS
from hopsight.io import read

if sys.argv[4] == "small":  # as many blocks as in a large graph
    posterior.AT_ONCE, networks.BLOCK_VALUES, threads.VALUES_AT_ONCE = 128, 2048, 512
graph = read(sys.argv[3], notices=[])
chosen = json.loads(sys.argv[2]).items()
found = {name: DETECTORS[name](**settings).fit(graph).decision_score_ for name, settings in chosen}
np.savez(sys.argv[1], used=threads.n_threads(), **found)
"""


def options(name: str) -> list[str]:
    return ["--detector", name, "--quiet", *set_options(DETECTORS[name].quick)]


def test_the_same_command_and_its_rerun_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``run.json`` alone is enough, copied to another folder and read from there."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    write(make_graph(200, n_edges=800, n_attributes=6, seed=0), tmp_path / "graph.npz")
    command = ["detect", "graph.npz", *options("cross_hcm"), "--set", "n_folds=2", "--set", "n_inner=2", "--top", "1"]
    other_order = os.environ | {"PYTHONHASHSEED": "1"}  # of sets
    subprocess.run([*COMMAND, *command, "--out", "first"], cwd=tmp_path, env=other_order, check=True)
    assert main([*command, "--out", "second"]) == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(tmp_path / "first" / "run.json", elsewhere)
    monkeypatch.chdir(elsewhere)
    assert main(["rerun", "run.json", "--out", "third", "--quiet"]) == 0
    tables = [folder / "scores.csv" for folder in (tmp_path / "first", tmp_path / "second", elsewhere / "third")]
    first, *others = (table.read_bytes() for table in tables)
    assert first.count(b"\n") == 201 and all(other == first for other in others)


def scores_with(
    n_threads: int, settings: dict[str, dict[str, Any]], graph: Path, size: str, folder: Path
) -> dict[str, np.ndarray]:
    path = folder / f"{n_threads}.npz"
    limits = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n_threads))
    command = [sys.executable, "-c", FIT, str(path), json.dumps(settings), str(graph), size]
    subprocess.run(command, env=os.environ | limits, check=True)
    with np.load(path) as found:
        assert found["used"] == n_threads, "it used another number of threads"
        return {name: found[name] for name in settings}


def check_threads(settings: dict[str, dict[str, Any]], graph: AttributedGraph, size: str, folder: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPU cores, this process may use one")
    write(graph, folder / "graph.npz")
    one, two = (scores_with(n_threads, settings, folder / "graph.npz", size, folder) for n_threads in (1, 2))
    for name in settings:
        assert np.array_equal(one[name], two[name]), name  # blocks are added up in their order


TRAINED = [name for name, kind in DETECTORS.items() if not kind.deterministic]


def test_one_and_two_threads_give_the_same_scores(tmp_path: Path) -> None:
    graph = make_graph(300, n_edges=1200, n_attributes=8, seed=0)
    check_threads({name: dict(DETECTORS[name].quick) for name in TRAINED}, graph, "small", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_one_and_two_threads_give_a_real_graph_the_same_scores(name: str, tmp_path: Path, data_dir: Path) -> None:
    """Enron is large enough for every detector to use two threads with its default settings."""
    check_threads({name: {}}, load("enron", data_dir=data_dir), "large", tmp_path)
