"""The graph of a cell: read or generated, anomalies planted, attributes as its view says."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.benchmark.cells import Cell, canonical_json
from hopsight.datasets import inject, make_graph
from hopsight.graph import AttributedGraph
from hopsight.loading import load
from hopsight.preprocess import AttributeTransform

N_COMPONENTS = 20  # of the reduced view, as in the paper


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
    return replace(graph, attributes=attributes, attribute_names=names)
