"""The command line over time: detect with --window, watch, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hopsight.cli import main
from stream_toys import toy_events


def test_detect_then_watch_prints_alerts_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = toy_events()
    frame[:2000].write_csv(tmp_path / "old.csv")
    frame[2000:].write_csv(tmp_path / "new.csv")
    out = tmp_path / "run"
    options = ["--time-column", "time", "--weight-column", "amount", "--label", "label", "--window", "1d", "--quiet"]
    assert main(["detect", str(tmp_path / "old.csv"), *options, "--out", str(out)]) == 0
    assert "Judged 2,000 events" in capsys.readouterr().out
    before = pl.read_csv(out / "alerts.csv").height
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--json", "--quiet"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    alerts = pl.read_csv(out / "alerts.csv")
    assert [line["alert"] for line in lines] == alerts["alert"].to_list()[before:]
    assert {"source", "target", "time", "score", "reason"} <= set(lines[0])
    edges = pl.read_csv(out / "edges.csv")
    assert edges.columns[:7] == ["source", "target", "time", "hop", "surprise", "score", "flagged"]
    assert edges.height == frame.height
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--quiet"]) == 0
    assert "processed already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", "1d"], "--window needs --time-column"),
        (["--window", "soon", "--time-column", "time"], "window must be a duration"),
        (["--window", "1d", "--time-column", "when"], "when"),
        (["--window", "1d", "--time-column", "time", "--engine", "spark"], "not supported on Spark yet"),
    ],
)
def test_refusals_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    toy_events(50).write_csv(tmp_path / "e.csv")
    assert main(["detect", str(tmp_path / "e.csv"), *options, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1
    assert message in errors[0]
    assert not (tmp_path / "out").exists()
