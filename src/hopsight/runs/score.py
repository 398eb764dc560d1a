"""Score a new graph with a saved model and explain the result."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from hopsight.checks import check_count
from hopsight.runs.folder import OVER_TIME, claim
from hopsight.runs.progress import Progress
from hopsight.runs.record import Stages, detector_name, notices
from hopsight.runs.request import Source
from hopsight.runs.results import REPLACED, Result, now, record_of, write_results


def score(
    model_path: Path,
    source: Source,
    folder: Path,
    *,
    top: int = 20,
    csv: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Score a graph with a saved model and write the same files as a detection.

    ``model_path`` is the folder that ``save`` wrote, or the folder of a finished run. The threshold is the one the
    model was fitted with. ``top`` is the number of nodes to explain. With ``csv``, long tables are CSV files, too.
    """
    from hopsight.detectors.storage import load_detector

    check_count("top", top)
    show = progress or Progress()
    stages = Stages(show.begin, show.end)
    if (model_path / OVER_TIME).is_file():
        raise ValueError(f"{model_path} is a run over time: pass new events to hopsight watch {model_path}")
    inside = model_path / "model"
    model = load_detector(inside if inside.is_dir() else model_path)
    with claim(folder, REPLACED) as claimed, notices(show.say) as warnings:
        started = now()
        with stages.stage("load"):
            graph = source.read()
        show.say(str(graph))
        with stages.stage("score"):
            judged = model.judge(graph)
        record = record_of(source, graph, judged, scored=True) | {
            "command": "score",
            "model": str(model_path.resolve()),
            "source": dataclasses.asdict(source.repeatable()),
            "detector": detector_name(type(model).__name__),
            "top": top,
            "csv": csv,
            "started": started,
            "warnings": warnings,
        }
        write_results(claimed.staging, graph, judged, top, record, stages, csv=csv)
        claimed.publish()
    return Result.of(folder, graph, judged, record)
