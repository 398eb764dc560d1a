"""Rows as a finished suite of the paper leaves them; nothing is fitted."""

from dataclasses import replace

from benchmark.made import made_rows
from paper.suites import PaperOptions, make_paper_suite


def made_suite(name="quick", change=None, **options):
    """Return plan, records and rows of a suite; ``change(cell)`` may return options of its record."""
    suite = make_paper_suite(name, PaperOptions(**({"graphs": ["generated"]} | options)))
    _, records, _ = made_rows(suite, change)
    losses = {key: record["details"]["loss"] for key, record in records.items() if "details" in record}
    return made_rows(replace(suite, plan=[*suite.plan, *suite.follow_up(losses)]), change)
