"""Notices: what hopsight did to the data that the user may want to know, such as a column it left out."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from hopsight.checks import option, plural

MERGED = {
    "sum": "and added up their weights",
    "count": "and counted them as weight",
    "last": "and kept the weight of the last one",
}
LOGGER = logging.getLogger("hopsight")
NOT_FOR_USERS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)


class Detail(str):
    """A notice that nobody acts on, which terminals leave to the report and to the record of a run."""


class NamedNotices(list[str]):
    """Notices about one of several tables: each goes to another list, or the log, with the name of the table."""

    def __init__(self, name: str, notices: list[str] | None) -> None:
        super().__init__()
        self.name, self.notices = name, notices


def notice(message: str, notices: list[str] | None, *, detail: bool = False) -> None:
    """Append a sentence to the caller's list, who shows it in its own way, or log it as a warning without a list.

    >>> kept: list[str] = []
    >>> notice("Column 'weight' is left out.", kept)
    >>> kept
    ["Column 'weight' is left out."]
    """
    message = Detail(message) if detail else message
    if isinstance(notices, NamedNotices):
        notice(f"{notices.name}: {message}", notices.notices, detail=isinstance(message, Detail))
    elif notices is None:
        LOGGER.warning(message)
    else:
        notices.append(message)


def notice_renamed(path: Path, names: Sequence[str], written: Sequence[str], notices: list[str] | None) -> None:
    """Give notice of columns that have another name in a file, because names there differ from each other.

    >>> kept: list[str] = []
    >>> notice_renamed(Path("g.csv"), ["x", "x"], ["x", "x_2"], kept)
    >>> kept
    ["Renamed a column in g.csv, where names must differ: 'x' is 'x_2'."]
    """
    for name, other in zip(names, written, strict=True):
        if name != other:
            notice(f"Renamed a column in {path.name}, where names must differ: {name!r} is {other!r}.", notices)


def notice_merged(graph: Any, notices: list[str] | None, duplicates: str | None = None) -> None:
    """Give notice of the edges that were merged or removed on the way in, and by what rule if they have weights.

    >>> from hopsight.graph import AttributedGraph
    >>> kept: list[str] = []
    >>> notice_merged(AttributedGraph.from_edges([0, 1, 0], [1, 0, 0], [[1.0], [2.0]]), kept)
    >>> kept
    ['Merged 1 pair of opposite edges; pass directed=True to keep both.', 'Removed 1 self-loop.']
    """
    n_pairs = getattr(graph, "n_reciprocal", 0)
    rule = f" {MERGED[duplicates or 'sum']}" if getattr(graph, "edge_weight", None) is not None else ""
    if graph.n_duplicates > n_pairs:
        n_more = graph.n_duplicates - n_pairs
        repeat = "1 row repeats" if n_more == 1 else f"{n_more:,} rows repeat"
        notice(f"{repeat} a pair of nodes: merged the rows of each pair into one edge{rule}.", notices, detail=True)
    if n_pairs:
        pairs = plural(n_pairs, "pair") + " of opposite edges"
        advice = "" if graph.edge_relation is not None else f"; pass {option('directed', True)} to keep both"
        notice(f"Merged {pairs}{rule}{advice}.", notices, detail=True)
    if graph.n_self_loops:
        notice(f"Removed {plural(graph.n_self_loops, 'self-loop')}.", notices, detail=True)


def notice_constant(graph: Any, notices: list[str] | None) -> None:
    """Give notice of attributes that are the same for every node, from which no detector can learn anything.

    >>> from hopsight.graph import AttributedGraph
    >>> kept: list[str] = []
    >>> notice_constant(AttributedGraph([[0, 1], [1, 0]], [[3.0], [3.0]]), kept)
    >>> kept
    ['All nodes have the same attributes, so there is nothing to learn from them; add columns that differ.']
    """
    attributes = graph.attributes
    if sp.issparse(attributes):
        constant = attributes.nnz == 0 or bool((attributes != attributes[[0] * graph.n_nodes]).nnz == 0)
    else:
        constant = bool((attributes == attributes[:1]).all())
    if constant and graph.n_nodes > 1:
        notice(
            "All nodes have the same attributes, so there is nothing to learn from them; add columns that differ.",
            notices,
        )


@contextmanager
def collected(say: Callable[[str], None], *, brief: bool = False) -> Iterator[list[str]]:
    """Collect log messages of hopsight and warnings of any library, each once, and pass them to ``say``.

    If that is to be ``brief``, details are collected only.
    """
    seen: list[str] = []

    def note(text: str) -> None:
        if text not in seen:
            seen.append(text)
            if not (brief and isinstance(text, Detail)):
                say(text)

    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: note(record.getMessage() if record.args else record.msg)  # type: ignore[method-assign]
    propagate = LOGGER.propagate
    LOGGER.addHandler(handler)
    LOGGER.propagate = False
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in NOT_FOR_USERS:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, *_args, **_kwargs: note(str(message))
        try:
            yield seen
        finally:
            LOGGER.removeHandler(handler)
            LOGGER.propagate = propagate
