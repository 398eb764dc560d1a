"""The suites of the paper: what each holds, and how options narrow it."""

from __future__ import annotations

from collections import Counter

import pytest

from paper.suites import PaperOptions, make_paper_suite


def experiments(suite):
    return {task.experiment for task in suite.plan}


def test_the_paper_suite_has_every_experiment_on_its_five_graphs(data_dir):
    suite = make_paper_suite("paper", PaperOptions(data_dir=str(data_dir)))
    assert experiments(suite) == {
        "comparison", "sweep R", "sweep C", "sweep S", "optimizers", "tuning", "curves", "growth nodes", "growth edges",
    }  # fmt: skip
    compared = [task for task in suite.plan if task.experiment == "comparison"]
    assert {task.cell.graph for task in compared} == {"flickr", "blogcatalog", "acm", "amazon", "enron"}
    rows = {task.row for task in compared}
    assert {"random", "degree", "attribute norm", "LOF", "AMEN", "Radar", "ANOMALOUS", "DOMINANT", "MADAN"} <= rows
    assert {"ResGCN", "HCM (paper)", "HCM (authors)", "HCM", "CrossHCM", "MADAN, best t by the labels"} <= rows
    here = [task.cell for task in compared if task.row == "HCM (paper)"]
    repetitions = Counter(cell.graph for cell in here)
    assert {repetitions[name] for name in ("flickr", "blogcatalog", "amazon", "enron")} == {10}
    missing = any("missing" in cell.settings for cell in here if cell.graph == "acm")
    assert repetitions["acm"] == (1 if missing else 10)


def test_options_choose(data_dir):
    options = PaperOptions(
        graphs=["amazon", "disney"], detectors=["lof"], repetitions=2, seeds=3, data_dir=str(data_dir), device="cpu"
    )
    suite = make_paper_suite("paper", options)
    assert {task.cell.graph for task in suite.plan if task.experiment == "comparison"} == {"amazon", "disney"}
    assert {task.row for task in suite.plan} == {"random", "degree", "attribute norm", "LOF"}
    assert Counter(task.row for task in suite.plan if task.cell.graph == "amazon")["random"] == 6
    assert experiments(suite) == {"comparison", "growth nodes", "growth edges"}, "sweeps are about HCM"
    assert {task.cell.parameters.get("device") for task in suite.plan if task.row == "LOF"} == {"cpu"}


def test_experiments_can_be_chosen():
    suite = make_paper_suite("quick", PaperOptions(experiments=["sweeps", "curves"]))
    assert experiments(suite) == {"sweep R", "sweep C", "sweep S", "curves", "tuning"}
    assert suite.follow_up({}) == []


def test_quick_is_quick_and_trains_less():
    suite = make_paper_suite("quick", PaperOptions())
    hcm = [task.cell for task in suite.plan if task.cell.detector == "hcm"]
    assert {cell.parameters["n_epochs"] for cell in hcm} == {30}
    assert len({task.cell.key for task in suite.plan}) < 200


def test_other_protocols(data_dir):
    options = PaperOptions(
        graphs=["BlogCatalog", "Books"], detectors=["degree"], protocol="leak-free", data_dir=str(data_dir)
    )
    suite = make_paper_suite("paper", options)
    found = {(task.cell.graph, task.cell.protocol) for task in suite.plan}
    assert found == {("blogcatalog", "leak-free"), ("amazon", "as found")}


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="suite must be one of paper, peers, quick, got 'all'"):
        make_paper_suite("all", PaperOptions())
    with pytest.raises(ValueError, match="did you mean sweeps"):
        PaperOptions(experiments=["sweep"])
