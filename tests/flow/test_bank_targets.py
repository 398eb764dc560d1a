"""What an analyst of a bank finds at the top of the ranking, on a small bank."""

import re
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import hopsight as hs
from hopsight.datasets import bank_tables
from hopsight.detectors.storage import load_detector
from hopsight.explanations.edges import edge_events, edge_order, edge_reasons
from hopsight.flow import facts
from toys import quick

BANK = bank_tables(n=900, seed=4, n_rings=3, n_takeovers=6, n_hubs=3)


@pytest.fixture(scope="module")
def model() -> Any:
    return quick("cross_hcm").fit(hs.load(BANK.transfers, nodes=BANK.accounts, notices=[]))


def roles(graph: Any) -> np.ndarray:
    known = dict(zip(BANK.cases["account"], BANK.cases["role"], strict=True))
    return np.array([known.get(account, "") for account in graph.node_ids])


def test_hubs_come_first_and_takeovers_and_mules_stand_out(model: Any) -> None:
    role, score = roles(model.graph_), model.decision_score_
    first = role[np.argsort(-score)][:20]
    assert (first == "hub").sum() == 3 and (first == "").sum() <= 6
    assert roc_auc_score(role == "mule", score) >= 0.9 and roc_auc_score(role == "takeover", score) >= 0.93


def test_rings_are_listed_with_their_amount_and_time(model: Any) -> None:
    case = dict(zip(BANK.cases["account"], BANK.cases["case"], strict=True))
    listed = [[case.get(each, "") for each in model.graph_.node_ids[group.members]] for group in model.groups_]
    found = {ring for ring in ("ring 1", "ring 2", "ring 3") if any(names.count(ring) >= 5 for names in listed)}
    assert len(found) >= 2
    group = next(each for each in model.groups_ if each.kind == "cycle")
    assert group.total > 3000.0 and group.currency == "EUR" and 0.0 < group.last - group.first < 30 * 86400.0


def test_the_first_edges_are_what_was_planted_and_say_how_much_and_when(model: Any) -> None:
    graph = model.graph_
    planted = np.isin(graph.node_ids, BANK.cases["account"].to_list())
    order = edge_order(model, graph)
    assert planted[graph.edges[:, order[:15]]].any(axis=0).all()
    reasons = edge_reasons(model, order[:15], None, edge_events(graph, model)).to_list()
    assert all(re.match(r"[\d,.]+ EUR on 2024-\d\d-\d\d \d\d:\d\d, (one|part|unusual)", each) for each in reasons)


def test_a_saved_model_judges_another_month_by_the_same_baseline(model: Any, tmp_path: Any) -> None:
    model.save(tmp_path)
    loaded = load_detector(tmp_path)
    assert set(loaded.evidence_) >= {"burst", "pass_through", "cycle", "amount"}
    again = loaded.judge(model.graph_)
    np.testing.assert_allclose(again.evidence_["burst"], model.evidence_["burst"], rtol=1e-12)
    np.testing.assert_allclose(again.decision_score_, model.decision_score_, rtol=1e-6)
    np.testing.assert_allclose(again.edge_score_, model.edge_score_, rtol=1e-5)


def test_who_pays_nothing_in_a_month_is_not_unusual_for_it(model: Any) -> None:
    """A month has fewer edges per account than the whole record: they are compared with others of the month."""
    start = BANK.transfers["time"].min()
    month = BANK.transfers.filter(pl.col("time").is_between(start + timedelta(days=60), start + timedelta(days=90)))
    judged = model.judge(hs.load(month, nodes=BANK.accounts, notices=[]))
    activity, degrees = judged.evidence_["activity"], judged.graph_.degrees
    assert (degrees == 0).sum() > 50 and (activity[degrees == 0] >= 2.0).sum() <= 2
    assert (activity >= 3.0).mean() <= (model.evidence_["activity"] >= 3.0).mean() + 0.005


def test_without_its_partners_of_the_night_a_takeover_is_ordinary(model: Any) -> None:
    graph, role = model.graph_, roles(model.graph_)
    node = int(np.flatnonzero(role == "takeover")[0])
    mine = np.flatnonzero((graph.edges == node).any(axis=0))
    events = facts(graph, "burst", node, model.flow_baseline_).events
    partners = np.union1d(graph.events.source[events], graph.events.target[events])
    night = mine[np.isin(graph.edges[:, mine], np.setdiff1d(partners, [node])).any(axis=0)]
    assert 9 <= night.size < mine.size
    assert model.score_without(graph, node, night) < 0.7 * model.decision_score_[node]
