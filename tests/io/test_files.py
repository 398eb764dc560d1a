"""Files: one sentence for every error, no decompression bombs, complete output or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hopsight.io.sources import check_unpacked, reading, writing


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("a clear sentence"), "a clear sentence"),
        (RuntimeError("first line\nsecond line"), "first line"),
        (MemoryError(), "more memory than there is"),
        (KeyError("edges"), "damaged"),
        (EOFError(), "damaged"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), "its text is not UTF-8"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
    ],
)
def test_any_failure_becomes_one_sentence_with_the_file(tmp_path: Path, error: Exception, sentence: str) -> None:
    path = tmp_path / "graph.npz"
    path.write_bytes(b"content")
    with pytest.raises(ValueError, match=sentence) as caught, reading(path):
        raise error
    assert str(caught.value).startswith(f"cannot read {path}: ")
    assert "\n" not in str(caught.value)


def test_a_panic_of_a_library_is_a_failure_and_ctrl_c_is_not(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    path.write_bytes(b"content")
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(ValueError, match="out of bounds"), reading(path):
        raise panic("index out of bounds")
    with pytest.raises(KeyboardInterrupt), reading(path):
        raise KeyboardInterrupt


def test_anything_but_a_regular_file_with_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, words in [("absent", "no such file"), (".", "folder"), ("empty", "empty"), ("pipe", "regular file")]:
        with pytest.raises(ValueError, match=words), reading(tmp_path / name):
            raise AssertionError("it should not be read at all")


def test_plausible_sizes_pass_and_bombs_do_not() -> None:
    check_unpacked(100 * 2**20, 10)
    check_unpacked(10 * 2**30, 100 * 2**20)
    with pytest.raises(ValueError, match="sparse matrix"):
        check_unpacked(10 * 2**30, 10 * 2**20)


def test_a_file_is_replaced_only_on_success(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    path.write_text("old")
    with pytest.raises(ValueError, match=r"cannot write .*half-way"), writing(path) as temporary:
        temporary.write_text("new, but")
        raise RuntimeError("half-way")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["graph.npz"]
    with writing(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["graph.npz"]


def test_a_missing_folder_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match=r"cannot write .*No such file or directory$"),
        writing(tmp_path / "no" / "graph.npz"),
    ):
        raise AssertionError("there is nowhere to write")


def test_a_written_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with writing(tmp_path / "ours"):
        pass
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode
