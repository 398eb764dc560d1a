"""A small graph with strange names and a hand-made fitted detector, for the pages."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.hcm.groups import Group
from report_pages import IMAGE, KNOWN, SCRIPT, Show, write_report


@dataclass
class HandMade:
    """Stands in for a fitted HCM with invented hop counts."""

    node_values: ClassVar[Mapping[str, str]] = {"ahp": "mean number of hops"}

    graph_: Any
    burn_in: int = 20


@pytest.fixture
def strange() -> AttributedGraph:
    """80 nodes in a ring with chords; the names and attributes of some are markup."""
    rng = np.random.default_rng(7)
    n_nodes = 80
    ring = np.arange(n_nodes)
    chords = rng.integers(0, n_nodes, size=(2, 120))
    names = [f"user-{i:03d}" for i in range(n_nodes)]
    names[3], names[4], names[5] = IMAGE, SCRIPT, "line\u2028separator & \u202eright to left"
    return AttributedGraph.from_edges(
        np.concatenate([ring, chords[0]]), np.concatenate([np.roll(ring, 1), chords[1]]),
        np.column_stack([rng.normal(40, 9, n_nodes), rng.lognormal(9, 0.5, n_nodes), rng.integers(0, 2, n_nodes)]),
        node_ids=names, attribute_names=["age", "<b>income</b>", "is_member"], name="<i>shop</i>",
    )  # fmt: skip


@pytest.fixture
def judged(strange: AttributedGraph) -> Any:
    """Hops, variances and scores; the markup nodes come first."""
    rng = np.random.default_rng(8)
    model = HandMade(strange)
    model.edge_index_ = strange.edges
    model.edge_hop_ = 1 + 3 * rng.random(strange.n_edges)
    model.edge_variance_ = rng.random(strange.n_edges) / 4
    model.edge_probability_ = rng.random(strange.n_edges)
    source, target = strange.edges
    sums = np.bincount(source, model.edge_hop_, 80) + np.bincount(target, model.edge_hop_, 80)
    model.ahp_ = sums / strange.degrees
    model.decision_score_ = model.ahp_.copy()
    model.decision_score_[[3, 4, 5]] = [9.0, 8.0, 7.0]
    model.threshold_ = float(np.quantile(model.decision_score_, 0.9))
    model.judged_ = strange.degrees > 0
    model.loss_ = np.linspace(2.0, 1.0, 60)
    return model


@dataclass
class HandMadeEvidence(HandMade):
    """Stands in for a fitted CrossHCM."""

    evidence: tuple[str, ...] = ("misfit", "ring", "outlier", "activity")
    contamination: str = "auto"
    false_alarms: float = 0.1


@pytest.fixture
def suspected(judged: Any, strange: AttributedGraph) -> Any:
    """Return the judged graph with evidence, groups, scored edges and stability."""
    model: Any = HandMadeEvidence(strange)
    vars(model).update({name: value for name, value in vars(judged).items() if name.endswith("_")})
    rng = np.random.default_rng(9)
    scores = model.decision_score_
    kinds = ("misfit", "ring", "outlier", "activity", "lockstep")
    model.evidence_ = {kind: rng.random(80) * scores / 2 for kind in kinds}
    model.decided_by_ = np.arange(80) % 4
    for node, place in enumerate(model.decided_by_):
        model.evidence_[kinds[place]][node] = scores[node]
    model.evidence_["lockstep"][:] = 0.25
    model.stability_ = np.linspace(0, 1, 80)
    model.edge_score_ = rng.random(strange.n_edges) * 5
    model.edge_label_ = (model.edge_score_ > 4).astype(int)
    model.edge_dissimilarity_ = rng.random(strange.n_edges)
    model.edge_surprise_ = -np.log(model.edge_probability_)
    model.groups_ = [Group("ring", np.array([3, 4, 5]), 2 / 3, 4.5), Group("lockstep", np.array([7, 8, 9, 10]), 1, 3.5)]
    return model


class Seen:
    """What a page did while it was open."""

    def __init__(self, page: Any) -> None:
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.troubles.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Return a function that writes a page and opens it; whatever a test does, the page logs and requests nothing."""
    opened: list[tuple[Any, Seen, Path]] = []

    def show(write: Callable[..., None], *values: Any, **options: Any) -> Any:
        path = tmp_path / "page.html"
        write(path, *values, **options)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.append((page, Seen(page), path))
        page.goto(path.as_uri())
        return page

    yield show
    for page, seen, path in opened:
        page.close()
        assert seen.troubles == []
        assert {url for url in seen.requests if not url.startswith(("data:", "blob:"))} == {path.as_uri()}


@pytest.fixture
def opened(show: Show, judged: Any) -> Any:
    return show(write_report, judged, 30)


@pytest.fixture
def opened_with_evidence(show: Show, suspected: Any) -> Any:
    """Return the open report of a detector with evidence, of a graph with labels, beside other files."""
    suspected.graph_ = dataclasses.replace(suspected.graph_, labels=[1 if node in KNOWN else 0 for node in range(80)])
    return show(write_report, suspected, 5, files=("scores.csv", "run.json"))
