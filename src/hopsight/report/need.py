"""What a run will need, said before it starts, and held to a limit while it goes on.

The model is deliberately simple. Memory is what Python and torch occupy, a few copies of the network, and the
detector's own arrays: linear in nodes, links and pairs for HCM and its relatives, n×n for the detectors whose
method asks for it. Time is the arithmetic of the fit over a modest speed, 2 cores of a laptop.
"""

from __future__ import annotations

import _thread
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hopsight.checks import available_memory
from hopsight.graph import AttributedGraph
from hopsight.report.progress import duration
from hopsight.report.record import memory_in_use

BASE_BYTES = 450e6  # Python, torch, numba
GRAPH_COPIES = 4  # the network as read, its symmetric form, the preprocessed one, the file being written
OPERATIONS_PER_SECOND = 2e10
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
# n×n matrices of float64 that a detector holds at once, and the passes over n³ it makes at most
DENSE_MATRICES = {"Radar": 4, "ANOMALOUS": 4, "DOMINANT": 3, "MADAN": 3}


@dataclass(frozen=True)
class Need:
    """Bytes of memory and seconds that a fit is expected to take."""

    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"about {size(self.memory)} of memory and {duration(self.seconds)}"


def expected_need(graph: AttributedGraph, detector: Any) -> Need:
    """Return what fitting ``detector`` to ``graph`` is expected to need.

    For HCM and CrossHCM, with n nodes, m links, d attributes (after the projection), u units, p pairs an epoch
    and T epochs: memory 12(n·(d + 3u) + 2m + …) bytes, operations T·(n·d·u + m·u + p·u²) forward and twice that
    backward. For a detector with n×n matrices: 8 n² bytes each.
    """
    n_nodes, n_links = graph.n_nodes, graph.adjacency.nnz
    width = min(graph.n_attributes, getattr(detector, "n_components", None) or graph.n_attributes)
    memory = BASE_BYTES + GRAPH_COPIES * _graph_bytes(graph)
    dense = DENSE_MATRICES.get(type(detector).__name__, 0)
    epochs = getattr(detector, "n_epochs", 1)
    if dense:
        memory += 8 * dense * n_nodes**2
        operations = 2.0 * epochs * n_nodes**2 * max(width, 64)
    else:
        units = getattr(detector, "n_units", 16)
        pairs = min(getattr(detector, "max_pairs", 0) or n_links, n_links)
        memory += 4 * n_nodes * (2 * width + 6 * units) + 4 * (pairs + n_links) * 4 * units
        operations = 6.0 * epochs * (n_nodes * width * units + n_links * units + (pairs + n_links) * units**2)
    return Need(int(memory), 2.0 + operations / OPERATIONS_PER_SECOND)


def check_need(need: Need, limit: int | None) -> None:
    """Refuse a run that cannot fit into ``limit`` bytes, or into the memory that is free when there is no limit."""
    free = available_memory()
    if limit is not None and need.memory > limit:
        raise MemoryError(f"this run needs {need} but the limit is {size(limit)}: {SUGGESTION}")
    if limit is None and free is not None and need.memory > free:
        raise MemoryError(f"this run needs {need} but only {size(free)} are free: {SUGGESTION}")


SUGGESTION = "try --set max_pairs=..., --set n_components=... or --detector lof, or use a machine with more memory"


@contextmanager
def limited(limit: int | None) -> Iterator[None]:
    """Stop the block with ``MemoryError`` soon after the process passes ``limit`` bytes."""
    if limit is None or memory_in_use() is None:
        yield
        return
    done, passed = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            if (memory_in_use() or 0) > limit:
                passed.set()
                _thread.interrupt_main()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        if passed.is_set():
            raise MemoryError(f"the run passed the memory limit of {size(limit)}: {SUGGESTION}") from None
        raise
    finally:
        done.set()
        watcher.join()


def parse_size(text: str) -> int:
    """Return a number of bytes from what a person writes.

    >>> parse_size("8GB"), parse_size("500 mb"), parse_size("1.5g")
    (8000000000, 500000000, 1500000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"a memory limit must be a size above 0 such as 8GB or 500MB, got {text!r}")
    return int(float(match[1]) * UNITS[match[2]])


def size(n_bytes: float) -> str:
    """Return a size that a person reads at a glance.

    >>> size(450e6), size(8.25e9)
    ('450 MB', '8.2 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def _graph_bytes(graph: AttributedGraph) -> int:
    adjacency, attributes = graph.adjacency, graph.attributes
    parts = [adjacency.data, adjacency.indices, adjacency.indptr]
    parts += [attributes] if hasattr(attributes, "nbytes") else [attributes.data, attributes.indices, attributes.indptr]
    return sum(int(part.nbytes) for part in parts)
