"""Saved detectors: arrays in safetensors, everything else in JSON, nothing that could run code."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save_file

from hopsight.checks import shortened
from hopsight.detectors.predict import threshold
from hopsight.detectors.table import FLOW_KINDS, RELATION_KINDS
from hopsight.graph import AttributedGraph
from hopsight.system.files import read_regular, replacing

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
            raise ValueError(f"{name} cannot be {shortened(value)}")


def check_fitted(detector: Any) -> None:
    """Refuse fitted values of the wrong type or size, and a model that fails on a graph of four nodes."""
    limit: Any = getattr(detector, "threshold_", None)
    if not _fits(limit, float) or not math.isfinite(limit):
        raise ValueError(f"threshold_ cannot be {shortened(limit)}")
    threshold(np.zeros(1), detector.contamination, detector.false_alarms)
    for name, length, needed in columns_of(detector):
        values = getattr(detector, name, None)
        if not _is_column(name, values, length) and (needed or values is not None):
            raise ValueError(f"{name} has the wrong type or length")
    if _weighs_evidence(detector) and not is_without_graph(detector):
        _check_evidence(detector)
        detector.check_learned()
    n_weights = max(*(np.shape(getattr(detector, name, ()))[-1:] for name in WEIGHTS), (0,))[0]
    for name, size in _sizes(detector):
        if n_weights and (not _fits(size, int) or not 0 < size <= n_weights):
            raise ValueError(f"{name} cannot be {shortened(size)}")
    _rehearse(detector)


def columns_of(detector: Any) -> Iterator[tuple[str, int, bool]]:
    """Yield the name of every value per node or edge, its length, and whether the detector must have it."""
    n_nodes = np.size(getattr(detector, "decision_score_", ()))
    for name in ("decision_score_", "label_"):
        yield name, n_nodes, True
    if is_without_graph(detector):
        return
    for name in ("judged", "stability", *type(detector).node_values):
        yield f"{name}_", n_nodes, False
    weighs = _weighs_evidence(detector)
    yield "decided_by_", n_nodes, weighs
    if weighs or any(hasattr(detector, name) for name in EDGE_VALUES):
        n_edges = np.size(getattr(detector, "edge_hop_", ()))
        for name in EDGE_VALUES:
            yield name, n_edges, True
        for name in SCORED_EDGES:
            yield name, n_edges, weighs


def is_without_graph(detector: Any) -> bool:
    """Return whether a model lacks its own graph and has quantiles of its scores only, as one from Spark."""
    return vars(detector).get("without_graph_", False) is True


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
    if not isinstance(found, dict) or not set(detector.evidence) <= {*found, *FLOW_KINDS, *RELATION_KINDS}:
        raise ValueError("evidence_ lacks a kind")
    if not all(_is_column(kind, values, detector.decision_score_.size) for kind, values in found.items()):
        raise ValueError("evidence_ has the wrong type or length")
    if not _is_column("kind_thresholds_", limits, len(found)):
        raise ValueError("kind_thresholds_ has the wrong type or length")
    kinds = dict(enumerate(detector.evidence))
    if not all(kinds.get(number) in found for number in np.unique(detector.decided_by_).tolist()):
        raise ValueError("decided_by_ names an unknown kind of evidence")
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
    if hasattr(detector, "score_without") and not is_without_graph(detector):
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


FORMAT = "hopsight-detector"
VERSION = 5
RECORD, ARRAYS = "detector.json", "arrays.safetensors"
# Users keep their graph themselves, its edges included, and timings and the nodes to rank differ between runs.
NOT_SAVED = frozenset({"graph_", "edge_index_", "seconds_", "only_"})


def save_detector(detector: Any, folder: Path) -> None:
    """Write ``detector.json`` and ``arrays.safetensors``; an older model there remains until both are on the disk."""
    if not hasattr(detector, "decision_score_"):
        raise ValueError(f"{type(detector).__name__} is not fitted yet: there is nothing to save")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    values: dict[str, Any] = {}
    state = {name: value for name, value in vars(detector).items() if name.endswith("_") and name not in NOT_SAVED}
    if hasattr(detector, "edge_index_"):
        state["edge_digest_"] = edge_digest(detector.edge_index_)
    for name, value in state.items():
        _flatten(name, value, arrays, values)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "detector": type(detector).__name__,
        "parameters": dataclasses.asdict(detector),
        "values": values,
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / RECORD) as record_file, replacing(folder / ARRAYS) as arrays_file:
        try:
            save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, arrays_file)
        except SafetensorError as error:  # such as that no space is left
            raise OSError(str(error)) from None
        record["checksum"] = _checksum(record, arrays_file.read_bytes())
        record_file.write_bytes(json.dumps(record, indent=1, default=np.generic.item).encode())


def load_detector(path: str | Path) -> Any:
    """Read a detector that :meth:`Detector.save` wrote; its scores are the same to the bit.

    Raises
    ------
    ValueError
        If the folder is not a saved detector, is damaged, or was written in another version of the format.
    """
    from hopsight.detectors import get_detector

    folder = Path(path)
    record, content = _read(folder)
    try:
        if record.pop("checksum", None) != _checksum(record, content):
            raise ValueError("its checksum does not match its content")
        arrays = load(content)
        check_finite(arrays)
        check_finite(record["values"])
        parameters = {name: _tuple(value) for name, value in record["parameters"].items()}
        kind = get_detector(record["detector"])
        check_parameters(kind, parameters)
        detector = kind(**parameters)
        detector.check()
        for name, value in _unflatten(kind, arrays, record["values"]).items():
            if not name.isidentifier() or name.startswith("_") or not name.endswith("_") or hasattr(detector, name):
                raise ValueError(f"{name!r} is not a fitted value")
            setattr(detector, name, value)
        check_fitted(detector)
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise ValueError(f"the saved detector in {folder} is damaged: {error}; fit and save it again") from None
    return detector


def edge_digest(edges: Any) -> str:
    """Return a checksum by which a model recognizes the edges it was fitted on, without containing them."""
    return hashlib.sha256(np.ascontiguousarray(edges, dtype=np.int64).data).hexdigest()


def with_edges(model: Any, edges: Any) -> Any:
    """Return a model that has the edges it was fitted on: itself, or a copy of a loaded one, which lacks them."""
    if hasattr(model, "edge_index_"):
        same = np.array_equal(model.edge_index_, edges)
    else:
        same = model.edge_hop_.size == edges.shape[1] and getattr(model, "edge_digest_", "") == edge_digest(edges)
        model = copy.copy(model)
        model.edge_index_ = edges
    if not same:
        raise ValueError(f"graph must have the edges {type(model).__name__} was fitted on, it has others")
    return model


def _read(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return the JSON record and the content of the arrays file of a model in this version of the format."""
    try:
        record = json.loads(read_regular(folder / RECORD))
        content = read_regular(folder / ARRAYS)
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is not a saved detector: {Path(str(error.filename)).name} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"the saved detector in {folder} is damaged: {error}; fit and save it again") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT or not isinstance(record.get("version"), int):
        raise ValueError(f"{folder / RECORD} was not written by hopsight")
    version = record["version"]
    if version != VERSION:
        age, advice = ("an older", "fit and save it again") if version < VERSION else ("a newer", "update hopsight")
        raise ValueError(
            f"the detector in {folder} was saved by {age} hopsight (format version {version}, this one reads "
            f"{VERSION}): {advice}"
        )
    return record, content


def _checksum(record: dict[str, Any], content: bytes) -> str:
    """Return one checksum of both files, so that neither can be changed or exchanged alone."""
    digest = hashlib.sha256(json.dumps(record, sort_keys=True, default=np.generic.item).encode())
    digest.update(content)
    return digest.hexdigest()


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # JSON has no tuples, and no parameter is a list


def _flatten(name: str, value: Any, arrays: dict[str, Any], values: dict[str, Any]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif isinstance(value, dict):
        for key, part in value.items():
            _flatten(f"{name}.{key}", part, arrays, values)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):  # not what a property has cached
            _flatten(f"{name}.{field.name}", getattr(value, field.name), arrays, values)
    else:
        values[name] = value


def _unflatten(kind: Any, arrays: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for name, value in {**values, **arrays}.items():
        owner, dot, field = name.partition(".")
        if dot:
            nested.setdefault(owner, {})[field] = value
        else:
            state[name] = value
    return state | {owner: kind.parts.get(owner, dict)(**fields) for owner, fields in nested.items()}
