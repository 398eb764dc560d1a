"""Views: ÂX of every fold is that of one machine."""

from __future__ import annotations

import numpy as np

from hopsight.detectors.hop_detector import adjacency_of
from hopsight.detectors.splits import hidden_links
from hopsight.graph import AttributedGraph
from hopsight.nn.gcn import normalized_adjacency
from hopsight.spark.blocks import kept
from hopsight.spark.views import neighbourhoods
from spark_stages import Made, dense, number_of


def test_neighbourhoods_are_those_of_one_machine(made: Made, network: AttributedGraph) -> None:
    number = number_of(made, network)
    x = dense(made.x, made, "x", np.float32, -1)[number]
    shown = made.x.filter("kind = 'x'").unionAll(made.degrees)
    found = kept(neighbourhoods(shown, made.net.cells, made.layout, made.splits))
    for fold, hidden in enumerate(hidden_links(network, made.splits.seed, 2, 2)):
        wanted = normalized_adjacency(adjacency_of(network, ~hidden, directed=False)) @ x
        np.testing.assert_allclose(dense(found, made, "ax", np.float32, fold)[number], wanted, rtol=1e-5, atol=1e-6)
