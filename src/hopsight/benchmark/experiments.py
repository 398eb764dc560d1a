"""The experiments as lists of tasks: comparison, sweeps, optimizers, growth."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hopsight.benchmark.cells import Cell, Task
from hopsight.benchmark.peers import is_peer
from hopsight.benchmark.recipes import DETERMINISTIC, ORACLE, detector_of, parameters_of, title_of
from hopsight.benchmark.trivial import TRIVIAL

SWEEPS: Mapping[str, tuple[str, dict[str, Any], tuple[float, ...]]] = {
    "sweep R": ("drop_ratio", {"n_classes": 5, "sampling_ratio": 0.3}, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    "sweep C": ("n_classes", {"drop_ratio": 0.2, "sampling_ratio": 0.3}, (2, 3, 4, 5, 6, 7)),
    "sweep S": (
        "sampling_ratio",
        {"drop_ratio": 0.2, "n_classes": 5},
        (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    ),
}


def _sgd(rate: float) -> dict[str, Any]:
    return {"optimizer": "sgd", "lr": rate, "lr_decay": 0.0}


TUNED = "SGD, rate tuned on the loss"
OPTIMIZERS: Mapping[str, dict[str, Any]] = {
    "SGLD, preconditioned": {},
    "the same without noise": {"temperature": 0.0},
    "SGLD, plain, rate .01": {"optimizer": "sgld", "lr": 0.01, "lr_decay": 0.0, "temperature": 1.0},
    "SGD, rate .01": _sgd(0.01),
}
RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
IN_CURVES = ("SGLD, preconditioned", "the same without noise", "SGD, rate .01")

RAW_TOO = frozenset({"lof", "amen", "radar", "dominant", "madan", "resgcn"})  # feasible on thousands of columns


@dataclass(frozen=True, kw_only=True)
class Place:
    """A network as one suite uses it."""

    network: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "as found"
    injections: Sequence[int | None] = (None,)
    n_seeds: int = 10
    n_layers: int = 2

    @property
    def injected(self) -> bool:
        """Whether anomalies are planted, so that attributes are reduced as in the paper."""
        return self.protocol != "as found"

    @property
    def missing(self) -> bool:
        """Whether the network's file is not at hand."""
        return "missing" in self.settings

    def repetitions(self, recipe: str) -> Iterator[tuple[int | None, int]]:
        """Yield injection and seed of each repetition; what no seed changes, or is missing, is run once for all."""
        once = detector_of(recipe) in DETERMINISTIC or self.missing
        for injection in self.injections[:1] if self.missing else self.injections:
            for seed in range(1 if once else self.n_seeds):
                yield injection, seed


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Makes cells: the parameters that every fit of a suite shares, and where fits run."""

    device: str = "auto"
    changes: Mapping[str, Any] = field(default_factory=dict)  # for every detector that has such parameters

    def cell(
        self,
        place: Place,
        recipe: str,
        *,
        injection: int | None,
        seed: int,
        changes: Mapping[str, Any] | None = None,
        view: str | None = None,
        curve: bool = False,
    ) -> Cell:
        """Return one cell; the view is the experiment's usual one when left out."""
        view = view or usual_view(recipe, place.injected)
        fixed: dict[str, Any] = dict(self.changes)
        if recipe in ("hcm-paper", "hcm-authors"):
            fixed["n_layers"] = place.n_layers
        if view == "reduced" and detector_of(recipe) in ("hcm", "dominant", "resgcn"):
            fixed |= {"scaling": "none", "n_components": None}  # reduced already: the same for all
        if recipe == "lof" and not place.injected:
            fixed["scaling"] = "auto"  # one column in large units would decide alone
        return Cell(
            network=place.network,
            settings=place.settings,
            protocol=place.protocol,
            injection=injection,
            view=view,
            detector=detector_of(recipe),
            parameters=parameters_of(recipe, fixed | dict(changes or {}), device=self.device),
            seed=seed,
            curve=curve,
        )


def usual_view(recipe: str, injected: bool) -> str:
    """Return which attributes a recipe is given.

    On injected networks all methods of the paper see the same 20 components. Elsewhere our detectors scale for
    themselves, and peers, which do not, get standardized columns. Trivial scores look at the raw network.

    >>> usual_view("dominant", True), usual_view("dominant", False), usual_view("pygod:DOMINANT", False)
    ('reduced', 'raw', 'scaled')
    """
    if recipe in TRIVIAL or recipe in ("hcm", "cross_hcm"):
        return "raw"
    if injected:
        return "reduced"
    return "scaled" if is_peer(recipe) else "raw"


def comparison(
    maker: Maker, places: Sequence[Place], recipes: Sequence[str], *, raw_too: Collection[str] = RAW_TOO
) -> list[Task]:
    """Table 1: every detector on every network; on injected ones raw attributes as a second row where feasible."""
    tasks = []
    for place in places:
        for recipe in recipes:
            views = ["raw"] if place.injected and recipe in raw_too and not place.missing else []
            for view in [None, *views]:
                for injection, seed in place.repetitions(recipe):
                    cell = maker.cell(place, recipe, injection=injection, seed=seed, view=view)
                    tasks.append(Task("comparison", title_of(recipe), cell))
    return tasks


def sweeps(
    maker: Maker, places: Sequence[Place], *, n_injections: int = 3, values: Mapping[str, Sequence[float]] | None = None
) -> list[Task]:
    """R, C and S in turn, the other two held, on the injected networks; one seed for each of a few injections."""
    tasks = []
    for place in (place for place in places if place.injected and not place.missing):
        for name, (parameter, held, all_values) in SWEEPS.items():
            for value in (values or {}).get(name, all_values):
                for injection in place.injections[:n_injections]:
                    changes = held | {parameter: value}
                    cell = maker.cell(place, "hcm-paper", injection=injection, seed=0, changes=changes)
                    tasks.append(Task(name, f"{value:g}", cell))
    return tasks


def optimizers(maker: Maker, places: Sequence[Place]) -> list[Task]:
    """SGLD, SGD and the same step without noise, by the protocol of the comparison."""
    tasks = []
    for place in (place for place in places if place.injected and not place.missing):
        for row, changes in OPTIMIZERS.items():
            tasks += _optimiser_tasks(maker, place, row, changes)
    return tasks


def tuning(maker: Maker, places: Sequence[Place]) -> list[Task]:
    """SGD at several rates, one fit each on the first injection: their losses decide, no label does."""
    tasks = []
    for place in (place for place in places if place.injected and not place.missing):
        for rate in RATES:
            cell = maker.cell(place, "hcm-paper", injection=place.injections[0], seed=0, changes=_sgd(rate))
            tasks.append(Task("tuning", f"{rate:g}", cell))
    return tasks


def tuned_optimizer(
    maker: Maker, places: Sequence[Place], loss_of: Mapping[str, float], *, n_curves: int
) -> list[Task]:
    """SGD at the rate whose loss ended lowest on each network; ``loss_of`` holds what the tuning cells gave."""
    tasks = []
    for place in (place for place in places if place.injected and not place.missing):
        tried = [task.cell for task in tuning(maker, [place]) if task.cell.key in loss_of]
        if tried:
            best = min(tried, key=lambda cell: loss_of[cell.key])
            changes = _sgd(best.parameters["lr"])
            tasks += _optimiser_tasks(maker, place, TUNED, changes)
            tasks += _curve_tasks(maker, place, TUNED, changes, n_curves)
    return tasks


def curves(maker: Maker, places: Sequence[Place], *, n_repetitions: int = 10) -> list[Task]:
    """Record the ROC-AUC of every epoch's own prediction, repeated with other seeds on the first injection."""
    tasks = []
    for place in (place for place in places if place.injected and not place.missing):
        for row in IN_CURVES:
            tasks += _curve_tasks(maker, place, row, OPTIMIZERS[row], n_repetitions)
    return tasks


def growth(
    maker: Maker, recipes: Sequence[str], *, nodes: Sequence[int], edges: Sequence[int], fixed_nodes: int
) -> list[Task]:
    """Time and memory on generated networks: more nodes at 10 edges a node, more edges at a fixed number of nodes."""
    tasks = []
    timed = [recipe for recipe in recipes if recipe not in TRIVIAL and recipe not in (ORACLE, "hcm-authors")]
    sizes = [("growth nodes", n, 10) for n in nodes] + [("growth edges", fixed_nodes, k) for k in edges]
    for experiment, n_nodes, n_edges in sizes:
        settings = {"n_nodes": n_nodes, "n_edges": n_edges * n_nodes, "n_attributes": 20, "seed": 0}
        place = Place(network="generated", settings=settings)
        for recipe in timed:
            cell = maker.cell(place, recipe, injection=None, seed=0)
            tasks.append(Task(experiment, title_of(recipe), cell))
    return tasks


def _optimiser_tasks(maker: Maker, place: Place, row: str, changes: Mapping[str, Any]) -> list[Task]:
    return [
        Task("optimizers", row, maker.cell(place, "hcm-paper", injection=injection, seed=seed, changes=changes))
        for injection, seed in place.repetitions("hcm-paper")
    ]


def _curve_tasks(maker: Maker, place: Place, row: str, changes: Mapping[str, Any], n: int) -> list[Task]:
    first = place.injections[0]
    return [
        Task("curves", row, maker.cell(place, "hcm-paper", injection=first, seed=seed, changes=changes, curve=True))
        for seed in range(n)
    ]
