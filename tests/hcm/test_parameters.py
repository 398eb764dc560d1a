"""The parameter sheet: what training reads of it, and how the memory estimate grows."""

from __future__ import annotations

import torch

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.hcm.hcm import HCM
from toys import two_groups


def test_the_schedule_is_made_of_the_parameters() -> None:
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
