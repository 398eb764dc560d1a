"""Tables as text."""

from __future__ import annotations

from pathlib import Path

from hopsight.benchmark.result_tables import (
    ResultTable,
    difference,
    markdown,
    mean_sd,
    number,
    seconds,
    size,
    write_tables,
)
from hopsight.benchmark.results import Summary


def test_numbers_as_people_write_them():
    assert (number(0.12345), number(None), number(2.0, 1)) == ("0.123", "", "2.0")
    assert mean_sd(Summary(0.7512, 0.0284, 10)) == "0.751 ± 0.028"
    assert mean_sd(None) == ""
    assert difference(Summary(0.752, 0.0, 1), 0.808) == "−0.056"
    assert difference(Summary(0.852, 0.0, 1), 0.808) == "+0.044"
    assert (size(1536), size(80.4)) == ("1.5 GB", "80 MB")
    assert (seconds(0.01234), seconds(99.96)) == ("0.012", "100.0")


def test_markdown_keeps_bars_and_line_breaks_inside_their_cell():
    table = ResultTable("t", "T", ["what", "O(…)"], [["a\nb", "|V| log |V|"]])
    assert markdown(table) == "| what | O(…) |\n|---|---|\n| a b | \\|V\\| log \\|V\\| |\n"


def test_tables_md_has_every_table_and_figure(tmp_path):
    tables = [ResultTable("a", "First", ["x"], [["1"]], "A note."), ResultTable("b", "Second", ["y"], [["2"]])]
    write_tables(tmp_path / "tables.md", tables, [("growth", "Time and memory.", Path("figures/growth.png"))])
    assert (tmp_path / "tables.md").read_text() == (
        "# Benchmark\n\n## First\n\nA note.\n\n| x |\n|---|\n| 1 |\n\n## Second\n\n| y |\n|---|\n| 2 |\n"
        "\n## Figures\n\n![growth](figures/growth.png)\n\nTime and memory.\n"
    )
