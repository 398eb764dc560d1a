"""Read and write MATLAB ``.mat`` files in the two usual layouts: A, X, gnd or Network, Attributes, Label."""

from __future__ import annotations

import struct
import warnings
import zlib
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.edges import edge_weights, weight_matrix
from hopsight.io.notices import notice
from hopsight.io.npz import pack_text, unpack_text
from hopsight.io.sources import check_loaded, check_unpacked, reading, writing

ADJACENCY, ATTRIBUTES, TRUTH = ("Network", "A"), ("Attributes", "X", "Features"), ("Label", "gnd")
STRUCTURAL, ATTRIBUTIVE = "str_anomaly_label", "attr_anomaly_label"  # as in the files of DOMINANT's authors
TEXTS = ("NodeIds", "Names", "NodeTypes", "NodeNames", "EdgeNames")  # packed as UTF-8
OWN = (
    "Kind", "Directed", "NodeIds", "EdgeWeight", "EdgeTime", "EdgeAttributes",
    *(f"{name}{part}" for name in TEXTS for part in ("Text", "Offsets")),
)  # fmt: skip
WANTED = (*ADJACENCY, *ATTRIBUTES, *TRUTH, STRUCTURAL, ATTRIBUTIVE, *OWN)
NUMERIC = {
    "double",
    "single",
    "logical",
    "sparse",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
_HEADER, _COMPRESSED, _CHUNK = 128, 15, 1 << 20


def read_mat(path: Path, *, directed: bool = False, notices: list[str] | None = None) -> AttributedGraph:
    """Read a graph from a ``.mat`` file of version 5 to 7.

    The adjacency matrix may be dense or sparse and hold each edge once or twice; numbers other than 1 in it are
    weights. Labels may be a row or a column. ``Label`` or ``gnd`` becomes the labels only if all its values are 0, 1 or
    -1 (unlabeled); otherwise it is a topic and is left out. Anything but matrices under these names is refused.
    """
    with reading(path):
        matrices = _read_matrices(path)
        adjacency, attributes = _first(matrices, ADJACENCY), _first(matrices, ATTRIBUTES)
        if adjacency is None or attributes is None:
            raise ValueError("it must have the matrices A and X, or Network and Attributes")
        n_nodes, n_attributes = adjacency.shape[1], attributes.shape[1]
        if adjacency.shape[0] != n_nodes or attributes.shape[0] != n_nodes:
            raise ValueError(f"its shapes do not match: adjacency {adjacency.shape}, attributes {attributes.shape}")
        directed = directed or bool(matrices.get("Directed", np.zeros(1)).any())
        graph = AttributedGraph(
            adjacency,
            attributes,
            node_ids=_text(matrices, "NodeIds", n_nodes),
            attribute_names=_text(matrices, "Names", n_attributes),
            labels=_labels(matrices, n_nodes, notices),
            kinds=_kinds(matrices, n_nodes),
            node_types=_text(matrices, "NodeTypes", n_nodes),
            node_names=_text(matrices, "NodeNames", n_nodes),
            directed=directed,
            name=path.stem,
        )
        return replace(graph, **_edge_fields(matrices, adjacency, graph))


def _edge_fields(matrices: dict[str, Any], adjacency: Any, graph: AttributedGraph) -> dict[str, Any]:
    weight, time, columns = (matrices.get(name) for name in ("EdgeWeight", "EdgeTime", "EdgeAttributes"))
    return {
        "edge_weight": edge_weights(adjacency, graph) if weight is None else weight.ravel(),
        "edge_time": None if time is None else time.ravel(),
        "edge_attributes": columns,
        "edge_attribute_names": None if columns is None else _text(matrices, "EdgeNames", columns.shape[1]),
    }


def write_mat(graph: AttributedGraph, path: Path) -> None:
    """Write Network, Attributes and Label, and everything else in variables that :func:`read_mat` reads."""
    from scipy.io import savemat

    texts = (None, graph.attribute_names, graph.node_types, graph.node_names, graph.edge_attribute_names or None)
    matrices: dict[str, Any] = {
        "Network": sp.csc_matrix(weight_matrix(graph)),
        "Attributes": sp.csc_matrix(graph.attributes) if sp.issparse(graph.attributes) else graph.attributes,
    }
    for name, words in zip(TEXTS, texts, strict=True):
        if words is not None:
            matrices[f"{name}Text"], matrices[f"{name}Offsets"] = pack_text(list(words))
    if graph.directed:
        matrices["Directed"] = np.array([[1]], dtype=np.uint8)
    if graph.node_ids.dtype == object:
        matrices["NodeIdsText"], matrices["NodeIdsOffsets"] = pack_text(graph.node_ids.tolist())
    else:
        matrices["NodeIds"] = graph.node_ids
    columns = {
        "Label": graph.labels, "Kind": graph.kinds,
        "EdgeWeight": graph.edge_weight, "EdgeTime": graph.edge_time, "EdgeAttributes": graph.edge_attributes,
    }  # fmt: skip
    matrices |= {name: values for name, values in columns.items() if values is not None}
    with writing(path) as temporary, temporary.open("wb") as file:
        savemat(file, matrices, do_compression=True, oned_as="column")


def _read_matrices(path: Path) -> dict[str, Any]:
    """Return the matrices with known names, after checking what the file says about them."""
    from scipy.io import loadmat, whosmat

    packed = path.stat().st_size
    with path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _check_elements(file, packed)
        names, n_numbers = [], 0
        for name, shape, kind in whosmat(file):
            if name not in WANTED:
                continue
            if kind not in NUMERIC or len(shape) != 2 or name in names:
                raise ValueError(f"its variable {name} must be a matrix of numbers, got {kind} of shape {shape}")
            names.append(name)
            n_numbers += 0 if kind == "sparse" else shape[0] * shape[1]
            check_loaded(packed, n_columns=shape[1] if name in ATTRIBUTES else 0, n_numbers=n_numbers + sum(shape))
        file.seek(0)
        loaded = loadmat(file, variable_names=names)
    return {name: _checked(loaded[name]) for name in names}


def _checked(matrix: Any) -> Any:
    """Return a matrix; a sparse one as CSC (scipy 1.15 returns COO) whose indices have been checked."""
    if not sp.issparse(matrix):
        return matrix
    columns = sp.csc_array(matrix)
    columns.check_format(full_check=True)
    return columns


def _check_elements(file: IO[bytes], size: int) -> None:
    """Check that every top-level element of a version 5 file is complete and unpacks to a sane size."""
    head = file.read(_HEADER)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if head[:8] == b"\x89HDF\r\n\x1a\n" or head.startswith(b"MATLAB 7.3"):
        raise ValueError("it is a .mat file of version 7.3; save it with -v7 in MATLAB")
    if order is None or struct.unpack(f"{order}H", head[124:126])[0] != 0x0100:
        raise ValueError("it is not a .mat file of version 5 to 7")
    unpacked = 0
    while tag := file.read(8):
        if len(tag) < 8:
            raise ValueError("it is truncated")
        kind, length = struct.unpack(f"{order}II", tag)
        end = file.tell() + length
        if end > size:
            raise ValueError("it is truncated")
        unpacked += _unpacked_size(file, length) if kind == _COMPRESSED else length
        check_unpacked(unpacked, size)
        file.seek(end)
    file.seek(0)


def _unpacked_size(file: IO[bytes], length: int) -> int:
    """Return how many bytes a compressed element unpacks to, without holding all of them."""
    stream, total, left = zlib.decompressobj(), 0, length
    while left and not stream.eof:
        piece = file.read(min(left, _CHUNK))
        left -= len(piece)
        while piece and not stream.eof:
            total += len(stream.decompress(piece, _CHUNK * 16))
            piece = stream.unconsumed_tail
    return total


def _first(matrices: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((matrices[name] for name in names if name in matrices), None)


def _labels(matrices: dict[str, Any], n_nodes: int, notices: list[str] | None) -> NDArray[Any] | None:
    """Return the ground truth if the file has one: 0, 1 or -1 per node."""
    given = _first(matrices, TRUTH)
    truth = _vector(given, n_nodes)
    if truth is not None and np.isin(truth, (0, 1, -1)).all():
        return truth
    if given is not None:
        notice("Left out the labels of the file: they are not 0, 1 or -1 for each node.", notices)
    return None


def _kinds(matrices: dict[str, Any], n_nodes: int) -> NDArray[Any] | None:
    kinds = _vector(matrices.get("Kind"), n_nodes)
    structural = _vector(matrices.get(STRUCTURAL), n_nodes)
    attributive = _vector(matrices.get(ATTRIBUTIVE), n_nodes)
    if kinds is None and structural is not None and attributive is not None:
        if np.array_equal(structural, attributive):
            return None  # two copies of the labels say nothing about kinds
        kinds = (structural != 0) + 2 * (attributive != 0)
    return kinds if kinds is not None and np.isin(kinds, range(4)).all() else None


def _vector(matrix: Any, size: int) -> NDArray[Any] | None:
    """Return a row or a column of that size as a vector, and None for anything else."""
    if matrix is None or matrix.shape not in ((1, size), (size, 1)):
        return None
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix).ravel()


def _text(matrices: dict[str, Any], field: str, count: int) -> Any:
    """Return the ids or names that hopsight wrote, or None if the file has none."""
    if f"{field}Text" in matrices:
        text, offsets = matrices[f"{field}Text"], matrices[f"{field}Offsets"]
        if sp.issparse(text) or sp.issparse(offsets):
            raise ValueError("its packed text is damaged")
        return unpack_text(text, offsets, count)
    return _vector(matrices.get(field), count)
