"""Convert PyTorch Geometric's ``Data`` and ``HeteroData``, and read the ``.pt`` files that hold one."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.checks import Refusal
from hopsight.graph import AttributedGraph
from hopsight.io.derive import EdgeRows
from hopsight.io.edges import add_derived, each_once
from hopsight.io.notices import notice
from hopsight.io.sources import check_archive, check_loaded, reading
from hopsight.io.typed import Nodes, Relation, typed_graph
from hopsight.system.lazy_polars import pl

TIMES = ("edge_time", "time", "timestamp", "t")
FIELDS = ("edge_index", "num_nodes", "x", "y", "edge_weight", "edge_attr", *TIMES)
PYGOD_KINDS = np.array([0, 2, 1, 3])  # PyGOD: 1 attribute, 2 structure, 3 both; hopsight follows the paper's order
PYGOD_NORMAL = 0.75  # least share of zeros for which 0..3 are PyGOD's codes and not topics


def from_data(
    data: Any, *, directed: bool = False, notices: list[str] | None = None, size: int | None = None
) -> AttributedGraph:
    """Convert a PyG ``Data`` to an AttributedGraph.

    ``x`` becomes the attributes and ``edge_index`` the edges, symmetrized unless ``directed``. ``y`` becomes the
    labels if all its values are 0, 1 or -1 (unlabeled). ``edge_weight`` and ``edge_time`` become weights and times;
    ``edge_attr`` becomes edge attributes, or the weights if it is one number per edge and there are no others.

    Notes
    -----
    PyGOD codes injected anomalies in ``y`` as 1 (attribute), 2 (structure) and 3 (both). Whole numbers from 0 to 3
    of which at least three quarters are 0 are read that way, as labels and kinds; other values are topics and are
    left out. ``size`` is that of the file, if the ``Data`` is from one.
    """
    content = {name: as_array(getattr(data, name, None)) for name in FIELDS}
    return _graph(content, directed=directed, notices=notices, size=size)


def read_pt(path: Path, *, directed: bool = False, notices: list[str] | None = None) -> AttributedGraph:
    """Read a ``.pt`` or ``.pt.zip`` file that holds a ``Data``, a ``HeteroData`` or a dictionary of tensors.

    No code in the file runs. A ``Data`` or ``HeteroData`` needs the extra ``hopsight[pyg]``. See :func:`from_data` for
    the meaning of ``y``.
    """
    size = path.stat().st_size
    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what PyG infers where a file does not say
        content = _load(path, size)
        if isinstance(content, tuple | list) and content:  # a dataset saves (data, slices)
            if len(content) > 1 and hasattr(content[1], "edge_index"):
                notice(f"{path.name} holds {len(content):,} graphs; read the first.", notices)
            content = content[0]
        if hasattr(content, "node_stores") and hasattr(content, "edge_types"):
            graph = from_hetero(content, directed=directed, notices=notices, size=size)
        elif isinstance(content, dict):
            arrays = {name: as_array(value) for name, value in content.items()}
            graph = _graph(arrays, directed=directed, notices=notices, size=size)
        elif hasattr(content, "edge_index"):
            graph = from_data(content, directed=directed, notices=notices, size=size)
        else:
            raise ValueError("it does not hold a PyG Data")
        return replace(graph, name=path.name.removesuffix(".zip").removesuffix(".pt"))


def _load(path: Path, size: int) -> Any:
    """Return the content of a ``.pt`` file or a zip of one; only tensors, plain containers and PyG's classes."""
    import torch

    source: Path | io.BytesIO = path
    with zipfile.ZipFile(path) as outer:
        check_archive(outer, size)
        inside = [member for member in outer.namelist() if member.endswith(".pt") and not member.startswith("__MACOSX")]
        if len(inside) > 1:
            raise ValueError(f"it holds {len(inside)} .pt files instead of one")
        if inside:
            source = io.BytesIO(outer.read(inside[0]))
            with zipfile.ZipFile(source) as archive:
                check_archive(archive, size)
            source.seek(0)
    try:
        with torch.serialization.safe_globals(_classes()):
            return torch.load(source, map_location="cpu", weights_only=True)
    except UnpicklingError as error:
        named = re.search(r"GLOBAL ([\w.]+)", str(error))
        if named and named[1].startswith("torch_geometric.") and not _classes():
            raise ValueError(
                "it holds objects of PyTorch Geometric; run pip install 'hopsight[pyg]', or save a dictionary with "
                "edge_index and x"
            ) from None
        raise ValueError(
            f"it refers to {named[1] if named else 'code'}; only tensors and PyG's Data and HeteroData can be read, "
            "and code never runs"
        ) from None
    except RuntimeError:
        raise ValueError("it is damaged, or not a .pt file of PyTorch 1.6 or newer") from None


def _classes() -> list[Any]:
    """Return the classes of PyTorch Geometric that a file may hold, none if it is not installed."""
    try:
        from torch_geometric.data import Data, HeteroData, data, feature_store, graph_store, storage
    except ImportError:
        return []
    stores = [storage.BaseStorage, storage.NodeStorage, storage.EdgeStorage, storage.GlobalStorage]
    names = [data.DataEdgeAttr, data.DataTensorAttr, graph_store.EdgeAttr, feature_store.TensorAttr]
    return [Data, HeteroData, *stores, *names]


def _graph(
    content: dict[Any, Any], *, directed: bool, notices: list[str] | None, size: int | None = None
) -> AttributedGraph:
    edge_index, attributes = content.get("edge_index"), content.get("x")
    if not isinstance(edge_index, np.ndarray) or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError("a PyG Data needs edge_index of shape (2, n_edges)")
    if edge_index.dtype.kind not in "iu":
        raise ValueError(f"edge_index must hold whole numbers, got {edge_index.dtype}")
    if attributes is not None and len(getattr(attributes, "shape", ())) != 2:
        raise ValueError("the attributes x of a PyG Data need the shape (n_nodes, n_attributes)")
    if size is not None and attributes is not None:  # a tensor can repeat one number without end
        check_loaded(size, n_nodes=attributes.shape[0], n_columns=attributes.shape[1], n_numbers=attributes.size)
    n_nodes = _count(content, edge_index) if attributes is None else attributes.shape[0]
    if edge_index.size and not 0 <= edge_index.min() <= edge_index.max() < n_nodes:
        raise ValueError(f"edge_index has an end outside 0..{n_nodes - 1}")
    labels, kinds = read_truth(content.get("y"), n_nodes, notices)
    source, target = edge_index.astype(np.int64)
    fields = _edge_fields(content, source.size, notices)
    if not directed:
        source, target, fields = each_once(source, target, fields)
    if attributes is None:
        rows = EdgeRows(source, target, directed=directed)
        add_derived(fields, rows, pl.Series(np.arange(n_nodes)), ("structure",), notices)
    else:
        fields["attributes"] = attributes
    return AttributedGraph.from_edges(source, target, labels=labels, kinds=kinds, directed=directed, **fields)


def _count(content: dict[Any, Any], edge_index: NDArray[Any]) -> int:
    given = content.get("num_nodes")
    count = given if isinstance(given, int) else int(edge_index.max(initial=-1)) + 1
    check_loaded(edge_index.nbytes, n_nodes=max(count, 0))
    return count


def _edge_fields(content: dict[Any, Any], n_edges: int, notices: list[str] | None) -> dict[str, Any]:
    """Return what a Data says about its edges: weight, time and attributes."""
    fields = {}
    for field, keys in (("edge_weight", ("edge_weight",)), ("edge_time", TIMES), ("edge_attributes", ("edge_attr",))):
        values = next((content[key] for key in keys if isinstance(content.get(key), np.ndarray)), None)
        if values is None:
            continue
        if values.shape[:1] != (n_edges,) or values.ndim > 2 or values.dtype.kind not in "biuf":
            notice(f"Left out {keys[0]}: it is not one row of numbers per edge.", notices)
        elif not np.isfinite(values).all():
            notice(f"Left out {keys[0]}: it has NaN or infinite numbers.", notices)
        else:
            fields[field] = values.reshape(n_edges, -1).astype(np.float64)
    if "edge_weight" not in fields and "edge_attributes" in fields and fields["edge_attributes"].shape[1] == 1:
        fields["edge_weight"] = fields.pop("edge_attributes")
    for field in ("edge_weight", "edge_time"):
        if field in fields and fields[field].shape[1] == 1:
            fields[field] = fields[field][:, 0]
        elif fields.pop(field, None) is not None:
            notice(f"Left out {field}: it has several numbers per edge.", notices)
    return fields


def read_truth(values: Any, n_nodes: int, notices: list[str] | None) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Return labels and kinds, each None if ``y`` does not hold them."""
    if not isinstance(values, np.ndarray) or values.size != n_nodes:
        return None, None
    flat = values.ravel()
    if np.isin(flat, (0, 1, -1)).all():
        return flat.astype(np.int8), None
    if np.isin(flat, range(4)).all() and (flat == 0).mean() >= PYGOD_NORMAL:
        notice("Read y as PyGOD codes it: 1 attribute, 2 structure, 3 both.", notices)
        kinds = PYGOD_KINDS[flat.astype(np.int64)]
        return (kinds > 0).astype(np.int8), kinds
    notice("Left out y: it is a topic, neither 0, 1 or -1 nor PyGOD's code of anomalies.", notices)
    return None, None


def as_array(tensor: Any) -> Any:
    """Return a tensor as an array, or as CSR if it is sparse, without importing torch."""
    if tensor is None or isinstance(tensor, np.ndarray) or sp.issparse(tensor) or not hasattr(tensor, "detach"):
        return tensor
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":  # numpy has no such type
        tensor = tensor.float()
    if str(tensor.layout) != "torch.strided":
        coo = tensor.to_sparse_coo().coalesce()
        return sp.csr_array((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(tensor.shape))
    return tensor.numpy()


REVERSE = "rev_"  # how PyG's ToUndirected calls the same edges in the other direction


def from_hetero(
    data: Any, *, directed: bool = False, notices: list[str] | None = None, size: int | None = None
) -> AttributedGraph:
    """Convert a PyG ``HeteroData`` to a graph of several types (:mod:`hopsight.io.typed`).

    Node 3 of type ``user`` gets the id ``user:3``. Every type has attributes of its own, called ``user.x0`` and so on.
    ``y`` becomes labels as for a ``Data``, type by type. Edges have no direction; ``size`` is that of the file, if the
    ``HeteroData`` is from one.
    """
    if directed:
        raise Refusal("directed", "is for graphs with one type of node; the edges of a HeteroData have no direction")
    sizes = {kind: int(data[kind].num_nodes or 0) for kind in data.node_types}
    if not sum(sizes.values()):
        raise ValueError("a HeteroData needs nodes; give each type x or num_nodes")
    if size is not None:
        widths = sum(_width(data[kind], "x") for kind in sizes)
        n_edges = sum(_width(data[key], "edge_index") for key in data.edge_types)
        check_loaded(size, n_nodes=sum(sizes.values()), n_numbers=sum(sizes.values()) * widths + n_edges)
    nodes = {kind: _nodes(data[kind], kind, count, notices) for kind, count in sizes.items()}
    return typed_graph(nodes, _relations(data, sizes))


def _width(store: Any, name: str) -> int:
    shape: tuple[int, ...] = getattr(getattr(store, name, None), "shape", ())
    return shape[1] if len(shape) == 2 else 0


def _nodes(store: Any, kind: str, size: int, notices: list[str] | None) -> Nodes:
    """Return the nodes of one type with their attributes and labels."""
    fields: dict[str, Any] = {}
    values = as_array(getattr(store, "x", None))
    if values is not None:
        values = values if sp.issparse(values) else np.asarray(values)
        if values.ndim != 2 or values.shape[0] != size:
            raise ValueError(f"x of type {kind!r} must have shape ({size}, n_attributes), got {values.shape}")
        names = [f"x{column}" for column in range(values.shape[1])]
        fields = {"attributes": values, "attribute_names": names}
    labels, _ = read_truth(as_array(getattr(store, "y", None)), size, notices)
    ids = np.array([f"{kind}:{place}" for place in range(size)], dtype=object)
    return Nodes(ids, fields if labels is None else fields | {"labels": labels})


def _relations(data: Any, sizes: Mapping[str, int]) -> list[Relation]:
    """Return the relations, without those that repeat another one backwards."""
    known = {relation for _, relation, _ in data.edge_types}
    names = [relation for _, relation, _ in data.edge_types]
    found = []
    for first, relation, second in data.edge_types:
        if relation.startswith(REVERSE) and relation.removeprefix(REVERSE) in known:
            continue
        store = data[first, relation, second]
        pairs = as_array(getattr(store, "edge_index", None))
        if not isinstance(pairs, np.ndarray) or pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(f"the edges {first}-{relation}-{second} need edge_index of shape (2, n_edges)")
        if pairs.size and (pairs.min() < 0 or pairs[0].max() >= sizes[first] or pairs[1].max() >= sizes[second]):
            raise ValueError(f"the edges {first}-{relation}-{second} have an end that is not there")
        source, target, weight = pairs[0].astype(np.int64), pairs[1].astype(np.int64), _weight(store, pairs.shape[1])
        if first == second:
            source, target, kept = each_once(source, target, {} if weight is None else {"weight": weight})
            weight = kept.get("weight")
        name = relation if names.count(relation) == 1 else f"{first} {relation} {second}"
        found.append(Relation(name, (first, second), source, target, weight))
    return found


def _weight(store: Any, n_edges: int) -> NDArray[np.float64] | None:
    for name in ("edge_weight", "edge_attr"):
        values = as_array(getattr(store, name, None))
        if isinstance(values, np.ndarray) and values.size == n_edges and np.isfinite(values).all():
            return values.ravel().astype(np.float64)
    return None
