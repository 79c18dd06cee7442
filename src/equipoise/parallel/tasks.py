"""Independent tasks on any engine: results in the order of the tasks, whoever finishes first.

An engine is any `concurrent.futures.Executor`: our own processes, threads, that of a
Dask client. Results do not depend on it.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from equipoise.errors import EquipoiseError, require
from equipoise.numeric.workers import available_cores
from equipoise.parallel.processes import ProcessPool, WorkerLostError
from equipoise.wording import printable

#: Tasks taken before the result of the first is consumed, for each of our own workers.
_AHEAD = 32
#: The same in all, for an executor of which it is not known how many workers it has.
_AHEAD_ELSEWHERE = 256

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_tasks(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    names: Callable[[Task], str] | None = None,
    attempts: int = 3,
    under_way: int | None = None,
    seconds: float | None = None,
    prepare: Callable[[], object] | None = None,
    finished: Callable[[int], object] | None = None,
    given_up: Callable[[Task, EquipoiseError], Result] | None = None,
) -> Iterator[Result]:
    """Yield function(task) for every task, in the order of the tasks.

    function, tasks : picklable where the work leaves this process. A function is sent once to each
        worker of our own processes, with all that it holds
    executor : carries out the work and stays open; None for processes of our own
    workers : how many processes of our own, by default one for each core; with 1 the work is done
        in this process
    names : name of a task, for errors
    attempts : how often a task is given to a worker that dies of it or hangs
    under_way : tasks whose result has not been consumed. Task n is taken from `tasks` when result
        n - under_way has been consumed, no earlier and no later, so tasks may depend on results
    seconds : a worker of our own that needs longer for a task is killed. Another executor
        is given up when none of its tasks ends for so long
    prepare : is called before any work, once on this machine: it compiles kernels. An executor with
        a method `prepare` is asked to call it on all of its machines
    finished : is called with the number of results that are there, consumed or not
    given_up : returns the result of a task that lost its worker `attempts` times, and the others go
        on; None raises the error

    An error of the function is raised as soon as it is known, with the name of its task as a note;
    tasks that have not begun are cancelled.
    Raises : EquipoiseError   a task lost its worker `attempts` times, or the executor broke
    """
    require(attempts >= 1, "attempts", "at least 1", attempts)
    require(seconds is None or seconds > 0, "seconds", "positive", seconds)
    require(under_way is None or under_way >= 1, "under_way", "at least 1", under_way)
    require(workers is None or workers >= 1, "workers", "at least 1", workers)
    naming = _Naming(names)
    if executor is not None:
        ahead = under_way or _ahead_of(executor)
        elsewhere = _Run(function, executor, naming, attempts, seconds, finished, given_up)
        return elsewhere.results(tasks, ahead, prepare)
    count = available_cores() if workers is None else workers
    ahead = under_way or _AHEAD * count
    if count == 1:
        return _here(function, tasks, naming, ahead, prepare, finished)
    return _embedded(
        function,
        tasks,
        min(count, ahead),
        naming,
        attempts,
        ahead,
        seconds,
        prepare,
        finished,
        given_up,
    )


@dataclass(frozen=True, slots=True)
class _Naming(Generic[Task]):
    """Names of tasks."""

    names: Callable[[Task], str] | None

    def of(self, number: int, task: Task) -> str:
        return f"task {number + 1:,}" if self.names is None else printable(self.names(task))


def _ahead_of(executor: Executor) -> int:
    workers = getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)
    return _AHEAD * workers if isinstance(workers, int) else _AHEAD_ELSEWHERE


def _here(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    naming: _Naming[Task],
    ahead: int,
    prepare: Callable[[], object] | None,
    finished: Callable[[int], object] | None,
) -> Iterator[Result]:
    """Yield the results of tasks carried out in this process."""
    if prepare is not None:
        prepare()
    waiting: deque[tuple[int, Task]] = deque()
    coming = enumerate(tasks)
    while True:
        waiting.extend(islice(coming, ahead - len(waiting)))
        if not waiting:
            return
        number, task = waiting.popleft()
        try:
            result = function(task)
        except Exception as error:
            error.add_note(f"in {naming.of(number, task)}")
            raise
        if finished is not None:
            finished(number + 1)
        yield result


def _embedded(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    workers: int,
    naming: _Naming[Task],
    attempts: int,
    ahead: int,
    seconds: float | None,
    prepare: Callable[[], object] | None,
    finished: Callable[[int], object] | None,
    given_up: Callable[[Task, EquipoiseError], Result] | None,
) -> Iterator[Result]:
    """Yield the results of tasks carried out by processes of this machine."""
    if prepare is not None:
        prepare()
    with ProcessPool(workers, seconds=seconds) as pool:
        # The pool itself limits the time of a task.
        run = _Run(function, pool, naming, attempts, None, finished, given_up)
        yield from run.results(tasks, ahead, None)


class _UnderWay(Generic[Task, Result]):
    """A task that was handed to an executor.

    losses : number of workers lost
    """

    def __init__(self, number: int, task: Task) -> None:
        self.number = number
        self.task = task
        self.losses = 0
        self.future: Future[Result] | None = None
        self.is_done = False
        self.result: Result


class _Run(Generic[Task, Result]):
    """Tasks on an executor: handed out, repeated and collected, by one thread."""

    def __init__(
        self,
        function: Callable[[Task], Result],
        executor: Executor,
        naming: _Naming[Task],
        attempts: int,
        seconds: float | None,
        finished: Callable[[int], object] | None,
        given_up: Callable[[Task, EquipoiseError], Result] | None = None,
    ) -> None:
        self._function = function
        self._executor = executor
        self._naming = naming
        self._attempts = attempts
        self._seconds = seconds
        self._finished = finished
        self._given_up = given_up
        self._count = 0
        self._ended: queue.SimpleQueue[_UnderWay[Task, Result]] = queue.SimpleQueue()

    def results(
        self, tasks: Iterable[Task], ahead: int, prepare: Callable[[], object] | None
    ) -> Iterator[Result]:
        """Yield the results in order; at most `ahead` tasks are handed out and not consumed."""
        if prepare is not None:
            self._prepare(prepare)
        waiting: deque[_UnderWay[Task, Result]] = deque()
        coming = enumerate(tasks)
        try:
            while True:
                for number, task in islice(coming, ahead - len(waiting)):
                    one: _UnderWay[Task, Result] = _UnderWay(number, task)
                    waiting.append(one)
                    self._hand_out(one)
                if not waiting:
                    return
                while not waiting[0].is_done:
                    self._settle(self._next_ended(waiting))
                yield waiting.popleft().result
        finally:
            for one in waiting:
                if one.future is not None:
                    one.future.cancel()

    def _prepare(self, prepare: Callable[[], object]) -> None:
        """Let an engine prepare its machines, or one of its workers if it cannot do more."""
        everywhere: Any = getattr(self._executor, "prepare", None)
        if everywhere is None:
            self._executor.submit(prepare).result()
        else:
            everywhere(prepare)

    def _hand_out(self, one: _UnderWay[Task, Result]) -> None:
        try:
            future = self._executor.submit(self._function, one.task)
        except BrokenExecutor as error:
            raise self._broken(one) from error
        one.future = future
        future.add_done_callback(lambda _: self._ended.put(one))

    def _next_ended(self, waiting: Iterable[_UnderWay[Task, Result]]) -> _UnderWay[Task, Result]:
        """Wait for a task to end. Raises : EquipoiseError if none does in time."""
        try:
            return self._ended.get(timeout=self._seconds)
        except queue.Empty:
            first = next(one for one in waiting if not one.is_done)
            raise EquipoiseError(
                f"no task ended within {self._seconds:g} seconds; the first under way is "
                f"{self._name(first)}"
            ) from None

    def _settle(self, one: _UnderWay[Task, Result]) -> None:
        """Keep the result of a task that ended, hand it out again, or raise its error."""
        if one.future is None:
            raise RuntimeError("a task that was not handed out cannot end")
        try:
            error = one.future.exception()
        except CancelledError as cancelled:
            raise EquipoiseError(f"the executor cancelled {self._name(one)}") from cancelled
        if isinstance(error, WorkerLostError):
            one.losses += error.losses
            if one.losses < self._attempts:
                self._hand_out(one)
                return
            lost = EquipoiseError(
                f"{self._name(one)} was given up after it lost its worker {one.losses} "
                f"time{'' if one.losses == 1 else 's'}: {error}"
            )
            if self._given_up is None:
                raise lost from error
            self._keep(one, self._given_up(one.task, lost))
        elif isinstance(error, BrokenExecutor):
            raise self._broken(one) from error
        elif error is not None:
            error.add_note(f"in {self._name(one)}")
            raise error
        else:
            self._keep(one, one.future.result())

    def _keep(self, one: _UnderWay[Task, Result], result: Result) -> None:
        """Keep the result of a task."""
        one.result = result
        one.is_done, one.future = True, None
        self._count += 1
        if self._finished is not None:
            self._finished(self._count)

    def _name(self, one: _UnderWay[Task, Result]) -> str:
        return self._naming.of(one.number, one.task)

    def _broken(self, one: _UnderWay[Task, Result]) -> EquipoiseError:
        return EquipoiseError(
            f"the executor broke while {self._name(one)} was under way; it cannot replace a worker "
            "that ended"
        )
