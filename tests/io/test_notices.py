"""Notices reach the caller's list, or the log."""

from __future__ import annotations

import logging

import pytest

from hopsight.io.notices import notice, notice_merged


def test_a_list_gets_the_notice_and_the_log_only_at_info(caplog: pytest.LogCaptureFixture) -> None:
    kept: list[str] = []
    with caplog.at_level(logging.INFO, logger="hopsight"):
        notice("a column is left out", kept)
    assert kept == ["a column is left out"]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("INFO", kept[0])]


def test_without_a_list_it_is_a_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    notice("100% of a column is left out", None)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "100% of a column is left out")
    ]


def test_merged_and_removed_edges_are_counted_in_words() -> None:
    kept: list[str] = []
    notice_merged(0, 0, kept)
    notice_merged(1, 1, kept)
    notice_merged(1200, 2, kept)
    assert kept == [
        "Merged 1 duplicate edge.",
        "Removed 1 self-loop.",
        "Merged 1,200 duplicate edges.",
        "Removed 2 self-loops.",
    ]
