"""The catalog and its downloads."""

import hashlib
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import scipy.io

from hopsight.datasets import catalog, find, get_entry, info, overview
from hopsight.datasets.catalog import ENTRIES, Entry, Size, fetch
from hopsight.graph import AttributedGraph
from hopsight.loading import load
from toys import refuses

FILES = {  # SOURCES.md, counted in the files
    "amazon": (1418, 3695, 21, 28), "enron": (13533, 176987, 18, 5), "disney": (124, 335, 28, 6),
    "blogcatalog": (5196, 171743, 8189, None), "flickr": (7575, 239738, 12047, None),
    "inj_cora": (2708, 5574, 1433, 138), "tolokers": (11758, 519000, 10, 2566),
    "amazon_fraud": (10224, 175608, 25, 693), "bitcoin_alpha": (3783, 14124, 7, 83),
    "enron_bond": (13533, 176987, 18, 5), "gen_1000": (1000, 2468, 64, 20),
}  # fmt: skip
UNLABELED = {"amazon_fraud": 2295, "bitcoin_alpha": 3569}


@pytest.fixture(autouse=True)
def no_folders_of_the_tester(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOPSIGHT_DATA", raising=False)
    monkeypatch.setattr(catalog, "cache_folder", lambda: tmp_path / "cache")


@pytest.mark.parametrize("name", FILES)
def test_local_copies_have_the_documented_size(name: str, data_dir: Path) -> None:
    graph = load(name, data_dir=data_dir)
    anomalies = None if graph.labels is None else int((graph.labels == 1).sum())
    assert (graph.n_nodes, graph.n_edges, graph.n_attributes, anomalies) == FILES[name]
    assert graph.labels is None or int((graph.labels == -1).sum()) == UNLABELED.get(name, 0)
    assert get_entry(name).size == Size(*FILES[name][:3], FILES[name][3] or 0)


def test_statistics_by_hand() -> None:
    own = AttributedGraph.from_edges([0, 1], [1, 2], np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 3.0]]), name="reddit")
    record = info(own)
    assert "citation" not in record  # not mistaken for the published graph of that name
    assert record["nonzero_share"] == pytest.approx(2 / 6)
    assert (record["degree_min"], record["degree_median"], record["degree_max"]) == (1, 1.0, 2)


def test_every_graph_of_the_sources_is_listed_with_what_a_reader_needs(data_dir: Path) -> None:
    records = {record["name"]: record for record in overview(data_dir)}
    at_hand = {name for name, record in records.items() if record["present"]}
    assert at_hand == set(FILES)
    assert set(records) - at_hand == {
        "acm", "acm_dominant", "blogcatalog_dominant", "flickr_dominant", "weibo", "reddit", "inj_amazon", "inj_flickr",
    }  # fmt: skip
    assert {record["kind"] for record in records.values()} == {"organic", "to inject", "injected"}
    for record in records.values():
        assert record["citation"] and record["source"].startswith("https://")
        assert (record["path"] is None) is not record["present"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("BlogCatalog", "blogcatalog"), ("books", "amazon"), ("Inj-Cora", "inj_cora"), (" ACM_injected ", "acm_dominant")],
)
def test_names_and_aliases_ignore_case(name: str, expected: str) -> None:
    assert get_entry(name).name == expected


@pytest.mark.parametrize(("name", "message"), [
    ("blogcatalogue", r"no graph 'blogcatalogue' in the catalog \(amazon, .*did you mean blogcatalog\?$"),
    ("Disney", "no local copy of 'disney'; run `hopsight data fetch disney`"),
    ("tolokers", r"no local copy of 'tolokers'; convert https://.*npz to tolokers\.mat"),
])  # fmt: skip
def test_a_graph_that_is_unknown_or_has_no_local_copy_is_refused_with_what_to_do(name: str, message: str) -> None:
    refuses(message, find, name)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    refuses("data_dir must be a folder", find, "disney", tmp_path / "nowhere")


def test_folders_are_tried_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_dir: Path) -> None:
    named, of_environment, cache = tmp_path / "named", tmp_path / "environment", tmp_path / "cache"
    for folder in (named, of_environment, cache):
        folder.mkdir()
        shutil.copy(data_dir / "Disney.mat", folder / "Disney.mat")
    monkeypatch.setenv("HOPSIGHT_DATA", str(of_environment))
    assert find("disney", named) == named / "Disney.mat" and find("disney") == of_environment / "Disney.mat"
    assert find("disney", data_dir=cache) == cache / "Disney.mat"
    monkeypatch.delenv("HOPSIGHT_DATA")
    assert find("disney") == cache / "Disney.mat"


def test_another_file_under_the_same_name_is_used_with_a_notice(tmp_path: Path) -> None:
    content = {"Network": np.eye(3)[[1, 2, 0]], "Attributes": np.ones((3, 2)), "Label": [[0, 0, 1]]}
    scipy.io.savemat(tmp_path / "disney.MAT", content)
    notices: list[str] = []
    assert find("disney", tmp_path, notices=notices) == tmp_path / "disney.MAT"
    assert notices == [f"{tmp_path / 'disney.MAT'} is used although it is not the published file of 'disney'."]
    assert load("disney", data_dir=tmp_path, notices=notices).n_nodes == 3 and len(notices) >= 2


def test_a_converted_copy_comes_first_and_needs_no_checksum(tmp_path: Path) -> None:
    (tmp_path / "inj_cora.pt.zip").write_bytes(b"")
    (tmp_path / "inj_cora.mat").write_bytes(b"")
    notices: list[str] = []
    assert find("inj_cora", tmp_path, notices=notices).name == "inj_cora.mat" and notices == []


def test_addresses_are_pinned_and_every_file_name_is_used_once() -> None:
    for entry in ENTRIES:
        assert len(entry.commit) == 40 and entry.address().startswith("https://raw.githubusercontent.com/")
        assert len(entry.sha256) in (0, 64) and len(entry.git_blob) in (0, 40)
        assert entry.can_be_fetched or entry.file_name == f"{entry.name}.mat"
    assert len({entry.file_name.lower() for entry in ENTRIES}) == len(ENTRIES) == 19
    assert sum(entry.can_be_fetched for entry in ENTRIES) == 14


def test_the_real_files_carry_the_published_checksums(data_dir: Path) -> None:
    at_hand = [entry for entry in ENTRIES if entry.sha256]
    assert [entry.checksum_of(data_dir / entry.file_name) for entry in at_hand] == [entry.checksum for entry in at_hand]


CONTENT = bytes(range(256)) * 4000  # 1 MB: enough for several chunks
ENTRY = Entry(
    name="toy", kind="organic", size=Size(2, 1, 1, 0), repository="somebody/somewhere", commit="abc",
    path="folder/Toy.mat", sha256=hashlib.sha256(CONTENT).hexdigest(), citation="nobody",
)  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    """Serves CONTENT at the path of ENTRY."""

    requests: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        """Answer one request."""
        self.requests[self.path] += 1
        if not self.path.endswith("/somebody/somewhere/abc/folder/Toy.mat"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture
def server() -> Iterator[str]:
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
    assert first == second == tmp_path / "Toy.mat" and first.read_bytes() == CONTENT
    assert sum(_Handler.requests.values()) == 1 and _files(tmp_path) == ["Toy.mat"]


def test_a_git_blob_id_is_a_checksum_too(server: str, tmp_path: Path) -> None:
    blob = hashlib.sha1(b"blob " + str(len(CONTENT)).encode() + b"\0" + CONTENT).hexdigest()
    by_blob = replace(ENTRY, sha256="", git_blob=blob)
    assert fetch(by_blob, base_url=server, cache_dir=tmp_path).read_bytes() == CONTENT
    with pytest.raises(ValueError, match=f"the file has checksum git:{blob} instead of git:00"):
        fetch(replace(by_blob, git_blob="00", saved_as="b"), base_url=server, cache_dir=tmp_path)


def test_a_wrong_checksum_is_an_error_and_nothing_is_kept(server: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the file has checksum sha256:.* instead of sha256:ff and was discarded"):
        fetch(replace(ENTRY, sha256="ff"), base_url=server, cache_dir=tmp_path)
    assert _files(tmp_path) == []


def test_a_server_that_cannot_be_reached(server: str, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as closed:
        port = closed.server_port
    refuses("the server cannot be reached", fetch, ENTRY, base_url=f"http://127.0.0.1:{port}", cache_dir=tmp_path)
    assert _files(tmp_path) == []


def test_a_graph_without_a_checksum_is_not_fetched(server: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot fetch 'toy': it has no published checksum; convert .*Toy\.mat to"):
        fetch(replace(ENTRY, sha256=""), base_url=server, cache_dir=tmp_path)
    assert sum(_Handler.requests.values()) == 0


def test_a_name_of_the_catalog_is_enough(monkeypatch: pytest.MonkeyPatch, server: str, tmp_path: Path) -> None:
    monkeypatch.setitem(catalog._BY_ALIAS, "toy", ENTRY)
    monkeypatch.setattr(catalog, "cache_folder", lambda: tmp_path)
    monkeypatch.delenv("HOPSIGHT_DATA", raising=False)
    refuses("hopsight data fetch toy", catalog.find, "Toy")
    fetched = fetch("TOY", base_url=server)
    assert catalog.find("Toy") == fetched
    fetched.write_bytes(CONTENT[:10])  # damaged since: as good as none
    refuses("hopsight data fetch toy", catalog.find, "Toy")
