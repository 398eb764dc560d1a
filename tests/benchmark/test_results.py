"""One cell, fitted and measured; rows, CSV files and means."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from benchmark.made import made_quick, made_record
from hopsight.benchmark.cells import MEASURES, Cell, Task, build_graph, execute, measure
from hopsight.benchmark.results import COLUMNS, Journal, comparison_tables, record_rows, task_rows, write_results
from hopsight.graph import AttributedGraph
from hopsight.metrics import roc_auc
from hopsight.system.files import LOCK, held
from run_tables import rows_of
from toys import refuses

SETTINGS = {
    "n_nodes": 120, "n_edges": 600, "n_attributes": 30, "n_structural": 4, "n_attribute_anomalies": 4, "seed": 3,
}  # fmt: skip


def cell(detector, **changes):
    return Cell(
        **({"graph": "generated", "settings": {"generate": SETTINGS}, "detector": detector, "seed": 0} | changes)
    )


def test_a_fit_gives_one_row_for_each_ranking_and_keeps_its_warnings():
    record = execute({"cell": cell("benchmark.fakes:Warns", parameters={"sizes": [4, 2]}).as_dict()})
    assert [row["score"] for row in record["scores"]] == ["ahp", "hav"]
    assert record["scores"][0]["auc"] == pytest.approx(1 - record["scores"][1]["auc"])
    assert record["warnings"] == ["this graph is odd"] and record["details"]["n_classes"] == 3
    assert record["size"] == {"name": "synthetic-120", "nodes": 120, "edges": 600, "attributes": 30, "anomalies": 8}


def test_a_curve_has_the_auc_of_each_epochs_own_prediction():
    record = execute({"cell": cell("benchmark.fakes:Degree", curve=True).as_dict()})
    graph = build_graph(cell("degree"), None)
    assert [point["epoch"] for point in record["curve"]] == [1, 2, 3]
    assert [point["loss"] for point in record["curve"]] == [1.0, 0.5, pytest.approx(1 / 3)]
    assert {point["auc"] for point in record["curve"]} == {roc_auc(graph.labels, graph.degrees)}
    assert execute({"cell": cell("benchmark.fakes:Degree").as_dict()})["curve"] == []
    assert record["details"]["loss"] == 0.25


def test_time_and_memory_are_measured():
    slow = cell("benchmark.fakes:Degree", parameters={"seconds": 0.2})
    record = execute({"cell": slow.as_dict()})
    assert 0.2 <= record["seconds"] < 5 and record["cpu_seconds"] < record["seconds"]
    assert record["memory_peak"] >= 0.9 * record["memory_before"] > 10 * 2**20


@pytest.fixture
def graph():
    labels, kinds = np.zeros(120, dtype=int), np.zeros(120, dtype=int)
    labels[:4], kinds[:4] = 1, (1, 1, 2, 3)
    return AttributedGraph.from_edges(range(119), range(1, 120), np.eye(120), labels=labels, kinds=kinds)


def test_measures_by_hand(graph):
    scores = np.arange(120.0)  # node 0 lowest: the anomalies are the four lowest
    scores[0] = 500.0  # except for the first, which is on top
    found = measure(graph, scores)
    assert set(found) == set(MEASURES) and found["auc"] == pytest.approx(116 / (4 * 116))
    assert found["auc_structure"] == pytest.approx(0.5)
    assert (found["auc_attribute"], found["auc_both"]) == (0.0, 0.0) and found["precision_at_n"] == 0.25
    assert found["precision_at_50"] == 1 / 50
    assert (found["recall_at_50"], found["recall_at_100"]) == (0.25, 0.25)
    assert found["mean_anomalous"] == pytest.approx((500 + 1 + 2 + 3) / 4)
    assert found["mean_normal"] == pytest.approx(np.arange(4, 120).mean())
    assert found["auc_low"] <= found["auc"] <= found["auc_high"]
    refuses("one finite score for each of the 120 nodes", measure, graph, np.full(120, np.nan))
    refuses("one finite score", measure, graph, np.arange(5.0))


def test_unlabeled_nodes_count_neither_as_anomalies_nor_as_normal(graph):
    scores = np.random.default_rng(0).normal(size=120)
    labels = np.where(np.arange(120) < 70, graph.labels, -1)
    found = measure(replace(graph, labels=labels), scores)
    alone = AttributedGraph.from_edges([0], [1], np.eye(70), labels=labels[:70], kinds=graph.kinds[:70])
    assert found == measure(alone, scores[:70])
    assert "precision_at_100" not in found  # only 70 nodes have a label
    assert "precision_at_50" in found


def select(rows, **values):
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def test_one_row_for_each_ranking_and_one_with_the_reason_of_a_failure():
    plan, _, rows = made_quick(repetitions=1)
    hcm = select(rows, row="HCM (paper)")
    assert [row["score"] for row in hcm] == ["ahp", "hav"]
    assert hcm[0]["memory"] == pytest.approx(300 / 1024, abs=0.1)
    failed = record_rows(made_record(plan[0].cell, status="died", reason="SIGKILL"))
    assert [(row["score"], row["status"], row["reason"]) for row in failed] == [(None, "died", "SIGKILL")]


def test_shared_cells_appear_in_both_experiments_and_second_rows_are_marked():
    plan, records, _ = made_quick(detectors=["lof"], repetitions=1)
    lof = plan[-1].cell
    reduced = replace(lof, view="reduced")
    tasks = [*plan, Task("comparison", "LOF", reduced), Task("other", "again", lof)]
    rows = task_rows(tasks, records | {reduced.key: made_record(reduced)})
    assert {row["key"] for row in select(rows, experiment="other")} == {lof.key}
    assert {row["second"] for row in select(rows, row="LOF", view="raw", experiment="comparison")} == {True}
    assert {row["second"] for row in select(rows, row="LOF", view="reduced")} == {False}
    assert {row["second"] for row in select(rows, row="random")} == {False}


def test_results_csv_holds_every_column_and_marks_what_is_current(tmp_path):
    plan, records, _ = made_quick(detectors=["lof", "hcm-paper"], repetitions=1)
    assert (plan[-2].row, plan[-1].row) == ("HCM (paper)", "LOF")
    write_results(tmp_path / "results.csv", plan[:-1], records)
    rows = rows_of(tmp_path / "results.csv")
    assert tuple(rows[0]) == COLUMNS and [row["current"] for row in rows] == ["true"] * 5 + ["false"]
    assert {(row["graph"], row["experiments"]) for row in rows if row["detector"] == "hcm"} == {
        ("generated", "comparison: HCM (paper)")
    }
    lof = rows[-1]
    assert lof["experiments"] == "" and json.loads(lof["parameters"])["n_neighbors"] == 20
    assert float(lof["auc"]) == pytest.approx(0.7) and lof["auc_attribute"] == ""


def test_tables_have_means_and_say_why_there_is_none():
    def change(cell):
        if cell.detector == "hcm" and cell.injection == 1:
            return {"status": "memory limit", "reason": "9 GiB in use"}
        return {"status": "failed", "reason": "ValueError: no"} if cell.detector == "radar" else {}

    overview, details = comparison_tables(made_quick(repetitions=2, seeds=2)[2])
    assert dict(overview.rows)["HCM (paper), AHP"] == "0.715 ± 0.013"
    hcm = next(line for line in details.rows if line[1] == "HCM (paper), AHP")
    assert (hcm[0], hcm[3], hcm[-1]) == ("generated", "0.665 to 0.765", "4")
    overview, details, failures = comparison_tables(made_quick(change=change, repetitions=2)[2])
    assert dict(overview.rows)["Radar"] == "failed" and dict(overview.rows)["HCM (paper), AHP"] == "0.700"
    assert next(line for line in details.rows if line[1] == "HCM (paper), AHP")[-1] == "1 of 2"
    assert ["generated", "Radar", "failed", "ValueError: no"] in failures.rows


@pytest.mark.parametrize("torn", [b'{"key": "b", "au', b'{"key": "b"\n'])
def test_an_incomplete_last_line_does_not_count_and_a_foreign_one_is_refused(tmp_path, torn):
    journal = Journal(tmp_path)
    journal.append({"key": "a"})
    with journal.path.open("ab") as file:
        file.write(torn)
    reopened = Journal(tmp_path)
    assert reopened.read() == {"a": {"key": "a"}}
    reopened.append({"key": "c"})
    assert list(Journal(tmp_path).read()) == ["a", "c"]
    journal.path.write_text('{"key": "a"}\nnot ours\n{"key": "b"}\n')
    refuses("line 2", Journal(tmp_path).read)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_neither_the_journal_nor_the_lock_is_a_link_or_a_pipe(tmp_path):
    mine, out = tmp_path / "letter", tmp_path / "out"
    mine.write_text('{"key": "a"}\ndear')
    out.mkdir()
    for name, begin in (
        ("cells.jsonl", lambda folder: Journal(folder).read()),
        (LOCK, lambda folder: held(folder).__enter__()),
    ):
        for make in (lambda path: path.symlink_to(mine), lambda path: path.symlink_to(tmp_path / "new"), os.mkfifo):
            make(out / name)
            refuses("is a symbolic link, folder, pipe or device: move it away", begin, out)
            (out / name).unlink()
    assert mine.read_text() == '{"key": "a"}\ndear' and not (tmp_path / "new").exists()


def test_a_second_run_into_the_folder_is_refused(tmp_path):
    with held(tmp_path), pytest.raises(ValueError, match=r"another run .* wait for it or choose"), held(tmp_path):
        pass
    with held(tmp_path):
        pass
