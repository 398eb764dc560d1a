"""Every detector keeps every rule of ``checks.py``."""

from collections.abc import Callable
from functools import partial

import pytest

from checks import CHECKS, Make
from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph
from toys import quick, two_groups


@pytest.fixture(scope="module")
def graph() -> AttributedGraph:
    """Return 48 nodes in two groups, four of them bridges."""
    return two_groups(3, n_each=24)


@pytest.mark.parametrize("rule", CHECKS, ids=lambda rule: rule.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", DETECTORS)
def test_rule(name: str, rule: Callable[[Make, AttributedGraph], None], graph: AttributedGraph) -> None:
    rule(partial(quick, name), graph)
