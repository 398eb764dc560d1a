"""What the tests of the pages in a browser share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hopsight.explanations import Explainer, Explanation
from hopsight.report.page import report_page

ExplainTop = Callable[..., list[Explanation]]
Show = Callable[..., Any]
IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
KNOWN = (3, 4, 40)  # the first two are flagged


def write_report(
    path: Path, model: Any, first: list[Explanation], run: dict[str, Any], files: tuple[str, ...] = ()
) -> None:
    """Write the report of a model that keeps its graph."""
    report_page(Explainer(model, model.graph_), first, run, files).write(path)


def column(page: Any, label: str, place: int) -> list[str]:
    cells: list[str] = page.locator(f'table[aria-label="{label}"] tbody tr td:nth-child({place})').all_inner_texts()
    return cells


def violations(page: Any) -> list[tuple[str, str]]:
    """Return the serious violations that axe-core finds, each with its first element."""
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core-python is not installed").Axe()
    found = [
        each
        for each in axe.run(page, options={"resultTypes": ["violations"]})["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    return [(each["id"], each["nodes"][0]["html"]) for each in found]


def has_chosen(page: Any, name: str) -> None:
    """Wait until the page shows a node: the address changes first, the drawing follows."""
    from playwright.sync_api import expect

    expect(page.locator("#chosen bdi")).to_have_text(name)


def each_look(page: Any) -> Iterator[tuple[int, str]]:
    """Show the page on a desk, light and dark, and on a phone, and yield which of them it is."""
    for width, scheme in ((1280, "light"), (1280, "dark"), (400, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        yield width, scheme
