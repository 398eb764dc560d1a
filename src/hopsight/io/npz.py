"""Read and write hopsight's own ``.npz``: all of an AttributedGraph, exactly, in plain NumPy arrays.

| array | content |
|---|---|
| ``edges`` | (2, n_edges) node positions |
| ``attributes`` | (n_nodes, n_attributes), or instead of it |
| ``attributes_data``, ``_indices``, ``_indptr``, ``_shape`` | the parts of a CSR array |
| ``node_ids`` | whole numbers, or instead of them |
| ``node_ids_text``, ``node_ids_offsets`` | all ids in one UTF-8 buffer; where each begins, and the last ends |
| ``attribute_names_text``, ``_offsets`` | likewise |
| ``node_types_text``, ``node_names_text``, ``edge_attribute_names_text``, ``_offsets`` | likewise |
| ``edge_weight``, ``edge_time``, ``edge_attributes`` | in the order of ``edges`` |
| ``event_source``, ``_target``, ``_amount``, ``_time``, ``_currency``, ``event_currencies_text`` | the events, if any |
| ``event_earlier_ends``, ``event_earlier_time`` | earlier events that are not judged |
| ``event_dates``, ``event_moves`` | how dates are written, and whether amounts can be passed on |
| ``labels``, ``kinds``, ``directed``, ``name_text``, ``n_duplicates``, ``n_self_loops`` | as in the graph |
| ``known``, ``rank_unknown`` | if some nodes have no row in the node table |
| ``unranked`` | if some nodes are left out of the ranking |
| ``edge_relation``, ``relation_names_text``, ``_offsets`` | the relation of each edge, if nodes are of several types |
| ``context_counts``, ``_distinct``, ``_links``, ``_other_types``, ``_n_sharing``, ``_means`` | what relations say |
| ``context_names_text``, ``_types_text``, ``_others_text``, ``_mean_names_text``, ``_offsets`` | their names |
| ``derived_source``, ``_target``, ``_place``, ``_directed`` | the rows that attributes were derived from |
| ``derived_numbers``, ``_times``, ``_categories`` | their columns; a category has the numbers of its words |
| ``derived_numbers_names_text``, ``derived_words_text``, ``_kinds_text``, … | names and words of these |
| ``filled_text``, ``_offsets``, ``filled_0``, … | attributes with empty cells, and the nodes of each |
| ``left_out_text``, ``left_out_same_text``, ``left_out_value``, ``_offsets`` | derived columns that were left out |
| ``hopsight_graph`` | version of this layout |

Only ``edges`` and ``attributes`` are required: ``numpy.savez(path, edges=…, attributes=…)`` writes a valid file.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.canonical import DATE_PATTERNS, EVENT_COLUMNS, Context, Events
from hopsight.graph import AttributedGraph
from hopsight.io.sources import check_archive, check_loaded, reading, writing


def pack_text(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return all words in one UTF-8 buffer, and the offsets where each begins and the last ends.

    >>> buffer, offsets = pack_text(["Zoë", "", "Li"])
    >>> offsets.tolist(), unpack_text(buffer, offsets, 3)
    ([0, 4, 4, 6], ['Zoë', '', 'Li'])
    """
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.array([len(word) for word in encoded], dtype=np.int64))
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_text(buffer: NDArray[Any], offsets: NDArray[Any], count: int) -> list[str]:
    """Return the words that :func:`pack_text` packed; refuse arrays that do not match."""
    text, ends = buffer.ravel(), offsets.ravel()
    fits = (
        text.dtype == np.uint8
        and ends.dtype.kind in "iu"
        and ends.size == count + 1
        and ends[0] == 0
        and ends[-1] == text.size
        and bool((ends[1:] >= ends[:-1]).all())
    )
    if not fits:
        raise ValueError("its packed text is damaged")
    content, cuts = text.tobytes(), ends.tolist()
    return [content[start:end].decode() for start, end in pairwise(cuts)]


VERSION = 1
EDGE_FIELDS = ("edge_weight", "edge_time", "edge_attributes", "edge_relation")
EARLIER = ("amount", "time", "currency")  # what is kept of earlier events
TEXT_FIELDS = ("node_types", "node_names")
CONTEXT_ARRAYS = ("counts", "distinct", "links", "other_types", "n_sharing", "means")
CONTEXT_TEXTS = ("names", "types", "others", "mean_names")
Arrays = Mapping[str, NDArray[Any]]


def read_npz(path: Path) -> AttributedGraph:
    """Read a graph from a ``.npz`` file, without unpickling anything."""
    with reading(path):
        arrays = _read_arrays(path)
        version = int(arrays["hopsight_graph"]) if "hopsight_graph" in arrays else VERSION
        if version != VERSION:
            raise ValueError(f"it has layout version {version}, and this hopsight reads {VERSION}; update hopsight")
        packed, n_numbers = path.stat().st_size, sum(array.size for array in arrays.values())
        edges, attributes = _edges(arrays), _attributes(arrays, packed)
        n_nodes, n_columns = attributes.shape
        check_loaded(packed, n_nodes=n_nodes, n_columns=n_columns, n_numbers=n_numbers)
        graph = AttributedGraph.from_edges(
            edges[0],
            edges[1],
            attributes,
            directed=bool(arrays.get("directed", np.False_)),
            node_ids=_names(arrays, "node_ids", n_nodes),
            attribute_names=_names(arrays, "attribute_names", n_columns),
            labels=arrays.get("labels"),
            kinds=arrays.get("kinds"),
            known=arrays.get("known"),
            rank_unknown=bool(arrays.get("rank_unknown", np.False_)),
            unranked=arrays.get("unranked"),
            **dict[str, Any]({field: arrays.get(field) for field in EDGE_FIELDS}),
            edge_attribute_names=_names(arrays, "edge_attribute_names", _n_edge_columns(arrays)),
            **{field: _names(arrays, field, n_nodes) for field in TEXT_FIELDS},
            relation_names=_all_names(arrays, "relation_names"),
            context=_context(arrays),
            name=arrays["name_text"].tobytes().decode() if "name_text" in arrays else path.stem,
            events=_events(arrays),
            derivation=_derivation(arrays, n_nodes),
            filled=_filled(arrays, n_nodes),
            left_out=_left_out(arrays),
        )
        if graph.edge_relation is not None and not np.array_equal(graph.edges, edges):
            raise ValueError("its edges have relations and are not in order; write it with hopsight convert")
        return graph


def write_npz(graph: AttributedGraph, path: Path) -> None:
    """Write a graph so that :func:`read_npz` restores it; the same graph always gives the same bytes."""
    arrays: dict[str, Any] = {
        "hopsight_graph": np.int64(VERSION),
        "edges": graph.edges.astype(np.int32 if graph.n_nodes < 2**31 else np.int64),
        "directed": np.bool_(graph.directed),
        "name_text": np.frombuffer(graph.name.encode(), dtype=np.uint8),
    }
    if sp.issparse(graph.attributes):
        for part in ("data", "indices", "indptr"):
            arrays[f"attributes_{part}"] = getattr(graph.attributes, part)
        arrays["attributes_shape"] = np.array(graph.attributes.shape, dtype=np.int64)
    else:
        arrays["attributes"] = graph.attributes
    if graph.node_ids.dtype == object:
        arrays["node_ids_text"], arrays["node_ids_offsets"] = pack_text(graph.node_ids.tolist())
    else:
        arrays["node_ids"] = graph.node_ids
    arrays["attribute_names_text"], arrays["attribute_names_offsets"] = pack_text(graph.attribute_names)
    for field in ("labels", "kinds", "known", "unranked", *EDGE_FIELDS):
        if getattr(graph, field) is not None:
            arrays[field] = getattr(graph, field)
    if graph.known is not None:
        arrays["rank_unknown"] = np.bool_(graph.rank_unknown)
    if graph.events is not None:
        found = {f"event_{column}": getattr(graph.events, column) for column in EVENT_COLUMNS if column != "row"}
        arrays |= {name: values for name, values in found.items() if values is not None}
        arrays["event_currencies_text"], arrays["event_currencies_offsets"] = pack_text(graph.events.currencies)
        arrays["event_dates"] = np.int64(DATE_PATTERNS.index(graph.events.dates))
        arrays["event_moves"] = np.int64(graph.events.moves)
        if (earlier := graph.events.earlier) is not None:
            arrays["event_earlier_ends"] = np.stack([earlier.source, earlier.target])
            parts = {name: getattr(earlier, name) for name in EARLIER}
            arrays |= {f"event_earlier_{name}": values for name, values in parts.items() if values is not None}
    texts = {field: getattr(graph, field) for field in (*TEXT_FIELDS, "edge_attribute_names", "relation_names")}
    if graph.context is not None:
        arrays |= {f"context_{part}": getattr(graph.context, part) for part in CONTEXT_ARRAYS}
        texts |= {f"context_{part}": getattr(graph.context, part) for part in CONTEXT_TEXTS}
    if graph.derivation is not None:
        found, words = _derived_arrays(graph.derivation)
        arrays, texts = arrays | found, texts | words
    for number, rows in enumerate(graph.filled.values()):
        arrays[f"filled_{number}"] = rows.astype(np.int64)
    texts["filled"] = list(graph.filled)
    same = [each if isinstance(each, str) else "" for each in graph.left_out.values()]
    texts |= {"left_out": list(graph.left_out), "left_out_same": same}
    arrays["left_out_value"] = np.array([0.0 if isinstance(each, str) else each for each in graph.left_out.values()])
    for field, words in texts.items():
        if words is not None and len(words):
            arrays[f"{field}_text"], arrays[f"{field}_offsets"] = pack_text(list(words))
    with writing(path) as temporary, zipfile.ZipFile(temporary, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that the bytes do not depend on the clock
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)
    arrays = {}
    with np.load(path, allow_pickle=False) as stored:
        for name in stored.files:
            try:
                array = stored[name]
            except MemoryError:
                raise ValueError("one of its arrays is truncated or damaged") from None
            if not isinstance(array, np.ndarray):
                continue
            if array.dtype.kind not in "biuf":
                raise ValueError(f"one of its arrays has type {array.dtype}; only numbers can be read")
            array.flags.writeable = False  # a graph need not copy it
            arrays[name] = array
    return arrays


def _edges(arrays: Arrays) -> NDArray[Any]:
    if "edges" not in arrays:
        raise ValueError("it has no array called edges")
    edges = arrays["edges"]
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"edges must be whole numbers of shape (2, n_edges), got {edges.dtype} of {edges.shape}")
    return edges


def _attributes(arrays: Arrays, packed: int) -> Any:
    if "attributes" in arrays:
        attributes = arrays["attributes"]
        if attributes.ndim != 2:
            raise ValueError(f"attributes must have shape (n_nodes, n_attributes), got {attributes.shape}")
        return attributes
    parts = [arrays.get(f"attributes_{part}") for part in ("data", "indices", "indptr", "shape")]
    if any(part is None for part in parts):
        raise ValueError("it has no array called attributes")
    data, indices, indptr, shape = parts
    if shape is None or indptr is None or shape.shape != (2,) or shape[0] + 1 != indptr.size:
        raise ValueError("its sparse attributes are damaged")
    check_loaded(packed, n_columns=int(shape[1]))
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(int(length) for length in shape))
    matrix.check_format(full_check=True)
    return matrix


def _events(arrays: Arrays) -> Events | None:
    if "event_source" not in arrays:
        return None
    columns = {column: arrays.get(f"event_{column}") for column in EVENT_COLUMNS}
    if columns["target"] is None:
        raise ValueError("its events have no array called event_target")
    offsets = arrays.get("event_currencies_offsets", np.zeros(1, dtype=np.int64))
    pattern = int(arrays.get("event_dates", np.int64(0)))
    if not 0 <= pattern < len(DATE_PATTERNS):
        raise ValueError("its events have dates of an unknown kind; update hopsight")
    names = tuple(_names(arrays, "event_currencies", offsets.size - 1) or ())
    moves = bool(arrays.get("event_moves", np.int64(1)))
    ends = arrays.get("event_earlier_ends")
    parts: dict[str, Any] = {name: arrays.get(f"event_earlier_{name}") for name in EARLIER}
    if ends is not None and (ends.ndim != 2 or len(ends) != 2):
        raise ValueError("its earlier events do not have two ends each")
    earlier = None if ends is None else Events(ends[0], ends[1], **parts, currencies=names)
    return Events(**columns, currencies=names, dates=DATE_PATTERNS[pattern], moves=moves, earlier=earlier)


def _derived_arrays(derivation: Any) -> tuple[dict[str, Any], dict[str, Sequence[str]]]:
    """Return what attributes were derived from, as arrays and as lists of words."""
    import polars as pl

    rows = derivation.rows
    columns = {"numbers": rows.numbers, "times": rows.times, "categories": rows.categories}
    words = sorted({word for column in rows.categories for word in column.unique().drop_nulls().to_list()})
    values = {
        "numbers": [column.to_numpy().astype(np.float64) for column in rows.numbers],
        "times": [column.to_numpy().astype(np.float64) for column in rows.times],
        "categories": [
            column.cast(pl.Enum(words)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            for column in rows.categories
        ],
    }
    arrays: dict[str, Any] = {
        "derived_source": rows.source, "derived_target": rows.target, "derived_place": derivation.place,
        "derived_directed": np.bool_(rows.directed),
    }  # fmt: skip
    arrays |= {f"derived_{kind}": np.stack(parts, axis=1) for kind, parts in values.items() if parts}
    texts = {f"derived_{kind}_names": [column.name for column in each] for kind, each in columns.items()}
    units = [rows.units.get(column.name, "") for column in rows.times]
    texts |= {"derived_words": words, "derived_kinds": derivation.kinds, "derived_names": derivation.names}
    return arrays, texts | {"derived_units": units}


def _derivation(arrays: Arrays, n_nodes: int) -> Any:
    """Return what attributes were derived from, or None if that is not known."""
    if "derived_source" not in arrays:
        return None
    import polars as pl

    from hopsight.io.derive import Derivation, EdgeRows

    words = {part: _all_names(arrays, f"derived_{part}") for part in ("words", "kinds", "names", "units")}
    columns: dict[str, dict[str, NDArray[Any]]] = {}
    n_rows = arrays["derived_source"].size
    for kind in ("numbers", "times", "categories"):
        names = _all_names(arrays, f"derived_{kind}_names")
        values = arrays.get(f"derived_{kind}", np.zeros((n_rows, 0)))
        if values.shape != (n_rows, len(names)):
            raise ValueError(f"derived_{kind} does not fit the rows that attributes were derived from")
        columns[kind] = dict(zip(names, values.T, strict=True))
    places = [(arrays[f"derived_{part}"], 0, n_nodes) for part in ("source", "target", "place")]
    places += [(column, -1, len(words["words"])) for column in columns["categories"].values()]
    if any(each.size and not least <= each.min() <= each.max() < most for each, least, most in places):
        raise ValueError("the rows that attributes were derived from name nodes or words that do not exist")
    vocabulary = np.array([*words["words"], None], dtype=object)  # −1 is an empty cell
    categories = [
        pl.Series(name, vocabulary[column].tolist(), pl.String) for name, column in columns["categories"].items()
    ]
    numbers, times = (
        [pl.Series(name, column) for name, column in columns[kind].items()] for kind in ("numbers", "times")
    )
    rows = EdgeRows(
        arrays["derived_source"], arrays["derived_target"], numbers, times, categories,
        dict(zip(columns["times"], words["units"], strict=True)),
        bool(arrays.get("derived_directed", np.True_)),
    )  # fmt: skip
    return Derivation(rows, arrays["derived_place"], tuple(words["kinds"]), tuple(words["names"]))


def _filled(arrays: Arrays, n_nodes: int) -> dict[str, NDArray[Any]]:
    """Return the nodes with an empty cell by the name of the attribute, as :func:`write_npz` wrote them."""
    names = _all_names(arrays, "filled")
    found = {name: arrays.get(f"filled_{number}", np.zeros(0)) for number, name in enumerate(names)}
    if any(each.ndim != 1 or not each.size or each.min() < 0 or each.max() >= n_nodes for each in found.values()):
        raise ValueError("its empty cells belong to nodes that do not exist")
    return found


def _left_out(arrays: Arrays) -> dict[str, str | float]:
    """Return what columns would be that were left out, as :func:`write_npz` wrote it."""
    names, same = _all_names(arrays, "left_out"), _all_names(arrays, "left_out_same")
    values = arrays.get("left_out_value", np.zeros(0)).ravel().tolist()
    if not len(names) == len(same) == len(values):
        raise ValueError("what it says about columns that were left out is incomplete; write it with hopsight convert")
    return {name: other or float(value) for name, other, value in zip(names, same, values, strict=True)}


def _all_names(arrays: Arrays, field: str) -> list[str]:
    """Return names whose number is that of their offsets."""
    if f"{field}_text" not in arrays or f"{field}_offsets" not in arrays:
        return []
    return unpack_text(arrays[f"{field}_text"], arrays[f"{field}_offsets"], arrays[f"{field}_offsets"].size - 1)


def _context(arrays: Arrays) -> Context | None:
    if "context_counts" not in arrays:
        return None
    if any(f"context_{part}" not in arrays for part in CONTEXT_ARRAYS):
        raise ValueError("what its relations say is incomplete; write it with hopsight convert")
    parts: dict[str, Any] = {part: arrays[f"context_{part}"] for part in CONTEXT_ARRAYS}
    return Context(**parts, **{part: _all_names(arrays, f"context_{part}") for part in CONTEXT_TEXTS})


def _n_edge_columns(arrays: Arrays) -> int:
    shape = arrays["edge_attributes"].shape if "edge_attributes" in arrays else ()
    return shape[1] if len(shape) == 2 else 0


def _names(arrays: Arrays, field: str, count: int) -> Any:
    """Return ids or names, stored as numbers or text, or None if there are none."""
    if f"{field}_text" in arrays:
        return unpack_text(arrays[f"{field}_text"], arrays[f"{field}_offsets"], count)
    return arrays.get(field)
