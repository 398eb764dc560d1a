"""What a run shows beside the fit itself: a ranking that learned from verdicts, and a ranking of some nodes only."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import option
from hopsight.graph import AttributedGraph
from hopsight.io.verdicts import count_words, read_nodes, read_verdicts
from hopsight.runs.request import Request


def check_files(request: Request, detector: Any) -> None:
    """Refuse files that are not there, and verdicts for a detector that cannot learn, before anything is read."""
    for name, path in (("verdicts", request.verdicts), ("only", request.only)):
        if path is not None and not Path(path).is_file():
            raise ValueError(f"there is no file {path} ({option(name)})")
    if request.verdicts is not None and not hasattr(detector, "learn"):
        raise ValueError(
            f"{request.detector} has no kinds of evidence to re-weigh: {option('verdicts')} is for cross_hcm"
        )


def asked_for(
    request: Request, graph: AttributedGraph, shown: Any, fitted: Any, say: Callable[[str], None]
) -> tuple[Any, Any]:
    """Return what the run shows and the detector that it saves, given what the fit shows and the detector itself."""
    saved = fitted
    if request.verdicts is not None:
        verdicts = read_verdicts(request.verdicts, graph)
        words = {graph.node_ids[place]: word for place, word in verdicts.items()}
        alone = shown is fitted
        shown = shown.learn(words, graph=graph)
        saved = shown if alone else fitted.learn(words, graph=graph)
        learned = shown.learned_words
        say(f"Verdicts: {count_words(verdicts)}. {learned or 'Nothing is learned before there are both kinds.'}")
    if request.only is not None:
        shown = copy.copy(shown)
        shown.only_ = np.zeros(graph.n_nodes, dtype=np.bool_)
        shown.only_[read_nodes(request.only, graph)] = True
    return shown, saved
