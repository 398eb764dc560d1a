"""Rows as a finished suite of the paper leaves them; nothing is fitted."""

from __future__ import annotations

from benchmark.made import made_rows
from paper.suites import PaperOptions, make_paper_suite


def made_suite(name="quick", change=None, **options):
    """Return plan, records and rows of a suite; ``change(cell)`` may return options of its record."""
    return made_rows(make_paper_suite(name, PaperOptions(**({"graphs": ["generated"]} | options))), change)
