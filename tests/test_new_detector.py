"""A new detector takes one file and one line in the registry; everything else works without another edit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import pytest

import hopsight
from checks import CHECKS, Make
from hopsight.benchmark import Options, make_suite
from hopsight.benchmark.cells import execute
from hopsight.cli import main
from hopsight.detectors import DETECTORS, get_detector, registry
from hopsight.detectors.base import Callback, Detector
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.runs.memory import expected_need
from toys import refuses, two_groups


@dataclass(kw_only=True)
class Toy(Detector):
    """Score nodes by their distance to the mean of the attributes, times ``1 + weight``."""

    meaning: ClassVar[str] = "how far its attributes are from the mean"
    node_values: ClassVar[Mapping[str, str]] = {"distance": "distance to the mean of the attributes"}
    presets: ClassVar[tuple[str, ...]] = ("heavy",)
    deterministic: ClassVar[bool] = True
    dense_copies: ClassVar[int] = 1
    uses_torch: ClassVar[bool] = False

    weight: float = 0.0

    @classmethod
    def heavy(cls, **changes: Any) -> Self:
        """Return the detector with weight 1."""
        return cls(**{"weight": 1.0} | changes)

    def _fit(self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callback | None) -> Any:
        rows = np.asarray(graph.attributes.todense() if hasattr(graph.attributes, "todense") else graph.attributes)
        scaled = np.asarray(rows, dtype=np.float64) / max(float(abs(rows).max()), 1e-300)
        self.distance_ = np.linalg.norm(scaled - scaled.mean(axis=0), axis=1)
        return (1.0 + self.weight) * self.distance_


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.CLASSES, "toy", f"{__name__}:Toy")
    monkeypatch.setattr("signal.signal", lambda *_: None)


@pytest.fixture
def graph() -> AttributedGraph:
    return two_groups(3, n_each=24)


def test_it_is_found_by_both_names() -> None:
    assert "toy" in DETECTORS and get_detector("toy") is get_detector("Toy") is DETECTORS["toy"] is Toy
    refuses(r"did you mean toy\?", get_detector, "toyy")


@pytest.mark.parametrize("rule", CHECKS, ids=lambda rule: rule.__name__.removeprefix("check_"))
def test_it_keeps_every_rule(rule: Any, graph: AttributedGraph) -> None:
    make: Make = Toy
    rule(make, graph)


def test_it_is_explained_by_its_own_words(graph: AttributedGraph, tmp_path: Path) -> None:
    model = Toy().fit(graph)
    model.save(tmp_path)
    node = str(graph.node_ids[int(model.decision_score_.argmax())])
    for fitted in (model, hopsight.load_detector(tmp_path)):
        explanation = hopsight.explain(fitted, node, graph=graph)
        assert explanation.method == Toy.meaning and explanation.rank == 1
        (value,) = explanation.values
        assert (value.name, value.meaning) == ("distance", Toy.node_values["distance"])
        assert Toy.meaning in str(explanation)


def test_its_memory_is_estimated_from_its_facts(graph: AttributedGraph) -> None:
    class Larger(Toy):
        dense_copies = 1_000
        uses_torch = True

    assert expected_need(graph, Larger()).memory > expected_need(graph, Toy()).memory + 220e6


def test_the_command_line_detects_and_explains(
    graph: AttributedGraph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(graph, tmp_path / "graph.npz")
    out = tmp_path / "out"
    command = ["detect", str(tmp_path / "graph.npz"), "--detector", "toy", "--preset", "heavy", "--set", "weight=2"]
    assert main([*command, "--out", str(out), "--quiet"]) == 0
    expected = Toy(weight=2.0).fit(graph)
    scores = pl.read_csv(out / "scores.csv").sort("rank")
    np.testing.assert_allclose(scores["score"], np.sort(expected.decision_score_)[::-1], rtol=1e-5)
    assert json.loads((out / "run.json").read_text())["parameters"]["weight"] == 2.0
    assert Toy.meaning in (out / "report.html").read_text()
    capsys.readouterr()
    assert main(["explain", str(out), str(scores["node"][0])]) == 0
    assert Toy.meaning in capsys.readouterr().out.replace("\n", " ")


def test_the_benchmark_plans_and_runs_it_with_its_presets() -> None:
    """A worker process reads the registry itself, so the test runs the planned cells in its own process."""
    plan = list(make_suite("quick", Options(graphs=["generated"], detectors=["toy*"], device="cpu")).plan)
    cells = {task.row: task.cell for task in plan if task.cell.detector == "toy"}
    assert set(cells) == {"Toy", "Toy (heavy)"} and cells["Toy (heavy)"].parameters["weight"] == 1.0
    assert {cell.seed for cell in cells.values()} == {0}  # the seed changes nothing
    for cell in cells.values():
        (figures,) = execute({"cell": cell.as_dict()})["scores"]
        assert figures["auc"] > 0.6
