"""Convert PyTorch Geometric's ``HeteroData``: nodes of several types in one graph."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph
from hopsight.io.edge_fields import derived
from hopsight.io.edge_pairs import each_once
from hopsight.io.files import check_loaded
from hopsight.io.notices import notice
from hopsight.io.pyg import as_array, read_truth
from hopsight.io.torchfile import Record

REVERSE = "rev_"  # how PyG's ToUndirected calls the same edges in the other direction


class Stored:
    """A HeteroData as a ``.pt`` file holds it, with what :func:`from_hetero` asks of one."""

    def __init__(self, state: dict[Any, Any], size: int) -> None:
        found = [state.get(name) for name in ("_node_store_dict", "_edge_store_dict")]
        if not all(isinstance(stores, dict) for stores in found):
            raise ValueError("its HeteroData is damaged")
        nodes, edges = (
            {key: _tensors(store) for key, store in stores.items()} for stores in found if stores is not None
        )
        if not all(isinstance(key, tuple) and len(key) == 3 for key in edges):
            raise ValueError("its HeteroData is damaged")
        self._stores: dict[Any, SimpleNamespace] = {**nodes, **edges}
        self.node_types = [*nodes, *dict.fromkeys(end for key in edges for end in key[::2] if end not in nodes)]
        self.edge_types = list(edges)
        self._check_size(size)

    def _check_size(self, size: int) -> None:
        """Refuse a file of ``size`` bytes whose graph would take far more: all nodes have the columns of all types."""
        counts = [self[kind].num_nodes for kind in self.node_types]
        if not all(isinstance(count, int) and count >= 0 for count in counts):
            raise ValueError("its HeteroData is damaged")
        n_nodes, n_columns = sum(counts), sum(_width(self[kind], "x") for kind in self.node_types)
        n_edges = sum(_width(self[key], "edge_index") for key in self.edge_types)
        n_relations = len({relation for _, relation, _ in self.edge_types})
        check_loaded(size, n_nodes=n_nodes, n_numbers=n_nodes * n_columns + n_edges * n_relations)

    def __getitem__(self, key: Any) -> SimpleNamespace:
        store = self._stores.get(key, SimpleNamespace())
        if not isinstance(key, tuple) and not hasattr(store, "num_nodes"):
            store.num_nodes = self._count(key, store)
        return store

    def _count(self, kind: str, store: SimpleNamespace) -> int:
        """Return the number of nodes of a type: rows of its tensors, or else one more than its largest end."""
        rows = [value.shape[0] for value in vars(store).values() if isinstance(value, np.ndarray) and value.ndim]
        if rows:
            return int(rows[0])
        ends: list[NDArray[Any]] = []
        for key in self.edge_types:
            index: Any = getattr(self._stores[key], "edge_index", None)
            if isinstance(index, np.ndarray) and index.ndim == 2:
                ends += [end for end, name in zip(index, key[::2], strict=False) if name == kind]
        count = max((int(end.max(initial=-1)) for end in ends), default=-1) + 1
        check_loaded(sum(end.nbytes for end in ends), n_nodes=count)
        return count


def _width(store: Any, name: str) -> int:
    """Return the number of columns of a tensor, 0 if there is none."""
    shape: tuple[int, ...] = getattr(getattr(store, name, None), "shape", ())
    return shape[1] if len(shape) == 2 else 0


def _tensors(store: Any) -> SimpleNamespace:
    mapping = store.state.get("_mapping") if isinstance(store, Record) else None
    if not isinstance(mapping, dict) or not all(isinstance(name, str) for name in mapping):
        raise ValueError("its HeteroData is damaged")
    return SimpleNamespace(**mapping)


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
    source, target, fields = _edges(data, starts, sizes, notices)
    if not directed:
        source, target, fields = each_once(source, target, fields)
    attributes = _attributes(data, sizes, starts, n_nodes)
    fields |= attributes or derived(source, target, n_nodes, directed, notices)
    return AttributedGraph.from_edges(
        source,
        target,
        directed=directed,
        node_ids=[f"{kind}:{place}" for kind, size in sizes.items() for place in range(size)],
        node_types=[kind for kind, size in sizes.items() for _ in range(size)],
        labels=_labels(data, sizes, starts, n_nodes, notices),
        edge_attribute_names=_relations(data) if "edge_attributes" in fields else None,
        **fields,
    )


def _attributes(data: Any, sizes: dict[str, int], starts: dict[str, int], n_nodes: int) -> dict[str, Any]:
    """Return the attributes and their names, or nothing if no type has any."""
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
    return {"attributes": np.column_stack(blocks), "attribute_names": names} if blocks else {}


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
