"""The command line over time: stream, watch, and what they refuse."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopsight.cli import main
from hopsight.runs.folder import read_record
from stream_toys import BURST, toy_events

OPTIONS = ("--time-column", "time", "--weight-column", "amount", "--window", "1d", "--quiet")


@dataclass
class Followed:
    """A run over time of an older table, a newer one, and what the command line says of both."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def out(self) -> Path:
        """The folder of the run."""
        return self.folder / "run"

    def begin(self, older: pl.DataFrame, newer: pl.DataFrame, *options: str) -> Any:
        """Write both tables and stream the first."""
        older.write_csv(self.folder / "old.csv")
        newer.write_csv(self.folder / "new.csv")
        return self.call("stream", self.folder / "old.csv", *options, "--out", self.out)

    def call(self, *arguments: object, code: int = 0) -> Any:
        """Run the command line and return what it said, on lines as long as it takes."""
        self.capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == code
        return self.capsys.readouterr()

    def watch(self, *options: object, code: int = 0) -> Any:
        """Go on with the newer table."""
        return self.call("watch", self.out, self.folder / "new.csv", *options, code=code)


@pytest.fixture
def followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Followed:
    return Followed(tmp_path, capsys)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_stream_then_watch_prints_alerts_as_json_lines(followed: Followed, tmp_path: Path) -> None:
    frame, out = toy_events(), followed.out
    assert "Judged 2,000 events" in followed.begin(frame[:2000], frame[2000:], "--label", "label", *OPTIONS).out
    before = pl.read_csv(out / "alerts.csv").height
    shutil.copytree(out, tmp_path / "copy")
    lines = [json.loads(line) for line in followed.watch("--json", "--quiet").out.splitlines()]
    alerts = pl.read_csv(out / "alerts.csv")
    assert [line["alert"] for line in lines] == alerts["alert"].to_list()[before:]
    assert {"source", "target", "time", "score", "reason"} <= set(lines[0])
    printed = flat(followed.call("watch", tmp_path / "copy", tmp_path / "new.csv", "--quiet").out)
    assert f"{len(lines)} alert" in printed and max(lines, key=lambda line: line["score"])["reason"] in printed
    edges = pl.read_csv(out / "edges.csv")
    assert edges.columns[:7] == ["source", "target", "time", "hop", "surprise", "score", "flagged"]
    assert edges.height == frame.height and "processed already" in followed.watch("--quiet").out
    assert "<title>old.csv and 1 later file over time" in (out / "report.html").read_text()
    _explained(followed)
    _other_commands(followed)
    assert "Judged 2,000 events" in followed.call("rerun", out, "--out", tmp_path / "again", "--quiet").out
    assert (tmp_path / "again/alerts.csv").read_text() == "".join(
        (out / "alerts.csv").read_text().splitlines(keepends=True)[: before + 1]
    )


def test_ids_in_another_form_are_named_within_a_file_and_in_a_later_one(followed: Followed) -> None:
    frame = toy_events()
    upper = frame[1000:].with_columns(pl.col("source", "target").str.to_uppercase())
    assert "differ only in" not in followed.begin(frame[:1000], upper, "--ignore", "label").err
    assert "differ only in upper and lower case and are read as different nodes" in flat(followed.watch().err)


def test_ids_cannot_control_the_terminal(followed: Followed) -> None:
    hostile, out = toy_events().with_columns(pl.col("source", "target") + "\x9b31m\u202e"), followed.out
    followed.begin(hostile[:2000], hostile[2000:], "--ignore", "label", *OPTIONS)
    printed = followed.watch("--json", "--quiet").out
    assert json.loads(printed.splitlines()[-1])["source"].endswith("\x9b31m\u202e")
    for line in (printed + followed.call("explain", out, *(f"{end}\x9b31m\u202e" for end in BURST)).out).splitlines():
        assert line.isprintable(), ascii(line)
    edges = followed.folder / "edges.csv"
    edges.write_text("source,target\na,b\nb,c\nc,d\nd,a\na,e\n")
    followed.call("detect", edges, "--detector", "lof", "--out", out, "--quiet")
    followed.call("explain", out, "a")  # nothing of the run over time is left


def test_a_table_that_was_removed_is_said_to_be_gone(followed: Followed) -> None:
    frame, alerts = toy_events(), followed.out / "alerts.csv"
    followed.begin(frame[:2000], frame[2000:], "--ignore", "label", *OPTIONS)
    alerts.unlink()
    said = followed.call("watch", followed.out, followed.folder / "old.csv", "--json")
    assert "alerts.csv is gone: a new one has only what follows" in said.err
    assert "was changed" not in said.err and said.out == ""
    said = followed.watch("--json")
    assert "gone" not in said.err and pl.read_csv(alerts).height == len(said.out.splitlines()) > 0


def _explained(followed: Followed) -> None:
    """Every file speaks of all events, and explain knows nodes, pairs and that there are no groups."""
    out, edges = followed.out, pl.read_csv(followed.out / "edges.csv")
    assert read_record(out)["n_events"] == edges.height
    assert pl.read_csv(out / "scores.csv")["events"].sum() == 2 * edges.height
    assert "until then it was active in " in flat(followed.call("explain", out, BURST[0]).out)
    assert f"events from {BURST[0]} to {BURST[1]}, " in flat(followed.call("explain", out, *BURST).out)
    assert "has no groups" in followed.call("explain", out, "--group", "1", code=2).err


def _other_commands(followed: Followed) -> None:
    """Every command that takes the folder of a run works on it, or says what to do instead."""
    out, folder = followed.out, followed.folder
    assert "rank correlation" in followed.call("compare", out, out).out
    refused = followed.call("score", out, folder / "new.csv", "--out", folder / "scored", code=2).err
    assert f"is a run over time: pass new events to hopsight watch {out}" in refused
    refused = followed.call("review", out, "--no-open", code=2).err
    assert "is a run over time, which has no model of nodes: see its report.html" in refused


def test_a_watched_file_is_read_like_the_first_even_if_it_could_not_tell(followed: Followed) -> None:
    rows = [(f"p{i % 12}", f"p{(i * 5 + 1) % 12}", f"{i % 30 + 1}/03/2024 0{i // 30}:00") for i in range(240)]
    frame = pl.DataFrame(rows, schema=["from", "to", "date"], orient="row")
    later = frame[:10].with_columns(date=pl.lit("05/04/2024 10:00"))  # the fifth of April
    followed.begin(frame, later, "--time-column", "date", "--window", "1d", "--quiet")
    assert "came late" not in followed.watch("--quiet").out
    windows = pl.read_csv(followed.out / "edges.csv")["window"]
    assert windows.max() == 19818  # days since 1970
    assert read_record(followed.out)["warnings"] == [
        "Read edges from column 'from' to column 'to'.",
        "Read the times in column 'date', such as 1/03/2024 00:00, as day/month/year.",
        "Read column 'date' as the time of each event: 01 Mar 2024 00:00 to 30 Mar 2024 07:00.",
    ]


@pytest.mark.parametrize("named", ["?encoding=cp1257", ""])
def test_a_watched_file_has_the_encoding_of_the_first(tmp_path: Path, named: str) -> None:
    last, letters = ("š", "ų") if named else ("Ł", "Ń")  # of the first file, which tells, and the second, which cannot
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


@pytest.mark.parametrize(("options", "message"), [
    (["--window", "soon"], "window must be a duration"), (["--time-column", "when"], "when"),
    (["--ignore", "x"], "ignore"),
    (["--ignore", "time"], "--time-column is needed: no column looks like the time of an event"),
    (["--alarm", "0"], "--alarm must be"), (["--detector", "lof"], "--detector"),
])  # fmt: skip
def test_refusals_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    toy_events(50).write_csv(tmp_path / "e.csv")
    assert main(["stream", str(tmp_path / "e.csv"), *options, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1 and message in errors[0]
    assert not (tmp_path / "out").exists()


@pytest.fixture
def april(followed: Followed) -> pl.DataFrame:
    """Return rows of the month after that of a run over dates and times of day."""
    rows = [
        (f"p{i % 12}", f"p{(i * 5 + 1) % 12}", f"2024-03-{i % 28 + 1:02}", f"{i % 24:02}:30", i) for i in range(240)
    ]
    frame = pl.DataFrame(rows, schema=["from", "to", "date", "time", "amount"], orient="row")
    followed.begin(frame, frame, "--window", "1d", "--quiet")
    return frame.with_columns(pl.col("date").str.replace("-03-", "-04-"))


def test_a_status_that_later_files_have_leaves_rows_out(followed: Followed, april: pl.DataFrame) -> None:
    status = pl.Series("Status", ["OK", "OK", "failed"] * 80)
    april.with_columns(status, note=pl.lit("x")).write_csv(followed.folder / "new.csv")
    said = flat(followed.watch().err)
    assert "Left out 80 rows whose Status is 'failed'" in said
    assert "Not used, as the first file of the stream did not have it: 1 column ('note')." in said
    assert pl.read_csv(followed.out / "scores.csv")["events"].sum() == 2 * (240 + 160)


def test_times_of_day_of_later_files_are_read_in_any_form_or_refused(followed: Followed, april: pl.DataFrame) -> None:
    april.with_columns(time=pl.lit("10 past 9")).write_csv(followed.folder / "new.csv")
    assert "'10 past 9'" in flat(followed.watch(code=2).err)


def test_offsets_of_later_files_are_noticed(followed: Followed) -> None:
    rows = [(f"p{i % 12}", f"p{(i * 5 + 1) % 12}", f"2024-03-{i % 28 + 1:02}T{i % 24:02}:30:00Z") for i in range(240)]
    frame = pl.DataFrame(rows, schema=["from", "to", "time"], orient="row")
    moved = frame.with_columns(pl.col("time").str.replace("-03-", "-04-").str.replace("Z", "+02:00"))
    followed.begin(frame, moved, "--window", "1d", "--quiet")
    assert "Times of column 'time' have offsets from UTC and are shown in UTC." in followed.watch().err
