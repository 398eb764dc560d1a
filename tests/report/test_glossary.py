"""The words that a report explains are those of the documentation."""

from __future__ import annotations

from pathlib import Path

from hopsight.detectors.table import KINDS
from hopsight.report.glossary import GLOSSARY

PAGE = Path(__file__).resolve().parents[2] / "docs" / "glossary.md"


def test_every_word_of_the_report_is_on_the_page_of_the_documentation() -> None:
    text = PAGE.read_text(encoding="utf-8").casefold()
    assert [word for word in GLOSSARY if word.casefold().removesuffix("s") not in text] == []


def test_each_meaning_is_a_sentence_and_every_kind_of_evidence_has_one() -> None:
    assert set(KINDS) <= set(GLOSSARY)
    assert all(meaning[0].isupper() or meaning[0] in "1−" for meaning in GLOSSARY.values())
    assert all(meaning.endswith(".") for meaning in GLOSSARY.values())
