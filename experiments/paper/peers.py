"""Graph detectors of other libraries behind hopsight's contract, so that the benchmark runs them like its own.

``paper.pygod`` and ``paper.pyod`` make one class for each detector of their library.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, make_dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hopsight.detectors.base import Detector
from hopsight.graph import AttributedGraph


class Peer(Detector):
    """A detector of another library; subclasses are made by :func:`adapter`."""

    library_class: ClassVar[Any]  # what to fit
    names: ClassVar[tuple[str, ...]]  # parameters of that class

    def _fit(
        self, graph: AttributedGraph, *, rng: np.random.Generator, callback: Callable[..., None] | None
    ) -> NDArray[np.float64]:
        """Fit the detector; its library draws from the global random states, which are set here first.

        Only a worker process may call this: those states belong to everybody.
        """
        import torch
        from torch_geometric.data import Data

        random.seed(self.seed)
        np.random.seed(self.seed)  # noqa: NPY002
        torch.manual_seed(self.seed or 0)
        X = graph.attributes.toarray() if sp.issparse(graph.attributes) else graph.attributes
        adjacency = graph.adjacency.tocoo()
        data = Data(
            x=torch.from_numpy(np.array(X, dtype=np.float32)),
            edge_index=torch.from_numpy(np.stack([adjacency.row, adjacency.col]).astype(np.int64)),
        )
        with self._context():
            return np.asarray(self._scores(data), dtype=np.float64).ravel()

    def _parameters(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.names}
        if isinstance(values.get("contamination"), str):  # "auto" is ours; the library's own default changes no score
            del values["contamination"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def _context(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def _scores(self, data: Any) -> Any:
        raise NotImplementedError


def adapter(library_class: Any, base: type[Peer], title: str) -> type[Peer]:
    """Return a detector whose fields are the parameters of a library's class that JSON can hold."""
    defaults = plain_defaults(library_class)
    own = {"contamination", "device", "seed"}
    columns = [
        (name, Any, field(default_factory=_constant(value))) for name, value in defaults.items() if name not in own
    ]
    facts = {"title": title, "library_class": library_class, "names": tuple(defaults)}
    return make_dataclass(library_class.__name__, columns, bases=(base,), kw_only=True, namespace=facts)


def plain_defaults(library_class: Any) -> dict[str, Any]:
    """Return the default parameters of a class that JSON can hold; layers and activations are left to the library."""
    signature = inspect.signature(library_class.__init__)
    defaults = {name: entry.default for name, entry in signature.parameters.items() if name != "self"}
    return {name: value for name, value in defaults.items() if value is not inspect.Parameter.empty and _plain(value)}


def peer_recipes() -> list[str]:
    """Return the recipe of every peer that can be imported here."""
    from paper import pygod, pyod

    return [f"{module.__name__}:{name}" for module in (pygod, pyod) for name in module.classes()]


def one_of(classes: Mapping[str, Any], name: str, library: str) -> Any:
    """Return a class by its name, or say which there are; modules call it from ``__getattr__``."""
    if name not in classes:
        raise AttributeError(f"{library} has no graph detector {name!r} here; it has {', '.join(classes) or 'none'}")
    return classes[name]


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _plain(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


class WholeGraphLoader:
    """Replaces PyG's ``NeighborLoader`` if one batch is the whole graph, as PyGOD's defaults have it.

    PyG's own loader needs pyg-lib or torch-sparse, which PyPI does not have; the batch it would return is the same. It
    is made once and lies on ``device``: PyGOD would otherwise copy a dense adjacency matrix there in every epoch.
    """

    device: ClassVar[str] = "cpu"

    def __init__(self, data: Any, num_neighbors: Any, batch_size: int, **options: Any) -> None:
        import torch

        if batch_size < data.num_nodes:
            raise ValueError("batches smaller than the graph need pyg-lib or torch-sparse")
        self.batch = copy.copy(data).to(self.device)
        self.batch.batch_size = data.num_nodes
        self.batch.n_id = self.batch.input_id = torch.arange(data.num_nodes)  # indexes scores, which are on the CPU

    def __iter__(self) -> Iterator[Any]:
        yield copy.copy(self.batch)
