"""The networks of the experiments: how each is made, and the graph a cell's detector is given."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hopsight.benchmark.cells import Cell, canonical_json
from hopsight.datasets import find, get_network, inject, make_network
from hopsight.graph import AttributedGraph
from hopsight.load import load
from hopsight.preprocess import AttributeTransform

N_COMPONENTS = 20  # of the reduced view, as in the paper


@dataclass(frozen=True)
class Setup:
    """How the paper uses a network."""

    title: str
    n_layers: int  # convolutions of its HCM there
    n_cliques: int = 0  # 0: anomalies as found
    clique_size: int = 15
    n_candidates: int = 50


SETUPS = {
    "flickr": Setup("Flickr", 2, n_cliques=15),
    "blogcatalog": Setup("BlogCatalog", 2, n_cliques=10),
    "acm": Setup("ACM", 2, n_cliques=20),
    "amazon": Setup("Amazon", 4),
    "enron": Setup("Enron", 4),
    "inj_cora": Setup("inj_cora", 2),
    "disney": Setup("Disney", 4),
    "generated": Setup("generated", 2),
}


def setup_of(network: str) -> Setup:
    """Return how a network is used; one the paper does not have is taken as found, with 2 convolutions."""
    return SETUPS.get(network) or Setup(get_network(network).name, 2)


def file_settings(network: str, data_dir: str | None) -> dict[str, Any]:
    """Return the checksum of a network's file, or ``{"missing": reason}`` where there is none.

    The checksum is part of a cell: another file under the same name is another cell.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once, where the network is loaded
        try:
            file = find(network, data_dir)
        except ValueError as error:
            return {"missing": str(error)}
    return {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}


def build_graph(cell: Cell, data_dir: str | None) -> AttributedGraph:
    """Return the network of a cell, anomalies planted, attributes as its view says; the last few are kept."""
    settings = canonical_json(dict(cell.settings))
    if cell.view == "raw":
        return _network(cell.network, settings, cell.protocol, cell.injection, data_dir)
    return _viewed(cell.network, settings, cell.protocol, cell.injection, data_dir, cell.view)


@lru_cache(maxsize=2)
def _network(
    network: str, settings_json: str, protocol: str, injection: int | None, data_dir: str | None
) -> AttributedGraph:
    settings = json.loads(settings_json)
    planting = settings.pop("planting", None)
    settings.pop("sha256", None)
    graph = make_network(**settings) if network == "generated" else load(network, data_dir=data_dir)
    if planting is None:
        return graph
    return inject(graph, protocol=protocol, seed=injection, **planting)


@lru_cache(maxsize=2)
def _viewed(
    network: str, settings_json: str, protocol: str, injection: int | None, data_dir: str | None, view: str
) -> AttributedGraph:
    graph = _network(network, settings_json, protocol, injection, data_dir)
    transform = AttributeTransform.fit(
        graph.attributes,
        graph.attribute_names,
        scaling="auto",
        n_components=N_COMPONENTS if view == "reduced" else None,
        rng=np.random.default_rng(0),
    )
    attributes = transform.apply(graph.attributes, graph.attribute_names)
    names = graph.attribute_names if attributes.shape[1] == graph.n_attributes else None
    return AttributedGraph(
        graph.adjacency,
        attributes,
        node_ids=graph.node_ids,
        attribute_names=names,
        labels=graph.labels,
        kinds=graph.kinds,
        directed=graph.directed,
        name=graph.name,
    )
