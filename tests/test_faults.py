"""Killed at a bad moment, out of disk space, two at once: nothing half-written is ever taken for a result."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopsight.report.reuse import reopen

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
    detect = ["detect", "--out", str(folder), "--quiet", *options]
    usual = finish(*detect)
    whole = {path.name for path in folder.iterdir()}
    moments = random.Random(0)
    for attempt in range(times):
        kill_during(detect, moments.uniform(0.2, 1.0) * usual)
        try:
            reopen(folder)
        except ValueError as refusal:
            assert "no finished run" in str(refusal), f"attempt {attempt}"
        else:
            assert whole <= {path.name for path in folder.iterdir()}
    finish(*detect)
    assert {path.name for path in folder.iterdir()} == whole


def test_a_killed_detection_is_no_result_and_the_next_one_succeeds(tmp_path: Path) -> None:
    check_killed_detect(tmp_path / "out", 2, "--detector", "lof")


@pytest.mark.slow
def test_detection_killed_at_twenty_moments(tmp_path: Path) -> None:
    check_killed_detect(tmp_path / "out", 20, *HCM)


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


def test_a_killed_injection_leaves_no_half_network(tmp_path: Path) -> None:
    check_killed_inject(tmp_path, 2)


@pytest.mark.slow
def test_injection_killed_at_twenty_moments(tmp_path: Path) -> None:
    check_killed_inject(tmp_path, 20)


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
