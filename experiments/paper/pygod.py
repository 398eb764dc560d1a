"""PyGOD's detectors; ``paper.pygod:DOMINANT`` is the recipe of PyGOD's DOMINANT."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from paper.peers import Peer, WholeGraphLoader, adapter, one_of

_BASES = ("Detector", "DeepDetector")
_ON_CPU = ("CONAD",)  # changes its batch with tensors on the CPU


@dataclass(kw_only=True)
class _PyGOD(Peer):
    def _parameters(self) -> dict[str, Any]:
        parameters = super()._parameters()
        if "gpu" in parameters:
            parameters["gpu"] = 0 if self.device.startswith("cuda") else -1
        return parameters

    def _context(self) -> contextlib.AbstractContextManager[Any]:
        name = self.library_class.__name__
        return _whole_graph_loader("cpu" if name in _ON_CPU else self.device)

    def _scores(self, data: Any) -> Any:
        return self.library_class(**self._parameters()).fit(data).decision_score_


@cache
def classes() -> dict[str, type[Peer]]:
    """Return every detector of PyGOD that can be imported here, by name."""
    try:
        module = import_module("pygod.detector")
    except ImportError:
        return {}
    names = [name for name in module.__all__ if name not in _BASES]
    return {name: adapter(getattr(module, name), _PyGOD, f"{name} (PyGOD)") for name in names}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return one_of(classes(), name, "PyGOD")


@contextlib.contextmanager
def _whole_graph_loader(device: str) -> Iterator[None]:
    """Let PyGOD use :class:`WholeGraphLoader`, its batch on a device, if PyG has no sampler of its own."""
    from torch_geometric import typing as pyg

    if pyg.WITH_PYG_LIB or pyg.WITH_TORCH_SPARSE:
        yield
        return
    modules: list[Any] = [
        sys.modules[name] for name in ("pygod.detector.base", "pygod.detector.gadnr") if name in sys.modules
    ]
    before = [module.NeighborLoader for module in modules]
    try:
        for module in modules:
            module.NeighborLoader = type("Loader", (WholeGraphLoader,), {"device": device})
        yield
    finally:
        for module, loader in zip(modules, before, strict=True):
            module.NeighborLoader = loader
