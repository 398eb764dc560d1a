"""Table 1 and its relatives, with figures that can be foreseen."""

from __future__ import annotations

from benchmark.made import made_suite
from hopsight.benchmark.comparison_tables import comparison_tables


def table(tables, name):
    return next(table for table in tables if table.name == name)


def line(table, start):
    return next(line for line in table.rows if line[0].startswith(start))


def test_table_one_has_ours_the_papers_and_the_difference(data_dir):
    options = {"networks": ["blogcatalog", "amazon"], "data_dir": str(data_dir), "experiments": ["comparison"]}
    _, _, rows = made_suite("paper", **options)
    tables = comparison_tables("paper", rows)
    first = table(tables, "table1")
    assert first.columns == ["detector", "attributes", "BlogCatalog", "Amazon"]
    # injections 0..4 and seeds 0, 1: mean .7 + .04 + .005; seeds 0..9: mean .745
    assert line(first, "HCM (paper), AHP")[2] == "0.745 ± 0.030 / 0.808 (−0.063)"
    assert line(first, "HCM (paper), HAV")[3] == "0.645 ± 0.030 / 0.708 (−0.063)"
    assert line(first, "MADAN, best")[3] == "0.700 / 0.680 (+0.020)"
    assert line(first, "MADAN")[2] == "0.740 ± 0.032"
    assert [line[1] for line in first.rows if line[0] == "LOF"] == ["usual", "raw"]
    assert "exchanged" in first.note


def test_a_network_has_its_own_table_with_interval_and_repetitions(data_dir):
    options = {"networks": ["amazon"], "data_dir": str(data_dir), "experiments": ["comparison"]}
    _, _, rows = made_suite("paper", **options)
    amazon = table(comparison_tables("paper", rows), "network_amazon")
    hcm = dict(zip(amazon.columns, line(amazon, "HCM (paper), AHP"), strict=True))
    assert hcm["paper"] == "0.620"
    assert hcm["95 % interval"] == "0.695 to 0.795"
    assert hcm["difference"] == "+0.125"
    assert hcm["repetitions"] == "10"
    assert line(amazon, "MADAN, best")[0].endswith("(uses the labels)")
    assert line(amazon, "degree")[-1] == "1"


def test_failures_stand_in_the_tables_with_their_reason():
    def change(cell):
        if cell.detector == "hcm" and cell.injection == 1:
            return {"status": "memory limit", "reason": "9 GiB in use"}
        return {"status": "failed", "reason": "ValueError: no"} if cell.detector == "radar" else {}

    _, _, rows = made_suite(change=change, repetitions=2, experiments=["comparison"])
    tables = comparison_tables("quick", rows)
    assert line(table(tables, "table1"), "Radar")[2] == "failed"
    assert line(table(tables, "table1"), "HCM (paper), AHP")[2] == "0.700"
    assert line(table(tables, "network_generated"), "HCM (paper), AHP")[-1] == "1 of 2"
    assert "ValueError: no" in line(table(tables, "network_generated"), "Radar")[3]
    failures = table(tables, "failures").rows
    assert ["memory limit", "9 GiB in use", "1"] in [line[4:] for line in failures]


def test_networks_beside_the_papers_sizes(data_dir):
    options = {"networks": ["amazon"], "data_dir": str(data_dir), "experiments": ["comparison"], "detectors": ["lof"]}
    _, _, rows = made_suite("paper", **options)
    assert table(comparison_tables("paper", rows), "networks").rows == [
        ["Amazon", "as found", "1,000 (1,418)", "5,000 (3,695)", "20 (28)", "32 (28)"]
    ]


def test_mean_ranks_leave_out_the_oracle_and_put_failures_last(data_dir):
    def change(cell):
        if cell.detector == "lof":
            return {"auc": 0.9} if cell.network == "disney" else {"status": "failed", "reason": "no"}
        return {"auc": {"radar": 0.8, "random": 0.5, "degree": 0.6, "attribute_norm": 0.55}.get(cell.detector, 0.99)}

    options = {"networks": ["disney", "amazon"], "data_dir": str(data_dir), "repetitions": 1, "seeds": 1}
    _, _, rows = made_suite("peers", change=change, detectors=["lof", "radar", "madan_oracle"], **options)
    ranks = table(comparison_tables("peers", rows), "ranks")
    assert ranks.columns == ["detector", "mean rank", "Disney", "Amazon"]
    assert ranks.rows == [
        ["Radar", "1.5", "2", "1"],
        ["degree", "2.5", "3", "2"],
        ["LOF", "3.0", "1", "5"],
        ["attribute norm", "3.5", "4", "3"],
        ["random", "4.5", "5", "4"],
    ]
