"""Recipes: a detector with all its parameters, so that a changed default is a new cell.

A recipe is written as the name of a detector (``"lof"``), a detector and one of its presets (``"hcm-paper"``), the
address of any class with the same contract (``"module:Class"``), or a trivial score (``"degree"``), which uses next to
nothing of the graph: every detector must beat it, because planted anomalies leak. What a table needs to know about a
detector comes from its class: ``deterministic``, ``presets``, ``quick``, and for classes outside the registry
optionally ``title`` and ``uses_labels``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import check_choice
from hopsight.detectors import DETECTORS, get_detector
from hopsight.detectors.registry import load_class
from hopsight.graph import AttributedGraph
from hopsight.system.arrays import plain


def random_score(graph: AttributedGraph, seed: int) -> NDArray[np.float64]:
    """Return a random number per node."""
    return np.random.default_rng(seed).random(graph.n_nodes)


def degree(graph: AttributedGraph, seed: int) -> NDArray[np.float64]:
    """Return the number of edges of each node: members of a planted clique gain edges.

    >>> degree(AttributedGraph.from_edges([0, 1], [1, 2], np.eye(3)), seed=0).tolist()
    [1.0, 2.0, 1.0]
    """
    return graph.degrees.astype(np.float64)


def attribute_norm(graph: AttributedGraph, seed: int) -> NDArray[np.float64]:
    """Return the norm of each node's attributes: the farthest of 50 candidates tends to have many words.

    >>> attribute_norm(AttributedGraph.from_edges([0], [1], np.array([[3.0, 4.0], [0.0, 1.0]])), seed=0).tolist()
    [5.0, 1.0]
    """
    X = graph.attributes
    scale = float(abs(X).max()) or 1.0  # squares of 1e200 would overflow
    scaled = X.astype(np.float64) / scale
    squares = scaled.multiply(scaled) if sp.issparse(scaled) else scaled * scaled
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()) * scale)


RANDOM = "random"

TRIVIAL: Mapping[str, Callable[[AttributedGraph, int], NDArray[np.float64]]] = MappingProxyType(
    {RANDOM: random_score, "degree": degree, "attribute_norm": attribute_norm}
)


def detector_class(name: str) -> Any:
    """Return the class behind the name of a detector or behind ``"module:Class"``."""
    return load_class(name) if ":" in name else get_detector(name)


def detector_of(recipe: str) -> str:
    """Return the detector of a recipe.

    >>> detector_of("hcm-authors"), detector_of("lof")
    ('hcm', 'lof')
    """
    return recipe.partition("-")[0]


def all_recipes() -> list[str]:
    """Return the trivial scores and every registered detector, each followed by its presets."""
    return [*TRIVIAL, *(recipe for name in DETECTORS for recipe in with_presets(name))]


def with_presets(detector: str) -> list[str]:
    """Return a detector's recipe and those of its presets.

    >>> with_presets("hcm")
    ['hcm', 'hcm-paper', 'hcm-authors']
    """
    return [detector, *(f"{detector}-{preset}" for preset in DETECTORS[detector].presets)]


def choose_recipes(recipes: Sequence[str], names: Sequence[str] | None) -> list[str]:
    """Return the named recipes, ``"hcm*"`` for all those of one detector; trivial scores stay in every table.

    >>> choose_recipes(["random", "lof", "hcm", "hcm-paper"], ["hcm"])
    ['random', 'hcm']
    >>> choose_recipes(["random", "lof", "hcm", "hcm-paper"], ["hcm*"])
    ['random', 'hcm', 'hcm-paper']
    >>> choose_recipes(["random", "lof"], ["my.module:Detector"])
    ['random', 'my.module:Detector']
    """
    if names is None:
        return list(recipes)
    check_recipes(names)
    wanted = set(names)
    kept = [name for name in recipes if name in TRIVIAL or wanted & {name, f"{detector_of(name)}*"}]
    return kept + [name for name in names if name not in kept and ":" in name]


def check_recipes(names: Iterable[str]) -> None:
    """Refuse a recipe that does not exist; the class behind an address is looked up only when its cell runs."""
    for name in names:
        if ":" not in name and name not in TRIVIAL:
            detector = detector_of(name).removesuffix("*")
            check_choice("detectors", detector, [*TRIVIAL, *DETECTORS])
            check_choice("detectors", name, [f"{detector}*", *with_presets(detector)])


def title_of(recipe: str) -> str:
    """Return the name of a recipe in tables.

    >>> title_of("hcm-paper"), title_of("attribute_norm")
    ('HCM (paper)', 'attribute norm')
    """
    if recipe in TRIVIAL:
        return recipe.replace("_", " ")
    name, _, preset = recipe.partition("-")
    title = str(fact(name, "title", name if ":" in name else detector_class(name).__name__))
    return f"{title} ({preset})" if preset else title


def is_deterministic(recipe: str) -> bool:
    """Return whether the seed of a recipe changes nothing."""
    return recipe != RANDOM if recipe in TRIVIAL else bool(fact(detector_of(recipe), "deterministic", False))


def fact(detector: str, name: str, otherwise: Any) -> Any:
    """Return a fact about a detector's class; one that cannot be imported has none, and its cells fail later."""
    try:
        return getattr(detector_class(detector), name, otherwise)
    except (ImportError, AttributeError):
        return otherwise


def parameters_of(
    recipe: str, changes: Mapping[str, Any], *, device: str = "auto", quick: bool = False
) -> dict[str, Any]:
    """Return every parameter of a recipe except the seed, as plain values.

    Of the changes, those that the detector does not have are left out. ``quick`` says whether to start from the
    settings that make a fit on a small graph quick.
    """
    if recipe in TRIVIAL:
        return {}
    name, _, preset = recipe.partition("-")
    try:
        cls = detector_class(name)
    except (ImportError, AttributeError):
        return dict(changes)  # its cell fails with the reason
    known = {entry.name for entry in fields(cls) if entry.init}
    values = (dict(getattr(cls, "quick", {})) if quick else {}) | dict(changes) | {"device": device}
    model = (getattr(cls, preset) if preset else cls)(**{key: values[key] for key in values if key in known})
    return {key: plain(getattr(model, key)) for key in sorted(known - {"seed"})}


def from_plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters that were read from JSON as a detector takes them: its sequences are tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
