"""What a run is asked for survives its record, and every setting has a name and a type."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from hopsight.runs.request import Request, Source, make_detector, typed_settings, with_options


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


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("contamination", "0.2", 0.2),
        ("contamination", "auto", "auto"),
        ("n_epochs", "30", 30),
        ("n_epochs", "1e3", 1000),
        ("n_components", "none", None),
        ("n_components", "20", 20),
        ("lr", "1e-3", 1e-3),
        ("lr", "1", 1.0),
        ("weighted", "true", True),
        ("weighted", "0", False),
        ("score", "hav", "hav"),
        ("evidence", "misfit, ring", ("misfit", "ring")),
    ],
)
def test_a_value_gets_the_type_of_its_field(name: str, text: str, value: object) -> None:
    typed = typed_settings(Example, {name: text})[name]
    assert typed == value
    assert type(typed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("n_epoch", "30", "Example has no parameter 'n_epoch'; did you mean n_epochs?"),
        ("zzz", "30", "Example has no parameter 'zzz'; it has contamination, n_epochs"),
        ("n_epochs", "many", "n_epochs must be a whole number, got 'many'"),
        ("n_epochs", "1.5", "n_epochs must be a whole number, got '1.5'"),
        ("n_epochs", "inf", "n_epochs must be a whole number, got 'inf'"),
        ("n_components", "few", "n_components must be a whole number or none, got 'few'"),
        ("weighted", "maybe", "weighted must be true or false, got 'maybe'"),
        ("seed", "1", "seed has its own option: use seed"),
    ],
)
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


@pytest.mark.parametrize(
    ("settings", "options", "sentence"),
    [
        ({}, {"false_alarms": 0.1, "contamination": 0.05}, "false_alarms and contamination exclude each other"),
        ({"contamination": "0.1"}, {"contamination": 0.05}, "contamination is given twice"),
        ({"evidence": "ring"}, {"evidence": ["ring"]}, "evidence is given twice"),
        ({"contamination": "0.1"}, {"false_alarms": 0.05}, "false_alarms and contamination exclude"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    settings: dict[str, str], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        with_options(settings, **options)
