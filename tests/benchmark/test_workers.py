"""Worker processes: reused, and a job that misbehaves harms no other."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopsight.benchmark.workers import WorkerPool

ACT = "benchmark.acts:act"
MB = 2**20


def outcomes(jobs, **options):
    return {str(job): outcome for job, outcome in WorkerPool(function=ACT, **options).run(jobs)}


def test_a_worker_that_takes_too_much_memory_costs_only_its_job():
    found = outcomes([("allocate", 1200 * MB), ("a",)], memory_limit=900 * MB)
    assert found[f"('allocate', {1200 * MB})"].status == "memory limit"
    assert "the limit is 0.88 GiB" in found[f"('allocate', {1200 * MB})"].reason
    assert found["('a',)"].status == "ok"


def test_two_workers_work_at_once():
    begin = time.monotonic()
    found = outcomes([("sleep", 1.5), ("sleep", 1.5, "again")], n_workers=2)
    assert len({outcome.value for outcome in found.values()}) == 2
    assert all(outcome.seconds < 2.9 for outcome in found.values()), "each must have run alone in its process"
    assert time.monotonic() - begin < 60


def test_workers_end_with_a_killed_parent(tmp_path):
    mark = tmp_path / "pid"
    script = (
        "from hopsight.benchmark.workers import WorkerPool\n"
        f"if __name__ == '__main__':\n    list(WorkerPool(function={ACT!r}).run([('mark', {str(mark)!r}, 120)]))\n"
    )
    file = tmp_path / "script.py"
    file.write_text(script)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen([sys.executable, str(file)], env=environment) as process:
        _wait_for(mark.exists)
        worker = int(mark.read_text())
        process.kill()
    _wait_for(lambda: not _alive(worker))


def test_a_worker_that_cannot_start_ends_the_run_with_advice():
    with pytest.raises(RuntimeError, match="__main__"):
        list(WorkerPool(function="no.such.module:function").run([("a",)]))


def _wait_for(condition):
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit, "nothing happened within 30 s"
        time.sleep(0.05)


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or "Z" not in state.read_text().rpartition(")")[2].split()[0]
