"""What a finished run says as a whole."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from hopsight.streams.alerts import Wording, account_reason, event_reason
from hopsight.streams.results import explain_node, explain_pair, node_story
from hopsight.streams.times import ISO, moment_words, parse_window
from stream_toys import BURST, STRANGER


def test_the_record_has_fits_counts_and_the_agreement_with_labels(finished: Path) -> None:
    record = json.loads((finished / "run.json").read_text())
    assert record["n_events"] == 3140
    assert record["n_alerts"] == pl.read_csv(finished / "alerts.csv").height > 0
    assert record["fits"][0]["reason"] == "first"
    assert record["n_fits"] == len(record["fits"])
    assert record["labels"]["roc_auc"] > 0.9


def test_planted_nodes_are_among_the_first_and_explained(finished: Path) -> None:
    scores = pl.read_csv(finished / "scores.csv")
    assert scores.columns[:6] == ["node", "rank", "score", "flagged", "judged", "degree"]
    first = scores["node"].head(12).to_list()
    assert {*BURST, STRANGER} <= set(first)  # and those that the stranger turned to, who share its score
    assert STRANGER in first[:6]
    explained = {each["node"]: each["summary"] for each in json.loads((finished / "explanations.json").read_text())}
    assert "until then it was active in " in explained[first[0]] or "it was new" in explained[first[0]]
    assert STRANGER in explained
    assert "no known path" in explained[STRANGER]


def test_every_window_has_a_row_also_the_one_that_is_open(finished: Path) -> None:
    windows = pl.read_csv(finished / "windows.csv")
    assert windows["window"].is_sorted()
    assert windows["span"][[0, -1]].to_list() == ["2023-11-15", "2023-12-14"]
    assert windows["events"].sum() == 3140
    trajectories = pl.read_csv(finished / "trajectories.csv")
    assert trajectories["events"].sum() == 2 * windows["events"].sum()


def test_the_report_shows_windows_alerts_and_nodes(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert "each by what was known before it" in page
    assert BURST[0] in page
    assert "<script" in page
    assert "drifted" not in page


def test_the_page_says_what_scores_mean_and_gives_each_time_once(finished: Path) -> None:
    page = (finished / "report.html").read_text()
    assert "A score of 3 means one ordinary event in a thousand" in page
    alerts = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["alerts"]
    assert alerts
    for _, _, _, time, *_, reason in alerts:
        assert time not in reason
    assert any(reason.startswith("12 events from a3 to a4 within 1 minute so far") for *_, reason in alerts)


def test_a_node_can_be_explained_later(finished: Path) -> None:
    found = explain_node(finished, STRANGER)
    alerts = pl.read_csv(finished / "alerts.csv").filter(account=STRANGER)
    rank = pl.read_csv(finished / "scores.csv").filter(node=STRANGER)["rank"].item()
    assert found["summary"].startswith(f"{STRANGER}: rank {rank} of 50, score {found['score']:.2f}, ")
    assert [each["alert"] for each in found["alerts"]] == alerts["alert"].to_list() != []
    assert all(reason in found["summary"] for reason in alerts["reason"])
    peak = max(found["windows"], key=lambda row: row["score"])["window"]
    before = [row["events"] for row in found["windows"] if row["window"] < peak]
    assert f"; until then it was active in {len(before)} windows, with {sum(before)} events" in found["summary"]
    calm = explain_node(finished, "b20")
    assert (calm["alerts"], ", 0 alerts. In its strongest window, " in calm["summary"]) == ([], True)
    assert "no known path" in found["summary"]
    assert sum(row["events"] for row in found["windows"]) > 100
    assert explain_node(finished, STRANGER.upper()) == explain_node(finished, STRANGER)
    with pytest.raises(ValueError, match="'nobody' has no event"):
        explain_node(finished, "nobody")
    edited = finished / "alerts.csv"
    whole = edited.read_bytes()
    for content in (whole + b"99,M\xfcller,a\n", b""):  # as a spreadsheet saves it in Windows-1252
        edited.write_bytes(content)
        for call in (lambda: explain_node(finished, STRANGER), lambda: explain_pair(finished, "a3", "a4")):
            with pytest.raises(ValueError, match=f"a table in {finished} is damaged or was changed: "):
                call()
    edited.write_bytes(whole)


def test_a_pair_is_explained_with_a_date(finished: Path) -> None:
    edges = pl.read_csv(finished / "edges.csv")
    named = pl.read_csv(finished / "alerts.csv").select("source", "target")
    source, target, time = (
        edges.join(named, on=["source", "target"], how="anti")
        .filter(pl.col("score") == pl.col("score").max().over("source", "target"))
        .select("source", "target", "time").row(0)
    )  # fmt: skip
    date = moment_words(time, ISO)
    assert f"; the strongest came at {date} with a score of " in explain_pair(finished, source, target)["summary"]


DAYS = Wording(parse_window("1d"), True, "%d.%m.%Y %H:%M", ("EUR",), paid=True, origin=10.0, money=True)


def test_events_in_words() -> None:
    row = {"source": "ann", "target": "bob", "count": 120.0, "usual": 2.0, "past_hop": 4.0, "carried": 0.0, "scale": 0,
           "streak_place": 0, "streak_size": 4.5, "amount": 5000.0, "usual_amount": 120.3, "currency": "EUR",
           "hop_evidence": 4.6, "amount_evidence": 5.0, "hour_evidence": 3.0}  # fmt: skip
    expected = {
        "hop": "ann and bob have never dealt with each other, nor have their partners; about 1.0% of earlier events "
        "had a pair this unlikely (5,000 EUR, about 120.3 EUR expected). The amount and the hour are also unusual.",
        "pair": "120 events from ann to bob within 1 minute so far, about 2.0 expected; "
        "the amount of the last is 5,000 EUR, about 120.3 EUR expected.",
        "receiver": "bob received 120 events within 1 minute so far, about 2.0 expected; "
        "the amount of the last, from ann, is 5,000 EUR, about 120.3 EUR expected.",
        "amount": "ann paid bob 5,000 EUR, about 120.3 EUR expected. The pair and the hour are also unusual.",
        "hour": "ann is active at an unusual hour of the day (5,000 EUR, about 120.3 EUR expected). "
        "The pair and the amount are also unusual.",
        "streak": "Taken together, 5 or more recent events that ann sent went to unlikely receivers; the amount of the "
        "last, to bob, is 5,000 EUR, about 120.3 EUR expected.",
    }
    assert {kind: event_reason({**row, "decided_by": kind}, DAYS) for kind in expected} == expected
    silent = {**row, "decided_by": "streak", "streak_place": 4, "amount": math.nan}
    assert (
        event_reason(silent, DAYS) == "Taken together, 5 or more recent events that bob received have unusual amounts."
    )
    weak = {**silent, "decided_by": "hop", "past_hop": 1.0, "hop_evidence": 2.0, "amount_evidence": 0.0,
            "hour_evidence": 1.9}  # fmt: skip
    assert event_reason(weak, DAYS) == "ann and bob have dealt before; pair, amount and hour are unusual only together."


def account_row(end: int, values: list[float], second: float) -> dict[str, object]:
    """Return what account_reason needs: here two and a half windows after the stream began."""
    return {"end": end, "said": values, "start": second, "place": 2.5}


def test_accounts_in_words() -> None:
    """Of twelve payments, 9,420 in all, the first came 4.2 hours before the last.

    Windows are days, and the first is 11.01.: the alert is in the quarter from 13.01. 12:00 on, and is about it and the
    one before, so that earlier ones end at 06:00.
    """
    values = [3.5, 12.0, 9420.0, 0.0, 310.5, 995.0, 640.0, 5.0, 0.0, 1.0, 12.0, 1.0, 0.0]
    assert account_reason("ann", account_row(0, values, 4.2 * 3600), DAYS) == (
        "ann paid 12 new partners within 5 hours so far, 9,420 EUR in first payments (310.50 to 995 EUR each); 5 other "
        "payments since 11.01.1970 00:00, and it sent at most 640 EUR in each block of 6 hours from then to 13.01.1970 "
        "06:00."
    )
    unpaid = replace(DAYS, paid=False, money=False)
    assert account_reason("ann", account_row(1, [3.5, 12.0, *[0.0] * 11], 60.0), unpaid) == (
        "ann received from 12 new partners within 1 minute so far; nothing else since 11.01.1970 00:00."
    )


def test_only_money_is_paid() -> None:
    bytes_ = replace(DAYS, currencies=("",), money=False)
    values = [3.5, 12.0, 9420.0, 0.0, 310.5, 995.0, 0.0, 5.0, 0.0, 0.0, 12.0, 1.0, 0.0]
    rest = "12 new partners within 5 hours so far, 9,420 in first events (310.50 to 995 each); 5 other events since "
    rest += "11.01.1970 00:00."
    assert account_reason("ann", account_row(0, values, 4.2 * 3600), bytes_) == f"ann sent to {rest}"
    assert account_reason("ann", account_row(1, values, 4.2 * 3600), bytes_) == f"ann received from {rest}"
    row = {"source": "ann", "target": "bob", "count": 1.0, "usual": 1.0, "carried": 0.0, "scale": 0, "amount": 5000.0,
           "usual_amount": 120.3, "currency": "", "decided_by": "amount", "hop_evidence": 0.0, "amount_evidence": 5.0,
           "hour_evidence": 0.0}  # fmt: skip
    assert event_reason(row, bytes_) == "ann sent bob 5,000, about 120.3 expected."


def test_dates_without_an_hour_give_no_hours_and_minutes() -> None:
    dates = replace(DAYS, times="%m/%d/%Y", currencies=("",))
    values = [3.5, 3.0, 9353.0, 0.0, 3000.0, 3200.0, 640.0, 5.0, 0.0, 1.0, 3.0, 1.0, 0.0]
    assert account_reason("ann", account_row(1, values, 0.0), dates) == (
        "ann was paid by 3 new partners within a day so far, 9,353 in first payments (3,000 to 3,200 each); 5 other "
        "payments since 01/11/1970, and it received at most 640 in each block of a day from then to 01/13/1970."
    )
    assert "within 3 days so far," in account_reason("ann", account_row(1, values, 2 * 86400.0), dates)
    row = {"source": "ann", "target": "bob", "count": 9.0, "usual": 2.0, "carried": 0.0, "scale": 0, "amount": math.nan,
           "usual_amount": math.nan, "currency": "", "decided_by": "pair", "hop_evidence": 0.0, "amount_evidence": 0.0,
           "hour_evidence": 0.0}  # fmt: skip
    assert event_reason(row, dates) == "9 events from ann to bob within a day so far, about 2.0 expected."


def test_a_node_that_was_new() -> None:
    row = {
        "peak_window": 0, "peak_events": 9, "peak_sent": 0, "peak_new_pairs": 9, "peak_far": 1,
        "before_events": 0, "before_windows": 0, "before_new_pairs": 0,
    }  # fmt: skip
    assert node_story(row, DAYS) == (
        "In its strongest window, 01.01.1970, it had 9 events (0 sent, 9 received), "
        "with 9 new partners, 1 of which it had no known path to; it was new."
    )
