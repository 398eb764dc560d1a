"""Turn columns with one value per node into attributes, labels and kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hopsight.checks import suggest
from hopsight.io.columns import encode, read_flags
from hopsight.io.rules import KINDS

if TYPE_CHECKING:
    import polars as pl

LABEL_COLUMN, KIND_COLUMN = (
    "hopsight_label",
    "hopsight_kind",
)  # in files that hopsight wrote


def node_fields(
    names: Sequence[str],
    column: Callable[[str], pl.Series],
    n_nodes: int,
    *,
    label: str | None = None,
    ignore: Sequence[str] = (),
    missing: str = "refuse",
    notices: list[str] | None = None,
) -> dict[str, Any]:
    """Return the fields of an AttributedGraph that come from columns with one value per node.

    Parameters
    ----------
    names
        Names of the columns, without the id.
    column
        Returns the values of a column, given its name.
    n_nodes
        Number of values in each.
    label, ignore, missing, notices
        As in :func:`hopsight.load`.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [31, 42], "fraud": [False, True]})
    >>> fields = node_fields(frame.columns, frame.__getitem__, 2, label="fraud")
    >>> fields["attribute_names"], fields["labels"].tolist()
    (['age'], [0, 1])
    """
    for parameter, name in (("label", label), *(("ignore", name) for name in ignore)):
        check_column(parameter, name, names)
    fields: dict[str, Any] = {}
    truth = label if label is not None else LABEL_COLUMN
    if truth in names:
        fields["labels"] = read_flags(column(truth))
    if KIND_COLUMN in names:
        fields["kinds"] = read_flags(column(KIND_COLUMN), KINDS)
    left_out = {truth, LABEL_COLUMN, KIND_COLUMN, *ignore}
    columns = (column(name) for name in names if name not in left_out)
    fields["attributes"], fields["attribute_names"] = encode(columns, n_nodes, missing=missing, notices=notices)
    return fields


def check_column(parameter: str, name: str | None, names: Sequence[str]) -> None:
    """Refuse a column that does not exist, and suggest the closest one."""
    if name is not None and name not in names:
        raise ValueError(f"{parameter}: there is no column {name!r}{suggest(name, names)}")


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
