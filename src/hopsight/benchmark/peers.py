"""The graph detectors of PyGOD and PyOD behind one face, run by the same protocol as ours."""

from __future__ import annotations

import contextlib
import inspect
import json
import pkgutil
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.graph import AttributedGraph

_BASES = ("Detector", "DeepDetector", "BaseDetector")


def peer_names() -> list[str]:
    """Return every graph detector that can be imported here, as ``pygod:NAME`` and ``pyod:NAME``."""
    return [*(f"pygod:{name}" for name in _pygod_classes()), *(f"pyod:{name}" for name in _pyod_classes())]


def is_peer(detector: str) -> bool:
    """Return whether a detector name belongs to another library.

    >>> is_peer("pygod:DOMINANT"), is_peer("dominant")
    (True, False)
    """
    return detector.partition(":")[0] in ("pygod", "pyod")


def peer_defaults(detector: str) -> dict[str, Any]:
    """Return the parameters a peer has by default, those that JSON can hold (layers and activations cannot)."""
    signature = inspect.signature(_peer_class(detector).__init__)
    defaults = {name: entry.default for name, entry in signature.parameters.items() if name != "self"}
    return {name: value for name, value in defaults.items() if value is not inspect.Parameter.empty and _plain(value)}


def peer_scores(detector: str, graph: AttributedGraph, *, seed: int, parameters: dict[str, Any]) -> NDArray[np.float64]:
    """Fit a peer and return its scores; both libraries draw from global random states, which are set here first.

    Call it in a worker process only: those states are everybody's.
    """
    import torch
    from torch_geometric.data import Data

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    X = graph.attributes.toarray() if sp.issparse(graph.attributes) else graph.attributes
    adjacency = graph.adjacency.tocoo()
    data = Data(
        x=torch.from_numpy(np.array(X, dtype=np.float32)),
        edge_index=torch.from_numpy(np.stack([adjacency.row, adjacency.col]).astype(np.int64)),
    )
    chosen = dict(parameters)
    device = chosen.pop("device", None)  # PyOD has no such parameter: it works where torch's default is
    model = _peer_class(detector)(**chosen)
    with _whole_graph_loader(), torch.device(device) if device else contextlib.nullcontext():
        model.fit(data.to(device) if device else data)
    scores = model.decision_score_ if detector.startswith("pygod:") else model.decision_scores_
    return np.asarray(scores, dtype=np.float64).ravel()


class _WholeGraph:
    """Stands in for PyG's ``NeighborLoader`` where one batch is the whole graph, as PyGOD's defaults have it.

    PyG's own needs pyg-lib or torch-sparse, which PyPI does not have; the batch it would give is the same.
    """

    def __init__(self, data: Any, num_neighbors: Any, batch_size: int, **options: Any) -> None:
        if batch_size < data.num_nodes:
            raise ValueError("smaller batches than the whole graph need pyg-lib or torch-sparse")
        self.data = data

    def __iter__(self) -> Iterator[Any]:
        import torch

        batch = self.data.clone()
        batch.batch_size = self.data.num_nodes
        batch.n_id = batch.input_id = torch.arange(self.data.num_nodes)
        yield batch


@contextlib.contextmanager
def _whole_graph_loader() -> Iterator[None]:
    """Let PyGOD use :class:`_WholeGraph` where PyG has no sampler of its own."""
    from torch_geometric import typing as pyg

    if pyg.WITH_PYG_LIB or pyg.WITH_TORCH_SPARSE:
        yield
        return
    modules = [sys.modules[name] for name in ("pygod.detector.base", "pygod.detector.gadnr") if name in sys.modules]
    before = [module.NeighborLoader for module in modules]
    try:
        for module in modules:
            module.NeighborLoader = _WholeGraph  # type: ignore[attr-defined]
        yield
    finally:
        for module, loader in zip(modules, before, strict=True):
            module.NeighborLoader = loader  # type: ignore[attr-defined]


def _peer_class(detector: str) -> Any:
    library, _, name = detector.partition(":")
    classes = _pygod_classes() if library == "pygod" else _pyod_classes()
    if name not in classes:
        raise ValueError(f"{library} has no graph detector {name!r} here; it has {', '.join(classes) or 'none'}")
    return classes[name]


def _pygod_classes() -> dict[str, Any]:
    try:
        module = import_module("pygod.detector")
    except ImportError:
        return {}
    return {name: getattr(module, name) for name in module.__all__ if name not in _BASES}


def _pyod_classes() -> dict[str, Any]:
    try:
        package = import_module("pyod.models")
    except ImportError:
        return {}
    return dict(entry for info in pkgutil.iter_modules(package.__path__) for entry in _graph_classes(info.name))


def _graph_classes(module_name: str) -> Iterator[tuple[str, Any]]:
    """PyOD keeps its graph detectors in modules that begin with ``pyg_``."""
    if not module_name.startswith("pyg_"):
        return
    try:
        module = import_module(f"pyod.models.{module_name}")
    except ImportError:
        return
    for name, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__ and hasattr(value, "fit"):
            yield name, value


def _plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
