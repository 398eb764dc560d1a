"""A report that can be shared: the ids and names of nodes are replaced by numbers."""

from __future__ import annotations

from pathlib import Path

from hopsight.metrics import ranking
from hopsight.report.notebook import redacted, report
from hopsight.runs.explain import open_run
from hopsight.runs.folder import KEY, REDACTED
from hopsight.system.cells import guarded
from hopsight.system.files import replacing
from hopsight.system.lazy_polars import pl
from hopsight.system.threads import check_polars


def write_redacted(folder: Path, *, top: int = 20) -> tuple[Path, Path]:
    """Write ``report-redacted.html`` and the key to it, ``redacted.csv``, into the folder of a finished run.

    The key says which node each number stands for: keep it, and share only the report.
    """
    check_polars()  # before anything is written
    model, graph = open_run(folder)
    order = ranking(model.decision_score_)
    names = redacted(graph, model.decision_score_).node_ids
    key = {"node": [guarded(str(graph.node_ids[node])) for node in order], "redacted": names[order].tolist()}
    with replacing(folder / KEY) as file:
        pl.DataFrame(key).write_csv(file)
    return report(model, graph, top=top, redact=True).write(folder / REDACTED), folder / KEY
