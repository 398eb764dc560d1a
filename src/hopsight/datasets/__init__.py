"""Graphs to try things on: a catalog of published graphs, planted anomalies, and generated graphs."""

from __future__ import annotations

from hopsight.datasets.bank import Bank, bank_tables, make_demo
from hopsight.datasets.catalog import Entry, fetch, find, get_entry, info, overview
from hopsight.datasets.injection import inject
from hopsight.datasets.synthetic import make_graph
from hopsight.datasets.textbook import make_textbook

__all__ = [
    "Bank",
    "Entry",
    "bank_tables",
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
