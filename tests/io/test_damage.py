"""Damaged files of every format: read, or refused with one sentence; never anything else."""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from hopsight import io
from hopsight.graph import AttributedGraph

FORMATS = [".csv", ".tsv", ".csv.gz", ".mat", ".npz", ".graphml", ".pt", ".parquet"]
TABLES = (".csv", ".tsv", ".csv.gz", ".parquet")
SECONDS = 30  # ten on a quiet machine
MEMORY = 2**30


@contextmanager
def within(n_bytes: int) -> Iterator[None]:
    """Let this process, and any it starts, ask for so many bytes more than it has and no others."""
    if sys.platform != "linux":
        yield
        return
    lines = Path("/proc/self/status").read_text().splitlines()
    now = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (now + n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def seed_files(folder: Path, suffix: str) -> list[Path]:
    """Write a small graph and return its files."""
    rng = np.random.default_rng(0)
    n_nodes = 12
    adjacency = np.triu(rng.random((n_nodes, n_nodes)) < 0.3, k=1)
    if suffix == ".pt":
        edges = torch.tensor(np.array(adjacency.nonzero()))
        torch.save({"x": torch.rand(n_nodes, 3), "edge_index": edges, "y": torch.zeros(n_nodes)}, folder / "g.pt")
        return [folder / "g.pt"]
    attributes = sp.random_array((n_nodes, 5), density=0.4, rng=rng)
    graph = AttributedGraph(adjacency, attributes, node_ids=[f"n{i}é" for i in range(n_nodes)], labels=[0, 1] * 6)
    io.write(graph, folder / f"g{suffix}")
    return sorted(folder.iterdir())


def damaged(content: bytes, rnd: random.Random) -> bytes:
    """Cut a file off, flip some of its bits, overwrite a few bytes, or throw it away for random ones."""
    way, changed = rnd.random(), bytearray(content)
    if way < 0.2:
        return content[: rnd.randrange(len(content))]
    if way < 0.8:
        for _ in range(rnd.choice([1, 1, 2, 10])):
            changed[rnd.randrange(len(changed))] ^= 1 << rnd.randrange(8)
        return bytes(changed)
    if way < 0.9:
        start = rnd.randrange(len(changed))
        changed[start : start + 4] = rnd.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"])
        return bytes(changed)
    return rnd.randbytes(rnd.randrange(1, 400))


def refuse_or_read(suffix: str, folder: Path, count: int, seed: int) -> None:
    rnd = random.Random(seed)
    files = seed_files(folder, suffix)
    originals = {path: path.read_bytes() for path in files}
    n_refused = 0
    for _ in range(count):
        victim = rnd.choice(files)
        victim.write_bytes(damaged(originals[victim], rnd))
        start = time.monotonic()
        try:
            with within(MEMORY):
                io.read(folder / f"g{suffix}", notices=[])
        except ValueError as error:
            n_refused += 1
            assert "\n" not in str(error)
            assert "cannot read" in str(error)
            assert "more memory than there is" not in str(error)
        assert time.monotonic() - start < SECONDS
        victim.write_bytes(originals[victim])
    assert n_refused > count // 3
    assert sorted(folder.iterdir()) == files


@pytest.mark.parametrize("suffix", FORMATS)
def test_damage_is_refused_or_harmless(tmp_path: Path, suffix: str) -> None:
    refuse_or_read(suffix, tmp_path, 10 if suffix == ".parquet" else 70, seed=0)  # 500 in all


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("suffix", FORMATS)
def test_much_damage_is_refused_or_harmless(tmp_path: Path, suffix: str) -> None:
    refuse_or_read(suffix, tmp_path, 500 if suffix == ".parquet" else 2800, seed=1)
