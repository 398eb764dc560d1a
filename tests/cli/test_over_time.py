"""The command line over time: detect with --window, watch, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from hopsight.cli import main
from stream_toys import BURST, toy_events


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
    _explained(out, capsys)
    assert main(["rerun", str(out), "--out", str(tmp_path / "again"), "--quiet"]) == 0
    assert "Judged 2,000 events" in capsys.readouterr().out
    assert (tmp_path / "again/alerts.csv").read_text() == "".join(
        (out / "alerts.csv").read_text().splitlines(keepends=True)[: before + 1]
    )


def _explained(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file speaks of all events, and explain knows nodes, pairs and that there are no groups."""
    assert json.loads((out / "run.json").read_text())["n_events"] == pl.read_csv(out / "edges.csv").height
    scores = pl.read_csv(out / "scores.csv")
    assert scores["events"].sum() == 2 * pl.read_csv(out / "edges.csv").height
    assert main(["explain", str(out), BURST[0]]) == 0
    assert "events per window" in capsys.readouterr().out
    assert main(["explain", str(out), *BURST]) == 0
    assert f"events from {BURST[0]} to {BURST[1]}, " in capsys.readouterr().out
    assert main(["explain", str(out), "--group", "1"]) == 2
    assert "has no groups" in capsys.readouterr().err


def test_every_option_of_detect_is_supported_or_refused() -> None:
    from inspect import signature

    from hopsight.cli import over_time
    from hopsight.cli.detection import detect

    assert set(signature(detect).parameters) == set(over_time.SUPPORTED) | set(over_time.REFUSED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", "1d"], "--window needs --time-column"),
        (["--window", "soon", "--time-column", "time"], "window must be a duration"),
        (["--window", "1d", "--time-column", "when"], "when"),
        (["--window", "1d", "--time-column", "time", "--engine", "spark"], "not supported on Spark yet"),
        (["--window", "1d", "--time-column", "time", "--nodes", "n.csv"], "--nodes is not for --window: attributes"),
        (["--window", "1d", "--time-column", "time", "--detector", "lof"], "--detector is not for --window"),
        (["--window", "1d", "--time-column", "time", "--set", "n_epochs=3"], "--set is not for --window"),
        (["--window", "1d", "--time-column", "time", "--redact"], "--redact is not for --window"),
        (["--window", "1d", "--time-column", "time", "--contamination", "0.1"], "pass --alarm"),
        (["--window", "1d", "--time-column", "time", "--ignore", "x"], "ignore"),
        (["--alarm", "4"], "--alarm is for --window"),
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
