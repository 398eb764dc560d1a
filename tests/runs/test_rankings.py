"""Repeated fits, verdicts and rankings of some nodes."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from hopsight.cli import main
from hopsight.detectors import DETECTORS
from hopsight.detectors.storage import load_detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.io import write
from hopsight.io.npz import write_npz
from hopsight.runs.detect import averaged, detect, rerun
from hopsight.runs.finished import explain
from hopsight.runs.folder import CHECKPOINT, read_record
from hopsight.runs.request import Request, Source
from hopsight.runs.results import compare_with_labels, judged_or_left_out
from run_tables import explained
from toys import as_text, quick, set_options, two_groups

SETTINGS = {**CrossHCM.quick, "n_epochs": 8, "burn_in": 4, "n_samples": 4}
QUICK = set_options(SETTINGS)


@pytest.fixture(scope="module")
def repeated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with three fits of CrossHCM."""
    tmp_path = tmp_path_factory.mktemp("repeated")
    write_npz(two_groups(1, n_each=20), tmp_path / "graph.npz")
    settings, source = as_text(CrossHCM.quick), Source(path=str(tmp_path / "graph.npz"))
    request = Request(source=source, detector="cross_hcm", settings=settings, seed=4, repeat=3, top=5)
    return detect(request, tmp_path / "run").folder


def test_scores_are_means_over_seeds_and_the_saved_model_has_them(repeated: Path) -> None:
    graph = two_groups(1, n_each=20)
    fits = [quick("cross_hcm", seed=seed).fit(graph) for seed in (4, 5, 6)]
    table = pl.read_csv(repeated / "scores.csv")
    place = [graph.index_of(node) for node in table["node"]]
    mean = np.mean([fit.decision_score_ for fit in fits], axis=0)
    assert np.allclose(table["score"], mean[place], rtol=1e-6)
    assert table["score"].to_list() == sorted(table["score"], reverse=True)
    assert np.allclose(table["ring"], np.mean([fit.evidence_["ring"] for fit in fits], axis=0)[place], rtol=1e-6)
    n_first = int(table["flagged"].sum()) or 5
    first = [np.argsort(np.argsort(-fit.decision_score_, kind="stable")) < n_first for fit in fits]
    assert np.allclose(table["stability"], np.mean(first, axis=0)[place])
    saved = load_detector(repeated / "model")
    assert saved.seed == 4 and np.array_equal(saved.decision_score_[place], table["score"])
    other = two_groups(3, n_each=20)
    assert np.array_equal(saved.decision_function(other), fits[0].decision_function(other))
    assert not hasattr(saved.judge(other), "stability_")


def test_explanations_agree_with_the_table(repeated: Path) -> None:
    table = pl.read_csv(repeated / "scores.csv")
    for row in table.head(8).iter_rows(named=True):
        reasons: Any = explain(repeated, str(row["node"]))
        assert (reasons.rank, reasons.score, reasons.flagged) == (row["rank"], row["score"], bool(row["flagged"]))
        assert (reasons.decided_by, reasons.stability) == (row["decided_by"], row["stability"])
        assert {each.kind: each.strength for each in reasons.evidence} == {
            each.kind: row[each.kind] for each in reasons.evidence
        }
    assert f"among the first nodes with {reasons.stability:.0%} of the seeds" in str(reasons)


def test_a_rerun_repeats_all_fits_and_no_checkpoint_is_left(repeated: Path) -> None:
    assert read_record(repeated)["repeat"] == 3
    again = rerun(repeated / "run.json")
    assert (again.folder / "scores.csv").read_bytes() == (repeated / "scores.csv").read_bytes()
    assert not list(repeated.glob(f"{CHECKPOINT}*"))


def test_the_rule_is_applied_to_the_mean_score() -> None:
    model = DETECTORS["hcm"](contamination=0.25)
    fits = [(np.array([4.0, 1.0, 0.0, 2.0]), {}), (np.array([0.0, 9.0, 1.0, 2.0]), {})]
    shown = averaged(model, fits, top=2)
    assert shown.decision_score_.tolist() == [2.0, 5.0, 0.5, 2.0] and shown.label_.tolist() == [0, 1, 0, 0]
    assert shown.stability_.tolist() == [0.5, 0.5, 0.0, 0.0]  # among the first 1, as 1 node is flagged
    assert not hasattr(model, "decision_score_")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import hopsight as hs

    path = tmp_path_factory.mktemp("graph") / "graph.npz"
    write(hs.make_graph(150, n_structural=8, n_attribute_anomalies=8, seed=4), path)
    return path


def test_verdicts_give_a_new_ranking_beside_the_old_and_only_ranks_a_subset(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, taught = tmp_path / "plain", tmp_path / "taught"
    assert main(["detect", str(source), "--out", str(plain), "--quiet", *QUICK]) == 0
    before = pl.read_csv(plain / "scores.csv")
    first = before["node"].to_list()[:20]
    verdicts, nodes = tmp_path / "verdicts.csv", tmp_path / "nodes.txt"
    words = ("anomalous", "normal")
    verdicts.write_text("node,verdict\n" + "".join(f"{node},{words[i % 2]}\n" for i, node in enumerate(first[:10])))
    nodes.write_text("\n".join(map(str, first[8:])) + "\n")
    files = ["--learn-from", str(verdicts), "--only", str(nodes)]
    assert main(["detect", str(source), "--out", str(taught), "--quiet", *files, *QUICK]) == 0
    printed = capsys.readouterr().out
    assert "The 12 most anomalous of 12 listed nodes, with ranks among all 150 nodes" in printed
    assert re.search(r"\d+ of the 12 listed nodes flagged", printed)
    after = pl.read_csv(taught / "scores.csv")
    assert sorted(after["node"]) == sorted(first[8:])
    assert f"Ranks {after['rank'][0]} of 150 " in explained(taught)[0]["summary"] and after["rank"].is_sorted()
    old = dict(zip(before["node"], before["rank"], strict=True))
    assert [old[node] for node in after["node"]] == after["rank_before"].to_list()
    assert "Learned from 5 anomalous and 5 normal nodes" in read_record(taught)["learned"]
    assert len(explained(taught)) == 12
    assert main(["explain", str(taught), str(first[0])]) == 0  # the whole graph can still be explained


def test_judged_nodes_are_left_out_of_the_comparison_with_labels() -> None:
    model = SimpleNamespace(decision_score_=np.array([4.0, 3.0, 2.0, 1.0]))
    graph = AttributedGraph.from_edges([0], [1], np.zeros((4, 1)), labels=[1, 0, 1, 0])
    assert judged_or_left_out(model) is None
    model.learned_ = SimpleNamespace(judged=np.array([1]))
    measured = compare_with_labels(graph, model.decision_score_, judged_or_left_out(model))
    assert measured == {"n_anomalies": 2, "n_found": 2, "roc_auc": 1.0}  # with node 1 it would be 0.75


def test_files_that_are_missing_and_detectors_that_cannot_learn_are_refused_first(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--learn-from", "--only"):
        assert main(["detect", str(source), "--out", str(tmp_path / "out"), option, str(tmp_path / "none.csv")]) == 2
        assert option in capsys.readouterr().err
    there = tmp_path / "verdicts.csv"
    there.write_text("node,verdict\n")
    asked = ["detect", str(source), "--detector", "lof", "--learn-from", str(there), "--out", str(tmp_path / "o")]
    assert main(asked) == 2
    assert "lof cannot learn from labels" in capsys.readouterr().err


def test_a_column_of_known_cases_is_learned_from_and_never_an_attribute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    n = 120
    fraud = rng.random(n) < 0.3
    known = np.where(rng.random(n) < 0.6, np.where(fraud, "fraud", "regular"), "")
    edges = rng.integers(0, n, size=(2, 400))
    pl.DataFrame({"source": edges[0], "target": edges[1]}).write_csv(tmp_path / "edges.csv")
    table = {"id": np.arange(n), "amount": fraud * 2.0 + rng.normal(size=n), "age": rng.normal(size=n), "case": known}
    pl.DataFrame(table).write_csv(tmp_path / "nodes.csv")
    asked = ["detect", str(tmp_path / "edges.csv"), "--nodes", str(tmp_path / "nodes.csv"), "--quiet", *QUICK]
    out = tmp_path / "out"
    assert main([*asked, "--learn-from", "case", "--out", str(out)]) == 0
    scores = pl.read_csv(out / "scores.csv")
    chance = dict(zip(scores["node"], scores["anomaly_probability"], strict=True))
    unknown = [node for node in range(n) if not known[node]]
    assert roc_auc_score(fraud[unknown], [chance[node] for node in unknown]) > 0.75
    record = read_record(out)
    assert record["learned"].startswith("Learned from ") and record["graph"]["n_attributes"] == 2
    curve = record["learning_curve"]
    n_known = int((known != "").sum())
    assert [point["n_labels"] for point in curve] == [round(n_known / 4), round(n_known / 2), n_known]
    assert curve[-1]["roc_auc"] > 0.6 and 0.0 < curve[-1]["error"] < 0.2
    assert record["distinguishes"][0]["feature"] == "amount" and record["distinguishes"][0]["direction"] == "higher"
    report = (out / "report.html").read_text()
    assert "What distinguishes known anomalies: amount (higher; " in report and "By the labels so far" in report
    assert (
        f"ROC-AUC is {curve[-1]['roc_auc']:.2f} with all {n_known} labels" in report or "more labels may help" in report
    )
    pl.DataFrame({**table, "refunded": fraud * 1.0}).write_csv(tmp_path / "nodes.csv")
    assert main([*asked, "--learn-from", "case", "--out", str(tmp_path / "leak")]) == 0
    asks = "refunded predicts case alone, ROC-AUC 1.000: is it known before the fact?"
    assert asks in read_record(tmp_path / "leak")["warnings"]
    capsys.readouterr()
    for options, message in (
        (["--learn-from", "cases"], "--learn-from: there is no column 'cases'; did you mean case?"),
        (["--learn-from", "case", "--anomalous-value", "froud"], "did you mean fraud?"),
    ):
        assert main([*asked, *options, "--out", str(tmp_path / "none")]) == 2
        assert message in capsys.readouterr().err and not (tmp_path / "none" / "scores.csv").exists()
