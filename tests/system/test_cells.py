"""No text cell of a CSV file begins a formula, and every one can be restored."""

from __future__ import annotations

import pytest

from hopsight.system.cells import guarded, unguarded

RISKY = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'tis", " =1+1", "\u00a0=1", "\ufeff=1", "\u200b=1"]
RISKY += ["\ufeff  @x", "＝1+1", "＋1", "－1", "＠x", " ＝1", "\x00=1", "﹢1"]
HARMLESS = ["Ada", "", " ", "a=b", "\ufeffAda", "1-2", "é", "ａ＝1", "—"]


@pytest.mark.parametrize("cell", RISKY)
def test_what_could_be_a_formula_is_guarded(cell: str) -> None:
    assert guarded(cell) == f"'{cell}" and unguarded(guarded(cell)) == cell


@pytest.mark.parametrize("cell", HARMLESS)
def test_other_text_stays_as_it_is(cell: str) -> None:
    assert guarded(cell) == cell == unguarded(cell)
