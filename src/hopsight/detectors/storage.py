"""Saved detectors: arrays in safetensors, everything else in JSON, nothing that could run code."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from hopsight.detectors.privacy import private_state
from hopsight.detectors.validation import check_finite, check_fitted, check_parameters
from hopsight.system.files import read_regular, replacing
from hopsight.system.tensors import write_tensors

FORMAT = "hopsight-detector"
VERSION = 2
RECORD, ARRAYS = "detector.json", "arrays.safetensors"
# Users keep their graph themselves, its edges included, and timings differ between runs.
NOT_SAVED = frozenset({"graph_", "edge_index_", "seconds_"})


def save_detector(detector: Any, folder: Path, *, private: bool = False) -> None:
    """Write ``detector.json`` and ``arrays.safetensors``; an older model there remains until both are on the disk.

    ``private`` saves only what scores other graphs; see :mod:`hopsight.detectors.privacy` for what a model reveals.
    """
    if not hasattr(detector, "decision_score_"):
        raise ValueError(f"{type(detector).__name__} is not fitted yet: there is nothing to save")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    values: dict[str, Any] = {}
    state = {name: value for name, value in vars(detector).items() if name.endswith("_") and name not in NOT_SAVED}
    if private:
        state = private_state(detector, state)
    elif hasattr(detector, "edge_index_"):
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
        with arrays_file.open("wb") as file:
            digest = write_tensors(file, arrays, digest=_digest(record))
        record["checksum"] = digest.hexdigest()
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
    digest = _digest(record)
    digest.update(content)
    return str(digest.hexdigest())


def _digest(record: dict[str, Any]) -> Any:
    return hashlib.sha256(json.dumps(record, sort_keys=True, default=np.generic.item).encode())


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
