"""Table 1 and its relatives, with values that can be predicted."""

from __future__ import annotations

from experiments.made import made_suite
from paper.paper_tables import paper_tables, peer_tables


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


def test_each_graph_has_its_own_table_with_interval_and_repetitions(data_dir):
    options = {"graphs": ["amazon"], "data_dir": str(data_dir), "experiments": ["comparison"]}
    _, _, rows = made_suite("paper", **options)
    tables = paper_tables(rows)
    amazon = table(tables, "graph_amazon")
    hcm = dict(zip(amazon.columns, line(amazon, "HCM (paper), AHP"), strict=True))
    assert hcm["paper"] == "0.620"
    assert hcm["95% interval"] == "0.695 to 0.795"
    assert hcm["difference"] == "+0.125"
    assert hcm["repetitions"] == "10"
    assert line(amazon, "MADAN, best")[0].endswith("(uses the labels)")
    assert line(amazon, "degree")[-1] == "1"
    assert table(tables, "graphs").rows == [
        ["Amazon", "as found", "1,000 (1,418)", "5,000 (3,695)", "20 (28)", "32 (28)"]
    ]


def test_a_graph_without_a_copy_keeps_the_papers_value(tmp_path):
    def change(cell):
        return {"status": "no copy", "reason": "fetch it"}

    options = {"graphs": ["acm"], "data_dir": str(tmp_path), "experiments": ["comparison"], "detectors": ["lof"]}
    _, _, rows = made_suite("paper", change=change, **options)
    assert line(table(paper_tables(rows), "table1"), "LOF")[2] == "no copy / 0.473"


def test_the_quick_suite_has_every_table():
    _, _, rows = made_suite(repetitions=1)
    tables = paper_tables(rows)
    assert [table.name for table in tables] == [
        "table1", "graph_generated", "graphs", "mean_scores", "sweep_R", "sweep_C", "sweep_S", "optimizers",
        "variation", "growth_nodes", "growth_edges", "claims",
    ]  # fmt: skip
    assert all(len(line) == len(table.columns) for table in tables for line in table.rows)


def test_mean_ranks_leave_out_the_oracle(data_dir):
    options = {"graphs": ["disney", "amazon"], "data_dir": str(data_dir), "repetitions": 1, "seeds": 1}
    detectors = ["lof", "radar", "paper.oracle:MADANOracle"]
    _, _, rows = made_suite("peers", detectors=detectors, **options)
    ranks = table(peer_tables(rows), "ranks")
    assert ranks.columns == ["detector", "mean rank", "Disney", "Amazon"]
    assert {line[0] for line in ranks.rows} == {"random", "degree", "attribute norm", "LOF", "Radar"}
