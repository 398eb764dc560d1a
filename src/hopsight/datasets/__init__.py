"""Graphs to try things on: a catalog of published graphs, planted anomalies, and generated graphs."""

from __future__ import annotations

import warnings
from typing import Any

from hopsight.datasets.catalog import CATALOG, find, get_entry, info, overview
from hopsight.datasets.demo import DemoTruth, demo_truth, make_demo
from hopsight.datasets.download import fetch
from hopsight.datasets.injection import inject
from hopsight.datasets.published import Entry
from hopsight.datasets.synthetic import make_graph
from hopsight.datasets.textbook import make_textbook

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
    if name != "make_network":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn("make_network is now make_graph", DeprecationWarning, stacklevel=2)
    return make_graph
