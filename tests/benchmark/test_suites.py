"""Suites: what the quick suite holds, and how options narrow it."""

from __future__ import annotations

from collections import Counter

import pytest

from hopsight.benchmark import Options, make_suite
from hopsight.benchmark.suites import SuiteGraph, catalog_settings, named_graph
from hopsight.datasets import make_graph
from hopsight.io import write

TRIVIAL = {"random", "degree", "attribute norm"}


def quick(**options):
    return make_suite("quick", Options(**({"graphs": ["generated"]} | options)))


def test_quick_has_every_detector_on_a_small_graph_and_trains_less():
    plan = quick().plan
    assert {"LOF", "DOMINANT", "HCM", "HCM (paper)", "HCM (authors)", "CrossHCM"} | TRIVIAL <= {t.row for t in plan}
    assert {t.cell.parameters["n_epochs"] for t in plan if t.cell.detector == "hcm"} == {30}
    assert len({t.cell.key for t in plan}) < 50


def test_disney_is_added_if_there_is_a_copy(tmp_path, data_dir):
    with_copy = make_suite("quick", Options(detectors=["lof"], data_dir=str(data_dir)))
    assert {task.cell.graph for task in with_copy.plan} == {"generated", "disney"}
    without = make_suite("quick", Options(detectors=["lof"], data_dir=str(tmp_path)))
    assert {task.cell.graph for task in without.plan} in ({"generated"}, {"generated", "disney"})


def test_options_choose(data_dir):
    plan = quick(
        graphs=["amazon", "generated"], detectors=["lof"], repetitions=2, seeds=3, data_dir=str(data_dir), device="cpu"
    ).plan
    assert {task.row for task in plan} == TRIVIAL | {"LOF"}
    count = Counter((task.cell.graph, task.row) for task in plan)
    assert (count["amazon", "random"], count["amazon", "LOF"]) == (6, 1), "organic: injections x seeds; LOF has no seed"
    assert (count["generated", "random"], count["generated", "LOF"]) == (6, 2)
    assert {task.cell.parameters.get("device") for task in plan if task.row == "LOF"} == {"cpu"}


@pytest.mark.parametrize(
    ("detectors", "rows"),
    [
        (["hcm"], {"HCM"}),
        (["hcm-paper"], {"HCM (paper)"}),
        (["hcm*"], {"HCM", "HCM (paper)", "HCM (authors)"}),
        (["hcm-authors", "lof*"], {"HCM (authors)", "LOF"}),
    ],
)
def test_a_star_stands_for_all_presets_of_a_detector(detectors, rows):
    assert {task.row for task in quick(detectors=detectors).plan} - TRIVIAL == rows


def test_graphs_by_name_in_any_case_or_by_file(tmp_path, data_dir):
    options = Options(protocol="leak-free", data_dir=str(data_dir))
    found = [named_graph(name, options, 2, 3) for name in ("BlogCatalog", "Books")]
    assert [(graph.name, graph.protocol) for graph in found] == [("blogcatalog", "leak-free"), ("amazon", "as found")]
    assert found[0].settings["planting"] == {"n_cliques": 10, "clique_size": 15}
    write(make_graph(60, n_edges=200), tmp_path / "mine.npz")
    mine = named_graph(str(tmp_path / "mine.npz"), options, 2, 3)
    assert (mine.name, mine.n_seeds) == ("mine", 6)


def test_a_missing_file_is_a_setting_and_a_changed_file_another_one(tmp_path, data_dir):
    assert "data fetch acm" in catalog_settings("acm", str(tmp_path))["missing"]
    copy = tmp_path / "Disney.mat"
    copy.write_bytes((data_dir / "Disney.mat").read_bytes())
    published = catalog_settings("disney", str(tmp_path))
    assert published == {"sha256": "2bb0133d43c5338249bf9f23f532927a9b5fa9a3ba480f4d0ecc3563f44076fd"}
    copy.write_bytes(copy.read_bytes() + b" ")
    assert catalog_settings("disney", str(tmp_path)) != published


def test_what_no_seed_changes_or_is_missing_runs_once():
    graph = SuiteGraph(name="g", protocol="dominant", injections=range(3), n_seeds=2)
    assert len(list(graph.repetitions("hcm"))) == 6
    assert len(list(graph.repetitions("lof"))) == 3
    missing = SuiteGraph(name="g", settings={"missing": "no copy"}, protocol="dominant", injections=range(3), n_seeds=2)
    assert list(missing.repetitions("hcm")) == [(0, 0)]


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"suite must be 'quick' or a \.toml file, got 'all'"):
        make_suite("all", Options())
    with pytest.raises(ValueError, match="there is no graph 'nowhere'"):
        quick(graphs=["nowhere"])
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        Options(seeds=0)
    with pytest.raises(ValueError, match="protocol must be one of dominant, hcm, leak-free"):
        Options(protocol="as found")
