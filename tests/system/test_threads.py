"""Threads: the cores this process may use, one BLAS thread for narrow matrices, and tasks in order."""

from __future__ import annotations

from threading import Barrier, current_thread

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from hopsight.system.threads import NARROW, few_threads, n_threads, torch_threads, workers


def blas_threads() -> list[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_environment_lowers_the_number_of_threads_but_never_raises_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    allowed = n_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "100000")
    assert n_threads() == allowed
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert n_threads() == allowed


def test_narrow_matrices_use_one_blas_thread_and_the_limit_is_restored() -> None:
    before = blas_threads()
    with few_threads(NARROW):
        assert set(blas_threads()) == {1}
    with few_threads(NARROW + 1):
        assert blas_threads() == before
    assert blas_threads() == before


def test_short_matrices_use_one_torch_thread_and_the_limit_is_restored() -> None:
    before = torch.get_num_threads()
    with torch_threads(100):
        assert torch.get_num_threads() == 1
    with torch_threads(10**6):
        assert torch.get_num_threads() == n_threads()
    assert torch.get_num_threads() == before


def test_workers_keep_the_order_and_have_one_torch_thread_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.system.threads.n_threads", lambda: 3)
    both = Barrier(2)

    def work(task: int) -> tuple[int, int, str]:
        both.wait(timeout=60)  # both tasks run at once
        return task, torch.get_num_threads(), current_thread().name

    with workers(2) as run:
        found = list(run(work, [7, 3]))
    assert [task for task, _, _ in found] == [7, 3] and {count for _, count, _ in found} == {1}
    assert len({name for _, _, name in found}) == 2
    with workers(1) as run:
        assert run is map
