"""Repeated fits: means over seeds, stability, and a folder that explains itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight.detectors import DETECTORS
from hopsight.detectors.storage import load_detector
from hopsight.io.npz import write_npz
from hopsight.runs.detect import detect, rerun
from hopsight.runs.finished import explain, open_run
from hopsight.runs.folder import CHECKPOINT, read_record
from hopsight.runs.rankings import Values, averaged
from hopsight.runs.request import Request, Source
from toys import quick, two_groups


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    """Return the folder of a run with three fits of CrossHCM."""
    write_npz(two_groups(1, n_each=20), tmp_path / "graph.npz")
    settings = {name: str(value) for name, value in DETECTORS["cross_hcm"].quick.items()}
    source = Source(path=str(tmp_path / "graph.npz"))
    request = Request(source=source, detector="cross_hcm", settings=settings, seed=4, repeat=3, top=5)
    detect(request, tmp_path / "run")
    return tmp_path / "run"


def test_scores_are_means_over_seeds_and_the_saved_model_is_the_first(repeated: Path) -> None:
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
    assert saved.seed == 4
    assert np.allclose(saved.decision_score_, fits[0].decision_score_, rtol=1e-6)
    assert not hasattr(saved, "stability_")


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


def test_a_table_of_another_run_is_noticed(repeated: Path) -> None:
    (repeated / "scores.csv").write_text("node,rank,score\nsomebody,1,2.0\n")
    with pytest.raises(ValueError, match="does not belong to this run"):
        open_run(repeated)


def test_the_rule_is_applied_to_the_mean_score() -> None:
    model = DETECTORS["hcm"](contamination=0.25)
    fits = [Values(np.array([4.0, 1.0, 0.0, 2.0]), None, {}), Values(np.array([0.0, 9.0, 1.0, 2.0]), None, {})]
    shown = averaged(model, fits, top=2)
    assert shown.decision_score_.tolist() == [2.0, 5.0, 0.5, 2.0]
    assert shown.label_.tolist() == [0, 1, 0, 0]
    assert shown.stability_.tolist() == [0.5, 0.5, 0.0, 0.0]  # among the first 1, as 1 node is flagged
    assert not hasattr(model, "decision_score_")


def test_the_mean_p_value_decides_how_many_are_flagged() -> None:
    model = DETECTORS["cross_hcm"](false_alarms=0.1)
    scores = np.array([5.0, 3.0, 1.0, 0.5])
    low, high = np.array([1e-6, 0.9, 0.9, 0.9]), np.array([1e-6, 1e-6, 0.9, 0.9])
    for p_values, n_flagged in ((low, 1), (high, 2)):
        assert averaged(model, [Values(scores, p_values, {})] * 2, top=2).label_.sum() == n_flagged
    mixed = [Values(scores, low, {}), Values(scores, high, {})]
    assert averaged(model, mixed, top=2).label_.sum() == 1


def test_repeating_a_detector_without_randomness_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="lof gives the same scores with every seed: leave out repeat"):
        detect(Request(detector="lof", repeat=2), tmp_path / "out")
    with pytest.raises(ValueError, match="repeat must be at least 1, got 0"):
        detect(Request(detector="hcm", repeat=0), tmp_path / "out")
    assert not (tmp_path / "out").exists()
