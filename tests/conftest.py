"""Small graphs that several tests share, and the folder of real graphs."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Read when torch and numba load. On small graphs a second thread only waits, and on a busy machine very long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
import pytest

from hopsight.graph import AttributedGraph

TESTS = Path(__file__).parent
# What takes longest runs first, so that no worker is left alone with it at the end.
LONGEST = (
    "spark", "benchmark", "streams", "review", "report", "test_all_detectors.py", "test_examples.py", "test_stops.py",
    "test_reproducible.py", "hcm", "runs", "test_environment.py", "feedback", "test_kills.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest and end with those in docstrings."""

    def place(item: pytest.Item) -> int:
        if not item.path.is_relative_to(TESTS):
            return len(LONGEST) + 1
        first = item.path.relative_to(TESTS).parts[0]
        return LONGEST.index(first) if first in LONGEST else len(LONGEST)

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Let Python search for garbage only among what the tests make, and less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a file to one worker, as ``--dist loadfile`` says, but all files of ``spark/`` to the same.

    Their session and their detection take a minute to make, and each worker would make its own.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class SparkTogether(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "tests/spark" if nodeid.startswith("tests/spark/") else super()._split_scope(nodeid)

    return SparkTogether(config, log)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def path_graph() -> AttributedGraph:
    """0 – 1 – 2 – 3 – 4 – 5 with one attribute that counts up."""
    return AttributedGraph.from_edges(range(5), range(1, 6), np.arange(6.0)[:, None])


@pytest.fixture
def star_graph() -> AttributedGraph:
    """Node 0 connected to 1..5."""
    return AttributedGraph.from_edges([0] * 5, range(1, 6), np.arange(12.0).reshape(6, 2))


@pytest.fixture
def two_cliques() -> AttributedGraph:
    """Two cliques of four joined by the bridge 3 – 4, one attribute that tells them apart."""
    left = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    right = [(i + 4, j + 4) for i, j in left]
    source, target = zip(*left, *right, (3, 4), strict=True)
    attributes = np.column_stack([np.repeat([0.0, 1.0], 4), np.linspace(0.0, 0.3, 8)])
    return AttributedGraph.from_edges(source, target, attributes)


@pytest.fixture
def random_graph(rng: np.random.Generator) -> AttributedGraph:
    """60 nodes in three groups, attributes that follow the group, node 59 without any edge."""
    group = np.repeat([0, 1, 2], 20)
    chance = np.where(group[:, None] == group[None, :], 0.35, 0.04)
    adjacency = np.triu(rng.random((60, 60)) < chance, k=1)
    adjacency[:, 59] = False
    attributes = rng.normal(size=(60, 6)) + 2.0 * np.eye(3)[group][:, [0, 1, 2, 0, 1, 2]]
    return AttributedGraph(adjacency, attributes)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real graphs, or skip the test if there is none."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("HOPSIGHT_DATA", default))
    if not (folder / "BlogCatalog.mat").is_file():
        pytest.skip(f"no real graphs in {folder}: set HOPSIGHT_DATA to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return headless Chromium, or skip where there is none; one process can start it once."""
    found = [program for name in ("chromium", "chromium-browser", "google-chrome") if (program := shutil.which(name))]
    if not found:
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        flags = ("no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-sync")
        started = playwright.chromium.launch(executable_path=found[0], args=[f"--{flag}" for flag in flags])
        yield started
        started.close()
