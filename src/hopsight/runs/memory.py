"""Estimate the memory and time of a run before it starts, and enforce a memory limit while it runs.

The estimate is deliberately simple: memory is what the libraries occupy, a few copies of the graph, and the largest
arrays of the fit; time is the arithmetic of the fit divided by the speed of two laptop cores. Each detector's class
knows its own part (``expected_need``).
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from hopsight.checks import Refusal, duration, option
from hopsight.graph import AttributedGraph
from hopsight.system.machine import available_memory, memory_limit

LIBRARIES = 400e6  # Python, numpy, scipy, polars
TORCH = 220e6
GRAPH_COPIES = 2.5  # the graph as loaded, its preprocessed form, the file being written
OPERATIONS_PER_SECOND = 6e10
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Need:
    """Bytes of memory and seconds that a fit is expected to take."""

    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"about {size(self.memory)} of memory and {duration(self.seconds)}"


def expected_need(graph: AttributedGraph, detector: Any) -> Need:
    """Return what fitting ``detector`` to ``graph`` is expected to need."""
    memory, operations = detector.expected_need(graph)
    common = LIBRARIES + (TORCH if detector.uses_torch else 0) + GRAPH_COPIES * _graph_bytes(graph)
    memory, operations = max(0, memory), max(0, operations)  # parameters that the fit will refuse can be below 0
    return Need(int(common + memory), 3.0 + operations / OPERATIONS_PER_SECOND)


def check_need(need: Need, limit: int | None) -> None:
    """Refuse a run that needs more than ``limit`` bytes or, without a limit, more than the free memory."""
    free = available_memory()
    if limit is not None and need.memory > limit:
        raise MemoryError(f"this run needs {need} but the limit is {size(limit)}: {_advice()}")
    if limit is None and need.memory > free:
        raise MemoryError(f"this run needs {need} but only {size(free)} are free: {_advice()}")


def _advice() -> str:
    smaller = f"a smaller {option('max_pairs')} or {option('n_components')}, or {option('detector', 'lof')}"
    return f"try {smaller}, or use a machine with more memory"


def limited(limit: int | None) -> AbstractContextManager[None]:
    """Refuse, while the block runs, what would make the process hold more than ``limit`` bytes."""
    if limit is None:
        return nullcontext()
    return memory_limit(limit, f"the run would exceed the memory limit of {size(limit)}: {_advice()}")


def parse_size(text: str) -> int:
    """Convert a size such as 8GB to bytes.

    >>> parse_size("8GB"), parse_size("500 mb"), parse_size("1.5g")
    (8000000000, 500000000, 1500000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if match is None or float(match[1]) == 0:
        raise Refusal("memory_limit", f"must be a size above 0 such as 8GB or 500MB, got {text!r}")
    return int(float(match[1]) * UNITS[match[2]])


def size(n_bytes: float) -> str:
    """Format a number of bytes.

    >>> size(450e6), size(8.25e9)
    ('450 MB', '8.2 GB')
    """
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def _graph_bytes(graph: AttributedGraph) -> int:
    adjacency, attributes = graph.adjacency, graph.attributes
    parts = [adjacency.data, adjacency.indices, adjacency.indptr]
    parts += [attributes] if hasattr(attributes, "nbytes") else [attributes.data, attributes.indices, attributes.indptr]
    return sum(int(part.nbytes) for part in parts)
