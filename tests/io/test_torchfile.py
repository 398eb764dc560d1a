""".pt archives: what torch saved is read without torch, and no code in them ever runs."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hopsight.io.files import reading
from hopsight.io.torchfile import Record, read_torch


def read(path: Path) -> Any:
    with reading(path):
        return read_torch(path)


def archive(path: Path, program: bytes, **members: bytes) -> Path:
    """Write a .pt around a pickle of our own making."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", program)
        for name, content in members.items():
            file.writestr(f"archive/data/{name}", content)
    return path


TENSORS = {
    "double": torch.arange(6, dtype=torch.float64).reshape(2, 3),
    "float": torch.tensor([1.5, -2.5]),
    "half": torch.tensor([0.5], dtype=torch.float16),
    "long": torch.tensor([[2**62], [-1]]),
    "int": torch.tensor([7], dtype=torch.int32),
    "short": torch.tensor([7], dtype=torch.int16),
    "char": torch.tensor([-7], dtype=torch.int8),
    "byte": torch.tensor([250], dtype=torch.uint8),
    "bool": torch.tensor([True, False]),
    "transposed": torch.arange(6).reshape(2, 3).T,
    "slice": torch.arange(10)[3:7:2],
    "scalar": torch.tensor(3.0),
    "empty": torch.zeros(0, 4),
}


@pytest.mark.parametrize("protocol", [2, 4])
def test_tensors_of_every_kind_and_layout(tmp_path: Path, protocol: int) -> None:
    content = {"tensors": TENSORS, "list": [1, 2.5, "a", None, True, (1, 2, 3, 4)], "big": 2**70, 3: TENSORS["float"]}
    torch.save(content, tmp_path / "t.pt", pickle_protocol=protocol)
    read_back = read(tmp_path / "t.pt")
    for name, tensor in TENSORS.items():
        assert np.array_equal(read_back["tensors"][name], tensor.numpy()), name
        assert read_back["tensors"][name].dtype == tensor.numpy().dtype
    assert read_back["list"] == content["list"]
    assert read_back["big"] == 2**70
    assert read_back[3].tolist() == [1.5, -2.5]


def test_a_zip_of_one_pt_file_is_opened(tmp_path: Path) -> None:
    torch.save({"x": torch.ones(2)}, tmp_path / "t.pt")
    with zipfile.ZipFile(tmp_path / "t.pt.zip", "w", zipfile.ZIP_DEFLATED) as outer:
        outer.write(tmp_path / "t.pt", "folder/t.pt")
        outer.writestr("__MACOSX/folder/t.pt", b"resource fork")
    assert read(tmp_path / "t.pt.zip")["x"].tolist() == [1.0, 1.0]


class Trap:
    """Pickles as a call of any function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


@pytest.mark.parametrize("protocol", range(6))
def test_a_malicious_pickle_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    sprung = tmp_path / "sprung"
    traps = [
        Trap(os.mkdir, str(sprung)),
        Trap(os.system, f"touch {sprung}"),
        Trap(eval, f"open({str(sprung)!r}, 'w')"),
        Trap(__import__, "antigravity"),
    ]
    for trap in traps:
        for content in (trap, {"x": torch.ones(2), "y": [trap]}):
            torch.save(content, tmp_path / "trap.pt", pickle_protocol=max(protocol, 2))
            with pytest.raises(ValueError, match="code never runs"):
                read(tmp_path / "trap.pt")
        program = pickle.dumps(trap, protocol=protocol)
        with pytest.raises(ValueError, match="code never runs"):
            read(archive(tmp_path / "bare.pt", program))
    assert not sprung.exists()


@pytest.mark.parametrize(
    "program",
    [
        b"cposix\nsystem\n(S'touch x'\ntR.",
        b"(S'touch x'\niposix\nsystem\n.",
        b"(cposix\nsystem\nS'touch x'\no.",
        b"\x80\x02\x82\x01.",
        b"ctorch\nload\n.",
        b"ctorch._utils\n_rebuild_tensor_v3\n.",
        b"cbuiltins\ngetattr\n.",
        b"ctorch_geometric.data.data\nData.__init__\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x05\x96\x04\x00\x00\x00\x00\x00\x00\x00abcd.",
        b"ccollections\nOrderedDict\n(]t\x85R.",
        b"ctorch\nFloatStorage\n)\x81.",
        b"ctorch\nFloatStorage\n)R.",
    ],
)
def test_instructions_and_names_that_plain_data_does_not_need_are_refused(tmp_path: Path, program: bytes) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        read(archive(tmp_path / "bad.pt", program))


def tensor_program(count: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """Write the pickle of one float tensor by hand."""
    numbers = b"".join(b"(" + b"".join(b"I%d\n" % n for n in part) + b"t" for part in (size, stride))
    storage = b"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI%d\ntQ" % count
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"I%d\n" % offset + numbers + b"I00\nNtR."


def test_a_handmade_tensor(tmp_path: Path) -> None:
    data = np.arange(6, dtype="<f4").tobytes()
    path = archive(tmp_path / "t.pt", tensor_program(6, 1, (2, 2), (2, 1)), **{"0": data})
    assert read(path).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("count", "offset", "size", "stride"),
    [
        (7, 0, (2, 3), (3, 1)),
        (6, 1, (2, 3), (3, 1)),
        (6, 0, (7,), (1,)),
        (6, 0, (2, 3), (4, 1)),
        (6, -1, (2,), (1,)),
        (6, 0, (2,), (-1,)),
        (6, 0, (-2,), (1,)),
        (-6, 0, (2,), (1,)),
        (6, 0, (2, 3), (3,)),
        (6, 0, (10**6, 10**6), (0, 0)),
    ],
)
def test_a_tensor_that_reaches_outside_its_data_is_refused(
    tmp_path: Path, count: int, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> None:
    path = archive(tmp_path / "t.pt", tensor_program(count, offset, size, stride), **{"0": bytes(24)})
    with pytest.raises(ValueError, match=r"tensors|claim"):
        read(path)


@pytest.mark.parametrize("program", [b"", b".", b"N", b"t.", b"h\x05.", b"}]Ns.", b"NQ.", b"(lp", b"\xff"])
def test_a_damaged_pickle_is_reported_in_one_sentence(tmp_path: Path, program: bytes) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        read(archive(tmp_path / "bad.pt", program))


def test_a_huge_memo_index_costs_nothing(tmp_path: Path) -> None:
    assert read(archive(tmp_path / "t.pt", b"\x80\x02K\x07r\xff\xff\xff\xff.")) == 7


def test_nested_containers_are_never_hashed(tmp_path: Path) -> None:
    nested = b"(K\x01t" + b"q\x00h\x00\x86" * 60  # 2^60 leaves if anything walked over them
    assert isinstance(read(archive(tmp_path / "t.pt", nested + b".")), tuple)
    with pytest.raises(ValueError, match="damaged"):
        read(archive(tmp_path / "bad.pt", b"}" + nested + b"Ns."))


def test_a_long_pickle_many_archives_and_no_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most"):
        read(archive(tmp_path / "long.pt", b"N0" * 2**21 + b"N."))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as outer:
        outer.writestr("a.pt", b"")
        outer.writestr("b.pt", b"")
    (tmp_path / "two.pt.zip").write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match="instead of one"):
        read(tmp_path / "two.pt.zip")
    torch.save({"x": torch.ones(2)}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match="damaged, or its format"):
        read(tmp_path / "old.pt")


def test_data_becomes_a_record_without_behavior(tmp_path: Path) -> None:
    geometric = pytest.importorskip("torch_geometric.data", reason="torch_geometric is an optional extra")
    torch.save(geometric.Data(x=torch.ones(2, 1)), tmp_path / "data.pt")
    record = read(tmp_path / "data.pt")
    assert isinstance(record, Record)
    assert record.kind == "Data"
    assert record.state["_store"].state["_mapping"]["x"].tolist() == [[1.0], [1.0]]
