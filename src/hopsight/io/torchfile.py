"""Read PyTorch ``.pt`` archives without running any code in them.

A ``.pt`` file is a zip archive of raw tensor data and a pickle that describes them. A pickle is a program; instead of
running it, this module goes through its instructions and carries out the few that build lists, dictionaries, tensors
and PyTorch Geometric's ``Data``. Every other instruction, and every name that is not listed below, is refused.
No class named in the archive is imported, so neither torch nor torch_geometric is needed.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopsight.io.files import check_archive, check_loaded

MAX_PROGRAM = 2 * 2**20  # bytes of the pickle; a Data needs a few hundred
CONTAINERS = {
    "torch_geometric.data.data Data",
    "torch_geometric.data.storage GlobalStorage",
    "torch_geometric.data.data DataEdgeAttr",
    "torch_geometric.data.data DataTensorAttr",
    "torch_geometric.data.hetero_data HeteroData",
    "torch_geometric.data.graph_store EdgeAttr",
    "torch_geometric.data.feature_store TensorAttr",
    "torch_geometric.data.storage BaseStorage",
    "torch_geometric.data.storage NodeStorage",
    "torch_geometric.data.storage EdgeStorage",
}
DTYPES = {
    "torch DoubleStorage": "f8",
    "torch FloatStorage": "f4",
    "torch HalfStorage": "f2",
    "torch LongStorage": "i8",
    "torch IntStorage": "i4",
    "torch ShortStorage": "i2",
    "torch CharStorage": "i1",
    "torch ByteStorage": "u1",
    "torch BoolStorage": "?",
}
REBUILD, ORDERED, SIZE = "torch._utils _rebuild_tensor_v2", "collections OrderedDict", "torch Size"
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
LITERALS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "STRING", "SHORT_BINSTRING", "BINSTRING"),
}


@dataclass
class Record:
    """Stand-in for an object of a known class: the name of the class and the state, without behavior."""

    kind: str
    state: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Name:
    """Stand-in for a function or class that the pickle names."""

    full: str


def read_torch(path: Path) -> Any:
    """Return the content of a ``.pt`` file or a zip of one: tensors as arrays, ``Data`` as :class:`Record`."""
    source: Path | io.BytesIO = path
    size = path.stat().st_size
    with zipfile.ZipFile(path) as outer:
        check_archive(outer, size)
        inside = [member for member in outer.namelist() if member.endswith(".pt") and not member.startswith("__MACOSX")]
        if inside:
            if len(inside) > 1:
                raise ValueError(f"it holds {len(inside)} .pt files instead of one")
            source = io.BytesIO(outer.read(inside[0]))
    with zipfile.ZipFile(source) as archive:
        check_archive(archive, size)
        program = [member for member in archive.infolist() if member.filename.endswith("/data.pkl")]
        if len(program) != 1:
            raise ValueError("it is not a .pt file of PyTorch 1.6 or newer")
        if program[0].file_size > MAX_PROGRAM:
            raise ValueError(f"its pickle has {program[0].file_size:,} bytes, and at most {MAX_PROGRAM:,} are allowed")
        folder = program[0].filename.removesuffix("data.pkl")
        return _Machine(archive, folder, size).run(archive.read(program[0]))


class _Machine:
    """Carries out the few pickle instructions that build plain data."""

    def __init__(self, archive: zipfile.ZipFile, folder: str, size: int) -> None:
        self._archive, self._folder, self._size = archive, folder, size
        self._members: dict[str, NDArray[np.uint8]] = {}  # each is read only once
        order = f"{folder}byteorder"
        big = order in archive.namelist() and archive.read(order).strip() == b"big"
        self._byte_order = ">" if big else "<"
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._actions: dict[str, Callable[[Any], None]] = {
            "PROTO": lambda _: None,
            "FRAME": lambda _: None,
            "GLOBAL": lambda arg: self._stack.append(_known(arg)),
            "STACK_GLOBAL": self._stack_global,
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "EMPTY_TUPLE": lambda _: self._stack.append(()),
            "EMPTY_LIST": lambda _: self._stack.append([]),
            "EMPTY_DICT": lambda _: self._stack.append({}),
            "TUPLE": lambda _: self._stack.append(tuple(self._since_mark())),
            "TUPLE1": lambda _: self._stack.append(tuple(self._take(1))),
            "TUPLE2": lambda _: self._stack.append(tuple(self._take(2))),
            "TUPLE3": lambda _: self._stack.append(tuple(self._take(3))),
            "APPEND": lambda _: self._extend(self._take(1)),
            "APPENDS": lambda _: self._extend(self._since_mark()),
            "SETITEM": lambda _: self._fill(self._take(2)),
            "SETITEMS": lambda _: self._fill(self._since_mark()),
            "MEMOIZE": lambda _: self._remember(len(self._memo)),
            "BINPERSID": lambda _: self._stack.append(self._storage(*self._take(1))),
            "REDUCE": lambda _: self._stack.append(_call(*self._take(2), size=self._size)),
            "NEWOBJ": lambda _: self._stack.append(_new(*self._take(2))),
            "BUILD": lambda _: self._build(*self._take(1)),
        }
        for prefix in ("", "BIN", "LONG_BIN"):
            self._actions[f"{prefix}PUT"] = self._remember
            self._actions[f"{prefix}GET"] = lambda arg: self._stack.append(self._memo[arg])

    def run(self, program: bytes) -> Any:
        """Carry out the instructions and return the result."""
        for opcode, argument, _ in pickletools.genops(program):
            name = opcode.name
            if name == "STOP":
                return self._take(1)[0]
            if name in CONSTANTS:
                self._stack.append(CONSTANTS[name])
            elif name in LITERALS:
                self._stack.append(argument)
            elif name in self._actions:
                self._actions[name](argument)
            else:
                raise ValueError(f"its pickle uses the instruction {name}, which plain data does not need")
        raise ValueError("its pickle does not end")

    def _take(self, count: int) -> list[Any]:
        start = len(self._stack) - count
        if start < (self._marks[-1] if self._marks else 0):
            raise ValueError("its pickle is damaged")
        taken = self._stack[start:]
        del self._stack[start:]
        return taken

    def _since_mark(self) -> list[Any]:
        return self._take(len(self._stack) - self._marks.pop())

    def _remember(self, key: int) -> None:
        self._memo[key] = self._stack[-1]

    def _stack_global(self, _: Any) -> None:
        module, name = self._take(2)
        self._stack.append(_known(f"{module} {name}"))

    def _extend(self, entries: list[Any]) -> None:
        if not isinstance(self._stack[-1], list):
            raise ValueError("its pickle is damaged")
        self._stack[-1].extend(entries)

    def _fill(self, entries: list[Any]) -> None:
        target, keys = self._stack[-1], entries[::2]
        if not isinstance(target, dict) or len(entries) % 2 or not all(map(_is_key, keys)):
            raise ValueError("its pickle is damaged")
        target.update(zip(keys, entries[1::2], strict=True))

    def _build(self, state: Any) -> None:
        if not isinstance(self._stack[-1], Record) or not isinstance(state, dict):
            raise ValueError("its pickle is damaged")
        self._stack[-1].state.update(state)

    def _storage(self, identity: Any) -> NDArray[Any]:
        """Return the raw numbers of a tensor, which are a member of the archive."""
        word, kind, key, _, count = identity
        if word != "storage" or not isinstance(kind, Name) or kind.full not in DTYPES or not isinstance(key, str):
            raise ValueError("its pickle refers to something that is not a tensor")
        dtype = np.dtype(self._byte_order + DTYPES[kind.full])
        if key not in self._members:
            self._members[key] = np.frombuffer(self._archive.read(f"{self._folder}data/{key}"), dtype=np.uint8)
        data = self._members[key]
        if not isinstance(count, int) or count < 0 or count * dtype.itemsize > data.size:
            raise ValueError("one of its tensors is truncated")
        return data[: count * dtype.itemsize].view(dtype)


def _is_key(key: Any) -> bool:
    """Return whether this may be a key: a name, a number, or the three names of a relation in a HeteroData."""
    return isinstance(key, str | int) or (isinstance(key, tuple) and all(isinstance(part, str) for part in key))


def _known(full: str) -> Name:
    """Refuse all names but those of tensors and plain containers."""
    if full in CONTAINERS or full in DTYPES or full in (REBUILD, ORDERED, SIZE):
        return Name(full)
    raise ValueError(
        f"it refers to {full.replace(' ', '.')[:200]}; only tensors and PyG's Data and HeteroData can be read, and "
        "code never runs"
    )


def _call(function: Any, arguments: Any, *, size: int) -> Any:
    if not isinstance(function, Name) or not isinstance(arguments, tuple):
        raise ValueError("its pickle is damaged")
    if function.full == REBUILD:
        return _tensor(*arguments[:4], packed=size)
    if function.full == ORDERED and not arguments:
        return {}
    if function.full == SIZE and len(arguments) == 1:
        return arguments[0]
    raise ValueError(f"it calls {function.full.replace(' ', '.')}, which plain data does not need")


def _new(kind: Any, arguments: Any) -> Record:
    if not isinstance(kind, Name) or kind.full not in CONTAINERS or arguments != ():
        raise ValueError("its pickle is damaged")
    return Record(kind.full.rpartition(" ")[2])


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *, packed: int) -> NDArray[Any]:
    """Return raw numbers in a given shape; refuse a shape that reaches outside or repeats them without bound."""
    whole = all(isinstance(number, int) and number >= 0 for number in (offset, *size, *stride))
    if not isinstance(storage, np.ndarray) or not whole or len(size) != len(stride):
        raise ValueError("one of its tensors is damaged")
    count = 1
    for length in size:
        count *= length
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if count and last >= storage.size:
        raise ValueError("one of its tensors is truncated")
    n_rows, n_columns = size if len(size) == 2 else (0, 0)
    check_loaded(packed, n_nodes=n_rows, n_columns=n_columns, n_numbers=count)
    if not count:
        return np.zeros(size, dtype=storage.dtype)
    steps = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False)
