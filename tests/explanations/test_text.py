"""Numbers, names and tables as text."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hopsight.explanations.text import flagged_sentence, percent


@pytest.mark.parametrize(("value", "text"), [(0.0, "0%"), (98.99, "98%"), (99.56, "99.5%"), (99.999, "99.9%")])
def test_a_percentage_never_rounds_up_to_everything(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("contamination", "n_flagged", "sentence"),
    [
        ("auto", 24, "24 nodes stand out (score above 3.5)."),
        ("auto", 1, "1 node stands out (score above 3.5)."),
        ("auto", 0, "No node stands out from the bulk; the ranking says whom to look at first."),
        (0.05, 120, "120 nodes flagged (score above 3.5): 5% of all, as asked."),
        (0.05, 90, "90 nodes flagged (score above 3.5): 5% of all, as asked; of nodes with equal scores all are "
         "flagged or none."),
    ],
)  # fmt: skip
def test_the_rule_for_flagging_is_named(contamination: float | str, n_flagged: int, sentence: str) -> None:
    model = SimpleNamespace(contamination=contamination, false_alarms=0.1, threshold_=3.5)
    assert flagged_sentence(model, n_flagged, 2400) == sentence
    scored = flagged_sentence(model, 7, 2400, scored=True)
    assert scored == "7 nodes flagged (score above 3.5), by the threshold of the fit."


@pytest.mark.parametrize(
    ("probability", "sentence"),
    [
        ([0.9, 0.8, 0.1], "2 nodes flagged (score above 3.5); by the labels, 15% of them are expected to be "
         "false alarms."),
        ([0.95, 0.2, 0.1], "1 node flagged (score above 3.5); by the labels, the chance of a false alarm is 5%."),
        ([0.4, 0.2, 0.1], "No node stands out from the bulk; the ranking says whom to look at first."),
    ],
)  # fmt: skip
def test_only_labels_say_how_many_false_alarms_to_expect(probability: list[float], sentence: str) -> None:
    chances = np.array(probability)
    flags = (chances > 0.5).astype(np.int64)
    model = SimpleNamespace(contamination="auto", threshold_=3.5, probability_=chances, label_=flags)
    assert flagged_sentence(model, int(flags.sum()), 3) == sentence
