"""Graphs that every format must restore, and a small pair of tables."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from hopsight.graph import AttributedGraph

HARD_IDS = (
    *("=1+1", "+a", "-b", "@c", "007", "1e5", "null", "NaN", "not  padded", "tab\tand;|,"),
    *("two\nlines", "carriage\r\nreturn", "\"quoted\" and 'so'", "Zoë 😀 漢字", "<&>", "x" * 10_000),
)


@pytest.fixture(params=["dense", "sparse"])
def hard_graph(request: pytest.FixtureRequest) -> AttributedGraph:
    """Difficult ids, names that clash with our own, labels (some unlabeled), kinds, and an isolated node."""
    n_nodes = len(HARD_IDS)
    rng = np.random.default_rng(0)
    adjacency = np.triu(rng.random((n_nodes, n_nodes)) < 0.3, k=1)
    adjacency[:, -1] = adjacency[-1] = False
    attributes = rng.normal(size=(n_nodes, 4)) * [1e-300, 1.0, 1e300, 1e12]
    if request.param == "sparse":
        attributes = sp.csr_array(attributes * (rng.random(attributes.shape) < 0.3))
    return AttributedGraph(
        adjacency,
        attributes,
        node_ids=HARD_IDS,
        attribute_names=["age", "=sum(A1)", "label", "hopsight_label"],
        labels=np.arange(n_nodes) % 3 - 1,
        kinds=np.arange(n_nodes) % 4,
        name="hard",
    )


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Return a folder with an edge list and a node table of three people."""
    (tmp_path / "edges.csv").write_text("source,target\nann,bo\nbo,cy\n")
    (tmp_path / "people.csv").write_text("id,age\nann,31\nbo,42\ncy,27\n")
    return tmp_path
