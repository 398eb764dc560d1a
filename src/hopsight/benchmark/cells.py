"""A cell: one graph, one detector, one seed, and everything else that decides its results; and its graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import check_choice
from hopsight.datasets import inject, make_graph
from hopsight.graph import AttributedGraph
from hopsight.loading import load
from hopsight.preprocess import AttributeTransform

VIEWS = ("raw", "scaled", "reduced")
N_COMPONENTS = 20  # of the reduced view, as in the paper
PROTOCOLS = ("as found", "dominant", "hcm", "leak-free")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fit to run and measure; plain values only, so that it can be written to a file and hashed.

    A detector sees the attributes of the graph as its view says: ``"raw"``, ``"scaled"`` (standardized unless they are
    a bag of words) or ``"reduced"`` (the same, then 20 principal components).

    Examples
    --------
    >>> cell = Cell(graph="disney", detector="lof", seed=0, parameters={"n_neighbors": 20})
    >>> cell.key == Cell(graph="disney", detector="lof", seed=0, parameters={"n_neighbors": 20}).key
    True
    >>> cell.key == Cell(graph="disney", detector="lof", seed=0, parameters={"n_neighbors": 21}).key
    False
    """

    graph: str
    detector: str  # a name in DETECTORS, a trivial score, or "module:Class"
    seed: int  # of the detector
    settings: Mapping[str, Any] = field(default_factory=dict)  # its file, or arguments of its generator; its injection
    protocol: str = "as found"  # or how anomalies are planted
    injection: int | None = None  # its seed
    view: str = "raw"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # all, including those left at their default
    curve: bool = False  # whether to record the ROC-AUC of every epoch's own prediction
    version: str = field(default_factory=lambda: version("hopsight"))  # another may give other results

    def __post_init__(self) -> None:
        check_choice("view", self.view, VIEWS)
        check_choice("protocol", self.protocol, PROTOCOLS)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)

    @property
    def key(self) -> str:
        """A hash of all fields: a cell with any value changed is another cell."""
        return hashlib.sha256(canonical_json(self.as_dict()).encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Task:
    """A cell together with the experiment that needs it and the name of the row or line where it appears."""

    experiment: str
    row: str
    cell: Cell


Plan = Sequence[Task]


def unique_cells(plan: Iterable[Task]) -> list[Cell]:
    """Return every cell of a plan once, in order: experiments that need the same fit share it."""
    return list({task.cell.key: task.cell for task in plan}.values())


def canonical_json(value: Any) -> str:
    """Return a plain value as JSON that does not depend on the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def build_graph(cell: Cell, data_dir: str | None = None, folder: str | None = None) -> AttributedGraph:
    """Return the graph of a cell; the last few graphs stay in memory.

    The settings of the cell decide where the graph comes from: ``generate`` holds the arguments of the generator,
    ``load`` those of :func:`hopsight.load`, with paths relative to ``folder``; otherwise the graph is loaded from the
    catalog by its name. ``planting`` holds the arguments of :func:`hopsight.inject`.
    """
    source = (cell.graph, canonical_json(dict(cell.settings)), cell.protocol, cell.injection, data_dir, folder)
    return _planted(*source) if cell.view == "raw" else _viewed(cell.view, *source)


@lru_cache(maxsize=2)
def _planted(
    graph: str, settings_json: str, protocol: str, injection: int | None, data_dir: str | None, folder: str | None
) -> AttributedGraph:
    settings = json.loads(settings_json)
    found = _read(graph, settings, data_dir, folder)
    if "planting" not in settings:
        return found
    return inject(found, protocol=protocol, seed=injection, **settings["planting"])


def _read(graph: str, settings: dict[str, Any], data_dir: str | None, folder: str | None) -> AttributedGraph:
    if "generate" in settings:
        return make_graph(**settings["generate"])
    if "load" not in settings:
        return load(graph, data_dir=data_dir)
    arguments = dict(settings["load"])
    for name in ("source", "nodes"):
        if name in arguments:
            arguments[name] = Path(folder or ".") / arguments[name]
    return load(**arguments)


@lru_cache(maxsize=2)
def _viewed(view: str, *source: Any) -> AttributedGraph:
    graph = _planted(*source)
    transform = AttributeTransform.fit(
        graph.attributes,
        graph.attribute_names,
        scaling="auto",
        n_components=N_COMPONENTS if view == "reduced" else None,
        rng=np.random.default_rng(0),
    )
    attributes = transform.apply(graph.attributes, graph.attribute_names)
    names = graph.attribute_names if attributes.shape[1] == graph.n_attributes else None
    return replace(graph, attributes=attributes, attribute_names=names, derivation=None)
