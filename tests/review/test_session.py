"""What the page asks for."""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight.explanations.text import chance
from hopsight.review.session import LEARNED, Session, learn_from, open_session
from hopsight.review.storage import FILE
from review_served import IMAGE
from toys import refuses


def judge(session: Session, count: int) -> None:
    """Give the labels of the first nodes of the queue as verdicts."""
    for row in session.listed("queue")[:count]:
        word = "anomalous" if session.graph.labels[row["place"]] == 1 else "normal"
        session.decide(f"request-{row['place']}", row["place"], word, "", "ann")


def settle(session: Session) -> None:
    """Wait until the ranking has learned from all verdicts."""
    end = time.monotonic() + 60
    while session.state()["pending"]:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_node_comes_with_sentences_picture_attributes_and_history_and_any_is_found(session: Session) -> None:
    first = session.listed("queue")[0]
    assert first["rank"] == 1 and first["name"] == IMAGE and first["verdict"] is None
    session.decide("r1", first["place"], "anomalous", "a note", "ann")
    found = session.node(first["place"])
    page = found["page"]
    place = first["place"]
    assert page["nodes"][place][0] == IMAGE
    assert page["reasons"][place]["sentences"][0].startswith("It ranks 1 of ")
    assert page["egos"][place]["total"] == session.graph.degrees[place]
    assert [row[:2] + row[3:] for row in found["history"]] == [["anomalous", "ann", "a note", False]]
    refuses("no node at place", session.node, session.graph.n_nodes)
    found = session.search("USER-01")
    assert [row["name"] for row in found][:3] == ["user-010", "user-011", "user-012"]
    place = found[0]["place"]
    assert session.node(place)["page"]["reasons"][place]["sentences"]
    assert session.search("img src")[0]["name"] == IMAGE
    assert session.search("  ") == [] == session.search("nobody")


def test_a_run_that_replaced_the_reviewed_one_is_left_alone(session: Session, run_folder: Path) -> None:
    record = run_folder / "run.json"
    record.write_text(record.read_text().replace('"threshold": ', '"threshold": 1'))  # as another detection leaves it
    judge(session, 12)
    settle(session)
    assert "has another run now" in session.state()["learned"] and not (run_folder / LEARNED).exists()
    (run_folder / FILE).unlink()
    with pytest.raises(OSError, match="cannot keep verdicts"):
        session.state()
    assert not (run_folder / FILE).exists()


def test_a_file_of_the_user_is_not_replaced_by_what_was_learned(session: Session, run_folder: Path) -> None:
    mine = run_folder / LEARNED
    for number, text in enumerate(["my own file", "what review wrote, edited"]):
        mine.write_text(text)
        session.decide(f"r{number}", number, "normal", "", "ann")
        settle(session)
        session.decide(f"s{number}", 20 + number, "anomalous", "", "ann")
        settle(session)
        assert f"{LEARNED} was not written" in session.state()["learned"] and mine.read_text() == text
        mine.unlink()
        session.decide(f"t{number}", 40 + number, "normal", "", "ann")
        settle(session)
        assert mine.read_text().startswith("node,rank")


def test_a_verdict_takes_its_node_from_the_queue_and_leaves_the_order_of_the_others(session: Session) -> None:
    asked = [row["place"] for row in session.listed("queue")]
    for place in asked[:3]:
        session.decide(f"r{place}", place, "unsure", "", "ann")
    assert [row["place"] for row in session.listed("queue")][:40] == asked[3:43]


def test_views_list_what_they_say(session: Session) -> None:
    judge(session, 6)
    known = {row["place"]: row["verdict"] for row in session.listed("judged")}
    assert len(known) == 6 and not known.keys() & {row["place"] for row in session.listed("queue")}
    for verdict in ("anomalous", "normal", "unsure"):
        assert {row["place"] for row in session.listed(verdict)} == {p for p, word in known.items() if word == verdict}
    assert all(row["flagged"] for row in session.listed("flagged"))
    refuses("view must be one of", session.listed, "everything")


def test_every_verdict_ranks_again_and_the_new_ranking_survives_a_restart(session: Session, run_folder: Path) -> None:
    before = (run_folder / "scores.csv").read_bytes()
    assert session.listed("queue")[0]["probability"] is None
    judge(session, 20)
    settle(session)
    assert "Learned from" in session.state()["learned"]
    first = session.listed("queue")[0]
    assert first["probability"] == session.model.probability_[first["place"]]
    sentences = session.node(first["place"])["page"]["reasons"][first["place"]]["sentences"]
    assert f"a probability of {chance(first['probability'])}" in sentences[-1]
    table = pl.read_csv(run_folder / LEARNED)
    assert table["score"].to_list() == pytest.approx(sorted(session.model.decision_score_, reverse=True))
    assert "rank_before" in table.columns and (run_folder / "scores.csv").read_bytes() == before
    again = open_session(run_folder)
    assert [row["place"] for row in again.listed("queue")] == [row["place"] for row in session.listed("queue")]


def test_the_state_has_a_learning_curve_and_says_whether_more_verdicts_would_help(session: Session) -> None:
    judge(session, 50)
    end = time.monotonic() + 60
    while not (found := session.state())["curve"]:
        assert time.monotonic() < end
        time.sleep(0.05)
    counts, areas = zip(*found["curve"], strict=True)
    assert counts[-1] == 50 and list(counts) == sorted(counts) and all(0.0 <= area <= 1.0 for area in areas)
    assert "ROC-AUC" in found["helps"] and "50" in found["helps"]


def test_undo_unlearns_and_one_kind_of_verdicts_teaches_nothing(session: Session, run_folder: Path) -> None:
    scores = session.model.decision_score_.copy()
    session.decide("r1", 3, "normal", "", "ann")
    settle(session)
    assert session.state()["learned"] is None and not (run_folder / LEARNED).exists()
    session.decide("r2", session.listed("queue")[0]["place"], "anomalous", "", "ann")
    settle(session)
    assert "1 anomalous and 1 normal" in session.state()["learned"] and (run_folder / LEARNED).exists()
    counter = session.state()["learning"]
    session.undo("u1", "ann")
    settle(session)
    assert session.state()["learned"] is None and session.state()["learning"] > counter
    np.testing.assert_array_equal(session.model.decision_score_, scores)
    assert not (run_folder / LEARNED).exists()


def test_the_page_is_answered_while_learning_and_the_newest_verdicts_win(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_end = threading.Event(), threading.Event()
    learned: list[int] = []

    def slow(model: Any, graph: Any, verdicts: dict[int, str]) -> tuple[Any, str | None]:
        began.set()
        assert may_end.wait(30)
        learned.append(len(verdicts))
        return learn_from(model, graph, verdicts)

    monkeypatch.setattr("hopsight.review.session.learn_from", slow)
    first = session.listed("queue")[0]["place"]
    session.decide("first", first, "anomalous", "", "ann")
    assert began.wait(30)
    start = time.monotonic()
    judge(session, 8)
    assert session.state()["pending"] and session.node(first)["row"]["verdict"] == "anomalous"
    assert len(session.listed("judged")) == 9
    assert time.monotonic() - start < 10  # of a busy machine: nothing has waited for the learner
    may_end.set()
    settle(session)
    assert learned[-1] == 9 and len(learned) <= 3  # once for the first, and once for all that came meanwhile
    assert session.state()["learned"] is not None


def test_a_failure_to_learn_is_said_and_the_next_verdict_tries_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise MemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr("hopsight.review.session.learn_from", fails)
        judge(session, 12)
        settle(session)
        assert "could not learn from the latest verdict: no memory" in session.state()["learned"]
    judge(session, 1)
    settle(session)
    assert "Learned from" in session.state()["learned"]


def test_verdicts_add_to_the_labels_that_the_run_has_learned_from(session: Session) -> None:
    graph, labels = session.graph, session.graph.labels
    fraud, fine = (np.flatnonzero(labels == kind)[:10].tolist() for kind in (1, 0))
    known = {graph.node_ids[place]: int(labels[place]) for place in fraud + fine}
    model = session.fitted.learn(known, graph=graph)
    assert learn_from(model, graph, {})[0] is model
    found, _ = learn_from(model, graph, {fraud[0]: "unsure", fine[0]: "anomalous"})
    expected = {place: int(labels[place]) for place in fraud[1:] + fine} | {fine[0]: 1}
    assert dict(zip(found.learned_.judged.tolist(), found.learned_.anomalous.tolist(), strict=True)) == expected


def test_the_export_is_a_file_of_verdicts_that_detect_reads(session: Session, tmp_path: Path) -> None:
    place = session.listed("queue")[0]["place"]
    session.decide("r1", place, "anomalous", "=1+1", "ann")
    session.decide("r2", 7, "normal", "", "ann")
    session.undo("u", "ann")
    file = tmp_path / "verdicts.csv"
    file.write_text(session.export())
    table = pl.read_csv(file)
    assert table.select("node", "verdict", "note").rows() == [(IMAGE, "anomalous", "'=1+1")]
    from hopsight.io.labels import read_labels

    found = read_labels(file, session.graph)
    assert found.positions.tolist() == [place] and found.anomalous.all()


def test_undo_takes_back_only_what_the_same_reviewer_decided(session: Session) -> None:
    session.decide("r1", 3, "normal", "", "ann")
    session.decide("r2", 4, "normal", "", "bob")
    assert session.undo("u1", "ann") == 3 and session.undo("u2", "ann") is None
    assert list(session.decisions()) == [4]
