"""Saved detectors: arrays in safetensors, everything else in JSON, nothing that could run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from hopsight.detectors.well_formed import check_fitted, check_parameters
from hopsight.preprocess import AttributeTransform

FORMAT = "hopsight-detector"
VERSION = 1
NOT_SAVED = frozenset({"graph_", "seconds_"})  # the network stays where the user keeps it, and timings differ


def save_detector(detector: Any, folder: Path) -> None:
    """Write ``detector.json`` and ``arrays.safetensors``; the JSON comes last and makes the folder valid.

    A model that is there already stays until both are on the disk.
    """
    if not hasattr(detector, "decision_score_"):
        raise ValueError(f"{type(detector).__name__} is not fitted yet: there is nothing to save")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    values: dict[str, Any] = {}
    for name, value in vars(detector).items():
        if name.endswith("_") and name not in NOT_SAVED:
            _flatten(name, value, arrays, values)
    record = {
        "format": FORMAT,
        "version": VERSION,
        "detector": type(detector).__name__,
        "parameters": {name: _plain(value) for name, value in dataclasses.asdict(detector).items()},
        "values": values,
    }
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    record["checksum"] = _checksum(record, content)
    folder.mkdir(parents=True, exist_ok=True)
    files = {"arrays.safetensors": content, "detector.json": json.dumps(record, indent=1).encode()}
    try:
        for name, written in files.items():
            (folder / f"{name}.part").write_bytes(written)
        (folder / "detector.json").unlink(missing_ok=True)
        for name in files:
            (folder / f"{name}.part").replace(folder / name)
    finally:
        for name in files:
            (folder / f"{name}.part").unlink(missing_ok=True)


def load_detector(path: str | Path) -> Any:
    """Read a detector that :meth:`Detector.save` wrote; its scores are the same to the bit.

    Raises
    ------
    ValueError
        If the folder is no saved detector, is damaged, or was written by a newer hopsight.
    """
    from hopsight.detectors import get_detector

    folder = Path(path)
    try:
        record = json.loads((folder / "detector.json").read_text(encoding="utf-8"))
        content = (folder / "arrays.safetensors").read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{folder} is not a saved detector: {Path(str(error.filename)).name} is missing") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"the saved detector in {folder} is damaged: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{folder / 'detector.json'} was not written by hopsight")
    if record.get("version") != VERSION:
        raise ValueError(
            f"{folder} has format version {record.get('version')}, this hopsight reads {VERSION}: update hopsight"
        )
    try:
        if record.pop("checksum", None) != _checksum(record, content):
            raise ValueError("it is not as it was written")
        arrays = load(content)
        parameters = {name: _tuple(value) for name, value in record["parameters"].items()}
        kind = get_detector(record["detector"])
        check_parameters(kind, parameters)
        detector = kind(**parameters)
        for name, value in _unflatten(arrays, record["values"]).items():
            if not name.isidentifier() or name.startswith("_") or not name.endswith("_") or hasattr(detector, name):
                raise ValueError(f"{name!r} is no fitted value")
            setattr(detector, name, value)
        check_fitted(detector)
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise ValueError(f"the saved detector in {folder} is damaged: {error}") from None
    return detector


def _checksum(record: dict[str, Any], content: bytes) -> str:
    """Return one sum over both files, so that neither can change or be exchanged unnoticed."""
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode())
    digest.update(content)
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value  # JSON knows no NumPy numbers


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # JSON knows no tuples, parameters no lists


def _flatten(name: str, value: Any, arrays: dict[str, Any], values: dict[str, Any]) -> None:
    if isinstance(value, np.ndarray):
        arrays[name] = value
    elif isinstance(value, AttributeTransform):
        for field in dataclasses.fields(value):
            _flatten(f"{name}.{field.name}", getattr(value, field.name), arrays, values)
    else:
        values[name] = _plain(value)


def _unflatten(arrays: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    flat = {**values, **arrays}
    state: dict[str, Any] = {name: value for name, value in flat.items() if "." not in name}
    nested: dict[str, dict[str, Any]] = {}
    for name, value in flat.items():
        owner, dot, field = name.partition(".")
        if dot:
            nested.setdefault(owner, {})[field] = value
    return state | {owner: AttributeTransform(**fields) for owner, fields in nested.items()}
