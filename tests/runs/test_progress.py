"""Progress: stage, speed and time left, in bars or lines, with control characters escaped."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from hopsight.checks import duration
from hopsight.detectors.base import Epoch
from hopsight.runs.console import BarProgress, LineProgress, Progress, make_progress, one_line


def epoch(number: int) -> Epoch:
    return Epoch(number, 10, 0.5, lambda: np.zeros(1))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say yes."""
        return True


def test_lines_say_stage_epoch_loss_speed_and_time_left() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream, seconds_between=0.0)
    progress.begin("fit")
    progress.epoch(epoch(5))
    progress.epoch(epoch(6))
    progress.end("fit", 2.0)
    first, second, last = stream.getvalue().splitlines()
    assert first == "Fitting: epoch 5 of 10, loss 0.5"
    assert re.fullmatch(r"Fitting: epoch 6 of 10, loss 0\.5, \S+/s, 0\.0 s left", second)
    assert last == "Fitting took 2.0 s"


def test_training_is_named_with_its_epoch() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream, seconds_between=0.0)
    progress.begin("fit")
    progress.part("train")
    progress(epoch(9))
    assert stream.getvalue().splitlines()[-1].startswith("Training: epoch 9 of 10, loss 0.5")


def test_lines_are_seconds_apart() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream, seconds_between=60.0)
    progress.begin("fit")
    for number in range(1, 11):
        progress.epoch(epoch(number))
    assert stream.getvalue() == ""


def test_speed_is_that_of_the_last_half_minute_of_this_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)
    stream = io.StringIO()
    progress = LineProgress(stream, seconds_between=0.0)
    progress.begin("fit")
    for now, number in ((0.0, 1), (50.0, 2), (100.0, 3), (110.0, 5), (120.0, 7)):
        monkeypatch.setattr("time.perf_counter", lambda now=now: now)
        progress.epoch(epoch(number))
    assert stream.getvalue().splitlines()[-1].endswith(", 0.2/s, 15 s left")


def test_another_fit_does_not_spoil_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)
    stream = io.StringIO()
    progress = LineProgress(stream, seconds_between=0.0)
    progress.begin("fit")
    for now, number in ((0.0, 9), (1.0, 10), (5.0, 1), (6.0, 2)):
        monkeypatch.setattr("time.perf_counter", lambda now=now: now)
        progress.epoch(epoch(number))
    assert stream.getvalue().splitlines()[-1].endswith(", 1/s, 8.0 s left")


def test_bars_on_a_terminal_lines_in_a_log_nothing_when_quiet() -> None:
    assert isinstance(make_progress(io.StringIO()), LineProgress)
    assert type(make_progress(Terminal(), quiet=True)) is Progress
    bar = make_progress(Terminal())
    bar.close()
    assert isinstance(bar, BarProgress)


def test_the_bar_follows_the_epochs_and_prints_messages_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    bar = BarProgress()
    bar.begin("fit")
    bar.epoch(epoch(4))
    bar.say("[bold]kept[/bold]")
    task = bar.display.tasks[0]
    bar.close()
    assert (task.completed, task.total, task.description) == (4, 10, "Fitting")
    assert task.fields["detail"] == "epoch 4 of 10, loss 0.5"
    assert "[bold]kept[/bold]" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "text"), [(59.6, "1 min 0 s"), (3599.7, "1 h 0 min"), (9.99, "10.0 s")])
def test_durations_round_into_the_next_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_control_characters_are_escaped() -> None:
    assert one_line("a\x1b]0;title\x07\r\nb") == "a\\x1b]0;title\\x07 b"
