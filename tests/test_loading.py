"""load(): a path, tables, a name in the catalog or an object; everything else is refused in one sentence."""

import logging
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight import io
from hopsight.cli import main
from hopsight.graph import AttributedGraph
from hopsight.loading import load
from toys import refuses


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text("source,target,weight\nann,bo,1\nbo,cy,2\n")
    (tmp_path / "people.csv").write_text("key,age,fraud,note,city\nann,31,0,x,\nbo,42,1,y,Bern\ncy,27,0,z,Bern\n")
    return tmp_path


def test_every_option_reaches_the_tables(people: Path) -> None:
    notices: list[str] = []
    graph = load(
        people / "edges.csv", str(people / "people.csv"), directed=True, label="fraud", ignore=["note"],
        source_column="target", target_column="source", id_column="key", missing="mean", derive="none", notices=notices,
    )  # fmt: skip
    assert graph.directed and graph.edges.tolist() == [[1, 2], [0, 1]]
    assert graph.labels.tolist() == [0, 1, 0] and graph.attribute_names == ("age", "city=Bern")
    assert notices[0].startswith("Read column 'weight' as the weight of each edge: ")


def test_objects_are_converted(two_cliques: AttributedGraph) -> None:
    assert load(two_cliques) is two_cliques
    assert load((np.eye(3, k=1), np.ones((3, 1))), directed=True).edges.tolist() == [[0, 1], [1, 2]]


def test_a_file_takes_precedence_over_a_name_in_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_cliques: AttributedGraph
) -> None:
    monkeypatch.chdir(tmp_path)
    io.write(two_cliques, tmp_path / "disney.mat")
    (tmp_path / "demo").mkdir()
    assert load("disney.mat").n_nodes == 8
    assert load("demo").n_nodes > 1000 and load("demo").labels.sum() >= 40  # it needs no file


def test_a_name_in_the_catalog_is_read_from_the_folder_of_copies(data_dir: Path) -> None:
    graph = load("Disney", data_dir=data_dir)
    assert (graph.name, graph.n_nodes, int(graph.labels.sum())) == ("disney", 124, 6)
    refuses("label is for your own files", load, "disney", label="fraud", data_dir=data_dir)


@pytest.mark.parametrize(("source", "words"), [
    ("nowhere.csv", r"there is no file nowhere.csv"), ("no/where", r"there is no file"),
    ("blogcatalogue", r"did you mean blogcatalog\?"),
    ("zzzz", r"'zzzz' is neither a file nor a graph in the catalog$"),
    ("x" * 5000, r"there is no file"), ("a\0b.csv", r"no file|neither"), ("", r"source is missing: pass a file"),
    (" ", r"source is missing: pass a file"), (".", r"is a folder"), ("/dev/null", r"not a regular file"),
])  # fmt: skip
def test_a_source_that_is_neither_file_nor_name_is_refused_in_one_sentence(source: str, words: str) -> None:
    for nodes in (None, "people.csv"):
        with pytest.raises(ValueError, match=words) as caught:
            load(source, nodes=nodes)
        assert len(str(caught.value)) < 500


def test_a_data_frame_that_does_not_match_is_refused_in_one_sentence(people: Path) -> None:
    edges = pl.read_csv(people / "edges.csv")
    refuses("a table must be a path or a data frame, got int", load, edges, 7, notices=[])
    with pytest.raises(ValueError, match="3 of 3 node ids in the edges have no row in the node table"):
        load(edges, pl.DataFrame({"id": ["x", "y"], "age": [1, 2]}), notices=[])


def test_options_for_tables_are_refused_for_an_object(two_cliques: AttributedGraph) -> None:
    for options in ({"nodes": "people.csv"}, {"id_column": "id"}):
        refuses(f"{next(iter(options))} is for tables, and the source is not one", load, two_cliques, **options)


def test_words_are_of_parameters_in_python_and_of_options_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "pay.csv"
    path.write_text("from,to,amount\na,b,1\nb,c,2\nc,a,many\na,c,4\nb,a,5\n", encoding="utf-8")
    refuses(r"or pass category=\['amount'\] to read .* or ignore=\['amount'\]", load, path)
    assert main(["describe", str(path)]) == 2
    assert "or pass --category amount to read" in " ".join(capsys.readouterr().err.split())
    path.write_text("from,to,amount\na,b,1\nb,c,2\nc,a,3\na,c,4\nb,a,5\n", encoding="utf-8")
    kept: list[str] = []
    load(path, notices=kept)
    assert "Merged 2 pairs of opposite edges; pass directed=True to keep both." in kept
    with caplog.at_level(logging.WARNING, logger="hopsight"):
        load(path)
    assert "pass directed=True to keep both." in caplog.text and "--" not in caplog.text
    assert main(["describe", str(path)]) == 0
    assert "pass --directed to keep both" in "".join(capsys.readouterr())
