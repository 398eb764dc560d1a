"""Damaged files of every format: read, or refused with one sentence; never anything else."""

import bz2
import lzma
import random
import resource
import sqlite3
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
import torch
import zstandard

from hopsight import io
from hopsight.graph import AttributedGraph

FORMATS = [".csv", ".tsv", ".csv.gz", ".mat", ".npz", ".graphml", ".pt", ".parquet"]
MORE = [".jsonl", ".csv.zst", ".csv.bz2", ".csv.xz", ".csv.zip", ".gml", ".gexf", ".xlsx", ".sqlite", ".duckdb"]
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
    if suffix in FORMATS:
        io.write(graph, folder / f"g{suffix}")
    elif suffix in (".gml", ".gexf"):
        write_document(graph, folder / f"g{suffix}")
    else:
        ends = {
            end: graph.node_ids[places].tolist() for end, places in zip(("source", "target"), graph.edges, strict=True)
        }
        write_table(pl.DataFrame(ends), folder / f"g{suffix}")
        nodes = {"id": graph.node_ids.tolist(), "x": range(n_nodes), "city": ["a", "b"] * 6}
        write_table(pl.DataFrame(nodes), folder / f"g.nodes{suffix}")
    return sorted(folder.iterdir())


def write_document(graph: AttributedGraph, path: Path) -> None:
    """Write a graph as NetworkX does."""
    theirs = nx.Graph()
    theirs.add_nodes_from((node, {"x": number}) for number, node in enumerate(graph.node_ids.tolist()))
    theirs.add_edges_from(graph.node_ids[graph.edges].T.tolist(), weight=2)
    (nx.write_gml if path.suffix == ".gml" else nx.write_gexf)(theirs, path)


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a table in a format that hopsight only reads."""
    text = frame.write_csv().encode()
    if path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".xlsx":
        frame.write_excel(path)
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.sql("CREATE TABLE rows AS SELECT * FROM frame")
    elif path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"CREATE TABLE rows ({', '.join(frame.columns)})")
            connection.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * frame.width)})", frame.rows())
            connection.commit()
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("rows.csv", text)
    else:
        packed = {".zst": zstandard.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[path.suffix]
        path.write_bytes(packed(text))


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
            assert "\n" not in str(error) and "cannot read" in str(error)
            assert "more memory than there is" not in str(error)
        assert time.monotonic() - start < SECONDS
        victim.write_bytes(originals[victim])
    assert n_refused > count // (4 if suffix == ".sqlite" else 3)  # a small database is mostly empty pages: 33 of 100
    assert sorted(folder.iterdir()) == files


@pytest.mark.parametrize("suffix", [*FORMATS, *MORE])
def test_damage_is_refused_or_harmless(tmp_path: Path, suffix: str) -> None:
    refuse_or_read(suffix, tmp_path, 70 if suffix in FORMATS else 30, seed=0)


@pytest.mark.attack
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("suffix", [*FORMATS, *MORE])
def test_much_damage_is_refused_or_harmless(tmp_path: Path, suffix: str) -> None:
    refuse_or_read(suffix, tmp_path, 1_400, seed=1)  # 25,000 in all
