"""RESULTS.md says what the raw results say."""

from __future__ import annotations

import re

import pytest

import results


def test_the_tables_of_the_page_are_those_of_the_raw_results() -> None:
    page = (results.ROOT / "RESULTS.md").read_text(encoding="utf-8")
    assert results.filled(page) == page, "run make results"
    assert sorted(re.findall(r"<!-- table (\w+) -->", page)) == sorted(results.TABLES)


def test_a_missing_file_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setattr(results, "RAW", tmp_path)
    with pytest.raises(FileNotFoundError):
        results.filled("<!-- table reserved -->\n\n<!-- end -->")


def test_a_changed_result_changes_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"graph": "2% planted", "n_flagged": 20, "n_false": 5, "n_planted": 20}] * 2
    monkeypatch.setattr(results, "raw", lambda name: rows)
    assert results.threshold().splitlines()[-1] == "| 2% | 2.00% | .250 | .750 |"
