"""Independent tasks: the same results in the same order on any engine, whoever dies."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import EquipoiseError, InvalidParameterError
from equipoise.parallel.tasks import WorkerLostError, run_tasks
from parallel import tiny

SQUARES = [number * number for number in range(12)]


class Backwards(Executor):
    """Carries out what it was given, the last first, once it has `batch` calls or is idle."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.calls: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.calls.append((future, lambda: fn(*args, **kwargs)))
        if len(self.calls) == self.batch:
            self.flush()
        return future

    def flush(self) -> None:
        for future, call in reversed(self.calls):
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except Exception as error:  # noqa: BLE001 - as executors do
                future.set_exception(error)
        self.calls = []


class Lossy(Executor):
    """Loses the workers of every call."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(WorkerLostError("lost its worker 4 times: they were switched off"))
        return future


@pytest.mark.parametrize("batch", [1, 3, 4, 12])
def test_results_are_in_order_when_an_executor_finishes_backwards(batch: int) -> None:
    found = run_tasks(tiny.square, None, range(12), executor=Backwards(batch), under_way=12)
    assert list(found) == SQUARES


def test_threads_and_this_process_give_the_same() -> None:
    with ThreadPoolExecutor(3) as threads:
        assert list(run_tasks(tiny.slower_first, None, range(12), executor=threads)) == SQUARES
        # The executor is the caller's and stays open.
        assert threads.submit(tiny.square, None, 3).result() == 9
    assert list(run_tasks(tiny.square, None, range(12), workers=1)) == SQUARES
    assert list(run_tasks(tiny.square, None, [], workers=1)) == []


@pytest.mark.parametrize("engine", ["here", "threads"])
def test_a_task_is_taken_when_a_result_so_much_earlier_was_consumed(engine: str) -> None:
    """So tasks may depend on results, and a million of them need no memory."""
    events: list[str] = []

    def tasks() -> Iterator[int]:
        for number in range(7):
            events.append(f"take {number}")
            yield number

    with ThreadPoolExecutor(2) as threads:
        executor = threads if engine == "threads" else None
        for result in run_tasks(
            tiny.square, None, tasks(), executor=executor, workers=1, under_way=3
        ):
            events.append(f"use {int(result**0.5)}")
    expected = ["take 0", "take 1", "take 2"]
    for number in range(7):
        expected.append(f"use {number}")
        if number + 3 < 7:
            expected.append(f"take {number + 3}")
    assert events == expected


@pytest.mark.parametrize("engine", ["here", "threads"])
def test_an_error_names_its_task_and_cancels_the_rest(engine: str) -> None:
    begun: list[int] = []
    gate = threading.Event()

    def work(_: object, number: int) -> int:
        begun.append(number)
        if number != 3 and engine == "threads" and number > 3:
            gate.wait(10)
        return tiny.refuse(None, number)

    with ThreadPoolExecutor(1) as threads:
        executor = threads if engine == "threads" else None
        found = run_tasks(
            work, None, range(1000), executor=executor, workers=1, names=lambda n: f"#{n}"
        )
        with pytest.raises(ValueError, match="3 is refused") as raised:
            list(found)
        gate.set()
    assert raised.value.__notes__ == ["in #3"]
    assert len(begun) < 10


def test_an_error_does_not_wait_for_earlier_tasks() -> None:
    gate = threading.Event()

    def work(_: object, number: int) -> int:
        if number == 0:
            gate.wait(10)
        return tiny.refuse(None, number)

    with ThreadPoolExecutor(5) as threads:
        with pytest.raises(ValueError, match="refused"):
            next(run_tasks(work, None, range(5), executor=threads))
        gate.set()


def test_deadly_tasks_may_have_results_so_that_others_go_on() -> None:
    def given_up(number: int, error: EquipoiseError) -> int:
        assert str(error) == f"pool {number} {lost}"
        return -number

    lost = "was given up after it lost its worker 4 times: they were switched off"
    options: dict[str, Any] = {"executor": Lossy(), "names": "pool {}".format}
    found = run_tasks(tiny.square, None, range(12), given_up=given_up, **options)
    assert list(found) == [-number for number in range(12)]
    with pytest.raises(EquipoiseError, match=f"pool 0 {lost}"):
        list(run_tasks(tiny.square, None, range(12), **options))


class Failing(Executor):
    """Raises an error at once, has a future with an error, or cancels the future."""

    def __init__(self, how: str) -> None:
        self.how = how

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.how == "raises":
            raise BrokenExecutor("gone")
        future: Future[Any] = Future()
        if self.how == "cancels":
            future.cancel()
        else:
            future.set_exception(BrokenExecutor("gone"))
        return future


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "broke while task 1 was under way"),
        ("breaks", "broke while task 1 was under way"),
        ("cancels", "the executor cancelled task 1"),
    ],
)
def test_an_executor_that_breaks_is_named_with_the_task(how: str, message: str) -> None:
    with pytest.raises(EquipoiseError, match=message):
        list(run_tasks(tiny.square, None, range(3), executor=Failing(how)))


def test_prepare_comes_first_and_progress_counts() -> None:
    events: list[object] = []

    def work(shared: str, number: int) -> int:
        events.append(number)
        return number

    for executor in (None, Backwards(1)):
        events.clear()
        found = run_tasks(
            work,
            "shared",
            range(2),
            executor=executor,
            workers=1,
            prepare=lambda shared: events.append(f"prepared with {shared}"),
            finished=lambda count: events.append(f"{count} done"),
        )
        assert list(found) == [0, 1]
        assert events[0] == "prepared with shared"
        assert [one for one in events if isinstance(one, str)] == [
            "prepared with shared",
            "1 done",
            "2 done",
        ]


def test_an_executor_may_send_the_shared_value_and_prepare_its_machines_itself() -> None:
    class Machines(Backwards):
        def send(self, value: int) -> int:
            return 2 * value

        def prepare(self, function: Callable[[int], object], value: int) -> None:
            for _ in range(2):
                function(value)

    prepared: list[int] = []
    run = run_tasks(tiny.adds, 50, range(3), executor=Machines(1), prepare=prepared.append)
    assert list(run) == [100, 101, 102]
    assert prepared == [100, 100]


@pytest.mark.parametrize("name", ["workers", "under_way"])
def test_numbers_are_positive(name: str) -> None:
    with pytest.raises(InvalidParameterError, match=name):
        run_tasks(operator.add, 1, [1], **{name: 0})  # type: ignore[arg-type]


def test_work_is_repeated_in_processes_until_all_is_done(tmp_path: Path) -> None:
    """Two tasks kill their worker once; nothing else is repeated, and the result is the same."""
    dies = tiny.DiesOnce(tmp_path, (2, 7))
    assert list(run_tasks(dies, None, range(12), workers=2)) == SQUARES
    assert sorted(file.name for file in tmp_path.iterdir()) == ["2", "7"]
