"""A table that is read like an earlier one, whose forms are remembered."""

from pathlib import Path

import numpy as np

from hopsight.io import rules
from hopsight.loading import load

from .cases import PEOPLE, loaded, put, rows

HEADER = "from,to,amount,date"


def dated(*dates: str) -> list[str]:
    return rows("{a},{b},{i},{c}", dates)


def test_forms_are_those_of_the_earlier_table_and_each_table_has_its_own(tmp_path: Path) -> None:
    """01/02/2024 is January 2 or February 1; the node table of the same column is written the other way."""
    edges = put(tmp_path / "edges.csv", HEADER, dated("01/02/2024", "05/31/2024"))
    nodes = put(tmp_path / "nodes.csv", "id,date", [f"{who},{day}/02/2024" for day, who in enumerate(PEOPLE, 10)])
    with rules.remembered({}) as forms:
        loaded(edges, nodes=nodes)
    put(edges, HEADER, dated("01/02/2024", "02/03/2024"))
    with rules.remembered(forms):
        graph, _ = loaded(edges, nodes=nodes)
    assert graph.edge_time is not None
    assert {*np.asarray(graph.edge_time, "datetime64[s]").astype(str)} <= {"2024-01-02T00:00:00", "2024-02-03T00:00:00"}


def test_a_status_counts_as_in_the_earlier_table(tmp_path: Path) -> None:
    paid = put(tmp_path / "paid.csv", "from,to,amount,status", dated("failed", "failed", "ok"))
    with rules.remembered({}) as forms:
        assert load(paid, notices=[]).n_edges == 12
    put(paid, "from,to,amount,status", dated("failed", "ok", "ok"))
    with rules.remembered(forms):
        assert load(paid, notices=[]).n_edges == 12
    assert load(paid, notices=[]).n_edges == 8


def test_the_order_of_day_and_month_of_an_earlier_file_is_said(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", HEADER, dated("01/02/2024", "31/05/2024"))
    with rules.remembered({}) as forms:
        loaded(path)
    put(path, HEADER, dated("06/07/2024", "06/12/2024"))
    with rules.remembered(forms):
        _, notices = loaded(path)
    read = "Column 'date': read '06/07/2024' as day/month/year as in the earlier file: no row of this one decides."
    assert read in notices
    assert "Read column 'date' as the time of each edge: 06 Jul 2024 to 06 Dec 2024." in notices
