"""Rows as a finished suite leaves them, with figures that a test can foresee; nothing is fitted."""

from __future__ import annotations

from hopsight.benchmark.cells import unique_cells
from hopsight.benchmark.results import task_rows
from hopsight.benchmark.suites import Options, make_suite

SCORES = {"hcm": ("ahp", "hav"), "cross_hcm": ("score", "ahp", "hav")}


def made_record(cell, *, status="ok", reason="", auc=None):
    """Return a record whose AUC is .7 + .02 x injection + .01 x seed, .1 less for HAV, and whose time is its nodes."""
    record = {"key": cell.key, "status": status, "reason": reason, "cell": cell.as_dict(), "limits": {"time": 60.0}}
    if status != "ok":
        return record
    nodes = cell.settings.get("n_nodes", 1000)
    scores = []
    for score in SCORES.get(cell.detector, ("score",)):
        value = (0.7 + 0.02 * (cell.injection or 0) + 0.01 * cell.seed if auc is None else auc) - 0.1 * (score == "hav")
        figures = dict.fromkeys(("auc", "average_precision", "precision_at_n", "auc_structure"), value)
        figures |= {"auc_low": value - 0.05, "auc_high": value + 0.05, "mean_anomalous": 2.0, "mean_normal": 1.0}
        scores.append({"score": score} | figures)
    points = [{"epoch": e, "loss": 1 / e, "auc": 0.5 + 0.01 * e + 0.01 * cell.seed} for e in range(1, 11)]
    return record | {
        "scores": scores,
        "seconds": nodes / 100,
        "memory_before": 100 * 2**20,
        "memory_peak": 100 * 2**20 + nodes * 2**10,
        "graph": {"nodes": nodes, "edges": 5 * nodes, "attributes": 20, "anomalies": 32},
        "details": {"loss": 1.0 / (1 + cell.parameters.get("lr", 0)), "n_classes": 4}
        | ({"uses_labels": True} if cell.detector == "madan_oracle" else {}),
        "curve": points if cell.curve else [],
    }


def made_suite(name="quick", change=None, **options):
    """Return plan, records and rows of a suite; ``change(cell)`` may give options of its record."""
    suite = make_suite(name, Options(**({"networks": ["generated"]} | options)))
    records = {cell.key: made_record(cell, **(change(cell) if change else {})) for cell in unique_cells(suite.plan)}
    plan = [*suite.plan, *suite.follow_up({key: r["details"]["loss"] for key, r in records.items() if "details" in r})]
    records |= {cell.key: made_record(cell) for cell in unique_cells(plan) if cell.key not in records}
    return plan, records, task_rows(plan, records)
