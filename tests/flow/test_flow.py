"""Evidence from amounts and times, with events worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from hopsight import CrossHCM
from hopsight.canonical import Events
from hopsight.explanations.events import Calendar, flow_reason
from hopsight.flow import facts, flow_of
from hopsight.flow.evidence import Flow, flow_without
from hopsight.graph import AttributedGraph
from toys import refuses

DAY = 86400.0
START = 1_704_000_000.0


def bank(rows: list[tuple[int, int, float, float]], n_nodes: int, **columns: object) -> AttributedGraph:
    """Return a graph whose events are (source, target, amount, day), with a quiet background of 200 other nodes."""
    rng = np.random.default_rng(0)
    quiet = np.arange(n_nodes, n_nodes + 200)
    ends = np.array([rng.choice(quiet, 2, replace=False) for _ in range(800)])
    sizes, days = np.exp(rng.normal(3.5, 1.0, 800)), rng.uniform(0.0, 120.0, 800)
    some = [(int(a), int(b), size, day) for (a, b), size, day in zip(ends, sizes, days, strict=True)]
    source, target, amount, day = (np.array(each) for each in zip(*rows, *some, strict=True))
    events = Events(source, target, amount, START + DAY * day, **columns)
    return AttributedGraph.from_edges(source, target, np.ones((n_nodes + 200, 1)), events=events)


def test_a_burst_of_strangers_in_a_night_is_found_and_a_salary_day_is_not() -> None:
    night = [(0, 10 + k, 300.0 + k, 50.0 + k / 100.0) for k in range(12)]
    salaries = [(1, 30 + k, 2000.0, 25.0 + 30.0 * month) for k in range(12) for month in range(4)]
    graph = bank(night + salaries, 50)
    raw = flow_of(graph).raw[0]
    found = facts(graph, "burst", 0)
    assert (found.direction, found.n_events, found.n_new) == ("sent", 12, 12)
    assert (found.sums, found.smallest, found.largest) == (((12 * 300.0 + 66.0, None),), 300.0, 311.0)
    assert (found.first, found.last) == pytest.approx((START + 50.0 * DAY, START + 50.11 * DAY))
    beyond = flow_of(graph).beyond_usual(0, 1, 0)  # new partners that a node sent to within three hours
    assert beyond[0] == pytest.approx(2.0 * (np.sqrt(12.0) - np.sqrt(found.usual_new + 1.0)))
    assert raw[1] <= 0.0 or facts(graph, "burst", 1) is None
    assert raw[0] == np.nanmax(raw)


def test_few_large_first_payments_of_an_hour_are_a_burst_and_as_many_small_ones_are_not() -> None:
    """Nodes 0 and 1 pay four strangers each; 2 pays as much to strangers in other weeks as node 0 in that hour."""
    large = [(0, 10 + k, 2000.0, 50.0 + k / 100.0) for k in range(4)]
    small = [(1, 20 + k, 30.0, 60.0 + k / 100.0) for k in range(4)]
    always = [
        (2, 30 + k, 2000.0, 10.0 * week + k / 100.0) for week in range(2, 10) for k in range(4 * week, 4 * week + 4)
    ]
    flow = flow_of(bank([*large, *small, *always], 70))
    middle = np.exp(np.median(np.log(flow.given.amount)))
    found = flow.windows[0][2][0]  # the money of first payments that each sent within three hours
    assert found[[0, 1], 0] == pytest.approx([4.0 * np.log2(1.0 + each / middle) for each in (2000.0, 30.0)])
    assert found[2, 0] == pytest.approx(found[2, 2]) and found[2, 3] == 4.0
    burst = flow.burst[0]
    assert burst[0] > 1.5 * burst[1] and burst[0] > 1.5 * burst[2]
    again = [(0, 10 + k % 4, 9.0, 50.05 + k / 1000.0) for k in range(12)]  # what goes to them later in that hour
    found = facts(bank([*large, *again, *small, *always], 70), "burst", 0)
    assert (found.n_events, found.n_new, found.with_new) == (16, 4, True)
    sentence = flow_reason("burst", found, [], Calendar()).sentence
    assert "It sent 9 to 2,000 to 4 new receivers in 16 events" in sentence and ", 8,108 in all;" in sentence
    known = [(0, 40, 5.0, 20.0)] + [(0, 40, 5.0, 50.0 + k / 100.0) for k in range(9)]
    found = facts(bank([*large, *known, *small, *always], 70), "burst", 0)  # told by the strangers alone
    assert (found.n_events, found.n_new, found.sums) == (4, 4, ((8000.0, None),))


def test_amounts_of_old_partners_and_of_other_currencies_are_not_added_to_those_of_new_ones() -> None:
    """Eight new senders pay 10 each; one of a month before pays 5,000 six times, in the same two hours."""
    old = [(10, 0, 10.0, 20.0)] + [(10, 0, 5000.0, 50.0 + k / 1000.0) for k in range(6)]
    rows = old + [(20 + k, 0, 10.0, 50.03 + k / 1000.0) for k in range(8)]
    found = facts(bank(rows, 40), "burst", 0)
    assert (found.n_events, found.n_new, found.sums, found.largest) == (8, 8, ((80.0, None),), 10.0)
    two = {"currency": np.arange(808) % 2, "currencies": ("EUR", "JPY")}
    found = facts(bank(rows[7:], 40, **two), "burst", 0)
    assert (found.sums, found.smallest, found.largest) == (((40.0, "EUR"), (40.0, "JPY")), None, None)
    empty = [(source, target, np.nan, day) for source, target, _, day in rows[7:]]
    found = facts(bank(empty, 40), "burst", 0)
    assert (found.n_new, found.sums, found.smallest) == (8, (), None)


def test_partners_who_sent_nothing_or_a_refund_before_are_not_new() -> None:
    """Twelve senders sent 0.00, or got something back, a month before; one sends 0.00 afterwards."""
    rows = [(20 + k, 0, 300.0 + k, 50.0 + k / 200.0) for k in range(14)]
    before = [(20 + k, 0, 0.0 if k % 2 else -5.0, 20.0) for k in range(12)]
    graph = bank([*rows, *before, (33, 0, 0.0, 60.0)], 40)
    new = flow_of(graph).is_new[flow_of(graph).events.target == 0]
    assert new.tolist() == [False] * 12 + [True, True]


def test_what_comes_in_and_goes_out_within_three_days_passes_through() -> None:
    graph = bank([(1, 0, 1000.0, 10.0), (0, 2, 900.0, 11.0), (3, 0, 500.0, 20.0), (0, 4, 500.0, 30.0)], 5)
    found = facts(graph, "pass_through", 0)
    assert (found.received, found.passed, found.share, found.delay) == pytest.approx((1500.0, 900.0, 0.6, DAY))
    assert found.events.tolist() == [0, 1] and facts(graph, "pass_through", 4) is None
    undated = bank([(1, 0, 1000.0, 10.0), (0, 2, 900.0, 11.0), (3, 0, 2000.0, np.nan), (0, 4, 5.0, np.nan)], 5)
    assert facts(undated, "pass_through", 0).share == pytest.approx(900.0 / 3000.0)
    nothing = flow_without(undated, flow_of(undated).usual, 0, np.array([[0, 0], [1, 2]]))  # its events with 1 and 2
    assert not np.nan_to_num(nothing).any()


def test_three_days_of_a_short_record_are_whole_hours() -> None:
    """A record of 21.5 days has thirty days of 17.2 hours; three of them are 51 whole hours, as words say it."""
    times = np.array([0.0, 21.5 * DAY]) + 1.7e9
    flow = Flow.fit(Events(np.array([0, 1]), np.array([1, 0]), np.ones(2), times), 2)
    assert 3.0 * flow.usual.day[0] == pytest.approx(51 * 3600.0)


def test_a_burst_is_told_by_its_shortest_time_and_by_the_amounts_that_are_known() -> None:
    """Twelve strangers within three hours, every other amount unknown; two old ones and a stranger in the same week."""
    night = [(0, 10 + k, 300.0 + k if k % 2 else np.nan, 50.0 + k / 100.0) for k in range(12)]
    found = facts(bank([*night, (0, 30, 5.0, 46.0), (0, 31, 5.0, 53.0)], 50), "burst", 0)
    assert (found.n_events, found.n_amounts, found.smallest, found.largest) == (12, 6, 301.0, 311.0)
    assert (found.last - found.first) / DAY == pytest.approx(0.11)
    said = flow_reason("burst", found, [], Calendar()).sentence
    assert "It reached 12 new receivers" in said and "; 6 amounts known: 301 to 311, 1,836 in all" in said
    twice = flow_of(bank([(0, 1, 9.0, 20.0), (0, 1, 9.0, np.nan)], 2))
    assert twice.is_new[twice.events.source == 0].tolist() == [False]  # the one without a time may be the first


def test_a_month_is_judged_by_what_is_usual_in_a_month_of_a_longer_record() -> None:
    """Sixteen times as many days have sixteen times as many other events."""
    long = flow_of(bank([(0, 1 + k % 7, 9.0, 4.0 * k) for k in range(30)], 8))
    short = Flow(Events(*(each[:30] for each in (long.given.source, long.given.target, long.given.amount)),
                        START + np.linspace(0.0, long.span / 16.0, 30)), 208, long.usual)  # fmt: skip
    none = np.zeros((208, 4))
    assert short.others(0, none)[0] == pytest.approx(16.0 * long.others(0, none)[0])


def test_the_usual_share_that_is_passed_on_is_that_of_nodes_that_receive() -> None:
    """Node 0 passes on 900 of 1,500 and node 2 450 of 900; 4 and 5 receive only, 1 and 3 receive nothing."""
    rows = [(1, 0, 1000.0, 10), (0, 2, 900.0, 11), (2, 5, 450.0, 12), (3, 0, 500.0, 20), (0, 4, 500.0, 30)]
    source, target, amount, day = (np.array(each) for each in zip(*rows, strict=True))
    events = Events(source, target, amount, START + DAY * day)
    graph = AttributedGraph.from_edges(source, target, np.ones((6, 1)), events=events)
    assert facts(graph, "pass_through", 0).usual == pytest.approx((0.0 + 0.5) / 2)


@pytest.mark.parametrize("n_who_do", [1, 2, 5])
def test_the_only_accounts_that_pass_money_on_are_found(n_who_do: int) -> None:
    """Of 220 others, 200 only pay 20 shops; those in question get 4,000 five times and send 3,900 on in three hours."""
    rng = np.random.default_rng(0)
    rows = [(int(a), int(b), size, day) for a, b, size, day in zip(
        rng.integers(20, 220, 1200), rng.integers(220, 240, 1200), np.exp(rng.normal(3.5, 1.0, 1200)),
        rng.uniform(0.0, 120.0, 1200), strict=True)]  # fmt: skip
    for who in range(n_who_do):
        days = 20.0 * np.arange(5) + 7.0 + who
        rows += [(220 + who, who, 4000.0, day) for day in days] + [(who, 10 + who, 3900.0, day + 0.125) for day in days]
    source, target, amount, day = (np.array(each) for each in zip(*rows, strict=True))
    events = Events(source, target, amount, START + DAY * day)
    graph = AttributedGraph.from_edges(source, target, np.ones((240, 1)), events=events)
    found = CrossHCM.untrained(seed=0).fit(graph).evidence_["pass_through"]
    assert (found[:n_who_do] > 1.5).all() and (found[n_who_do:] < 1.0).all()


def test_who_passes_on_for_a_month_between_the_same_two_passed_on_all_of_it() -> None:
    """Ten times in 27 days 100 come in and 99 leave an hour later; five of them within two weeks of the first."""
    rows = [row for k in range(10) for row in ((1, 0, 100.0, 3.0 * k), (0, 2, 99.0, 3.0 * k + 1 / 24))]
    graph = bank(rows, 3)
    found = facts(graph, "pass_through", 0)
    assert (found.received, found.passed, found.share, found.delay) == pytest.approx((1000.0, 990.0, 0.99, DAY / 24))
    assert (found.first, found.last) == pytest.approx((START, START + (27.0 + 1 / 24) * DAY))
    flow = flow_of(graph)
    median = np.median(graph.events.amount)
    leaves_anyway = 990.0 * 3 * DAY / flow.span  # within three days
    share, digits = np.sqrt(990.0 * 495.0) / 1000.0, 5 * np.log10(99.0 / leaves_anyway)
    assert flow.raw[1, 0] == pytest.approx(np.sqrt(digits * share * np.log1p(495.0 / median)))


def test_what_leaves_anyway_is_not_passed_on_and_one_pair_of_payments_says_little() -> None:
    """In 120 days 0 pays 30 wages and receives 290; 40 passes on 160 once, and 50 passes on 3,000 five times."""
    wages = [(0, 1 + k, 3000.0 + 20.0 * k, 3.0 * k) for k in range(31)]
    once = [(41, 40, 160.0, 20.0), (40, 42, 190.0, 21.0)]
    mule = [row for k in range(5) for row in ((51 + k, 50, 3000.0, 9.0 * k), (50, 56 + k, 2900.0, 9.0 * k + 1))]
    flow = flow_of(bank([*wages, (33, 0, 290.0, 44.0), *once, *mule], 61))
    three_days = 3 * DAY / flow.span
    assert flow.raw[1, 0] == 0.0
    assert flow.pass_digits[40] == pytest.approx(np.log10(160.0 / (190.0 * three_days)))
    assert flow.pass_digits[50] == pytest.approx(5 * np.log10(2900.0 / (5 * 2900.0 * three_days)))
    assert flow.raw[1, 40] < 0.5 * flow.raw[1, 50]


def test_an_amount_that_goes_around_on_one_day_is_a_ring_also_where_nothing_else_follows_anything() -> None:
    """5,000 go around six nodes twice on two days, of which only the dates are known, and in any order."""
    ring = [(k % 6, (k + 1) % 6, 5000.0 - 20.0 * k, 40.0 + k // 6) for k in range(12)]
    flow = flow_of(bank([ring[k] for k in np.random.default_rng(3).permutation(12)], 8))
    assert np.flatnonzero(flow.has_rare_chain).tolist() == [0, 1, 2, 3, 4, 5]
    ((members, events),) = flow.rings(flow.has_rare_chain)
    assert members.tolist() == [0, 1, 2, 3, 4, 5]
    assert flow.events.amount[events].sum() == pytest.approx(sum(row[2] for row in ring))


def test_suspects_that_pass_on_most_of_what_comes_in_are_a_ring_whatever_the_amounts() -> None:
    """Six nodes pay each other in turn within hours, from half to twice as much as they received; then one pays out."""
    amounts = [5000.0, 8000.0, 4200.0, 7000.0, 3600.0, 6800.0] * 2
    ring = [(k % 6, (k + 1) % 6, amount, 40.0 + 0.2 * k) for k, amount in enumerate(amounts)]
    flow = flow_of(bank([*ring, (0, 6, 5000.0, 43.0)], 8))
    assert not flow.has_rare_chain.any()
    ((members, _),) = flow.rings(np.arange(flow.n_nodes) < 7)
    assert members.tolist() == [0, 1, 2, 3, 4, 5] and flow.rings(np.arange(flow.n_nodes) < 2) == []


def test_who_is_only_paid_back_belongs_to_no_circle() -> None:
    """0 and 1, 0 and 2 pay the same amount back and forth, and 0 pays 3: as many payments as nodes and more."""
    star = [(1, 0, 700.0, 40.0), (0, 1, 690.0, 40.5), (1, 0, 690.0, 41.0), (0, 2, 680.0, 41.5), (2, 0, 670.0, 42.0)]
    flow = flow_of(bank([*star, (0, 3, 660.0, 42.5)], 8))
    assert flow.rings(np.arange(flow.n_nodes) < 4) == []


def test_an_amount_that_returns_is_a_cycle_of_the_nodes_that_it_passed() -> None:
    ring = [(k, (k + 1) % 4, 5000.0 - 50.0 * k, 40.0 + k) for k in range(4)]
    graph = bank([*ring, (5, 6, 5000.0, 60.0)], 8)
    found = facts(graph, "cycle", 2)
    assert found.returns and found.nodes.tolist() == [0, 1, 2, 3, 0]
    assert found.amounts.tolist() == [5000.0, 4950.0, 4900.0, 4850.0]
    assert (found.first, found.last) == pytest.approx((START + 40.0 * DAY, START + 43.0 * DAY))
    assert facts(graph, "cycle", 5) is None
    late = bank([(k, (k + 1) % 4, 5000.0, 40.0 + 5.0 * k) for k in range(4)], 4)  # each hop after five days
    assert facts(late, "cycle", 2) is None
    back = bank([(0, 1, 5000.0, 40.0), (1, 0, 5000.0, 41.0)], 2)
    assert flow_of(back).raw[2, 0] == 0.0  # it was paid back


def test_a_refund_passes_nothing_on() -> None:
    """0 sells for 100 and 300, gives 100 back to the buyer, and passes 250 on to somebody else."""
    rows = [(1, 0, 100.0, 40.0), (2, 0, 300.0, 40.5), (0, 1, 100.0, 41.0), (0, 3, 250.0, 42.0), (4, 5, 9.0, 1.0)]
    flow = flow_of(bank(rows, 7))
    assert flow.passing[0].tolist() == [400.0, 250.0, 250.0]
    found = facts(bank(rows, 7), "pass_through", 0)
    assert (found.received, found.passed, found.delay) == pytest.approx((400.0, 250.0, 1.5 * DAY))
    alone = flow_of(bank([rows[0], rows[2], rows[4]], 7))
    assert alone.raw[1, 0] == 0.0 and alone.raw[2].tolist()[:2] == [0.0, 0.0]


def test_amounts_that_go_around_for_months_are_a_ring_though_their_ends_know_each_other() -> None:
    """1,000 go around six nodes every ten days, from the third node on before they have come to it."""
    ring = [
        (k, (k + 1) % 6, 1000.0 - 3.0 * k, 10.0 * turn + (k // 3) + (k % 3) / 4) for turn in range(9) for k in range(6)
    ]
    others = [(6 + k % 40, 46 + k % 7, 20.0 + 1.3 * (k % 60), 0.4 * k) for k in range(220)]
    flow = flow_of(bank([*ring, *others], 54))
    ((members, events),) = flow.rings(flow.has_rare_chain)
    assert members.tolist() == [0, 1, 2, 3, 4, 5] and flow.is_known[events].mean() > 0.5


def test_earlier_events_make_partners_known_and_wage_days_usual() -> None:
    wages = [(1, 10 + k, 2000.0, 95.0) for k in range(12)]
    alone = bank([*wages, (1, 30, 500.0, 96.0)], 40)
    before = [(1, 10 + k, day) for k in range(12) for day in (5.0, 35.0, 65.0)]
    source, target, day = (np.array(each) for each in zip(*before, strict=True))
    earlier = Events(source, target, time=START - 90.0 * DAY + DAY * day)
    graph = replace(alone, events=replace(alone.events, earlier=earlier))
    usual = flow_of(alone).usual
    assert facts(alone, "burst", 1, usual).n_new == 12 and flow_of(graph, usual).raw[0, 1] == 0.0
    known = Flow(graph.events, graph.n_nodes, usual)
    assert known.is_new[known.events.target == 30].all() and not known.is_new[known.events.target == 12].any()
    whole = usual.day[1] + 60.0 * DAY
    assert known.others(0, np.zeros((240, 4)))[1] == pytest.approx((13 + 36) * usual.day[1] / whole)
    one = flow_without(graph, usual, 1, np.array([[1], [30]]))  # scored again without the payment to node 30
    assert one[0, 0] == 0.0 and flow_without(alone, usual, 1, np.array([[1], [30]]))[0, 0] > 0.0


def test_amounts_just_below_a_limit_and_amounts_unlike_before_are_named() -> None:
    smurfs = [(10 + k, 0, 900.0 + 3.0 * k, 30.0 + k / 5.0) for k in range(30)]
    graph = bank([*smurfs, *((1, 2, 20.0, 10.0 * k) for k in range(8)), (1, 3, 4000.0, 90.0)], 45)
    found = facts(graph, "amount", 0)
    assert (found.limit, found.n_near, found.near_direction) == (1000.0, 30, "received")
    assert (found.smallest, found.largest) == (900.0, 987.0)
    rent = [(1, 0, 930.0 + k, 30.0 * k) for k in range(10)]
    split = [(2, 0, 930.0 + k, 30.0 * (k // 2) + k % 2) for k in range(10)]
    for same, n_near in ((rent, 1), (split, 10)):  # of two that know each other after two weeks
        known = bank([*same, *((3, 4, 20.0, 10.0 * k) for k in range(30)), *smurfs[:2]], 45)
        assert (flow_of(known).is_habit[flow_of(known).events.target == 0].sum()) == 12 - 2 - n_near
    prices = bank(
        [(k // 4, 10 + k, 17.0 + 0.13 * k, 30.0 + k) for k in range(20)], 45
    )  # a limit of 20 restricts nobody
    assert facts(prices, "amount", 0) is None
    rents = [(10 + k, 0, 870.0 + 1.3 * k, 30.0 + k / 5.0) for k in range(30)]  # up to 907.7: nobody avoids 1,000
    assert facts(bank(rents, 45), "amount", 0) is None
    few = [(10 + k, 0, 890.0 + 2.6 * k, 30.0 + k / 5.0) for k in range(30)]  # to 965.4: 7 of 30 within 5%, by chance
    assert facts(bank(few, 45), "amount", 0).n_near == 30
    prices = [(10 + k, 0, 860.0 + 4.4 * k, 30.0 + k / 5.0) for k in range(30)]  # to 987.6
    falling = [(50 + k, 0, 701.0 + 3.6 * k, 30.0 + k / 5.0) for k in range(40)]  # 40 more between 700 and 841.4
    assert facts(bank(prices, 95), "amount", 0).n_near == 30
    assert facts(bank([*prices, *falling], 95), "amount", 0) is None
    nine = flow_of(bank([(1, 30 + k, 9990.0 - 45.0 * k, 30.0 + k) for k in range(9)], 45))  # 9,630 to 9,990
    chance = ((1.0 + 10.0 / 6.0) / 11.0) ** 9  # one account near 10,000, in the narrowest band
    n_tried = 2 * 3 * 5  # ways, bands, and limits above the usual amount: 50, 100, 200, 500 and 10,000
    assert nine.below_limits[0][1] == pytest.approx(-np.log10(n_tried * chance))
    other = facts(graph, "amount", 1)
    assert (other.value, other.partner, other.direction, other.limit) == (4000.0, 3, "sent", None)
    assert other.usual < 40.0


def test_an_event_has_the_evidence_about_its_ends_that_rests_on_it() -> None:
    night = [(0, 10 + k, 300.0, 50.0 + k / 100.0) for k in range(12)]
    passing = [(1, 2, 1000.0, 10.0), (2, 3, 900.0, 11.0)]
    ring = [(k, 4 + (k - 3) % 4, 5000.0, 40.0 + k) for k in range(4, 8)]
    smurfs = [(30 + k, 8, 900.0 + 3.0 * k, 30.0 + k / 5.0) for k in range(30)]
    flow = flow_of(bank([*night, (0, 9, 300.0, 90.0), *passing, *ring, *smurfs], 60))
    burst, through, cycle, amount = flow.of_events[:, np.argsort(flow.order)]
    assert burst[:12] == pytest.approx(flow.raw[0, 0]) and burst[12] < 0.5 * flow.raw[0, 0]
    assert through[13:15] == pytest.approx([0.9 * flow.raw[1, 2], flow.raw[1, 2]])
    assert cycle[15:19] == pytest.approx(flow.raw[2, 4:8]) and cycle[:12].max() == 0.0
    assert amount[19:49].min() >= flow.below_limits[0][8] > 1.0


def test_events_give_what_their_columns_allow() -> None:
    graph = bank([(0, 1, 10.0, 1.0)], 2)
    events = graph.events
    columns = {"time": {"time": events.time}, "amount": {"amount": events.amount}}
    only = {name: flow_of(replace(graph, events=Events(events.source, events.target, **column)))
            for name, column in columns.items()}  # fmt: skip
    assert np.isfinite(only["time"].raw).any(axis=1).tolist() == [True, False, False, False]
    assert np.isfinite(only["amount"].raw).any(axis=1).tolist() == [False, False, False, True]


def test_amounts_of_different_currencies_are_not_passed_on_as_one_another() -> None:
    rows = [(1, 0, 1000.0, 10.0), (0, 2, 1000.0, 11.0)]
    one = bank(rows, 3)
    currency = np.zeros(one.events.size, dtype=np.int64)
    currency[1] = 1
    both = bank(rows, 3, currency=currency, currencies=("EUR", "JPY"))
    assert facts(one, "pass_through", 0).passed == 1000.0 and facts(both, "pass_through", 0) is None


def test_a_day_of_no_length_is_refused() -> None:
    usual = flow_of(bank([(0, 1, 10.0, 1.0)], 2)).usual
    for day in (np.zeros(2), np.ones(1)):
        refuses("a day of no length", replace, usual, day=day)


def test_amounts_of_earlier_events_are_usual_and_their_partners_known() -> None:
    """Node 1 had 5,000 from node 0 in three months; node 2 never had such an amount."""
    alone = bank([(0, 1, 5000.0, 1.0), (3, 1, 5100.0, 2.0), (3, 2, 5100.0, 2.0)], 10)
    now = alone.events
    then = START - DAY * np.array([90.0, 60.0, 30.0])
    wages = Events(np.zeros(3, int), np.ones(3, int), np.full(3, 5000.0), then)
    usual = flow_of(alone).usual

    def unlike(earlier: Events | None) -> dict[tuple[int, int], float]:
        flow = Flow(replace(now, earlier=earlier), alone.n_nodes, usual)
        ends = zip(flow.events.source.tolist(), flow.events.target.tolist(), strict=True)
        return dict(zip(ends, flow.unlike.tolist(), strict=True))

    without, known = unlike(None), unlike(wages.in_currencies(now))
    assert known[0, 1] == 0.0 < without[0, 1]  # they have dealt with each other for more than two weeks
    assert known[3, 1] < 0.7 * without[3, 1] and known[3, 2] == without[3, 2]
    graph = replace(alone, events=replace(now, earlier=replace(wages, source=np.full(3, 4)).in_currencies(now)))
    said = facts(graph, "amount", 1, usual)
    assert said.n_earlier >= 3 and said.usual == pytest.approx(5000.0, rel=0.05)  # of another payer


def test_earlier_amounts_in_currencies_that_the_file_lacks_are_unknown() -> None:
    then = Events(
        np.zeros(3, int),
        np.ones(3, int),
        np.array([5.0, 6.0, 7.0]),
        np.arange(3.0),
        np.array([0, 1, 0]),
        ("EUR", "PLN"),
    )
    now = replace(then, currency=np.array([0, 0, 1]), currencies=("PLN", "USD"))
    found = then.in_currencies(now)
    assert found.currencies == ("PLN", "USD") and found.currency.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(found.amount, [np.nan, 6.0, np.nan])
    assert then.in_currencies(replace(now, currency=None, currencies=())).amount is None
