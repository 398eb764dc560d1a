"""Files appear whole, are locked, and hold arrays."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopsight.system.files import (
    read_regular,
    replacing,
    try_lock,
    write_whole,
)

KILLED = """
import os, signal, sys
from pathlib import Path
from hopsight.system.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "scores.csv"
    write_whole(target, "old")
    with pytest.raises(RuntimeError, match="half way"), replacing(target) as temporary:
        temporary.write_text("ne")
        raise RuntimeError("half way")
    assert target.read_text() == "old"
    write_whole(target, b"new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_symbolic_link_is_replaced_and_its_target_is_left_alone(tmp_path: Path) -> None:
    letter, target = tmp_path / "letter", tmp_path / "scores.csv"
    letter.write_text("mine")
    target.symlink_to(letter)
    write_whole(target, "new")
    assert letter.read_text() == "mine"
    assert target.read_text() == "new" and not target.is_symlink()


def test_a_locked_file_cannot_be_locked_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("a") as first, path.open("a") as second:
        assert try_lock(first)
        assert not try_lock(second)
    with path.open("a") as third:
        assert try_lock(third)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot tell whether a file is in use")
def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """But neither what another process is writing now, nor a file of the user."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "graph.npz")], check=False)
    (left,) = tmp_path.iterdir()
    assert left.read_text() == "half"
    (tmp_path / ".mine.part").write_text("mine")
    with replacing(tmp_path / "other.npz") as busy:
        long_ago = time.time() - 1000
        for path in (left, busy, tmp_path / ".mine.part"):
            os.utime(path, (long_ago, long_ago))
        write_whole(tmp_path / "third.npz", "whole")
        assert busy.exists() and not left.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.part", "other.npz", "third.npz"]


def test_a_full_disk_is_named_by_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError) as refused, replacing(tmp_path / "scores.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert refused.value.filename == str(tmp_path / "scores.csv") and refused.value.errno == errno.ENOSPC
    with pytest.raises(FileNotFoundError) as refused:
        write_whole(tmp_path / "missing" / "scores.csv", "")
    assert refused.value.filename == str(tmp_path / "missing" / "scores.csv")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Neither does a pipe block nor a device fill the memory."""
    (tmp_path / "file").write_bytes(b"content")
    assert read_regular(tmp_path / "file") == b"content"
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ValueError, match="is not a file but a folder, pipe or device"):
            read_regular(path)
