"""Recipes: every parameter written out, and facts that come from the class."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from hopsight.benchmark.recipes import (
    all_recipes,
    attribute_norm,
    check_recipes,
    degree,
    is_deterministic,
    parameters_of,
    title_of,
)
from hopsight.detectors import DETECTORS
from hopsight.hcm.hcm import HCM


def test_parameters_are_complete_so_that_a_changed_default_is_a_new_cell():
    parameters = parameters_of("hcm-paper", {"n_epochs": 7, "burn_in": 2})
    assert set(parameters) == {entry.name for entry in fields(HCM)} - {"seed"}
    paper = HCM.paper(n_epochs=7, burn_in=2)
    assert {name: getattr(paper, name) for name in parameters} == parameters


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


def test_degree_and_norm_by_hand(star_graph):
    assert degree(star_graph, 0).tolist() == [5, 1, 1, 1, 1, 1]
    expected = [np.hypot(2 * i, 2 * i + 1) for i in range(6)]
    assert attribute_norm(star_graph, 0) == pytest.approx(expected)
