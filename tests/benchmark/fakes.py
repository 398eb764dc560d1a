"""Small detectors for the tests of the benchmark; worker processes import them from here."""

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
    """Scores the degree, and creates a file for every fit, so that a test can count the fits.

    The defaults come from the environment, which worker processes share with the test.
    """

    weight: float = float(os.environ.get("HOPSIGHT_TEST_WEIGHT", "1.0"))
    seconds: float = float(os.environ.get("HOPSIGHT_TEST_SECONDS", "0.0"))
    counter: str = os.environ.get("HOPSIGHT_TEST_COUNTER", "")

    def _fit(self, graph, *, rng, callback):
        assert graph.labels is None, "a detector must not see labels"
        assert graph.kinds is None, "a detector must not see kinds"
        if self.counter:
            (Path(self.counter) / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        for number in range(1, 4):
            if callback is not None:
                callback(Epoch(number, 3, 1.0 / number, lambda: graph.degrees.astype(float)))
        self.loss_ = [1.0, 0.5, 0.25]
        return self.weight * graph.degrees + 0.01 * rng.random(graph.n_nodes)


@dataclass(kw_only=True)
class Failing(Detector):
    """Raises."""

    how: str = "raise"

    def _fit(self, graph, *, rng, callback):
        act(self.how)
        return rng.random(graph.n_nodes)


@dataclass(kw_only=True)
class Dying(Failing):
    """Ends its process, as the system does when memory runs out."""

    how: str = "die"


@dataclass(kw_only=True)
class Endless(Failing):
    """Sleeps longer than any test's limit."""

    how: str = "rest"


@dataclass(kw_only=True)
class NotFinite(Detector):
    """Returns only NaN."""

    def _fit(self, graph, *, rng, callback):
        return np.full(graph.n_nodes, np.nan)


@dataclass(kw_only=True)
class Warns(Detector):
    """Warns and continues; has the other rankings of HCM too."""

    sizes: tuple[int, ...] = (4, 2)

    def _fit(self, graph, *, rng, callback):
        assert isinstance(self.sizes, tuple)
        warnings.warn("this graph is odd", stacklevel=2)
        self.ahp_ = graph.degrees.astype(float)
        self.hav_ = -self.ahp_
        self.n_classes_ = 3
        return self.ahp_ if sum(self.sizes) == 6 else rng.random(graph.n_nodes)
