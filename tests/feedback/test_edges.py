"""Labels of edges: a planted kind of payment is found, whatever the way that labels are given."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

import hopsight as hs
from hopsight.cli import main
from hopsight.explanations.text import percent
from hopsight.feedback.edges import JUDGED_NAMES, EdgeTable
from hopsight.hcm.cross_hcm import CrossHCM

SETTINGS = {**CrossHCM.quick, "n_epochs": 8, "burn_in": 4, "n_samples": 4}


def payments(n: int = 200, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return accounts and payments: fraud is a payment at night of three times what its sender usually pays."""
    rng = np.random.default_rng(seed)
    accounts = {"id": [f"a{i}" for i in range(n)], "income": rng.lognormal(size=n), "age": rng.normal(40, 10, n)}
    sender, receiver = rng.integers(0, n, size=(2, 1200))
    fraud = rng.random(1200) < 0.15
    hour = np.where(fraud, rng.integers(1, 5, 1200), rng.integers(8, 22, 1200))
    time = 1_700_000_000 // 86400 * 86400 + rng.integers(0, 90, 1200) * 86400 + hour * 3600
    amount = np.exp(rng.normal(3, 0.3, n))[sender] * np.where(fraud, 3.0, 1.0) * np.exp(rng.normal(0, 0.2, 1200))
    names = np.array(accounts["id"])
    rows = {"source": names[sender], "target": names[receiver], "weight": amount, "timestamp": time, "case": fraud}
    return pl.DataFrame(accounts), pl.DataFrame(rows).filter(pl.col("source") != pl.col("target"))


@pytest.fixture(scope="module")
def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    accounts, rows = payments()
    known = np.random.default_rng(1).random(rows.height) < 0.3
    case = pl.when(pl.lit(pl.Series(known))).then(pl.col("case").cast(pl.String)).otherwise(pl.lit(""))
    return accounts, rows.with_columns(known=case)


@pytest.fixture(scope="module")
def fitted(tables: tuple[pl.DataFrame, pl.DataFrame]) -> CrossHCM:
    accounts, rows = tables
    graph = hs.load(rows.drop("case"), nodes=accounts, directed=True, learn_from="known", notices=[])
    return hs.CrossHCM(seed=0, **SETTINGS).fit(graph)


def truth(graph: hs.AttributedGraph, rows: pl.DataFrame) -> tuple[Any, Any]:
    """Return which edges are fraud, and which have no label."""
    by_edge = rows.group_by("source", "target").agg(pl.col("case").any(), (pl.col("known") == "").all().alias("open"))
    table = {(a, b): (fraud, unknown) for a, b, fraud, unknown in by_edge.rows()}
    pairs = graph.node_ids[graph.edges]
    return tuple(np.array([table[pair] for pair in zip(*pairs.tolist(), strict=True)]).T)  # type: ignore[return-value]


def test_a_column_of_the_edge_table_teaches_edges(
    fitted: CrossHCM, tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    taught, (fraud, unlabeled) = fitted.learn("known"), truth(fitted.graph_, tables[1])
    chance = taught.edge_anomaly_probability_
    assert roc_auc_score(fraud[unlabeled], fitted.edge_score_[unlabeled]) < 0.8
    assert roc_auc_score(fraud[unlabeled], chance[unlabeled]) > 0.95
    assert np.array_equal(taught.decision_score_, fitted.decision_score_) and fitted.edge_learned_ is None
    assert np.allclose(taught.edge_score_, -np.log10(1.0 - chance))
    assert (1.0 - chance[taught.edge_label_ == 1]).mean() <= taught.false_alarms
    assert "normal edges. On held-out labels: ROC-AUC " in (taught.learned_words or "")
    assert {"hour of the day", "weight for its source"} & {each.feature for each in taught.distinctions()}
    taught.save(tmp_path)
    loaded = hs.load_detector(tmp_path)
    assert np.array_equal(loaded.edge_anomaly_probability_, chance) and loaded.learned_words == taught.learned_words
    again = loaded.judge(fitted.graph_)
    assert np.allclose(again.edge_anomaly_probability_, chance, atol=1e-4)
    forgotten = taught.learn({tuple(fitted.graph_.node_ids[fitted.graph_.edges[:, 0]]): "unsure"})
    assert np.array_equal(forgotten.edge_score_, fitted.edge_score_) and forgotten.learned_words is None


def test_pairs_and_tables_say_the_same_as_the_column(
    fitted: CrossHCM, tables: tuple[pl.DataFrame, pl.DataFrame]
) -> None:
    rows = tables[1].select("source", "target", "known")
    by_edge = rows.filter(pl.col("known") != "").group_by("source", "target").agg((pl.col("known") == "true").any())
    pairs = {(source, target): label for source, target, label in by_edge.rows()}
    wanted = fitted.learn("known").edge_anomaly_probability_
    assert np.array_equal(fitted.learn(pairs).edge_anomaly_probability_, wanted)
    assert np.array_equal(fitted.learn(rows.rename({"known": "verdict"})).edge_anomaly_probability_, wanted)
    with pytest.raises(ValueError, match=r"1 labeled edge of 1 is not in the graph, such as \('a0', 'a0'\)"):
        fitted.learn({("a0", "a0"): 1})
    with pytest.raises(ValueError, match="the fit has used the column 'income' as an attribute: load the graph with"):
        fitted.learn("income")
    with pytest.raises(ValueError, match=r"keeps no column of this name aside; did you mean known\?"):
        fitted.learn("knwon")


def test_the_order_of_the_rows_changes_nothing(fitted: CrossHCM, tables: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    accounts, rows = (table.sample(fraction=1.0, shuffle=True, seed=3) for table in tables)
    graph = hs.load(rows.drop("case"), nodes=accounts, directed=True, learn_from="known", notices=[])
    again, taught = hs.CrossHCM(seed=0, **SETTINGS).fit(graph).learn("known"), fitted.learn("known")
    found, wanted = (
        dict(zip(zip(*model.graph_.node_ids[model.graph_.edges].tolist(), strict=True), model.edge_score_, strict=True))
        for model in (again, taught)
    )
    assert found == wanted


def test_an_edge_does_not_see_its_own_label(fitted: CrossHCM) -> None:
    graph, judged = fitted.graph_, np.array([3, 5])
    for anomalous in ([True, False], [False, False]):  # the label of the first edge changes
        table = EdgeTable.of(
            fitted, graph, fitted._learner_columns, fitted.decision_score_, judged, np.array(anomalous)
        )
        features = table.rows(np.array([3]))
        column = features.names.index(JUDGED_NAMES[0])
        assert features.values[0, column] == 0.0


def test_the_command_line_ranks_payments_by_what_it_learned_and_scores_others(
    tables: tuple[pl.DataFrame, pl.DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accounts, rows = tables
    accounts.write_csv(tmp_path / "accounts.csv")
    rows.drop("case").write_csv(tmp_path / "payments.csv")
    settings = [option for name, value in SETTINGS.items() for option in ("--set", f"{name}={value}")]
    asked = [str(tmp_path / "payments.csv"), "--nodes", str(tmp_path / "accounts.csv"), "--directed"]
    out = tmp_path / "out"
    assert main(["detect", *asked, "--learn-from", "known", "--out", str(out), *settings]) == 0
    out_text, err_text = capsys.readouterr()
    assert "most probable of" in out_text and f"hopsight explain {out} a" in out_text
    printed = " ".join(err_text.split())  # without line breaks
    assert "normal edges. On held-out labels: ROC-AUC " in printed and " labels, about the same as with " in printed
    found = pl.read_csv(out / "edges.csv")
    assert found["anomaly_probability"].is_sorted(descending=True) and found["flagged"].sum() > 0
    assert "anomaly_probability" not in pl.read_csv(out / "scores.csv").columns
    record = json.loads((out / "run.json").read_text())
    assert record["graph"]["n_attributes"] < 40 and record["distinguishes"]
    first = found.row(0, named=True)
    assert main(["explain", str(out), first["source"], first["target"]]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"anomalous with a probability of {percent(100 * first['anomaly_probability'])}, raised by " in said
    assert re.search(r"raised by [^.]* \((higher|lower) than for [\d.]+% of edges\)", said)
    assert "than for" in (out / "report.html").read_text() and "% of edges)" in (out / "report.html").read_text()
    others, new = payments(seed=7)
    others.write_csv(tmp_path / "accounts.csv")
    new.drop("case").write_csv(tmp_path / "payments.csv")
    assert main(["score", str(out), *asked, "--out", str(tmp_path / "next"), "--quiet"]) == 0
    scored = pl.read_csv(tmp_path / "next" / "edges.csv").join(
        new.group_by("source", "target").agg(pl.col("case").any()), on=["source", "target"]
    )
    assert roc_auc_score(scored["case"], scored["anomaly_probability"]) > 0.9
