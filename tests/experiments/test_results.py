"""RESULTS.md, the pages of results and their figures say what the raw results say."""

import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import results
from fair.figures import groups
from fair.plan import DETECTORS
from fair.stats import IN_SAMPLE, RESERVED, Results, interval, mean_ranks
from fair.tables import paired
from toys import refuses


@pytest.fixture(scope="module")
def compared() -> Results:
    return results.compared()


def means(compared: Results, graphs: tuple[str, ...]) -> dict[str, float]:
    """Return the mean ROC-AUC of every detector that ended on all of the graphs."""
    return {
        name: float(np.mean([compared.value(name, graph) for graph in graphs]))
        for name in compared.complete(DETECTORS, graphs)
    }


def made_with_the_pinned_matplotlib() -> bool:
    pinned = re.search(r"^matplotlib==(\S+)$", (results.ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    assert pinned is not None
    return version("matplotlib") == pinned[1]


def test_the_tables_of_the_page_are_those_of_the_raw_results() -> None:
    found = set()
    for page in results.pages():
        text = page.read_text(encoding="utf-8")
        assert results.filled(text) == text, "run make results"
        found |= set(re.findall(r"<!-- table (\w+) -->", text))
    assert found == set(results.TABLES)
    assert sorted(file.name for file in results.RAW.iterdir()) == sorted(results.FILES)  # none is unknown


def test_the_figures_of_the_page_are_those_of_the_raw_results() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in results.pages())
    drawn = results.drawings()
    assert sorted(re.findall(r"]\(\.\./(\w+)\.svg\)", text)) == sorted(drawn)
    if not made_with_the_pinned_matplotlib():
        pytest.skip("another version of matplotlib than in constraints.txt draws other bytes")
    for name, drawing in drawn.items():
        assert (results.ROOT / "docs" / f"{name}.svg").read_bytes() == drawing, "run make results"


@pytest.mark.parametrize("name", results.FILES)
def test_a_missing_raw_file_fails_the_check(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(results.RAW, tmp_path / "raw")
    (tmp_path / "raw" / name).unlink()
    monkeypatch.setattr(results, "RAW", tmp_path / "raw")
    monkeypatch.setattr(sys, "argv", ["results.py", "--check"])
    assert results.main() == 1
    assert f"missing: {name}" in capsys.readouterr().err


def test_a_page_that_is_not_current_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "RESULTS.md"
    page.write_text("<!-- table thresholds_labeled -->\n\nstale\n\n<!-- end -->\n", encoding="utf-8")
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "drawings", lambda: {"heat_map": b"new"})
    monkeypatch.setattr(sys, "argv", ["results.py", "--check"])
    assert results.main() == 1
    assert "RESULTS.md, heat_map.svg" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["results.py"])
    assert results.main() == 0
    assert "stale" not in page.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["results.py", "--check"])
    assert results.main() == 0


def test_a_changed_result_changes_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"graph": graph, "n_flagged": 20, "n_false": 5, "n_planted": 30} for graph in results.generators.LABELED
    ] * 2
    monkeypatch.setattr(results, "raw", lambda name: rows)
    assert results.thresholds_labeled().splitlines()[-1] == "| tolokers | 30 | 40 | .250 |"


def test_the_sentences_about_detectors_without_labels_are_what_the_table_says(compared: Results) -> None:
    text = " ".join((results.ROOT / "RESULTS.md").read_text(encoding="utf-8").split())
    assert "CrossHCM has a higher mean ROC-AUC than the other detectors, in-sample and on the reserved graphs" in text
    said = '"no model", which computes the same evidence from the dissimilarity of connected nodes, does as well on the'
    assert said in text
    for graphs in (IN_SAMPLE, RESERVED):
        found = means(compared, graphs)
        others = [value for name, value in found.items() if name not in ("cross_hcm", "fair.trivial:NoModel")]
        assert found["cross_hcm"] > max(others)
    samples = [compared.samples(name, graph) for graph in RESERVED for name in ("cross_hcm", "fair.trivial:NoModel")]
    low, high = interval(np.mean(samples[::2], axis=0) - np.mean(samples[1::2], axis=0))
    assert low < 0 < high and "on Tolokers no detector is much better than a coin" in text
    assert max(compared.value(name, "tolokers") for name in compared.complete(DETECTORS, ("tolokers",))) < 0.57


def made(shift: float, n_draws: int = 40) -> Results:
    """Return two detectors on a graph as found, the second always lower by a shift, and on one of them a single run."""
    rng = np.random.default_rng(0)
    draws = rng.uniform(0.6, 0.8, size=(5, n_draws))
    rows = []
    for detector in ("cross_hcm", "hcm"):
        for seed in range(5):
            common = {"experiment": "comparison", "view": "20", "status": "ok", "graph": "tolokers"}
            ranking, lower = ("score", 0.0) if detector == "cross_hcm" else ("ahp", shift)
            place = seed + 5 * (detector == "hcm")
            values = {"seed": str(seed), "draws": str(place), "auc": 0.7 - lower}
            rows.append(common | {"detector": detector, "ranking": ranking} | values)
    return Results(tuple(rows), np.concatenate([draws, draws - shift]))


def test_differences_are_paired() -> None:
    one = made(0.1)
    gap = one.samples("cross_hcm", "tolokers") - one.samples("hcm", "tolokers")
    assert gap == pytest.approx(0.1)  # although each of them varies
    assert one.samples("hcm", "tolokers").std() > 0.005
    line = next(line for line in paired(one, "reserved").splitlines() if line.startswith("| HCM"))
    assert "+.100 [+.100, +.100]" in line and line.endswith("| 1, 0, 0 |")


def test_ranks_leave_out_who_did_not_run_everywhere() -> None:
    one = made(0.1)
    assert one.complete(("cross_hcm", "hcm", "lof"), ("tolokers",)) == ["cross_hcm", "hcm"]
    assert one.complete(("cross_hcm",), ("tolokers", "gen_1000")) == []
    assert mean_ranks(one, ["cross_hcm", "hcm"], ["tolokers"]) == {"cross_hcm": 1.0, "hcm": 2.0}
    assert groups([1.0, 2.0], 0.5) == []


def test_missing_repetitions_are_noticed() -> None:
    one = made(0.1)
    few = Results(one.rows[:3], one.draws)
    assert few.n_ended("cross_hcm", "tolokers") == 3
    assert few.fixed("cross_hcm", "tolokers") == []  # three of five are no figure
    assert np.isnan(few.value("cross_hcm", "tolokers"))
    refuses("3 repetitions on tolokers", few.resampled, few.rows, "tolokers")


def test_the_papers_experiments_have_all_repetitions(compared: Results) -> None:
    from fair import paper

    assert "over the limit" not in paper.optimizers(compared)
    lines = paper.sweeps(compared).splitlines()
    held = [line.split(" | ")[1:] for line in lines if "held" in line]
    assert len(held) == 3
    assert held[0] == held[1] == held[2]  # R = .2, C = 5 and S = .3 are one cell
    assert [line.split(" | ")[0] for line in lines if "over the limit" in line] == ["| S = 1"]
    assert "| 6, 348 |" in next(line for line in lines if line.startswith("| C = 7"))  # classes that the graph has


def test_what_did_not_run_has_a_reason(compared: Results) -> None:
    from fair import coverage

    table = coverage.missing(compared)
    assert "| GADNR (PyGOD) | all | fails: does not work with this version of PyG" in table
    assert "over the limit of 100 s" in table
    counted = [line.split(" | ") for line in coverage.counts(compared).splitlines()[2:]]
    total = sum(int(number.strip(" |")) for line in counted for number in line[2:])
    assert total == len(coverage.planned())
