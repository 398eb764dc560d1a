"""Suites: what each holds, and how options narrow it."""

from __future__ import annotations

from collections import Counter

import pytest

from hopsight.benchmark.suites import Options, make_suite


def experiments(suite):
    return set(Counter(task.experiment for task in suite.plan))


def test_the_paper_suite_has_every_experiment_on_its_five_networks(data_dir):
    suite = make_suite("paper", Options(data_dir=str(data_dir)))
    assert experiments(suite) == {
        "comparison", "sweep R", "sweep C", "sweep S", "optimizers", "tuning", "curves", "growth nodes", "growth edges",
    }  # fmt: skip
    assert {place.network for place in suite.places} == {"flickr", "blogcatalog", "acm", "amazon", "enron"}
    rows = {task.row for task in suite.plan if task.experiment == "comparison"}
    assert {
        "random",
        "degree",
        "attribute norm",
        "LOF",
        "AMEN",
        "Radar",
        "ANOMALOUS",
        "DOMINANT",
        "MADAN",
        "ResGCN",
    } <= rows
    assert {"HCM (paper)", "HCM (authors)", "HCM", "CrossHCM", "MADAN, best t by the labels"} <= rows
    here = [task for task in suite.plan if task.experiment == "comparison" and task.row == "HCM (paper)"]
    repetitions = Counter(task.cell.network for task in here)
    assert {repetitions[name] for name in ("flickr", "blogcatalog", "amazon", "enron")} == {10}
    assert repetitions["acm"] == (1 if "missing" in suite.places[2].settings else 10)


def test_options_choose(data_dir):
    options = Options(
        networks=["amazon", "disney"], detectors=["lof"], repetitions=2, seeds=3, data_dir=str(data_dir), device="cpu"
    )
    suite = make_suite("paper", options)
    assert {task.cell.network for task in suite.plan if task.experiment == "comparison"} == {"amazon", "disney"}
    assert {task.row for task in suite.plan} == {"random", "degree", "attribute norm", "LOF"}
    assert Counter(task.row for task in suite.plan if task.cell.network == "amazon")["random"] == 6
    assert experiments(suite) == {"comparison", "growth nodes", "growth edges"}, "sweeps are about HCM"
    assert {task.cell.parameters.get("device") for task in suite.plan if task.row == "LOF"} == {"cpu"}


@pytest.mark.parametrize(
    ("detectors", "rows"),
    [
        (["hcm"], {"HCM"}),
        (["hcm-paper"], {"HCM (paper)"}),
        (["hcm*"], {"HCM", "HCM (paper)", "HCM (authors)"}),
        (["hcm-authors", "lof*"], {"HCM (authors)", "LOF"}),
    ],
)
def test_a_recipe_by_its_exact_name_and_all_of_a_detector_by_a_star(detectors, rows):
    suite = make_suite("quick", Options(networks=["generated"], detectors=detectors, experiments=["comparison"]))
    assert {task.row for task in suite.plan} - {"random", "degree", "attribute norm"} == rows


def test_experiments_can_be_chosen():
    suite = make_suite("quick", Options(networks=["generated"], experiments=["sweeps", "curves"]))
    assert experiments(suite) == {"sweep R", "sweep C", "sweep S", "curves", "tuning"}
    assert suite.follow_up({}) == []


def test_quick_is_quick_and_trains_less():
    suite = make_suite("quick", Options(networks=["generated"]))
    hcm = [task.cell for task in suite.plan if task.cell.detector == "hcm"]
    assert {cell.parameters["n_epochs"] for cell in hcm} == {30}
    assert len({task.cell.key for task in suite.plan}) < 200


def test_what_no_suite_knows_is_refused():
    with pytest.raises(ValueError, match="suite must be one of paper, quick, peers, got 'all'"):
        make_suite("all", Options())
    with pytest.raises(ValueError, match="there is no network 'nowhere'"):
        make_suite("quick", Options(networks=["nowhere"]))
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        make_suite("quick", Options(seeds=0))


def test_names_of_networks_in_any_case_and_other_protocols(data_dir):
    options = Options(
        networks=["BlogCatalog", "Books"], detectors=["degree"], protocol="leak-free", data_dir=str(data_dir)
    )
    suite = make_suite("paper", options)
    found = {(task.cell.network, task.cell.protocol) for task in suite.plan}
    assert found == {("blogcatalog", "leak-free"), ("amazon", "as found")}
    with pytest.raises(ValueError, match="protocol must be one of dominant, hcm, leak-free"):
        make_suite("paper", Options(protocol="as found"))
