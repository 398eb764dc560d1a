"""Interrupted, resumed, or two runs at once: one sentence, and the same bytes in the end."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopsight.cli import main
from hopsight.datasets import make_graph
from hopsight.io import write
from processes import python, start
from toys import set_options


def test_the_second_of_two_runs_into_one_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    folder = tmp_path / "out"
    first = start("detect", "--out", str(folder), "--detector", "hcm", "--set", "n_epochs=1000000")
    while not (folder / ".hopsight-partial").exists():
        assert first.poll() is None
        time.sleep(0.02)
    assert main(["detect", "--out", str(folder), "--detector", "lof"]) == 2
    assert first.poll() is None
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=10)
    assert first.returncode == 143
    assert f"another run (process {first.pid})" in capsys.readouterr().err.splitlines()[-1]
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
    assert process.returncode == 130 and "Traceback" not in error
    assert error.splitlines()[-1].startswith("hopsight: stopped")
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """Return a command without its folder, and the folder that it wrote when nothing stopped it."""
    folder = tmp_path_factory.mktemp("whole")
    write(make_graph(200, n_edges=800, n_attributes=6, seed=0), folder / "graph.npz")
    small = {"n_epochs": 600, "burn_in": 300, "n_units": 16, "mlp_units": 16, "n_folds": 2, "n_inner": 2}
    command = ["detect", str(folder / "graph.npz"), "--detector", "cross_hcm", "--top", "1", *set_options(small)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("signal.signal", lambda *_: None)
        assert main([*command, "--out", str(folder / "out")]) == 0
    return command, folder / "out"


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_detection_is_resumed_to_the_same_bytes(
    tmp_path: Path, signal_number: int, whole: tuple[list[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is stopped or killed during training ends with --resume as if nothing had happened."""
    command, undisturbed = whole
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
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert main([*command, "--out", str(folder), "--resume"]) == 0
    for name in ("scores.csv", "edges.csv"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes()
    assert not (folder / ".hopsight-checkpoint").exists()


IMPORTING = """
import os, runpy, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            exec(sys.argv[2])
sys.meta_path.insert(0, Interrupt())
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run in the background
"""
EXPLAIN = "from hopsight.cli import main; sys.exit(main(['explain', 'nowhere', 'a']))"
# Python makes a RuntimeError of what is raised in __set_name__
IN_A_CLASS = (
    "type('Class', (), {'attribute': type('Descriptor', (), {"
    "'__set_name__': lambda *_: os.kill(os.getpid(), signal.SIGTERM)})()})"
)


@pytest.mark.parametrize(("library", "happens", "command", "code", "said"), [
    ("numpy.dtypes", "raise KeyboardInterrupt", EXPLAIN, 130, "hopsight: stopped\n"),
    ("numpy.dtypes", IN_A_CLASS, EXPLAIN, 143, "hopsight: stopped\n"),  # it waits for the end of the import
    # before the command line is loaded, nobody can say a word
    ("typer", "os.kill(os.getpid(), signal.SIGINT)", "runpy.run_module('hopsight', run_name='__main__')", -2, ""),
])  # fmt: skip
def test_a_stop_while_libraries_are_imported_is_one_word(
    library: str, happens: str, command: str, code: int, said: str
) -> None:
    done = python(IMPORTING + command, library, happens, timeout=60)
    assert (done.returncode, done.stderr[-500:]) == (code, said)


def test_a_stop_that_a_library_turns_into_a_panic_is_one_word() -> None:
    program = (
        "import os, signal, sys, time\n"
        "from hopsight import cli\n"
        "def command():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(30)\n"
        "    except BaseException:\n"
        "        raise type('PanicException', (BaseException,), {})  # as libraries in Rust do\n"
        "cli._command = command\n"
        "sys.exit(cli.main(['detect']))"
    )
    done = python(program, timeout=60)
    assert (done.returncode, done.stderr) == (143, "hopsight: stopped\n")


def test_a_signal_that_a_library_swallows_is_repeated_without_a_word() -> None:
    program = (
        "import ctypes, os, signal, time\n"
        "from hopsight.cli.support import StopSignal, stopping\n"
        "with stopping([]):\n"
        "    try:\n"
        "        ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))()\n"
        "        time.sleep(30)\n"
        "    except StopSignal:\n"
        "        print('stopped')"
    )
    done = python(program, timeout=60)
    assert (done.stdout, done.stderr) == ("stopped\n", "")


@pytest.mark.attack
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_at_forty_moments_a_detection_says_so_in_one_line(number: int, tmp_path: Path) -> None:
    """From the moment the package is imported: before, Python itself has no other answer than a traceback."""
    moments = random.Random(0)
    for attempt in range(40):
        process = start("detect", "--out", str(tmp_path / "out"), "--quiet", "--restart", "--set", "n_epochs=100000")
        time.sleep(moments.uniform(0.3, 6.0))
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
        assert process.returncode in (128 + number, -number), error
        assert "Traceback" not in error and len(error.splitlines()) <= 1, (attempt, error)
        assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.attack
def test_twenty_memory_limits_refuse_or_finish_and_none_hangs(tmp_path: Path) -> None:
    write(make_graph(3_000, seed=0), tmp_path / "graph.npz")
    for limit in range(100, 900, 40):
        settings = ("--set", "n_epochs=5", "--set", "burn_in=2", "--memory-limit", f"{limit}MB")
        process = start("detect", str(tmp_path / "graph.npz"), "--out", str(tmp_path / "out"), "--quiet", *settings)
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0 or (process.returncode == 2 and "limit" in error), (limit, error)


def test_a_signal_that_a_library_swallows_is_repeated() -> None:
    program = (
        "import sys, time, hopsight.runs.finished as room\n"
        "def deaf(*_, **__):\n"
        "    try:\n"
        "        print('ready', flush=True); time.sleep(60)\n"
        "    except BaseException:\n"
        "        time.sleep(60)\n"
        "room.explain = deaf\n"
        "from hopsight.cli import main\n"
        "sys.exit(main(['explain', '.', 'a']))"
    )
    command, pipes = [sys.executable, "-c", program], {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = {number: subprocess.Popen(command, text=True, **pipes) for number in (signal.SIGTERM, signal.SIGINT)}
    for number, process in started.items():
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(number)
    for number, process in started.items():
        _, told = process.communicate(timeout=20)
        assert process.returncode == 128 + number and told == "hopsight: stopped\n"


def test_ctrl_c_while_the_command_line_is_made_is_one_line() -> None:
    program = (
        "import os, signal, sys, hopsight.cli as cli\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "cli.decorate = lambda command: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(cli.main(['describe', 'a.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (130, "hopsight: stopped\n")
