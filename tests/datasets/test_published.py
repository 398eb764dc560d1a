"""Entries of the catalog: pinned addresses, checksums, file names."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hopsight.datasets.catalog import ENTRIES


def test_addresses_are_pinned_and_every_file_name_is_used_once() -> None:
    for entry in ENTRIES:
        assert len(entry.commit) == 40
        assert entry.address().startswith("https://raw.githubusercontent.com/")
        assert len(entry.sha256) in (0, 64)
        assert len(entry.git_blob) in (0, 40)
        assert entry.can_be_fetched or entry.file_name == f"{entry.name}.mat"
    assert len({entry.file_name.lower() for entry in ENTRIES}) == len(ENTRIES) == 19
    assert sum(entry.can_be_fetched for entry in ENTRIES) == 14


def test_names_and_aliases_are_used_once() -> None:
    words = [word for entry in ENTRIES for word in (entry.name, *entry.aliases)]
    assert len(set(words)) == len(words)
    assert all(word == word.lower() for word in words)


def test_the_address_of_a_file() -> None:
    disney = next(entry for entry in ENTRIES if entry.name == "disney")
    assert disney.address("http://mirror/") == (
        "http://mirror/kaize0409/GCN_AnomalyDetection/04ebcf093ad7ecc28cd148c2ebea11e12f53a37c/gae/data/Disney.mat"
    )


def test_the_real_files_carry_the_published_checksums(data_dir: Path) -> None:
    at_hand = [entry for entry in ENTRIES if entry.sha256]
    assert [entry.checksum_of(data_dir / entry.file_name) for entry in at_hand] == [entry.checksum for entry in at_hand]


def test_the_git_checksum_is_what_git_says(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed, and it is what the checksum is compared with")
    file = tmp_path / "file"
    file.write_bytes(b"some\0content\n" * 1000)
    by_git = subprocess.run([git, "hash-object", str(file)], capture_output=True, text=True, check=True).stdout.strip()
    assert replace(ENTRIES[0], sha256="", git_blob="x").checksum_of(file) == f"git:{by_git}"
