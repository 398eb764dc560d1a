"""Verdicts on nodes: read them from a mapping, a table or a file, and find the nodes that they are about."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, check_choice, plural, shortened
from hopsight.graph import AttributedGraph
from hopsight.io.sources import reading
from hopsight.io.textfile import text_content
from hopsight.system.lazy_polars import pl

VERDICTS = ("anomalous", "normal", "unsure")


def read_verdicts(source: Any, graph: AttributedGraph) -> dict[int, str]:
    """Return the verdict on each judged node, by its position in the graph.

    Parameters
    ----------
    source
        A mapping of node id to verdict, a table (polars, pandas or a mapping of columns) with the columns ``node`` and
        ``verdict``, or the path of a CSV file with these columns. Where a node occurs twice, the last verdict counts.
    graph
        The graph that the nodes belong to.

    Raises
    ------
    ValueError
        If a column is missing, a verdict is none of :data:`VERDICTS`, or there is no such node.

    Examples
    --------
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ann", "bob", "cy"])
    >>> read_verdicts({"cy": "anomalous", "ann": "normal"}, path)
    {2: 'anomalous', 0: 'normal'}
    """
    found: dict[int, str] = {}
    for node, verdict in _pairs(source):
        word = str(verdict).strip().lower()
        check_choice(f"the verdict on {shortened(node)}", word, VERDICTS)
        place = position_of(graph, node)
        found.pop(place, None)
        found[place] = word
    return found


def read_nodes(path: str | Path, graph: AttributedGraph) -> NDArray[np.int64]:
    """Return the positions of the nodes that a file lists, in a column ``node`` or one per line, in graph order."""
    table = _table(path)
    column = table["node"] if "node" in table.columns else None
    if column is None:
        if len(table.columns) != 1:
            raise ValueError(f"{path} has no column node; its columns are {', '.join(table.columns)}")
        column = [table.columns[0], *table[table.columns[0]]]  # one node per line, without a heading
    places = sorted({position_of(graph, node) for node in column})
    if not places:
        raise ValueError(f"{path} lists no nodes")
    return np.array(places, dtype=np.int64)


def position_of(graph: AttributedGraph, node: Hashable) -> int:
    """Return the position of a node; a leading ``'`` that protects a cell from spreadsheets is taken off."""
    try:
        return graph.index_of(node)
    except ValueError:
        if not (isinstance(node, str) and node.startswith("'")):
            raise
        return graph.index_of(node[1:])


def count_words(verdicts: Mapping[int, str]) -> str:
    """Say how many verdicts of each kind there are.

    >>> count_words({3: "anomalous", 4: "normal", 9: "normal"})
    '1 anomalous, 2 normal, 0 unsure'
    """
    counts = [sum(verdict == kind for verdict in verdicts.values()) for kind in VERDICTS]
    return ", ".join(f"{count:,} {kind}" for kind, count in zip(VERDICTS, counts, strict=True))


def _pairs(source: Any) -> Iterable[tuple[Hashable, Any]]:
    if isinstance(source, str | Path):
        table = _table(source)
        missing = [name for name in ("node", "verdict") if name not in table.columns]
        if missing:
            raise ValueError(f"{source} has no column {missing[0]}; verdicts are in the columns node and verdict")
        return zip(table["node"], table["verdict"], strict=True)
    columns = getattr(source, "columns", source if isinstance(source, Mapping) else ())
    if set(columns) >= {"node", "verdict"} and not isinstance(source["node"], str):
        nodes, verdicts = list(source["node"]), list(source["verdict"])
        if len(nodes) != len(verdicts):
            raise ValueError(f"verdicts have {plural(len(nodes), 'node')} and {plural(len(verdicts), 'verdict')}")
        return zip(nodes, verdicts, strict=True)
    if isinstance(source, Mapping):
        return source.items()
    raise Refusal(
        "verdicts",
        "must be a mapping of node id to verdict, a table with the columns node and verdict, or the path of "
        f"a CSV file, got {type(source).__name__}",
    )


def _table(path: str | Path) -> Any:
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    with reading(file):
        content = text_content(file)  # polars itself would unpack a file of any size
        return pl.read_csv(file if content is None else content, infer_schema=False, glob=False).fill_null("")
