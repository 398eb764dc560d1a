"""Stream and watch: pieces give the alerts of one run, kills lose and repeat nothing."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.runs.console import Progress
from hopsight.streams import events
from hopsight.streams import run as module
from hopsight.streams.events import Columns
from hopsight.streams.run import APPENDED, StreamRequest, stream, watch
from hopsight.streams.times import ISO, moment_words
from stream_toys import BURST, DAY, START, STRANGER, run_command, toy_events, write_pieces


def start(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "start.parquet")
    columns = Columns(time="time", amount="amount")
    stream(StreamRequest(path=str(folder / "start.parquet"), columns=columns, window="1d"), folder / "run")
    return folder / "run"


class Said(Progress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, text: str) -> None:
        """Keep a sentence."""
        self.sentences.append(text)


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in APPENDED}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame, dict[str, bytes]]:
    """Return a run over the first third, the rest, and the tables after the rest in one piece."""
    folder = tmp_path_factory.mktemp("begun")
    frame = toy_events()
    path = start(frame[:1000], folder)
    whole = folder / "whole"
    shutil.copytree(path, whole)
    (rest,) = write_pieces(frame[1000:], folder / "one", 1)
    assert watch(whole, rest).n_events == frame.height - 1000
    return path, frame[1000:], contents(whole)


@pytest.mark.parametrize(
    ("name", "kind", "bursts"), [("bytes", "streak", {"sender", "receiver"}), ("amount", "partners", set())]
)
def test_an_amount_removes_no_alert_about_who_meets_whom(
    tmp_path: Path, name: str, kind: str, bursts: set[str]
) -> None:
    """A node turns to twenty strangers with hardly any bytes, or payments of a cent; 120 payments at once are wages."""
    frame = toy_events().with_columns(
        amount=pl.when((pl.col("label") == 1) & (pl.col("source") == STRANGER)).then(0.01).otherwise("amount")
    )
    frame.rename({"amount": name}).write_parquet(tmp_path / "e.parquet")
    columns = Columns(time="time", amount=name, ignore=("label",))
    stream(StreamRequest(path=str(tmp_path / "e.parquet"), columns=columns, window="1d"), tmp_path / "run")
    alerts = pl.read_csv(tmp_path / "run" / "alerts.csv")
    assert {STRANGER} <= set(alerts["account"]) <= {*BURST, STRANGER}
    assert kind in alerts.filter(account=STRANGER)["decided_by"].to_list()
    assert set(alerts["decided_by"]) & {"sender", "receiver"} == bursts


@pytest.mark.parametrize("name", ["bytes", "amount"])
def test_wages_and_rents_are_no_streaks_or_bursts_of_money(tmp_path: Path, name: str) -> None:
    """On one day a firm sends 40 times what is usual to everybody, and on the next everybody does to a landlord."""
    groups = [f"{group}{number}" for group in "ab" for number in range(20)]
    wages = pl.DataFrame({"source": "firm", "target": groups, "time": START + 20 * DAY + 3600 * 9, "amount": 800.0})
    rents = pl.DataFrame({"source": groups, "target": "landlord", "time": START + 21 * DAY + 3600 * 9, "amount": 700.0})
    every = pl.concat([toy_events().drop("label"), *(each.cast({"time": pl.Int64}) for each in (wages, rents))])
    every = every.with_columns(time=pl.col("time") + pl.int_range(pl.len()) % 60).rename({"amount": name})
    every.write_parquet(tmp_path / "e.parquet")
    columns = Columns(time="time", amount=name)
    stream(StreamRequest(path=str(tmp_path / "e.parquet"), columns=columns, window="1d"), tmp_path / "run")
    tables = [pl.read_csv(tmp_path / "run" / f"{table}.csv") for table in ("alerts", "scores")]
    at_once = pl.col("decided_by").is_in(["streak", "sender", "receiver"])
    found = [
        table.filter(at_once & pl.col(who).is_in(["firm", "landlord"])).height
        for table, who in zip(tables, ("account", "node"), strict=True)
    ]
    assert all(found) if name == "bytes" else found == [0, 0]


def test_an_hour_that_comes_every_few_days_is_not_unusual(tmp_path: Path) -> None:
    """Twenty machines send one event an hour in turn, so that each is active at six hours of the day."""
    at = np.arange(600)
    frame = pl.DataFrame({"source": at % 20, "target": 100 + at % 7, "time": START + 3600 * at, "amount": 5.0})
    frame.write_parquet(tmp_path / "e.parquet")
    stream(StreamRequest(path=str(tmp_path / "e.parquet"), columns=Columns()), tmp_path / "run")
    assert "hour" not in pl.read_csv(tmp_path / "run" / "alerts.csv", infer_schema_length=0)["decided_by"].to_list()


def test_later_files_have_the_ends_of_the_first_in_whatever_order(tmp_path: Path) -> None:
    frame = toy_events().rename({"source": "acct1", "target": "acct2"}).drop("label")
    first, later = frame[:2900], frame[2900:].select("acct2", "acct1", "time", "amount")
    first.write_csv(tmp_path / "first.csv")
    later.write_csv(tmp_path / "later.csv")
    stream(StreamRequest(path=str(tmp_path / "first.csv"), columns=Columns()), tmp_path / "run")
    watch(tmp_path / "run", tmp_path / "later.csv")
    told = pl.read_csv(tmp_path / "run" / "edges.csv")[2900:].select("source", "target").rows()
    assert told == later.select("acct1", "acct2").rows()


def test_no_alert_is_raised_on_nodes_that_are_left_out(tmp_path: Path) -> None:
    """Two nodes have a burst and a third turns to strangers; those that --ignore leaves out raise no alert."""
    frame = toy_events().drop("label")
    nodes = pl.concat([frame["source"], frame["target"]]).unique().sort().to_frame("id")
    kinds = pl.when(pl.col("id").is_in(BURST)).then(pl.lit("shop")).otherwise(pl.lit("person"))
    nodes.with_columns(kind=kinds, size=pl.int_range(pl.len())).write_csv(tmp_path / "nodes.csv")
    named = []
    for ignore in ((), ("kind=shop",)):
        path = write_pieces(frame, tmp_path, 1)[0]
        columns = Columns(time="time", amount="amount", ignore=ignore)
        request = StreamRequest(path=str(path), columns=columns, nodes=str(tmp_path / "nodes.csv"), window="1d")
        stream(request, tmp_path / f"run{len(ignore)}")
        named.append(set(pl.read_csv(tmp_path / f"run{len(ignore)}" / "alerts.csv")["account"]))
    assert named[0] & set(BURST) and named[1] == named[0] - set(BURST) == {STRANGER}


@pytest.mark.parametrize(("name", "unit", "window"), [("bytes", 1, "1h"), ("bytes", DAY, "1d"), ("amount", 1, "1d")])
def test_windows_follow_ten_hours_but_not_of_payments_or_dates(
    tmp_path: Path, name: str, unit: int, window: str
) -> None:
    times = START + (pl.col("time") - START) // 72 // unit * unit
    toy_events().with_columns(time=times).rename({"amount": name}).write_parquet(tmp_path / "e.parquet")
    stream(StreamRequest(path=str(tmp_path / "e.parquet"), columns=Columns(time="time", amount=name)), tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["window"] == window


def test_one_run_over_all_gives_the_same_tables(begun: tuple, finished: Path) -> None:
    tables = contents(finished)
    assert tables["alerts.csv"] == begun[2]["alerts.csv"]
    assert tables["windows.csv"] == begun[2]["windows.csv"]
    columns = ["source", "target", "time", "hop", "surprise", "score", "flagged"]
    one, two = (pl.read_csv(text).select(columns) for text in (tables["edges.csv"], begun[2]["edges.csv"]))
    assert one.equals(two)


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_pieces_give_the_tables_of_one(begun: tuple, tmp_path: Path, count: int) -> None:
    path, rest, expected = begun
    folder = shutil.copytree(path, tmp_path / "run")
    for piece in write_pieces(rest, tmp_path / "pieces", count):
        watch(folder, piece)
    found = contents(folder)
    for name in ("alerts.csv", "windows.csv", "trajectories.csv"):
        assert found[name] == expected[name], name


def test_a_piece_that_was_processed_is_not_processed_again(begun: tuple, tmp_path: Path) -> None:
    path, rest, _ = begun
    folder = shutil.copytree(path, tmp_path / "run")
    (piece,) = write_pieces(rest, tmp_path / "pieces", 1)
    told: list[dict] = []
    watch(folder, piece, tell=told.append)
    before = contents(folder)
    again: list[dict] = []
    assert watch(folder, piece, tell=again.append).repeated
    assert contents(folder) == before
    assert [row["alert"] for row in told] == [row["alert"] for row in again]


@pytest.mark.parametrize("name", ["alerts", "edges", "scores"])
def test_a_table_that_was_edited_is_left_as_it_is(begun: tuple, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(begun[0], tmp_path / "run")
    one, two, three = write_pieces(begun[1][:60], tmp_path / "pieces", 3)
    watch(folder, one)
    mine = (folder / f"{name}.csv").read_bytes() + b"my note"
    (folder / f"{name}.csv").write_bytes(mine)
    for piece in (two, three):
        watch(folder, piece)
        assert {each.name for each in folder.glob("*-?.csv")} == {f"{name}-2.csv"}
    with pytest.raises(ValueError, match=f"has {name}.csv, which was changed since hopsight wrote it"):
        start(begun[1], tmp_path)
    assert (folder / f"{name}.csv").read_bytes() == mine


@pytest.mark.parametrize("name", ["explanations.json", "report.html"])
def test_a_new_run_does_not_replace_an_edited_report(begun: tuple, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(begun[0], tmp_path / "run")
    watch(folder, *write_pieces(begun[1][:20], tmp_path / "pieces", 1))
    start(begun[1][:50], tmp_path)  # what watch wrote is ours
    with (folder / name).open("a") as file:
        file.write("my note")
    with pytest.raises(ValueError, match=f"has {name}, which was changed since hopsight wrote it"):
        start(begun[1][:50], tmp_path)


@pytest.mark.parametrize("moment", ["append", "commit", "after commit"])
def test_failing_at_any_moment_loses_and_repeats_nothing(
    begun: tuple, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Fail at the first and the third chunk, at each kind of moment, then call again."""
    path, rest, expected = begun
    folder = shutil.copytree(path, tmp_path / "run")
    monkeypatch.setattr(events, "CHUNK", 400)
    (piece,) = write_pieces(rest, tmp_path / "pieces", 1)
    for allowed in (0, 2):
        calls = {"n": 0}
        name = "append" if moment == "append" else "commit"
        real = getattr(module.Journal, name)

        def failing(self: object, *arguments: object, real=real, calls=calls, allowed=allowed) -> None:
            calls["n"] += 1
            if moment == "after commit":
                real(self, *arguments)
            if calls["n"] > allowed:
                raise KeyboardInterrupt
            if moment != "after commit":
                real(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module.Journal, name, failing)
            with pytest.raises(KeyboardInterrupt):
                watch(folder, piece)
    watch(folder, piece)
    found = contents(folder)
    for name in ("alerts.csv", "windows.csv", "trajectories.csv"):
        assert found[name] == expected[name], name


def test_sigterm_while_python_runs_text_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries make functions from text while they are imported; python -m takes a stop in there for Ctrl-C."""
    stop = "exec('import os, signal; os.kill(os.getpid(), signal.SIGTERM)') if name == 'hopsight.streams' else None"
    hook = f"import sys\nclass Stop:\n    find_spec = lambda self, name, *rest: {stop}\nsys.meta_path.insert(0, Stop())"
    (tmp_path / "sitecustomize.py").write_text(hook)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    assert run_command("watch", tmp_path, "b.csv").returncode == 143


@pytest.mark.attack
def test_20_kills_lose_and_repeat_nothing(begun: tuple, tmp_path: Path) -> None:
    path, rest, expected = begun
    folder = shutil.copytree(path, tmp_path / "run")
    rng = np.random.default_rng(0)
    pieces = write_pieces(rest, tmp_path / "pieces", 20)
    begin = time.perf_counter()
    assert run_command("watch", folder, pieces[0]).returncode == 0
    took, kills = time.perf_counter() - begin, 0
    for piece in pieces[1:]:
        for _ in range(2):
            kills += run_command("watch", folder, piece, kill_after=took * rng.uniform(0.1, 0.9)).returncode == -9
        assert run_command("watch", folder, piece).returncode == 0
    assert kills >= 20
    found = contents(folder)
    for name in ("alerts.csv", "windows.csv", "trajectories.csv"):
        assert found[name] == expected[name], name


@pytest.mark.slow
def test_the_cost_of_an_event_does_not_grow_with_the_history(tmp_path: Path) -> None:
    frame = toy_events(400_000, n_days=400)
    seconds = {}
    for size in (20_000, 400_000):
        (tmp_path / str(size)).mkdir()
        folder = start(frame[:size].with_columns(pl.col("time") - pl.col("time").max()), tmp_path / str(size))
        (piece,) = write_pieces(
            toy_events(20_000).with_columns(pl.col("time") - 1_700_000_000), tmp_path / f"p{size}", 1
        )
        begin = time.process_time()
        watch(folder, piece)
        seconds[size] = time.process_time() - begin
    assert seconds[400_000] < 2.0 * seconds[20_000] + 0.5


def test_refuses_a_folder_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no folder"):
        watch(tmp_path / "none", tmp_path)
    with pytest.raises(ValueError, match="no finished run"):
        watch(tmp_path, tmp_path)


def test_a_file_that_is_refused_changes_nothing(begun: tuple, tmp_path: Path) -> None:
    folder = shutil.copytree(begun[0], tmp_path / "run")
    before = contents(folder)
    (tmp_path / "bad.csv").write_text("source,target,time,amount\na,b,2024-01-01,1\na,b,soon,1\n")
    with pytest.raises(ValueError, match="'soon' is not a time"):
        watch(folder, tmp_path / "bad.csv")
    assert contents(folder) == before


def test_a_later_file_that_overlaps_an_earlier_one_counts_each_payment_once(tmp_path: Path) -> None:
    frame = toy_events(600).drop("label").with_columns(payment_id=pl.format("P{}", pl.int_range(pl.len())))
    frame[:500].write_csv(tmp_path / "one.csv")
    frame[450:].write_csv(tmp_path / "two.csv")
    stream(
        StreamRequest(path=str(tmp_path / "one.csv"), columns=Columns(time="time", amount="amount")), tmp_path / "run"
    )
    shown = Said()
    assert watch(tmp_path / "run", tmp_path / "two.csv", progress=shown).n_events == frame.height - 500
    said = "50 events are exact copies of earlier ones, first in row 1, with the same 'payment_id': they are left out."
    assert said in shown.sentences
    assert pl.read_csv(tmp_path / "run" / "edges.csv").height == frame.height


def test_a_few_events_that_are_dated_ahead_do_not_make_the_next_file_late(tmp_path: Path) -> None:
    """Three of 500 are of the next months, as days of value are; the second file has one of them again."""
    frame = toy_events(600).drop("label").with_columns(payment_id=pl.format("P{}", pl.int_range(pl.len())))
    one, two = frame[:500], frame[500:]
    ahead = one[:3].with_columns(
        time=one["time"][-1] + 86400 * pl.int_range(20, 80, 20), payment_id=pl.format("X{}", pl.int_range(pl.len()))
    )
    pl.concat([one[:100], ahead, one[100:]]).write_csv(tmp_path / "one.csv")
    pl.concat([two, ahead[:1]]).write_csv(tmp_path / "two.csv")
    shown, columns = Said(), Columns(time="time", amount="amount")
    stream(StreamRequest(path=str(tmp_path / "one.csv"), columns=columns), tmp_path / "run", progress=shown)
    first, last = (moment_words(float(each), ISO) for each in (ahead["time"][0], one["time"][-1]))
    said = f"3 events are dated ahead of all others, from {first} on in row 101: they all count as of {last}."
    assert said in shown.sentences
    done = watch(tmp_path / "run", tmp_path / "two.csv", progress=shown)
    assert (done.n_events, done.n_late) == (two.height, 0)
    row = f"1 event is an exact copy of earlier ones, first in row {two.height + 1}"
    assert f"{row}, with the same 'payment_id': it is left out." in shown.sentences


def test_the_night_after_a_day_of_events_keeps_its_time(tmp_path: Path) -> None:
    """Of 303 events, 300 are within ten hours, and three come six hours later."""
    day = pl.DataFrame({"source": [f"a{i % 20}" for i in range(300)], "target": [f"b{i % 23}" for i in range(300)],
                        "time": START + 120 * np.arange(300), "amount": np.arange(300.0) % 7 + 1.0})  # fmt: skip
    night = day[:3].with_columns(time=START + 16 * 3600 + pl.int_range(3) * 60)
    pl.concat([day, night]).write_csv(tmp_path / "one.csv")
    shown, columns = Said(), Columns(time="time")
    stream(StreamRequest(path=str(tmp_path / "one.csv"), columns=columns), tmp_path / "run", progress=shown)
    assert not any("ahead" in sentence for sentence in shown.sentences)
    last = pl.read_csv(tmp_path / "run" / "edges.csv")["time"].max()
    assert last == START + 16 * 3600 + 120


def test_dates_of_a_later_file_that_fit_both_orders_are_stated(tmp_path: Path) -> None:
    days = pl.format("{}/0{}/2024", pl.int_range(pl.len()) % 20 + 10, pl.int_range(pl.len()) // 300 + 1)
    frame = toy_events(600).drop("label").with_columns(time=days)
    frame.write_csv(tmp_path / "one.csv")
    frame[:6].with_columns(time=pl.lit("05/06/2024")).write_csv(tmp_path / "two.csv")
    stream(
        StreamRequest(path=str(tmp_path / "one.csv"), columns=Columns(time="time", amount="amount")), tmp_path / "run"
    )
    shown = Said()
    watch(tmp_path / "run", tmp_path / "two.csv", progress=shown)
    said = "Column 'time': read '05/06/2024' as day/month/year as in the earlier file: no row of this one decides."
    assert said in shown.sentences
