"""Unpack compressed tables, recognized by their first bytes, and refuse what unpacks to far too much."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path
from typing import IO, Any

from hopsight.io.files import check_archive, check_unpacked

_PIECE = 16 * 2**20  # bytes unpacked at a time
_ZSTD_PIECE = 2**12  # packed bytes at a time, each of which may unpack to 32,768
GZIP, ZSTD, BZIP2, XZ, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0", b"PK\x03\x04"
ZLIB = (b"\x78\x01", b"\x78\x9c", b"\x78\xda")


def unpacked(path: Path) -> bytes | None:
    """Return what a compressed file holds, or None if it is not compressed.

    A zip archive must hold one file. Zstandard needs the package of the extra ``hopsight[zstd]``.
    """
    with path.open("rb") as file:
        start = file.read(6)
    if start.startswith(GZIP):
        with gzip.open(path) as packed:
            return _read(packed, path)
    if start.startswith(BZIP2):
        with bz2.open(path) as packed:
            return _read(packed, path)
    if start.startswith(XZ):
        try:
            with lzma.open(path) as packed:
                return _read(packed, path)
        except lzma.LZMAError:
            raise ValueError("it is damaged, or its format is not what its name says") from None
    if start.startswith(ZSTD):
        return _unzstd(path)
    if start.startswith(ZIP):
        return _unzip(path)
    return None


def _read(packed: IO[bytes] | Any, path: Path) -> bytes:
    size, unpacked = path.stat().st_size, io.BytesIO()
    while piece := packed.read(_PIECE):
        unpacked.write(piece)
        check_unpacked(unpacked.tell(), size)
    return unpacked.getvalue()


def _unzstd(path: Path) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise ValueError("reading Zstandard needs the package zstandard; run pip install 'hopsight[zstd]'") from None
    size, unpacked = path.stat().st_size, io.BytesIO()
    tool = zstandard.ZstdDecompressor(max_window_size=2**27)
    frame = tool.decompressobj()
    try:
        with path.open("rb") as file:
            while piece := file.read(_ZSTD_PIECE):
                while piece:
                    frame = tool.decompressobj() if frame.eof else frame  # a file may hold several frames
                    unpacked.write(frame.decompress(piece))
                    check_unpacked(unpacked.tell(), size)
                    piece = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError:
        raise ValueError("it is damaged, or its format is not what its name says") from None
    if not frame.eof:  # the streaming reader of the package would not notice
        raise ValueError("it is truncated")
    return unpacked.getvalue()


def _unzip(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)
        members = [
            member
            for member in archive.infolist()
            if not member.is_dir() and not member.filename.startswith("__MACOSX")
        ]
        if len(members) != 1:
            raise ValueError(f"it holds {len(members)} files instead of one; unpack it, or zip the table alone")
        if members[0].flag_bits & 1:
            raise ValueError("it is protected by a password; unpack it first")
        try:
            with archive.open(members[0]) as packed:
                return _read(packed, path)
        except NotImplementedError:
            raise ValueError("it uses a compression that Python cannot read; unpack it first") from None
