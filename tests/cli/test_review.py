"""The command that opens the review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopsight.cli import main


def test_the_options_reach_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr("hopsight.review.serve.serve", lambda folder, **options: seen.update(options, folder=folder))
    assert main(["review", str(tmp_path), "--reviewer", "Zoë", "--port", "8080", "--no-open"]) == 0
    assert seen["folder"] == tmp_path and seen["reviewer"] == "Zoë" and seen["host"] == "127.0.0.1"
    assert seen["port"] == 8080 and seen["browser"] is False and seen["place"] is None


def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", str(tmp_path), "--no-open"]) == 2
    assert "there is no finished run" in capsys.readouterr().err
