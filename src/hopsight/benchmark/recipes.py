"""Detectors as the experiments use them: every parameter spelled out, so that a changed default is a new cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hopsight.benchmark.peers import is_peer, peer_defaults
from hopsight.benchmark.trivial import TRIVIAL
from hopsight.benchmark.worker import load_object
from hopsight.detectors import get_detector

ORACLE = "madan_oracle"

DETERMINISTIC = frozenset({"degree", "attribute_norm", "lof", "amen", "radar", "anomalous", "madan", ORACLE})

TITLES = {
    "random": "random",
    "degree": "degree",
    "attribute_norm": "attribute norm",
    "lof": "LOF",
    "amen": "AMEN",
    "radar": "Radar",
    "anomalous": "ANOMALOUS",
    "dominant": "DOMINANT",
    "madan": "MADAN",
    ORACLE: "MADAN, best t by the labels",
    "resgcn": "ResGCN",
    "hcm": "HCM",
    "hcm-paper": "HCM (paper)",
    "hcm-authors": "HCM (authors)",
    "cross_hcm": "CrossHCM",
}


def detector_class(name: str) -> Any:
    """Return the class behind a detector name, or behind ``"module:Class"``."""
    return load_object(name) if ":" in name else get_detector(name)


def check_detectors(names: list[str]) -> None:
    """Refuse a recipe that no suite knows; ``hcm*`` stands for all those of a detector."""
    from hopsight.checks import check_choice

    families = {f"{detector_of(name)}*" for name in TITLES}
    for name in names:
        if ":" not in name and name not in families:
            check_choice("detectors", name, list(TITLES))


def title_of(recipe: str) -> str:
    """Return how tables call a recipe.

    >>> title_of("hcm-paper"), title_of("pygod:DOMINANT")
    ('HCM (paper)', 'DOMINANT (PyGOD)')
    """
    if is_peer(recipe):
        library, _, name = recipe.partition(":")
        return f"{name} ({'PyGOD' if library == 'pygod' else 'PyOD'})"
    return TITLES.get(recipe, recipe)


def detector_of(recipe: str) -> str:
    """Return the detector of a recipe.

    >>> detector_of("hcm-authors"), detector_of("lof")
    ('hcm', 'lof')
    """
    name, _, preset = recipe.partition("-")
    return name if preset in ("paper", "authors") else recipe


def parameters_of(recipe: str, changes: Mapping[str, Any], *, device: str = "auto") -> dict[str, Any]:
    """Return every parameter of a recipe but the seed, as plain values.

    A detector that cannot be imported keeps the changes only: its cell fails with the reason.
    """
    if recipe in TRIVIAL:
        return {}
    if recipe == ORACLE:
        return {"sigma": None, "device": device} | dict(changes)
    if is_peer(recipe):
        return _peer_parameters(recipe, changes, device)
    try:
        model = _model(recipe, dict(changes) | {"device": device})
    except (ImportError, AttributeError):
        return dict(changes)
    values = {entry.name: getattr(model, entry.name) for entry in fields(model) if entry.init}
    values.pop("seed", None)
    return {name: to_plain(value) for name, value in values.items()}


def to_plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    return [to_plain(entry) for entry in value] if isinstance(value, tuple | list) else value


def from_plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Undo :func:`to_plain`: sequences of parameters are tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}


def _model(recipe: str, values: dict[str, Any]) -> Any:
    name = detector_of(recipe)
    cls = detector_class(name)
    known = {entry.name for entry in fields(cls)}
    values = {key: value for key, value in values.items() if key in known}
    if name == recipe:
        return cls(**values)
    preset = recipe.partition("-")[2]
    return (cls.paper if preset == "paper" else cls.authors)(**values)


def _peer_parameters(recipe: str, changes: Mapping[str, Any], device: str) -> dict[str, Any]:
    try:
        parameters = peer_defaults(recipe)
    except ImportError:
        return dict(changes)
    if "gpu" in parameters:
        parameters["gpu"] = 0 if device.startswith("cuda") else -1
    elif device.startswith("cuda") and recipe.startswith("pyod:"):
        parameters["device"] = device
    return parameters | {name: value for name, value in changes.items() if name in parameters}
