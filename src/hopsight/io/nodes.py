"""Turn columns with one value per node into attributes, labels and kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hopsight.checks import option, suggest
from hopsight.graph import AttributedGraph
from hopsight.io.columns import NO_ATTRIBUTES, encode, read_flags
from hopsight.io.dates import is_time
from hopsight.io.notices import notice
from hopsight.io.roles import (
    LEAST_ROWS,
    NAME_NAMES,
    TYPE_NAMES,
    first_known,
    is_row_id_name,
    normalized_name,
)
from hopsight.io.rules import KINDS
from hopsight.system.lazy_polars import pl

MOST_WORDS = 6  # in a name
LABEL_COLUMN, KIND_COLUMN = "hopsight_label", "hopsight_kind"  # in files that hopsight wrote
TYPE_COLUMN, NAME_COLUMN = "hopsight_type", "hopsight_name"
OWN_COLUMNS = (LABEL_COLUMN, KIND_COLUMN, TYPE_COLUMN, NAME_COLUMN)


def node_fields(
    names: Sequence[str],
    column: Callable[[str], pl.Series],
    n_nodes: int,
    *,
    label: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "fill",
    category: Sequence[str] = (),
    type_column: str | None = None,
    name_column: str | None = None,
    may_lack: bool = False,
    notices: list[str] | None = None,
) -> dict[str, Any]:
    """Return the fields of an AttributedGraph that come from columns with one value per node.

    ``names`` are those of the columns without the id, and ``column`` returns the ``n_nodes`` values of one. With
    ``may_lack``, a table without attributes is accepted, and no ``attributes`` are returned. The other parameters are
    those of :func:`hopsight.load`.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [31, 42], "fraud": [False, True]})
    >>> fields = node_fields(frame.columns, frame.__getitem__, 2, label="fraud")
    >>> fields["attribute_names"], fields["labels"].tolist()
    (['age'], [0, 1])
    """
    single = {"label": label, "type_column": type_column, "name_column": name_column}
    several = [("ignore", name) for name in ignore] + [("category", name) for name in category]
    for parameter, name in (*single.items(), *several):
        check_column(parameter, name, names)
    fields: dict[str, Any] = {}
    truth = label if label is not None else LABEL_COLUMN
    if truth in names:
        fields["labels"] = read_flags(column(truth))
    if KIND_COLUMN in names:
        fields["kinds"] = read_flags(column(KIND_COLUMN), KINDS)
    left_out = {truth, LABEL_COLUMN, KIND_COLUMN, *ignore}
    types = type_column or first_known([name for name in names if name not in left_out], TYPE_NAMES)
    if types is not None:
        fields["node_types"] = _texts(column(types))
        left_out.add(types)
    ours = NAME_COLUMN if NAME_COLUMN in names else None
    shown = (
        name_column
        or ours
        or _find_names([name for name in names if name not in {*left_out, *category}], column, notices)
    )
    if shown is not None:
        fields["node_names"] = _texts(column(shown))
        left_out.add(shown)
    used = [name for name in names if name not in left_out]
    if used or not may_lack:
        options = {"missing": missing, "category": category, "types": fields.get("node_types"), "notices": notices}
        fields |= _encoded(used, column, n_nodes, may_lack, **options)
    return fields


def _encoded(
    used: Sequence[str], column: Callable[[str], pl.Series], n_nodes: int, may_lack: bool, **options: Any
) -> dict[str, Any]:
    """Return the attributes and their names, or nothing if no column is usable and that is allowed."""
    try:
        attributes, names = encode((column(name) for name in used), n_nodes, **options)
    except ValueError as error:
        if may_lack and str(error) == NO_ATTRIBUTES:
            return {}
        raise
    return {"attributes": attributes, "attribute_names": names}


def _find_names(names: Sequence[str], column: Callable[[str], pl.Series], notices: list[str] | None) -> str | None:
    """Return the first column of text that is different for every node: it says who they are, not how they are."""
    for name in sorted(names, key=lambda name: normalized_name(name) not in NAME_NAMES):
        values = column(name)
        least = 2 if normalized_name(name) in NAME_NAMES else LEAST_ROWS
        is_text = values.dtype == pl.String and len(values) >= least and not is_row_id_name(name)
        is_unique = is_text and not values.null_count() and values.n_unique() == len(values)
        if is_unique and not _are_values(values) and not _are_sentences(values):
            notice(f"Show column {name!r} as the name of each node.", notices)
            return name
    return None


def _are_values(words: pl.Series) -> bool:
    """Return whether text holds dates or mostly numbers, with a comma instead of a point or not."""
    numbers = words.str.strip_chars().str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)
    return is_time(words) or numbers.null_count() < len(words) / 2


def _are_sentences(words: pl.Series) -> bool:
    """Return whether most texts are longer than a name."""
    return float(words.str.strip_chars().str.count_matches(r"\s+").median() or 0) >= MOST_WORDS  # type: ignore[arg-type]


def _texts(column: pl.Series) -> list[str]:
    return column.cast(pl.String).fill_null("").str.strip_chars().to_list()


def own_columns(graph: AttributedGraph) -> dict[str, list[Any]]:
    """Return what the columns of a file that hopsight writes say about each node beside its attributes."""
    values = zip(OWN_COLUMNS, (graph.labels, graph.kinds, graph.node_types, graph.node_names), strict=True)
    return {name: each.tolist() for name, each in values if each is not None}


def check_column(parameter: str, name: str | None, names: Sequence[str]) -> None:
    """Refuse a column that does not exist, and suggest the closest one."""
    if name is not None and name not in names:
        raise ValueError(f"{option(parameter)}: there is no column {name!r}{suggest(name, names)}")


def distinct(names: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """Return the names, with a number appended to those that occurred before.

    >>> distinct(["x", "id", "x"], ["id"])
    ['x', 'id_2', 'x_2']
    """
    seen, last, unique_names = set(taken), dict[str, int](), []
    for name in names:
        unique = name
        while unique in seen:
            last[name] = last.get(name, 1) + 1  # not from 2 again: thousands of columns may share a name
            unique = f"{name}_{last[name]}"
        seen.add(unique)
        unique_names.append(unique)
    return unique_names
