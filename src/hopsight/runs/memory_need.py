"""What a run will need, said before it starts, and held to a limit while it goes on.

The model is deliberately simple: memory is what the libraries occupy, a few copies of the network, and the largest
arrays of the fit; time is the arithmetic of the fit over the speed of two cores of a laptop. Nothing in hopsight
is n×n, so everything grows with nodes, edges and pairs.
"""

from __future__ import annotations

import _thread
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hopsight.graph import AttributedGraph
from hopsight.hcm.folds import MANY_NODES
from hopsight.runs.progress import duration
from hopsight.system.memory import available_memory, resident_memory

LIBRARIES = 400e6  # Python, numpy, scipy, polars
TORCH = 220e6
GRAPH_COPIES = 2.5  # the network as read, its preprocessed form, the file being written
PAIRS_KEPT = 1 << 23  # pairs are drawn for many epochs at once, up to this number
OPERATIONS_PER_SECOND = 6e10
ALL_ELSE = 8e5  # operations that would take as long as reading, preparing, scoring and writing an edge (13 µs)
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
# n×d matrices of float64 that the other detectors hold at once
DENSE_COPIES = {"LOF": 3, "AMEN": 3, "Radar": 14, "ANOMALOUS": 14, "DOMINANT": 8, "ResGCN": 8, "MADAN": 6}
WITHOUT_TORCH = ("LOF", "AMEN", "Radar", "ANOMALOUS")


@dataclass(frozen=True)
class Need:
    """Bytes of memory and seconds that a fit is expected to take."""

    memory: int
    seconds: float

    def __str__(self) -> str:
        return f"about {size(self.memory)} of memory and {duration(self.seconds)}"


def expected_need(graph: AttributedGraph, detector: Any) -> Need:
    """Return what fitting ``detector`` to ``graph`` is expected to need."""
    need = _hop_need if hasattr(detector, "max_pairs") else _other_need
    memory, operations = need(graph, detector)
    common = LIBRARIES + GRAPH_COPIES * _graph_bytes(graph)
    return Need(int(common + memory), 3.0 + operations / OPERATIONS_PER_SECOND)


def _hop_need(graph: AttributedGraph, detector: Any) -> tuple[float, float]:
    """Return bytes and operations of HCM and its relatives.

    With n nodes, m edges, d columns, u units, L layers and p pairs an epoch: an epoch costs 6·p products of the model,
    a sample 2 for every edge it judges. HCM's GCN adds 6(n·d·u + 2m·u·L) an epoch and keeps u(L + 1) numbers a node;
    CrossHCM keeps a view of d numbers a node for every fold, in half precision where there are many nodes.
    """
    n_nodes, n_edges = graph.n_nodes, graph.n_edges
    units, mlp_units, epochs = detector.n_units, detector.mlp_units, detector.n_epochs
    pairs = min(detector.max_pairs, detector.n_classes * detector.sampling_ratio * n_edges)
    samples = min(detector.n_samples, epochs - detector.burn_in)
    memory = TORCH + 32 * min(PAIRS_KEPT, epochs * pairs) + 120 * n_edges
    if hasattr(detector, "n_folds"):
        width = min(2 * graph.n_attributes, detector.n_components or 2 * graph.n_attributes)
        views = 1 + detector.n_folds * detector.n_repeats
        memory += n_nodes * width * (24 + views * (2 if n_nodes > MANY_NODES else 4))
        product, node, judged = 2 * (width * units + units * mlp_units), 0.0, samples * n_edges / detector.n_folds
    else:
        width, layers = min(graph.n_attributes, detector.n_components or graph.n_attributes), detector.n_layers
        memory += 4 * n_nodes * (2 * units * (layers + 1) + 3 * width) + 4 * pairs * (3 * units + 4 * mlp_units)
        product, judged = units * mlp_units, samples * n_edges
        node = n_nodes * width * units + 2 * n_edges * units * layers
    return memory, 6.0 * epochs * (pairs * product + node) + 2.0 * judged * product + ALL_ELSE * n_edges


def _other_need(graph: AttributedGraph, detector: Any) -> tuple[float, float]:
    """Return bytes and operations of the other detectors: a few n×d matrices, and passes over them."""
    name = type(detector).__name__
    width = min(graph.n_attributes, getattr(detector, "n_components", None) or graph.n_attributes)
    cells = float(graph.n_nodes * width)
    memory = 8 * DENSE_COPIES.get(name, 8) * cells + (0 if name in WITHOUT_TORCH else TORCH)
    if name == "LOF":
        return memory, 2.0 * graph.n_nodes * cells  # every pair of nodes is compared
    passes = getattr(detector, "n_epochs", 50)
    return memory, 6.0 * passes * (cells * 64 + 64 * graph.adjacency.nnz)


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
    if limit is None:
        yield
        return
    done, passed = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            if resident_memory() > limit:
                passed.set()
                _thread.interrupt_main()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    deaf = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if deaf:  # a job that a script put into the background does not hear interrupts, not even ours
        signal.signal(signal.SIGINT, signal.default_int_handler)
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
        if deaf:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


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
