"""Detectors of a few lines for the benchmark's tests; worker processes import them from here."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.acts import act
from hopsight.detectors.base import Detector, Epoch


@dataclass(kw_only=True)
class Degree(Detector):
    """Scores the degree; counts its fits in a folder, so that a test sees what was run again."""

    weight: float = 1.0
    seconds: float = 0.0
    counter: str = ""

    def _fit(self, graph, *, rng, callback):
        assert graph.labels is None, "a detector must not see labels"
        assert graph.kinds is None, "a detector must not see kinds"
        if self.counter:
            (Path(self.counter) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        for number in range(3):
            if callback is not None:
                callback(Epoch(number, 3, 1.0 / (number + 1), lambda: graph.degrees.astype(float)))
        self.loss_ = [1.0, 0.5, float("nan")]
        return self.weight * graph.degrees + 0.01 * rng.random(graph.n_nodes)


@dataclass(kw_only=True)
class Broken(Detector):
    """Fails in the way it is told."""

    how: str = "raise"

    def _fit(self, graph, *, rng, callback):
        if self.how == "nan":
            return np.full(graph.n_nodes, np.nan)
        if self.how == "warn":
            warnings.warn("this network is odd", stacklevel=2)
            return rng.random(graph.n_nodes)
        act(self.how)
        return rng.random(graph.n_nodes)
