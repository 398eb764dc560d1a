"""Files written as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopsight.system.files import replacing, try_lock, write_whole


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
