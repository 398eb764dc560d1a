"""Records and rows as a finished suite leaves them, with values that a test can predict; nothing is fitted."""

from hopsight.benchmark import Options, make_suite
from hopsight.benchmark.cells import unique_cells
from hopsight.benchmark.results import task_rows

SCORES = {"hcm": ("ahp", "hav"), "cross_hcm": ("score", "ahp", "hav")}


def made_record(cell, *, status="ok", reason="", auc=None):
    """Return a record with AUC .7 + .02 x injection + .01 x seed, .1 less for HAV, and nodes / 100 seconds."""
    record = {"key": cell.key, "status": status, "reason": reason, "cell": cell.as_dict(), "limits": {"time": 60.0}}
    if status != "ok":
        return record
    nodes = cell.settings.get("generate", {}).get("n_nodes", 1000)
    scores = []
    for score in SCORES.get(cell.detector, ("score",)):
        value = (0.7 + 0.02 * (cell.injection or 0) + 0.01 * cell.seed if auc is None else auc) - 0.1 * (score == "hav")
        measures = dict.fromkeys(("auc", "average_precision", "precision_at_n", "auc_structure"), value)
        measures |= {"auc_low": value - 0.05, "auc_high": value + 0.05, "mean_anomalous": 2.0, "mean_normal": 1.0}
        scores.append({"score": score} | measures)
    points = [{"epoch": e, "loss": 1 / e, "auc": 0.5 + 0.01 * e + 0.01 * cell.seed} for e in range(1, 11)]
    return record | {
        "scores": scores, "seconds": nodes / 100, "memory_before": 100 * 2**20,
        "memory_peak": 100 * 2**20 + nodes * 2**10,
        "size": {"nodes": nodes, "edges": 5 * nodes, "attributes": 20, "anomalies": 32},
        "details": {"loss": 1.0 / (1 + cell.parameters.get("lr", 0)), "n_classes": 4}
        | ({"uses_labels": True} if "Oracle" in cell.detector else {}),
        "curve": points if cell.curve else [],
    }  # fmt: skip


def made_rows(suite, change=None):
    """Return plan, records and rows of a suite; ``change(cell)`` may return options of its record."""
    records = {cell.key: made_record(cell, **(change(cell) if change else {})) for cell in unique_cells(suite.plan)}
    return suite.plan, records, task_rows(suite.plan, records)


def made_quick(change=None, **options):
    return made_rows(make_suite("quick", Options(**({"graphs": ["generated"]} | options))), change)
