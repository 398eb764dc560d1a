"""Checkpoints: an interrupted fit ends as if nothing had happened; a checkpoint of another fit is refused."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hopsight.detectors.base import Epoch
from hopsight.hcm import checkpoint, cross_hcm
from hopsight.hcm import train as training
from hopsight.hcm.checkpoint import Checkpoint
from hopsight.hcm.posterior import EdgePosterior
from toys import quick, refuses, two_groups

BOTH = pytest.mark.parametrize("name", ["hcm", "cross_hcm"])


class InterruptedFitError(Exception):
    """Stands for Ctrl-C, or the power going off."""


@pytest.fixture
def saved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "PATIENCE", 0)


@BOTH
@pytest.mark.usefixtures("saved_at_once")
@pytest.mark.parametrize("optimizer", ["adam", "psgld"])
@pytest.mark.parametrize("moment", [1, 13])
def test_an_interrupted_fit_resumes_to_the_same_result(
    name: str, optimizer: str, moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit: scores, losses and samples, wherever it stopped and though pairs were drawn in blocks."""
    monkeypatch.setattr(training, "PAIRS_IN_MEMORY", 1)
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
@pytest.mark.usefixtures("saved_at_once")
@pytest.mark.parametrize("moment", [0, 7])
def test_a_fit_that_stops_while_judging_resumes_there(
    name: str, moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither training nor the samples that have judged are repeated, and every value is the same to the bit."""
    graph, state = two_groups(0), tmp_path / "state"
    whole, stopped, again = (quick(name, dropout=0.2, dropout_at_prediction=True) for _ in range(3))
    whole.fit(graph)
    save = EdgePosterior.save

    def save_and_stop(self: EdgePosterior, where: Checkpoint, n_turns: int) -> None:
        if n_turns > moment:
            raise InterruptedFitError
        save(self, where, n_turns)

    monkeypatch.setattr(EdgePosterior, "save", save_and_stop)
    with pytest.raises(InterruptedFitError):
        stopped.fit(graph, checkpoint=state)
    judged: list[int] = []
    monkeypatch.setattr(EdgePosterior, "save", lambda self, where, n_turns: judged.append(n_turns))
    epochs: list[int] = []
    again.fit(graph, callback=lambda epoch: epochs.append(epoch.number), checkpoint=state)
    assert epochs == [] and judged == list(range(moment + 1, whole.samples_.shape[0] * whole.samples_.shape[1] + 1))
    for value in ("decision_score_", "loss_", "samples_", "edge_hop_", "edge_variance_", "edge_surprise_"):
        assert np.array_equal(getattr(again, value), getattr(whole, value)), value


@BOTH
def test_a_checkpoint_of_something_else_is_refused(name: str, tmp_path: Path) -> None:
    graph, state = two_groups(0), tmp_path / "state"
    quick(name).fit(graph, checkpoint=state)
    kept = state.read_bytes()
    for model, other in ((quick(name, seed=1), graph), (quick(name), two_groups(1)), (quick(name, lr=0.02), graph)):
        refuses(
            "belongs to another graph or other parameters; run again with those", model.fit, other, checkpoint=state
        )
    assert state.read_bytes() == kept  # whoever owns it can still resume


@BOTH
def test_a_damaged_checkpoint_is_refused_and_kept_aside(name: str, tmp_path: Path) -> None:
    """One flipped bit anywhere is noticed, and so is a file that others wrote with a checksum of its own."""
    graph, state, aside = two_groups(0), tmp_path / "state", tmp_path / "state-damaged"
    quick(name).fit(graph, checkpoint=state)
    kept = state.read_bytes()
    places = (0, 40, 200, len(kept) // 2, len(kept) - 1)
    flipped = [kept[:place] + bytes([kept[place] ^ 1]) + kept[place + 1 :] for place in places]
    told = r"which is damaged .* and is now called state-damaged: run again without resume=True"
    for damaged in (*flipped, kept[:100], kept[:-100], b"", b"x" * 50):
        state.write_bytes(damaged)
        refuses(told, quick(name).fit, graph, checkpoint=state)
        assert not state.exists() and aside.read_bytes() == damaged


def test_a_state_that_does_not_fit_is_one_sentence_too(tmp_path: Path) -> None:
    graph, state = two_groups(0), tmp_path / "state"
    quick("hcm").fit(graph, checkpoint=state)
    header = json.loads(state.read_bytes()[40 : 40 + int.from_bytes(state.read_bytes()[32:40], "little")])
    key = header["__metadata__"]["key"]
    pool, ours = Checkpoint(state, key).prepared("pool"), Checkpoint(state, key)
    ours.prepare("pool", pool)
    for tensors in ({}, {"0.weights": torch.zeros(3)}):
        ours.save(tensors, {"epoch": 2, "pairs": None})
        refuses("cannot resume from state, which is damaged", quick("hcm").fit, graph, checkpoint=state)


def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state")
    refuses("not a file but a folder, pipe or device", Checkpoint(tmp_path / "state", "key").load)
