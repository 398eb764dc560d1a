"""Detect, score and rerun, also with nodes that have no row."""

import csv
import dataclasses
import io
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight.cli import main
from hopsight.detectors import DETECTORS, get_detector
from hopsight.detectors.storage import load_detector
from hopsight.flow import flow_of
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.io.npz import read_npz, write_npz
from hopsight.loading import load
from hopsight.runs.console import LineProgress, Progress
from hopsight.runs.detect import detect, rerun, score
from hopsight.runs.finished import explain, open_run
from hopsight.runs.folder import CHECKPOINT, read_record, write_record
from hopsight.runs.request import Request, Source
from hopsight.runs.results import FILES, read_table
from run_tables import FAST, explained, rows_of, scores
from toys import as_text, refuses, set_options, two_groups

TRANSFERABLE = ["hcm", "cross_hcm", "dominant", "resgcn"]


class Messages(Progress):
    """Keeps the messages."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.epochs: list[int] = []

    def say(self, text: str) -> None:
        """Keep a message."""
        self.said.append(text)

    def epoch(self, epoch: object) -> None:
        """Keep the number of an epoch."""
        self.epochs.append(epoch.number)  # type: ignore[attr-defined]


@pytest.fixture
def labeled(tmp_path: Path, random_graph: AttributedGraph) -> Path:
    labels = np.zeros(60, dtype=int)
    labels[[3, 40]] = 1
    path = tmp_path / "labeled.npz"
    write_npz(dataclasses.replace(random_graph, labels=labels), path)
    return path


def test_the_record_holds_everything_a_reader_needs(labeled: Path, tmp_path: Path) -> None:
    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST, seed=5, top=4)
    result = detect(request, tmp_path / "out")
    record = read_record(tmp_path / "out")
    assert record["seed"] == record["parameters"]["seed"] == 5 and record["parameters"]["n_epochs"] == 6
    assert record["graph"]["n_nodes"] == 60 and record["graph"]["n_isolated"] == 1
    assert len(record["losses"]) == 6 and set(record["seconds"]) == {"load", "fit", "write", "explain"}
    assert record["peak_memory_bytes"] > 1e7 and record["expected"]["memory"] > 1e7
    assert record["threshold"] == result.threshold
    assert record["n_flagged"] == int((result.scores > result.threshold).sum())
    assert {"python", "torch", "hopsight"} <= set(record["versions"]) and isinstance(record["warnings"], list)


def test_labels_change_nothing_but_their_evaluation(
    labeled: Path, tmp_path: Path, random_graph: AttributedGraph
) -> None:
    write_npz(random_graph, tmp_path / "unlabeled.npz")
    for name in ("labeled", "unlabeled"):
        source = Source(path=str(tmp_path / f"{name}.npz"))
        detect(Request(source=source, detector="hcm", settings=FAST), tmp_path / name)
    assert (tmp_path / "labeled" / "scores.csv").read_bytes() == (tmp_path / "unlabeled" / "scores.csv").read_bytes()
    assert read_record(tmp_path / "labeled")["labels"]["n_anomalies"] == 2
    assert read_record(tmp_path / "unlabeled")["labels"] is None


def test_resuming_a_detector_without_checkpoints_starts_again_and_says_so(labeled: Path, tmp_path: Path) -> None:
    progress = Messages()
    request = Request(source=Source(path=str(labeled)), detector="lof")
    detect(request, tmp_path / "out", resume=True, progress=progress)
    assert any("LOF keeps no checkpoint" in text for text in progress.said)


@pytest.fixture
def stopped(labeled: Path, tmp_path: Path) -> tuple[Request, Path]:
    """Return the request of a run that was stopped in its third epoch, and its folder."""

    class Stop(Progress):
        def epoch(self, epoch: object) -> None:
            if epoch.number == 3:  # type: ignore[attr-defined]
                raise KeyboardInterrupt

    request = Request(source=Source(path=str(labeled)), detector="hcm", settings=FAST)
    with pytest.raises(KeyboardInterrupt):
        detect(request, tmp_path / "out", progress=Stop())
    return request, tmp_path / "out"


def test_only_a_run_that_owns_a_checkpoint_or_restart_removes_it(stopped: tuple[Request, Path]) -> None:
    """A mistyped path or label, another seed or detector, or a forgotten --resume cost nothing."""
    request, folder = stopped
    state = (folder / CHECKPOINT).read_bytes()
    missing = dataclasses.replace(request, source=Source(path="mistyped.npz"))
    mistyped = dataclasses.replace(request, source=dataclasses.replace(request.source, label="mistyped"))
    for other, resume in ((missing, True), (mistyped, True), (dataclasses.replace(request, seed=7), True)):
        with pytest.raises((ValueError, OSError)):
            detect(other, folder, resume=resume)
        assert (folder / CHECKPOINT).read_bytes() == state
    refuses("pass resume=True to continue it, restart=True to discard it", detect, request, folder)
    refuses("pass one", detect, request, folder, resume=True, restart=True)
    detect(Request(source=request.source, detector="lof"), folder, resume=True)
    assert (folder / CHECKPOINT).read_bytes() == state
    detect(request, folder, resume=True)
    assert not (folder / CHECKPOINT).exists()


def test_restart_discards_an_interrupted_run(stopped: tuple[Request, Path]) -> None:
    request, folder = stopped
    progress = Messages()
    detect(request, folder, restart=True, progress=progress)
    assert progress.epochs == [1, 2, 3, 4, 5, 6] and not (folder / CHECKPOINT).exists()


def test_a_run_on_two_kinds_of_nodes_says_that_there_is_no_ring_evidence(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"u{user},i{item},{rng.lognormal():.2f}" for user in range(40) for item in rng.choice(15, 4, replace=False)]
    (tmp_path / "orders.csv").write_text("user,item,price\n" + "\n".join(rows) + "\n")
    messages = Messages()
    source = Source(path=str(tmp_path / "orders.csv"))
    result = detect(Request(detector="cross_hcm", source=source, settings=FAST), tmp_path / "out", progress=messages)
    said = [text for text in messages.said if "ring and lockstep evidence is not available" in text]
    assert len(said) == 1 and said[0] in result.record["warnings"]
    assert said[0] in (tmp_path / "out" / "report.html").read_text()
    rows = rows_of(tmp_path / "out" / "scores.csv")
    assert all(float(row["ring"]) == 0.0 and row["decided_by"] != "ring" for row in rows)


@pytest.mark.parametrize("inside", ["", "model"])
def test_the_training_graph_gets_its_scores_back(
    finished: Path, saved_graph: Path, tmp_path: Path, inside: str
) -> None:
    score(finished / inside, Source(path=str(saved_graph)), tmp_path / "new")
    assert scores(tmp_path / "new") == pytest.approx(scores(finished), abs=1e-4)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(set(FILES) - {"groups.csv"})


def fitted_and_scored(name: str, folder: Path) -> Any:
    """Fit a detector on a graph, in the folder ``run``, and judge another, in the folder ``new``."""
    first, second = (Source(path=str(folder / f"{seed}.npz")) for seed in (1, 2))
    for seed in (1, 2):
        write_npz(two_groups(seed, n_each=20), folder / f"{seed}.npz")
    detect(Request(source=first, detector=name, settings=as_text(DETECTORS[name].quick)), folder / "run")
    return score(folder / "run", second, folder / "new", top=3)


@pytest.mark.parametrize("name", TRANSFERABLE)
def test_the_top_nodes_of_a_new_graph_are_explained(tmp_path: Path, name: str) -> None:
    """The folder of scores has the files of a detection, and explain works on it."""
    result = fitted_and_scored(name, tmp_path)
    assert result.record["detector"] == name
    files = {path.name for path in (tmp_path / "new").iterdir()}
    left_out = {"hcm": {"groups.csv"}, "cross_hcm": set()}.get(name, {"edges.csv", "groups.csv"})
    assert files == set(FILES) - left_out
    written = explained(tmp_path / "new")
    assert [reason["node"] for reason in written] == result.graph.node_ids[result.order[:3]].tolist()
    again = explain(tmp_path / "new", written[0]["node"])
    assert written[0]["summary"] in " ".join(str(again).split())
    model, graph = open_run(tmp_path / "new")
    assert model.decision_score_.tolist() == result.scores.tolist()
    assert model.threshold_ == open_run(tmp_path / "run")[0].threshold_
    if name == "cross_hcm":
        assert written[0]["decided_by"] == again.decided_by
        assert [each["strength"] for each in written[0]["evidence"]] == [each.strength for each in again.evidence]
        assert "the threshold of the fit" in result.record["flagged"]
    if "hcm" in name:
        assert [each["hop"] for each in written[0]["neighbors"]] == [each.hop for each in again.neighbors]
        assert model.edge_index_.tolist() == graph.edges.tolist()


def test_values_of_the_training_graph_are_not_shown_for_another(tmp_path: Path) -> None:
    """DOMINANT keeps an error per node of the training graph; a new graph of the same size must not get it."""
    fitted_and_scored("dominant", tmp_path)
    fitted, judged = (open_run(tmp_path / folder)[0] for folder in ("run", "new"))
    for name in (f"{key}_" for key in type(fitted).node_values):
        assert not hasattr(judged, name) or not np.array_equal(getattr(judged, name), getattr(fitted, name))


@pytest.mark.parametrize("name", TRANSFERABLE)
def test_columns_and_rows_in_any_order_give_the_training_scores(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the command line, with tables as people have them: one is sorted between ``detect`` and ``score``."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    edges, people, turned = (tmp_path / f"{word}.csv" for word in ("edges", "edges.nodes", "turned"))
    write(two_groups(1, n_each=20), edges)
    header, *rows = csv.reader(people.read_text().splitlines())
    places = [4, 0, 3, 1, 2, *range(5, len(header))]
    turned.write_text("".join(",".join(row[place] for place in places) + "\n" for row in [header, *reversed(rows)]))
    settings = set_options(DETECTORS[name].quick)
    common = ["--quiet", "--nodes"]
    out, new = tmp_path / "run", tmp_path / "new"
    assert main(["detect", str(edges), *common, str(people), "--detector", name, *settings, "--out", str(out)]) == 0
    assert main(["score", str(out), str(edges), *common, str(turned), "--out", str(new)]) == 0
    assert len(scores(new)) == 40 and scores(new) == pytest.approx(scores(out), abs=1e-4)
    turned.write_text("".join(",".join(row[place] for place in places if place != 3) + "\n" for row in [header, *rows]))
    assert main(["score", str(out), str(edges), *common, str(turned), "--out", str(new)]) == 2


@pytest.mark.parametrize(("currencies", "reads"), [("EEJ", "EUR"), ("JJE", "EUR"), ("E", "EUR"), ("J", None)])
def test_next_month_may_have_another_mix_of_currencies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], currencies: str, reads: str | None
) -> None:
    for month, mix in (("may", "EEJ"), ("june", currencies)):
        rows = {"from": [f"a{i % 23}" for i in range(200)], "to": [f"a{(i * i + 3 * i + 1) % 23}" for i in range(200)]}
        codes = [{"E": "EUR", "J": "JPY"}[mix[i % len(mix)]] for i in range(200)]
        amounts = [(1 + i * 7 % 90) * (1 if code == "EUR" else 150) for i, code in enumerate(codes)]
        pl.DataFrame(rows | {"amount": amounts, "currency": codes}).write_csv(tmp_path / f"{month}.csv")
    run, new = tmp_path / "run", tmp_path / "new"
    assert main(["detect", str(tmp_path / "may.csv"), "--out", str(run), "--set", "networks=false"]) == 0
    code = main(["score", str(run), str(tmp_path / "june.csv"), "--out", str(new)])
    if reads is None:
        assert code == 2 and "its amounts are in JPY; if some are in EUR" in capsys.readouterr().err
    else:
        assert f"amount in {reads} sent, median" in load(new / "graph.npz").attribute_names
    (tmp_path / "elsewhere").mkdir()
    (run / "model").rename(tmp_path / "elsewhere" / "model")
    capsys.readouterr()
    main(["score", str(tmp_path / "elsewhere" / "model"), str(tmp_path / "may.csv"), "--out", str(tmp_path / "3")])
    assert "This model does not say how its tables were read" in capsys.readouterr().err


def test_partners_of_the_run_are_not_new_next_month(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An employer pays the same twelve people each month, and in April one more."""
    for number, month in enumerate(("march", "april")):
        wages = [("firm", f"a{k}", 2000 + k, f"2024-0{number + 3}-27") for k in range(12)]
        rows = [(f"a{i % 23}", f"a{(i * i + 3 * i + 1) % 23}", 5 + i % 90, f"2024-0{number + 3}-{i % 25 + 1:02d}")
                for i in range(200)]  # fmt: skip
        new = [("firm", "a20", 2020, "2024-04-27")] if number else []
        pl.DataFrame([*wages, *rows, *new], schema=["from", "to", "amount", "date"], orient="row").write_csv(
            tmp_path / f"{month}.csv"
        )
    run, out = tmp_path / "run", tmp_path / "new"
    options = ["--set", "networks=false", "--contamination", "0.2"]
    assert main(["detect", str(tmp_path / "march.csv"), "--out", str(run), *options]) == 0
    assert main(["score", str(run), str(tmp_path / "april.csv"), "--out", str(out)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "events of the fit that precede this file do not count as new" in said
    n_flagged = pl.read_csv(run / "scores.csv")["flagged"].sum()
    assert f"{n_flagged} nodes of this file had been flagged at the fit; what they did then counts as usual" in said
    flow = flow_of(load(out / "graph.npz"), load_detector(out / "model").flow_baseline_)
    firm = load(out / "graph.npz").index_of("firm")
    assert flow.is_new[flow.events.source == firm].sum() == 1 and flow.raw[0, firm] == 0.0
    other = pl.read_csv(tmp_path / "april.csv").with_columns(pl.col("from").replace({"a1": "A1", "a2": "A2"}))
    other.write_csv(tmp_path / "other.csv")
    assert main(["score", str(run), str(tmp_path / "other.csv"), "--out", str(out)]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "2 ids of this file are ids of the fit in another form, such as" in said and "they count as new" in said
    assert main(["score", str(run), str(tmp_path / "march.csv"), "--out", str(out)]) == 0
    assert "of the fit" not in capsys.readouterr().err
    assert pl.read_csv(out / "scores.csv")["score"].equals(pl.read_csv(run / "scores.csv")["score"])


def test_later_files_are_written_like_those_of_the_run(tmp_path: Path) -> None:
    """March has days after the 12th and amounts below 1,000; April has neither, and means the same."""
    pairs = [(f"a{k % 23}", f"a{(k * k + 3 * k + 1) % 23}") for k in range(120)]
    for month, days, small in (("03", 28, "{}"), ("04", 12, "1.{}")):
        cells = [(f"{k % 8 + 1}.{100 + k}", small.format(700 + k))[k % 2] for k in range(120)]
        rows = [(*pairs[k], cells[k], f"{month}/{k % days + 1:02}/2024") for k in range(120)]
        pl.DataFrame(rows, schema=["from", "to", "amount", "date"], orient="row").write_csv(tmp_path / f"{month}.csv")
    run, out = tmp_path / "run", tmp_path / "new"
    assert main(["detect", str(tmp_path / "03.csv"), "--out", str(run), "--set", "networks=false"]) == 0
    assert main(["score", str(run), str(tmp_path / "04.csv"), "--out", str(out)]) == 0
    events = load(out / "graph.npz").events
    assert events.amount.min() > 1000 and events.amount.max() < 9000
    assert datetime.fromtimestamp(events.time.max(), UTC).date() == date(2024, 4, 12)


def test_what_labels_mean_is_only_said_where_there_are_some(saved_graph: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs labels: pass learn_from"):
        detect(
            Request(source=Source(path=str(saved_graph)), detector="lof", anomalous_value=("bad",)), tmp_path / "run"
        )


def test_a_model_that_cannot_judge_new_graphs_says_so(saved_graph: Path, tmp_path: Path) -> None:
    detect(Request(source=Source(path=str(saved_graph)), detector="radar"), tmp_path / "run")
    with pytest.raises(ValueError, match="can only judge the graph it was fitted on"):
        score(tmp_path / "run", Source(path=str(saved_graph)), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_rerun_says_when_its_source_has_changed_or_is_gone(
    finished: Path, saved_graph: Path, path_graph: AttributedGraph
) -> None:
    stream = io.StringIO()
    rerun(finished / "run.json", progress=LineProgress(stream))
    assert "has changed" not in stream.getvalue()
    write_npz(path_graph, saved_graph)
    rerun(finished / "run.json", progress=LineProgress(stream))
    assert "graph.npz has changed since the first run" in " ".join(stream.getvalue().split())
    saved_graph.unlink()
    refuses(r"graph\.npz", rerun, finished / "run.json")


@pytest.mark.parametrize(("name", "value"), [
    ("detector", ["lof"]), ("device", None), ("top", "many"), ("settings", {"n_epochs": 6}), ("settings", 5),
    ("source", None), ("source", {"path": 7, "ignore": []}), ("source", {"path": None, "ignore": [None]}),
    ("unheard of", 1),
])  # fmt: skip
def test_a_record_with_values_of_other_types_is_refused(tmp_path: Path, name: str, value: object) -> None:
    request = {"detector": "lof", "source": {"path": "nowhere.npz", "ignore": []}, "settings": {}, name: value}
    write_record(tmp_path / "run.json", {"command": "detect", "request": request})
    refuses("does not say how to repeat the run", rerun, tmp_path / "run.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_node_table_that_was_found_next_to_the_edges_is_checked_too(tmp_path: Path) -> None:
    write(two_groups(0), tmp_path / "f.csv")
    detect(Request(source=Source(path=str(tmp_path / "f.csv")), detector="lof"), tmp_path / "run")
    assert sorted(Path(path).name for path in read_record(tmp_path / "run")["inputs"]) == ["f.csv", "f.nodes.csv"]
    stream = io.StringIO()
    write(two_groups(1), tmp_path / "f.csv")
    rerun(tmp_path / "run", progress=LineProgress(stream))
    assert "f.nodes.csv has changed since the first run" in " ".join(stream.getvalue().split())


def test_a_rerun_finds_a_graph_of_the_catalog_where_it_was(
    tmp_path: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPSIGHT_DATA", str(data_dir))
    detect(Request(source=Source(path="disney"), detector="lof"), tmp_path / "run")
    assert len(read_record(tmp_path / "run")["inputs"]) == 1
    monkeypatch.setenv("HOPSIGHT_DATA", str(tmp_path))
    assert rerun(tmp_path / "run").folder.name == "run-rerun"
    assert (tmp_path / "run-rerun" / "scores.csv").read_bytes() == (tmp_path / "run" / "scores.csv").read_bytes()


def test_scores_of_a_saved_model_are_repeated(finished: Path, saved_graph: Path, tmp_path: Path) -> None:
    score(finished, Source(path=str(saved_graph)), tmp_path / "new", top=2)
    again = rerun(tmp_path / "new" / "run.json")
    assert again.folder == tmp_path / "new-rerun" and scores(again.folder) == scores(tmp_path / "new")
    assert len(explained(again.folder)) == 2


def test_scores_are_flagged_by_their_own_threshold_if_asked_for(
    finished: Path, saved_graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["score", str(finished), str(saved_graph), "--quiet", "--out", str(tmp_path / "new")]
    assert main([*asked, "--contamination", "0.1"]) == 0
    assert "10% of all, as asked." in capsys.readouterr().out
    flagged = read_record(tmp_path / "new")["n_flagged"]
    assert flagged == 0.1 * read_npz(saved_graph).n_nodes == rerun(tmp_path / "new").record["n_flagged"]
    assert main([*asked, "--false-alarms", "0"]) == 0
    assert "No node stands out enough to be flagged" in capsys.readouterr().out
    assert main([*asked, "--contamination", "0.7"]) == 2
    assert "--contamination must be at most 0.5" in capsys.readouterr().err


N, OUTSIDE = 60, 12


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    rng = np.random.default_rng(0)
    ends = rng.integers(0, N, (2, 240))
    outside = [f"x{number}" for number in range(OUTSIDE)]
    pairs = [(f"p{a}", f"p{b}") for a, b in ends.T.tolist()] + [(f"p{number}", outside[0]) for number in range(N)]
    pairs += [(name, f"p{number}") for number, name in enumerate(outside)] + [(outside[1], outside[2])]
    edges = pl.DataFrame(pairs, schema=["source", "target"], orient="row")
    edges.write_csv(folder / "edges.csv")
    people = pl.DataFrame({"id": [f"p{number}" for number in range(N)], "age": rng.normal(40, 9, N).round(1)})
    people.with_columns(income=pl.Series(rng.normal(3000, 500, N).round())).write_csv(folder / "people.csv")
    return folder


def run(tables: Path, folder: Path, **options: object) -> pl.DataFrame:
    source = Source(path=str(tables / "edges.csv"), nodes=str(tables / "people.csv"), **options)  # type: ignore[arg-type]
    settings = {"n_epochs": "24", "burn_in": "12", "contamination": "0.1", "min_class_pairs": "20"}
    detect(Request(detector="cross_hcm", source=source, settings=settings), folder)
    return read_table(folder / "scores.csv")


def test_nodes_without_a_row_come_last_unflagged_unless_they_are_to_be_ranked(tables: Path, tmp_path: Path) -> None:
    scores = run(tables, tmp_path / "out")
    assert scores["known"].to_list() == [1] * N + [0] * OUTSIDE
    assert scores["flagged"].to_list() == [1] * 6 + [0] * (N + OUTSIDE - 6)  # 10% of those that are ranked
    again = read_npz(tmp_path / "out" / "graph.npz")
    assert again.known.sum() == N and again.ranked is not None
    scores = run(tables, tmp_path / "ranked", rank_unknown=True)
    assert scores["known"].to_list() != [1] * N + [0] * OUTSIDE and scores["known"].sum() == N


def test_a_payment_is_found_again_by_its_own_number(tmp_path: Path) -> None:
    """Also where rows are left out before it: a cancelled one, and one from an account to itself."""
    rng = np.random.default_rng(0)
    paid = [
        (f"PAY-{7 * i}", *map(str, rng.integers(0, 30, 2)), 10.0 + i, f"2024-03-{1 + i % 28:02}") for i in range(200)
    ]
    frame = pl.DataFrame(paid, ["payment_id", "payer", "payee", "amount", "date"], orient="row")
    frame = frame.with_columns(status=pl.Series(["void" if i == 3 else "paid" for i in range(200)]))
    frame.write_csv(tmp_path / "payments.csv")
    request = Request(detector="cross_hcm", preset="untrained", source=Source(path=str(tmp_path / "payments.csv")))
    detect(request, tmp_path / "out")
    found = {
        (row["id"], row["source"], row["target"], float(row["amount"]))
        for row in rows_of(tmp_path / "out" / "edges.csv")
    }
    assert found == {
        (each[0], each[1], each[2], each[3]) for i, each in enumerate(paid) if i != 3 and each[1] != each[2]
    }


def test_what_is_not_ranked_says_so(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges, people, out = (str(path) for path in (tables / "edges.csv", tables / "people.csv", tmp_path / "out"))
    assert main(["detect", edges, "--nodes", people, "--detector", "lof", "--out", out, "--quiet"]) == 0
    assert f"most anomalous of {N} nodes" in capsys.readouterr().out
    assert main(["explain", out, "x0"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Not ranked: it has no row in the node table; --rank-unknown ranks it." in text and "Ranks " not in text
    assert main(["explain", out, "p0"]) == 0
    assert f" of {N} (" in " ".join(capsys.readouterr().out.split())


def test_a_model_leaves_the_nodes_with_a_value_out_of_later_rankings_too(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text((tables / "edges.csv").read_text())
    people = pl.read_csv(tables / "people.csv").with_columns(kind=pl.Series(["own"] * 2 + ["else"] * (N - 2)))
    people.write_csv(tmp_path / "people.csv")
    scores = run(tmp_path, tmp_path / "out", ignore=("kind=own",))
    assert {"p0", "p1"} <= set(scores["node"][-2 - OUTSIDE :]) and scores["flagged"][-2 - OUTSIDE :].sum() == 0
    assert "Not ranked, as asked." in explain(tmp_path / "out", "p0").summary
    source = Source(path=str(tmp_path / "edges.csv"), nodes=str(tmp_path / "people.csv"))
    score(tmp_path / "out", source, tmp_path / "new")
    assert {"p0", "p1"} <= set(read_table(tmp_path / "new" / "scores.csv")["node"][-2 - OUTSIDE :])


def test_an_edge_to_a_node_without_attributes_is_no_evidence(tables: Path) -> None:
    graph: AttributedGraph = load(tables / "edges.csv", tables / "people.csv", notices=[])
    quick = get_detector("cross_hcm").quick
    model = get_detector("cross_hcm")(**quick).fit(graph)
    hops = model.edge_hop_[~graph.known_edges]
    assert hops.size == OUTSIDE + N + 1 - 1  # p0 and x0 have an edge in both directions
    assert set(hops.tolist()) == {float(np.median(model.edge_hop_[graph.known_edges]))}
    assert not model.edge_label_[~graph.known_edges].any()
    assert not any(graph.node_ids[place].startswith("x") for place, _ in model.questions(30, graph))


@pytest.mark.parametrize("option", ["only", "learn_from"])
def test_a_bad_list_of_nodes_is_refused_before_the_fit(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    (tmp_path / "list.csv").write_text("node,verdict\np1,anomalous\nnobody,normal\n")
    monkeypatch.setattr("hopsight.runs.detect._fit", lambda *_, **__: pytest.fail("fitted"))
    source = Source(path=str(tables / "edges.csv"), nodes=str(tables / "people.csv"))
    asked = {option: str(tmp_path / "list.csv")}
    refuses("nobody", detect, Request(detector="cross_hcm", source=source, **asked), tmp_path / "out")
