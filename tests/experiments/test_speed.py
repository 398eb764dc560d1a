"""The table of speed ratios: turns, medians, and the change since the last commit."""

from __future__ import annotations

import pytest

import speed


def test_both_forms_take_turns_and_the_first_turn_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    seconds = {"theirs": iter([100.0, 4.0, 6.0, 5.0]), "ours": iter([50.0, 1.0, 3.0, 2.0])}
    turns: list[str] = []
    monkeypatch.setattr(speed.time, "perf_counter", lambda: clock[0])

    def work(name: str) -> None:
        turns.append(name)
        clock[0] += next(seconds[name])

    found = speed.measured(lambda: work("theirs"), lambda: work("ours"), 3)
    assert turns == ["theirs", "ours"] * 4
    assert found == {"theirs": 5.0, "ours": 2.0, "ratio": 2.5}


@pytest.mark.parametrize(
    ("before", "end"), [(None, "times our time"), (2.1, "(-5%)"), (4.0, "(-50%): SLOWER"), (1.0, "(+100%): faster")]
)
def test_a_line_points_out_a_noticeable_change(before: float | None, end: str) -> None:
    assert speed.line("PCA", 2.0, before).endswith(end)
