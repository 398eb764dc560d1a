"""Convert PyTorch Geometric's ``HeteroData``: nodes of several types in one graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.edge_pairs import each_once
from hopsight.io.notices import notice
from hopsight.io.pyg import as_array, read_truth

REVERSE = "rev_"  # how PyG's ToUndirected calls the same edges in the other direction


def from_hetero(data: Any, *, directed: bool = False, notices: list[str] | None = None) -> AttributedGraph:
    """Convert a PyG ``HeteroData`` to an AttributedGraph with node types.

    Node 3 of type ``user`` gets the id ``user:3``. Every type has attributes of its own, called ``user.x0`` and so on;
    nodes of other types get the mean of the type that has the attribute, so that they are neither high nor low. ``y``
    becomes labels as for a ``Data``, type by type. If there are several relations, they become 0/1 edge attributes.
    """
    sizes = {kind: int(data[kind].num_nodes or 0) for kind in data.node_types}
    starts = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    n_nodes = sum(sizes.values())
    if not n_nodes:
        raise ValueError("a HeteroData needs nodes; give each type x or num_nodes")
    attributes, names = _attributes(data, sizes, starts, n_nodes)
    source, target, fields = _edges(data, starts, sizes, notices)
    if not directed:
        source, target, fields = each_once(source, target, fields)
    return AttributedGraph.from_edges(
        source,
        target,
        attributes,
        directed=directed,
        node_ids=[f"{kind}:{place}" for kind, size in sizes.items() for place in range(size)],
        node_types=[kind for kind, size in sizes.items() for _ in range(size)],
        attribute_names=names,
        labels=_labels(data, sizes, starts, n_nodes, notices),
        edge_attribute_names=_relations(data) if "edge_attributes" in fields else None,
        **fields,
    )


def _attributes(
    data: Any, sizes: dict[str, int], starts: dict[str, int], n_nodes: int
) -> tuple[NDArray[np.float64], list[str]]:
    blocks, names = [], []
    for kind, size in sizes.items():
        values = as_array(getattr(data[kind], "x", None))
        if values is None:
            continue
        values = values.toarray() if sp.issparse(values) else np.asarray(values)
        if values.ndim != 2 or values.shape[0] != size:
            raise ValueError(f"x of type {kind!r} must have shape ({size}, n_attributes), got {values.shape}")
        block = np.broadcast_to(values.mean(axis=0, dtype=np.float64), (n_nodes, values.shape[1])).copy()
        block[starts[kind] : starts[kind] + size] = values
        blocks.append(block)
        names += [f"{kind}.x{column}" for column in range(values.shape[1])]
    if not blocks:
        raise ValueError("a HeteroData needs attributes x for at least one type of nodes")
    return np.column_stack(blocks), names


def _relations(data: Any) -> list[str]:
    """Return the names of the relations, without those that repeat another one backwards."""
    names = {relation for _, relation, _ in data.edge_types}
    return [name for name in sorted(names) if not (name.startswith(REVERSE) and name.removeprefix(REVERSE) in names)]


def _edges(
    data: Any, starts: dict[str, int], sizes: dict[str, int], notices: list[str] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, Any]]:
    relations = _relations(data)
    ends, weights, kinds = [np.zeros((2, 0), dtype=np.int64)], [], []
    for first, relation, second in data.edge_types:
        if relation not in relations:
            continue
        store = data[first, relation, second]
        pairs = as_array(getattr(store, "edge_index", None))
        if not isinstance(pairs, np.ndarray) or pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(f"the edges {first}-{relation}-{second} need edge_index of shape (2, n_edges)")
        if pairs.size and (pairs.min() < 0 or pairs[0].max() >= sizes[first] or pairs[1].max() >= sizes[second]):
            raise ValueError(f"the edges {first}-{relation}-{second} have an end that is not there")
        ends.append(pairs.astype(np.int64) + np.array([[starts[first]], [starts[second]]]))
        weights.append(_weight(store, pairs.shape[1]))
        kinds.append(np.full(pairs.shape[1], relations.index(relation)))
    source, target = np.concatenate(ends, axis=1)
    fields: dict[str, Any] = {}
    if any(weight is not None for weight in weights):
        filled = [np.ones(kind.size) if weight is None else weight for weight, kind in zip(weights, kinds, strict=True)]
        fields["edge_weight"] = np.concatenate(filled)
    if len(relations) > 1:
        fields["edge_attributes"] = np.eye(len(relations))[np.concatenate(kinds)]
        notice(f"Kept the relation of each edge as an edge attribute: {', '.join(relations[:5])}.", notices)
    return source, target, fields


def _weight(store: Any, n_edges: int) -> NDArray[np.float64] | None:
    for name in ("edge_weight", "edge_attr"):
        values = as_array(getattr(store, name, None))
        if isinstance(values, np.ndarray) and values.size == n_edges and np.isfinite(values).all():
            return values.ravel().astype(np.float64)
    return None


def _labels(
    data: Any, sizes: dict[str, int], starts: dict[str, int], n_nodes: int, notices: list[str] | None
) -> NDArray[np.int8] | None:
    labels = np.full(n_nodes, -1, dtype=np.int8)
    for kind, size in sizes.items():
        found, _ = read_truth(as_array(getattr(data[kind], "y", None)), size, notices)
        if found is not None:
            labels[starts[kind] : starts[kind] + size] = found
    return labels if (labels >= 0).any() else None
