"""Table 1 and its relatives, with values that can be predicted."""

from __future__ import annotations

from experiments.made import made_suite
from paper.paper_tables import paper_tables


def table(tables, name):
    return next(table for table in tables if table.name == name)


def line(table, start):
    return next(line for line in table.rows if line[0].startswith(start))


def test_table_one_has_ours_the_papers_and_the_difference(data_dir):
    options = {"graphs": ["blogcatalog", "amazon"], "data_dir": str(data_dir), "experiments": ["comparison"]}
    _, _, rows = made_suite("paper", **options)
    first = table(paper_tables(rows), "table1")
    assert first.columns == ["detector", "attributes", "BlogCatalog", "Amazon"]
    # injections 0..4 and seeds 0, 1: mean .7 + .04 + .005; seeds 0..9: mean .745
    assert line(first, "HCM (paper), AHP")[2] == "0.745 ± 0.030 / 0.808 (−0.063)"
    assert line(first, "HCM (paper), HAV")[3] == "0.645 ± 0.030 / 0.708 (−0.063)"
    assert line(first, "MADAN, best")[3] == "0.700 / 0.680 (+0.020)"
    assert line(first, "MADAN")[2] == "0.740 ± 0.032"
    assert [line[1] for line in first.rows if line[0] == "LOF"] == ["usual", "raw"]
    assert "exchanged" in first.note


def test_a_graph_without_a_copy_keeps_the_papers_value(tmp_path):
    def change(cell):
        return {"status": "no copy", "reason": "fetch it"}

    options = {"graphs": ["acm"], "data_dir": str(tmp_path), "experiments": ["comparison"], "detectors": ["lof"]}
    _, _, rows = made_suite("paper", change=change, **options)
    assert line(table(paper_tables(rows), "table1"), "LOF")[2] == "no copy / 0.473"
