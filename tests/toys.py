"""A graph of two groups with planted misfits, detectors with settings that make a fit quick, and refusals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numba import njit

from hopsight.detectors import DETECTORS
from hopsight.graph import AttributedGraph


def refuses(words: str, function: Callable[..., Any], *values: Any, **options: Any) -> None:
    """Call a function that must refuse in one sentence that has the words."""
    with pytest.raises(ValueError, match=words) as caught:
        function(*values, **options)
    assert "\n" not in str(caught.value)


def called(function: Any) -> Any:
    """Return what calls a function that only compiled code can call."""
    return njit(lambda *arguments: function(*arguments))


def quick(name: str, **settings: Any) -> Any:
    """Return a detector by name with the quick settings of its class."""
    return DETECTORS[name](**{**DETECTORS[name].quick, **settings})


def set_options(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as options of the command line."""
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def as_text(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as a request has them."""
    return {name: str(value) for name, value in settings.items()}


def has_field(name: str) -> list[str]:
    """Return the names of the detectors that have a hyperparameter."""
    return [key for key, kind in DETECTORS.items() if name in {field.name for field in fields(kind)}]


def two_groups(
    seed: int = 0, *, n_each: int = 40, n_misfits: int = 4, misfits: str = "bridges", directed: bool = False
) -> AttributedGraph:
    """Return two dense groups that differ in attributes, with a few misfits (the labels).

    Misfits are ``"bridges"``, with edges to both groups, or ``"strangers"``, with attributes of the other group.
    """
    rng = np.random.default_rng(seed)
    n_nodes = 2 * n_each
    group = np.repeat([0, 1], n_each)
    planted = rng.choice(n_nodes, n_misfits, replace=False)
    labels = np.zeros(n_nodes, dtype=np.int64)
    labels[planted] = 1
    shown = np.where(labels == 1, 1 - group, group) if misfits == "strangers" else group
    edges = rng.random((n_nodes, n_nodes)) < np.where(group[:, None] == group[None, :], 0.3, 0.01)
    for node in planted if misfits == "bridges" else ():
        anywhere = rng.random(n_nodes) < 0.15
        edges[node], edges[:, node] = anywhere, anywhere
    return AttributedGraph(
        edges if directed else np.triu(edges, k=1),
        rng.normal(size=(n_nodes, 5)) + 4.0 * shown[:, None] * np.array([1.0, -1.0, 1.0, 0.0, 0.0]), directed=directed,
        node_ids=[f"{seed}-{i}" for i in range(n_nodes)], attribute_names=["a", "b", "c", "d", "e"], labels=labels,
    )  # fmt: skip


def without_edges(graph: AttributedGraph, absent: Sequence[int] | np.ndarray) -> AttributedGraph:
    """Return the same graph without some of its edges."""
    fields = {name: getattr(graph, name) for name in ("node_ids", "attribute_names", "directed")}
    return AttributedGraph.from_edges(*np.delete(graph.edges, absent, axis=1), graph.attributes, **fields)


def renumbered(graph: AttributedGraph, order: np.ndarray) -> AttributedGraph:
    """Return the same graph with node ``order[p]`` at position p."""
    fields = {"attribute_names": graph.attribute_names, "directed": graph.directed}
    moved = graph.adjacency[order][:, order], graph.attributes[order]
    return AttributedGraph(*moved, node_ids=graph.node_ids[order], **fields)


def dense_propagation(graph: AttributedGraph) -> Any:
    """Return D̃^{-1/2} (A + I) D̃^{-1/2} as a dense float64 tensor, straight from its definition."""
    import torch

    loops = graph.adjacency.toarray().astype(np.float64) + np.eye(graph.n_nodes)
    degrees = loops.sum(axis=1)
    return torch.from_numpy(loops / np.sqrt(np.outer(degrees, degrees)))
