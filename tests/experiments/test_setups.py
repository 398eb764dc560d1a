"""How the paper uses each graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.benchmark.cells import build_graph
from paper.setups import SETUPS, setup_of
from paper.suites import PaperOptions, make_paper_suite


def test_the_papers_injections(data_dir):
    """15 nodes per clique; 10, 15 and 20 cliques for BlogCatalog, Flickr and ACM."""
    assert {name: SETUPS[name].n_cliques for name in ("blogcatalog", "flickr", "acm", "amazon", "enron")} == {
        "blogcatalog": 10, "flickr": 15, "acm": 20, "amazon": 0, "enron": 0,
    }  # fmt: skip
    options = PaperOptions(graphs=["blogcatalog"], detectors=["degree"], data_dir=str(data_dir))
    graph = build_graph(make_paper_suite("paper", options).plan[0].cell, str(data_dir))
    assert np.bincount(graph.kinds).tolist() == [4896, 150, 150]
    assert sp.issparse(graph.attributes)


def test_a_graph_outside_the_paper_is_taken_as_found():
    assert setup_of("weibo").n_cliques == 0
    with pytest.raises(ValueError, match="did you mean disney"):
        setup_of("disny")
