"""The report of a fitted detector, shown in a notebook or written to a file."""

from __future__ import annotations

import dataclasses
import html
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopsight.checks import check_count
from hopsight.explanations import Explainer
from hopsight.graph import AttributedGraph
from hopsight.metrics import found_first, ranking, ranks
from hopsight.report.page import SCRIPTS, full_data
from hopsight.report.shell import render_page
from hopsight.system.files import write_whole
from hopsight.system.machine import versions

HEIGHT = 720  # pixels of the frame in a notebook


@dataclass(frozen=True, repr=False)
class ReportPage:
    """A report as one HTML text; a notebook shows it in a frame of its own."""

    title: str
    text: str

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file and return its path."""
        write_whole(Path(path), self.text)
        return Path(path)

    def __repr__(self) -> str:
        return f"ReportPage({self.title!r}, {len(self.text):,} characters; write(path) saves it)"

    def _repr_html_(self) -> str:
        # Its scripts run under the policy of the page; the frame keeps them and its styles away from the notebook.
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts allow-downloads" width="100%" '
            f'height="{HEIGHT}" style="border:0" srcdoc="{html.escape(self.text)}"></iframe>'
        )


def report(model: Any, graph: AttributedGraph | None = None, *, top: int = 20, redact: bool = False) -> ReportPage:
    """Return the report of a fitted detector; as the last line of a cell, a notebook shows it.

    Parameters
    ----------
    model
        A fitted detector.
    graph
        The graph it was fitted on; needed for a detector loaded from disk, which does not keep it.
    top
        Number of nodes to explain.
    redact
        Replace the ids and names of nodes by numbers, so that the report can be shared. Attributes keep their names
        and values.
    """
    check_count("top", top)
    explainer = Explainer(model, graph)
    if redact:
        explainer = Explainer(model, redacted(explainer.graph, explainer.scores))
    known = explainer.graph
    explanations = [explainer.node(node) for node in known.node_ids[ranking(explainer.scores)[:top]].tolist()]
    run = {
        "detector": type(model).__name__,
        "seed": model.seed,
        "parameters": dataclasses.asdict(model),
        "versions": versions(),
        "labels": None if known.labels is None else found_first(known.labels, explainer.scores),
    }
    title = f"{known.name or 'Graph'} · hopsight"
    return ReportPage(title, render_page(title, full_data(explainer, explanations, run), SCRIPTS))


def redacted(graph: AttributedGraph, scores: Any) -> AttributedGraph:
    """Return the graph with numbers for ids, 1 for the most anomalous node, and without the names of nodes and graph.

    >>> import numpy as np
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["Ada", "Bo", "Cy"])
    >>> redacted(path, np.array([0.1, 0.9, 0.5])).node_ids.tolist()
    ['node 3', 'node 1', 'node 2']
    """
    numbers = [f"node {rank}" for rank in ranks(scores).tolist()]
    return dataclasses.replace(graph, node_ids=numbers, node_names=None, name="", n_self_loops=0)
