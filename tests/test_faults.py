"""Killed at a bad moment, out of disk space, two runs at once: nothing half-written is taken for a result."""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hopsight.cli import main
from hopsight.graph import AttributedGraph
from hopsight.runs.explain import open_run

CONTENT = bytes(range(256)) * 2000
COMMAND = [sys.executable, "-c", "import sys; from hopsight.cli import main; sys.exit(main())"]
SMALL = ("n_epochs=20", "burn_in=10", "n_units=16", "mlp_units=16", "max_pairs=2000")
HCM = ["--detector", "hcm", *(word for setting in SMALL for word in ("--set", setting))]


def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        **options,  # type: ignore[call-overload]
    )


def finish(*arguments: str) -> float:
    """Run to the end and return the seconds it took."""
    begin = time.perf_counter()
    process = start(*arguments)
    _, error = process.communicate()
    assert process.returncode == 0, error
    return time.perf_counter() - begin


def kill_during(arguments: list[str], seconds: float) -> None:
    process = start(*arguments)
    time.sleep(seconds)
    process.kill()
    process.communicate()


def check_killed_detect(folder: Path, times: int, *options: str) -> None:
    detect = ["detect", "--out", str(folder), "--quiet", "--restart", *options]
    usual = finish(*detect)
    whole = {path.name for path in folder.iterdir()}
    moments = random.Random(0)
    for attempt in range(times):
        kill_during(detect, moments.uniform(0.2, 1.0) * usual)
        try:
            open_run(folder)
        except ValueError as refusal:
            assert "no finished run" in str(refusal), f"attempt {attempt}"
        else:
            assert whole <= {path.name for path in folder.iterdir()}
    finish(*detect)
    assert {path.name for path in folder.iterdir()} == whole


def test_a_killed_detection_leaves_no_result_and_the_next_one_succeeds(tmp_path: Path) -> None:
    check_killed_detect(tmp_path / "out", 2, "--detector", "lof")


@pytest.mark.slow
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
    assert process.returncode == 130 and error.splitlines()[-1] == "hopsight: stopped"
    assert list(tmp_path.iterdir()) == [source]


def check_killed_inject(folder: Path, times: int) -> None:
    from hopsight.datasets import make_demo
    from hopsight.io.npz import read_npz, write_npz

    write_npz(make_demo(), folder / "demo.npz")
    target = folder / "planted.npz"
    inject = ["inject", str(folder / "demo.npz"), str(target), "--cliques", "2"]
    usual = finish(*inject)
    moments = random.Random(0)
    for _ in range(times):
        target.unlink(missing_ok=True)
        kill_during(inject, moments.uniform(0.3, 1.05) * usual)
        if target.exists():
            read_npz(target)
    finish(*inject)
    read_npz(target)


def test_a_killed_injection_leaves_no_partial_graph(tmp_path: Path) -> None:
    check_killed_inject(tmp_path, 2)


@pytest.mark.slow
def test_injection_killed_at_twenty_moments(tmp_path: Path) -> None:
    check_killed_inject(tmp_path, 20)


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


def check_killed_fetch(folder: Path, times: int) -> None:
    checksum = hashlib.sha256(CONTENT).hexdigest()
    program = (
        "import sys\n"
        "from hopsight.datasets.download import fetch\n"
        "from hopsight.datasets.published import Entry, Size\n"
        "toy = Entry(name='toy', kind='organic', size=Size(2, 1, 1, 0), repository='a/b', commit='c', path='toy.mat',"
        f" sha256='{checksum}', citation='nobody')\n"
        "fetch(toy, base_url=sys.argv[1], cache_dir=sys.argv[2])"
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), Trickle) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        arguments = [sys.executable, "-c", program, f"http://127.0.0.1:{server.server_port}", str(folder)]
        begin = time.perf_counter()
        subprocess.run(arguments, check=True)
        usual = time.perf_counter() - begin
        moments = random.Random(0)
        for _ in range(times):
            (folder / "toy.mat").unlink(missing_ok=True)
            process = subprocess.Popen(arguments)
            time.sleep(moments.uniform(0.3, 1.05) * usual)
            process.kill()
            process.wait()
            assert not (folder / "toy.mat").exists() or (folder / "toy.mat").read_bytes() == CONTENT
        subprocess.run(arguments, check=True)
        server.shutdown()
    assert (folder / "toy.mat").read_bytes() == CONTENT


def test_a_killed_download_leaves_no_partial_file(tmp_path: Path) -> None:
    check_killed_fetch(tmp_path, 2)


@pytest.mark.slow
def test_downloads_killed_at_twenty_moments(tmp_path: Path) -> None:
    check_killed_fetch(tmp_path, 20)


@pytest.mark.slow
def test_benchmark_killed_at_twenty_moments(tmp_path: Path) -> None:
    choice = ["--graphs", "generated", "--detectors", "lof", "--repetitions", "2", "--quiet"]
    usual = finish("bench", "--suite", "quick", "--out", str(tmp_path / "whole"), *choice)
    moments = random.Random(0)
    for _ in range(20):  # each resumes where the one before was killed
        kill_during(["bench", "--suite", "quick", "--out", str(tmp_path / "out"), *choice], moments.uniform(0, usual))
    finish("bench", "--suite", "quick", "--out", str(tmp_path / "out"), *choice)
    tables = [(tmp_path / name / "results.csv").read_text().splitlines() for name in ("whole", "out")]
    assert len(tables[0]) == len(tables[1]) > 5


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".mat", ".npz", ".graphml", ".pt"])
def test_damaged_files_through_the_command_line(
    suffix: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    two_cliques: AttributedGraph,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """25 of each of eight formats: refused in one sentence or used, within seconds, nothing written elsewhere."""
    import hopsight.io as formats

    here = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(here)

    source = tmp_path / f"network{suffix}"
    if suffix == ".pt":
        import torch

        edges = torch.tensor(two_cliques.edges.copy())
        torch.save({"x": torch.tensor(two_cliques.attributes.copy()), "edge_index": edges}, source)
    else:
        formats.write(two_cliques, source)
    files = sorted(tmp_path.iterdir())
    originals = {path: path.read_bytes() for path in files}
    rnd = random.Random(0)
    commands = (
        ["data", "info", str(source)],
        ["convert", str(source), str(tmp_path / "out.npz")],
        ["detect", str(source), "--detector", "lof", "--top", "1", "--out", str(tmp_path / "out"), "--quiet"],
    )
    for attempt in range(25):
        victim = rnd.choice(files)
        victim.write_bytes(damaged(originals[victim], rnd))
        begin, worked = time.perf_counter(), time.process_time()
        code = main(commands[attempt % 3])
        assert time.process_time() - worked < 10
        assert time.perf_counter() - begin < 60, "ten seconds on a quiet machine"
        error = capsys.readouterr().err
        assert code in (0, 2), error
        assert (code == 2) == (sum(line.startswith("hopsight: ") for line in error.splitlines()) == 1)
        victim.write_bytes(originals[victim])
        assert {path.name for path in tmp_path.iterdir()} - {path.name for path in files} <= {"out", "out.npz"}
        assert list(here.iterdir()) == []


def damaged(content: bytes, rnd: random.Random) -> bytes:
    """Cut the file off, flip some bits, or replace it with random bytes."""
    way = rnd.random()
    if way < 0.2:
        return content[: rnd.randrange(len(content))]
    if way > 0.9:
        return rnd.randbytes(rnd.randrange(1, 400))
    changed = bytearray(content)
    for _ in range(rnd.choice([1, 2, 10])):
        changed[rnd.randrange(len(changed))] ^= 1 << rnd.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "1>&- 2>&-"])
def test_closed_streams_change_no_result(tmp_path: Path, closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "detect", "--detector", "lof", "--top", "1"]
    process = subprocess.run([*command, "--out", str(tmp_path / "out")], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    open_run(tmp_path / "out")


def test_characters_that_the_terminal_cannot_encode_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\nnaïve,日本\n日本,x\n", encoding="utf-8")
    (tmp_path / "edges.nodes.csv").write_text("id,größe\nnaïve,1\n日本,2\nx,9\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}  # as on a system without locales
    command = [*COMMAND, "detect", str(tmp_path / "edges.csv"), "--detector", "lof", "--out", str(tmp_path / "out")]
    process = subprocess.run(command, capture_output=True, env=os.environ | plain)
    assert process.returncode == 0, process.stderr
    assert rb"na\xefve" in process.stdout
    assert "naïve" in (tmp_path / "out" / "scores.csv").read_text(encoding="utf-8")


def test_a_full_disk_gets_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    def small_files_only() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    process = start(
        "detect", "--detector", "lof", "--out", str(tmp_path / "out"), "--quiet", preexec_fn=small_files_only
    )
    out, error = process.communicate()
    assert process.returncode == 2, error
    assert out == ""
    assert len(error.splitlines()) == 1
    assert error.startswith("hopsight: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".graphml", ".mat", ".npz"])
def test_a_full_disk_while_a_graph_is_written(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hopsight.datasets import make_demo
    from hopsight.io import write

    monkeypatch.setattr("signal.signal", lambda *_: None)
    write(make_demo(), tmp_path / "demo.npz")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, before[1]))  # Python ignores the signal that comes with it
    try:
        code = main(["convert", str(tmp_path / "demo.npz"), str(tmp_path / f"copy{suffix}")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lines = capsys.readouterr().err.splitlines()
    assert code == 2
    assert len(lines) == 1 and lines[0].startswith("hopsight: cannot write")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.npz"]


def test_a_read_only_input_folder_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_cliques: AttributedGraph
) -> None:
    """Nothing is written next to the input, whatever its format; the listing proves it even for root."""
    import hopsight.io as formats

    monkeypatch.setattr("signal.signal", lambda *_: None)
    data = tmp_path / "data"
    data.mkdir()
    suffixes = (".csv", ".csv.gz", ".parquet", ".mat", ".npz", ".graphml")
    for suffix in suffixes:
        formats.write(two_cliques, data / f"network{suffix}")
    for path in data.iterdir():
        path.chmod(0o444)
    data.chmod(0o555)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.iterdir()}
    monkeypatch.chdir(tmp_path)
    for suffix in suffixes:
        command = ["detect", str(data / f"network{suffix}"), "--detector", "lof", "--top", "1", "--quiet"]
        assert main([*command, "--out", f"out{suffix}"]) == 0
        assert main(["rerun", f"out{suffix}/run.json", "--quiet"]) == 0
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.iterdir()} == before
    data.chmod(0o755)


def test_the_second_of_two_runs_into_one_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = start("detect", "--out", str(folder), "--detector", "hcm", "--set", "n_epochs=1000000")
    while not (folder / ".hopsight-partial").exists():
        assert first.poll() is None
        time.sleep(0.02)
    second = start("detect", "--out", str(folder), "--detector", "lof")
    _, error = second.communicate()
    assert first.poll() is None
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=10)
    assert (first.returncode, second.returncode) == (130, 2)
    assert f"another run (process {first.pid})" in error.splitlines()[-1]
    assert not (folder / "run.json").exists()


def test_ctrl_c_stops_within_ten_seconds_and_leaves_no_result(tmp_path: Path) -> None:
    process = start("detect", "--out", str(tmp_path / "out"), "--set", "n_epochs=100000")
    line = ""
    while "needs about" not in line:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line, "ended before it began to fit"
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert error.splitlines()[-1].startswith("hopsight: stopped")
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_detection_is_resumed_to_the_same_bytes(tmp_path: Path, signal_number: int) -> None:
    """A run that is stopped or killed during training ends with --resume as if nothing had happened."""
    settings = [part for text in ("n_epochs=60", "burn_in=30", "max_pairs=4000") for part in ("--set", text)]
    command = ["detect", "--detector", "cross_hcm", "--top", "1", *settings]
    finish(*command, "--out", str(tmp_path / "whole"))
    folder = tmp_path / "stopped"
    process = start(*command, "--out", str(folder))
    while not (folder / ".hopsight-checkpoint").exists():
        assert process.poll() is None, "ended before its first checkpoint"
        time.sleep(0.005)
    process.send_signal(signal_number)
    _, error = process.communicate(timeout=10)
    assert not (folder / "run.json").exists()
    if signal_number == signal.SIGINT:
        assert error.splitlines()[-1] == "hopsight: stopped; run the same command with --resume to continue"
    finish(*command, "--out", str(folder), "--resume")
    for name in ("scores.csv", "edges.csv"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (folder / ".hopsight-checkpoint").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_messages_that_cannot_be_written_do_not_change_the_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        arguments = [*COMMAND, "detect", "--detector", "lof", "--top", "1", "--out", str(tmp_path / "out")]
        done = subprocess.run(arguments, stderr=full, stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0 and "most anomalous" in done.stdout
        refused = subprocess.run(
            [*COMMAND, "detect", "missing.csv", "--out", str(tmp_path / "no")], stderr=full, check=False
        )
    assert refused.returncode == 2 and (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize(("room", "name"), [(2_000, "scores.csv"), (150_000, "graph.npz")])
def test_a_full_disk_names_the_file(tmp_path: Path, room: int, name: str) -> None:
    """A limit on the size of files stands for the full disk: the system refuses in the same place."""
    resource = pytest.importorskip("resource", reason="this system has no limits on files")
    process = start(
        "detect", "--detector", "lof", "--top", "1", "--out", str(tmp_path / "out"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )  # fmt: skip
    _, error = process.communicate()
    last = error.splitlines()[-1]
    assert process.returncode == 2 and "File too large" in last and name in last
    assert list(tmp_path.iterdir()) == []
