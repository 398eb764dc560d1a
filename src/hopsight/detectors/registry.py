"""Detectors by name. To add one, write its class in its own file and name it here; it is imported on first use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from hopsight.checks import check_choice

CLASSES = {
    "hcm": "hopsight.hcm.hcm:HCM",
    "cross_hcm": "hopsight.hcm.cross_hcm:CrossHCM",
    "lof": "hopsight.baselines.lof:LOF",
    "amen": "hopsight.baselines.amen:AMEN",
    "radar": "hopsight.baselines.radar:Radar",
    "anomalous": "hopsight.baselines.anomalous:ANOMALOUS",
    "dominant": "hopsight.baselines.dominant:DOMINANT",
    "madan": "hopsight.baselines.madan:MADAN",
    "resgcn": "hopsight.baselines.resgcn:ResGCN",
}


class Registry(Mapping[str, Any]):
    """Mapping from name to class that imports the module of a detector on first use."""

    def __getitem__(self, name: str) -> Any:
        return load_class(CLASSES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(CLASSES)

    def __len__(self) -> int:
        return len(CLASSES)

    def __repr__(self) -> str:
        rows = list(self._rows())
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        return "\n".join(f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {meaning}" for name, kind, meaning in rows)

    def _repr_html_(self) -> str:
        from hopsight.markup import card, table

        header, *rows = self._rows()
        return card("Detectors", table(header, rows))

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, class and meaning of every detector, after a header; this imports all of them."""
        yield "name", "class", "the score measures"
        for name, kind in self.items():
            yield name, kind.__name__, kind.meaning


DETECTORS: Mapping[str, Any] = Registry()
"""Every detector by its name; printing it shows a table."""


def load_class(address: str) -> Any:
    """Import the class that ``"module:Class"`` names.

    >>> load_class("collections:Counter").__name__
    'Counter'
    """
    module, _, name = address.partition(":")
    return getattr(import_module(module), name)


def get_detector(name: str) -> Any:
    """Return a detector class by its name (``"hcm"``) or its class name (``"HCM"``)."""
    by_class = {address.partition(":")[2]: key for key, address in CLASSES.items()}
    key = by_class.get(name, name)
    check_choice("detector", key, list(CLASSES))
    return DETECTORS[key]
