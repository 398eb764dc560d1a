"""What commands print."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from hopsight.detectors.base import Epoch
from hopsight.runs.console import (
    BarProgress,
    LineProgress,
    Progress,
    make_progress,
    show_ranking,
    shown,
)


def test_ids_are_text_on_one_line_and_not_too_long() -> None:
    assert shown("[bold]a\nb[/bold]") == "[bold]a b[/bold]"
    assert len(shown("x" * 10_000)) == 48
    assert shown(17) == "17"


def test_the_ranking_shows_the_rule_and_further_columns(capsys: pytest.CaptureFixture[str]) -> None:
    more = {"stability": ["100%", "40%"], "what is special": ["income 9", "x" * 90]}
    ranked = [("a", 4.2), ("b" * 99, 1.1)]
    show_ranking(ranked, n_nodes=9, n_flagged=1, threshold=2.0, rule="1 node flagged by a rule.", more=more)
    assert capsys.readouterr().out.splitlines() == [
        "The 2 most anomalous of 9 nodes",
        "rank  node                      score  flagged  stability  what is special",
        "   1  a                         4.200      yes       100%  income 9",
        f"   2  {'b' * 23}…  1.100                 40%  {'x' * 20}…",
        "1 node flagged by a rule.",
    ]


@pytest.mark.parametrize("name", ["[/x]", "[red]Ada[/red]", "[link=https://example.org]Ada[/link]"])
def test_a_name_that_looks_like_markup_is_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_ranking([("a", 0.9)], n_nodes=9, n_flagged=1, threshold=0.5, more={"name": [name]})
    assert name in capsys.readouterr().out


def test_lines_of_a_log_are_as_wide_as_a_terminal() -> None:
    stream = io.StringIO()
    LineProgress(stream).say("a word " * 30 + "y" * 99)
    first, *rest, last = stream.getvalue().splitlines()
    assert len(first) <= 80 and all(len(line) <= 80 and line.startswith("  ") for line in rest)
    assert last.endswith("y" * 99)  # a path is not broken


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
