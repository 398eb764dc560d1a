"""Checkpoints: what an interrupted fit needs to resume to the same result, bit for bit."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import save
from safetensors.torch import load
from torch import Tensor

from hopsight.checks import option
from hopsight.graph import AttributedGraph
from hopsight.system.files import read_regular, replacing

STATE = 3  # grows when a state of an earlier version would be continued differently
INTERVAL = 10.0  # seconds between two checkpoints
PATIENCE = 20  # and at least this many times the seconds that writing one takes
CHECKSUM_BYTES = 32  # SHA-256 of the rest of the file, at its beginning
DAMAGED = "-damaged"  # what is added to the name of a file that cannot be used


class Checkpoint:
    """One file that is replaced as a whole, so that it always holds the old state or the new one.

    Parameters
    ----------
    path
        The file; None keeps nothing.
    key
        What the state belongs to. A file with another key is refused.
    """

    def __init__(self, path: Path | None, key: str) -> None:
        self.path = path
        self.key = key
        self._next = 0.0
        self._prepared: dict[str, Tensor] = {}

    @classmethod
    def of(cls, path: Path | None, detector: Any, graph: AttributedGraph) -> Checkpoint:
        """Return the checkpoint of a fit of a detector to a graph; a file of another fit is refused."""
        return cls(path, "" if path is None else _key(detector, graph))

    @property
    def due(self) -> bool:
        """Whether it is time to save: at once, and then every ten seconds."""
        return self.path is not None and time.monotonic() >= self._next

    def save(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Write a state; ``values`` is anything JSON can hold."""
        assert self.path is not None
        start = time.monotonic()
        named = (self._prepared | tensors).items()
        arrays = {
            name: tensor.detach().cpu().contiguous().numpy() for name, tensor in named
        }  # it writes memory as it is
        content = save(arrays, {"key": self.key, "values": json.dumps(values)})
        with replacing(self.path) as temporary, temporary.open("wb") as file:
            file.write(sha256(content).digest())
            file.write(content)
        end = time.monotonic()
        self._next = end + max(INTERVAL, PATIENCE * (end - start))

    def prepare(self, stage: str, arrays: dict[str, NDArray[Any]]) -> None:
        """Write what a stage took long to find; every later state contains it."""
        if self.path is not None:
            self._prepared |= {f"{stage}/{name}": torch.from_numpy(np.array(values)) for name, values in arrays.items()}
            self.save({}, {})

    def prepared(self, stage: str) -> dict[str, NDArray[Any]]:
        """Return what an earlier fit found in a stage, empty if it did not come so far."""
        if not self._prepared:
            tensors, _ = self.load() or ({}, {})
            self._prepared = {name: tensor for name, tensor in tensors.items() if "/" in name}
        mine = {name: tensor for name, tensor in self._prepared.items() if name.startswith(f"{stage}/")}
        return {name.partition("/")[2]: tensor.numpy() for name, tensor in mine.items()}

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the saved state, or None if there is no file.

        Raises
        ------
        ValueError
            If the file belongs to another graph, seed or set of parameters, or is damaged; see :meth:`taking_up`.
        """
        if self.path is None or not self.path.exists():
            return None
        whole = read_regular(self.path)
        content = whole[CHECKSUM_BYTES:]
        with self.taking_up():
            if sha256(content).digest() != whole[:CHECKSUM_BYTES]:
                raise KeyError("its checksum does not match its content")
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
            state = load(content), json.loads(header["values"])
        if header["key"] != self.key:
            raise ValueError(
                f"cannot resume from {self.path.name}: it belongs to another graph or other parameters; run again with "
                f"those, or discard it with {option('restart', True)}"
            )
        return state

    @contextmanager
    def taking_up(self) -> Iterator[None]:
        """Rename the file if the block cannot use what is in it, and say so in one sentence."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, OverflowError, RuntimeError, SafetensorError) as error:
            if self.path is None:
                raise
            aside = self.path.with_name(f"{self.path.name}{DAMAGED}")
            self.path.replace(aside)
            reason = " ".join(str(error.args[0] if error.args else error).split())[:200]
            raise ValueError(
                f"cannot resume from {self.path.name}, which is damaged ({reason}) and is now called {aside.name}: run "
                f"again without {option('resume', True)} to start over"
            ) from None


def _key(detector: Any, graph: AttributedGraph) -> str:
    """Return what a checkpoint belongs to: these parameters on this graph, to the last value."""
    content = graph.attributes
    values = [content.data, content.indices, content.indptr] if sp.issparse(content) else [content]
    digest = sha256(f"{detector!r} {torch.__version__} {STATE}".encode())
    weights = [] if graph.edge_weight is None else [graph.edge_weight]
    for part in (graph.edges, graph.node_hashes, *values, *weights):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
