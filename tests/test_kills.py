"""Killed at a bad moment: nothing half-written is taken for a result, and the next run succeeds."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.runs.finished import open_run
from processes import HCM, finish, kill_during, killed, start

CONTENT = bytes(range(256)) * 2000
TIMES = pytest.mark.parametrize("times", [2, pytest.param(20, marks=pytest.mark.attack)])


def check_killed_detect(folder: Path, times: int, *options: str) -> None:
    detect = ["detect", "--out", str(folder), "--quiet", "--restart", *options]
    usual = finish(*detect)
    whole = {path.name for path in folder.iterdir()}
    for attempt in killed(detect, usual, times):
        try:
            open_run(folder)
        except ValueError as refusal:
            assert "no finished run" in str(refusal), f"attempt {attempt}"
        else:
            assert whole <= {path.name for path in folder.iterdir()}
    finish(*detect)
    assert {path.name for path in folder.iterdir()} == whole


def test_a_killed_detection_leaves_no_result_and_the_next_one_succeeds(
    tmp_path: Path, two_cliques: AttributedGraph
) -> None:
    write(two_cliques, tmp_path / "graph.npz")
    check_killed_detect(tmp_path / "out", 2, str(tmp_path / "graph.npz"), "--detector", "lof")


@pytest.mark.attack
def test_detection_killed_at_twenty_moments(tmp_path: Path) -> None:
    check_killed_detect(tmp_path / "out", 20, *HCM)


def test_a_stopped_conversion_leaves_nothing_behind(tmp_path: Path) -> None:
    """Whoever stops a command by SIGTERM, as systems do when they shut down, finds no temporary file."""
    source = tmp_path / "edges.csv"
    source.write_text("source,target\n" + "".join(f"{i},{(i * i * 7 + 1) % 20_011}\n" for i in range(60_000)))
    process = start("convert", str(source), str(tmp_path / "graph.graphml"))
    while not list(tmp_path.glob(".*.part")):
        assert process.poll() is None, "ended before it was stopped"
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143 and error.splitlines()[-1] == "hopsight: stopped"
    assert list(tmp_path.iterdir()) == [source]


@TIMES
def test_a_killed_injection_leaves_no_partial_graph(times: int, tmp_path: Path) -> None:
    from hopsight.datasets import make_demo
    from hopsight.io.npz import read_npz, write_npz

    write_npz(make_demo(), tmp_path / "demo.npz")
    target = tmp_path / "planted.npz"
    inject = ["inject", str(tmp_path / "demo.npz"), str(target), "--cliques", "2"]
    usual = finish(*inject)
    target.unlink()
    for _ in killed(inject, usual, times, earliest=0.3):
        if target.exists():
            read_npz(target)
            target.unlink()
    finish(*inject)
    read_npz(target)


class Trickle(BaseHTTPRequestHandler):
    """Serves one file slowly, so that a download can be killed in its middle."""

    def do_GET(self) -> None:
        """Send twenty parts with a pause after each."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        try:
            for start in range(0, len(CONTENT), len(CONTENT) // 20):
                self.wfile.write(CONTENT[start : start + len(CONTENT) // 20])
                time.sleep(0.02)
        except OSError:
            pass  # the other end was killed, as intended

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@TIMES
def test_a_killed_download_leaves_no_partial_file(times: int, tmp_path: Path) -> None:
    checksum = hashlib.sha256(CONTENT).hexdigest()
    program = (
        "import sys\n"
        "from hopsight.datasets.catalog import Entry, Size, fetch\n"
        "toy = Entry(name='toy', kind='organic', size=Size(2, 1, 1, 0), repository='a/b', commit='c', path='toy.mat',"
        f" sha256='{checksum}', citation='nobody')\n"
        "fetch(toy, base_url=sys.argv[1], cache_dir=sys.argv[2])"
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Trickle) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        arguments = [sys.executable, "-c", program, f"http://127.0.0.1:{server.server_port}", str(tmp_path)]
        begin = time.perf_counter()
        subprocess.run(arguments, check=True)
        usual = time.perf_counter() - begin
        moments = random.Random(0)
        for _ in range(times):
            (tmp_path / "toy.mat").unlink(missing_ok=True)
            process = subprocess.Popen(arguments)
            time.sleep(moments.uniform(0.3, 1.05) * usual)
            process.kill()
            process.wait()
            assert not (tmp_path / "toy.mat").exists() or (tmp_path / "toy.mat").read_bytes() == CONTENT
        subprocess.run(arguments, check=True)
        server.shutdown()
    assert (tmp_path / "toy.mat").read_bytes() == CONTENT


@pytest.mark.attack
def test_benchmark_killed_at_twenty_moments(tmp_path: Path) -> None:
    choice = ["--graphs", "generated", "--detectors", "lof", "--repetitions", "2", "--quiet"]
    usual = finish("bench", "--suite", "quick", "--out", str(tmp_path / "whole"), *choice)
    moments = random.Random(0)
    for _ in range(20):  # each resumes where the one before was killed
        kill_during(["bench", "--suite", "quick", "--out", str(tmp_path / "out"), *choice], moments.uniform(0, usual))
    finish("bench", "--suite", "quick", "--out", str(tmp_path / "out"), *choice)
    tables = [(tmp_path / name / "results.csv").read_text().splitlines() for name in ("whole", "out")]
    assert len(tables[0]) == len(tables[1]) > 5


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder except for records, which have the time in them, and what depends on them."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if path.name not in ("run.json", "report.html", "report-redacted.html") and not path.name.endswith(".part")
    }


COMMANDS = {
    "score": ["score", "run/model", "demo.npz", "--out", "out", "--quiet"],
    "rerun": ["rerun", "run/run.json", "--out", "out", "--quiet"],
    "redact": ["detect", "demo.npz", "--detector", "lof", "--out", "out", "--redact", "--quiet"],
    "convert to a table": ["convert", "demo.npz", "out/demo.csv", "--force"],
    "convert to GraphML": ["convert", "demo.npz", "out/demo.graphml", "--force"],
    "explain": ["explain", "run", "A10012", "--json"],
    "compare": ["compare", "run", "run", "--json"],
    "describe": ["describe", "demo.npz"],
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph and a finished run."""
    from hopsight.datasets import make_demo

    folder = tmp_path_factory.mktemp("kills")
    write(make_demo(), folder / "demo.npz")
    finish("detect", str(folder / "demo.npz"), "--out", str(folder / "run"), "--quiet", *HCM)
    return folder


@pytest.mark.attack
@pytest.mark.parametrize("name", COMMANDS)
def test_every_other_command_killed_at_twenty_moments(name: str, begun: Path, tmp_path: Path) -> None:
    """What a killed command leaves is what it would have written, or nothing; the next one writes all of it."""
    names = ("run", "run/model", "run/run.json", "demo.npz")
    places = {each: str(begun / each) for each in names}
    places |= {word: str(tmp_path / word) for word in ("out", "out/demo.csv", "out/demo.graphml")}
    command = [places.get(word, word) for word in COMMANDS[name]]
    out, inputs = tmp_path / "out", contents(begun)
    if name.startswith("convert"):
        out.mkdir()
    usual = finish(*command)
    whole = contents(tmp_path)
    for attempt in killed(command, usual, 20):
        left = {path: content for path, content in contents(tmp_path).items() if ".hopsight-" not in path}
        assert left.items() <= whole.items(), f"attempt {attempt}"
        assert contents(begun) == inputs, f"attempt {attempt}"
        if attempt % 2:
            shutil.rmtree(out, ignore_errors=True)
            if name.startswith("convert"):
                out.mkdir()
    for path in tmp_path.rglob("*.part"):
        os.utime(path, (0, 0))  # as if it had been left a minute ago
    finish(*command)
    assert contents(tmp_path) == whole
    assert not list(tmp_path.rglob("*.part")) and not list(tmp_path.rglob(".hopsight-*"))
