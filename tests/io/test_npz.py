"""The .npz format: an exact copy of the graph, and no harm from a hostile file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopsight.canonical import Events
from hopsight.graph import AttributedGraph
from hopsight.io.npz import read_npz, write_npz

from .cases import refuses


def test_directed_edges_float32_and_whole_number_ids_are_restored(tmp_path: Path) -> None:
    graph = AttributedGraph.from_edges(
        [2, 0, 1], [0, 1, 0], np.ones((3, 1), dtype=np.float32), directed=True, node_ids=[-5, 0, 2**62]
    )
    write_npz(graph, tmp_path / "g.npz")
    again = read_npz(tmp_path / "g.npz")
    assert again.directed and again.edges.tolist() == graph.edges.tolist()
    assert again.node_ids.tolist() == [-5, 0, 2**62] and again.attributes.dtype == np.float32
    assert again.labels is None


def test_the_same_graph_gives_the_same_bytes(hard_graph: AttributedGraph, tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_npz(hard_graph, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_two_arrays_are_enough(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "own.npz", edges=[[0, 1], [1, 2]], attributes=np.asfortranarray([[1, 2], [3, 4], [5, 6]]))
    graph = read_npz(tmp_path / "own.npz")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.attributes.tolist() == [[1, 2], [3, 4], [5, 6]] and graph.name == "own"


@pytest.mark.parametrize(("arrays", "words"), [
    ({"attributes": [[1.0]]}, "no array called edges"), ({"edges": [[0], [1]]}, "no array called attributes"),
    ({"edges": [[0, 1], [1, 9]], "attributes": [[1.0], [2.0]]}, "outside"),
    ({"edges": [[0.0], [1.0]], "attributes": [[1.0], [2.0]]}, "whole numbers"),
    ({"edges": [[0], [1]], "attributes": [[1.0], [np.nan]]}, "finite"),
    ({"edges": [[0], [1]], "attributes": [["a"], ["b"]]}, "only numbers"),
    ({"edges": [[0], [1]], "attributes": [[1.0], [2.0]], "hopsight_graph": 2}, "update hopsight"),
    ({"edges": [[0], [1]], "attributes": [[1.0], [2.0]], "labels": [0, 7]}, "labels"),
    ({"edges": [[0], [1]], "attributes": [[1.0], [2.0]], "node_ids_text": np.zeros(2, "u1")}, "damaged"),
])  # fmt: skip
def test_arrays_that_do_not_match_are_refused(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    refuses(words, tmp_path / "bad.npz", by=read_npz)


@pytest.mark.parametrize(("changes", "words"), [
    ({"attributes_indices": [0, 99]}, "ind"), ({"attributes_indptr": [0, 2, 1, 2]}, "ind"),
    ({"attributes_shape": [3, 10**12]}, "an implausible size"), ({"attributes_shape": [10**12, 2]}, "damaged"),
])  # fmt: skip
def test_a_damaged_sparse_matrix_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    parts = {
        "edges": [[0], [1]],
        "attributes_data": [1.0, 2.0],
        "attributes_indices": [0, 1],
        "attributes_indptr": [0, 1, 2, 2],
        "attributes_shape": [3, 2],
    }
    np.savez(tmp_path / "good.npz", **parts)
    assert read_npz(tmp_path / "good.npz").attributes.toarray().tolist() == [[1, 0], [0, 2], [0, 0]]
    np.savez(tmp_path / "bad.npz", **(parts | changes))
    refuses(words, tmp_path / "bad.npz", by=read_npz)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path.joinpath("sprung").touch, ())

    np.savez(tmp_path / "trap.npz", edges=[[0], [1]], attributes=np.array([[Trap()], [Trap()]], dtype=object))
    refuses("Object arrays cannot be loaded", tmp_path / "trap.npz", by=read_npz)
    assert not (tmp_path / "sprung").exists()


def test_earlier_events_keep_their_amounts_and_currencies(tmp_path: Path) -> None:
    """Bursts of a later file are compared with what was paid before it."""
    earlier = Events(np.array([0, 1]), np.array([1, 2]), np.array([5.0, np.nan]), np.array([1.0, 2.0]),
                     np.array([1, 0]), ("EUR", "USD"))  # fmt: skip
    now = Events(np.array([0]), np.array([2]), np.array([7.0]), np.array([9.0]), np.array([1]), ("EUR", "USD"),
                 earlier=earlier)  # fmt: skip
    write_npz(AttributedGraph.from_edges([0], [2], np.zeros((3, 1)), events=now), tmp_path / "g.npz")
    found = read_npz(tmp_path / "g.npz").events.earlier
    for column in ("source", "target", "amount", "time", "currency"):
        np.testing.assert_array_equal(getattr(found, column), getattr(earlier, column))
    assert found.currencies == ("EUR", "USD")
