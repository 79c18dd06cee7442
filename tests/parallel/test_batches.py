"""Short tasks in batches: the same results and errors as one by one."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest

from equipoise.errors import InvalidParameterError
from equipoise.parallel.batches import run_batches

pytestmark = pytest.mark.no_kernel


def square(number: int) -> int:
    if number == 13:
        raise ValueError("13 is not squared")
    return number * number


class Counting(Executor):
    """Does the work at once, and counts the calls."""

    def __init__(self, workers: int) -> None:
        self.workers, self.calls = workers, 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # as executors do
            future.set_exception(error)
        return future


@pytest.mark.parametrize("batch", [1, 3, 10, 100])
def test_results_are_those_of_single_tasks(batch: int) -> None:
    done: list[int] = []
    with ThreadPoolExecutor(2) as executor:
        found = list(
            run_batches(square, range(12), batch=batch, executor=executor, finished=done.append)
        )
    assert found == [number * number for number in range(12)]
    assert done == sorted(done)
    assert done[-1] == 12


def test_a_task_of_a_batch_is_named_in_its_error() -> None:
    with pytest.raises(ValueError, match="13 is not squared") as caught:
        list(
            run_batches(
                square, range(20), batch=10, executor=Counting(1), names=lambda n: f"number {n}"
            )
        )
    assert "in number 13" in caught.value.__notes__


@pytest.mark.parametrize(("tasks", "workers", "calls"), [(200, 2, 20), (12, 2, 12), (16, 2, 8)])
def test_batches_leave_work_for_every_worker(tasks: int, workers: int, calls: int) -> None:
    executor = Counting(workers)
    assert len(list(run_batches(abs, range(tasks), executor=executor))) == tasks
    assert executor.calls == calls


def test_nothing_to_do_and_no_size() -> None:
    assert list(run_batches(square, [])) == []
    with pytest.raises(InvalidParameterError, match="batch must be at least 1"):
        list(run_batches(square, [1], batch=0))
