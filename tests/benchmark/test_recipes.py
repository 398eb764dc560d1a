"""Recipes: every parameter written out, and facts that come from the class."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.benchmark import Options, make_suite
from hopsight.benchmark.recipes import (
    TRIVIAL,
    all_recipes,
    attribute_norm,
    check_recipes,
    degree,
    detector_class,
    from_plain,
    is_deterministic,
    parameters_of,
    random_score,
    title_of,
)
from hopsight.detectors import DETECTORS, registry
from hopsight.detectors.base import Detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.hcm import HCM


@dataclass(kw_only=True)
class Toy(Detector):
    """A detector that only its registry line announces."""

    presets: ClassVar[tuple[str, ...]] = ("strict",)
    deterministic: ClassVar[bool] = True
    quick: ClassVar[dict[str, int]] = {"n_rounds": 1}

    n_rounds: int = 9
    strict_mode: bool = False

    @classmethod
    def strict(cls, **changes):
        """Return the strict settings."""
        return cls(**({"strict_mode": True} | changes))

    def _fit(self, graph, *, rng, callback):
        return graph.degrees.astype(float)


def test_one_registry_line_is_enough_for_the_benchmark(monkeypatch):
    monkeypatch.setitem(registry.CLASSES, "toy", f"{__name__}:Toy")
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(Toy=Toy))
    plan = make_suite("quick", Options(graphs=["generated"], repetitions=2, seeds=3)).plan
    mine = [task for task in plan if task.cell.detector == "toy"]
    assert [(task.row, task.cell.injection, task.cell.seed) for task in mine] == [
        ("Toy", 0, 0), ("Toy", 1, 0), ("Toy (strict)", 0, 0), ("Toy (strict)", 1, 0),
    ]  # fmt: skip
    assert {task.cell.parameters["n_rounds"] for task in mine} == {1}
    assert [task.cell.parameters["strict_mode"] for task in mine] == [False, False, True, True]
    check_recipes(["toy", "toy*", "toy-strict"])


def test_parameters_are_complete_so_that_a_changed_default_is_a_new_cell():
    parameters = parameters_of("hcm-paper", {"n_epochs": 7, "burn_in": 2})
    assert set(parameters) == {entry.name for entry in fields(HCM)} - {"seed"}
    paper = HCM.paper(n_epochs=7, burn_in=2)
    assert {name: getattr(paper, name) for name in parameters} == parameters


def test_changes_that_a_detector_does_not_have_are_left_out():
    assert parameters_of("lof", {"n_epochs": 7, "n_neighbors": 5})["n_neighbors"] == 5
    assert "n_epochs" not in parameters_of("lof", {"n_epochs": 7})
    assert parameters_of("degree", {"n_epochs": 7}) == {}


def test_quick_settings_come_from_the_class_and_changes_take_precedence():
    assert parameters_of("hcm", {}, quick=True)["n_epochs"] == HCM.quick["n_epochs"]
    assert parameters_of("hcm", {"n_epochs": 11}, quick=True)["n_epochs"] == 11


def test_the_device_reaches_the_detector():
    assert parameters_of("hcm", {}, device="cpu")["device"] == "cpu"


def test_sequences_are_tuples_for_the_detector():
    assert from_plain({"widths": [64, 32], "lr": 0.1}) == {"widths": (64, 32), "lr": 0.1}


def test_every_detector_has_a_title_and_can_be_named():
    assert set(DETECTORS) <= set(all_recipes())
    titles = [title_of(recipe) for recipe in all_recipes()]
    assert len(set(titles)) == len(titles)
    assert {"LOF", "DOMINANT", "HCM", "HCM (paper)", "HCM (authors)", "CrossHCM", "attribute norm"} <= set(titles)
    assert title_of("no.such.module:Class") == "no.such.module:Class"
    with pytest.raises(ValueError, match="did you mean dominant"):
        check_recipes(["dominnt"])
    with pytest.raises(ValueError, match="detectors"):
        check_recipes(["hcn*"])
    with pytest.raises(ValueError, match="did you mean hcm-paper"):
        check_recipes(["hcm-papers"])
    check_recipes(["hcm", "hcm*", "lof*", "random", "some.module:Class"])


def test_the_seed_changes_what_the_class_says_it_changes():
    found = {recipe for recipe in all_recipes() if is_deterministic(recipe)}
    assert found == {"degree", "attribute_norm", "lof", "amen", "radar", "anomalous", "madan"}
    assert not is_deterministic("no.such.module:Class")


def test_a_class_is_found_by_its_address():
    assert detector_class("hopsight.hcm.hcm:HCM") is HCM
    assert detector_class("hcm") is HCM


def test_degree_and_norm_by_hand(star_graph):
    assert degree(star_graph, 0).tolist() == [5, 1, 1, 1, 1, 1]
    expected = [np.hypot(2 * i, 2 * i + 1) for i in range(6)]
    assert attribute_norm(star_graph, 0) == pytest.approx(expected)


def test_norm_of_sparse_attributes_and_of_huge_ones():
    sparse = AttributedGraph.from_edges([0], [1], sp.csr_array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]))
    assert attribute_norm(sparse, 0).tolist() == [5.0, 0.0]
    huge = AttributedGraph.from_edges([0], [1], np.array([[3e200, 4e200], [1e200, 0.0]]))
    assert attribute_norm(huge, 0) == pytest.approx([5e200, 1e200])


def test_random_scores_depend_on_the_seed_alone(star_graph):
    assert random_score(star_graph, 1).tolist() == random_score(star_graph, 1).tolist()
    assert random_score(star_graph, 1).tolist() != random_score(star_graph, 2).tolist()
    assert set(TRIVIAL) == {"random", "degree", "attribute_norm"}


def test_planted_anomalies_leak_through_degree_and_norm(data_dir):
    """Degree about .57 and norm about .73 on BlogCatalog; the norm alone finds attribute anomalies at .98."""
    from hopsight.datasets import inject
    from hopsight.loading import load
    from hopsight.metrics import roc_auc, roc_auc_by_kind

    graph = inject(load("blogcatalog", data_dir=data_dir), n_cliques=10, clique_size=15, seed=0)
    norm = attribute_norm(graph, 0)
    assert roc_auc(graph.labels, degree(graph, 0)) == pytest.approx(0.57, abs=0.03)
    assert roc_auc(graph.labels, norm) == pytest.approx(0.73, abs=0.03)
    assert roc_auc_by_kind(graph.labels, graph.kinds, norm)["attribute"] > 0.96
