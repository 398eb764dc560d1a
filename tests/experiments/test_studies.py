"""The studies as lists of tasks: the values, repetitions and attributes of the paper."""

from __future__ import annotations

from collections import Counter

from hopsight.benchmark.suites import SuiteGraph
from paper.studies import (
    RATES,
    TUNED,
    Maker,
    comparison,
    curves,
    growth,
    optimizers,
    sweeps,
    tuned_optimizer,
    tuning,
)

MAKER = Maker()
PLANTED = {"protocol": "dominant", "injections": range(5), "n_seeds": 2}
INJECTED = SuiteGraph(name="generated", settings={"generate": {"n_nodes": 100}}, **PLANTED)
ORGANIC = SuiteGraph(name="amazon", settings={"sha256": "ab"}, n_seeds=10)
ABSENT = SuiteGraph(name="acm", settings={"missing": "no copy"}, **PLANTED)


def test_five_injections_times_two_seeds_or_ten_seeds_and_one_where_no_seed_matters():
    tasks = comparison(MAKER, [INJECTED, ORGANIC, ABSENT], ["random", "degree", "lof", "hcm-paper"])
    count = Counter((task.cell.graph, task.row, task.cell.view) for task in tasks)
    assert count == {
        ("generated", "random", "raw"): 10,
        ("generated", "degree", "raw"): 5,
        ("generated", "LOF", "reduced"): 5,
        ("generated", "LOF", "raw"): 5,
        ("generated", "HCM (paper)", "reduced"): 10,
        ("amazon", "random", "raw"): 10,
        ("amazon", "degree", "raw"): 1,
        ("amazon", "LOF", "raw"): 1,
        ("amazon", "HCM (paper)", "raw"): 10,
        ("acm", "random", "raw"): 1,
        ("acm", "degree", "raw"): 1,
        ("acm", "LOF", "reduced"): 1,
        ("acm", "HCM (paper)", "reduced"): 1,
    }
    assert len({task.cell.key for task in tasks}) == len(tasks)


def test_hcm_has_the_papers_layers_and_sees_the_same_components_as_the_baselines():
    tasks = comparison(MAKER, [INJECTED, ORGANIC], ["hcm-paper", "hcm-authors", "hcm"])
    found = {(task.row, task.cell.graph): task.cell for task in tasks}
    assert found["HCM (paper)", "generated"].parameters["n_layers"] == 2
    assert found["HCM (paper)", "amazon"].parameters["n_layers"] == 4
    reduced = found["HCM (paper)", "generated"].parameters
    assert (reduced["scaling"], reduced["n_components"]) == ("none", None)
    assert found["HCM (authors)", "amazon"].parameters["dropout_at_prediction"] is True
    own = found["HCM", "generated"]
    assert (own.view, own.parameters["n_components"]) == ("raw", 20)


def test_sweeps_cover_the_papers_ranges_and_fix_the_rest():
    tasks = sweeps(MAKER, [INJECTED, ORGANIC, ABSENT])
    values = {
        name: sorted({float(t.row) for t in tasks if t.experiment == name})
        for name in ("sweep R", "sweep C", "sweep S")
    }
    assert values["sweep R"] == [0, 0.1, 0.2, 0.3, 0.4, 0.5]
    assert values["sweep C"] == [2, 3, 4, 5, 6, 7]
    assert values["sweep S"] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert {t.cell.graph for t in tasks} == {"generated"}
    held = {
        "sweep R": {"n_classes": 5, "sampling_ratio": 0.3},
        "sweep C": {"drop_ratio": 0.2, "sampling_ratio": 0.3},
        "sweep S": {"drop_ratio": 0.2, "n_classes": 5},
    }
    for task in tasks:
        assert all(task.cell.parameters[name] == value for name, value in held[task.experiment].items())
    shared = {t.cell.key for t in tasks if t.row == "0.3" and t.experiment == "sweep S"}
    assert shared == {t.cell.key for t in tasks if t.row == "0.2" and t.experiment == "sweep R"}, "R=.2, C=5, S=.3 once"


def test_optimizers_and_curves():
    tasks = optimizers(MAKER, [INJECTED])
    rows = {t.row: t.cell.parameters for t in tasks}
    assert rows["SGLD, preconditioned, temperature .001"]["optimizer"] == "psgld"
    assert rows["the same without noise"] == rows["SGLD, preconditioned, temperature .001"] | {"temperature": 0.0}
    assert (rows["SGD, rate .01"]["optimizer"], rows["SGD, rate .01"]["lr"]) == ("sgd", 0.01)
    assert Counter(t.row for t in tasks)["SGD, rate .01"] == 10
    drawn = curves(MAKER, [INJECTED])
    assert set(Counter(t.row for t in drawn).values()) == {10}
    assert all(t.cell.curve and t.cell.injection == 0 for t in drawn)


def test_the_tuned_rate_is_the_one_with_the_smallest_loss():
    keys = {t.row: t.cell.key for t in tuning(MAKER, [INJECTED])}
    assert len(keys) == len(RATES)
    losses = {keys["0.1"]: 1.2, keys["1"]: 0.9, keys["0.3"]: 1.0}  # the other rates gave no finite loss
    tasks = tuned_optimizer(MAKER, [INJECTED], losses, n_curves=4)
    assert {(t.experiment, t.row) for t in tasks} == {("optimizers", TUNED), ("curves", TUNED)}
    assert {t.cell.parameters["lr"] for t in tasks} == {1.0}
    assert Counter(t.experiment for t in tasks) == {"optimizers": 10, "curves": 4}
    assert tuned_optimizer(MAKER, [INJECTED], {}, n_curves=4) == []


def test_growth_varies_nodes_and_edges():
    tasks = growth(MAKER, ["random", "lof", "hcm-paper"], nodes=(100, 200), edges=(5, 10), fixed_nodes=100)
    sizes = {(t.experiment, *(t.cell.settings["generate"][name] for name in ("n_nodes", "n_edges"))) for t in tasks}
    assert sizes == {
        ("growth nodes", 100, 1000),
        ("growth nodes", 200, 2000),
        ("growth edges", 100, 500),
        ("growth edges", 100, 1000),
    }
    assert {t.row for t in tasks} == {"LOF", "HCM (paper)"}
