"""Entries of the catalog: pinned addresses, checksums, file names."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hopsight.datasets.published import NETWORKS


def test_addresses_are_pinned_and_every_file_name_is_used_once() -> None:
    for network in NETWORKS:
        assert len(network.commit) == 40
        assert network.address().startswith("https://raw.githubusercontent.com/")
        assert len(network.sha256 or network.git_blob) == (64 if network.sha256 else 40)
    assert len({network.file_name.lower() for network in NETWORKS}) == len(NETWORKS) == 14


def test_names_and_aliases_are_used_once() -> None:
    words = [word for network in NETWORKS for word in (network.name, *network.aliases)]
    assert len(set(words)) == len(words)
    assert all(word == word.lower() for word in words)


def test_the_address_of_a_file() -> None:
    disney = next(network for network in NETWORKS if network.name == "disney")
    assert disney.address("http://mirror/") == (
        "http://mirror/kaize0409/GCN_AnomalyDetection/04ebcf093ad7ecc28cd148c2ebea11e12f53a37c/gae/data/Disney.mat"
    )


def test_the_real_files_carry_the_published_checksums(data_dir: Path) -> None:
    at_hand = [network for network in NETWORKS if network.sha256]
    assert [network.checksum_of(data_dir / network.file_name) for network in at_hand] == [
        network.checksum for network in at_hand
    ]


def test_the_git_checksum_is_what_git_says(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed, and it is what the checksum is compared with")
    file = tmp_path / "file"
    file.write_bytes(b"some\0content\n" * 1000)
    by_git = subprocess.run([git, "hash-object", str(file)], capture_output=True, text=True, check=True).stdout.strip()
    assert replace(NETWORKS[0], sha256="", git_blob="x").checksum_of(file) == f"git:{by_git}"
