"""Ids, cells and values: order, hashes, lookups, guarded text, JSON."""

from __future__ import annotations

import re
import sys
import unicodedata
from hashlib import blake2b

import numpy as np
import polars as pl
import pytest

from hopsight.system.arrays import (
    id_hashes,
    ids_ascend,
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
