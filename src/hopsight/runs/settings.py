"""Create a detector from ``--set name=value``, checking every name and type."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hopsight.checks import Refusal, check_choice, option, suggest
from hopsight.detectors import get_detector

OPTIONS = ("seed", "device")  # fields that have their own option
KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


def make_detector(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    device: str = "auto",
    settings: Mapping[str, str] | None = None,
) -> Any:
    """Return an unfitted detector with the given preset and settings.

    >>> make_detector("lof", settings={"contamination": "0.2"}).contamination
    0.2
    """
    cls = get_detector(name)
    values = {"seed": seed, "device": device} | typed_settings(cls, settings or {})
    if preset is None:
        return cls(**values)
    if not cls.presets:
        raise ValueError(f"{name} has no preset {preset!r}: leave out {option('preset')}")
    check_choice("preset", preset, cls.presets)
    return getattr(cls, preset)(**values)


def split_settings(settings: Iterable[str]) -> dict[str, str]:
    """Split texts of the form ``name=value``.

    >>> split_settings(["lr=0.01", "optimizer=adam"])
    {'lr': '0.01', 'optimizer': 'adam'}
    """
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise ValueError(f"--set takes name=value, got {setting!r}")
        if name in found:
            raise ValueError(f"--set gives {name} twice")
        found[name] = value.strip()
    return found


def with_options(
    settings: Mapping[str, str],
    *,
    evidence: Iterable[str] = (),
    false_alarms: float | None = None,
    contamination: float | None = None,
) -> dict[str, str]:
    """Add the options that set a hyperparameter to the settings of ``--set``, each at most once.

    >>> with_options({"lr": "0.1"}, evidence=["misfit", "ring"], false_alarms=0.2)
    {'lr': '0.1', 'evidence': 'misfit,ring', 'false_alarms': '0.2'}
    """
    if false_alarms is not None and contamination is not None:
        raise ValueError(f"{option('false_alarms')} and {option('contamination')} exclude each other: use one of them")
    asked: dict[str, Any] = {
        "evidence": ",".join(evidence) or None,
        "false_alarms": false_alarms,
        "contamination": contamination,
    }
    options = {name: str(value) for name, value in asked.items() if value is not None}
    for name in options:
        if name in settings:
            raise Refusal(name, "is given twice: by its own option and by --set")
    if "false_alarms" in options and settings.get("contamination", "auto") != "auto":
        raise ValueError(f"{option('false_alarms')} and {option('contamination')} exclude each other: use one of them")
    return {**settings, **options}


def typed_settings(cls: type, settings: Mapping[str, str]) -> dict[str, Any]:
    """Convert the settings to the types of the detector's fields."""
    hints = get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.name not in OPTIONS]
    for name in settings:
        if name in OPTIONS:
            raise ValueError(f"{name} has its own option: use {option(name)}")
        if name not in names:
            hint = suggest(name, names)
            more = hint or f"; it has {', '.join(names)}"
            raise ValueError(f"{cls.__name__} has no parameter {name!r}{more}")
    return {name: _typed(name, value, hints[name]) for name, value in settings.items()}


def _typed(name: str, text: str, hint: Any) -> Any:
    """Convert the text to the first of the hinted types that it fits, numbers before words."""
    if get_origin(hint) is tuple:
        return tuple(word.strip() for word in text.split(",") if word.strip())
    kinds = _kinds(hint)
    if NoneType in kinds and text.lower() in ("none", "null", ""):
        return None
    for kind in (bool, int, float, str):
        if kind in kinds:
            value = _as(kind, text)
            if value is not None:
                return value
    allowed = " or ".join(words for kind, words in KINDS.items() if kind in kinds)
    raise Refusal(name, f"must be {allowed}{' or none' if NoneType in kinds else ''}, got {text!r}")


def _kinds(hint: Any) -> Collection[Any]:
    if get_origin(hint) is Literal:
        return {type(choice) for choice in get_args(hint)}
    if get_args(hint):
        return {kind for part in get_args(hint) for kind in _kinds(part)}
    return {hint}


def _as(kind: type, text: str) -> Any:
    """Convert the text to one type, or return None if it does not fit."""
    if kind is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
    try:
        if kind is int:
            number = float(text)
            return int(text) if text.lstrip("+-").isdigit() else int(number) if number.is_integer() else None
        return kind(text)
    except (ValueError, OverflowError):
        return None
