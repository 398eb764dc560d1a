"""Convert PyTorch Geometric's ``Data``, and read the ``.pt`` files that hold one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.edge_fields import derived
from hopsight.io.edge_pairs import each_once
from hopsight.io.files import check_loaded, reading
from hopsight.io.notices import notice
from hopsight.io.torchfile import Record, read_torch

TIMES = ("edge_time", "time", "timestamp", "t")
FIELDS = ("edge_index", "num_nodes", "x", "y", "edge_weight", "edge_attr", *TIMES)
PYGOD_KINDS = np.array([0, 2, 1, 3])  # PyGOD: 1 attribute, 2 structure, 3 both; hopsight follows the paper's order
PYGOD_NORMAL = 0.75  # least share of zeros for which 0..3 are PyGOD's codes and not topics


def from_data(data: Any, *, directed: bool = False, notices: list[str] | None = None) -> AttributedGraph:
    """Convert a PyG ``Data`` to an AttributedGraph.

    ``x`` becomes the attributes and ``edge_index`` the edges, symmetrized unless ``directed``. ``y`` becomes the
    labels if all its values are 0, 1 or -1 (unlabeled). ``edge_weight`` and ``edge_time`` become weights and times;
    ``edge_attr`` becomes edge attributes, or the weights if it is one number per edge and there are no others.

    Notes
    -----
    PyGOD codes injected anomalies in ``y`` as 1 (attribute), 2 (structure) and 3 (both). Whole numbers from 0 to 3
    of which at least three quarters are 0 are read that way, as labels and kinds; other values are topics and are
    left out.
    """
    content = {name: as_array(getattr(data, name, None)) for name in FIELDS}
    return _graph(content, directed=directed, notices=notices)


def read_pt(path: Path, *, directed: bool = False, notices: list[str] | None = None) -> AttributedGraph:
    """Read a ``.pt`` or ``.pt.zip`` file that holds a ``Data``, a ``HeteroData`` or a dictionary of tensors.

    No code in the file runs. See :func:`from_data` for the meaning of ``y``.
    """
    name = path.name.removesuffix(".zip").removesuffix(".pt")
    with reading(path):
        content = read_torch(path)
        if isinstance(content, tuple | list) and content:  # a dataset saves (data, slices)
            if len(content) > 1 and isinstance(content[1], Record):
                notice(f"{path.name} holds {len(content):,} graphs; read the first.", notices)
            content = content[0]
        if isinstance(content, Record) and content.kind == "HeteroData":
            from hopsight.io.hetero import Stored, from_hetero

            stored = Stored(content.state, path.stat().st_size)
            return replace(from_hetero(stored, directed=directed, notices=notices), name=name)
        return _graph(_mapping(content), directed=directed, notices=notices, name=name)


def _mapping(content: Any) -> dict[Any, Any]:
    """Return the dictionary in which a Data of PyG 1 or 2 keeps its tensors."""
    if isinstance(content, Record):
        store = content.state.get("_store")
        content = store.state.get("_mapping") if isinstance(store, Record) else content.state
    if not isinstance(content, dict):
        raise ValueError("it does not hold a PyG Data")
    return content


def _graph(content: dict[Any, Any], *, directed: bool, notices: list[str] | None, name: str = "") -> AttributedGraph:
    edge_index, attributes = content.get("edge_index"), content.get("x")
    if not isinstance(edge_index, np.ndarray) or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError("a PyG Data needs edge_index of shape (2, n_edges)")
    if edge_index.dtype.kind not in "iu":
        raise ValueError(f"edge_index must hold whole numbers, got {edge_index.dtype}")
    if attributes is not None and len(getattr(attributes, "shape", ())) != 2:
        raise ValueError("the attributes x of a PyG Data need the shape (n_nodes, n_attributes)")
    n_nodes = _count(content, edge_index) if attributes is None else attributes.shape[0]
    if edge_index.size and not 0 <= edge_index.min() <= edge_index.max() < n_nodes:
        raise ValueError(f"edge_index has an end outside 0..{n_nodes - 1}")
    labels, kinds = read_truth(content.get("y"), n_nodes, notices)
    source, target = edge_index.astype(np.int64)
    fields = _edge_fields(content, source.size, notices)
    if not directed:
        source, target, fields = each_once(source, target, fields)
    fields |= derived(source, target, n_nodes, directed, notices) if attributes is None else {"attributes": attributes}
    return AttributedGraph.from_edges(
        source, target, labels=labels, kinds=kinds, directed=directed, name=name, **fields
    )


def _count(content: dict[Any, Any], edge_index: NDArray[Any]) -> int:
    """Return the number of nodes of a Data without attributes."""
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
