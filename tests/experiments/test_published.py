"""The paper's numbers."""

from __future__ import annotations

from paper.published import COMPLEXITY_NOTE, paper_value


def test_values_of_table_one():
    assert paper_value("HCM (paper)", "ahp", "flickr") == 0.791
    assert paper_value("HCM (authors)", "hav", "enron") == 0.715
    assert paper_value("ResGCN", "score", "amazon") == 0.710
    assert paper_value("MADAN, best t by the labels", "score", "enron") == 0.660
    assert paper_value("LOF", "score", "disney") is None
    assert paper_value("CrossHCM", "ahp", "flickr") is None
    assert paper_value("HCM", None, "flickr") is None


def test_the_note_says_where_the_formula_is_incomplete():
    assert "from one source" in COMPLEXITY_NOTE
    assert "HCM is missing" in COMPLEXITY_NOTE
