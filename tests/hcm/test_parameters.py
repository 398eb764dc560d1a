"""The parameter sheet: what training reads of it, and how the memory estimate grows."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.hcm import HCM
from toys import two_groups


def test_the_schedule_is_made_of_the_parameters() -> None:
    for kind in (HCM, CrossHCM):
        model: Any = kind(dropout=0.25, n_samples=3)
        schedule = model.schedule()
        shared = {field.name for field in fields(schedule)} & {field.name for field in fields(model)}
        assert shared == {field.name for field in fields(schedule)} - {"dtype"}
        assert all(getattr(schedule, name) == getattr(model, name) for name in shared)
    schedule = HCM(lr=0.5, n_epochs=7, burn_in=3, precision="bfloat16").schedule()
    assert (schedule.lr, schedule.n_epochs, schedule.burn_in, schedule.dtype) == (0.5, 7, 3, torch.bfloat16)
    assert schedule.lr_at(6) == 0.5
    assert HCM(lr=0.5, lr_decay=1.0).schedule().lr_at(1) == 0.25


def test_wider_layers_and_more_epochs_are_expected_to_need_more() -> None:
    graph = two_groups()
    for kind in (HCM, CrossHCM):
        _memory, operations = kind().expected_need(graph)
        assert kind(n_epochs=400).expected_need(graph)[1] > operations
        assert kind(mlp_units=5000).expected_need(graph)[1] > operations
    assert HCM(mlp_units=5000).expected_need(graph)[0] > HCM().expected_need(graph)[0]


def test_more_networks_and_folds_are_expected_to_need_more() -> None:
    """Every inner fold of every network keeps a view per node, except the one that is set aside."""
    graph = two_groups()
    (memory, operations), (wider, _), (more, longer) = (
        CrossHCM(n_folds=n_folds, n_inner=n_inner).expected_need(graph) for n_folds, n_inner in ((2, 4), (2, 5), (4, 4))
    )
    per_view = graph.n_nodes * 2 * graph.n_attributes * 4
    weights = 2 * 64 * (2 * graph.n_attributes + 128) + 128 * 4  # of one network
    per_network = 4 * weights * (6 + 3 * 15)  # values, gradients, moments; 15 posterior samples
    assert wider - memory == pytest.approx(2 * per_view)
    assert more - memory == pytest.approx(2 * (3 * per_view + per_network))
    assert longer > operations


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1, got 0"),
        ({"burn_in": 200}, "burn_in must be less than n_epochs, got burn_in 200 and n_epochs 200"),
        ({"sampling_ratio": 0.0}, "sampling_ratio must be above 0, got 0.0"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"prediction": "mode"}, "prediction must be one of argmax, expected"),
    ],
)
def test_a_parameter_outside_its_range_is_refused(setting: dict[str, Any], message: str) -> None:
    for kind in (HCM, CrossHCM):
        with pytest.raises(ValueError, match=message):
            kind(**setting).check()
