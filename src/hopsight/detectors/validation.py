"""Validate a loaded detector; a checksum does not stop tampering."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from hopsight.detectors.predict import threshold
from hopsight.graph import AttributedGraph

EDGE_VALUES = ("edge_hop_", "edge_variance_", "edge_probability_", "edge_surprise_")  # a detector has all or none
SCORED_EDGES = ("edge_score_", "edge_label_", "edge_dissimilarity_")  # of a detector that weighs evidence
DTYPES = {"label_": "i", "edge_label_": "i", "decided_by_": "i", "judged_": "b"}  # all others are floats
WEIGHTS = ("samples_", "weights_")  # the last axis is as long as the network has weights
SIZES = ("units", "n_layers", "n_inputs_", "n_classes_", "n_folds", "n_inner")  # at most the number of weights


def check_parameters(kind: Any, parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter that the detector does not have, or whose value has another type than it declares.

    >>> from dataclasses import make_dataclass
    >>> check_parameters(make_dataclass("Toy", [("n_units", int)]), {"n_units": "many"})
    Traceback (most recent call last):
    ...
    ValueError: n_units cannot be 'many'
    """
    hints = get_type_hints(kind)
    declared = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    for name, value in parameters.items():
        if name not in declared or not _fits(value, declared[name]):
            raise ValueError(f"{name} cannot be {value!r}")


def check_fitted(detector: Any) -> None:
    """Refuse fitted values of the wrong type or size, and a model that fails on a graph of four nodes."""
    limit: Any = getattr(detector, "threshold_", None)
    if not _fits(limit, float) or not math.isfinite(limit):
        raise ValueError(f"threshold_ cannot be {limit!r}")
    threshold(np.zeros(1), detector.contamination, detector.false_alarms)
    for name, length, needed in columns_of(detector):
        values = getattr(detector, name, None)
        if not _is_column(name, values, length) and (needed or values is not None):
            raise ValueError(f"{name} has the wrong type or length")
    if _weighs_evidence(detector) and not is_private(detector):
        _check_evidence(detector)
    n_weights = max(*(np.shape(getattr(detector, name, ()))[-1:] for name in WEIGHTS), (0,))[0]
    for name, size in _sizes(detector):
        if n_weights and (not _fits(size, int) or not 0 < size <= n_weights):
            raise ValueError(f"{name} cannot be {size!r}")
    _rehearse(detector)


def columns_of(detector: Any) -> Iterator[tuple[str, int, bool]]:
    """Yield the name of every value per node or edge, its length, and whether the detector must have it."""
    n_nodes = np.size(getattr(detector, "decision_score_", ()))
    for name in ("decision_score_", "label_"):
        yield name, n_nodes, True
    if is_private(detector):
        return
    for name in ("judged", *type(detector).node_values):
        yield f"{name}_", n_nodes, False
    weighs = _weighs_evidence(detector)
    for name in ("p_value_", "decided_by_"):
        yield name, n_nodes, weighs
    if weighs or any(hasattr(detector, name) for name in EDGE_VALUES):
        n_edges = np.size(getattr(detector, "edge_hop_", ()))
        for name in EDGE_VALUES:
            yield name, n_edges, True
        for name in SCORED_EDGES:
            yield name, n_edges, weighs


def is_private(detector: Any) -> bool:
    """Return whether a loaded model was saved without anything of the graph that it was fitted on."""
    return getattr(detector, "private_", False) is True


def check_finite(values: Mapping[str, Any]) -> None:
    """Refuse a value that is not a finite number: with such weights every node would get the same score."""
    for name, value in values.items():
        is_float = isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f"
        if is_float and not np.isfinite(value).all():
            raise ValueError(f"{name} has values that are not finite numbers")


def _weighs_evidence(detector: Any) -> bool:
    return hasattr(type(detector), "evidence")


def _check_evidence(detector: Any) -> None:
    """Refuse evidence that lacks a kind or has another length than the scores, and thresholds that do not fit it."""
    found, limits = getattr(detector, "evidence_", None), getattr(detector, "kind_thresholds_", None)
    if not isinstance(found, dict) or not set(detector.evidence) <= set(found):
        raise ValueError("evidence_ lacks a kind")
    if not all(_is_column(kind, values, detector.decision_score_.size) for kind, values in found.items()):
        raise ValueError("evidence_ has the wrong type or length")
    if not _is_column("kind_thresholds_", limits, len(found)):
        raise ValueError("kind_thresholds_ has the wrong type or length")
    if not ((detector.decided_by_ >= 0) & (detector.decided_by_ < len(detector.evidence))).all():
        raise ValueError("decided_by_ names a kind that there is not")
    if not _fits(getattr(detector, "edge_threshold_", None), float):
        raise ValueError("edge_threshold_ is not a number")


def _rehearse(detector: Any) -> None:
    """Let the detector score a path of four nodes with the columns of the fit; it may refuse them, but not fail."""
    names = getattr(getattr(detector, "transform_", None), "names", ["x"])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("the names of its columns are not text")
    path = AttributedGraph.from_edges(
        range(3),
        range(1, 4),
        np.zeros((4, len(names))),
        attribute_names=names,
        directed=getattr(detector, "directed_", False) is True,
    )
    calls: list[Callable[[], object]] = [lambda: detector.decision_function(path)]
    if hasattr(detector, "score_without") and not is_private(detector):
        calls.append(lambda: detector.score_without(path, 1, np.array([0])))
    for call in calls:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                call()
            except (ValueError, MemoryError):
                pass
            except Exception as error:
                first = str(error).partition("\n")[0][:120]
                raise ValueError(f"its parts do not fit together ({type(error).__name__}: {first})") from None


def _sizes(detector: Any) -> Iterator[tuple[str, Any]]:
    """Yield the numbers that determine the size of the network, one by one."""
    for name, value in vars(detector).items():
        if name.endswith(SIZES):
            for size in value if isinstance(value, tuple) else (value,):
                yield name, size


def _is_column(name: str, values: Any, length: int) -> bool:
    if not isinstance(values, np.ndarray) or values.shape != (length,):
        return False
    return values.dtype.kind == DTYPES.get(name, "f") and bool(np.isfinite(values).all())


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value read from JSON is of the hinted type; an integer is also a float."""
    if isinstance(hint, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and all(_fits(entry, get_args(hint)[0]) for entry in value)
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is NoneType else isinstance(value, hint)
