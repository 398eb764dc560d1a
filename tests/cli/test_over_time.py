"""The command line over time: stream, watch, and what they refuse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from hopsight.cli import main
from stream_toys import BURST, toy_events


def test_stream_then_watch_prints_alerts_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = toy_events()
    frame[:2000].write_csv(tmp_path / "old.csv")
    frame[2000:].write_csv(tmp_path / "new.csv")
    out = tmp_path / "run"
    options = ["--time-column", "time", "--weight-column", "amount", "--label", "label", "--window", "1d", "--quiet"]
    assert main(["stream", str(tmp_path / "old.csv"), *options, "--out", str(out)]) == 0
    assert "Judged 2,000 events" in capsys.readouterr().out
    before = pl.read_csv(out / "alerts.csv").height
    shutil.copytree(out, tmp_path / "copy")
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--json", "--quiet"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    alerts = pl.read_csv(out / "alerts.csv")
    assert [line["alert"] for line in lines] == alerts["alert"].to_list()[before:]
    assert {"source", "target", "time", "score", "reason"} <= set(lines[0])
    assert main(["watch", str(tmp_path / "copy"), str(tmp_path / "new.csv"), "--quiet"]) == 0
    first = max(lines, key=lambda line: line["score"])["reason"]
    assert f"{len(lines)} alert" in (printed := " ".join(capsys.readouterr().out.split())) and first in printed
    edges = pl.read_csv(out / "edges.csv")
    assert edges.columns[:7] == ["source", "target", "time", "hop", "surprise", "score", "flagged"]
    assert edges.height == frame.height
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--quiet"]) == 0
    assert "processed already" in capsys.readouterr().out
    assert "<title>old.csv and 1 later file over time" in (out / "report.html").read_text()
    _explained(out, capsys)
    _other_commands(out, tmp_path / "new.csv", capsys)
    assert main(["rerun", str(out), "--out", str(tmp_path / "again"), "--quiet"]) == 0
    assert "Judged 2,000 events" in capsys.readouterr().out
    assert (tmp_path / "again/alerts.csv").read_text() == "".join(
        (out / "alerts.csv").read_text().splitlines(keepends=True)[: before + 1]
    )


def test_ids_in_another_form_are_named_within_a_file_and_in_a_later_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = toy_events()
    frame[:1000].write_csv(tmp_path / "old.csv")
    frame[1000:].with_columns(pl.col("source", "target").str.to_uppercase()).write_csv(tmp_path / "new.csv")
    out = tmp_path / "run"
    assert main(["stream", str(tmp_path / "old.csv"), "--ignore", "label", "--out", str(out)]) == 0
    assert "differ only in" not in capsys.readouterr().err
    assert main(["watch", str(out), str(tmp_path / "new.csv")]) == 0
    assert "differ only in upper and lower case and are read as different nodes" in " ".join(
        capsys.readouterr().err.split()
    )


def test_ids_cannot_control_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = toy_events()
    hostile = frame.with_columns(pl.col("source", "target") + "\x9b31m\u202e")
    hostile[:2000].write_csv(tmp_path / "old.csv")
    hostile[2000:].write_csv(tmp_path / "new.csv")
    out = tmp_path / "run"
    options = ["--time-column", "time", "--weight-column", "amount", "--ignore", "label", "--window", "1d", "--quiet"]
    assert main(["stream", str(tmp_path / "old.csv"), *options, "--out", str(out)]) == 0
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--json", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed.splitlines()[-1])["source"].endswith("\x9b31m\u202e")
    assert main(["explain", str(out), *(f"{end}\x9b31m\u202e" for end in BURST)]) == 0
    for line in (printed + capsys.readouterr().out).splitlines():
        assert line.isprintable(), ascii(line)
    edges = tmp_path / "edges.csv"
    edges.write_text("source,target\na,b\nb,c\nc,d\nd,a\na,e\n")
    assert main(["detect", str(edges), "--detector", "lof", "--out", str(out), "--quiet"]) == 0
    assert main(["explain", str(out), "a"]) == 0  # nothing of the run over time is left


def test_a_table_that_was_removed_is_said_to_be_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame, out = toy_events(), tmp_path / "run"
    for name, rows in (("old", frame[:2000]), ("new", frame[2000:])):
        rows.write_csv(tmp_path / f"{name}.csv")
    options = ["--weight-column", "amount", "--ignore", "label", "--window", "1d", "--quiet"]
    assert main(["stream", str(tmp_path / "old.csv"), *options, "--out", str(out)]) == 0
    (out / "alerts.csv").unlink()
    capsys.readouterr()
    assert main(["watch", str(out), str(tmp_path / "old.csv"), "--json"]) == 0
    said = capsys.readouterr()
    assert "alerts.csv is gone: a new one has only what follows" in said.err
    assert "was changed" not in said.err
    assert said.out == ""
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--json"]) == 0
    said = capsys.readouterr()
    assert "gone" not in said.err
    assert pl.read_csv(out / "alerts.csv").height == len(said.out.splitlines()) > 0


def _explained(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file speaks of all events, and explain knows nodes, pairs and that there are no groups."""
    assert json.loads((out / "run.json").read_text())["n_events"] == pl.read_csv(out / "edges.csv").height
    scores = pl.read_csv(out / "scores.csv")
    assert scores["events"].sum() == 2 * pl.read_csv(out / "edges.csv").height
    assert main(["explain", str(out), BURST[0]]) == 0
    assert "until then it was active in " in " ".join(capsys.readouterr().out.split())
    assert main(["explain", str(out), *BURST]) == 0
    assert f"events from {BURST[0]} to {BURST[1]}, " in " ".join(capsys.readouterr().out.split())
    assert main(["explain", str(out), "--group", "1"]) == 2
    assert "has no groups" in capsys.readouterr().err


def _other_commands(out: Path, new: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that takes the folder of a run works on it, or says what to do instead."""
    assert main(["compare", str(out), str(out)]) == 0
    assert "rank correlation" in capsys.readouterr().out
    assert main(["score", str(out), str(new), "--out", str(new.parent / "scored")]) == 2
    assert f"is a run over time: pass new events to hopsight watch {out}" in capsys.readouterr().err
    assert main(["review", str(out), "--no-open"]) == 2
    assert "is a run over time, which has no model of nodes: see its report.html" in capsys.readouterr().err


def test_a_watched_file_is_read_like_the_first_even_if_it_could_not_tell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = [f"p{number}" for number in range(12)]
    rows = [(people[i % 12], people[(i * 5 + 1) % 12], f"{i % 30 + 1}/03/2024 0{i // 30}:00") for i in range(240)]
    frame = pl.DataFrame(rows, schema=["from", "to", "date"], orient="row")
    frame.write_csv(tmp_path / "old.csv")
    later = frame[:10].with_columns(date=pl.lit("05/04/2024 10:00"))  # the fifth of April
    later.write_csv(tmp_path / "new.csv")
    out = tmp_path / "run"
    options = ["--time-column", "date", "--window", "1d", "--quiet", "--out", str(out)]
    assert main(["stream", str(tmp_path / "old.csv"), *options]) == 0
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--quiet"]) == 0
    windows = pl.read_csv(out / "edges.csv")["window"]
    assert windows.max() == 19818  # days since 1970
    record = json.loads((out / "run.json").read_text())
    assert record["warnings"] == [
        "Read edges from column 'from' to column 'to'.",
        "Read the times in column 'date', such as 1/03/2024 00:00, as day/month/year.",
        "Read column 'date' as the time of each event: 01 Mar 2024 00:00 to 30 Mar 2024 07:00.",
    ]
    assert "came late" not in capsys.readouterr().out


@pytest.mark.parametrize("named", ["?encoding=cp1257", ""])
def test_a_watched_file_has_the_encoding_of_the_first(tmp_path: Path, named: str) -> None:
    last, letters = (
        ("š", "ų") if named else ("Ł", "Ń")
    )  # of the first file, which tells, and the second, which does not
    for name, who in (("old", f"{last}A{letters}"), ("new", letters), ("utf", letters)):
        rows = [(f"p{i % 12}", f"{who}{(i * 5 + 1) % 12}", f"2024-03-{i % 28 + 1:02} 01:00") for i in range(240)]
        text = pl.DataFrame(rows, schema=["from", "to", "date"], orient="row").write_csv()
        (tmp_path / f"{name}.csv").write_bytes(text.encode("utf-8" if name == "utf" else named[-6:] or "cp1250"))
    out = tmp_path / "run"
    assert main(["stream", f"{tmp_path}/old.csv{named}", "--quiet", "--out", str(out)]) == 0
    assert main(["watch", str(out), str(tmp_path / "utf.csv"), "--quiet"]) == 0
    assert main(["watch", str(out), str(tmp_path / "new.csv"), "--quiet"]) == 0
    nodes = set(pl.read_csv(out / "scores.csv")["node"])
    assert nodes == {f"{who}{i}" for who in ("p", f"{last}A{letters}", letters) for i in range(12)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--window", "soon"], "window must be a duration"),
        (["--time-column", "when"], "when"),
        (["--ignore", "x"], "ignore"),
        (["--ignore", "time"], "--time-column is needed: no column looks like the time of an event"),
        (["--alarm", "0"], "--alarm must be"),
        (["--detector", "lof"], "--detector"),
    ],
)
def test_refusals_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    toy_events(50).write_csv(tmp_path / "e.csv")
    assert main(["stream", str(tmp_path / "e.csv"), *options, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1
    assert message in errors[0]
    assert not (tmp_path / "out").exists()


@pytest.fixture
def april(tmp_path: Path) -> tuple[Path, pl.DataFrame]:
    """Return the folder of a run over dates and times of day, and rows of the month after it."""
    rows = [
        (f"p{i % 12}", f"p{(i * 5 + 1) % 12}", f"2024-03-{i % 28 + 1:02}", f"{i % 24:02}:30", i) for i in range(240)
    ]
    frame = pl.DataFrame(rows, schema=["from", "to", "date", "time", "amount"], orient="row")
    frame.write_csv(tmp_path / "march.csv")
    out = tmp_path / "run"
    assert main(["stream", str(tmp_path / "march.csv"), "--window", "1d", "--quiet", "--out", str(out)]) == 0
    return out, frame.with_columns(pl.col("date").str.replace("-03-", "-04-"))


def test_a_status_that_later_files_have_leaves_rows_out(
    april: tuple[Path, pl.DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, frame = april
    status = pl.Series("Status", ["OK", "OK", "failed"] * 80)
    frame.with_columns(status, note=pl.lit("x")).write_csv(tmp_path / "april.csv")
    assert main(["watch", str(out), str(tmp_path / "april.csv")]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Left out 80 rows whose Status is 'failed'" in said
    assert "Not used, as the first file of the stream did not have it: 1 column ('note')." in said
    assert pl.read_csv(out / "scores.csv")["events"].sum() == 2 * (240 + 160)


def test_times_of_day_of_later_files_are_read_in_any_form_or_refused(
    april: tuple[Path, pl.DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, frame = april
    frame.with_columns(time=pl.lit("10 past 9")).write_csv(tmp_path / "april.csv")
    assert main(["watch", str(out), str(tmp_path / "april.csv")]) == 2
    assert "'10 past 9'" in " ".join(capsys.readouterr().err.split())


def test_offsets_of_later_files_are_noticed(
    april: tuple[Path, pl.DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"p{i % 12}", f"p{(i * 5 + 1) % 12}", f"2024-03-{i % 28 + 1:02}T{i % 24:02}:30:00Z") for i in range(240)]
    frame = pl.DataFrame(rows, schema=["from", "to", "time"], orient="row")
    frame.write_csv(tmp_path / "march.csv")
    out = tmp_path / "offsets"
    assert main(["stream", str(tmp_path / "march.csv"), "--window", "1d", "--quiet", "--out", str(out)]) == 0
    capsys.readouterr()
    moved = frame.with_columns(pl.col("time").str.replace("-03-", "-04-").str.replace("Z", "+02:00"))
    moved.write_csv(tmp_path / "april.csv")
    assert main(["watch", str(out), str(tmp_path / "april.csv")]) == 0
    assert "Times of column 'time' have offsets from UTC and are shown in UTC." in capsys.readouterr().err
