"""What the tests of the pages in a browser share."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hopsight.explanations import Explainer, Explanation
from hopsight.metrics import ranking
from hopsight.report.page import report_page

Show = Callable[..., Any]
IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
KNOWN = (3, 4, 40)  # the first two are flagged
RECORD: dict[str, Any] = {
    "started": "2024-05-06T07:08:09+0000", "detector": "hcm", "seed": 11,
    "request": {"source": {"path": "/home/somebody/secret place/edges.csv"}},
    "parameters": {"n_layers": 2, "drop_ratio": 0.2}, "versions": {"python": "3.11.7", "hopsight": "0.1.0"},
    "seconds": {"fit": 1.25}, "labels": {"n_anomalies": 3, "n_found": 2, "roc_auc": 0.91},
    "warnings": ["column <email> was left out"],
}  # fmt: skip


def explain_top(model: Any, count: int) -> list[Explanation]:
    """Explain the most anomalous nodes of a model that keeps its graph."""
    explainer, graph = Explainer(model, model.graph_), model.graph_
    return [explainer.node(node) for node in graph.node_ids[ranking(model.decision_score_)[:count]].tolist()]


def write_report(path: Path, model: Any, count: int, run: dict[str, Any] = RECORD, files: tuple[str, ...] = ()) -> None:
    """Write the report of a model that keeps its graph, with its first nodes explained."""
    report_page(Explainer(model, model.graph_), explain_top(model, count), run, files).write(path)


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
