"""Detectors by name; each lives in a file of its own and is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from hopsight.checks import check_choice

_CLASSES = {
    "hcm": ("hopsight.detectors.hcm", "HCM"),
    "cross_hcm": ("hopsight.detectors.cross_hcm", "CrossHCM"),
    "lof": ("hopsight.detectors.lof", "LOF"),
    "amen": ("hopsight.detectors.amen", "AMEN"),
    "radar": ("hopsight.detectors.radar", "Radar"),
    "anomalous": ("hopsight.detectors.anomalous", "ANOMALOUS"),
    "dominant": ("hopsight.detectors.dominant", "DOMINANT"),
    "madan": ("hopsight.detectors.madan", "MADAN"),
    "resgcn": ("hopsight.detectors.resgcn", "ResGCN"),
}


class _Registry(Mapping[str, Any]):
    """Name -> class, importing a detector's module on first use."""

    def __getitem__(self, name: str) -> Any:
        module, class_name = _CLASSES[name]
        return getattr(import_module(module), class_name)

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


DETECTORS: Mapping[str, Any] = _Registry()


def get_detector(name: str) -> Any:
    """Return a detector class by its name (``"hcm"``) or its class name (``"HCM"``)."""
    by_class = {class_name: key for key, (_, class_name) in _CLASSES.items()}
    key = by_class.get(name, name)
    check_choice("detector", key, list(_CLASSES))
    return DETECTORS[key]
