"""The graphs of the comparison, their injections, and the views of their attributes that detectors see."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FIXED_VIEW = "20"  # principal components, as in the paper; every detector sees it on every graph
VIEWS = ("20", "256", "raw")
SMALL = 6_000  # nodes; graphs up to this size have all three views


@dataclass(frozen=True)
class Graph:
    """A graph of the comparison.

    Parameters
    ----------
    file
        Name of its file in the catalog's folder, without suffix.
    nodes, attributes
        Its size, which decides what views it has.
    n_cliques
        Cliques of 15 to plant, and 15 attribute anomalies for each; 0: anomalies as found.
    protocol
        How anomalies are planted.
    reserved
        Whether its labels helped to choose nothing.
    """

    file: str
    nodes: int
    attributes: int
    n_cliques: int = 0
    protocol: str = "as found"
    reserved: bool = False

    @property
    def views(self) -> tuple[str, ...]:
        """The different views of this graph: with few columns, components are the columns themselves."""
        if self.nodes > SMALL:
            return (FIXED_VIEW,)
        return ("20", "raw") if self.attributes <= int(FIXED_VIEW) else VIEWS


GRAPHS = {
    "BlogCatalog": Graph("BlogCatalog", 5_196, 8_189, 10, "dominant"),
    "Flickr": Graph("Flickr", 7_575, 12_047, 15, "dominant"),
    "BlogCatalog, leak-free": Graph("BlogCatalog", 5_196, 8_189, 10, "leak-free"),
    "Flickr, leak-free": Graph("Flickr", 7_575, 12_047, 15, "leak-free"),
    "inj_cora": Graph("inj_cora", 2_708, 1_433),
    "amazon_fraud": Graph("amazon_fraud", 10_224, 25),
    "Amazon (books)": Graph("Amazon", 1_418, 21),
    "Disney": Graph("Disney", 124, 28),
    "Enron": Graph("Enron", 13_533, 18),
    "tolokers": Graph("tolokers", 11_758, 10, reserved=True),
    "bitcoin_alpha": Graph("bitcoin_alpha", 3_783, 7, reserved=True),
    "Enron (BOND)": Graph("enron_bond", 13_533, 18, reserved=True),
    "gen_1000": Graph("gen_1000", 1_000, 64, reserved=True),
}


def prepared_file(folder: Path, graph: str, injection: int, view: str) -> Path:
    """Return where a view of an injected graph is kept during a run."""
    return folder / f"{graph}-{injection}-{view}.pickle"


def prepare(job: dict[str, Any]) -> None:
    """Plant the anomalies of one injection, make the views, and write them for all workers."""
    from hopsight.datasets import inject
    from hopsight.loading import load

    name, injection, folder = job["graph"], job["injection"], Path(job["folder"])
    kind = GRAPHS[name]
    data = Path(os.environ.get("HOPSIGHT_DATA", ROOT.parent / "shared" / "data"))
    graph = load(data / f"{kind.file}.mat")
    if kind.n_cliques:
        planting = {"n_cliques": kind.n_cliques, "clique_size": 15, "n_attribute": 15 * kind.n_cliques}
        graph = inject(graph, **planting, protocol=kind.protocol, seed=injection)
    for view in dict.fromkeys((*kind.views, *job["views"])):
        file = prepared_file(folder, name, injection, view)
        part = file.with_suffix(".part")
        part.write_bytes(pickle.dumps(viewed(graph, view)))
        part.rename(file)


def viewed(graph: Any, view: str) -> Any:
    """Return the graph with its attributes as a view has them.

    ``"raw"`` leaves them as published. Otherwise columns are standardized unless they are a bag of words, and projected
    on that number of principal components if there are more columns.
    """
    from hopsight.preprocess import AttributeTransform

    if view == "raw":
        return graph
    _, attributes = AttributeTransform.fit_apply(
        graph.attributes, graph.attribute_names, n_components=int(view), rng=np.random.default_rng(0)
    )
    names = graph.attribute_names if attributes.shape[1] == graph.n_attributes else None
    return replace(graph, attributes=attributes, attribute_names=names)
