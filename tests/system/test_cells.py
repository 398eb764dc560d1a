"""No text cell of a CSV file begins a formula, and every one can be restored."""

from __future__ import annotations

import sys
import unicodedata

import polars as pl
import pytest

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
