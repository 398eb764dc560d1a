"""Read CSV and its relatives: any usual encoding, compression and separator, comments, with or without a header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from hopsight.checks import plural, shortened
from hopsight.io.nodes import distinct
from hopsight.io.notices import notice, notice_renamed
from hopsight.io.sources import TABLE_SUFFIXES, ZLIB, Address, check_filled, check_loaded, kind_of, reading, unpacked
from hopsight.io.vocabulary import find_end_names
from hopsight.system.cells import unguarded_names
from hopsight.system.lazy_polars import pl

SEPARATORS = (",", "\t", ";", "|", " ")
COMMENTS = ("#", "%")
EMPTY = "hopsight_empty_cells"
MOST_BEFORE, LEAST_BELOW = 10, 3  # lines above a table that are recognized, if so many are below
SAMPLE = 2**20  # bytes in which the separator and the header are recognized
LONGEST_LINE = 16 * 2**20  # bytes of a header; 100,000 columns need less
_PIECE = 16 * 2**20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1f]")
_FORMULA = re.compile(r'^="(.*)"$')
_NUMBERS = re.compile(r"[\d\s]+")
_QUOTED_LATE = re.compile(rb'(?m)(^|[,;|\t]) +(?=")')  # a, "b": the quotes belong to the cell all the same
_ESCAPED = re.compile(r'\\"(?![,;|\t\r\n]|$)')  # "say \"hi\"", as MySQL writes, and no folder as in "C:\"
_IN_CELL = re.compile(r'(?:^|[,;|\t])"[^"]*"[^",;|\t\r\n]')  # "Gold" Ltd
_QUOTED, _WHOLE = re.compile(rb'"(?:[^"]|"")*"'), re.compile(rb'^"(.*)"$')
_SPACES, _PADDING = re.compile(rb"[ \t]+"), re.compile(rb"(?m)^ | (?=\r?$)")


_POLISH = re.compile(  # Windows-1250 read as Windows-1252; the sign first, which is fast to search for
    r"[¹¿¯\x8f³£¥](?:(?<=[^\W\d_][¹¿¯\x8f])|(?<=[^\W\d_][³£¥])(?=[^\W\d_])|(?<=[¯\x8f])(?=[^\W\d_])"
    r"|(?<=£)(?!GBP)(?=[^\W\d_]{2}))"
)
_CODEPAGES = {"cp1250": "Central European", "cp1251": "Cyrillic", "cp1252": "Western European"}
_NUMBER = re.compile(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*")
_YEAR = re.compile(r"\s*(19|20)[0-9]{2}\s*")


@dataclass(frozen=True)
class TextTable:
    """A text table whose header has been read and whose rows have not."""

    path: Path
    names: tuple[str, ...]
    separator: str
    has_header: bool
    comment: str | None = None  # what comments among the rows begin with
    n_above: int = 0  # lines of comments above the table
    content: bytes | None = None  # the table in UTF-8, if it is not the file itself
    guarded: bool = False  # whether hopsight put a ' before texts that spreadsheets take for formulas
    first_rows: Sequence[Sequence[str]] = ()  # cells of the first rows, without the header
    formulas: bool = False  # whether cells are written as ="0042", so that a spreadsheet keeps them
    padded: bool = False  # whether spaces around cells mean nothing, as in "ann, bo, 7"
    of_folders: Mapping[str, str] = field(default_factory=dict)  # columns that folders such as year=2024 name
    encoding: str = "utf-8"  # of the file

    def scan(self, columns: Sequence[str], text: Sequence[str], *, guess: bool = True) -> pl.LazyFrame:
        """Return these columns, to be read when they are needed; empty rows are left out.

        Columns named in ``text`` are never read as numbers. With ``guess``, polars infers the types of the others from
        the first rows, which saves much memory, and fails where a later row does not fit; otherwise all are text.
        """
        options: dict[str, Any] = {
            "separator": self.separator, "comment_prefix": self.comment, "skip_lines": self.n_above,
            "has_header": self.has_header, "glob": False,
        }  # fmt: skip
        source = self.path if self.content is None else self.content
        # polars does not undouble the quotes in a name, so columns are matched by position.
        theirs = pl.scan_csv(source, infer_schema=False, **options).collect_schema().names()
        if len(theirs) != len(self.names):
            raise ValueError("its first line is not the header of a table")
        types = {their: pl.String for their, name in zip(theirs, self.names, strict=True) if name in text}
        rows = pl.scan_csv(source, infer_schema=guess, schema_overrides=types, **options)
        rows = rows.rename(dict(zip(theirs, self.names, strict=True)))
        rows = rows.with_columns(pl.lit(value).alias(name) for name, value in self.of_folders.items()).select(columns)
        if self.guarded:
            rows = rows.with_columns(pl.col(pl.String).str.strip_prefix("'"))
        if self.formulas:
            rows = rows.with_columns(pl.col(pl.String).str.replace(_FORMULA.pattern, "${1}"))
        if self.padded:
            rows = rows.with_columns(pl.col(pl.String).str.strip_chars().replace("", None))
        own = [name for name in columns if name not in self.of_folders]
        if not own:
            return rows
        empty = pl.sum_horizontal(pl.col(own).is_null()).alias(EMPTY)  # a filter by many columns takes polars minutes
        return rows.with_columns(empty).filter(pl.col(EMPTY) < len(own)).select(columns)

    def refusal(self, error: Exception) -> str:
        """Say why the rows cannot be read, not even as text."""
        if "more fields" in str(error):
            return f"{self._long_row()} has more cells than its header; put cells that contain the separator in quotes"
        lines = (f"line {at} ({shortened(line)})" for at, line in enumerate(self._lines(), 1) if _IN_CELL.search(line))
        return (
            f"{next(lines, 'a line')} has a cell that begins with a quotation mark but does not end with it; put the "
            "whole cell in quotes, and double those inside it"
        )

    def requoted(self) -> TextTable:
        """Return the table with quotes around cells such as "Gold" Ltd; unchanged if its cells have several lines."""
        content = _requoted(self.path, self.content, self.separator, self.n_above, self.comment)
        return self if content is None else replace(self, content=content, n_above=0, comment=None)

    def _lines(self) -> io.StringIO:
        content = self.content if self.content is not None else self.path.read_bytes()
        return io.StringIO(content.decode(errors="replace"), newline="")

    def _long_row(self) -> str:
        """Return the number and the beginning of the first row with too many cells."""
        lines = self._lines()
        rows = (line for line in lines if line.strip() and not (self.comment and line.startswith(self.comment)))
        with suppress(csv.Error):
            for number, row in enumerate(csv.reader(rows, delimiter=self.separator), 1 - self.has_header):
                if len(row) > len(self.names):
                    return f"row {number} ({shortened(self.separator.join(row))})"
        return "one of its rows"


def open_text(
    path: Path, *, header: bool | None = None, encoding: str | None = None, notices: list[str] | None = None
) -> TextTable:
    """Read the header of a text table, which may be compressed.

    By default the first line holds names, unless it looks like all other lines; the columns are then called
    ``column1, column2, …``. The encoding is by default UTF-8, UTF-16 with a byte order mark, or else Windows-1252 with
    a notice.
    """
    content, found, n_inside = _content(path, encoding, notices)
    start = _start_text(path, content)
    whole = list(io.StringIO(start, newline=""))
    if _ESCAPED.search(start):
        content = (path.read_bytes() if content is None else content).replace(b'\\"', b'""')
        whole = list(io.StringIO(_start_text(path, content), newline=""))
    n_above, remarks, comment = _remarks(whole)
    lines = [line for line in whole[n_above:] if line.strip() and not (comment and line.startswith(comment))]
    if comment and (aside := next((line for line in whole[n_above:] if line.startswith(comment)), None)):
        those = f"Left out the lines of {path.name} that begin with {comment.strip()!r}"
        notice(f"{those}, such as {shortened(aside.strip())}: these are comments.", notices)
    if not lines:
        raise ValueError("it has no rows")
    if lines[0].lstrip().lower().startswith(("<!doctype html", "<html")):
        raise ValueError("it is a web page, not a table; download the file itself")
    separator, n_before = _layout(lines, path)
    if n_before:
        n_lines = whole.index(lines[n_before])
        content = (path.read_bytes() if content is None else content).split(b"\n", n_lines)[n_lines]
        n_above = 0
        above, lines = lines[:n_before], lines[n_before:]
        names_above, rows_below = _rows(above[-1:], separator)[0], _rows(lines, separator)
        if len(names_above) > 1 and all(len(row) == len(names_above) + 1 for row in rows_below):
            ends_empty = all(not row[-1].strip() for row in rows_below)
            if ends_empty or all(row[0] == str(number) for number, row in enumerate(rows_below, 1)):  # as R writes them
                first = above.pop().rstrip("\r\n")
                lines.insert(0, f"{first}{separator}\n" if ends_empty else f"row{separator}{first}\n")
                content = lines[0].encode() + content
        if above:
            those = f"{plural(len(above), 'line')} above the table in {path.name}"
            notice(f"Left out {those}: {shortened(above[0].strip())}.", notices)
    requoted = None
    if separator != " " and (n_inside or any(_IN_CELL.search(line) for line in lines)):
        requoted = _requoted(path, content, separator, n_above, comment)
    if requoted is not None:
        content = requoted
        lines = list(io.StringIO(_start_text(path, content), newline=""))
        n_above, comment = 0, None
    elif n_inside:
        is_one = n_inside == 1
        those = f"{plural(n_inside, 'line')} of {path.name} {'begins' if is_one else 'begin'} within quotation marks"
        belong = f"{'belongs' if is_one else 'belong'} to the row above"
        notice(f"{those} and {belong}: a quotation mark in a cell must be doubled.", notices)
    rows = _rows(lines, separator)
    if any(cell.startswith(" ") and cell.lstrip(" ").startswith('"') for row in rows for cell in row):
        content = _QUOTED_LATE.sub(rb"\1", path.read_bytes() if content is None else content)
        lines = [_QUOTED_LATE.sub(rb"\1", line.encode()).decode() for line in lines]
        rows = _rows(lines, separator)
    if separator == " ":
        content = path.read_bytes() if content is None else content
        content = content if b'"' in content else _PADDING.sub(b"", _SPACES.sub(b" ", content))  # quoted cells stay
    if content is not None:
        n_rows = content.count(b"\n")
        check_loaded(path.stat().st_size, n_nodes=n_rows, n_numbers=n_rows + content.count(separator.encode()))
    in_remark = _remark_names(remarks, separator, len(rows[0]))
    is_data = in_remark is not None and any(cell.strip()[:1].isdigit() for cell in rows[0])
    named = (has_header(rows) and not is_data) if header is None else header
    padded = _are_padded(lines, rows)
    rows = [[cell.strip() for cell in row] for row in rows] if padded else rows
    if named and '"' not in lines[0]:
        rows[0] = [cell.strip() for cell in rows[0]]
    names = tuple(rows[0]) if named else in_remark or tuple(f"column{number + 1}" for number in range(len(rows[0])))
    if not named and header is None:
        shown = ", ".join([*names[:4], *(["…"] if len(names) > 4 else [])])
        notice(f"{path.name} has no header; its columns are called {shown}.", notices)
    check_filled(path, content, b"\n", len(names))
    names, written = tuple(distinct(names)), names
    notice_renamed(path, written, names, notices)
    own = unguarded_names(names) if named else None
    rows = [row for row in rows[named:] if len(row) == len(names)]
    formulas = any(_FORMULA.match(cell) for row in rows for cell in row)
    rows = [[_FORMULA.sub(r"\1", cell) for cell in row] for row in rows] if formulas else rows
    return TextTable(
        path, own or names, separator, named, comment, n_above, content, own is not None, rows, formulas, padded,
        encoding=found,
    )  # fmt: skip


def _remarks(lines: Sequence[str]) -> tuple[int, list[str], str | None]:
    """Return how many lines of comments a table begins with, these, and what comments among its rows begin with.

    That is a sign and a space if all comments above have one: ``#1001`` may be an id. A header may begin with a sign.

    >>> _remarks(["# of May", "", "a,b", "#1,c"]), _remarks(["#fields", "a,b"])
    ((2, ['# of May'], '# '), (1, ['#fields'], '#'))
    >>> _remarks(["#,from,to", "1,a,b"])
    (0, [], None)
    """
    first = next((line for line in lines if line.strip()), "")
    sign = first[:1]
    if sign not in COMMENTS or (first[1:2] in (",", ";", "|", "\t") and first.count(first[1]) > 1):
        return 0, [], None
    above = list(takewhile(lambda line: line.startswith(sign) or not line.strip(), lines))
    remarks = [line for line in above if line.strip()]
    spaced = all(remark.lstrip(sign)[:1].isspace() for remark in remarks)
    return len(above), remarks, f"{sign} " if spaced else sign


def text_content(path: Path, encoding: str | None = None, notices: list[str] | None = None) -> bytes | None:
    """Return the text of a file as UTF-8 with usual line ends, or None if the file itself is that already."""
    return _content(path, encoding, notices)[0]


def _content(path: Path, encoding: str | None, notices: list[str] | None) -> tuple[bytes | None, str, int]:
    """Return what :func:`text_content` does, the encoding of the file, and how many lines begin within quotes."""
    content, found, fits, line_ends, n_inside = _scanned(path, encoding)
    if not fits and encoding is None and found == "utf-8":
        found = _codepage(path.read_bytes() if content is None else content)
        advice = f"if letters look wrong, {_name_encoding(path, found)}"
        notice(f"Read {path.name} as Windows-{found[2:]}, because it is not UTF-8; {advice}.", notices)
    elif not fits:
        raise ValueError(f"its text is not {found.upper()}; {_name_encoding(path, found)}")
    if found in ("utf-8", "utf-8-sig") and line_ends != "\r":
        return content, found, n_inside
    content = path.read_bytes() if content is None else content
    text = _decoded(content, found)
    return (text.replace("\r", "\n") if line_ends == "\r" else text).encode(), found, n_inside


def with_encoding(place: Any, encoding: str | None = None) -> Any:
    """Return the place of a text file that is not UTF-8 with this encoding, or else the one that is recognized.

    Other places are returned unchanged.
    """
    is_table = isinstance(place, Path) and place.name.lower().endswith(TABLE_SUFFIXES) and place.is_file()
    if not is_table or kind_of(place) != "text":
        return place
    with reading(place):
        content, found, fits, *_ = _scanned(place, None)
        if fits or found != "utf-8":
            return place
        named = encoding or _codepage(place.read_bytes() if content is None else content)
    return Address(f"{place}?encoding={named}", "text", (place,), {"encoding": named})


def _scanned(path: Path, encoding: str | None) -> tuple[bytes | None, str, bool, str, int]:
    """Return what a compressed file holds, the encoding to try, and what :func:`_scan` does."""
    content = unpacked(path)
    with io.BytesIO(content) if content is not None else path.open("rb") as file:
        start = file.read(4)
        if content is None and start[:2] in ZLIB:
            raise ValueError("it is not a text table; unpack it first")
        found = encoding or next((name for mark, name in _BOMS if start.startswith(mark)), "utf-8")
        file.seek(0)
        return content, found, *_scan(file, found)


def _codepage(content: bytes) -> str:
    """Return the encoding of Western European text, or of Polish, where signs would stand inside words.

    >>> _codepage("Größe in m³, São Paulo, £GBP".encode("cp1252")), _codepage("Kupujący; Łódź".encode("cp1250"))
    ('cp1252', 'cp1250')
    >>> _codepage("CŒUR, GARÇON, ¿QUÉ?, MAÑANA, ÅRHUS, £5".encode("cp1252")), _codepage("STRAŻ, ŁUK".encode("cp1250"))
    ('cp1252', 'cp1250')
    """
    return "cp1250" if _POLISH.search(_decoded(content, "cp1252")) else "cp1252"


def _name_encoding(path: Path, found: str) -> str:
    """Say how to name another encoding than this one.

    >>> _name_encoding(Path("a.csv"), "cp1252")
    "name the encoding, as in 'a.csv?encoding=cp1250' (Central European) or cp1251 (Cyrillic)"
    """
    first, *more, last = (code for code in _CODEPAGES if code != found)
    others = ", ".join(f"{code} ({_CODEPAGES[code]})" for code in more)
    named = f"'{path.name}?encoding={first}' ({_CODEPAGES[first]}){others and ', '}{others}"
    return f"name the encoding, as in {named} or {last} ({_CODEPAGES[last]})"


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:  # five bytes mean nothing in Windows-1252; Latin-1 has a character for each
        return content.decode("latin-1")


def _scan(file: Any, encoding: str) -> tuple[bool, str, int]:
    """Return whether a file can be decoded, its line end, and how many are within quotes; refuse binary files."""
    try:
        with suppress(UnicodeError):
            b"a".decode(encoding)  # refuses codecs that are not encodings, such as zip
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ValueError(f"there is no encoding {encoding!r}; try utf-8, cp1252, utf-16 or shift_jis") from None
    newline = carriage = False
    fits, is_utf_8, is_open, n_inside = True, encoding.startswith("utf-8"), False, 0
    while piece := file.read(_PIECE):
        if not newline and is_utf_8 and _is_binary(piece[:SAMPLE]):
            code = "utf-16be" if piece[:1] == b"\0" else "utf-16le"
            raise ValueError(f"it is not a text table: it has NUL bytes; if it is UTF-16, append '?encoding={code}'")
        newline |= b"\n" in piece
        carriage |= b"\r" in piece
        if is_open or b'"' in piece:
            codes = np.frombuffer(piece, dtype=np.uint8)
            inside = np.logical_xor.accumulate(codes == ord('"')) ^ is_open
            n_inside += int(np.count_nonzero(inside & (codes == ord("\n"))))
            is_open = bool(inside[-1])
        if not fits or (is_utf_8 and piece.isascii() and not decoder.getstate()[0]):
            continue
        try:
            decoder.decode(piece)
        except UnicodeError:
            if encoding == "utf-8" and _CONTROL.search(piece):
                raise ValueError("it is not a text table: it is not UTF-8 and has control characters") from None
            fits = False
    try:
        decoder.decode(b"", final=True)
    except UnicodeError:
        fits = False
    return fits, "\r" if carriage and not newline else "\n", n_inside


def _is_binary(start: bytes) -> bool:
    """Return whether a file begins with or is full of NUL bytes; single ones are allowed in cells."""
    return b"\0" in start[:4] or start.count(b"\0") > len(start) / 5


def _start_text(path: Path, content: bytes | None) -> str:
    """Return whole lines from the beginning, about SAMPLE bytes of them; each of two joined files may have a mark."""
    if content is not None:
        file: Any = io.BytesIO(content)
    else:
        file = path.open("rb")
    with file:
        start = file.read(SAMPLE)
        rest = file.readline(LONGEST_LINE)
        if len(rest) == LONGEST_LINE:
            raise ValueError("one of its first lines has more than 16 million characters; it is not a table")
    text: str = (start + rest).decode(errors="replace")
    return text.removeprefix("\ufeff").replace("\n\ufeff", "\n")


def _layout(lines: list[str], path: Path) -> tuple[str, int]:
    """Return the separator, and the number of lines above the table, such as a title or ``sep=;``.

    The separator is the one that cuts the first lines into equally many cells, at least two, and the most of them.
    """
    if len(lines) > 1 and (marked := re.fullmatch(r"sep=(.)\s*", lines[0], re.IGNORECASE)):
        return marked[1], 1
    usual = "\t" if ".tsv" in path.name.lower() or ".tab" in path.name.lower() else ","
    counts = {}
    for mark in (usual, *(mark for mark in SEPARATORS if mark != usual)):
        with suppress(ValueError):
            counts[mark] = _widths(_rows(lines[:50], mark))
    most = {mark: max(set(found), key=found.count) for mark, found in counts.items() if found}
    same = {mark: counts[mark].count(count) / len(counts[mark]) for mark, count in most.items()}
    wider = any(share > 0.8 and most[mark] > most.get(" ", 0) for mark, share in same.items())
    fits = [mark for mark, share in same.items() if counts[mark][0] > 1 and share == 1]
    if marks := [mark for mark in fits if mark != " " or not wider]:  # spaces in a title, a name and a time
        return max(marks, key=lambda mark: (mark != " ", most[mark])), 0
    for mark in sorted(same, key=lambda each: -most[each]):  # decimal commas part fewer cells
        n_before = next(place for place, count in enumerate(counts[mark]) if count == most[mark])
        title = 0 < n_before <= MOST_BEFORE and max(counts[mark][:n_before]) < most[mark]
        below = counts[mark][n_before:]
        n_same = below.count(most[mark])
        if mark != " " and title and n_same > 0.8 * len(below) and n_same >= LEAST_BELOW:
            return mark, n_before
    for mark, share in same.items():
        if counts[mark][0] > 1 and (mark != " " or share > 0.8):
            return mark, 0
    if _NUMBERS.fullmatch("".join(lines[:50])) and max(counts.get(" ", [0])) > 1:
        raise ValueError("its lines have different numbers of cells; write one edge per line: source, target")
    return usual, 0


def _widths(rows: list[list[str]]) -> list[int]:
    """Return the number of cells of each row, without those that pad a title, or a line such as ``Account;DE123;;``.

    Such a line has one cell, or figures or several blank cells above a row of words, which is the header. All lines
    above a row of names that tables of edges have are such.

    >>> _widths([["Payments", "", ""], ["May", "2024", ""], ["from", "to", "amount"], ["ann", "", ""]])
    [1, 2, 3, 3]
    >>> _widths([["Customer", "ACME", "", ""], ["from", "to", "amount", "date"], ["ann", "bo", "7", ""]])
    [2, 4, 4]
    """
    widths = [len(row) for row in rows]
    named = (len({*row}) == len(row) > 2 and all(any(map(str.isalpha, cell)) for cell in row) for row in rows)
    header = next((place for place, is_one in enumerate(islice(named, MOST_BEFORE + 1)) if is_one), 0)
    if header and find_end_names(rows[header]):
        widths[:header] = [1] * header
    for place, row in enumerate(rows):
        cells = [cell for cell in row if cell.strip()]
        is_title = not row[-1].strip() and (any(map(str.isdigit, "".join(cells))) or not row[-2].strip())
        if len(row) < 3 or (len(cells) > 1 and not (place < header and is_title)):
            break
        widths[place] = max(1, len(cells))
    return widths


def _are_padded(lines: list[str], rows: list[list[str]]) -> bool:
    """Return whether all cells of some column begin or end with a space; in quotes, spaces belong to the text."""
    if any('"' in line for line in lines[: len(rows)]):
        return False
    columns = zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)
    return any(all(cell != cell.strip(" ") for cell in column) for column in columns)


def _requoted(path: Path, content: bytes | None, separator: str, n_above: int, comment: str | None) -> bytes | None:
    """Return the table with quotes around cells such as ``19" monitor``, which hold some but are not within any.

    None if its lines then have different numbers of cells: some cells have several lines.
    """
    mark, above = separator.encode(), comment.encode() if comment else None
    sign = re.escape(mark)
    cell = re.compile(rb'(?:^|(?<=%b))(?:"(?:[^"]|"")*"(?=%b|$)|[^%b]*)' % (sign, sign, sign))
    rows: list[bytes] = []
    n_cells = 0
    with io.BytesIO(content) if content is not None else path.open("rb") as file:
        for line in islice(file, n_above, None):
            if not line.strip() or (above and line.startswith(above)):
                continue
            cells = cell.findall(line.removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n"))
            n_cells = n_cells or len(cells)
            if len(cells) != n_cells or n_cells < 2:
                return None
            rows.append(mark.join(map(_in_quotes, cells)))
    return b"\n".join([*rows, b""])


def _in_quotes(cell: bytes) -> bytes:
    """Return a cell within quotes if it holds some and is not within any.

    >>> [_in_quotes(cell) for cell in (b'19" monitor', b'"19" monitor"', b'"a ""b"", c"')]
    [b'"19"" monitor"', b'"19"" monitor"', b'"a ""b"", c"']
    """
    if b'"' not in cell or _QUOTED.fullmatch(cell):
        return cell
    return b'"%b"' % (_WHOLE.sub(rb"\1", cell).replace(b'"', b'""'))


def _rows(lines: list[str], separator: str) -> list[list[str]]:
    if separator == " " and not any('"' in line for line in lines[:200]):
        return [line.split() for line in lines[:200]]
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=separator, skipinitialspace=separator == " "):
            rows.append(row)
            if len(rows) == 200:
                break
    except csv.Error:  # a cell of more than 131,072 characters
        if not rows:
            raise ValueError("its first line is not the header of a table") from None
    return rows


def _remark_names(remarks: list[str], separator: str, count: int) -> tuple[str, ...] | None:
    """Return the names in the last comment before the data, as SNAP writes them; None if it has none."""
    named = [remark[1:].strip() for remark in remarks]
    fields = next((remark for remark in named if remark.startswith("fields\t")), None)  # a log of Zeek
    last = fields.removeprefix("fields\t") if fields is not None else named[-1] if named else ""
    words = last.split(separator) if last and separator != " " else []
    names = tuple(word.strip() for word in words)
    return names if len(names) == count == len(set(names)) and all(names) else None


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds names, judged by the rows below it.

    A row of numbers is data. So is a row with a number above numbers (unless the numbers are years), and a row of text,
    one of whose first two cells returns below, as the ids of an edge list do. ``source, target`` are always names.

    >>> has_header([["source", "target"], ["ann", "source"]])
    True
    >>> has_header([["payer", "amount"], ["ann", "5"]])
    True
    >>> has_header([["ann", "7"], ["bo", "5"]])
    False
    >>> has_header([["ann", "bo"], ["bo", "cy"]])
    False
    >>> has_header([["country", "2019", "2020"], ["NO", "1.5", "2.5"]])
    True
    """
    first, rest = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if all(_NUMBER.fullmatch(cell) for cell in first):
        return False
    if not rest or list(first[:2]) == ["source", "target"]:
        return True
    others = [row for row in rest if row != first] or rest  # without a header that two joined exports repeat
    above = [
        cell for column, cell in enumerate(first)
        if cell.strip() and all(_NUMBER.fullmatch(row[column]) for row in others if row[column])
    ]  # fmt: skip
    if any(not _NUMBER.fullmatch(cell) for cell in above):
        return True
    if above:
        return all(_YEAR.fullmatch(cell) for cell in above) and len(above) > 1
    if not all(cell.strip() for cell in first):
        return True
    below = {cell for row in (rest if rest[0] == first else others) for cell in row[:2]}  # edges may repeat at once
    return not any(cell in below for cell in first[:2])


def as_one(parts: Sequence[TextTable]) -> list[TextTable]:
    """Return text files as parts of one table, with the columns that their folders name; refuse other columns."""
    first = parts[0]
    for part in parts[1:]:
        check_parts(first.names, part.names, first.path.name, part.path.name)
    found = []
    for part in parts:
        pairs = (folder.partition("=") for folder in part.path.parts[:-1])
        found.append({name: value for name, mark, value in pairs if mark and name and name not in first.names})
    if any(each.keys() != found[0].keys() for each in found):  # they must name the same columns for all files
        return list(parts)
    return [replace(part, of_folders=each) for part, each in zip(parts, found, strict=True)]


def check_parts(first: Sequence[str], names: Sequence[str], one: str, other: str) -> None:
    """Refuse two files whose columns differ; the columns of folders such as ``year=2024`` are in neither.

    >>> check_parts(["a", "b"], ["a", "c"], "1.csv", "2.csv")
    Traceback (most recent call last):
    ValueError: its parts differ: column 'b' is not in both 1.csv and 2.csv
    """
    if set(names) != set(first):
        odd = sorted(set(names) ^ set(first))[0]
        raise ValueError(f"its parts differ: column {odd!r} is not in both {one} and {other}")
