"""The expected need, and the limit of memory."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.datasets import make_graph
from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from hopsight.io.npz import write_npz
from hopsight.loading import load
from hopsight.runs.console import Progress
from hopsight.runs.detect import detect
from hopsight.runs.folder import read_record
from hopsight.runs.memory import Need, check_need, expected_need, limited, parse_size
from hopsight.runs.request import Request, Source, make_detector
from hopsight.system.arrays import zeros
from hopsight.system.machine import resident_memory
from hopsight.system.threads import in_order
from processes import python
from toys import refuses


def ring(n_nodes: int) -> AttributedGraph:
    nodes = np.arange(n_nodes)
    return AttributedGraph.from_edges(nodes, (nodes + 1) % n_nodes, np.ones((n_nodes, 4)) * nodes[:, None])


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "8XB", "0", "1e9"])
def test_other_texts_are_refused(text: str) -> None:
    refuses("such as 8GB or 500MB", parse_size, text)


@pytest.mark.parametrize("detector", ["hcm", "lof", "radar", "dominant"])
def test_memory_grows_with_the_graph_and_never_with_its_square(detector: str) -> None:
    needs = [expected_need(ring(n), make_detector(detector)).memory for n in (5_000, 50_000, 500_000)]
    assert needs[0] < needs[1] < needs[2] and needs[2] - needs[1] < 15 * (needs[1] - needs[0])


@pytest.mark.parametrize(("detector", "settings", "least"), [
    ("cross_hcm", {"mlp_units": 300_000}, 5e9), ("cross_hcm", {"n_units": 30_000}, 5e9),
    ("hcm", {"mlp_units": 300_000}, 5e9), ("hcm", {"n_units": 20_000}, 5e9),
    ("hcm", {"n_samples": 10**6, "n_epochs": 10**6}, 5e9), ("dominant", {"encoder_units": (30_000, 30_000)}, 5e9),
    ("resgcn", {"residual_units": (30_000, 30_000)}, 5e9), ("lof", {"n_neighbors": 10**6}, 2e8),
])  # fmt: skip
def test_large_layers_are_refused_beforehand(detector: str, settings: dict[str, Any], least: float) -> None:
    """One matrix of weights, or the values of one layer for the pairs of an epoch, is already larger than this."""
    need = expected_need(ring(3_000), DETECTORS[detector](**settings))
    usual = expected_need(ring(3_000), DETECTORS[detector]())
    assert need.memory - usual.memory > least
    with pytest.raises(MemoryError, match="the limit is"):
        check_need(need, usual.memory)


def need_and_peak(folder: Path, settings: dict[str, str]) -> tuple[int, int]:
    """Fit HCM in a process of its own, and return the memory that was expected and taken."""
    source = folder / "graph.npz"
    write_npz(make_graph(3_000, seed=0), source)
    program = (
        "import json, sys; from pathlib import Path\n"
        "from hopsight.runs.detect import detect\n"
        "from hopsight.runs.request import Request, Source\n"
        "settings = json.loads(sys.argv[3])\n"
        "detect(Request(source=Source(path=sys.argv[1]), detector='hcm', settings=settings, top=1), Path(sys.argv[2]))"
    )
    done = python(program, source, folder / "out", json.dumps(settings))
    assert done.returncode == 0, done.stderr
    record = read_record(folder / "out")
    return record["expected"]["memory"], record["peak_memory_bytes"]


def test_a_run_takes_about_what_was_expected(tmp_path: Path) -> None:
    expected, peak = need_and_peak(tmp_path, {"n_epochs": "3", "burn_in": "1"})
    assert 0.6 < expected / peak < 1.7


def test_a_run_that_cannot_fit_is_refused_with_a_suggestion() -> None:
    with pytest.raises(MemoryError, match=r"needs about 2\.0 GB .* limit is 1\.0 GB: try"):
        check_need(Need(2 * 10**9, 60.0), 10**9)
    with pytest.raises(MemoryError, match="are free"):
        check_need(Need(10**15, 60.0), None)
    check_need(Need(10**6, 1.0), 10**9)


def test_a_run_is_refused_where_it_would_exceed_the_limit_and_no_thread_interrupts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit takes more than was expected; it stops at the first large array that does not fit, within the limit."""
    write_npz(make_graph(1500, n_edges=9000, seed=0), tmp_path / "graph.npz")
    monkeypatch.setattr("hopsight.runs.detect.expected_need", lambda *_: Need(0, 1.0))
    at_work: list[int] = []

    def draw(*_: Any, **__: Any) -> None:
        at_work.append(threading.active_count())
        zeros((10**12,), np.float64)

    monkeypatch.setattr("hopsight.baselines.lof.LOF._fit", draw)
    threads, limit = threading.active_count(), resident_memory() + 10**9
    request = Request(detector="lof", source=Source(path=str(tmp_path / "graph.npz")), memory_limit=f"{limit}")
    with pytest.raises(MemoryError, match="would exceed the memory limit"):
        detect(request, tmp_path / "out")
    assert at_work == [threads] and not (tmp_path / "out").exists()


@pytest.mark.parametrize("work", ["a file", "blocks", "epochs"])
def test_reading_blocks_and_epochs_ask_the_limit(work: str, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    works: dict[str, Callable[[], object]] = {
        "a file": lambda: load(tmp_path / "edges.csv"),
        "blocks": lambda: list(in_order(abs, [1, 2])),
        "epochs": lambda: Progress().step(1, 2, "epoch", ""),
    }
    with limited(1), pytest.raises((MemoryError, ValueError), match="would exceed the memory limit of 0 MB"):
        works[work]()
