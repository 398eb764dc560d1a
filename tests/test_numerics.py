"""Extreme numbers: scores are finite, and training that diverges stops and says what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopsight.cli import main
from hopsight.datasets import make_graph
from hopsight.detectors import DETECTORS
from hopsight.io import write
from hopsight.loading import load
from toys import has_field, quick


@pytest.mark.parametrize("name", has_field("lr"))
def test_a_loss_that_is_not_finite_stops_the_run(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    write(make_graph(80, n_edges=240, n_attributes=5, seed=0), tmp_path / "graph.npz")
    settings = {**DETECTORS[name].quick, "lr": 1e30}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = ["detect", str(tmp_path / "graph.npz"), "--detector", name, *options]
    assert main([*command, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hopsight: the loss ") and "lr" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DETECTORS if name != "madan"])  # too slow for 13,533 nodes
def test_enron_whose_largest_value_is_5e11(name: str, data_dir: Path) -> None:
    graph = load("enron", data_dir=data_dir)
    assert 5e11 < abs(graph.attributes).max() < 6e11
    scores = quick(name).fit(graph).decision_score_
    assert np.isfinite(scores).all() and np.unique(scores).size > 5_000
