"""Files: refused in one sentence, unpacked within bounds, written as a whole."""

import bz2
import gzip
import lzma
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from hopsight.io.sources import reading, unpacked


def test_a_panic_of_a_library_is_a_failure_and_ctrl_c_is_not(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    path.write_bytes(b"content")
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(ValueError, match="out of bounds"), reading(path):
        raise panic("index out of bounds")
    with pytest.raises(KeyboardInterrupt), reading(path):
        raise KeyboardInterrupt


CONTENT = b"source,target\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(5000))
PACKERS: dict[str, Any] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("kind", [*PACKERS, "zip"])
def test_bombs_are_refused(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.io.sources.UNPACKED_FREE", 2**20)
    path, content = tmp_path / "bomb", b"0" * 8 * 2**20
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", content)
    else:
        path.write_bytes(PACKERS[kind](content))
    with pytest.raises(ValueError, match="unpack to"):
        unpacked(path)


def test_zip_archives_of_several_or_locked_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/t.csv", CONTENT)
        archive.writestr("__MACOSX/t.csv", "x")
        archive.writestr(".DS_Store", "x")
    assert unpacked(path) == CONTENT
    locked = bytearray(path.read_bytes())
    start = locked.rfind(b"folder/t.csv") - 46  # its entry in the directory at the end
    locked[start + 8] |= 1
    path.write_bytes(locked)
    with pytest.raises(ValueError, match="protected by a password; unpack it first"):
        unpacked(path)


def test_without_zstandard_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv.zst").write_bytes(zstandard.compress(CONTENT))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with (
        pytest.raises(ValueError, match=r"needs the package zstandard; run .*\[zstd\]"),
        reading(tmp_path / "t.csv.zst"),
    ):
        unpacked(tmp_path / "t.csv.zst")
