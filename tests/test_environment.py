"""Full disks, closed streams, read-only folders, damaged files and terminals without Unicode."""

import os
import random
import resource
import subprocess
import time
from pathlib import Path

import pytest

from hopsight.cli import main
from hopsight.graph import AttributedGraph
from hopsight.io import write
from hopsight.runs.finished import open_run
from processes import COMMAND


@pytest.fixture
def small(tmp_path: Path, two_cliques: AttributedGraph) -> str:
    write(two_cliques, tmp_path / "small.npz")
    return str(tmp_path / "small.npz")


@pytest.mark.parametrize("closed", ["0<&- 1>&-", "1>&- 2>&-"])
def test_closed_streams_change_no_result(tmp_path: Path, small: str, closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "detect", small, "--detector", "lof", "--top", "1"]
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


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    from hopsight.datasets import make_demo

    write(make_demo(), tmp_path / "demo.npz")
    return tmp_path / "demo.npz"


def on_full_disk(monkeypatch: pytest.MonkeyPatch, room: int, *command: object) -> int:
    """Run a command under a limit on the size of files, which the system refuses in the same place as a full disk."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # Python would cut its own files off
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))  # Python ignores the signal that comes with it
    try:
        return main([str(word) for word in command])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".graphml", ".mat", ".npz"])
def test_a_full_disk_while_a_graph_is_written(
    suffix: str, demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_full_disk(monkeypatch, 5_000, "convert", demo, demo.with_name(f"copy{suffix}")) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("hopsight: cannot write")
    assert list(demo.parent.iterdir()) == [demo]


@pytest.mark.parametrize(("room", "name"), [(2_000, "scores.csv"), (150_000, "graph.npz")])
def test_a_full_disk_names_the_file(
    demo: Path, room: int, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    detect = ("detect", demo, "--detector", "lof", "--top", "1", "--out", demo.with_name("out"))
    assert on_full_disk(monkeypatch, room, *detect) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "File too large" in last and name in last
    assert list(demo.parent.iterdir()) == [demo]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_messages_that_cannot_be_written_do_not_change_the_exit_code(tmp_path: Path, small: str) -> None:
    with Path("/dev/full").open("w") as full:
        arguments = [*COMMAND, "detect", small, "--detector", "lof", "--top", "1", "--out", str(tmp_path / "out")]
        done = subprocess.run(arguments, stderr=full, stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0 and "most anomalous" in done.stdout
        refused = subprocess.run(
            [*COMMAND, "detect", "missing.csv", "--out", str(tmp_path / "no")], stderr=full, check=False
        )
    assert refused.returncode == 2 and (tmp_path / "out" / "run.json").exists()


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
    for suffix in suffixes:  # a rerun reads its input in the same way, whatever the format
        command = ["detect", str(data / f"network{suffix}"), "--detector", "lof", "--top", "1", "--quiet"]
        assert main([*command, "--out", f"out{suffix}"]) == 0
    assert main(["rerun", "out.csv/run.json", "--quiet"]) == 0
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.iterdir()} == before
    data.chmod(0o755)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet", ".mat", ".npz", ".graphml", ".pt"])
def test_damaged_files_through_the_command_line(
    suffix: str,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    two_cliques: AttributedGraph,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """15 of each of eight formats: refused in one sentence or used, within seconds, nothing written elsewhere."""
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
        ["describe", str(source)],
        ["convert", str(source), str(tmp_path / "out.npz"), "--force"],
        ["detect", str(source), "--detector", "lof", "--top", "1", "--out", str(tmp_path / "out"), "--quiet"],
    )
    for attempt in range(15):  # make attack tries thousands
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
