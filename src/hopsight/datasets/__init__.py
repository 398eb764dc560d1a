"""Graphs to try things on: a catalog of published graphs, planted anomalies, and generated graphs.

The names resolve on first use, so that listing the catalog does not load the generators.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopsight.datasets.catalog import CATALOG, find, get_entry, info, overview
    from hopsight.datasets.demo import DemoTruth, demo_truth, make_demo
    from hopsight.datasets.download import fetch
    from hopsight.datasets.injection import inject
    from hopsight.datasets.published import Entry
    from hopsight.datasets.synthetic import make_graph
    from hopsight.datasets.textbook import make_textbook

_MODULES = {
    "CATALOG": "catalog",
    "Entry": "published",
    "find": "catalog",
    "get_entry": "catalog",
    "info": "catalog",
    "overview": "catalog",
    "fetch": "download",
    "inject": "injection",
    "make_graph": "synthetic",
    "DemoTruth": "demo",
    "demo_truth": "demo",
    "make_demo": "demo",
    "make_textbook": "textbook",
}

__all__ = [
    "CATALOG",
    "DemoTruth",
    "Entry",
    "demo_truth",
    "fetch",
    "find",
    "get_entry",
    "info",
    "inject",
    "make_demo",
    "make_graph",
    "make_textbook",
    "overview",
]


def __getattr__(name: str) -> Any:
    if name == "make_network":
        warnings.warn("make_network is now make_graph", DeprecationWarning, stacklevel=2)
        name = "make_graph"
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
