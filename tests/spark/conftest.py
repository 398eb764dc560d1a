"""One Spark session for all tests, and one detection that many of them inspect."""

import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hopsight.cli import main
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.io import write
from hopsight.spark.session import missing_requirement
from spark_stages import QUICK, QUICK_JAVA, CommandRun, quick_options, without_compiler
from toys import two_groups


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests more time: the first one that needs the session or the detection waits for it."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Return a session with the settings of a run, or skip where there is no Java or no pyspark."""
    absent = missing_requirement()
    if absent:
        pytest.skip(absent)
    from hopsight.spark.session import open_session, run_settings

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patched:
        warnings.simplefilter("ignore")  # pyspark leaves sockets open while it starts
        patched.setenv("PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{QUICK_JAVA}' pyspark-shell")
        session = open_session("local[1]")  # other tests run beside these
        without_compiler(session)
    with run_settings(session):  # those of Spark would make 200 tasks of a few rows
        yield session
    session.stop()


@pytest.fixture(scope="session")
def graph() -> AttributedGraph:
    """Return 150 nodes whose ids are not numbers, two of them without edges."""
    graph = two_groups(2, n_each=75)
    connected = graph.adjacency.toarray()
    connected[[7, 90]] = connected[:, [7, 90]] = 0
    return AttributedGraph(
        connected, graph.attributes, node_ids=[f'{"ä" if i % 2 else "="}{i}, "{i}"' for i in range(graph.n_nodes)],
        attribute_names=graph.attribute_names,
    )  # fmt: skip


@pytest.fixture(scope="session")
def frames(spark: Any, graph: AttributedGraph) -> tuple[Any, Any]:
    """Return the graph's edges and nodes as DataFrames, with one duplicate edge and one self-loop."""
    import pyarrow as pa

    source, target = graph.node_ids[graph.edges].tolist()
    source, target = [*source, target[0], source[1]], [*target, source[0], source[1]]
    edges = spark.createDataFrame(pa.table({"source": source, "target": target}))
    columns = {name: graph.attributes[:, number] for number, name in enumerate(graph.attribute_names)}
    return edges, spark.createDataFrame(pa.table({"id": graph.node_ids.tolist(), **columns}))


@pytest.fixture(scope="session")
def reference(graph: AttributedGraph) -> CrossHCM:
    return CrossHCM(**QUICK).fit(graph)


@pytest.fixture(scope="session")
def tables(graph: AttributedGraph, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the graph's edges and nodes as CSV files, with one duplicate edge, one self-loop and some labels."""
    folder = tmp_path_factory.mktemp("tables")
    write(graph, folder / "g.csv")
    labels = two_groups(2, n_each=75).labels
    fraud = pl.Series(["yes" if label else "" if number % 3 else "no" for number, label in enumerate(labels)])
    pl.read_csv(folder / "g.nodes.csv").with_columns(fraud=fraud).write_csv(folder / "g.nodes.csv")
    edges = pl.read_csv(folder / "g.csv").drop("hopsight_directed")
    (source, target), (other, _) = edges.head(2).rows()
    more = [(target, source), (other, other)]
    edges.vstack(pl.DataFrame(more, schema=edges.schema, orient="row")).write_csv(folder / "g.csv")
    return folder / "g.csv", folder / "g.nodes.csv"


@pytest.fixture(scope="session")
def run(spark: Any, tables: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> CommandRun:
    """Return a detection by the command line in two blocks, which learns from labels."""
    from hopsight.spark import detection, graph

    def recorded(name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            found[name] = original(*arguments, **options)
            return found[name]

        original = getattr(detection, name)
        return call

    found: dict[str, Any] = {}
    folder, printed = tmp_path_factory.mktemp("run") / "out", StringIO()
    command = ["detect", str(tables[0]), "--nodes", str(tables[1]), "--out", str(folder), *quick_options()]
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed):
        patched.setattr(graph, "choose_blocks", lambda *sizes: 2)
        for name in ("detect", "fit"):
            patched.setattr(detection, name, recorded(name))
        assert main([*command, "--engine", "spark", "--master", "local[1]", "--top", "3"]) == 0
    return CommandRun(folder, printed.getvalue(), found["detect"], found["fit"])


@pytest.fixture(scope="session")
def detected(run: CommandRun) -> Any:
    """Return the detection as it was before it learned from labels."""
    from hopsight.spark.blocks import computed
    from hopsight.spark.results import node_table

    found, feedback = run.detected, run.detected.feedback
    scores = node_table(feedback.before, run.fit.nodes.rows, found.detector, feedback.threshold_before)
    fitted = found.fitted | {"threshold_": feedback.threshold_before}
    return replace(found, scores=computed(scores), fitted=fitted, feedback=None)
