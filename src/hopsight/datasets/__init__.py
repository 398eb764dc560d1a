"""Networks to try things on: a catalog of published ones, planted anomalies, and generated ones.

The names resolve on first use, so that listing the catalog does not load the generators.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopsight.datasets.catalog import CATALOG, find, get_network, info, overview
    from hopsight.datasets.demo import DemoTruth, demo_truth, make_demo
    from hopsight.datasets.download import fetch
    from hopsight.datasets.injection import inject
    from hopsight.datasets.published import Network
    from hopsight.datasets.synthetic import make_network

_MODULES = {
    "CATALOG": "catalog",
    "Network": "networks",
    "find": "catalog",
    "get_network": "catalog",
    "info": "catalog",
    "overview": "catalog",
    "fetch": "download",
    "inject": "injection",
    "make_network": "synthetic",
    "DemoTruth": "demo",
    "demo_truth": "demo",
    "make_demo": "demo",
}

__all__ = [
    "CATALOG",
    "DemoTruth",
    "Network",
    "demo_truth",
    "fetch",
    "find",
    "get_network",
    "info",
    "inject",
    "make_demo",
    "make_network",
    "overview",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
