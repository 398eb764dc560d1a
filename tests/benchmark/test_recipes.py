"""Recipes: every parameter spelled out."""

from __future__ import annotations

from dataclasses import fields

import pytest

from hopsight.benchmark.recipes import (
    TITLES,
    check_detectors,
    detector_class,
    from_plain,
    parameters_of,
    to_plain,
)
from hopsight.detectors import DETECTORS
from hopsight.hcm.hcm import HCM


def test_parameters_are_complete_so_that_a_changed_default_is_a_new_cell():
    parameters = parameters_of("hcm-paper", {"n_epochs": 7, "burn_in": 2})
    assert set(parameters) == {entry.name for entry in fields(HCM)} - {"seed"}
    paper = HCM.paper(n_epochs=7, burn_in=2)
    assert {name: getattr(paper, name) for name in parameters} == parameters


def test_changes_a_detector_does_not_have_are_left_out():
    assert parameters_of("lof", {"n_epochs": 7, "n_neighbors": 5})["n_neighbors"] == 5
    assert "n_epochs" not in parameters_of("lof", {"n_epochs": 7})
    assert parameters_of("degree", {"n_epochs": 7}) == {}


def test_the_device_reaches_the_detector():
    assert parameters_of("hcm", {}, device="cpu")["device"] == "cpu"


def test_tuples_survive_the_way_through_json():
    assert to_plain((64, (32, 16))) == [64, [32, 16]]
    assert from_plain({"widths": [64, 32], "lr": 0.1}) == {"widths": (64, 32), "lr": 0.1}


def test_every_detector_has_a_title_and_a_name_on_the_command_line():
    assert set(DETECTORS) <= set(TITLES)
    with pytest.raises(ValueError, match="did you mean dominant"):
        check_detectors(["dominnt"])
    with pytest.raises(ValueError, match="detectors"):
        check_detectors(["hcn*"])
    check_detectors(["hcm", "hcm*", "lof*", "random", "pygod:DOMINANT", "some.module:Class"])


def test_a_class_is_found_by_its_address():
    assert detector_class("hopsight.hcm.hcm:HCM") is HCM
    assert detector_class("hcm") is HCM
