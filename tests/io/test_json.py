"""Rows of JSON: nested, unwrapped, by column or by row."""

import json
from pathlib import Path
from typing import Any

import pytest

from hopsight.graph import AttributedGraph

from .cases import MANY, PAIRS, PEOPLE, ends_are, loaded

BY_ROW = {str(28 + i): {"from": a, "to": b, "amount": i} for i, (a, b) in enumerate(PAIRS)}
BY_COLUMN = {name: {label: cells[name] for label, cells in BY_ROW.items()} for name in ("from", "to", "amount")}


def read(content: Any, path: Path) -> tuple[AttributedGraph, list[str]]:
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, content)))
    else:
        path.write_text(json.dumps(content, indent=1 if isinstance(content, list) else None))
    return loaded(path)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_nested_objects_and_arrays(name: str, tmp_path: Path) -> None:
    rows = [{"sender": {"id": a}, "receiver": {"id": b}, "paid": {"value": i}} for i, (a, b) in enumerate(PAIRS)]
    graph, notices = read(rows, tmp_path / name)
    assert graph.node_ids.tolist() == PEOPLE and graph.edge_attribute_names == ("paid.value",)
    assert ends_are("sender.id", "receiver.id") in notices


@pytest.mark.parametrize("content", [BY_ROW, BY_COLUMN], ids=["by row", "by column"])
def test_objects_of_pandas(content: object, tmp_path: Path) -> None:
    assert read(content, tmp_path / "a.json")[0].n_edges == 12


def test_an_answer_of_an_api_is_unwrapped(tmp_path: Path) -> None:
    rows = [
        {"id": i, "from": {"id": p, "name": f"U{p}"}, "to": {"id": q, "name": f"U{q}"}, "likes": i % 5}
        for i, (p, q) in enumerate(MANY)
    ]
    graph, _ = read({"data": rows, "paging": {"next": "x"}}, tmp_path / "api.json")
    found = {frozenset(pair) for pair in graph.node_ids[graph.edges.T].tolist()}
    assert found == {frozenset(pair) for pair in MANY if pair[0] != pair[1]}
    assert graph.edge_attribute_names == ("likes",)


def test_the_name_of_an_actor_is_no_other_end(tmp_path: Path) -> None:
    rows = [
        {"id": f"24{i}", "type": "Watch", "actor": {"id": p, "login": f"u{p}"}, "repo": {"id": q, "name": f"r{q}"},
         "created_at": f"2015-01-01T15:00:{i:02}Z"}
        for i, (p, q) in enumerate(MANY)
    ]  # fmt: skip
    graph, notices = read(rows, tmp_path / "events.jsonl")
    assert ends_are("actor.id", "repo.id") in notices
    assert sorted(set(graph.node_types)) == ["actor", "repo"]
    assert {"actor:5", "repo:5"} <= set(graph.node_ids) and graph.edge_attribute_names == ()
