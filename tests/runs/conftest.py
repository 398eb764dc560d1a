"""A saved graph and the folder of a finished run on it."""

from pathlib import Path

import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.runs.detect import detect
from hopsight.runs.request import Request, Source
from run_tables import FAST


@pytest.fixture
def saved_graph(tmp_path: Path, random_graph: AttributedGraph) -> Path:
    write_npz(random_graph, tmp_path / "graph.npz")
    return tmp_path / "graph.npz"


@pytest.fixture
def finished(saved_graph: Path, tmp_path: Path) -> Path:
    detect(Request(source=Source(path=str(saved_graph)), detector="hcm", settings=FAST), tmp_path / "run")
    return tmp_path / "run"
