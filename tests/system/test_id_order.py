"""The order of ids: words as words, numbers as numbers, whatever the order they come in."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hopsight.system.arrays import ids_ascend, sorted_by_id


def words_and_numbers(text: str) -> tuple[list[str | int], str]:
    """Return what Python sorts by: words and numbers alternate, and equal ones go by their text."""
    parts = re.split("([0-9]+)", text)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], text


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_letters_and_digits_are_sorted_by_words_and_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = {"".join(rng.choice(list("ab019² "), size=rng.integers(9))) for _ in range(500)}
    ids = np.array(rng.permutation(sorted(texts)).tolist(), dtype=object)
    order = sorted_by_id(ids)
    assert ids[order].tolist() == sorted(texts, key=words_and_numbers)
    assert ids_ascend(ids[order]) and not ids_ascend(ids)


def test_numbers_are_sorted() -> None:
    ids = np.array([5, -3, 9])
    assert sorted_by_id(ids).tolist() == [1, 0, 2]
    assert ids_ascend(np.array([-3, 5, 9])) and not ids_ascend(ids)


@pytest.mark.parametrize("kind", [object, np.int64])
def test_no_id_and_one_id_are_in_order(kind: type) -> None:
    assert ids_ascend(np.array([], dtype=kind)) and ids_ascend(np.array([7], dtype=kind))
