"""What the page asks for."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hopsight.review.session import LEARNED, Session, open_session
from review_served import IMAGE


def judge(session: Session, count: int) -> None:
    """Give the labels of the first nodes of the queue as verdicts."""
    for row in session.listed("queue")[:count]:
        word = "anomalous" if session.graph.labels[row["place"]] == 1 else "normal"
        session.decide(f"request-{row['place']}", row["place"], word, "", "ann")


def test_a_node_comes_with_sentences_picture_attributes_and_history(session: Session) -> None:
    first = session.listed("queue")[0]
    assert first["rank"] == 1 and first["name"] == IMAGE and first["verdict"] is None
    session.decide("r1", first["place"], "anomalous", "a note", "ann")
    found = session.node(first["place"])
    page = found["page"]
    place = first["place"]
    assert page["nodes"][place][0] == IMAGE
    assert page["reasons"][place]["sentences"][0].startswith("It is")
    assert page["egos"][place]["total"] == session.graph.degrees[place]
    assert [row[:2] + row[3:] for row in found["history"]] == [["anomalous", "ann", "a note", False]]
    with pytest.raises(ValueError, match="no node at place"):
        session.node(session.graph.n_nodes)


def test_any_node_is_found_and_explained(session: Session) -> None:
    found = session.search("USER-01")
    assert [row["name"] for row in found][:3] == ["user-010", "user-011", "user-012"]
    place = found[0]["place"]
    assert session.node(place)["page"]["reasons"][place]["sentences"]
    assert session.search("img src")[0]["name"] == IMAGE
    assert session.search("  ") == [] == session.search("nobody")


def test_views_list_what_they_say(session: Session) -> None:
    judge(session, 6)
    known = {row["place"]: row["verdict"] for row in session.listed("judged")}
    assert len(known) == 6
    assert not known.keys() & {row["place"] for row in session.listed("queue")}
    for verdict in ("anomalous", "normal", "unsure"):
        assert {row["place"] for row in session.listed(verdict)} == {p for p, word in known.items() if word == verdict}
    assert all(row["flagged"] for row in session.listed("flagged"))
    with pytest.raises(ValueError, match="view must be one of"):
        session.listed("everything")


def test_learning_ranks_again_is_written_beside_and_survives_a_restart(session: Session, run_folder: Path) -> None:
    assert session.learn().startswith("Nothing was learned yet")
    before = (run_folder / "scores.csv").read_bytes()
    judge(session, 20)
    assert "Learned from" in session.learn()
    assert session.state()["learned"] is not None and session.state()["learning"] == 2
    table = pl.read_csv(run_folder / LEARNED)
    assert table["score"].to_list() == pytest.approx(sorted(session.model.decision_score_, reverse=True))
    assert "rank_before" in table.columns and (run_folder / "scores.csv").read_bytes() == before
    again = open_session(run_folder)
    assert [row["place"] for row in again.listed("queue")] == [row["place"] for row in session.listed("queue")]


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
    assert session.undo("u1", "ann") == 3
    assert session.undo("u2", "ann") is None
    assert list(session.decisions()) == [4]
