"""The suites: which experiments on which networks, with how many repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hopsight.benchmark.cells import PROTOCOLS, Plan, Task
from hopsight.benchmark.experiments import (
    Maker,
    Place,
    comparison,
    curves,
    growth,
    optimizers,
    sweeps,
    tuned_optimizer,
    tuning,
)
from hopsight.benchmark.graphs import file_settings, setup_of
from hopsight.benchmark.peers import peer_names
from hopsight.benchmark.recipes import ORACLE, check_detectors, detector_of
from hopsight.benchmark.trivial import TRIVIAL
from hopsight.checks import check_choice, check_count
from hopsight.datasets import get_network

PAPER_NETWORKS = ("flickr", "blogcatalog", "acm", "amazon", "enron")
PEER_NETWORKS = ("flickr", "blogcatalog", "inj_cora", "disney", "amazon", "enron")
RECIPES = (
    *TRIVIAL, "lof", "amen", "radar", "anomalous", "dominant", "madan", ORACLE, "resgcn",
    "hcm-paper", "hcm-authors", "hcm", "cross_hcm",
)  # fmt: skip
EXPERIMENTS = ("comparison", "sweeps", "optimizers", "curves", "growth")

# What makes a fit quick; a detector takes those it has.
QUICK_CHANGES = {"n_epochs": 30, "burn_in": 10, "n_samples": 20, "n_units": 32, "mlp_units": 32}
QUICK_VALUES = {"sweep R": (0.0, 0.2, 0.4), "sweep C": (2, 4), "sweep S": (0.3, 1.0)}

Losses = Mapping[str, float]  # the loss a cell ended with, by key


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may choose; ``None`` leaves the suite's own choice."""

    networks: Sequence[str] | None = None
    detectors: Sequence[str] | None = None
    experiments: Sequence[str] | None = None
    repetitions: int | None = None  # injections of an injected network
    seeds: int | None = None  # model seeds of each injection; organic networks get repetitions x seeds
    protocol: str = "dominant"  # how anomalies are planted
    data_dir: str | None = None
    device: str = "auto"


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Tasks to run at once, and those that depend on how these end."""

    name: str
    plan: Plan
    places: Sequence[Place]
    follow_up: Callable[[Losses], list[Task]] = field(default=lambda losses: [])


def make_suite(name: str, options: Options) -> Suite:
    """Return a suite by its name: ``paper``, ``quick`` or ``peers``."""
    check_choice("suite", name, ("paper", "quick", "peers"))
    for count in ("repetitions", "seeds"):
        if getattr(options, count) is not None:
            check_count(count, getattr(options, count))
    check_choice("protocol", options.protocol, PROTOCOLS[1:])
    for experiment in options.experiments or ():
        check_choice("experiments", experiment, EXPERIMENTS)
    check_detectors(list(options.detectors or ()))
    return {"paper": _paper, "quick": _quick, "peers": _peers}[name](options)


def _paper(options: Options) -> Suite:
    places = [_place(name, options) for name in options.networks or PAPER_NETWORKS]
    sizes = {"nodes": (1_000, 3_000, 10_000, 30_000, 100_000), "edges": (5, 10, 20, 40, 80), "fixed_nodes": 5_000}
    return _whole("paper", options, Maker(device=options.device), places, sizes=sizes)


def _quick(options: Options) -> Suite:
    """Return the same on networks of a few hundred nodes, to see in minutes that everything works."""
    options = replace(options, repetitions=options.repetitions or 2, seeds=options.seeds or 1)
    if options.networks is None:
        disney = _place("disney", options)
        places = [_small_place(options), *([] if disney.missing else [disney])]
    else:
        places = [_place(name, options) for name in options.networks]
    maker = Maker(device=options.device, changes=QUICK_CHANGES)
    sizes = {"nodes": (200, 400, 800), "edges": (5, 10, 20), "fixed_nodes": 400}
    return _whole("quick", options, maker, places, sizes=sizes, values=QUICK_VALUES, n_curves=3)


def _whole(
    name: str,
    options: Options,
    maker: Maker,
    places: Sequence[Place],
    *,
    sizes: Mapping[str, Any],
    values: Mapping[str, Sequence[float]] | None = None,
    n_curves: int = 10,
) -> Suite:
    recipes = chosen_recipes(RECIPES, options.detectors)
    wanted = set(options.experiments or EXPERIMENTS)
    if not any(detector_of(recipe) == "hcm" for recipe in recipes):
        wanted -= {"sweeps", "optimizers", "curves"}  # these are about HCM
    plan: list[Task] = []
    if "comparison" in wanted:
        plan += comparison(maker, places, recipes)
    if "sweeps" in wanted:
        plan += sweeps(maker, places, values=values)
    if "optimizers" in wanted:
        plan += optimizers(maker, places)
    if wanted & {"optimizers", "curves"}:
        plan += tuning(maker, places)
    if "curves" in wanted:
        plan += curves(maker, places, n_repetitions=n_curves)
    if "growth" in wanted:
        plan += growth(maker, recipes, **sizes)

    def follow_up(losses: Losses) -> list[Task]:
        tasks = tuned_optimizer(maker, places, losses, n_curves=n_curves)
        return [task for task in tasks if task.experiment in wanted]

    return Suite(name=name, plan=plan, places=places, follow_up=follow_up)


def _peers(options: Options) -> Suite:
    """Return all detectors of hopsight, PyGOD and PyOD on six networks, by the protocol of the comparison."""
    places = [_place(name, options) for name in options.networks or PEER_NETWORKS]
    recipes = chosen_recipes((*RECIPES, *peer_names()), options.detectors)
    plan = comparison(Maker(device=options.device), places, recipes, raw_too=())
    return Suite(name="peers", plan=plan, places=places)


def chosen_recipes(recipes: Sequence[str], detectors: Sequence[str] | None) -> list[str]:
    """Return the named recipes, ``hcm*`` for all those of one detector; trivial scores stay, in every table.

    >>> chosen_recipes(["random", "lof", "hcm", "hcm-paper"], ["hcm"])
    ['random', 'hcm']
    >>> chosen_recipes(["random", "lof", "hcm", "hcm-paper"], ["hcm*"])
    ['random', 'hcm', 'hcm-paper']
    >>> chosen_recipes(["random", "lof"], ["my.module:Detector"])
    ['random', 'my.module:Detector']
    """
    if detectors is None:
        return list(recipes)
    wanted = set(detectors)
    kept = [name for name in recipes if name in TRIVIAL or wanted & {name, f"{detector_of(name)}*"}]
    return kept + [name for name in detectors if name not in kept and ":" in name]


def _place(network: str, options: Options) -> Place:
    """Return a network of the catalog as the paper uses it: 5 injections x 2 seeds, or 10 seeds."""
    if network == "generated":
        return _small_place(options)
    network = get_network(network).name
    setup = setup_of(network)
    settings = file_settings(network, options.data_dir)
    repetitions, seeds = options.repetitions or 5, options.seeds or 2
    if not setup.n_cliques:
        return Place(
            network=network,
            settings=settings,
            n_seeds=repetitions * seeds,
            n_layers=setup.n_layers,
        )
    planting = {
        "n_cliques": setup.n_cliques,
        "clique_size": setup.clique_size,
        "n_attribute": setup.n_cliques * setup.clique_size,
        "n_candidates": setup.n_candidates,
    }
    return Place(
        network=network,
        settings=settings | {"planting": planting},
        protocol=options.protocol,
        injections=range(repetitions),
        n_seeds=seeds,
        n_layers=setup.n_layers,
    )


def _small_place(options: Options) -> Place:
    settings = {
        "n_nodes": 300,
        "n_edges": 1500,
        "n_attributes": 40,
        "n_structural": 0,
        "n_attribute_anomalies": 0,
        "seed": 0,
        "planting": {"n_cliques": 2, "clique_size": 8, "n_attribute": 16, "n_candidates": 30},
    }
    return Place(
        network="generated",
        settings=settings,
        protocol=options.protocol,
        injections=range(options.repetitions or 5),
        n_seeds=options.seeds or 2,
    )
