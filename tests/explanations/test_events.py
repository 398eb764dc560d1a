"""What events say about a node: each sentence for a case worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from hopsight.detectors.table import WEIGHTS
from hopsight.explanations import Explanation
from hopsight.explanations.events import Calendar, FlowReason, flow_reason, money, node_events
from hopsight.explanations.groups import within
from hopsight.explanations.reasons import Evidence
from hopsight.flow.facts import AmountFacts, BurstFacts, CycleFacts, PassThroughFacts, facts
from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from hopsight.loading import load

MARCH = 1_709_251_200.0  # 2024-03-01
DAY = 86_400.0
NAMES = np.array(["a", "b", "c\n", "d"], dtype=object)
NOTHING = np.empty(0, dtype=np.int64)


def said(kind: str, found: object, pattern: str | None = "%Y-%m-%d") -> tuple[str, str]:
    reason = flow_reason(kind, found, NAMES, Calendar(pattern))  # type: ignore[arg-type]
    return reason.sentence, reason.in_short


def burst(**changes: object) -> BurstFacts:
    usual = {
        "direction": "received", "n_events": 37, "n_new": 37, "first": MARCH, "last": MARCH + 5.4 * DAY, "usual": 4.0,
        "usual_new": 2.2, "sums": ((34_810.0, "EUR"),), "smallest": 880.0, "largest": 995.0, "events": NOTHING,
    }  # fmt: skip
    usual |= changes
    usual |= {"with_new": 2 * usual["n_new"] >= usual["n_events"], "n_amounts": usual["n_events"]} | changes
    return BurstFacts(**usual)  # type: ignore[arg-type]


def test_new_senders_within_days() -> None:
    assert said("burst", burst()) == (
        "37 new senders sent it 880 to 995 EUR within 6 days (2024-03-01 to 2024-03-06 09:36), 34,810 EUR in all; "
        "nodes this active usually have 2.",
        "37 new senders, 34,810 EUR within 6 days",
    )


def test_new_receivers_in_a_night_are_dated_as_in_the_file() -> None:
    night = burst(direction="sent", n_new=12, n_events=12, first=MARCH + 7200, last=MARCH + 14_460, usual_new=0.6)
    assert said("burst", night, "%d.%m.%Y")[0] == (
        "It sent 880 to 995 EUR to 12 new receivers within 3 hours (01.03.2024 02:00 to 04:01), 34,810 EUR in all; "
        "nodes this active usually have 1."
    )


def test_events_without_amounts_and_without_dates() -> None:
    bare = burst(n_new=3, sums=(), smallest=None, largest=None, first=7.0, last=9.5)
    assert said("burst", bare, None) == (
        "It had 37 incoming events within 2.5 (7 to 9.5); nodes this active usually have 4.",
        "37 incoming events within 2.5",
    )
    assert (
        said("burst", replace(bare, n_new=37, with_new=True, direction="sent"), None)[1]
        == "edges to 37 new partners within 2.5"
    )


def test_amounts_of_two_currencies_are_two_sums_and_small_ones_keep_their_digits() -> None:
    both = burst(n_events=12, n_new=12, sums=((600.0, "EUR"), (96_000.0, "JPY")), smallest=None, largest=None)
    assert said("burst", both) == (
        "12 new senders sent it 600 EUR and 96,000 JPY within 6 days (2024-03-01 to 2024-03-06 09:36); nodes "
        "this active usually have 2.",
        "12 new senders, 600 EUR and 96,000 JPY within 6 days",
    )
    small = burst(n_events=12, n_new=12, sums=((0.0108, "BTC"),), smallest=0.0009, largest=0.0009)
    assert (
        "sent it 0.0009 BTC within 6 days (2024-03-01 to 2024-03-06 09:36), 0.0108 BTC in all"
        in said("burst", small)[0]
    )


def test_what_came_in_went_out_again() -> None:
    passing = PassThroughFacts(
        34_810.0, 32_025.0, 0.92, 5 * 3600.0, MARCH, MARCH + 7 * DAY, 3 * DAY, 0.0, "EUR", NOTHING
    )  # fmt: skip
    assert said("pass_through", passing) == (
        "92% of the 34,810 EUR it received went out again, each time within 3 days, half of that within 5 hours "
        "(2024-03-01 to 2024-03-08); others usually pass on nothing.",
        "92% of 34,810 EUR out again within 3 days",
    )


@pytest.mark.parametrize(
    ("usual", "words"), [(0.0, "; others usually pass on nothing"), (0.03, "; others usually pass on 3%"), (0.2, "")]
)
def test_what_went_out_again_is_compared_with_what_is_usual(usual: float, words: str) -> None:
    passing = PassThroughFacts(
        5086.0, 356.0, 0.07, 2 * DAY, MARCH, MARCH + 7 * DAY, 3 * DAY, usual, "PLN", NOTHING
    )  # fmt: skip
    assert said("pass_through", passing) == (
        "7% of the 5,086 PLN it received went out again, each time within 3 days, half of that within 2 days "
        f"(2024-03-01 to 2024-03-08){words}.",
        "7% of 5,086 PLN out again within 3 days",
    )


def test_half_of_what_went_out_again_is_not_mentioned_if_it_took_as_long() -> None:
    passing = PassThroughFacts(
        5000.0, 4000.0, 0.8, 2.9 * DAY, MARCH, MARCH + 7 * DAY, 3 * DAY, 0.0, "PLN", NOTHING
    )  # fmt: skip
    assert said("pass_through", passing) == (
        "80% of the 5,000 PLN it received went out again, each time within 3 days (2024-03-01 to 2024-03-08); "
        "others usually pass on nothing.",
        "80% of 5,000 PLN out again within 3 days",
    )


def test_a_circle_and_a_chain_name_who_passed_what_on() -> None:
    circle = CycleFacts(
        True, np.array([0, 1, 2, 0]), NOTHING, np.array([5000.0, 4900.0, 4801.5]), MARCH, MARCH + 2 * DAY, None
    )
    assert said("cycle", circle) == (
        "4,802 to 5,000 went around a circle of 3 nodes within 2 days (2024-03-01 to 2024-03-03): a → b → c\\n → a.",
        "4,802 to 5,000 around 3 nodes within 2 days",
    )
    chain = CycleFacts(False, np.array([0, 1, 3]), NOTHING, np.array([50.0, 50.0]), MARCH, MARCH + 600, "USD")
    assert said("cycle", chain)[0] == (
        "50 USD went along a chain of 3 nodes within 10 minutes (2024-03-01 00:00 to 00:10): a → b → d."
    )


def test_a_circle_tells_all_that_its_members_sent_from_what_went_around() -> None:
    paid = pl.DataFrame({"from": list("abca"), "to": list("bcab"), "amount": [50.0, 49.0, 48.0, 7.0]})
    graph = load(paid.with_columns(on=pl.Series([f"2024-03-0{day}" for day in (1, 2, 3, 9)])), notices=[])
    circle = Group("cycle", np.arange(3), 1.0, 3.0, 147.0, MARCH, MARCH + 2 * DAY)
    assert within(graph, circle) == (
        "They sent each other 154 in 4 events (2024-03-01 to 2024-03-09); 147 of it went around (2024-03-01 to "
        "2024-03-03)."
    )
    whole = replace(circle, total=154.0, last=MARCH + 8 * DAY)
    assert within(graph, whole) == "They sent each other 154 in 4 events (2024-03-01 to 2024-03-09)."


def test_an_unusual_amount_and_amounts_below_a_limit() -> None:
    found = AmountFacts(
        "sent",
        48_900.0,
        121.7,
        9,
        False,
        3,
        MARCH + 45_240,
        1000.0,
        31,
        0,
        None,
        880.0,
        995.0,
        "received",
        "EUR",
        NOTHING,
    )
    assert said("amount", found) == (
        "31 amounts it received lie just below 1,000 EUR (880 to 995). It sent 48,900 EUR to d on 2024-03-01 12:34; "
        "about 121.7 EUR is usual for it.",
        "31 amounts received just below 1,000 EUR",
    )
    rents = replace(found, n_regular=7)
    words = "(880 to 995); 7 more do not count, single amounts from partners known for two weeks. It sent"
    assert words in said("amount", rents)[0]
    words = (
        "31 amounts it received from d lie just below 1,000 EUR (880 to 995); 1 more does not count, a single amount"
    )
    assert said("amount", replace(rents, near_partner=3, n_regular=1))[0].startswith(f"{words} from a partner known ")
    alone = AmountFacts(
        "received", 48_900.0, 121.7, 2, False, 1, None, None, 0, 0, None, None, None, None, None, NOTHING
    )
    assert said("amount", alone) == (
        "It received 48,900 from b; about 121.7 is usual for it and others.",
        "received 48,900; about 121.7 is usual for it and others",
    )


def test_the_first_amount_of_a_node_is_compared_with_those_of_others() -> None:
    """Forty payments are of 40 to 79, the one of 5,000 is the first that x sent; those of x later are of 4,000."""
    rows = [(f"a{i}", f"b{i}", 40.0 + i, f"2024-03-{i // 2 + 1:02}") for i in range(40)]
    rows += [("x", "y", 5000.0, "2024-03-25"), ("x", "z", 4000.0, "2024-03-26"), ("x", "w", 4000.0, "2024-03-26")]
    graph = load(pl.DataFrame(rows, schema=["sender", "receiver", "amount", "time"], orient="row"), notices=[])
    found = facts(graph, "amount", graph.index_of("x"))
    assert isinstance(found, AmountFacts) and (found.value, found.n_earlier) == (5000.0, 0)
    middle = float(np.exp(np.median(np.log([row[2] for row in rows]))))
    assert found.usual == pytest.approx(middle)  # 61, the 22nd of 43
    reason = flow_reason("amount", found, graph.node_ids, Calendar.of(graph))
    assert (
        reason.sentence == "It sent 5,000 to y on 2024-03-25, the first amount it sent; about 61 is usual for others."
    )
    assert reason.in_short == "sent 5,000, its first; about 61 is usual for others"
    rows.append(("x", "v", 7.0, None))  # type: ignore[arg-type]  # nobody knows when: perhaps before
    graph = load(pl.DataFrame(rows, schema=["sender", "receiver", "amount", "time"], orient="row"), notices=[])
    again = facts(graph, "amount", graph.index_of("x"))
    assert isinstance(again, AmountFacts) and not again.is_first


def test_dates_without_an_hour_are_days() -> None:
    """Three invoices of one day, and a circle from one day to the next."""
    days = Calendar("%m/%d/%Y", whole_days=True)
    same = burst(n_events=3, n_new=3, first=MARCH, last=MARCH, sums=((9353.0, None),), smallest=3000.0, largest=3200.0)
    reason = flow_reason("burst", same, NAMES, days)
    assert (
        reason.sentence
        == "3 new senders sent it 3,000 to 3,200 on 03/01/2024, 9,353 in all; nodes this active usually have 2."
    )
    assert reason.in_short == "3 new senders, 9,353 within a day"
    circle = CycleFacts(True, np.array([0, 1, 3, 0]), NOTHING, np.full(3, 50.0), MARCH, MARCH + DAY, None)
    assert flow_reason("cycle", circle, NAMES, days).sentence == (
        "50 went around a circle of 3 nodes within 2 days (03/01/2024 to 03/02/2024): a → b → d → a."
    )
    for delay, half in ((0.0, "on the same day"), (DAY, "within a day"), (2 * DAY, "within 2 days")):
        passing = PassThroughFacts(100.0, 90.0, 0.9, delay, MARCH, MARCH + 7 * DAY, 3 * DAY, 0.0, None, NOTHING)
        sentence = flow_reason("pass_through", passing, NAMES, days).sentence
        assert f"within 3 days, half of that {half} (03/01/2024 to 03/08/2024); others usually" in sentence


def test_amounts_have_their_currency_and_ranges_their_ends() -> None:
    assert money(990.0, 990.0, currency="£") == "990 £"
    assert money(None, None) == ""


@pytest.fixture
def bank() -> AttributedGraph:
    """Return a hub that twelve strangers pay 900 to 911 EUR within twelve hours, and twenty pairs of friends."""
    start = pl.datetime(2024, 3, 1)
    ordinary = [(f"p{i}", f"p{i + 20}", 50.0 + i, 24 * (3 * i + 7 * k)) for i in range(20) for k in range(6)]
    rows = [*ordinary, *((f"p{i}", "hub", 900.0 + i, 1000 + i) for i in range(12)), ("hub", "p3", 10_000.0, 1020)]
    frame = pl.DataFrame(rows, schema=["sender", "receiver", "amount", "hour"], orient="row")
    frame = frame.select("sender", "receiver", "amount", time=start + pl.duration(hours=pl.col("hour")))
    return load(frame.with_columns(currency=pl.lit("EUR")), notices=[])


def test_facts_of_a_graph_become_sentences(bank: AttributedGraph) -> None:
    hub = bank.index_of("hub")
    found = facts(bank, "burst", hub)
    assert found is not None
    sentence = flow_reason("burst", found, bank.node_ids, Calendar.of(bank)).sentence
    assert sentence == (
        "12 new senders sent it 900 to 911 EUR within 11 hours (2024-04-11 16:00 to 2024-04-12 03:00), 10,866 "
        "EUR in all."
    )


def test_the_largest_events_and_partners_of_a_node_are_drawn(bank: AttributedGraph) -> None:
    hub = bank.index_of("hub")
    found = node_events(bank, hub, 3, partners=2)
    assert found is not None
    assert (found["all"], found["currency"]) == (13, "EUR")
    assert [bank.node_ids[row[0]] for row in found["rows"]] == ["p10", "p11", "p3"]  # in order of time
    assert [row[1:3] for row in found["rows"]] == [[1, 910.0], [1, 911.0], [0, 10_000.0]]
    first, n_others, rest, total = found["received"]
    assert [(bank.node_ids[place], value) for place, value in first] == [("p11", 911.0), ("p10", 910.0)]
    assert (n_others, rest, total) == (10, 9045.0, 10_866.0)
    assert found["sent"][1:] == [0, 0.0, 10_000.0]
    assert node_events(bank, bank.index_of("p39"), 3) is not None


def test_what_decided_comes_first_and_then_the_most_specific_of_what_events_say() -> None:
    strengths = {"misfit": 1.5, "activity": 3.4, "pass_through": 5.0, "burst": 4.0, "cycle": 2.4, "amount": 2.6}
    evidence = tuple(Evidence(kind, strength, True, WEIGHTS[kind], "") for kind, strength in strengths.items())
    flow = tuple(FlowReason(kind, f"{kind}.", f"{kind}!") for kind in strengths)
    reasons = Explanation(
        "a", "CrossHCM", None, 6.0, 3.0, 1, 9, True, True, 4, 90.0, (), (), (), None, (), evidence=evidence,
        decided_by="pass_through", expected_degree=1.0, flow=flow,
    )  # fmt: skip
    assert reasons.telling_kinds == ["pass_through", "burst", "amount"]  # a cycle of 2.4 is below half of 5
    assert reasons.in_short == "pass_through!"
    assert reasons.summary == "pass_through. burst. amount. Ranks 1 of 9 (flagged)."
