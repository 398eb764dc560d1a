"""Small files that would fill the memory are refused in one sentence, before the memory is allocated."""

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from scipy.io import savemat

from hopsight.graph import AttributedGraph
from hopsight.io import read
from hopsight.io.labels import read_labels, read_nodes
from hopsight.runs.results import read_table

from .test_damage import MEMORY, within

EDGE = np.array([[0], [1]])
EDGE_INDEX = torch.tensor([[0], [1]])
MANY = 40_000_000  # numbers: 40 MB as bytes, 320 MB in memory


def npz(path: Path, **arrays: Any) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            if isinstance(array, bytes):
                archive.writestr(f"{name}.npy", array)
                continue
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def header(shape: tuple[int, ...]) -> bytes:
    """Return the head of an array of that shape, without its numbers."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return content.getvalue()


def refused(path: Path) -> None:
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 1_000_000
    with within(MEMORY), pytest.raises(ValueError, match=r"^cannot read .*an implausible size"):
        read(path, notices=[])


ARRAYS: dict[str, dict[str, Any]] = {
    "bytes as attributes": {"edges": EDGE, "attributes": np.zeros((MANY // 8, 8), dtype=np.uint8)},
    "bytes as edges": {"edges": np.zeros((2, MANY // 2), dtype=np.int8), "attributes": [[0.0], [1.0]]},
    "nodes without attributes": {"edges": EDGE, "attributes": header((400_000_000, 0))},
    "names of empty columns": {
        "edges": EDGE, "attributes_shape": np.array([2, 90_000_000]), "attributes_data": [1.0],
        "attributes_indices": [0], "attributes_indptr": [0, 1, 1]},
}  # fmt: skip


@pytest.mark.parametrize("arrays", ARRAYS.values(), ids=ARRAYS)
def test_a_small_file_of_arrays_never_fills_the_memory(tmp_path: Path, arrays: dict[str, Any]) -> None:
    npz(tmp_path / "g.npz", **arrays)
    refused(tmp_path / "g.npz")


def rows_of_a_packed_table(folder: Path) -> Path:
    (folder / "g.nodes.csv").write_text("id,x\n1,0\n2,1\n")
    (folder / "g.csv.gz").write_bytes(gzip.compress(b"source,target\n" + b"1,2\n" * (MANY // 8), 1))
    return folder / "g.csv.gz"


def cells_of_a_packed_table(folder: Path) -> Path:
    head, row = b",".join(b"a%d" % i for i in range(5_000)), b",1" * 5_000
    (folder / "g.csv.gz").write_bytes(gzip.compress(b"source,target\n0,1\n"))
    (folder / "g.nodes.csv.gz").write_bytes(gzip.compress(b"id," + head + b"\n" + (b"7" + row + b"\n") * 8_000))
    return folder / "g.csv.gz"


def columns_of_graphml(folder: Path) -> Path:
    with (folder / "g.graphml").open("w") as file:
        file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">')
        file.writelines(f'<key id="k{i}" attr.name="k{i}" for="node"><default>1</default></key>' for i in range(9_000))
        file.write('<graph edgedefault="undirected">')
        file.writelines(f'<node id="n{i}"/>' for i in range(9_000))
        file.write('<edge source="n0" target="n1"/></graph></graphml>')
    return folder / "g.graphml"


def short_rows(folder: Path) -> Path:
    names = ",".join(f"c{i}" for i in range(2_000))
    (folder / "g.csv").write_text(f"source,target,{names}\n" + "1,2\n" * 100_000)
    return folder / "g.csv"


def fields_of_json_lines(folder: Path) -> Path:
    (folder / "g.jsonl").write_text("".join(f'{{"source":1,"target":2,"k{i}":3}}\n' for i in range(10_000)))
    return folder / "g.jsonl"


def nested_fields(folder: Path) -> Path:
    rows = (f'{{"source":1,"target":2,"k{i // 150}":{{"m{i % 150}":3}}}}' for i in range(15_000))
    (folder / "g.json").write_text("[" + ",\n".join(rows) + "]")
    return folder / "g.json"


def columns_of_gml(folder: Path) -> Path:
    nodes = "".join(f"node [ id {i} k{i} 1 ]\n" for i in range(6_000))
    (folder / "g.gml").write_text(f"graph [\n{nodes}edge [ source 0 target 1 ]\n]\n")
    return folder / "g.gml"


def nodes_of_a_hetero_data(folder: Path) -> Path:
    from torch_geometric.data import HeteroData

    data = HeteroData()
    data["user"].num_nodes = 100_000_000
    data["user", "pays", "user"].edge_index = torch.tensor([[0], [1]])
    torch.save(data, folder / "g.pt")
    return folder / "g.pt"


def columns_of_a_hetero_data(folder: Path) -> Path:
    from torch_geometric.data import HeteroData

    data = HeteroData()
    for kind in range(200):
        data[f"kind {kind}"].x = torch.zeros(100, 20, dtype=torch.int8)
    data["kind 0", "pays", "kind 1"].edge_index = torch.tensor([[0], [1]])
    torch.save(data, folder / "g.pt")
    return folder / "g.pt"


def rows_of_parquet(folder: Path) -> Path:
    pl.DataFrame({"id": [0, 1], "x": [1.0, 2.0]}).write_parquet(folder / "g.nodes.parquet")
    ends = pl.repeat(0, MANY // 8, dtype=pl.Int64, eager=True)
    pl.DataFrame({"source": ends, "target": ends}).write_parquet(folder / "g.parquet")
    return folder / "g.parquet"


def dense_matlab(folder: Path) -> Path:
    n_nodes = int(MANY**0.5)
    matrices = {"A": np.zeros((n_nodes, n_nodes), dtype=np.uint8), "X": np.zeros((n_nodes, 1))}
    savemat(folder / "g.mat", matrices, do_compression=True)
    return folder / "g.mat"


def tensor_without_end(folder: Path) -> Path:
    torch.save({"x": torch.zeros(1, dtype=torch.uint8).expand(MANY, 8), "edge_index": EDGE_INDEX}, folder / "g.pt")
    return folder / "g.pt"


def archive_in_an_archive(folder: Path) -> Path:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in range(8):
            archive.writestr(f"g/data/{member}", bytes(MANY))
    with zipfile.ZipFile(folder / "g.pt.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("g.pt", inner.getvalue())
    return folder / "g.pt.zip"


BOMBS = (
    rows_of_a_packed_table,
    cells_of_a_packed_table, columns_of_graphml, short_rows, fields_of_json_lines, nested_fields, columns_of_gml,
    nodes_of_a_hetero_data, columns_of_a_hetero_data, rows_of_parquet, dense_matlab, tensor_without_end,
    archive_in_an_archive,
)  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_never_fills_the_memory(tmp_path: Path, bomb: Callable[[Path], Path]) -> None:
    refused(bomb(tmp_path))


def test_a_packed_file_of_verdicts_or_scores_never_fills_the_memory(tmp_path: Path) -> None:
    pair = AttributedGraph.from_edges([0], [1], [[0.0], [1.0]])
    (tmp_path / "bomb.csv").write_bytes(gzip.compress(b"node,verdict\n" + b"a" * 300_000_000, 1))
    for call in (lambda path: read_labels(path, pair), lambda path: read_nodes(path, pair), read_table):
        with within(MEMORY), pytest.raises(ValueError, match="an implausible size"):
            call(tmp_path / "bomb.csv")


def test_a_table_with_short_rows_that_is_as_large_as_it_looks_is_read(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(200))
    (tmp_path / "g.csv").write_text(f"source,target,{names}\n1,2,5\n2,3,7\n3,4,1\n")
    assert read(tmp_path / "g.csv", notices=[]).n_edges == 3
