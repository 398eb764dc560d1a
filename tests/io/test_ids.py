"""Node ids: numbers only where they can be restored, and the position of every edge end."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hopsight.io.ids import as_ids, check_unique, positions, same_type


@pytest.mark.parametrize(
    ("values", "typed", "expected"),
    [
        (["1", "-2", "0"], False, [1, -2, 0]),
        (["1", "-2", "0"], True, ["1", "-2", "0"]),
        (["1", "02"], False, ["1", "02"]),
        (["1", "+2"], False, ["1", "+2"]),
        (["1", "-0"], False, ["1", "-0"]),
        (["1", "2.0"], False, ["1", "2.0"]),
        (["1", " 2"], False, ["1", " 2"]),
        (["1", "a"], False, ["1", "a"]),
        (["1", "9" * 30], False, ["1", "9" * 30]),
        ([1, 2], True, [1, 2]),
        ([1.0, 2.0], True, [1, 2]),
        ([1.5, 2.0], True, ["1.5", "2.0"]),
        (pl.Series([1, 2**64 - 1], dtype=pl.UInt64), True, ["1", str(2**64 - 1)]),
        (pl.Series([1, 2], dtype=pl.UInt8), True, [1, 2]),
        ([True, False], True, ["true", "false"]),
    ],
)
def test_only_whole_numbers_in_their_usual_form_are_numbers(values: object, typed: bool, expected: object) -> None:
    ids = as_ids(pl.Series("id", values), typed=typed)
    assert ids.to_list() == expected
    assert ids.dtype in (pl.Int64, pl.String)


def test_an_empty_cell_is_not_an_id() -> None:
    with pytest.raises(ValueError, match="column 'source', row 2 has no node id"):
        as_ids(pl.Series("source", ["a", None]), typed=False)


def test_one_text_id_makes_all_ids_text() -> None:
    numbers, words = pl.Series([1, 2]), pl.Series(["1", "x"])
    assert [column.to_list() for column in same_type(numbers, words)] == [["1", "2"], ["1", "x"]]
    assert [column.dtype for column in same_type(numbers, numbers)] == [pl.Int64, pl.Int64]


def test_two_rows_for_one_node_are_refused() -> None:
    check_unique(pl.Series(["a", "b"]))
    with pytest.raises(ValueError, match="node 'b' has two rows, 2 and 4"):
        check_unique(pl.Series(["a", "b", "c", "b"]))


@pytest.mark.parametrize(
    "ids",
    [["x", "", "y", "😀"], [10, 7, 8, 9], [5, -(2**63), 2**63 - 1, 0]],
    ids=["text", "numbers close together", "numbers far apart"],
)
def test_every_end_finds_its_node(ids: list[object]) -> None:
    expected = np.random.default_rng(0).integers(0, 4, 50)
    nodes = pl.Series(ids)
    assert np.array_equal(positions(nodes, nodes.gather(expected))[0], expected)
    assert positions(nodes, nodes.head(0))[0].size == 0
    stranger = "stranger" if nodes.dtype == pl.String else 123_456
    with pytest.raises(ValueError, match=f"node '?{stranger}'? is in an edge but has no row"):
        positions(nodes, pl.Series([ids[0], stranger, ids[1]]))


def test_ids_with_the_same_hash_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, ends = pl.Series(["a", "b", "c"]), pl.Series(["c", "a", "b", "c"])
    for constant in (0, 1):
        fakes = {"a": 5, "b": 5 + constant, "c": 7, "stranger": 7}
        with monkeypatch.context() as patched:
            hashes = lambda self, fakes=fakes: pl.Series([fakes[word] for word in self], dtype=pl.UInt64)  # noqa: E731
            patched.setattr(pl.Series, "hash", hashes)
            assert positions(nodes, ends)[0].tolist() == [2, 0, 1, 2]
            with pytest.raises(ValueError, match="'stranger'"):
                positions(nodes, pl.Series(["a", "stranger"]))


def test_unknown_numbers_at_the_ends_of_the_range_are_refused() -> None:
    nodes = pl.Series([0, 1, 2])
    for stranger in (-(2**63), 2**63 - 1, -1, 3):
        with pytest.raises(ValueError, match="has no row"):
            positions(nodes, pl.Series([0, stranger]))


def test_a_long_id_is_shortened_in_messages() -> None:
    with pytest.raises(ValueError, match=r"^node 'x+… has two rows, 1 and 2$"):
        check_unique(pl.Series(["x" * 10_000] * 2))
