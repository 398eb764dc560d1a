"""The key of a cell: the same for equal cells, another after any change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hopsight.benchmark.cells import Cell, Task, canonical_json, unique_cells

CELL = Cell(
    graph="blogcatalog",
    settings={"sha256": "ab", "planting": {"n_cliques": 10, "clique_size": 15}},
    protocol="dominant",
    injection=0,
    view="reduced",
    detector="hcm",
    parameters={"lr": 0.01, "n_epochs": 300, "widths": [64, 32]},
    seed=0,
)


@pytest.mark.parametrize(
    "change",
    [
        {"graph": "flickr"},
        {"settings": {"sha256": "cd", "planting": {"n_cliques": 10, "clique_size": 15}}},
        {"settings": {"sha256": "ab", "planting": {"n_cliques": 11, "clique_size": 15}}},
        {"protocol": "leak-free"},
        {"injection": 1},
        {"view": "raw"},
        {"detector": "dominant"},
        {"parameters": {"lr": 0.02, "n_epochs": 300, "widths": [64, 32]}},
        {"parameters": {"lr": 0.01, "n_epochs": 300, "widths": [64, 33]}},
        {"parameters": {"lr": 0.01, "n_epochs": 300, "widths": [64, 32], "dropout": 0.0}},
        {"seed": 1},
        {"curve": True},
        {"version": "9.9"},
    ],
)
def test_any_change_is_another_cell(change):
    assert replace(CELL, **change).key != CELL.key


def test_equal_cells_have_the_same_key_whatever_the_order_of_their_settings():
    parameters = {"widths": [64, 32], "n_epochs": 300, "lr": 0.01}
    assert replace(CELL, parameters=parameters).key == CELL.key
    assert Cell(**CELL.as_dict()).key == CELL.key
    assert len(CELL.key) == 20


def test_the_key_does_not_depend_on_the_process():
    simple = Cell(graph="disney", detector="lof", seed=0, version="0.1.0")
    assert simple.key == "307fc2eff5df81952db9"


def test_cells_shared_by_experiments_are_run_once():
    plan = [
        Task("comparison", "HCM", CELL),
        Task("sweep R", "0.2", Cell(**CELL.as_dict())),
        Task("x", "y", replace(CELL, seed=1)),
    ]
    assert [cell.seed for cell in unique_cells(plan)] == [0, 1]


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match="view must be one of raw, scaled, reduced, got 'pca'"):
        replace(CELL, view="pca")
    with pytest.raises(ValueError, match="protocol must be one of"):
        replace(CELL, protocol="doninant")


def test_canonical_json_does_not_depend_on_the_order_of_keys():
    assert canonical_json({"b": 1, "a": [1.5, None, "é"]}) == '{"a":[1.5,null,"\\u00e9"],"b":1}'
