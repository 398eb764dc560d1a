"""The suites: which of the paper's studies run on which graphs, with how many repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopsight.benchmark import Options, Suite
from hopsight.benchmark.cells import Task
from hopsight.benchmark.recipes import TRIVIAL, choose_recipes, detector_of
from hopsight.benchmark.results import ResultTable, Row
from hopsight.benchmark.suites import GENERATED, SuiteGraph
from hopsight.checks import check_choice
from paper.figures import draw_figures
from paper.oracle import ADDRESS as ORACLE
from paper.paper_tables import paper_tables, peer_tables
from paper.peers import peer_recipes
from paper.setups import paper_graph
from paper.studies import Maker, comparison, curves, growth, optimizers, sweeps, tuned_optimizer, tuning

PAPER_GRAPHS = ("flickr", "blogcatalog", "acm", "amazon", "enron")
PEER_GRAPHS = ("flickr", "blogcatalog", "inj_cora", "disney", "amazon", "enron")
RECIPES = (
    *TRIVIAL, "lof", "amen", "radar", "anomalous", "dominant", "madan", ORACLE, "resgcn",
    "hcm-paper", "hcm-authors", "hcm", "cross_hcm",
)  # fmt: skip
STUDIES = ("comparison", "sweeps", "optimizers", "curves", "growth")
SUITES = ("paper", "peers", "quick")

SIZES = {"nodes": (1_000, 3_000, 10_000, 30_000, 100_000), "edges": (5, 10, 20, 40, 80), "fixed_nodes": 5_000}
QUICK_SIZES = {"nodes": (200, 400, 800), "edges": (5, 10, 20), "fixed_nodes": 400}
QUICK_VALUES = {"sweep R": (0.0, 0.2, 0.4), "sweep C": (2, 4), "sweep S": (0.3, 1.0)}


@dataclass(frozen=True, kw_only=True)
class PaperOptions(Options):
    """The options of every suite, and which studies to run."""

    experiments: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for experiment in self.experiments or ():
            check_choice("experiments", experiment, STUDIES)


@dataclass(frozen=True, kw_only=True)
class PaperSuite(Suite):
    """A suite with its own tables and figures, and with tasks that depend on the losses at the end of the others."""

    tables: Callable[[Sequence[Row]], list[ResultTable]]
    figures: Callable[[Path, Sequence[Row]], list[tuple[str, str, Path]]] = draw_figures
    follow_up: Callable[[Mapping[str, float]], list[Task]] = lambda losses: []


def make_paper_suite(name: str, options: PaperOptions) -> PaperSuite:
    """Return a suite: ``paper``, ``peers``, or ``quick``, the paper's studies on a small graph."""
    check_choice("suite", name, SUITES)
    return {"paper": _paper, "peers": _peers, "quick": _quick}[name](options)


def _paper(options: PaperOptions) -> PaperSuite:
    graphs = _graphs(options, PAPER_GRAPHS, 5, 2)
    return _studies("paper", options, Maker(device=options.device), graphs, sizes=SIZES)


def _quick(options: PaperOptions) -> PaperSuite:
    graphs = _graphs(options, (GENERATED,), 2, 1)
    maker = Maker(device=options.device, quick=True)
    return _studies("quick", options, maker, graphs, sizes=QUICK_SIZES, values=QUICK_VALUES, n_curves=3)


def _peers(options: PaperOptions) -> PaperSuite:
    """Return all detectors of hopsight, PyGOD and PyOD on six graphs, by the protocol of the comparison."""
    graphs = _graphs(options, PEER_GRAPHS, 5, 2)
    recipes = choose_recipes((*RECIPES, *peer_recipes()), options.detectors)
    plan = comparison(Maker(device=options.device), graphs, recipes, raw_too=())
    return PaperSuite(name="peers", plan=plan, tables=peer_tables, data_dir=options.data_dir)


def _graphs(options: PaperOptions, names: Sequence[str], repetitions: int, seeds: int) -> list[SuiteGraph]:
    repetitions, seeds = options.repetitions or repetitions, options.seeds or seeds
    return [paper_graph(name, options, repetitions, seeds) for name in options.graphs or names]


def _studies(
    name: str,
    options: PaperOptions,
    maker: Maker,
    graphs: Sequence[SuiteGraph],
    *,
    sizes: Mapping[str, Any],
    values: Mapping[str, Sequence[float]] | None = None,
    n_curves: int = 10,
) -> PaperSuite:
    recipes = choose_recipes(RECIPES, options.detectors)
    wanted = set(options.experiments or STUDIES)
    if not any(detector_of(recipe) == "hcm" for recipe in recipes):
        wanted -= {"sweeps", "optimizers", "curves"}  # these are about HCM
    plan: list[Task] = []
    if "comparison" in wanted:
        plan += comparison(maker, graphs, recipes)
    if "sweeps" in wanted:
        plan += sweeps(maker, graphs, values=values)
    if "optimizers" in wanted:
        plan += optimizers(maker, graphs)
    if wanted & {"optimizers", "curves"}:
        plan += tuning(maker, graphs)
    if "curves" in wanted:
        plan += curves(maker, graphs, n_repetitions=n_curves)
    if "growth" in wanted:
        plan += growth(maker, recipes, **sizes)

    def follow_up(losses: Mapping[str, float]) -> list[Task]:
        tasks = tuned_optimizer(maker, graphs, losses, n_curves=n_curves)
        return [task for task in tasks if task.experiment in wanted]

    return PaperSuite(
        name=name,
        plan=plan,
        follow_up=follow_up,
        tables=paper_tables,
        data_dir=options.data_dir,
    )
