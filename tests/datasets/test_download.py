"""Fetching from a real server on this machine: success, and every kind of failure."""

from __future__ import annotations

import hashlib
import multiprocessing
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from hopsight.datasets import catalog
from hopsight.datasets.catalog import Entry, Size, fetch

CONTENT = bytes(range(256)) * 4000  # 1 MB: enough for several chunks and a cut in the middle
ENTRY = Entry(
    name="toy",
    kind="organic",
    size=Size(2, 1, 1, 0),
    repository="somebody/somewhere",
    commit="abc",
    path="folder/Toy.mat",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    citation="nobody",
)


class _Handler(BaseHTTPRequestHandler):
    """Serves CONTENT at the path of ENTRY; half-way, ``/cut/…`` stops, ``/together/…`` waits for a second one."""

    requests: ClassVar[Counter[str]] = Counter()
    together: ClassVar[threading.Barrier]

    def do_GET(self) -> None:
        """Answer one request."""
        self.requests[self.path] += 1
        if not self.path.endswith("/somebody/somewhere/abc/folder/Toy.mat"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        half = len(CONTENT) // 2
        self.wfile.write(CONTENT[:half])
        if self.path.startswith("/cut/"):
            return
        if self.path.startswith("/together/"):
            self.together.wait(timeout=60)
        self.wfile.write(CONTENT[half:])

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    """Start a server and return its address."""
    _Handler.requests.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def _files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*") if file.is_file())


def test_a_file_is_downloaded_once_and_then_read_from_the_cache(server: str, tmp_path: Path) -> None:
    first = fetch(ENTRY, base_url=server, cache_dir=tmp_path)
    second = fetch(ENTRY, base_url=server, cache_dir=tmp_path)
    assert first == second == tmp_path / "Toy.mat"
    assert first.read_bytes() == CONTENT
    assert sum(_Handler.requests.values()) == 1
    assert _files(tmp_path) == ["Toy.mat"]


def test_a_git_blob_id_is_a_checksum_too(server: str, tmp_path: Path) -> None:
    blob = hashlib.sha1(b"blob " + str(len(CONTENT)).encode() + b"\0" + CONTENT).hexdigest()
    by_blob = replace(ENTRY, sha256="", git_blob=blob)
    assert fetch(by_blob, base_url=server, cache_dir=tmp_path).read_bytes() == CONTENT
    with pytest.raises(ValueError, match=f"the file has checksum git:{blob} instead of git:00"):
        fetch(replace(by_blob, git_blob="00", saved_as="b"), base_url=server, cache_dir=tmp_path)


def test_a_damaged_copy_in_the_cache_is_replaced(server: str, tmp_path: Path) -> None:
    (tmp_path / "Toy.mat").write_bytes(CONTENT[:100])
    assert fetch(ENTRY, base_url=server, cache_dir=tmp_path).read_bytes() == CONTENT


def test_a_wrong_checksum_is_an_error_and_nothing_is_kept(server: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the file has checksum sha256:.* instead of sha256:ff and was discarded"):
        fetch(replace(ENTRY, sha256="ff"), base_url=server, cache_dir=tmp_path)
    assert _files(tmp_path) == []


def test_a_lost_connection_is_an_error_and_nothing_is_kept(server: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot fetch 'toy' from .*: .*the connection was lost"):
        fetch(ENTRY, base_url=f"{server}/cut", cache_dir=tmp_path)
    assert _files(tmp_path) == []


def test_a_file_that_the_server_does_not_have(server: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the server answered 404"):
        fetch(replace(ENTRY, path="else"), base_url=server, cache_dir=tmp_path)
    assert _files(tmp_path) == []


def test_a_server_that_cannot_be_reached(server: str, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as closed:
        port = closed.server_port
    with pytest.raises(ValueError, match="the server cannot be reached"):
        fetch(ENTRY, base_url=f"http://127.0.0.1:{port}", cache_dir=tmp_path)
    assert _files(tmp_path) == []


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    silent = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)  # listens, never answers
    with silent, pytest.raises(ValueError, match=r"did not answer within 0\.2 s"):
        fetch(ENTRY, base_url=f"http://127.0.0.1:{silent.server_port}", cache_dir=tmp_path, timeout=0.2)


def test_a_graph_without_a_checksum_is_not_fetched(server: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot fetch 'toy': it has no published checksum; convert .*Toy\.mat to"):
        fetch(replace(ENTRY, sha256=""), base_url=server, cache_dir=tmp_path)
    assert sum(_Handler.requests.values()) == 0


def test_a_cache_that_cannot_be_written(server: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ValueError, match=r"cannot keep 'toy' in .*file"):
        fetch(ENTRY, base_url=server, cache_dir=tmp_path / "file" / "cache")


def _fetch_in_process(base_url: str, folder: str) -> bytes:
    return fetch(ENTRY, base_url=base_url, cache_dir=folder).read_bytes()


def test_two_processes_at_once_both_get_the_file(server: str, tmp_path: Path) -> None:
    _Handler.together = threading.Barrier(2)  # neither gets its second half before both have their first
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        contents = pool.starmap(_fetch_in_process, [(f"{server}/together", str(tmp_path))] * 2, chunksize=1)
    assert contents == [CONTENT] * 2
    assert sum(_Handler.requests.values()) == 2
    assert _files(tmp_path) == ["Toy.mat"]


def test_a_name_of_the_catalog_is_enough(monkeypatch: pytest.MonkeyPatch, server: str, tmp_path: Path) -> None:
    monkeypatch.setitem(catalog._BY_ALIAS, "toy", ENTRY)
    monkeypatch.setattr(catalog, "cache_folder", lambda: tmp_path)
    monkeypatch.delenv("HOPSIGHT_DATA", raising=False)
    with pytest.raises(ValueError, match="hopsight data fetch toy"):
        catalog.find("Toy")
    fetched = fetch("TOY", base_url=server)
    assert catalog.find("Toy") == fetched
    fetched.write_bytes(CONTENT[:10])  # damaged since: as good as none
    with pytest.raises(ValueError, match="hopsight data fetch toy"):
        catalog.find("Toy")
