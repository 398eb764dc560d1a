"""Ids in the edges without a row in the node table: read, told apart, and ranked only if asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hopsight.detectors import get_detector
from hopsight.graph import AttributedGraph
from hopsight.io.npz import read_npz
from hopsight.loading import load
from hopsight.runs.detect import detect
from hopsight.runs.request import Request, Source
from hopsight.runs.results import read_table

N, OUTSIDE = 60, 12


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outside")
    rng = np.random.default_rng(0)
    ends = rng.integers(0, N, (2, 240))
    outside = [f"x{number}" for number in range(OUTSIDE)]
    pairs = [(f"p{a}", f"p{b}") for a, b in ends.T.tolist()] + [(f"p{number}", outside[0]) for number in range(N)]
    pairs += [(name, f"p{number}") for number, name in enumerate(outside)] + [(outside[1], outside[2])]
    edges = pl.DataFrame(pairs, schema=["source", "target"], orient="row")
    edges.write_csv(folder / "edges.csv")
    people = pl.DataFrame({"id": [f"p{number}" for number in range(N)], "age": rng.normal(40, 9, N).round(1)})
    people.with_columns(income=pl.Series(rng.normal(3000, 500, N).round())).write_csv(folder / "people.csv")
    return folder


def run(tables: Path, folder: Path, **options: object) -> pl.DataFrame:
    source = Source(path=str(tables / "edges.csv"), nodes=str(tables / "people.csv"), **options)  # type: ignore[arg-type]
    settings = {"n_epochs": "24", "burn_in": "12", "contamination": "0.1", "min_class_pairs": "20"}
    detect(Request(detector="cross_hcm", source=source, settings=settings), folder)
    return read_table(folder / "scores.csv")


def test_nodes_without_a_row_come_last_and_are_never_flagged(tables: Path, tmp_path: Path) -> None:
    scores = run(tables, tmp_path / "out")
    assert scores["known"].to_list() == [1] * N + [0] * OUTSIDE
    assert scores["flagged"].to_list() == [1] * 6 + [0] * (N + OUTSIDE - 6)  # 10% of those that are ranked
    again = read_npz(tmp_path / "out" / "graph.npz")
    assert again.known.sum() == N
    assert again.ranked is not None


def test_they_are_ranked_if_asked_for_and_still_told_apart(tables: Path, tmp_path: Path) -> None:
    scores = run(tables, tmp_path / "out", rank_unknown=True)
    assert scores["known"].to_list() != [1] * N + [0] * OUTSIDE
    assert scores["known"].sum() == N


def test_an_edge_to_a_node_without_attributes_is_no_evidence(tables: Path) -> None:
    graph: AttributedGraph = load(tables / "edges.csv", tables / "people.csv", notices=[])
    quick = get_detector("cross_hcm").quick
    model = get_detector("cross_hcm")(**quick).fit(graph)
    hops = model.edge_hop_[~graph.known_edges]
    assert hops.size == OUTSIDE + N + 1 - 1  # p0 and x0 have an edge in both directions
    assert set(hops.tolist()) == {float(np.median(model.edge_hop_[graph.known_edges]))}
    assert not model.edge_label_[~graph.known_edges].any()
    assert not any(graph.node_ids[place].startswith("x") for place, _ in model.questions(30, graph))


@pytest.mark.parametrize("option", ["only", "learn_from"])
def test_a_bad_list_of_nodes_is_refused_before_the_fit(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    (tmp_path / "list.csv").write_text("node,verdict\np1,anomalous\nnobody,normal\n")
    monkeypatch.setattr("hopsight.runs.detect._fit", lambda *_, **__: pytest.fail("fitted"))
    source = Source(path=str(tables / "edges.csv"), nodes=str(tables / "people.csv"))
    asked = {option: str(tmp_path / "list.csv")}
    with pytest.raises(ValueError, match="nobody"):
        detect(Request(detector="cross_hcm", source=source, **asked), tmp_path / "out")  # type: ignore[arg-type]
