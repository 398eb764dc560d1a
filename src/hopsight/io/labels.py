"""Labels of nodes: read them from a mapping, a table or a file, and find the nodes that they are about."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.checks import Refusal, option, plural, shortened, suggest
from hopsight.graph import AttributedGraph
from hopsight.io.sources import reading
from hopsight.io.textfile import text_content
from hopsight.system.lazy_polars import pl

VERDICTS = ("anomalous", "normal", "unsure")
ANOMALOUS = frozenset(
    ("anomalous", "anomaly", "1", "true", "yes", "y", "fraud", "fraudulent", "bad", "suspicious", "positive", "illicit",
     "spam", "scam", "banned", "abuse")
)  # fmt: skip
NORMAL = frozenset(
    ("normal", "0", "false", "no", "n", "ok", "good", "legit", "legitimate", "licit", "negative", "clean", "genuine",
     "benign", "honest", "ordinary")
)  # fmt: skip
UNKNOWN = frozenset(("", "unsure", "unknown", "none", "null", "nan", "na", "n/a", "-1"))


@dataclass(frozen=True)
class Labels:
    """What is known about some nodes.

    Attributes
    ----------
    positions, anomalous
        Positions of the labeled nodes, in ascending order, and which of them are anomalous.
    unsure
        Positions of nodes whose label is blank or unsure although they are listed.
    conflicts
        Number of nodes that were listed with different labels; the latest counts.
    name
        What the labels are called, such as the column that they come from.
    """

    positions: NDArray[np.int64]
    anomalous: NDArray[np.bool_]
    unsure: NDArray[np.int64]
    conflicts: int = 0
    name: str = "the label"

    @property
    def both_kinds(self) -> bool:
        """Whether there are anomalous and normal nodes among them."""
        return bool(self.anomalous.any() and not self.anomalous.all())


def read_labels(source: Any, graph: AttributedGraph, anomalous_value: object = None) -> Labels:
    """Return the labels of nodes.

    Parameters
    ----------
    source
        A mapping of node id to label, a pandas Series with node ids as index, one label per node in the order of the
        graph, a table with the column ``node`` and one other (or ``verdict``), or the path of such a CSV file. A label
        is yes or no, 1 or 0, true or false, anomalous or normal, or one of two words of any kind; blank, -1 and unsure
        mean unknown. Where a node occurs twice, the last label counts.
    graph
        The graph that the nodes belong to.
    anomalous_value
        The label that means anomalous, if that cannot be guessed; any other label then means normal.

    Raises
    ------
    ValueError
        If a column is missing, there are labels of more than two kinds, or a node is not in the graph.

    Examples
    --------
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ann", "bob", "cy"])
    >>> found = read_labels({"cy": "fraud", "ann": "regular", "bob": ""}, path)
    >>> found.positions.tolist(), found.anomalous.tolist(), found.unsure.tolist()
    ([0, 2], [False, True], [1])
    """
    known: dict[int, str] = {}
    conflicts: set[int] = set()
    missing: list[Hashable] = []
    for node, label in _pairs(source, graph):
        try:
            place = position_of(graph, node)
        except ValueError:
            missing.append(node)
            continue
        word = label_word(label)
        if known.get(place, word) != word and word not in UNKNOWN and known[place] not in UNKNOWN:
            conflicts.add(place)
        known[place] = word
    if missing:
        raise ValueError(
            f"{plural(len(missing), 'labeled node')} of {len(missing) + len(known):,} "
            f"{'is' if len(missing) == 1 else 'are'} not in the graph, such as {shortened(missing[0])}; correct or "
            "remove them"
        )
    means = meaning_of(set(known.values()), anomalous_value)
    places = np.array(sorted(place for place, word in known.items() if word not in UNKNOWN), dtype=np.int64)
    anomalous = np.array([means[known[place]] for place in places.tolist()], dtype=np.bool_)
    unsure = np.array(sorted(place for place, word in known.items() if word in UNKNOWN), dtype=np.int64)
    return Labels(places, anomalous, unsure, len(conflicts))


def label_word(label: object) -> str:
    """Return a label as a word in lower case: 1, 1.0 and True are alike, and so are None and blank.

    >>> [label_word(label) for label in (True, 1.0, " Fraud ", None, float("nan"))]
    ['1', '1', 'fraud', '', 'nan']
    """
    if label is None:
        return ""
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    if isinstance(label, float | np.floating) and np.isfinite(label) and label == int(label):
        return str(int(label))
    word = str(label).strip().casefold()
    return word[:-2] if word in ("1.0", "0.0", "-1.0") else word


def meaning_of(words: set[str], anomalous_value: object = None) -> dict[str, bool]:
    """Return whether each word means anomalous.

    >>> meaning_of({"fraud", "regular", ""}), meaning_of({"a", "b"}, "b")
    ({'fraud': True, 'regular': False}, {'a': False, 'b': True})
    """
    found = sorted(words - UNKNOWN)
    if anomalous_value is not None:
        wanted = label_word(anomalous_value)
        if found and wanted not in found:
            raise Refusal(
                "anomalous_value", f"is {shortened(anomalous_value)}, which no label is{suggest(wanted, found)}"
            )
        return {word: word == wanted for word in found}
    if all(word in ANOMALOUS or word in NORMAL for word in found):
        return {word: word in ANOMALOUS for word in found}
    asked = f"say which one means anomalous with {option('anomalous_value')}"
    if len(found) != 2:
        some = ", ".join([*(shortened(word) for word in found[:4]), *(["…"] if len(found) > 4 else [])])
        raise ValueError(f"labels have {plural(len(found), 'kind')} of values ({some}); {asked}")
    known = [word in ANOMALOUS for word in found], [word in NORMAL for word in found]
    if sum(known[0]) == 1:
        return dict(zip(found, known[0], strict=True))
    if sum(known[1]) == 1:
        return {word: not normal for word, normal in zip(found, known[1], strict=True)}
    raise ValueError(f"labels are {shortened(found[0])} and {shortened(found[1])}; {asked}")


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


def count_words(labels: Labels) -> str:
    """Say how many labels of each kind there are.

    >>> count_words(Labels(np.array([3, 4, 9]), np.array([True, False, False]), np.zeros(0, dtype=np.int64)))
    '1 anomalous, 2 normal, 0 unsure'
    """
    n_anomalous = int(labels.anomalous.sum())
    return f"{n_anomalous:,} anomalous, {labels.anomalous.size - n_anomalous:,} normal, {labels.unsure.size:,} unsure"


def _pairs(source: Any, graph: AttributedGraph) -> Iterable[tuple[Hashable, Any]]:
    if isinstance(source, str | Path):
        return _columns(_table(source), str(source))
    is_table = isinstance(source, Mapping) and "node" in source and not isinstance(source["node"], str)
    if is_table or hasattr(source, "columns"):
        return _columns(source, "the table of labels")
    if hasattr(source, "items"):  # a mapping, or a Series of pandas, which has its ids as index
        return list(source.items())
    if isinstance(source, Iterable):
        labels = list(source)
        if len(labels) == graph.n_nodes:
            return zip(graph.node_ids.tolist(), labels, strict=True)
        wanted = f"must have one entry per node ({graph.n_nodes:,}) or say which nodes"
        raise Refusal("labels", f"{wanted}, got {len(labels):,}")
    raise Refusal(
        "labels",
        "must be a mapping of node id to label, a table with the column node and one other, or the path of a CSV file, "
        f"got {type(source).__name__}",
    )


def _columns(table: Any, name: str) -> Iterable[tuple[Hashable, Any]]:
    """Return the pairs of node and label of a table with the column ``node`` and ``verdict`` or one other."""
    columns = list(getattr(table, "columns", table))
    others = [column for column in columns if column != "node"]
    label = "verdict" if "verdict" in others else others[0] if len(others) == 1 else None
    if "node" not in columns or label is None:
        missing = "node" if "node" not in columns else "verdict"
        raise ValueError(f"{name} has no column {missing}; labels are in the columns node and verdict")
    nodes, labels = list(table["node"]), list(table[label])
    if len(nodes) != len(labels):
        raise ValueError(f"{name} has {plural(len(nodes), 'node')} and {plural(len(labels), 'label')}")
    return zip(nodes, labels, strict=True)


def _table(path: str | Path) -> Any:
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    with reading(file):
        content = text_content(file)  # polars itself would unpack a file of any size
        return pl.read_csv(file if content is None else content, infer_schema=False, glob=False).fill_null("")
