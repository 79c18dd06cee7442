"""Independent tasks on any engine: results in the order of the tasks, whoever finishes first.

An engine is any `concurrent.futures.Executor`: processes of this machine, threads, the workers of a
cluster (`parallel/cluster.py`). Results do not depend on it. What all tasks have in common, such as
a history, is sent to each worker once.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import islice
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, TypeVar

from equipoise.errors import EquipoiseError, require
from equipoise.wording import are_options_named, options_named, printable

#: Tasks taken before the result of the first is consumed, for each worker process.
_AHEAD = 32
#: The same in all, for an executor: how many workers it has is not known.
_AHEAD_ELSEWHERE = 256
#: How often a task is given to a process that dies of it.
_ATTEMPTS = 3

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerLostError(EquipoiseError):
    """The workers of a task died of it: the task has no result."""


def run_tasks(
    function: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Iterable[Task],
    *,
    executor: Executor | None = None,
    workers: int = 1,
    names: Callable[[Task], str] | None = None,
    under_way: int | None = None,
    prepare: Callable[[Shared], object] | None = None,
    finished: Callable[[int], object] | None = None,
    given_up: Callable[[Task, EquipoiseError], Result] | None = None,
) -> Iterator[Result]:
    """Yield function(shared, task) for every task, in the order of the tasks.

    function, shared, tasks : picklable where the work leaves this process. `shared` is sent to a
        worker process, or to a cluster, once; other executors get it with each task
    executor : carries out the work and stays open; None for processes of this machine
    workers : number of processes; with 1 the work is done in this process
    names : name of a task, for errors
    under_way : tasks whose result has not been consumed. Task n is taken from `tasks` when result
        n - under_way has been consumed, no earlier and no later, so tasks may depend on results
    prepare : is called with `shared` before any work, once on each machine: it compiles kernels
    finished : is called with the number of results that are there, consumed or not
    given_up : returns the result of a task whose workers died of it, and the others go on; None
        raises the error

    An error of the function is raised as soon as it is known, with the name of its task as a note;
    tasks that have not begun are cancelled.
    Raises : EquipoiseError   the workers of a task died of it, or the executor broke
    """
    require(under_way is None or under_way >= 1, "under_way", "at least 1", under_way)
    require(workers >= 1, "workers", "at least 1", workers)
    ahead = under_way or (_AHEAD * workers if executor is None else _AHEAD_ELSEWHERE)
    engine: AbstractContextManager[Executor] = nullcontext(executor or _Here())
    if executor is None and workers > 1:
        engine = Processes(min(workers, ahead))

    def name_of(number: int, task: Task) -> str:
        return f"task {number + 1:,}" if names is None else printable(names(task))

    def result_of(future: Future[Result], number: int, task: Task) -> Result:
        """Return the result of a task that ended, or raise its error."""
        try:
            return future.result()
        except WorkerLostError as error:
            lost = EquipoiseError(f"{name_of(number, task)} was given up after it {error}")
            if given_up is None:
                raise lost from error
            return given_up(task, lost)
        except CancelledError as error:
            raise EquipoiseError(f"the executor cancelled {name_of(number, task)}") from error
        except BrokenExecutor as error:
            raise EquipoiseError(
                f"the executor broke while {name_of(number, task)} was under way; it cannot "
                "replace a worker that ended"
            ) from error
        except Exception as error:
            error.add_note(f"in {name_of(number, task)}")
            raise

    def results() -> Iterator[Result]:
        """Yield the results in order; at most `ahead` tasks are handed out and not consumed."""
        ended: queue.SimpleQueue[Future[Result]] = queue.SimpleQueue()
        pending: dict[Future[Result], tuple[int, Task]] = {}
        done: dict[int, Result] = {}
        coming = enumerate(tasks)
        count = consumed = 0
        with engine as executor:
            try:
                value = _sent(executor, shared, prepare)
                while True:
                    for number, task in islice(coming, ahead - len(pending) - len(done)):
                        future = _submitted(executor, function, value, task)
                        pending[future] = number, task
                        future.add_done_callback(ended.put)
                    if not pending and not done:
                        return
                    while consumed not in done:
                        future = ended.get()
                        number, task = pending.pop(future)
                        done[number] = result_of(future, number, task)
                        count += 1
                        if finished is not None:
                            finished(count)
                    yield done.pop(consumed)
                    consumed += 1
            finally:
                for future in pending:
                    future.cancel()

    return results()


def _sent(executor: Executor, shared: object, prepare: Callable[[Any], object] | None) -> Any:
    """Send the shared value, and prepare; return what stands for the value in calls.

    Processes and clusters have ways of their own to do so.
    """
    send: Callable[[Any], Any] = getattr(executor, "send", lambda value: value)
    everywhere = getattr(executor, "prepare", lambda *call: executor.submit(*call).result())
    value = send(shared)
    if prepare is not None:
        everywhere(prepare, value)
    return value


def _submitted(
    executor: Executor, function: Callable[..., Result], value: object, task: object
) -> Future[Result]:
    """Return the future result of a task, also if the executor is broken already."""
    try:
        return executor.submit(function, value, task)
    except BrokenExecutor as error:
        future: Future[Result] = Future()
        future.set_exception(error)
        return future


class _Here(Executor):
    """Carries out calls in this process, in order, each when its result is wanted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return _WhenWanted(partial(fn, *args, **kwargs))


class _WhenWanted(Future[Result]):
    """The result of a call that is made when the result is asked for."""

    def __init__(self, call: Callable[[], Result]) -> None:
        super().__init__()
        self._call = call

    def add_done_callback(self, fn: Callable[[Future[Result]], object]) -> None:
        fn(self)

    def result(self, timeout: float | None = None) -> Result:
        return self._call()


class Processes(Executor):
    """An executor of worker processes, of which each has one task at a time.

    Each process is a `ProcessPoolExecutor` of its own, used by one thread: of a pool of several, a
    process that dies would take all tasks with it, and nobody would know which one was the cause.
    Here it takes one, which is repeated in a new process. Processes are started anew (spawn),
    because threads of Polars and Numba do not survive a fork.
    """

    def __init__(self, workers: int) -> None:
        self._shared: object = None
        self._threads = ThreadPoolExecutor(
            workers, "equipoise-worker", initializer=_block_interrupts
        )
        #: The worker of each thread.
        self._workers: dict[int, _Worker] = {}
        self._lock = threading.Lock()
        self._killed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand a call to the next free process; function, arguments and result are picklable.

        Raises from the future : WorkerLostError
        """
        return self._threads.submit(self._carry_out, partial(fn, *args, **kwargs))

    def send(self, value: object) -> _OfWorker:
        """Send a value to every process that begins from now on; return what stands for it."""
        self._shared = value
        return _OfWorker()

    def prepare(self, function: Callable[[Any], object], _: _OfWorker) -> None:
        """Call a function with the value that is sent, in this process."""
        function(self._shared)

    def _carry_out(self, call: Callable[[], Result]) -> Result:
        """Return the result of a call, in a thread that has a process of its own."""
        reason = ""
        for _ in range(_ATTEMPTS):
            worker = self._worker_of_thread()
            try:
                return worker.pool.submit(call).result()
            except (BrokenProcessPool, BrokenPipeError) as error:
                if error.__cause__ is not None:  # raised by the call, or it cannot be loaded
                    raise
                del self._workers[threading.get_ident()]
                reason = worker.how_it_ended()
        raise WorkerLostError(f"lost its worker {_ATTEMPTS} times: {reason}")

    def _worker_of_thread(self) -> _Worker:
        own = threading.get_ident()
        if self._killed:
            raise EquipoiseError("the worker processes were ended")
        if own not in self._workers:
            worker = _Worker(self._shared)
            with self._lock:
                self._workers[own] = worker
                if self._killed:
                    worker.kill()
        return self._workers[own]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end the processes when all calls are done."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in list(self._workers.values()):
            worker.pool.shutdown(wait)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all calls; after an error or Ctrl-C kill the processes."""
        with self._lock:
            self._killed = kind is not None
            for worker in self._workers.values() if self._killed else ():
                worker.kill()
        self.shutdown(cancel_futures=True)


class _Worker:
    """A process, and the pool that drives it; it is made when the process is ready."""

    def __init__(self, shared: object) -> None:
        context = multiprocessing.get_context("spawn")
        setup = _Pickled(shared), are_options_named()
        self.pool = ProcessPoolExecutor(1, context, initializer=_begin, initargs=setup)
        self._process: BaseProcess | None = None
        # That it has ended shows with the first call.
        with suppress(BrokenProcessPool, BrokenPipeError):
            pid = self.pool.submit(os.getpid).result()
            children = [child for child in multiprocessing.active_children() if child.pid == pid]
            self._process = children[0] if children else None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def how_it_ended(self) -> str:
        """Return how the process ended, as the end of a sentence."""
        if self._process is None:
            return (
                "its process ended before it was ready, maybe because there was too little memory. "
                "A script must be importable: what it does belongs under "
                '`if __name__ == "__main__":`'
            )
        self.pool.shutdown()
        code = self._process.exitcode
        if code == -9:
            return "its process was killed, maybe because there was too little memory"
        return f"its process ended with exit code {code}"


class _Pickled:
    """A value that keeps which of its arrays may be written: kernels are compiled by it.

    The protocol with which processes are started does not keep it.
    """

    def __init__(self, value: object) -> None:
        self._value = value

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return pickle.loads, (pickle.dumps(self._value, protocol=5),)


class _Common:
    """What all tasks of a worker process have in common; set when it begins."""

    shared: Any = None
    options: Any = None


class _OfWorker:
    """Stands for the shared value in calls: where it is loaded, it is that of the process."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, str]]:
        return getattr, (_Common, "shared")


def _begin(shared: object, named: bool) -> None:
    """Begin a worker process.

    named : whether messages name options, as in the process that started this one
    """
    _Common.shared = shared
    _Common.options = options_named(named)  # kept, because its end would undo it
    _Common.options.__enter__()
    # Ctrl-C goes to all processes of a terminal; the main process decides when these end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the process that started it ends, however it does."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _block_interrupts() -> None:
    """Keep Ctrl-C from processes that this thread starts, even before they are ready."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
