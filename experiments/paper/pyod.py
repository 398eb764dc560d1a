"""PyOD's graph detectors; ``paper.pyod:DOMINANT`` is the recipe of PyOD's DOMINANT."""

from __future__ import annotations

import contextlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from paper.peers import Peer, adapter, one_of


@dataclass(kw_only=True)
class _PyOD(Peer):
    def _context(self) -> contextlib.AbstractContextManager[Any]:
        import torch

        # PyOD has no parameter for the device: it works on torch's default device
        return torch.device(self.device) if self.device.startswith("cuda") else contextlib.nullcontext()

    def _scores(self, data: Any) -> Any:
        model = self.library_class(**self._parameters())
        model.fit(data.to(self.device) if self.device.startswith("cuda") else data)
        return model.decision_scores_


@cache
def classes() -> dict[str, type[Peer]]:
    """Return every graph detector of PyOD that can be imported here, by name."""
    try:
        package = import_module("pyod.models")
    except ImportError:
        return {}
    found = (entry for info in pkgutil.iter_modules(package.__path__) for entry in _graph_classes(info.name))
    return {name: adapter(value, _PyOD, f"{name} (PyOD)") for name, value in found}


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return one_of(classes(), name, "PyOD")


def _graph_classes(module_name: str) -> Iterator[tuple[str, Any]]:
    """Yield the detectors of a module; PyOD keeps its graph detectors in modules that begin with ``pyg_``."""
    if not module_name.startswith("pyg_"):
        return
    try:
        module = import_module(f"pyod.models.{module_name}")
    except ImportError:
        return
    for name, value in vars(module).items():
        if inspect.isclass(value) and value.__module__ == module.__name__ and hasattr(value, "fit"):
            yield name, value
