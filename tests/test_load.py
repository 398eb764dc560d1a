"""load(): a path, a name of the catalog or an object; whatever else is said in one sentence."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from hopsight import io
from hopsight.graph import AttributedGraph
from hopsight.load import load


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "edges.csv").write_text("source,target,weight\nann,bo,1\nbo,cy,2\n")
    (tmp_path / "people.csv").write_text("key,age,fraud,note,city\nann,31,0,x,\nbo,42,1,y,Bern\ncy,27,0,z,Bern\n")
    return tmp_path


def test_every_option_reaches_the_tables(people: Path) -> None:
    notices: list[str] = []
    graph = load(
        people / "edges.csv",
        str(people / "people.csv"),
        directed=True,
        label="fraud",
        ignore=["note"],
        source_column="target",
        target_column="source",
        id_column="key",
        missing="mean",
        notices=notices,
    )
    assert graph.directed
    assert graph.edges.tolist() == [[1, 2], [0, 1]]
    assert graph.labels.tolist() == [0, 1, 0]
    assert graph.attribute_names == ("age", "city=(missing)", "city=Bern")
    assert len(notices) == 2


def test_without_a_list_notices_are_logged(people: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="hopsight"):
        load(str(people / "edges.csv"), nodes=people / "people.csv", ignore=["city"])
    assert any("'weight'" in record.getMessage() for record in caplog.records)


def test_objects_are_taken_as_they_are(two_cliques: AttributedGraph) -> None:
    assert load(two_cliques) is two_cliques
    assert load((np.eye(3, k=1), np.ones((3, 1))), directed=True).edges.tolist() == [[0, 1], [1, 2]]


def test_the_demo_needs_no_file() -> None:
    graph = load("demo")
    assert graph.n_nodes > 1000
    assert graph.labels.sum() >= 40


def test_a_file_comes_before_a_name_of_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_cliques: AttributedGraph
) -> None:
    monkeypatch.chdir(tmp_path)
    io.write(two_cliques, tmp_path / "disney.mat")
    (tmp_path / "demo").mkdir()
    assert load("disney.mat").n_nodes == 8
    assert load("demo").n_nodes > 1000


def test_a_name_of_the_catalog_is_read_from_the_folder_of_copies(data_dir: Path) -> None:
    graph = load("Disney", data_dir=data_dir)
    assert (graph.name, graph.n_nodes, int(graph.labels.sum())) == ("disney", 124, 6)
    with pytest.raises(ValueError, match="label is for a file of your own"):
        load("disney", label="fraud", data_dir=data_dir)


def test_a_name_without_a_copy_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOPSIGHT_DATA", raising=False)
    monkeypatch.setattr("hopsight.datasets.catalog.cache_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match="data fetch"):
        load("flickr")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nowhere.csv", r"there is no file nowhere.csv"),
        ("no/where", r"there is no file"),
        ("blogcatalogue", r"did you mean blogcatalog\?"),
        ("zzzz", r"'zzzz' is neither a file nor a network of the catalog$"),
        ("x" * 5000, r"there is no file"),
        ("a\0b.csv", r"no file|neither"),
        ("", r"folder|neither"),
        (".", r"is a folder"),
        ("/dev/null", r"not a regular file"),
    ],
)
def test_what_is_neither_file_nor_name_is_one_sentence(source: str, words: str) -> None:
    for nodes in (None, "people.csv"):
        with pytest.raises(ValueError, match=words) as caught:
            load(source, nodes=nodes)
        assert len(str(caught.value)) < 500


def test_an_object_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="got int"):
        load(7)
