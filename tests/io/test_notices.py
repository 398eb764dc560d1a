"""Notices reach the caller's list, or the log."""

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.io.notices import notice, notice_merged


def test_without_a_list_it_is_a_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    notice("100% of a column is left out", None)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "100% of a column is left out")
    ]


@pytest.mark.parametrize(("rule", "words"), [
    ("sum", "added up their weights"), ("count", "counted them as weight"), ("last", "kept the weight of the last one"),
])  # fmt: skip
def test_the_rule_for_duplicates_is_stated(rule: str, words: str) -> None:
    kept: list[str] = []
    edges = {"edge_weight": [1.0, 2.0, 4.0], "duplicates": rule}
    notice_merged(AttributedGraph.from_edges([0, 0, 1], [1, 1, 0], np.ones((2, 1)), **edges), kept, rule)
    assert kept == [
        f"1 row repeats a pair of nodes: merged the rows of each pair into one edge and {words}.",
        f"Merged 1 pair of opposite edges and {words}; pass directed=True to keep both.",
    ]
