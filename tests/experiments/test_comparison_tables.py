"""Tables that compare detectors, with values that can be predicted."""

from __future__ import annotations

from benchmark.made import made_quick
from paper.comparison_tables import PublishedFigures, comparison_tables


def table(tables, name):
    return next(table for table in tables if table.name == name)


def line(table, start):
    return next(line for line in table.rows if line[0].startswith(start))


def test_one_overview_and_one_table_per_graph_without_empty_columns():
    _, _, rows = made_quick(repetitions=2, seeds=2)
    tables = comparison_tables(rows)
    assert [table.name for table in tables] == ["overview", "graph_generated", "graphs"]
    assert all(len(line) == len(table.columns) for table in tables for line in table.rows)
    assert line(tables[0], "HCM (paper), AHP")[2] == "0.715 ± 0.013"
    assert "paper" not in tables[1].columns
    hcm = dict(zip(tables[1].columns, line(tables[1], "HCM (paper), AHP"), strict=True))
    assert (hcm["95% interval"], hcm["repetitions"]) == ("0.665 to 0.765", "4")
    assert tables[2].rows == [
        ["generated", "planted (dominant): n_cliques 2, clique_size 8, n_attribute 16, n_candidates 30", "300", "1,500",
         "20", "32"],
    ]  # fmt: skip


def test_published_values_stand_beside_ours():
    published = PublishedFigures(
        titles={"generated": "Ours"},
        auc=lambda row, score, graph: 0.808 if (row, score) == ("HCM (paper)", "ahp") else None,
        sizes={"generated": (300, 1, 20, 32)},
    )
    _, _, rows = made_quick(repetitions=1)
    tables = comparison_tables(rows, published)
    assert line(tables[0], "HCM (paper), AHP")[2] == "0.700 / 0.808 (−0.108)"
    hcm = dict(zip(tables[1].columns, line(tables[1], "HCM (paper), AHP"), strict=True))
    assert (hcm["paper"], hcm["ROC-AUC"], hcm["difference"]) == ("0.808", "0.700", "−0.108")
    assert tables[2].rows[0][0] == "Ours"
    assert tables[2].rows[0][2:4] == ["300", "1,500 (1)"]


def test_failures_stand_in_the_tables_with_their_reason():
    def change(cell):
        if cell.detector == "hcm" and cell.injection == 1:
            return {"status": "memory limit", "reason": "9 GiB in use"}
        return {"status": "failed", "reason": "ValueError: no"} if cell.detector == "radar" else {}

    _, _, rows = made_quick(change=change, repetitions=2)
    tables = comparison_tables(rows)
    assert line(table(tables, "overview"), "Radar")[2] == "failed"
    assert line(table(tables, "overview"), "HCM (paper), AHP")[2] == "0.700"
    assert line(table(tables, "graph_generated"), "HCM (paper), AHP")[-1] == "1 of 2"
    assert "ValueError: no" in line(table(tables, "graph_generated"), "Radar")[2]
    failures = table(tables, "failures").rows
    assert ["memory limit", "9 GiB in use", "1"] in [line[4:] for line in failures]


def test_mean_ranks_put_failures_last_and_leave_out_what_uses_the_labels(data_dir):
    def change(cell):
        if cell.detector == "lof":
            return {"auc": 0.9} if cell.graph == "disney" else {"status": "failed", "reason": "no"}
        return {"auc": {"radar": 0.8, "random": 0.5, "degree": 0.6, "attribute_norm": 0.55}.get(cell.detector, 0.99)}

    options = {"graphs": ["disney", "amazon"], "data_dir": str(data_dir), "repetitions": 1, "seeds": 1}
    detectors = ["lof", "radar", "some.module:Oracle"]
    _, _, rows = made_quick(change=change, detectors=detectors, **options)
    ranks = table(comparison_tables(rows), "ranks")
    assert ranks.columns == ["detector", "mean rank", "disney", "amazon"]
    assert ranks.rows == [
        ["Radar", "1.5", "2", "1"],
        ["degree", "2.5", "3", "2"],
        ["LOF", "3.0", "1", "5"],
        ["attribute norm", "3.5", "4", "3"],
        ["random", "4.5", "5", "4"],
    ]
