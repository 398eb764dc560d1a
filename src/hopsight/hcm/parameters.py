"""The hyperparameters that HCM and CrossHCM share, and how they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from hopsight.checks import Refusal, check_choice, check_count, check_not_negative, check_positive, check_ratio
from hopsight.detectors.base import Detector
from hopsight.graph import AttributedGraph
from hopsight.hcm.posterior import PREDICTIONS
from hopsight.hcm.train import AT_ONCE, OPTIMIZERS, PAIRS_IN_MEMORY, Schedule
from hopsight.nn.device import resolve_device, training_dtype
from hopsight.system.threads import n_threads

EDGE_OPERATIONS = 8e5  # reading, preparing, scoring and writing an edge takes as long as this many operations


@dataclass(kw_only=True)
class HopParameters(Detector):
    """Parameter sheet of the hop-count models; see :class:`hopsight.hcm.hcm.HCM` for what each one means."""

    scores: ClassVar[tuple[str, ...]] = ("hav", "ahp")
    transferable: ClassVar[bool] = True
    order_matters: ClassVar[bool] = True
    node_values: ClassVar[Mapping[str, str]] = {
        "ahp": "mean number of hops its neighbors look away",
        "iv": "mean variance of these hop counts over the posterior",
        "hav": "both, each divided by its maximum",
    }

    n_units: int = 128
    mlp_units: int = 256
    dropout: float = 0.0
    n_components: int | None = 20
    scaling: str = "auto"
    drop_ratio: float = 0.2
    similarity: str = "auto"
    n_classes: int = 4
    sampling_ratio: float = 0.3
    max_pairs: int = 16_384
    min_class_pairs: int = 200
    optimizer: str = "adam"
    lr: float = 0.01
    lr_decay: float = 0.0
    weight_decay: float = 5e-8
    temperature: float = 1e-3
    n_epochs: int = 200
    burn_in: int = 100
    n_samples: int | None = 25
    prediction: str = "expected"
    dropout_at_prediction: bool = False
    deviation: str = "variance"
    precision: str = "auto"
    score: str = "hav"

    def check(self) -> None:
        """Refuse a parameter outside its range."""
        for name in ("n_units", "mlp_units", "n_epochs", "max_pairs", "min_class_pairs"):
            check_count(name, getattr(self, name))
        check_count("n_samples", self.samples_for(0.0))
        check_count("burn_in", self.burn_in, low=0)
        if self.burn_in >= self.n_epochs:
            raise Refusal(
                "burn_in", f"must be less than n_epochs, got burn_in {self.burn_in} and n_epochs {self.n_epochs}"
            )
        check_count("n_classes", self.n_classes, low=2)
        check_ratio("dropout", self.dropout)
        check_ratio("drop_ratio", self.drop_ratio)
        check_ratio("sampling_ratio", self.sampling_ratio, high=1.0 + 1e-12)
        check_positive("sampling_ratio", self.sampling_ratio)
        check_positive("lr", self.lr)
        for name in ("lr_decay", "weight_decay", "temperature"):
            check_not_negative(name, getattr(self, name))
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("prediction", self.prediction, PREDICTIONS)
        check_choice("deviation", self.deviation, ("variance", "std"))
        training_dtype(self.precision, torch.device("cpu"))
        check_choice("score", self.score, self.scores)

    def samples_for(self, n_edges: float) -> Any:
        """Return how many posterior samples judge a graph, given the number of edges that hops are counted along."""
        return self.n_samples

    def schedule(self, n_samples: int | None = None) -> Schedule:
        """Return the part of the parameters that training reads, with a number of samples of one's own if given."""
        n_samples = self.samples_for(0.0) if n_samples is None else n_samples
        return Schedule(
            self.optimizer, self.lr, self.lr_decay, self.weight_decay, self.temperature, self.n_epochs, self.burn_in,
            n_samples, self.dropout, self.dropout_at_prediction, self.prediction,
            training_dtype(self.precision, resolve_device(self.device)),
        )  # fmt: skip

    def _need(
        self,
        graph: AttributedGraph,
        *,
        memory: float,
        weights: float,
        per_pair: float,
        product: float,
        per_epoch: float,
        judged: float,
        per_edge: float = 120,
    ) -> tuple[float, float]:
        """Return bytes and operations from those of the model.

        Adam keeps six numbers per weight, a posterior sample is copied twice while it is collected and saved, and
        every block of pairs or edges that is worked on keeps ``per_pair`` numbers for each. An epoch costs six
        operations for each product of a pair, a posterior sample two for each edge it judges.
        """
        pairs = self._pairs_per_epoch(graph)
        n_samples = min(self.samples_for((1 - self.drop_ratio) * graph.n_edges), self.n_epochs - self.burn_in)
        at_once = min(n_threads() * AT_ONCE, max(pairs, judged))
        memory += 32 * min(PAIRS_IN_MEMORY, self.n_epochs * pairs) + per_edge * graph.n_edges
        memory += 4 * weights * (6 + 3 * n_samples) + 4 * at_once * per_pair + 16.0 * self.n_epochs
        training = 6.0 * self.n_epochs * (pairs * product + per_epoch)
        judging = 2.0 * n_samples * judged * product
        return memory, training + judging + EDGE_OPERATIONS * graph.n_edges

    def _pairs_per_epoch(self, graph: AttributedGraph) -> float:
        return min(self.max_pairs, self.n_classes * self.sampling_ratio * graph.n_edges)
