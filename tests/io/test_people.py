"""Columns of a node table as people have them: codes, phone numbers, names, known cases and labels."""

from pathlib import Path

import polars as pl
import pytest

from hopsight.graph import AttributedGraph

from .cases import PEOPLE, loaded, put, rows


def with_nodes(folder: Path, header: str, lines: list[str], **options: str) -> tuple[AttributedGraph, list[str]]:
    """Load an edge list with a node table."""
    nodes = put(folder / "nodes.csv", header, lines)
    return loaded(put(folder / "edges.csv", "from,to"), nodes=str(nodes), **options)


def test_codes_with_leading_zeros_are_categories_and_free_text_is_no_name(tmp_path: Path) -> None:
    people = enumerate([*PEOPLE, "gus", "hal", "ida", "jo"])
    lines = [f"{who},0{1000 + i % 3},{who} says that the new card works very well" for i, who in people]
    graph, notices = with_nodes(tmp_path, "id,zip,notes", lines)
    assert {"zip=01000", "zip=01001", "zip=01002"} <= set(graph.attribute_names)
    assert "Column 'zip' holds codes with leading zeros, which are not read as numbers." in notices
    assert graph.node_names is None


@pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson"])
def test_codes_with_leading_zeros_are_categories_in_every_format(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"from": PEOPLE * 2, "to": PEOPLE[1:] * 2 + PEOPLE[:2], "zip": ["01", "10", "11"] * 4})
    getattr(frame, f"write_{kind}")(tmp_path / f"a.{kind}")
    graph, notices = loaded(tmp_path / f"a.{kind}")
    assert graph.attribute_names == loaded(frame)[0].attribute_names
    assert "Column 'zip' holds codes with leading zeros, which are not read as numbers." in notices


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [("Fraude avérée", "Oui", "Non"), ("Betrugsverdacht", "ja", "nein"), ("suspeito?", "sim", "não")],
)
def test_known_cases_are_recognized_in_other_languages(name: str, yes: str, no: str, tmp_path: Path) -> None:
    for cells in ((yes, no), (no, "")):
        nodes = put(tmp_path / "nodes.csv", f"id,{name},age", [f"{w},{cells[i % 2]},{i}" for i, w in enumerate(PEOPLE)])
        edges = put(tmp_path / "edges.csv", f"from,to,{name}", rows("{a},{b},{c}", cells))
        graph, notices = loaded(edges, nodes=str(nodes))
        assert graph.attribute_names == ("age",)
        assert sum("looks like ground truth" in each for each in notices) == 2


def test_codes_that_nearly_nobody_shares_are_no_attributes(tmp_path: Path) -> None:
    edges = put(tmp_path / "edges.csv", "from,to", [f"p{i},p{(i + 1) % 60}" for i in range(60)])
    lines = [f"p{i},0{6000 + i},0{1000 + i % 55},{90000 + i % 55},{i % 9}" for i in range(60)]
    graph, notices = loaded(edges, nodes=put(tmp_path / "nodes.csv", "id,Tél.,Code postal,zip,age", lines))
    assert graph.attribute_names == ("age",)
    said = "Columns 'Code postal' and 'zip' have more than 50 different values and are left out; 10 rows share a value"
    assert any(each.startswith(said) for each in notices)


def test_phone_numbers_are_no_quantities_and_an_iban_is_no_name(tmp_path: Path) -> None:
    lines = [f"{w},+48 796 158 51{i},60{i} 100 20{i},DE{i}0500105175407324{i},{i}" for i, w in enumerate(PEOPLE)]
    graph, notices = with_nodes(tmp_path, "id,Telefon,Mobile,IBAN,age", lines)
    assert {"Telefon", "Mobile"}.isdisjoint(graph.attribute_names) and graph.node_names is None
    assert not any("name of each node" in each for each in notices)


@pytest.mark.parametrize(("yes", "no"), [("Y", "N"), ("fraud", "ok"), ("1.0", "0.0"), ("TRUE", "FALSE")])
def test_labels_are_read_in_words(yes: str, no: str, tmp_path: Path) -> None:
    lines = [f"{who},{20 + i},{yes if who == 'cy' else no}" for i, who in enumerate(PEOPLE)]
    graph, _ = with_nodes(tmp_path, "id,age,bad", lines, label="bad")
    assert graph.labels is not None and graph.labels.tolist() == [int(name == "cy") for name in graph.node_ids]
