"""The paper's studies as lists of tasks: comparison, sweeps, optimizers, growth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hopsight.benchmark.cells import Cell, Task
from hopsight.benchmark.recipes import TRIVIAL, detector_of, parameters_of, title_of
from hopsight.benchmark.suites import GENERATED, SuiteGraph
from paper.oracle import ADDRESS as ORACLE
from paper.setups import setup_of

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
    "SGLD, preconditioned, temperature .001": {},
    "SGLD, preconditioned, temperature 1": {"temperature": 1.0},  # the paper's own, with this prior it diffuses
    "the same without noise": {"temperature": 0.0},
    "SGLD, plain, rate .01, temperature 1": {"optimizer": "sgld", "lr": 0.01, "lr_decay": 0.0, "temperature": 1.0},
    "SGD, rate .01": _sgd(0.01),
}
RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
IN_CURVES = ("SGLD, preconditioned, temperature .001", "the same without noise", "SGD, rate .01")

RAW_TOO = frozenset({"lof", "amen", "radar", "dominant", "madan", "resgcn"})  # feasible on thousands of columns
SEE_COMPONENTS = ("hcm", "dominant", "resgcn")  # have parameters to reduce attributes, which is already done
PEERS = ("paper.pygod:", "paper.pyod:")


@dataclass(frozen=True, kw_only=True)
class Maker:
    """Makes cells: the parameters that every fit of a suite shares, and where fits run."""

    device: str = "auto"
    quick: bool = False

    def cell(
        self,
        graph: SuiteGraph,
        recipe: str,
        *,
        injection: int | None,
        seed: int,
        changes: Mapping[str, Any] | None = None,
        view: str | None = None,
        curve: bool = False,
    ) -> Cell:
        """Return one cell; the view is the usual one of the recipe when left out."""
        view = view or usual_view(recipe, graph.injected)
        fixed: dict[str, Any] = {}
        if recipe in ("hcm-paper", "hcm-authors"):
            fixed["n_layers"] = setup_of(graph.name).n_layers
        if view == "reduced" and detector_of(recipe) in SEE_COMPONENTS:
            fixed |= {"scaling": "none", "n_components": None}
        if recipe == "lof" and not graph.injected:
            fixed["scaling"] = "auto"  # otherwise one column in large units would decide alone
        parameters = parameters_of(recipe, fixed | dict(changes or {}), device=self.device, quick=self.quick)
        return graph.cell(recipe, parameters, injection=injection, view=view, seed=seed, curve=curve)


def usual_view(recipe: str, injected: bool) -> str:
    """Return which attributes a recipe sees.

    On injected graphs all detectors of the paper see the same 20 components. Elsewhere our detectors scale for
    themselves, and peers, which do not, get standardized columns. Trivial scores use the raw graph.

    >>> usual_view("dominant", True), usual_view("dominant", False), usual_view("paper.pygod:DOMINANT", False)
    ('reduced', 'raw', 'scaled')
    """
    if recipe in TRIVIAL or recipe in ("hcm", "cross_hcm"):
        return "raw"
    if injected:
        return "reduced"
    return "scaled" if recipe.startswith(PEERS) else "raw"


def comparison(
    maker: Maker, graphs: Sequence[SuiteGraph], recipes: Sequence[str], *, raw_too: Collection[str] = RAW_TOO
) -> list[Task]:
    """Table 1: every detector on every graph; on injected ones also with raw attributes where feasible."""
    tasks = []
    for graph in graphs:
        for recipe in recipes:
            views = ["raw"] if graph.injected and recipe in raw_too and not graph.missing else []
            for view in [None, *views]:
                for injection, seed in graph.repetitions(recipe):
                    cell = maker.cell(graph, recipe, injection=injection, seed=seed, view=view)
                    tasks.append(Task("comparison", title_of(recipe), cell))
    return tasks


def sweeps(
    maker: Maker,
    graphs: Sequence[SuiteGraph],
    *,
    n_injections: int = 3,
    values: Mapping[str, Sequence[float]] | None = None,
) -> list[Task]:
    """Vary R, C and S in turn, with the other two fixed, on injected graphs; one seed per injection."""
    tasks = []
    for graph in _injected(graphs):
        for name, (parameter, held, all_values) in SWEEPS.items():
            for value in (values or {}).get(name, all_values):
                for injection in graph.injections[:n_injections]:
                    changes = held | {parameter: value}
                    cell = maker.cell(graph, "hcm-paper", injection=injection, seed=0, changes=changes)
                    tasks.append(Task(name, f"{value:g}", cell))
    return tasks


def optimizers(maker: Maker, graphs: Sequence[SuiteGraph]) -> list[Task]:
    """Compare SGLD, SGD and the same step without noise, by the protocol of the comparison."""
    tasks = []
    for graph in _injected(graphs):
        for row, changes in OPTIMIZERS.items():
            tasks += _optimizer_tasks(maker, graph, row, changes)
    return tasks


def tuning(maker: Maker, graphs: Sequence[SuiteGraph]) -> list[Task]:
    """Run SGD at several rates, one fit each on the first injection; the losses decide, labels are not used."""
    tasks = []
    for graph in _injected(graphs):
        for rate in RATES:
            cell = maker.cell(graph, "hcm-paper", injection=graph.injections[0], seed=0, changes=_sgd(rate))
            tasks.append(Task("tuning", f"{rate:g}", cell))
    return tasks


def tuned_optimizer(
    maker: Maker, graphs: Sequence[SuiteGraph], loss_of: Mapping[str, float], *, n_curves: int
) -> list[Task]:
    """Run SGD at the rate with the lowest final loss on each graph; ``loss_of`` has the losses of the tuning cells."""
    tasks = []
    for graph in _injected(graphs):
        tried = [task.cell for task in tuning(maker, [graph]) if task.cell.key in loss_of]
        if tried:
            best = min(tried, key=lambda cell: loss_of[cell.key])
            changes = _sgd(best.parameters["lr"])
            tasks += _optimizer_tasks(maker, graph, TUNED, changes)
            tasks += _curve_tasks(maker, graph, TUNED, changes, n_curves)
    return tasks


def curves(maker: Maker, graphs: Sequence[SuiteGraph], *, n_repetitions: int = 10) -> list[Task]:
    """Record the ROC-AUC of every epoch's own prediction, repeated with other seeds on the first injection."""
    tasks = []
    for graph in _injected(graphs):
        for row in IN_CURVES:
            tasks += _curve_tasks(maker, graph, row, OPTIMIZERS[row], n_repetitions)
    return tasks


def growth(
    maker: Maker, recipes: Sequence[str], *, nodes: Sequence[int], edges: Sequence[int], fixed_nodes: int
) -> list[Task]:
    """Measure time and memory on generated graphs: more nodes with 10 edges each, more edges with the same nodes."""
    tasks = []
    timed = [recipe for recipe in recipes if recipe not in TRIVIAL and recipe not in (ORACLE, "hcm-authors")]
    sizes = [("growth nodes", n, 10) for n in nodes] + [("growth edges", fixed_nodes, k) for k in edges]
    for experiment, n_nodes, n_edges in sizes:
        generate = {"n_nodes": n_nodes, "n_edges": n_edges * n_nodes, "n_attributes": 20, "seed": 0}
        graph = SuiteGraph(name=GENERATED, settings={"generate": generate})
        for recipe in timed:
            cell = maker.cell(graph, recipe, injection=None, seed=0)
            tasks.append(Task(experiment, title_of(recipe), cell))
    return tasks


def _injected(graphs: Iterable[SuiteGraph]) -> list[SuiteGraph]:
    return [graph for graph in graphs if graph.injected and not graph.missing]


def _optimizer_tasks(maker: Maker, graph: SuiteGraph, row: str, changes: Mapping[str, Any]) -> list[Task]:
    return [
        Task("optimizers", row, maker.cell(graph, "hcm-paper", injection=injection, seed=seed, changes=changes))
        for injection, seed in graph.repetitions("hcm-paper")
    ]


def _curve_tasks(maker: Maker, graph: SuiteGraph, row: str, changes: Mapping[str, Any], n: int) -> list[Task]:
    first = graph.injections[0]
    return [
        Task("curves", row, maker.cell(graph, "hcm-paper", injection=first, seed=seed, changes=changes, curve=True))
        for seed in range(n)
    ]
