"""``hopsight compare``: the comparison as text and as JSON, and one sentence if there is no run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hopsight.cli import main
from hopsight.runs.record import write_record


def test_compare_prints_text_or_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, order in {"a": "xy", "b": "yx"}.items():
        (tmp_path / name).mkdir()
        rows = "".join(f"{node},{rank},{3 - rank},{2 - rank}\n" for rank, node in enumerate(order, start=1))
        (tmp_path / name / "scores.csv").write_text(f"node,rank,score,flagged\n{rows}", encoding="utf-8")
        write_record(tmp_path / name / "run.json", {"detector": "lof"})
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["compare", *folders]) == 0
    assert "Flagged in both: 0; only in the first: 1; only in the second: 1." in capsys.readouterr().out
    assert main(["compare", *folders, "--json", "--top", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["shared_top"] == 0
    assert main(["compare", folders[0], str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"hopsight: there is no finished run in {tmp_path}: run.json is missing\n"


def test_control_characters_of_ids_are_escaped_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, ranks in {"a": (1, 2), "b": (2, 1)}.items():
        (tmp_path / name).mkdir()
        rows = f"x\x9b2J,{ranks[0]},1.0,1\ny,{ranks[1]},0.5,0\n"
        (tmp_path / name / "scores.csv").write_text(f"node,rank,score,flagged\n{rows}", encoding="utf-8")
        write_record(tmp_path / name / "run.json", {"detector": "lof"})
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    out = capsys.readouterr().out
    assert "\x9b" not in out and json.loads(out)["moves"][0]["node"] == "x\x9b2J"
