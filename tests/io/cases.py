"""A table as somebody has it, what a user sees of it, and the small tables that tests write."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import xlsxwriter

from hopsight.graph import AttributedGraph
from hopsight.loading import load

DAY = 86400.0
PEOPLE = ["ann", "bo", "cy", "di", "eve", "flo"]
FEW = tuple((i % 6, (i + 1 + i // 6) % 6) for i in range(12))  # no pair twice, in no direction
MANY = tuple((i % 12, (i * 5 + 1 + i // 12) % 12) for i in range(48))
PAIRS = [(PEOPLE[p], PEOPLE[q]) for p, q in FEW]


def rows(template: str, cells: Sequence[str] = ("",), pairs: Sequence[tuple[int, int]] = FEW) -> list[str]:
    """Return a row per pair of numbers.

    The template may name both ends as people (``a``, ``b``) or numbers (``p``, ``q``), the number ``i`` of the row, a
    ``day``, a day from 20 on (``end``), a ``month``, and the next of ``cells`` (``c``), which may name the others.
    """
    written = []
    for i, (p, q) in enumerate(pairs):
        known: dict[str, Any] = {"p": p, "q": q, "i": i, "day": i % 28 + 1, "end": i % 12 + 20, "month": i % 12 + 1}
        known |= {"a": PEOPLE[p % 6], "b": PEOPLE[q % 6]}
        written.append(template.format(**known, c=cells[i % len(cells)].format(**known)))
    return written


def put(path: Path, header: str, lines: str | Sequence[str] = "{a},{b}", *, encoding: str = "utf-8") -> Path:
    """Write a header above rows, or above those of a template."""
    lines = rows(lines) if isinstance(lines, str) else lines
    path.write_bytes(("\n".join([header, *lines] if header else lines) + "\n").encode(encoding))
    return path


def workbook(path: Path, *lines: Sequence[Any], forms: Mapping[int, str] | None = None) -> Path:
    """Write rows into a workbook, some of its columns in forms of a spreadsheet."""
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("payments")
        for column, form in (forms or {}).items():
            sheet.set_column(column, column, None, book.add_format({"num_format": form}))
        for number, cells in enumerate(lines):
            sheet.write_row(number, 0, cells)
    return path


def loaded(source: object, **options: Any) -> tuple[AttributedGraph, list[str]]:
    """Load a table as a user does, with the notices."""
    return load(source, notices=(notices := []), **options), notices


def refuses(words: str, *sources: object, by: Callable[..., object] = load, **options: Any) -> None:
    """Read what must be refused in one sentence that has the words."""
    if by is load:
        options = {"notices": [], **options}
    with pytest.raises(ValueError, match=words) as caught:
        by(*sources, **options)
    assert "\n" not in str(caught.value)


def fits(text: str, sentence: str) -> bool:
    """Whether a text is a sentence, in which … stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, sentence.split("…"))), text, re.DOTALL) is not None


def ends_are(first: str, second: str) -> str:
    """Return what is said of the columns of the ends."""
    return f"Read edges from column {first!r} to column {second!r}."


@dataclass(frozen=True)
class Case:
    """A table, and what must be said of it and read from it.

    ``row`` is a template of ``rows`` or the rows themselves; ``before`` and ``after`` are the text around them, and
    ``swap`` is one piece of that text and what stands there instead. ``frame`` gives the table as a data frame, of
    "text" or "typed", and not as a file. The other fields are what is expected; those that are not given may be
    anything. ``times`` has the first time and the seconds from row to row, of which the rows ``untimed`` have none;
    ``sums`` are the columns of amounts; ``gone`` are columns that are left out with a notice.
    """

    header: str
    row: str | Sequence[str] = "{a},{b}"
    cells: Sequence[str] = ("",)
    said: str | Sequence[str] = ()
    _: KW_ONLY
    unsaid: str = ""
    ends: str = ""
    ids: list[Any] | None = None
    times: tuple[str, float] | None = None
    untimed: Sequence[int] = ()
    timed: bool | None = None
    amounts: Sequence[float] | None = None
    currencies: tuple[str, ...] | None = None
    sums: tuple[str, ...] | None = None
    n_edges: int | None = None
    gone: Sequence[str] = ()
    refused: str = ""
    before: str = ""
    after: str = ""
    swap: tuple[str, str] = ("", "")
    pairs: Sequence[tuple[int, int]] = FEW
    options: Mapping[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    name: str = "a.csv"
    query: str = ""
    frame: str = ""

    def source(self, folder: Path) -> Any:
        """Write the table and return what is loaded."""
        lines = rows(self.row, self.cells, self.pairs) if isinstance(self.row, str) else self.row
        text = self.before + "\n".join([self.header, *lines] if self.header else lines) + "\n" + self.after
        old, new = self.swap
        assert old in text, "there is nothing to swap"
        text = text.replace(old, new) if old else text
        if self.frame:
            typed = self.frame == "typed"
            return pl.read_csv(io.StringIO(text), infer_schema=typed, try_parse_dates=typed)
        (folder / self.name).write_bytes(text.encode(self.encoding))
        return f"{folder / self.name}{self.query}"

    def check(self, folder: Path) -> None:
        """Load the table and compare all that is expected of it."""
        source = self.source(folder)
        if self.refused:
            with pytest.raises(ValueError) as caught:
                loaded(source, **self.options)
            assert fits(str(caught.value), self.refused) and "\n" not in str(caught.value), caught.value
            return
        graph, notices = loaded(source, **self.options)
        said = [self.said] if isinstance(self.said, str) else [*self.said]
        for sentence in [*said, *([ends_are(*self.ends.split(">"))] if self.ends else [])]:
            assert sum(fits(each, sentence) for each in notices) == 1, (sentence, notices)
        assert not self.unsaid or not any(fits(each, self.unsaid) for each in notices), notices
        for name in self.gone:
            said_so = [each for each in notices if re.match(r"Columns? '.* left out", each) and repr(name) in each]
            assert said_so, (name, notices)
        for expected, found in (
            (self.ids, sorted(graph.node_ids.tolist())),
            (self.sums, graph.edge_attribute_names),
            (self.n_edges, graph.n_edges),
            (self.timed, graph.edge_time is not None),
            (self.currencies, graph.events is not None and graph.events.currencies),
        ):
            assert expected is None or found == expected, notices
        if self.amounts is not None:
            np.testing.assert_allclose(np.sort(graph.events.amount), np.sort(self.amounts))
        if self.times is not None:
            first, step = np.datetime64(self.times[0], "ms").astype(float) / 1000, self.times[1]
            expected = [np.nan if i in self.untimed else first + step * i for i in range(len(self.pairs))]
            np.testing.assert_allclose(np.sort(graph.events.time), np.sort(expected), rtol=0, atol=1e-3)


def each_of(cases: Mapping[str, Case]) -> pytest.MarkDecorator:
    """Run a test with each of the cases, whose names say what is tested."""
    return pytest.mark.parametrize("case", cases.values(), ids=cases)
