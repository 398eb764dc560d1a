"""Tables of the studies, with values that can be predicted."""

from __future__ import annotations

import pytest

from experiments.made import made_suite
from paper.study_tables import study_tables


@pytest.fixture(scope="module")
def tables():
    _, _, rows = made_suite(repetitions=3)
    return {table.name: table for table in study_tables(rows)}


def test_mean_scores(tables):
    assert tables["mean_scores"].rows == [
        ["generated", "AHP", "2.000 ± 0.000", "1.000 ± 0.000", "3 of 3"],
        ["generated", "HAV", "2.000 ± 0.000", "1.000 ± 0.000", "3 of 3"],
    ]


def test_sweeps_name_the_number_of_injections_and_of_remaining_classes(tables):
    sweep = tables["sweep_C"]
    assert sweep.columns == [
        "Classes C",
        "generated, AHP",
        "generated, HAV",
        "generated, classes used",
        "generated, pairs per class",
    ]
    assert sweep.rows[0] == ["2", "0.720 ± 0.020", "0.620 ± 0.020", "4", ""]
    assert "over 3 injections" in sweep.note
    assert "R = 0.2, S = 0.3" in sweep.note


def test_the_tuned_rate_is_shown(tables):
    rows = {line[1]: line for line in tables["optimizers"].rows}
    assert rows["SGD, rate tuned on the loss"][2] == "10"  # the made losses fall with the rate
    assert rows["SGD, rate .01"][2] == "0.01"
    assert rows["SGLD, preconditioned, temperature .001"][-1] == "3"


def test_variation_over_the_epochs(tables):
    line = next(line for line in tables["variation"].rows if line[1] == "SGLD, preconditioned, temperature .001")
    # each made curve rises by .01 per epoch; the three differ by .01: sd .01
    assert line[2:] == ["0.610 ± 0.010", "0.0100 ± 0.0000", "0.0100", "3"]


def test_growth_has_slopes_the_papers_formula_and_where_it_is_incomplete(tables):
    growth = tables["growth_nodes"]
    lof = next(line for line in growth.rows if line[0] == "LOF")
    assert lof[1] == "|V| log |V|"
    assert lof[2:] == ["2.0 s, 0 MB", "4.0 s, 0 MB", "8.0 s, 1 MB", "1.00", "1.00"]
    assert "one source" in growth.note
    assert "missing from the paper's own table" in growth.note
    assert next(line for line in growth.rows if line[0] == "HCM (paper)")[1].startswith("|E| +")
