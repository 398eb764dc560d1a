"""Every cell of the comparison and of the paper's experiments, the most important first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from fair.graphs import FIXED_VIEW, GRAPHS
from hopsight.benchmark.recipes import is_deterministic

Cell = dict[str, Any]

REPETITIONS = 5
LIMIT = 100.0  # seconds per fit
TRIVIAL = ("random", "degree", "attribute_norm", "fair.trivial:DistanceFromMean")
NO_MODEL = "fair.trivial:NoModel"
OURS = ("cross_hcm", "hcm", "dominant", "lof", "amen", "radar", "anomalous", "resgcn", "madan")
OWN = {
    "hcm": "ahp",
    "hcm-paper": "hav",
    "hcm-authors": "ahp",
}  # which of a detector's rankings is its score; others: "score"
PYGOD = (
    "DOMINANT", "AdONE", "DONE", "CONAD", "GAE", "AnomalyDAE", "Radar", "ANOMALOUS", "CoLA", "OCGNN", "ONE", "GAAN",
    "GADNR", "SCAN", "DMGD", "GUIDE",
)  # fmt: skip
PYOD = ("DOMINANT", "CONAD", "AnomalyDAE", "CoLA", "SCAN", "Radar", "ANOMALOUS", "GUIDE")
PEERS = (*(f"paper.pygod:{name}" for name in PYGOD), *(f"paper.pyod:{name}" for name in PYOD))
DETECTORS = (*TRIVIAL, NO_MODEL, *OURS, *PEERS)

ON_CPU = {
    *TRIVIAL, "lof", "amen", "radar", "anomalous",
    "paper.pygod:SCAN", "paper.pygod:DMGD",  # DMGD and PyOD's GUIDE fail on a GPU
    "paper.pyod:SCAN", "paper.pyod:Radar", "paper.pyod:ANOMALOUS", "paper.pyod:GUIDE",
}  # fmt: skip
# Detectors that need minutes above a number of nodes; these cells come last.
SLOW = {
    "paper.pygod:GUIDE": 1_500, "paper.pygod:SCAN": 3_000, "paper.pygod:DMGD": 3_000, "paper.pyod:GUIDE": 3_000,
    "paper.pyod:Radar": 1_500, "paper.pyod:ANOMALOUS": 1_500, "paper.pygod:CONAD": 9_000,
}  # fmt: skip
SAME_SIZE = {"BlogCatalog, leak-free": "BlogCatalog", "Flickr, leak-free": "Flickr", "Enron (BOND)": "Enron"}

PAPER_GRAPHS = {"Flickr": 2, "BlogCatalog": 2, "Amazon (books)": 4, "Enron": 4}  # and the layers that the paper uses
SWEPT = ("BlogCatalog", "Flickr")
HELD = {"drop_ratio": 0.2, "n_classes": 5, "sampling_ratio": 0.3}
SWEEPS = {
    "R": ("drop_ratio", (0.0, 0.1, 0.2, 0.3, 0.5)),
    "C": ("n_classes", (2, 3, 4, 5, 6, 7)),
    "S": ("sampling_ratio", (0.1, 0.3, 0.6, 1.0)),
}
SGD = {"optimizer": "sgd", "lr_decay": 0.0}
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGLD, preconditioned, temperature .001": {},
    "SGLD, preconditioned, temperature 1": {"temperature": 1.0},
    "the same step without noise": {"temperature": 0.0},
    "SGLD, plain, rate .01, temperature 1": {"optimizer": "sgld", "lr": 0.01, "lr_decay": 0.0, "temperature": 1.0},
    "SGD, rate .01": SGD | {"lr": 0.01},
    "SGD, rate .3": SGD | {"lr": 0.3},
    "SGD, rate 1": SGD | {"lr": 1.0},
}
GROWTH = (1_000, 3_000, 10_000, 30_000)
GROWING = ("lof", "amen", "radar", "anomalous", "dominant", "resgcn", "hcm", "cross_hcm", "madan")


def cell(experiment: str, graph: str, detector: str, injection: int, seed: int, **others: Any) -> Cell:
    """Return one cell: plain values only."""
    usual = {"view": FIXED_VIEW, "changes": {}, "row": detector, "curve": False, "limit": LIMIT}
    made = {"experiment": experiment, "graph": graph, "detector": detector, "injection": injection, "seed": seed}
    device = "cpu" if detector in ON_CPU or experiment == "growth" else "cuda"
    return made | usual | {"device": device} | others


def key(one: Cell) -> str:
    """Return what a cell is found by in a journal: all that decides its result, not where or how long it may run."""
    names = ("experiment", "graph", "detector", "injection", "seed", "view", "changes")
    return json.dumps([one[name] for name in names], sort_keys=True)


def group(one: Cell) -> str:
    """Return what repetitions of one cell share: if the first runs out of time, the others are not run."""
    graph = SAME_SIZE.get(one["graph"], one["graph"])
    return json.dumps([one["experiment"], graph, one["detector"], one["view"], one["row"]])


def all_cells() -> list[Cell]:
    """Return every cell once, in the order in which to run them."""
    compared = list(comparison())
    slow = [one for one in compared if is_slow(one)]
    quick = [one for one in compared if not is_slow(one)]
    fixed = [one for one in quick if one["view"] == FIXED_VIEW]
    views = [one for one in quick if one["view"] != FIXED_VIEW]
    paper = [*table1(), *optimizers(), *sweeps()]
    slow = sorted(slow, key=lambda one: (one["view"] != FIXED_VIEW, one["graph"] in SAME_SIZE))
    ordered = [*fixed, *interleaved(views, paper), *growth(), *slow]
    return list({key(one): one for one in ordered}.values())


def comparison() -> Iterator[Cell]:
    """Yield all detectors on all graphs: round after round of repetitions, trivial scores and small graphs first."""
    for view in ("20", "raw", "256"):
        for number in range(REPETITIONS):
            for detector in DETECTORS:
                for name, graph in GRAPHS.items():
                    if view in graph.views and number < repetitions(detector, name):
                        injection, seed = (number, number) if graph.n_cliques else (0, number)
                        yield cell("comparison", name, detector, injection, seed, view=view)


def repetitions(detector: str, graph: str) -> int:
    """Return how often a detector is run on a graph: once if neither the seed nor an injection changes anything."""
    return REPETITIONS if GRAPHS[graph].n_cliques or not deterministic(detector) else 1


def deterministic(detector: str) -> bool:
    """Return whether the seed changes nothing; peers do not say so, and are repeated unless known."""
    return detector in ("paper.pyod:SCAN", "paper.pygod:SCAN") or is_deterministic(detector)


def is_slow(one: Cell) -> bool:
    """Return whether a cell is expected to take minutes."""
    return GRAPHS[one["graph"]].nodes > SLOW.get(one["detector"], 10**9)


def table1() -> Iterator[Cell]:
    """Yield HCM as the paper uses it on each of its graphs, both scores in each cell."""
    for number in range(REPETITIONS):
        for name, layers in PAPER_GRAPHS.items():
            for recipe in ("hcm-paper", "hcm-authors"):
                yield paper_cell("table1", name, recipe, number, {"n_layers": layers})


def optimizers() -> Iterator[Cell]:
    """Yield the paper's HCM with several optimizers; every epoch's own ROC-AUC is kept for the curves."""
    for number in range(REPETITIONS):
        for row, changes in OPTIMIZERS.items():
            for name in SWEPT:
                yield paper_cell("optimizers", name, "hcm-paper", number, changes, row=row, curve=True)


def sweeps() -> Iterator[Cell]:
    """Yield the paper's HCM with one of R, C and S varied; the cell with the held values serves all three."""
    for number in range(REPETITIONS):
        for letter, (parameter, values) in SWEEPS.items():
            for value in values:
                for name in SWEPT:
                    changes = HELD | {parameter: value}
                    yield paper_cell("sweep", name, "hcm-paper", number, changes, row=f"{letter} = {value:g}")


def paper_cell(experiment: str, name: str, recipe: str, number: int, changes: dict[str, Any], **others: Any) -> Cell:
    """Return a cell of HCM; on injected graphs it sees the 20 components as they are, as in the paper."""
    injected = bool(GRAPHS[name].n_cliques)
    if injected:
        changes = {"scaling": "none", "n_components": None} | changes
    view = FIXED_VIEW if injected else "raw"
    injection = number if injected else 0
    others = {"row": recipe} | others
    return cell(experiment, name, recipe, injection, number, view=view, changes=changes, **others)


def growth() -> Iterator[Cell]:
    """Yield fits to generated graphs of growing size, on one thread; MADAN's exact kernels stop at 3,000 nodes."""
    for number in range(REPETITIONS):
        for nodes in GROWTH:
            for detector in GROWING:
                if detector != "madan" or nodes <= 3_000:
                    yield cell("growth", f"{nodes} nodes", detector, 0, number, view="raw", generate=nodes)


def interleaved(first: Sequence[Cell], second: Sequence[Cell]) -> Iterator[Cell]:
    """Yield two lists in proportion to their lengths, so that a run cut short has some of both."""
    numbered = [((place + 0.5) / len(part), one) for part in (first, second) for place, one in enumerate(part)]
    for _, one in sorted(numbered, key=lambda pair: pair[0]):
        yield one
