"""The pages of a benchmark and of a run over time hold what they are given, and run nothing from it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from hopsight.report.pages import write_bench_page, write_timeline

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(3)</script><circle r="4"/></svg>'
TABLE = {"title": "ROC-AUC", "columns": ["Detector", "Flickr"], "rows": [["HCM", 0.763], ["</script>", "timed out"]]}


def test_tables_figures_and_cells_are_in_the_file(tmp_path: Path) -> None:
    drawn = tmp_path / "figure.svg"
    drawn.write_text(SVG, encoding="utf-8")
    figures = [{"title": "from text", "svg": SVG}, {"title": "from a file", "svg": drawn, "note": "a note"}]
    cells = [{"detector": "hcm", "auc": 0.7}, {"detector": "lof", "error": "out of memory"}]
    write_bench_page(tmp_path / "bench.html", cells, [TABLE], figures, summary=["Two runs."], run={"seed": 3})
    text = (tmp_path / "bench.html").read_text(encoding="utf-8")
    (embedded,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.DOTALL)
    data = json.loads(embedded)
    assert data["tables"][0]["rows"] == [["HCM", 0.763], ["</script>", "timed out"]]
    assert data["results"] == {
        "columns": ["detector", "auc", "error"],
        "rows": [["hcm", 0.7, None], ["lof", None, "out of memory"]],
    }
    for figure in data["figures"]:
        assert base64.b64decode(figure["image"].removeprefix("data:image/svg+xml;base64,")).decode() == SVG
    assert "alert(3)" not in text


def test_a_table_with_a_short_row_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'ROC-AUC' must have 2 values, got a row with 1"):
        write_bench_page(tmp_path / "bench.html", [], [TABLE | {"rows": [["HCM"]]}], [])
    assert not list(tmp_path.iterdir())


def test_the_page_holds_its_values_and_no_path(tmp_path: Path) -> None:
    page = {
        "name": "payments.csv", "summary": ["Judged 3 events."], "n_windows": 1, "fits": [],
        "windows": [[7, "2024-01-01", 3, 2, 1, 0.5, 1.25, "events"]],
        "alerts": [[7, "</script>", "b", "2024-01-01", 3.5, "hop", 3.0, "They had no path."]],
        "nodes": [["</script>", 3.5, "hop", 3, 1, "It was new.", [[7, "2024-01-01", 3, 3.5]]]],
        "run": {"started": "2024-01-02", "request": {"path": "/secret/folder/payments.csv"}, "warnings": ["Careful."]},
    }  # fmt: skip
    write_timeline(tmp_path / "report.html", page)
    text = (tmp_path / "report.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert data["alerts"][0][1] == "</script>"
    assert data["warnings"] == ["Careful."]
    assert "/secret/folder" not in text
    assert "run" not in data
