"""Checkpoints: an interrupted fit ends as if nothing had happened; a checkpoint of another fit is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.detectors.base import Epoch
from hopsight.hcm import checkpoint, cross_hcm
from hopsight.hcm import training as posterior
from toys import quick, two_groups

BOTH = pytest.mark.parametrize("name", ["hcm", "cross_hcm"])


class InterruptedFitError(Exception):
    """Stands for Ctrl-C, or the power going off."""


@BOTH
@pytest.mark.parametrize("optimizer", ["adam", "psgld"])
@pytest.mark.parametrize("moment", [1, 13, 19])
def test_an_interrupted_fit_resumes_to_the_same_result(
    name: str, optimizer: str, moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit: scores, losses and samples, wherever it stopped and though pairs were drawn in blocks."""
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "PATIENCE", 0)
    monkeypatch.setattr(posterior, "PAIRS_IN_MEMORY", 1)
    graph = two_groups(0)
    settings: dict[str, Any] = {"optimizer": optimizer, "dropout": 0.2}
    whole, stopped, again = (quick(name, **settings) for _ in range(3))
    whole.fit(graph)

    def stop(epoch: Epoch) -> None:
        if epoch.number == moment:
            raise InterruptedFitError

    with pytest.raises(InterruptedFitError):
        stopped.fit(graph, callback=stop, checkpoint=tmp_path / "state")
    epochs: list[int] = []
    again.fit(graph, callback=lambda epoch: epochs.append(epoch.number), checkpoint=tmp_path / "state")
    assert epochs == list(range(moment if moment > 1 else 1, whole.n_epochs + 1))
    for value in ("decision_score_", "loss_", "samples_", "edge_hop_", "edge_variance_"):
        assert np.array_equal(getattr(again, value), getattr(whole, value)), value


def test_what_was_prepared_before_the_first_epoch_is_not_prepared_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding the pool of pairs takes longest in a large graph: a fit that was stopped after it resumes from there."""
    graph = two_groups(0)
    whole, stopped, again = (quick("cross_hcm") for _ in range(3))
    whole.fit(graph)

    class Watcher:
        def part(self, stage: str) -> None:
            if stage == "views":
                raise InterruptedFitError

    with pytest.raises(InterruptedFitError):
        stopped.fit(graph, callback=Watcher(), checkpoint=tmp_path / "state")
    monkeypatch.setattr(cross_hcm, "pair_pool", None)  # calling it would fail
    again.fit(graph, checkpoint=tmp_path / "state")
    for value in ("decision_score_", "loss_", "samples_", "class_sizes_"):
        assert np.array_equal(getattr(again, value), getattr(whole, value)), value


@BOTH
def test_a_checkpoint_of_something_else_is_refused(name: str, tmp_path: Path) -> None:
    graph, state = two_groups(0), tmp_path / "state"
    quick(name).fit(graph, checkpoint=state)
    kept = state.read_bytes()
    for model, other in ((quick(name, seed=1), graph), (quick(name), two_groups(1)), (quick(name, lr=0.02), graph)):
        with pytest.raises(ValueError, match="belongs to another graph or other parameters; run again without"):
            model.fit(other, checkpoint=state)
    for damaged in (kept[:100], kept[:-100], b"", b"x" * 50):
        state.write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot resume from state"):
            quick(name).fit(graph, checkpoint=state)
