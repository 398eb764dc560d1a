"""Each check accepts its range and refuses what lies outside, naming parameter, range and value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hopsight import checks
from toys import refuses


@pytest.mark.parametrize(("check", "allowed", "refused"), [
    (checks.check_positive, [1, 0.001, 1e300, np.float32(2), np.int64(3)], [0, -1, float("nan"), float("inf")]),
    (checks.check_not_negative, [0, 3.5], [-0.001, float("nan")]),
    (checks.check_ratio, [0, 0.5, 0.999], [1, 1.0, -0.1, float("nan")]),
    (checks.check_count, [1, 7, np.int64(7)], [0, -1, 1.0, 2.5, True, "3", None]),
])  # fmt: skip
def test_the_limits_of_each_range(check: Callable[..., None], allowed: list[Any], refused: list[Any]) -> None:
    for value in allowed:
        check("parameter", value)
    for value in refused:
        refuses(r"^parameter must be", check, "parameter", value)


@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_anything_but_a_number_is_refused(value: Any) -> None:
    for check in (checks.check_positive, checks.check_not_negative, checks.check_ratio):
        refuses("lr must be a finite number", check, "lr", value)


def test_a_message_names_parameter_range_and_value() -> None:
    with pytest.raises(ValueError, match=r"^drop_ratio must be at least 0.1 and below 0.9, got 0.95$"):
        checks.check_ratio("drop_ratio", 0.95, low=0.1, high=0.9)
    refuses(r"^n_layers must be at least 2 and at most 4, got 5$", checks.check_count, "n_layers", 5, low=2, high=4)
    refuses(r"^n_layers must be at least 1, got 0$", checks.check_count, "n_layers", 0)


def test_a_wrong_word_gets_the_closest_right_one() -> None:
    checks.check_choice("score", "hav", ("ahp", "iv", "hav"))
    with pytest.raises(ValueError, match=r"score must be one of ahp, iv, hav, got 'hva'; did you mean hav\?"):
        checks.check_choice("score", "hva", ("ahp", "iv", "hav"))
    refuses(r"got 'zzz'$", checks.check_choice, "score", "zzz", ("ahp", "iv", "hav"))
