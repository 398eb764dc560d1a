"""How the paper uses each graph."""

from __future__ import annotations

from dataclasses import dataclass

from hopsight.benchmark.suites import (
    GENERATED,
    Options,
    SuiteGraph,
    catalog_settings,
    injected_graph,
    named_graph,
    small_graph,
)
from hopsight.datasets import get_entry


@dataclass(frozen=True)
class Setup:
    """How the paper uses a graph."""

    title: str
    n_layers: int = 2  # convolutions of HCM on this graph
    n_cliques: int = 0  # 0: anomalies as found
    clique_size: int = 15
    n_candidates: int = 50


SETUPS = {
    "flickr": Setup("Flickr", n_cliques=15),
    "blogcatalog": Setup("BlogCatalog", n_cliques=10),
    "acm": Setup("ACM", n_cliques=20),
    "amazon": Setup("Amazon", n_layers=4),
    "enron": Setup("Enron", n_layers=4),
    "inj_cora": Setup("inj_cora"),
    "disney": Setup("Disney", n_layers=4),
    GENERATED: Setup("generated"),
}


def setup_of(graph: str) -> Setup:
    """Return how a graph is used; one that the paper does not have is taken as found, with 2 convolutions."""
    return SETUPS.get(graph) or Setup(get_entry(graph).name)


def paper_graph(name: str, options: Options, repetitions: int, seeds: int) -> SuiteGraph:
    """Return a graph as the paper uses it: several injections with several seeds each, or as many seeds in all."""
    if name == GENERATED:
        return small_graph(options, repetitions, seeds)
    name = get_entry(name).name
    setup = setup_of(name)
    if not setup.n_cliques:
        return named_graph(name, options, repetitions, seeds)
    planting = {
        "n_cliques": setup.n_cliques,
        "clique_size": setup.clique_size,
        "n_attribute": setup.n_cliques * setup.clique_size,
        "n_candidates": setup.n_candidates,
    }
    settings = catalog_settings(name, options.data_dir)
    return injected_graph(name, settings, planting, options, repetitions, seeds)
