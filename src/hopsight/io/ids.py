"""Node ids in tables: their type, one or two kinds of nodes, and the position of each id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import option, plural, shortened
from hopsight.io.notices import notice
from hopsight.io.rules import check_none, row_number
from hopsight.io.vocabulary import ID_ENDINGS, NO_IDS, TWO_KINDS, normalized_name
from hopsight.system.lazy_polars import pl

ROW = "hopsight_row"  # numbers the rows of a table before any is left out
WHOLE = r"^(?:([+-]?\d+)[.,](?:0{0,2}|0{4,})|([+-]?\d{4,})[.,]000)$"  # 5.0 and 5,00 are 5; 5.000 may be 5,000


def as_ids(column: pl.Series, *, typed: bool, exact: bool = False) -> pl.Series:
    """Return a column of node ids as Int64 if all are whole numbers, and as text otherwise; a missing id is null.

    Unless ids are ``exact``, spaces around an id mean nothing, 5.0 is 5, and some words are missing ids. Text in an
    untyped file counts as a number only in its usual form: ``007`` stays text, as a number it would be ``7``.

    >>> import polars as pl
    >>> as_ids(pl.Series("id", ["7", " 12.0", "", "NaN"]), typed=False).to_list()
    [7, 12, None, None]
    >>> as_ids(pl.Series("id", ["007", "12"]), typed=False).to_list()
    ['007', '12']
    """
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise ValueError(f"column {column.name!r} holds {column.dtype}, not node ids; name another column")
    if column.dtype == pl.Int64:
        return column
    if column.dtype.is_float():
        column = column.fill_nan(None)
        lost = "has lost digits, because it is a number with decimals; write ids as text or whole numbers"
        check_none((column.abs() >= (2**24 if column.dtype == pl.Float32 else 2**53)).fill_null(False), column, lost)
    text = column.cast(pl.String)
    if not exact:
        text = _without_decimals(text.str.strip_chars())
        text = text.set(text.str.to_lowercase().is_in(NO_IDS), None)
    if typed and column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return text
    numbers = text.cast(pl.Int64, strict=False)
    same = (numbers.cast(pl.String) == text).fill_null(False) | text.is_null()
    return numbers if same.all() else text


def with_ids(
    frame: pl.DataFrame, names: Sequence[str], *, typed: bool, ours: bool = False, notices: list[str] | None
) -> pl.DataFrame:
    """Return the rows that have a node id in each of these columns, as :func:`as_ids` returns them.

    A row without one, such as a total below a column, is left out with a notice, and so is one that repeats the header,
    as where two exports were joined. Ids in a table of ``ours`` are exact.
    """
    if not ours and all(kind == pl.String for name, kind in frame.schema.items() if name != ROW):
        cells = ((name, pl.col(name).str.strip_prefix("\ufeff").str.strip_chars()) for name in frame.columns)
        is_name = (cell.str.to_lowercase() == name.strip().lower() for name, cell in cells if name != ROW)
        again = frame.select(pl.all_horizontal(is_name)).to_series().fill_null(False)
        if again.any():
            n_rows, first = int(again.sum()), _number(frame, again)
            notice(f"Left out {plural(n_rows, 'row')} like the header, first row {first} of the data.", notices)
            frame = frame.filter(~again)
    for column in (frame[name] for name in names if frame[name].dtype == pl.String):
        if len(rounded := column.filter(column.str.contains(r"^\s*[0-9](?:[.,][0-9]+)?[Ee]\+[0-9]+\s*$"))):
            remedy = "which have lost digits in a spreadsheet; format the column as text there and export it again"
            notice(f"Column {column.name!r} has ids such as {shortened(rounded[0])}, {remedy}.", notices)
    frame = frame.with_columns(as_ids(frame[name], typed=typed, exact=ours) for name in names)
    lacking = frame.select(pl.any_horizontal(pl.col(name).is_null() for name in names)).to_series()
    if not lacking.any():
        return frame
    notice_missing(int(lacking.sum()), _number(frame, lacking) - 1, notices)
    return frame.filter(~lacking)


def _number(frame: pl.DataFrame, chosen: pl.Series) -> int:
    first = int(chosen.arg_true()[0])
    return int(frame[ROW][first]) if ROW in frame.columns else first + 1


def notice_missing(n_rows: int, first: int, notices: list[str] | None) -> None:
    """Say how many rows were left out because they have no node id."""
    notice(f"Left out {plural(n_rows, 'row')} without a node id, first row {first + 1} of the data.", notices)


def notice_alike(ids: pl.Series, notices: list[str] | None) -> None:
    """Say that some ids differ only in form and are different nodes all the same."""
    if ids.dtype != pl.String:
        return
    said = pl.repeat(False, len(ids), eager=True)
    several = {"how they are written": same_form, "signs between their parts": _as_bare}
    for difference, form in {**_FORMS, **several}.items():
        forms = form(ids)
        alike = forms.is_duplicated() & forms.is_not_null() & (~said if difference in several else True)
        said |= alike
        if alike.any():
            one, other = ids.filter(forms == forms.filter(alike)[0]).head(2)
            notice(
                f"{int(alike.sum()):,} node ids, such as {shortened(one)} and {shortened(other)}, differ only in "
                f"{difference} and are read as different nodes; if they are the same, write them alike.",
                notices,
            )


def same_type(*columns: pl.Series) -> tuple[pl.Series, ...]:
    """Return the columns unchanged if all hold numbers, and all as text otherwise."""
    if all(column.dtype == pl.Int64 for column in columns):
        return columns
    return tuple(column.cast(pl.String) for column in columns)


def all_ids(columns: Sequence[pl.Series]) -> pl.Series:
    """Return every id of some columns once, sorted."""
    return (
        pl.concat([column.rename("id") for column in same_type(*(each.unique() for each in columns))]).unique().sort()
    )


def check_unique(ids: pl.Series) -> None:
    """Refuse an id that occurs twice."""
    twice = ids.is_duplicated()
    if twice.any():
        same = ids == ids.filter(twice)[0]
        rows = row_number(same), row_number(same & ~ids.is_first_distinct())
        raise ValueError(f"node {shortened(ids.filter(twice)[0])} has two rows, {rows[0]} and {rows[1]}")


def positions(
    ids: pl.Series, *ends: pl.Series, notices: list[str] | None = None
) -> tuple[pl.Series, tuple[NDArray[Any], ...]]:
    """Return the ids, after them those that only edges have, and the position of every edge end among both.

    An id that only edges have is the one that the table writes in another form, if there is one such. The others are
    sorted. Where none is among the ids, the tables do not belong together, and are refused.
    """
    are_close = ids.dtype == pl.Int64 and len(ids) and ids.max() - ids.min() < 8 * len(ids) + 1000  # type: ignore
    found = tuple((_by_table if are_close else _by_join)(ids, end) for end in ends)
    if not any(place.size and place.min() < 0 for place in found):
        return ids, found
    unknown = pl.concat([end.filter(place < 0).alias("id") for end, place in zip(ends, found, strict=True)])
    unknown = unknown.unique().sort()
    if written := written_differently(unknown, ids):
        notice_written(written, notices)
        return positions(ids, *(end.replace(written) for end in ends))
    if all(place.max(initial=-1) < 0 for place in found):
        total = plural(pl.concat([end.alias("id") for end in ends]).n_unique(), "node id")
        lack = f"{len(unknown):,} of {total} in the edges {'has' if len(unknown) == 1 else 'have'} no row"
        columns = f"{option('id_column')}, {option('source_column')} and {option('target_column')}"
        it_has = f"it has {examples_of(ids)} instead; name the right columns with {columns}"
        raise ValueError(f"{lack} in the node table: {examples_of(unknown)}; {it_has}")
    more = pl.concat([ids.alias("id"), unknown])
    return more.alias(ids.name), tuple(_by_join(more, end) for end in ends)


def notice_written(written: Mapping[str, str], notices: list[str] | None, place: str = "node table") -> None:
    """Say that ids are those of a node table, or of a graph, in another form, if there are any."""
    for one, other in list(written.items())[:1]:
        are = "1 id is" if len(written) == 1 else f"{len(written):,} ids are"
        notice(f"{are} written differently in the {place}: {shortened(one)} is {shortened(other)} there.", notices)


def _by_table(ids: pl.Series, ends: pl.Series) -> NDArray[Any]:
    """Look up numbers in a table of all numbers between the lowest and the highest id; -1 where absent."""
    nodes, numbers = ids.to_numpy(), ends.to_numpy()
    low, high = nodes.min(), nodes.max()
    table = np.full(high - low + 1, -1, dtype=np.int32 if nodes.size < 2**31 else np.int64)
    table[nodes - low] = np.arange(nodes.size)
    within = (numbers >= low) & (numbers <= high)
    return np.where(within, table[np.where(within, numbers - low, 0)], table.dtype.type(-1))


def _by_join(ids: pl.Series, ends: pl.Series) -> NDArray[Any]:
    nodes = pl.DataFrame({"id": ids, "position": np.arange(len(ids))})
    found = pl.DataFrame({"id": ends}).join(nodes, on="id", how="left", maintain_order="left")
    return found["position"].fill_null(-1).to_numpy()


EXAMPLES = 3
LEAST_BARE = 8  # characters of an id that may be written with and without signs


def notice_unknown(unknown: pl.Series, ranked: bool | None, notices: list[str] | None) -> None:
    """Say how many nodes are in edges only; ``ranked`` is None where nobody may choose.

    >>> import polars as pl
    >>> kept: list[str] = []
    >>> notice_unknown(pl.Series(["x1", "x2"]), False, kept)
    >>> kept
    ["2 ids have no row in the node table ('x1', 'x2'): not ranked; pass rank_unknown=True to rank them."]
    """
    them = "it" if len(unknown) == 1 else "them"
    choice = "" if ranked is None else f"; pass {option('rank_unknown', True)} to rank {them}"
    rule = "ranked without attributes" if ranked else f"not ranked{choice}"
    has = "has" if len(unknown) == 1 else "have"
    notice(f"{plural(len(unknown), 'id')} {has} no row in the node table ({examples_of(unknown)}): {rule}.", notices)


def written_differently(unknown: pl.Series, ids: pl.Series) -> dict[str, str]:
    """Return how a table writes ids that it has in another form, where it has only one of that form."""
    if ids.dtype != pl.String:
        return {}
    found: dict[str, str] = {}
    for form in (without_signs, same_form):  # the last one is the more certain
        forms = form(ids)
        once = ~forms.is_duplicated() & forms.is_not_null()
        known = pl.DataFrame({"form": forms.filter(once), "id": ids.filter(once)})
        same = pl.DataFrame({"form": form(unknown), "word": unknown}).join(known, on="form")["word", "id"]
        if form is without_signs:
            same = same.filter(are_bare(same["word"]) | are_bare(same["id"]))
        found |= dict(same.rows())
    return found


def same_form(ids: pl.Series) -> pl.Series:
    """Return ids as text in one form: what :data:`_FORMS` tell apart is the same."""
    words = ids.cast(pl.String)
    for plain in _FORMS.values():
        words = plain(words)
    return words


def without_signs(ids: pl.Series) -> pl.Series:
    """Return ids in one form without the signs between their parts; null for a short one, of which parts may be all.

    That they are the same is likely where one of two has no signs: 1.11.1.1 and 11.1.1.1 are different addresses.
    """
    plain = ids.cast(pl.String).str.normalize("NFKC").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return plain.str.replace(r"^0+", "").set(plain.str.len_chars() < LEAST_BARE, None)


def _as_bare(ids: pl.Series) -> pl.Series:
    """Return ids without signs where one of them has none; null for the others."""
    bare = are_bare(ids)
    if bare.all() or not bare.any():  # signs tell none apart
        return pl.repeat(None, len(ids), dtype=pl.String, eager=True)
    forms = without_signs(ids)
    return forms.set(~forms.is_in(forms.filter(bare).implode()), None)


def are_bare(ids: pl.Series) -> pl.Series:
    """Return which ids have no signs between their parts, only spaces."""
    return ~ids.str.contains(r"[^\p{L}\p{N}\s]")


def forms_of(column: pl.Series, typed: bool) -> pl.Series:
    """Return the different ids in a column as text in one form; none if it cannot hold ids."""
    try:
        return same_form(as_ids(column, typed=typed).drop_nulls().unique()).unique()
    except ValueError:
        return pl.Series(column.name, [], dtype=pl.String)


def share_known(values: pl.Series, known: pl.Series) -> float:
    """Return the share of ids that are known."""
    return float(values.is_in(known.implode()).mean() or 0.0)  # type: ignore[arg-type]


def are_forms_of(values: pl.Series, text: str) -> pl.Series:
    """Return which ids are a text in another form.

    >>> are_forms_of(pl.Series(["7", "AB-1", "ab_01"]), "ab-1").to_list()
    [False, True, True]
    """
    return same_form(values) == same_form(pl.Series([text]))[0]


def _without_decimals(words: pl.Series) -> pl.Series:
    """Return 5 for 5.0, and 12345678901 for 1.2345678901E10, which has all digits."""
    if not words.str.contains("[.,]").any():
        return words
    exact = words.str.contains(r"^[0-9]\.[0-9]+E[0-9]+$")
    if exact.any():
        numbers = words.set(~exact, None).cast(pl.Float64, strict=False)
        words = words.zip_with(~exact | (numbers >= 2**53), numbers.cast(pl.Int64, strict=False).cast(pl.String))
    return words.str.replace(WHOLE, "$1$2")


_FORMS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "upper and lower case": lambda words: words.str.to_lowercase(),
    "how characters are encoded": lambda words: words.str.normalize("NFKC"),
    "spaces, commas, quotes or a plus": lambda words: words.str.replace_all(r"[\s,'\"+=]", ""),
    "leading zeros": lambda words: words.str.replace_all(r"(^|[^\d.])0+(\d)", "$1$2"),
    "the signs between their parts": lambda words: words.str.replace_all(r"[-_/.:‐‑‒–—−]", "-"),
    "characters that are not seen": lambda words: words.str.replace_all("[\u00ad\u200b-\u200f\u2060\ufeff]", ""),
}


def examples_of(values: pl.Series) -> str:
    """List the first values."""
    return ", ".join(shortened(value) for value in values.head(EXAMPLES)) + (", …" if len(values) > EXAMPLES else "")


UNKNOWN = "(unknown)"


@dataclass(frozen=True)
class Sides:
    """The ids at both ends of every edge, and the types of nodes that they name, None if there is one type only."""

    ends: tuple[pl.Series, pl.Series]
    types: tuple[str, str] | None = None
    prefixed: bool = False  # whether ids of both types overlap, so that each became type:id

    def types_of(self, node_ids: pl.Series) -> list[str] | None:
        """Return the type of some ids, as the edges write them; None if there is one type only."""
        if self.types is None:
            return None
        node_ids, sources, targets = same_type(node_ids, *(end.unique() for end in self.ends))
        first, second = node_ids.is_in(sources.implode()), node_ids.is_in(targets.implode())
        return [
            self.types[0] if a else self.types[1] if b else UNKNOWN
            for a, b in zip(first.to_list(), second.to_list(), strict=True)
        ]

    def ids_of_nodes(self, node_ids: pl.Series, fields: dict[str, Any]) -> pl.Series:
        """Return the ids of a node table as the edges write them, and add the types of its nodes to the fields."""
        if self.types is None:
            return node_ids
        if not self.prefixed:
            if fields.get("node_types") is None:
                fields["node_types"] = self.types_of(node_ids)
            return node_ids
        known = fields.get("node_types")
        if known is None:
            raise ValueError(
                f"{self.types[0]} and {self.types[1]} share ids, so that a node table needs a column with "
                f"{self.types[0]!r} or {self.types[1]!r} for each node; add it and pass {option('type_column')}"
            )
        wrong = next((word for word in known if word not in self.types), None)
        if wrong is not None:
            raise ValueError(
                f"type {shortened(wrong)} of a node is neither {self.types[0]!r} nor {self.types[1]!r}, which the "
                "columns of the edge list are called"
            )
        return pl.Series(node_ids.name, known, dtype=pl.String) + ":" + node_ids.cast(pl.String)


def as_sides(
    ends: tuple[pl.Series, pl.Series], names: tuple[str, str], bipartite: bool | None, notices: list[str] | None
) -> Sides:
    """Return both ends; if they name different kinds of nodes, ids that overlap become ``type:id``.

    ``bipartite`` None decides by the names of the two columns, such as ``user`` and ``item``.
    """
    known = (normalized_name(names[0]), normalized_name(names[1]))
    if not (known in TWO_KINDS if bipartite is None else bipartite):
        return Sides(ends)
    ends_in = re.compile(f"({'|'.join(filter(None, ID_ENDINGS))})$")
    types = (ends_in.sub("", known[0]), ends_in.sub("", known[1]))  # the user of user_id
    sources, targets = same_type(*ends)
    overlap = bool(sources.unique().is_in(targets.unique().implode()).any())
    if overlap:
        sources, targets = (
            pl.select(pl.lit(f"{kind}:") + each.cast(pl.String)).to_series()
            for kind, each in zip(types, (sources, targets), strict=True)
        )
    prefixed = ", with ids written as type:id because they overlap" if overlap else ""
    notice(f"Read {types[0]!r} and {types[1]!r} as two kinds of nodes{prefixed}.", notices)
    return Sides((sources, targets), types, overlap)
