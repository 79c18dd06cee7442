"""Short tasks in batches: on other machines the way of a task takes longer than a short task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TypeVar

from equipoise.errors import require
from equipoise.parallel.tasks import run_tasks
from equipoise.wording import printable

#: Tasks of a batch at most, if nobody says how many: what a lost worker has to do again.
_MOST = 10
#: Batches for each worker at least, so that no worker waits long for the last.
_BATCHES = 4

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_batches(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    batch: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    names: Callable[[Task], str] | None = None,
    prepare: Callable[[], object] | None = None,
    finished: Callable[[int], object] | None = None,
) -> Iterator[Result]:
    """Yield function(task) for every task, in the order of the tasks, as `run_tasks` does.

    batch : number of tasks that travel together; by default at most ten on an executor, and one on
        our own processes, where the way is short
    names : name of a task, for errors; it is made here
    """
    require(batch is None or batch >= 1, "batch", "at least 1", batch)
    size = batch or _size_for(executor, len(tasks))
    named = [
        (task, f"task {number + 1:,}" if names is None else printable(names(task)))
        for number, task in enumerate(tasks)
    ]
    batches = [named[start : start + size] for start in range(0, len(named), size)]

    def done(count: int) -> None:
        if finished is not None:
            finished(min(count * size, len(tasks)))

    for results in run_tasks(
        partial(_each, function),
        batches,
        executor=executor,
        workers=workers,
        names=_name_of,
        prepare=prepare,
        finished=done,
    ):
        yield from results


def _size_for(executor: Executor | None, tasks: int) -> int:
    if executor is None:
        return 1
    workers = getattr(executor, "workers", None)
    if not isinstance(workers, int):
        return 1
    return max(1, min(_MOST, tasks // (_BATCHES * max(1, workers))))


def _name_of(batch: Sequence[tuple[Task, str]]) -> str:
    """Return the name of a batch: that of its task, or those of the first and the last."""
    first, last = batch[0][1], batch[-1][1]
    return first if len(batch) == 1 else f"one of {len(batch)} tasks, from {first} to {last},"


def _each(function: Callable[[Task], Result], batch: Sequence[tuple[Task, str]]) -> list[Result]:
    """Carry out a batch where it has arrived."""
    results = []
    for task, name in batch:
        try:
            results.append(function(task))
        except Exception as error:
            if len(batch) > 1:
                error.add_note(f"in {name}")
            raise
    return results
