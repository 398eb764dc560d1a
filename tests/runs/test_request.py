"""What a run is asked for, and what commands print."""

import dataclasses
import io
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from hopsight.detectors.base import Epoch
from hopsight.runs.console import BarProgress, LineProgress, show_ranking, shown
from hopsight.runs.request import Request, Source, make_detector, typed_settings, with_options
from toys import refuses


def test_every_field_of_a_request_survives_the_record() -> None:
    source = Source(path="e", nodes="n", directed=True, label="l", ignore=("a", "b"), missing="mean")
    request = Request(
        source=source, detector="lof", settings={"contamination": "0.2"}, memory_limit="8GB", top=3, repeat=5
    )
    written = json.loads(json.dumps(dataclasses.asdict(request)))
    assert Request.from_record({"request": written}) == request


@dataclass(kw_only=True)
class Example:
    """A detector's fields with every kind of type that one has."""

    seed: int | None = 0
    device: str = "auto"
    contamination: float | str = 0.1
    n_epochs: int = 100
    n_components: int | None = None
    lr: float = 0.1
    weighted: bool = False
    evidence: tuple[str, ...] = ("misfit",)
    score: Literal["ahp", "hav"] = "ahp"


@pytest.mark.parametrize(("name", "text", "value"), [
    ("contamination", "0.2", 0.2), ("contamination", "auto", "auto"), ("n_epochs", "30", 30),
    ("n_epochs", "1e3", 1000), ("n_components", "none", None), ("n_components", "20", 20), ("lr", "1e-3", 1e-3),
    ("lr", "1", 1.0), ("weighted", "true", True), ("weighted", "0", False), ("score", "hav", "hav"),
    ("evidence", "misfit, ring", ("misfit", "ring")),
])  # fmt: skip
def test_a_value_gets_the_type_of_its_field(name: str, text: str, value: object) -> None:
    typed = typed_settings(Example, {name: text})[name]
    assert typed == value and type(typed) is type(value)


@pytest.mark.parametrize(("name", "text", "sentence"), [
    ("n_epoch", "30", "Example has no parameter 'n_epoch'; did you mean n_epochs?"),
    ("zzz", "30", "Example has no parameter 'zzz'; it has contamination, n_epochs"),
    ("n_epochs", "many", "n_epochs must be a whole number, got 'many'"),
    ("n_epochs", "1.5", "n_epochs must be a whole number, got '1.5'"),
    ("n_epochs", "inf", "n_epochs must be a whole number, got 'inf'"),
    ("n_components", "few", "n_components must be a whole number or none, got 'few'"),
    ("weighted", "maybe", "weighted must be true or false, got 'maybe'"),
    ("seed", "1", "seed has its own option: use seed"),
])  # fmt: skip
def test_a_wrong_name_or_value_gets_one_sentence(name: str, text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refusal:
        typed_settings(Example, {name: text})
    assert str(refusal.value).startswith(sentence)


def test_options_become_settings_and_reach_the_detector() -> None:
    settings = with_options({}, evidence=["ring", "lockstep"], false_alarms=0.2)
    detector = make_detector("cross_hcm", settings=settings)
    assert (detector.evidence, detector.false_alarms, detector.contamination) == (("ring", "lockstep"), 0.2, "auto")
    assert make_detector("lof", settings=with_options({}, contamination=0.05)).contamination == 0.05
    assert with_options({"lr": "1"}) == {"lr": "1"}


@pytest.mark.parametrize(("settings", "options", "sentence"), [
    ({}, {"false_alarms": 0.1, "contamination": 0.05}, "false_alarms and contamination exclude each other"),
    ({"contamination": "0.1"}, {"contamination": 0.05}, "contamination is given twice"),
    ({"evidence": "ring"}, {"evidence": ["ring"]}, "evidence is given twice"),
    ({"contamination": "0.1"}, {"false_alarms": 0.05}, "false_alarms and contamination exclude"),
])  # fmt: skip
def test_options_that_contradict_each_other_are_refused(
    settings: dict[str, str], options: dict[str, Any], sentence: str
) -> None:
    refuses(sentence, with_options, settings, **options)


def test_ids_are_text_on_one_line_and_not_too_long() -> None:
    assert shown("[bold]a\nb[/bold]") == "[bold]a b[/bold]" and len(shown("x" * 10_000)) == 48
    assert shown(17) == "17"


def test_the_ranking_shows_the_rule_and_further_columns(capsys: pytest.CaptureFixture[str]) -> None:
    more = {"stability": ["100%", "40%"], "what is special": ["income 9", "x" * 90]}
    ranked = [("a", 4.2), ("b" * 24, 1.1)]
    show_ranking(ranked, n_nodes=9, n_flagged=1, threshold=2.0, rule="1 node flagged by a rule.", more=more)
    assert capsys.readouterr().out.splitlines() == [
        "The 2 most anomalous of 9 nodes",
        "rank  node                      score  flagged  stability  what is special",
        "   1  a                         4.200      yes       100%  income 9",
        f"   2  {'b' * 24}  1.100                 40%  {'x' * 21}",
        *(f"{' ' * 59}{'x' * 21}" for _ in range(3)),
        f"{' ' * 59}{'x' * 6}",
        "1 node flagged by a rule.",
    ]


def test_a_reason_without_room_beside_it_has_lines_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Other columns take 4 + 24 + 5 + 7 + 9 + 9 and twelve spaces: ten of 80 columns are left."""
    more = {"stability": ["100%"], "probation": ["y"], "what is special": ["sent 1,661 PLN; about 66 is usual"]}
    show_ranking([("b" * 24, 4.2)], n_nodes=9, n_flagged=1, threshold=2.0, more=more)
    assert capsys.readouterr().out.splitlines()[3:-1] == [
        f"   1  {'b' * 24}  4.200      yes       100%          y",
        "      sent 1,661 PLN; about 66 is usual",
    ]


def test_names_are_cut_before_reasons_which_go_on_in_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the name, 34 columns are taken; of 80, 32 are left beside a name of twelve and its gap."""
    names, reasons = ["Company 614, LLC", "Ada"], ["49,184 to 50,705 around 4 nodes within 3 days", "short"]
    more = {"name": names, "what is special": reasons}
    show_ranking([("74-1022718", 4.2), ("b", 1.1)], n_nodes=9, n_flagged=1, threshold=2.0, more=more)
    assert capsys.readouterr().out.splitlines()[1:-1] == [
        "rank  node        score  flagged  name          what is special",
        "   1  74-1022718  4.200      yes  Company 614…  49,184 to 50,705 around 4 nodes",
        "                                                within 3 days",
        "   2  b           1.100           Ada           short",
    ]
    show_ranking([("a", 4.2)], n_nodes=9, n_flagged=1, threshold=2.0, more={"name": names[:1], "why": ["x" * 37]})
    assert capsys.readouterr().out.splitlines()[2] == f"   1  a     4.200      yes  Company 614,…  {'x' * 37}"


def test_an_iban_is_shown_whole_and_a_name_takes_what_room_it_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    """4 + 34 + 5 + 7 columns and eight spaces leave 22 for the name; the reason has a line of its own."""
    more = {"name": ["x" * 24, "Ada"], "what is special": ["66% of 65,837 PLN out again", "short"]}
    show_ranking([("b" * 34, 4.2), ("c" * 35, 1.1)], n_nodes=9, n_flagged=1, threshold=2.0, more=more)
    assert capsys.readouterr().out.splitlines()[3:-1] == [
        f"   1  {'b' * 34}  4.200      yes  {'x' * 21}…",
        "      66% of 65,837 PLN out again",
        f"   2  {'c' * 33}…  1.100           Ada",
        "      short",
    ]


def test_lines_of_a_log_are_as_wide_as_a_terminal() -> None:
    stream = io.StringIO()
    LineProgress(stream).say("a word " * 30 + "y" * 99)
    first, *rest, last = stream.getvalue().splitlines()
    assert len(first) <= 80 and all(len(line) <= 80 and line.startswith("  ") for line in rest)
    assert last.endswith("y" * 99)  # a path is not broken


def epoch(number: int) -> Epoch:
    return Epoch(number, 10, 0.5, lambda: np.zeros(1))


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


def test_the_bar_follows_the_epochs_and_prints_messages_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    bar = BarProgress()
    bar.begin("fit")
    bar.epoch(epoch(4))
    bar.say("[bold]kept[/bold]")
    task = bar.display.tasks[0]
    bar.close()
    assert (task.completed, task.total, task.description) == (4, 10, "Fitting")
    assert task.fields["detail"] == "epoch 4 of 10, loss 0.5" and "[bold]kept[/bold]" in capsys.readouterr().err
