"""Threads: the cores this process may use, one BLAS thread for narrow matrices, and tasks in order."""

from __future__ import annotations

import time
from threading import Barrier, Event, current_thread

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from hopsight.system.threads import NARROW, few_threads, in_order, n_threads, torch_threads, workers


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


@pytest.fixture
def three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.system.threads.n_threads", lambda: 3)


@pytest.mark.usefixtures("three_threads")
def test_items_keep_their_order_and_the_same_threads_serve_the_next_ones() -> None:
    def slow_at_first(item: int) -> tuple[int, str]:
        time.sleep(0.05 if item == 0 else 0.0)
        return item, current_thread().name

    calls = [list(in_order(slow_at_first, range(20))) for _ in range(5)]
    assert all([item for item, _ in found] == list(range(20)) for found in calls)
    assert len({name for found in calls for _, name in found}) <= 3


@pytest.mark.usefixtures("three_threads")
def test_threads_that_wait_for_others_do_not_wait_forever() -> None:
    def outer(item: int) -> list[int]:
        return list(in_order(lambda other: 10 * item + other, range(5)))

    assert list(in_order(outer, range(6))) == [[10 * item + other for other in range(5)] for item in range(6)]


@pytest.mark.usefixtures("three_threads")
def test_nothing_runs_on_after_an_error_or_when_nobody_asks_for_more() -> None:
    running, started = Event(), []

    def fails(item: int) -> None:
        started.append(item)
        if item == 0:
            running.wait(timeout=60)
            raise ValueError("the first item")
        running.set()
        time.sleep(0.05)

    with pytest.raises(ValueError, match="the first item"):
        list(in_order(fails, range(100)))
    count = len(started)
    time.sleep(0.2)
    assert len(started) == count < 100
    some = in_order(lambda item: started.append(item), range(1000))
    next(some)
    some.close()
    count = len(started)
    time.sleep(0.1)
    assert len(started) == count
