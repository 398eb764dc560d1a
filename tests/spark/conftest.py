"""One Spark session with two cores for all tests, and one detection that many of them look at."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.detectors.cross_hcm import CrossHCM
from hopsight.detectors.splits import mix
from hopsight.graph import AttributedGraph
from hopsight.spark.session import missing_parts
from spark_stages import QUICK, Made
from toys import two_groups


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests more time: the first one that needs the session or the detection waits for it."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Return a session, or skip where there is no Java or no pyspark."""
    absent = missing_parts()
    if absent:
        pytest.skip(absent)
    from hopsight.spark.session import open_session

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyspark leaves sockets open while it starts
        session = open_session("local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def network() -> AttributedGraph:
    """150 nodes with ids that are no numbers, two of them without links."""
    graph = two_groups(2, n_each=75)
    linked = graph.adjacency.toarray()
    linked[[7, 90]] = linked[:, [7, 90]] = 0
    return AttributedGraph(
        linked,
        graph.attributes,
        node_ids=[f'{"ä" if i % 2 else "="}{i}, "{i}"' for i in range(graph.n_nodes)],
        attribute_names=graph.attribute_names,
    )


@pytest.fixture(scope="session")
def frames(spark: Any, network: AttributedGraph) -> tuple[Any, Any]:
    """Return the network's links and nodes as DataFrames; one link stands there twice, one node links itself."""
    import pyarrow as pa

    source, target = network.node_ids[network.edges].tolist()
    source, target = [*source, target[0], source[1]], [*target, source[0], source[1]]
    links = spark.createDataFrame(pa.table({"source": source, "target": target}))
    columns = {name: network.attributes[:, number] for number, name in enumerate(network.attribute_names)}
    return links, spark.createDataFrame(pa.table({"id": network.node_ids.tolist(), **columns}))


@pytest.fixture(scope="session")
def reference(network: AttributedGraph) -> CrossHCM:
    """Return the detection on one machine."""
    return CrossHCM(**QUICK).fit(network)


@pytest.fixture(scope="session")
def made(spark: Any, frames: tuple[Any, Any], network: AttributedGraph, tmp_path_factory: Any) -> Made:
    """Return nodes in two blocks and links in three cells."""
    from hopsight.spark import network as stages
    from hopsight.spark.attributes import fit_transform
    from hopsight.spark.blocks import kept
    from hopsight.spark.columns import attribute_plan, encoded
    from hopsight.spark.detection import Engine
    from hopsight.spark.folds import Splits
    from hopsight.spark.session import settings
    from hopsight.spark.tables import check_tables

    model = CrossHCM(**QUICK)
    engine = Engine(model, lambda name: nullcontext(), 2, str(tmp_path_factory.mktemp("work")))
    splits = Splits(model.seed, model.n_folds, model.n_repeats)
    with settings(spark):
        tables = check_tables(*frames)
        nodes = stages.hashed(encoded(tables.nodes, attribute_plan(tables.nodes, tables.columns)))
        transform, n_nodes = fit_transform(
            nodes, network.attribute_names, scaling="auto", n_components=256, rng=np.random.default_rng(0)
        )
        model.transform_ = transform
        placed, layout, unit = engine._index(nodes, transform, n_nodes, mix(np.uint64(model.seed + 1))[0])
        x = kept(stages.x_blocks(placed, layout, unit))
        net = engine._links(tables.links, placed, layout)
        degrees = kept(stages.degree_blocks(net.cells, layout, splits))
    return Made(engine, placed, layout, x, net, degrees, splits)


@pytest.fixture(scope="session")
def detected(frames: tuple[Any, Any]) -> Any:
    """Return the whole detection on Spark, in two blocks."""
    from hopsight.spark.detection import detect

    return detect(*frames, CrossHCM(**QUICK), n_blocks=2)
