"""Labels of nodes or edges: read them from a mapping, a table, a file or a column, and find what they are about."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.canonical import Aside
from hopsight.checks import Refusal, option, plural, shortened, suggest
from hopsight.graph import AttributedGraph
from hopsight.io.frames import frame_of, open_table
from hopsight.io.ids import WHOLE, notice_written, written_differently
from hopsight.io.notices import notice
from hopsight.io.rules import SINCE_1970, filled, is_time, notice_ignored, without_ignored
from hopsight.io.sources import Address, file_of, reading, resolve
from hopsight.io.vocabulary import (
    ANOMALOUS,
    BLANK,
    COLUMN_NAMES,
    DOUBTS,
    MAYBE_NAMES,
    NEGATIONS,
    NORMAL,
    SUSPICION,
    UNDECIDED,
    first_known,
    normalized_name,
    yes_means_normal,
)
from hopsight.system.arrays import find_edges
from hopsight.system.lazy_polars import pl

VERDICTS = ("anomalous", "normal", "unsure")
MOST_WORDS = 10  # of a column of labels that is recognized by its values, and in a message


@dataclass(frozen=True)
class Labels:
    """What is known about some nodes or edges.

    Attributes
    ----------
    positions, anomalous
        Positions of the labeled nodes or edges, in ascending order, and which of them are anomalous.
    unsure
        Positions of those whose label is a word that says neither, such as unsure or pending.
    conflicts
        Number of nodes or edges that were listed with different labels: the latest counts for a node, and an edge is
        anomalous if one of its rows is.
    name
        What the labels are called, such as the column that they come from.
    noun
        What they are labels of: ``"node"`` or ``"edge"``.
    """

    positions: NDArray[np.int64]
    anomalous: NDArray[np.bool_]
    unsure: NDArray[np.int64]
    conflicts: int = 0
    name: str = "the label"
    noun: str = "node"

    @property
    def both_kinds(self) -> bool:
        """Whether there are anomalous and normal ones among them."""
        return bool(self.anomalous.any() and not self.anomalous.all())


def read_labels(
    source: Any,
    graph: AttributedGraph,
    anomalous_value: object = None,
    notices: list[str] | None = None,
    *,
    ignore: Sequence[str] = (),
) -> Labels:
    """Return the labels of nodes or edges.

    Parameters
    ----------
    source
        A mapping of node id to label, a pandas Series with node ids as index, one label per node in the order of the
        graph, a table with a column of node ids and one of labels (``node`` and ``verdict`` if there are several), or
        the path of such a file (``cases.csv?column=outcome`` names its column of labels); the name of a column that the
        graph keeps aside (``load(…, learn_from="is_fraud")``).
        For edges, ids are pairs (source, target), and tables have the columns ``source`` and ``target``. A label is yes
        or no, 1 or 0, true or false, anomalous or normal, or one of two words of any kind; blank, -1 and unsure mean
        unknown. Where a node occurs twice, the last label counts; an edge is anomalous if one of its rows is.
    anomalous_value
        The label that means anomalous, or several, if that cannot be guessed; any other label then means normal.
    ignore
        Rows of a file to leave out, as in ``"outcome=pending"``; entries that name no column of it mean nothing.

    Examples
    --------
    >>> path = AttributedGraph.from_edges([0, 1], [1, 2], np.zeros((3, 1)), node_ids=["ann", "bob", "cy"])
    >>> found = read_labels({"cy": "fraud", "ann": "regular", "bob": ""}, path)
    >>> found.positions.tolist(), found.anomalous.tolist(), found.unsure.tolist()
    ([0, 2], [False, True], [])
    >>> read_labels({("bob", "ann"): 1, ("bob", "cy"): 0}, path).anomalous.tolist()
    [True, False]
    """
    if isinstance(source, str) and source in graph.aside:
        return _of_column(graph.aside[source], source, graph, anomalous_value, notices)
    pairs = list(_pairs(source, graph, anomalous_value, ignore, notices))
    of_edges = bool(pairs) and isinstance(pairs[0][0], tuple)
    find, noun = (edge_position, "edge") if of_edges else (position_of, "node")
    if not of_edges:
        pairs = _as_written(pairs, graph, notices)
    places, words = [], []
    missing: dict[Hashable, None] = {}  # each once
    for node, label in pairs:
        try:
            places.append(find(graph, node))
        except ValueError:
            missing |= {} if label_word(node) in BLANK else {node: None}
        else:
            words.append(label_word(label))
    if missing:
        n_labeled = len(missing) + len(set(places))
        are = f"{'is' if len(missing) == 1 else 'are'} not in the graph, such as {shortened(next(iter(missing)))}"
        sentence = f"{plural(len(missing), f'labeled {noun}')} of {n_labeled:,} {are}"
        if 2 * len(missing) >= n_labeled:
            raise ValueError(f"{sentence}; correct or remove them")
        notice(f"{sentence}: left out.", notices)
    flags = _flags(words, anomalous_value, np.ones(len(words)), notices)
    return _merged(np.array(places, dtype=np.int64), flags, of_edges=of_edges)


def _as_written(
    pairs: list[tuple[Any, object]], graph: AttributedGraph, notices: list[str] | None
) -> list[tuple[Any, object]]:
    """Return labels of nodes whose ids the graph has in one other form only, such as in lower case, under these ids."""
    unknown = [node for node in dict.fromkeys(node for node, _ in pairs) if isinstance(node, str)]
    unknown = [node for node in unknown if not _is_in(graph, node)]
    if not unknown or not isinstance(graph.node_ids[0], str):
        return pairs
    written = written_differently(pl.Series(unknown), pl.Series([str(node) for node in graph.node_ids]))
    notice_written(written, notices, "graph")
    return [(written.get(node, node) if isinstance(node, str) else node, label) for node, label in pairs]


def _is_in(graph: AttributedGraph, node: str) -> bool:
    try:
        position_of(graph, node)
    except ValueError:
        return False
    return True


def _of_column(
    column: Aside, name: str, graph: AttributedGraph, anomalous_value: object, notices: list[str] | None
) -> Labels:
    """Return the labels in a column that a graph keeps aside."""
    words = [label_word(word) for word in column.words]
    _check_name(name, words, anomalous_value)
    counts = np.bincount(column.codes, minlength=len(words))
    flags = _flags(words, anomalous_value, counts, notices)[column.codes]
    of_edges = column.rows.ndim == 2
    places = column.rows
    if of_edges:
        given = column.rows[0] != column.rows[1]  # the graph has no self-loops
        places, flags = _positions(graph, *column.rows[:, given]), flags[given]
    if not (flags >= 0).any():
        raise Refusal("learn_from", f"names the column {shortened(name)}, which has no label in it")
    return replace(_merged(places, flags, of_edges=of_edges), name=name)


def _flags(
    words: Sequence[str], anomalous_value: object, counts: NDArray[Any], notices: list[str] | None
) -> NDArray[np.int64]:
    """Return what each word means: 1 anomalous, 0 normal, -1 unsure, -2 nothing; say so unless it is clear."""
    means = meaning_of(set(words), anomalous_value)
    flags = np.array([-2 if word in BLANK else int(means.get(word, -1)) for word in words], dtype=np.int64)
    totals: dict[str, int] = {}
    for word, count in sorted(zip(words, counts, strict=True)):
        totals[word] = totals.get(word, 0) + int(count)
    found = dict(zip(words, flags.tolist(), strict=True))
    said = []
    for flag, meaning in ((1, "anomalous"), (0, "normal"), (-1, "unknown")):
        mine = [f"{shortened(word)} ({totals[word]:,})" for word in sorted(totals) if found[word] == flag]
        said += [f"{', '.join(mine[:5])}{', …' if len(mine) > 5 else ''} as {meaning}"] if mine else []
    is_guess = not anomalous_value and any(flag >= 0 and _meaning(word) is None for word, flag in found.items())
    if is_guess or len({*words} - BLANK) > 2:
        as_given = [word for word, flag in found.items() if flag == 0 and _meaning(word) is None]
        advice = f"; {LEAVE_OUT} {option('ignore', ['COLUMN=VALUE'])}" if anomalous_value and as_given[1:] else ""
        notice(f"Labels: read {'; '.join(said)}{advice}.", notices)
    return flags


def _check_name(name: str, labels: Iterable[object], anomalous_value: object) -> None:
    """Refuse only yes and no in a column such as is_legit, which says what is normal.

    >>> _check_name("is_fraud", ["yes", "no"], None), _check_name("is_legit", ["ok", "fraud"], None)
    (None, None)
    >>> _check_name("Is legit", [True, None], None)
    Traceback (most recent call last):
    hopsight.checks.Refusal: anomalous_value is needed: column 'Is legit' seems to say which cases are normal
    """
    if anomalous_value is None and yes_means_normal(name, {*map(label_word, labels)}):
        raise Refusal("anomalous_value", f"is needed: column {name!r} seems to say which cases are normal")


def _merged(places: NDArray[np.int64], flags: NDArray[np.int64], *, of_edges: bool) -> Labels:
    """Return one label per node or edge, given its labels in order, as :func:`_flags` returns them."""
    places, flags = places[flags != -2], flags[flags != -2]  # a blank row takes no earlier label back
    order = np.lexsort([np.arange(places.size), places])
    ordered, sorted_flags = places[order], flags[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    if not first.size:
        return Labels(ordered, ordered > 0, ordered, noun="edge" if of_edges else "node")
    last = np.append(first[1:], ordered.size) - 1
    highest = np.maximum.reduceat(sorted_flags, first)
    lowest = np.minimum.reduceat(np.where(sorted_flags < 0, 2, sorted_flags), first)  # of those that are known
    label = highest if of_edges else sorted_flags[last]
    one_each, conflicts = ordered[first], int(((highest == 1) & (lowest == 0)).sum())
    known = label >= 0
    noun = "edge" if of_edges else "node"
    return Labels(one_each[known], label[known] == 1, one_each[label == -1], conflicts, noun=noun)


def label_word(label: object) -> str:
    """Return a label as words in lower case: 1, 1.0 and True are alike, and so are None and blank.

    >>> [label_word(label) for label in (True, 1.0, " Fraud ", "FALSE_POSITIVE", None, float("nan"))]
    ['1', '1', 'fraud', 'false positive', '', 'nan']
    """
    if label is None:
        return ""
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    if isinstance(label, float | np.floating) and np.isfinite(label) and label == int(label):
        return str(int(label))
    word = str(label).strip().casefold().replace("_", " ")
    return word[:-2] if word in ("1.0", "0.0", "-1.0") else word


def meaning_of(words: set[str], anomalous_value: object = None) -> dict[str, bool]:
    """Return whether each word means anomalous.

    >>> meaning_of({"fraud", "regular", "pending"}), meaning_of({"a", "b"}, "b"), meaning_of({"oszustwo", "w porządku"})
    ({'fraud': True, 'regular': False}, {'a': False, 'b': True}, {'oszustwo': True, 'w porządku': False})
    >>> meaning_of({"confirmed fraud", "suspected fraud"})
    Traceback (most recent call last):
    ValueError: labels are 'confirmed fraud' and 'suspected fraud'; say which one means anomalous with anomalous_value
    >>> meaning_of({"confirmed fraud", "no fraud", "false positive", ""})
    {'confirmed fraud': True, 'false positive': False, 'no fraud': False}
    """
    found = sorted(words - UNDECIDED)
    given = anomalous_value if isinstance(anomalous_value, list | tuple | set) else [anomalous_value]
    if wanted := {label_word(each): each for each in given if each is not None}:
        absent = [each for each in wanted if found and each not in found]
        if absent:
            one = absent[0]
            raise Refusal("anomalous_value", f"is {shortened(wanted[one])}, which no label is{suggest(one, found)}")
        return {word: word in wanted for word in found}
    means = {word: _meaning(word) for word in found}
    if None not in means.values():
        return {word: bool(each) for word, each in means.items()}
    if len(found) == 1 and SUSPICION.match(found[0]):
        return {found[0]: True}
    asked = f"say which one means anomalous with {option('anomalous_value')}"
    if len(found) != 2:
        raise ValueError(
            f"labels have {plural(len(found), 'kind')} of values ({_understood(means)}); {asked}, once for each if "
            f"several do: all others then mean normal; {LEAVE_OUT} {option('ignore', ['COLUMN=VALUE'])}"
        )
    named = [word in ANOMALOUS for word in found]
    known = named if any(named) else [bool(SUSPICION.match(word)) for word in found], [word in NORMAL for word in found]
    doubtful = any(not DOUBTS.isdisjoint(re.findall(r"\w+", word)) for word in found)
    if doubtful or all(word.lstrip("-").isdecimal() for word in found):  # 1 and 2 may mean no and yes
        known = [], []
    if sum(known[0]) == 1:
        return dict(zip(found, known[0], strict=True))
    if sum(known[1]) == 1:
        return {word: not normal for word, normal in zip(found, known[1], strict=True)}
    raise ValueError(f"labels are {shortened(found[0])} and {shortened(found[1])}; {asked}")


LEAVE_OUT = "leave the cells of undecided cases blank, or pass"


def _understood(means: Mapping[str, bool | None]) -> str:
    """Say what each word means.

    >>> _understood({"blue": None, "fraud": True, "red": None})
    "'blue', 'red' unclear; 'fraud' anomalous"
    """
    said = []
    for meaning, what in ((None, "unclear"), (True, "anomalous"), (False, "normal")):
        mine = [shortened(word) for word, each in means.items() if each is meaning]
        said += [f"{', '.join(mine[:MOST_WORDS])}{', …' if len(mine) > MOST_WORDS else ''} {what}"] if mine else []
    return "; ".join(said)


def _meaning(word: str) -> bool | None:
    """Return whether a label means anomalous, by itself or by one of its words; None if it does not say.

    >>> [_meaning(text) for text in ("fraud, settled", "kein betrug", "not cleared", "cleared of fraud", "red")]
    [True, False, None, None, None]
    >>> [_meaning(text) for text in ("false negative", "true negative", "fraud ruled out", "fraud-free", "never fraud")]
    [True, False, None, False, False]
    """
    if word in ANOMALOUS or word in NORMAL:
        return word in ANOMALOUS
    parts = {part for part in re.findall(r"\w+", word) if len(part) > 1}
    bad = any(part in ANOMALOUS or SUSPICION.match(part) for part in parts)
    good, negated = not parts.isdisjoint(NORMAL - NEGATIONS), not parts.isdisjoint(NEGATIONS)
    if len(parts) < 2 or bad == good or not parts.isdisjoint(DOUBTS) or (good and negated):
        return None
    return bad and not negated


def read_nodes(path: str | Path, graph: AttributedGraph) -> NDArray[np.int64]:
    """Return the positions of the nodes that a file lists, in a column of ids or one per line, in graph order."""
    table = _table(path)
    name = _node_column(table, graph) or (table.columns[0] if len(table.columns) == 1 else None)
    if name is None:
        raise ValueError(_lacks_nodes(str(path), table.columns))
    heading = [name] if len(table.columns) == 1 and _are_nodes([name], graph) else []  # one per line, without one
    places = sorted({position_of(graph, node) for node in [*heading, *table[name]]})
    if not places:
        raise ValueError(f"{path} lists no nodes")
    return np.array(places, dtype=np.int64)


def position_of(graph: AttributedGraph, node: Hashable) -> int:
    """Return the position of a node, whose id may have spaces around it, ``.0`` at its end, or a ``'`` before it.

    The latter protects a cell from spreadsheets.
    """
    try:
        return graph.index_of(node)
    except ValueError:
        if not isinstance(node, str | float) or (plain := as_id(str(node))) == node:
            raise
        return graph.index_of(plain)


def as_id(text: str) -> str:
    """Return the id that a cell of a file of labels means.

    >>> [as_id(text) for text in (" A1 ", "5.0", "'-7", "1.05")]
    ['A1', '5', '-7', '1.05']
    """
    return re.sub(WHOLE, r"\1", text.strip().removeprefix("'"))


def edge_position(graph: AttributedGraph, pair: Any) -> int:
    """Return the position of an edge among those of a graph, given the ids of its two ends."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise Refusal("labels", f"of edges name pairs (source, target), got {shortened(pair)}")
    source, target = (np.array([position_of(graph, end)]) for end in pair)
    return int(_positions(graph, source, target)[0])


def _positions(graph: AttributedGraph, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of edges among those of a graph, given those of their ends; refuse pairs without an edge."""
    if not graph.directed:
        source, target = np.minimum(source, target), np.maximum(source, target)
    places = find_edges(graph.edges, graph.edge_starts, source, target)
    found = np.minimum(places, graph.n_edges - 1)
    if not (graph.edges[:, found] == np.stack([source, target])).all():
        raise ValueError("there is no edge between two nodes")
    return found


def count_words(labels: Labels) -> str:
    """Say how many labels of each kind there are.

    >>> count_words(Labels(np.array([3, 4, 9]), np.array([True, False, False]), np.zeros(0, dtype=np.int64)))
    '1 anomalous, 2 normal'
    """
    n_anomalous = int(labels.anomalous.sum())
    unsure = f", {labels.unsure.size:,} unsure" if labels.unsure.size else ""
    return f"{n_anomalous:,} anomalous, {labels.anomalous.size - n_anomalous:,} normal{unsure}"


def notice_one_kind(labels: Labels, notices: list[str] | None) -> None:
    """Give notice of labels that are all of one kind, from which nothing is learned."""
    if labels.positions.size and not labels.both_kinds:
        word, other = ("anomalous", "normal") if labels.anomalous.any() else ("normal", "anomalous")
        how = ", for example with hopsight review" if labels.noun == "node" else ""
        remedy = f"label some {other} {labels.noun}s too{how}"
        notice(f"All labels are {word}: {remedy}. Until then the ranking is that without labels.", notices)


def _pairs(
    source: Any, graph: AttributedGraph, anomalous_value: object, ignore: Sequence[str], notices: list[str] | None
) -> Iterable[tuple[Hashable, Any]]:
    if isinstance(source, str | Path):
        if isinstance(source, str) and file_of(source) is None:
            _refuse_column(source, graph)
        table, place = _table(source), resolve(source)
        if "node" not in table.columns and any(_are_nodes([name], graph) for name in table.columns):
            notice(f"{source} has no header; its first line is read as a case.", notices)
            table = pl.DataFrame([table.columns], schema=table.schema, orient="row").vstack(table)
        left_out: dict[str, int] = {}
        table = without_ignored(table, ignore, left_out)
        notice_ignored(left_out, notices)
        label = place.options.get("column") if isinstance(place, Address) else None  # cases.csv?column=outcome
        return _columns(table, str(source), graph, anomalous_value, notices, label)
    heading = next((name for name in ("node", "source") if isinstance(source, Mapping) and name in source), None)
    is_table = heading is not None and not isinstance(source[heading], str)
    if is_table or hasattr(source, "columns"):
        if ignore and hasattr(source, "columns"):
            source = without_ignored(frame_of(source), ignore, {})
        return _columns(source, "the table of labels", graph, anomalous_value, notices)
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
        "must be a mapping of node id to label, a table with the column node and one other, the path of a CSV file, or "
        f"the name of a column, got {type(source).__name__}",
    )


def _node_column(table: Any, graph: AttributedGraph) -> str | None:
    """Return the column ``node``, or else the one column most of whose values are node ids."""
    columns = list(getattr(table, "columns", table))
    holding_ids = [column for column in columns if column == "node" or _are_nodes(table[column], graph)]
    return "node" if "node" in columns else holding_ids[0] if len(holding_ids) == 1 else None


def _lacks_nodes(name: str, columns: Sequence[str]) -> str:
    return f"{name} has no column that is clearly one of node ids; call it node (it has {', '.join(columns)})"


def _columns(
    table: Any,
    name: str,
    graph: AttributedGraph,
    anomalous_value: object,
    notices: list[str] | None,
    label: str | None = None,
) -> Iterable[tuple[Hashable, Any]]:
    """Return pairs of node (or both ends of an edge) and label from a table.

    The columns are ``node``, or ``source`` and ``target``, and ``verdict``; else the one column most of whose values
    are node ids, and ``label`` or the one other that :func:`_found_labels` finds.
    """
    columns = list(getattr(table, "columns", table))
    of_edges = "node" not in columns and {"source", "target"} <= {*columns}
    node = None if of_edges else _node_column(table, graph)
    listed = f"(it has {', '.join(columns)})"
    if not (of_edges or node is not None):
        raise ValueError(_lacks_nodes(name, columns))
    others = [column for column in columns if column not in (("source", "target") if of_edges else (node,))]
    if not others:
        raise ValueError(f"{name} has no column of labels {listed}; add one called verdict")
    if label is not None and label not in others:
        raise ValueError(f"{name} has no column of labels {label!r}{suggest(label, others)} {listed}")
    label = label or _found_labels({each: table[each] for each in others}, anomalous_value)
    if label is None:
        likely = next((each for each in others if _have_few_words(table[each])), others[-1])
        address = f"{Path(name).name}{'&' if '?' in name else '?'}column={likely}"
        how = f", or name it, as in {address!r}" if file_of(name) else ""
        raise ValueError(f"{name} has no column that is clearly one of labels; call it verdict{how} {listed}")
    if normalized_name(label) not in COLUMN_NAMES and len(others) > 1:
        notice(f"Read labels from column {label!r}.", notices)
    labels = list(table[label])
    _check_name(label, labels, anomalous_value)
    nodes = list(zip(table["source"], table["target"], strict=False)) if of_edges else list(table[node])
    if len(nodes) != len(labels):
        raise ValueError(f"{name} has {plural(len(nodes), 'node')} and {plural(len(labels), 'label')}")
    return zip(nodes, labels, strict=True)


def _found_labels(columns: Mapping[str, Iterable[Any]], anomalous_value: object) -> str | None:
    """Return the column of labels: the only one, one called so, the only one that can be read, or with a few words."""
    if len(columns) == 1:
        return next(iter(columns))
    readable = []
    for name, column in columns.items():
        with suppress(ValueError):
            readable += [name] if meaning_of({label_word(value) for value in column}, anomalous_value) else []
    few = [name for name, column in columns.items() if _have_few_words(column)]
    found = [first_known([*columns], COLUMN_NAMES), *(readable if len(readable) == 1 else [])]
    found += [first_known([*columns], MAYBE_NAMES), *(few if len(few) == 1 and not readable else [])]
    return next((name for name in found if name is not None), None)


def _have_few_words(column: Iterable[Any]) -> bool:
    """Return whether a column has 2 to 10 different words that repeat, and neither numbers nor dates.

    >>> [_have_few_words(words.split()) for words in ("open done done", "1 2 2", "2024-01-31 2024-01-30 2024-01-30")]
    [True, False, False]
    """
    words = filled(pl.Series([label_word(value) for value in column], dtype=pl.String))
    if not 2 <= words.n_unique() <= min(MOST_WORDS, len(words) - 1) or is_time(words):
        return False
    return bool(words.str.contains(r"\p{L}").all())


def _are_nodes(column: Iterable[Any], graph: AttributedGraph) -> bool:
    """Return whether most values of a column are node ids."""
    values = [as_id(str(value)) for value in column]
    known = {str(node) for node in graph.node_ids.tolist()}
    return sum(value in known for value in values) > len(values) / 2


def _refuse_column(name: str, graph: AttributedGraph) -> None:
    used = {each.partition("=")[0].removesuffix(SINCE_1970) for each in graph.attribute_names}
    if name in used or name in graph.edge_attribute_names:
        raise ValueError(
            f"the fit has used the column {shortened(name)} as an attribute: load the graph with learn_from={name!r}, "
            "and fit again"
        )
    hint = suggest(name, graph.aside)
    raise ValueError(
        f"there is no file {name}, and the graph keeps no column of this name aside{hint}; load it with "
        f"learn_from={name!r}"
    )


def case_columns(source: str | Path) -> list[str]:
    """Return the columns of a file of cases."""
    return list(_table(source).columns)


def _table(source: str | Path) -> Any:
    if file_of(source) is None:
        raise ValueError(f"there is no file {source}")
    place = resolve(source)
    if isinstance(place, Address):
        options = {name: value for name, value in place.options.items() if name != "column"}
        place = replace(place, options=options) if options else place.paths[0]
    with reading(place):
        table = open_table(place, header=True)
        return table.read(table.names, text=table.names).select(pl.all().cast(pl.String)).fill_null("")
