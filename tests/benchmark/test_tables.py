"""Tables as text."""

from __future__ import annotations

from pathlib import Path

from benchmark.made import made_suite
from hopsight.benchmark.results import Summary
from hopsight.benchmark.tables import (
    Table,
    difference,
    make_tables,
    markdown,
    mean_sd,
    number,
    seconds,
    size,
    write_tables,
)


def test_numbers_as_people_write_them():
    assert (number(0.12345), number(None), number(2.0, 1)) == ("0.123", "", "2.0")
    assert mean_sd(Summary(0.7512, 0.0284, 10)) == "0.751 ± 0.028"
    assert mean_sd(None) == ""
    assert difference(Summary(0.752, 0.0, 1), 0.808) == "−0.056"
    assert difference(Summary(0.852, 0.0, 1), 0.808) == "+0.044"
    assert (size(1536), size(80.4)) == ("1.5 GB", "80 MB")
    assert (seconds(0.01234), seconds(99.96)) == ("0.012", "100.0")


def test_markdown_keeps_bars_and_line_breaks_inside_their_cell():
    table = Table("t", "T", ["what", "O(…)"], [["a\nb", "|V| log |V|"]])
    assert markdown(table) == "| what | O(…) |\n|---|---|\n| a b | \\|V\\| log \\|V\\| |\n"


def test_tables_md_has_every_table_and_figure(tmp_path):
    _, _, rows = made_suite(repetitions=1)
    tables = make_tables("quick", rows)
    write_tables(tmp_path / "tables.md", tables, [("growth", "Time and memory.", Path("figures/growth.png"))])
    text = (tmp_path / "tables.md").read_text()
    for title in (
        "Table 1: ROC-AUC",
        "generated",
        "Networks",
        "Sweep: Drop ratio R",
        "SGLD against SGD",
        "Measured growth",
    ):
        assert title in text
    assert "![growth](figures/growth.png)\n\nTime and memory." in text
    for table in tables:
        assert all(len(line) == len(table.columns) for line in table.rows)
