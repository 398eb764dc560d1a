"""Ids, cells and values: order, hashes, lookups, guarded text, JSON."""

from __future__ import annotations

import copy
import json
import math
import re
import sys
import unicodedata
from hashlib import blake2b
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from hopsight.graph import AttributedGraph
from hopsight.system.arrays import (
    find_edges,
    frozen_csr,
    id_hashes,
    ids_ascend,
    is_simple,
    plain,
    simple_csr,
    sorted_by_id,
)
from hopsight.system.cells import MARK, guarded, guarded_frame, mark_guarded, unguarded, unguarded_names

RISKY = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'tis", " =1+1", "\u00a0=1", "\ufeff=1", "\u200b=1"]
RISKY += ["\ufeff  @x", "＝1+1", "＋1", "－1", "＠x", " ＝1", "\x00=1", "﹢1"]
HARMLESS = ["Ada", "", " ", "a=b", "\ufeffAda", "1-2", "é", "ａ＝1", "—"]


@pytest.mark.parametrize("cell", RISKY)
def test_what_could_be_a_formula_is_guarded(cell: str) -> None:
    assert guarded(cell) == f"'{cell}" and unguarded(guarded(cell)) == cell


@pytest.mark.parametrize("cell", HARMLESS)
def test_other_text_stays_as_it_is(cell: str) -> None:
    assert guarded(cell) == cell == unguarded(cell)


def test_all_cells_of_a_table_are_guarded_as_single_ones_are() -> None:
    signs = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.normalize("NFKC", c)[:1] in [*"=+-@"]]
    cells = [*RISKY, *HARMLESS, None, *(f"{sign}1" for sign in signs), *(f"\u2028{sign}1" for sign in signs)]
    table = guarded_frame(pl.DataFrame({"text": cells, "number": range(len(cells)), "text2": cells}))
    expected = [None if cell is None else guarded(cell) for cell in cells]
    assert table["text"].to_list() == expected == table["text2"].to_list()
    assert len(signs) > 15 and table["number"].to_list() == list(range(len(cells)))


def test_only_a_table_with_guarded_cells_is_marked() -> None:
    plain = pl.DataFrame({"id": ["a"], "x": [-1.0]})
    assert mark_guarded(plain) is plain and unguarded_names(plain.columns) is None
    for risky in ({"id": ["=1"], "x": [1]}, {"id": ["a"], " +x": [1]}, {"=id": ["a"], "'x": ["'"]}):
        frame = pl.DataFrame(risky)
        safe = mark_guarded(frame)
        assert safe.columns[0].startswith(MARK) and unguarded_names(safe.columns) == tuple(frame.columns)
        assert all(guarded(name) == name or name[0] == "'" for name in safe.columns)


def test_an_id_is_hashed_as_the_text_it_is_written_as() -> None:
    ids = np.array([7, "7", "añb", "\ud800"], dtype=object)
    wanted = [int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
              for text in ("7", "7", "añb", "\ud800")]  # fmt: skip
    assert id_hashes(ids).tolist() == wanted
    assert id_hashes(np.array([7])).tolist() == wanted[:1]


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


@pytest.mark.parametrize("directed", [False, True])
def test_edges_are_found_by_their_ends(rng: np.random.Generator, directed: bool) -> None:
    graph = AttributedGraph.from_edges(*rng.integers(0, 40, (2, 300)), np.zeros((40, 1)), directed=directed)
    keys = graph.edges[0] * 40 + graph.edges[1]
    source, target = rng.integers(0, 40, (2, 500))
    found = find_edges(graph.edges, graph.edge_starts, source, target)
    assert found.tolist() == np.searchsorted(keys, source * 40 + target).tolist()


def test_what_a_record_may_hold_becomes_json() -> None:
    value = {"a": np.float32(0.5), "b": (np.int64(3), math.inf), "c": np.array([[True]]), "d": Path("x"), 5: None}
    text = json.dumps(plain(value), allow_nan=False)
    assert json.loads(text) == {"a": 0.5, "b": [3, None], "c": [[True]], "d": "x", "5": None}


def test_a_matrix_that_was_changed_is_no_longer_known_to_be_simple() -> None:
    path = simple_csr(sp.csr_array(np.array([[0, 1], [1, 0]], dtype=np.float32)))
    assert is_simple(path)
    assert not is_simple(frozen_csr(path))
    assert not is_simple(copy.deepcopy(path))  # which can be written to
    path.data = np.array([1.0, 0.0], dtype=np.float32)
    assert not is_simple(path)
