"""Write arrays in the safetensors format without holding a copy of them in memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

BYTES_AT_ONCE = 1 << 26
NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "float16": "F16", "int32": "I32",
    "uint32": "U32", "float32": "F32", "float64": "F64", "int64": "I64", "uint64": "U64",
}  # fmt: skip


def write_tensors(
    file: IO[bytes], arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None, digest: Any = None
) -> Any:
    """Write arrays to an open file and return the SHA-256 of what was written, added to ``digest`` if there is one.

    Any reader of safetensors opens the file.
    """
    digest = hashlib.sha256() if digest is None else digest
    for part in _parts(arrays, metadata):
        digest.update(part)
        file.write(part)
    return digest


def _parts(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None) -> Iterator[Any]:
    """Yield the header and then the bytes of each array, some at a time."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    end = 0
    ordered = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # each at a multiple of its size
    for name in ordered:
        array = arrays[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in ordered:
        values = np.ascontiguousarray(arrays[name]).reshape(-1)
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        step = max(1, BYTES_AT_ONCE // values.dtype.itemsize)
        for start in range(0, values.size, step):
            yield values[start : start + step].view(np.uint8).data
