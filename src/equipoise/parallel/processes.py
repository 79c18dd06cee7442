"""An executor of processes that survives its workers.

Every worker process has a connection of its own and gets one task at a time. So a worker that dies
takes exactly one task with it, it is known which one, and a new process takes the worker's place.
`concurrent.futures.ProcessPoolExecutor` shares one queue between its workers: after a death all of
its tasks are lost, and any of them may have been the cause.

Processes are started anew (spawn). They end when the process that started them ends, and Ctrl-C
reaches only that process.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from equipoise.errors import EquipoiseError, require
from equipoise.numeric.workers import available_cores
from equipoise.option_names import are_options_named, options_named

#: Seconds in which a new process must be ready: it imports the main module, from a slow disk maybe.
START_SECONDS = 300.0
#: Seconds that an idle process has to end once it is told so.
_END_SECONDS = 5.0
#: New processes of one worker that may end, one after the other, before they are ready.
_STARTS = 3

P = ParamSpec("P")
T = TypeVar("T")


class WorkerLostError(EquipoiseError):
    """The worker of a task was killed, ended or hung, so the task has no result.

    An executor of another engine may set this on a future too: `run_tasks` then repeats the task,
    unless it lost enough workers.

    losses : number of workers lost, more than 1 if the engine has repeated the task itself
    """

    code = "worker-lost"

    def __init__(self, reason: str, losses: int = 1) -> None:
        super().__init__(reason)
        self.losses = losses


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """A call for a worker, as bytes; function is the same object for all calls of one function."""

    future: Future[Any]
    function: bytes
    arguments: bytes


class ProcessPool(Executor):
    """An executor of worker processes.

    A task whose worker dies ends with `WorkerLostError`; all others go on. A function is sent to a
    worker once, with everything it holds: `functools.partial(work, history)` sends the history once
    for each worker, not for each call.

    workers : number of processes, by default that of cores; each starts with its first task
    seconds : a worker that needs longer for one task is killed; None for no limit
    """

    def __init__(self, workers: int | None = None, *, seconds: float | None = None) -> None:
        workers = available_cores() if workers is None else workers
        require(workers >= 1, "workers", "at least 1", workers)
        require(seconds is None or seconds > 0, "seconds", "positive", seconds)
        self._workers = [_Worker(seconds) for _ in range(workers)]
        self._threads: list[threading.Thread] = []
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        #: The function of the last call, and its bytes.
        self._function: tuple[object, bytes] | None = None
        atexit.register(self.kill)

    @property
    def workers(self) -> int:
        """The largest number of worker processes."""
        return len(self._workers)

    def pids(self) -> list[int]:
        """Return the ids of the worker processes that run now."""
        return [one.pid for one in self._workers if one.pid is not None]

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Hand a call to the next free worker; function, arguments and result must be picklable."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor was shut down")
            future: Future[T] = Future()
            try:
                job = _Job(future, self._pickled(fn), _dumps((args, kwargs)))
            except Exception as error:
                raise EquipoiseError(
                    f"a task must be picklable to run in another process: {error}"
                ) from error
            self._jobs.put(job)
            if len(self._threads) < len(self._workers):
                worker = self._workers[len(self._threads)]
                thread = threading.Thread(
                    target=worker.work, args=(self._jobs,), name="equipoise-worker", daemon=True
                )
                self._threads.append(thread)
                thread.start()
            return future

    def _pickled(self, function: object) -> bytes:
        if self._function is None or self._function[0] is not function:
            self._function = function, _dumps(function)
        return self._function[1]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end the processes when all calls are done."""
        with self._lock:
            closed, self._closed = self._closed, True
        if cancel_futures:
            self._cancel()
        if not closed:
            for _ in self._threads:
                self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()
            atexit.unregister(self.kill)

    def kill(self) -> None:
        """End all processes now; calls that have no result are cancelled or lost."""
        for worker in self._workers:
            worker.close()
        self.shutdown(cancel_futures=True)

    def _cancel(self) -> None:
        with suppress(queue.Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job.future.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all calls; after an error or Ctrl-C end at once."""
        if kind is None:
            self.shutdown()
        else:
            self.kill()


class _Worker:
    """One place in the pool: a process at a time, driven by a thread."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        #: The function that the process has.
        self._function: bytes | None = None
        self._lock = threading.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        process = self._process
        return None if process is None else process.pid

    def close(self) -> None:
        """Kill the process, and start no other one."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.kill()

    def work(self, jobs: queue.SimpleQueue[_Job | None]) -> None:
        """Carry out calls until there is a None."""
        if hasattr(signal, "pthread_sigmask"):
            # New processes inherit this: Ctrl-C does not reach them even before they are ready.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            while (job := jobs.get()) is not None:
                if job.future.set_running_or_notify_cancel():
                    self._carry_out(job)
        finally:
            self._end()

    def _carry_out(self, job: _Job) -> None:
        """Give a call its result or its error. Nothing that happens here may end the thread."""
        try:
            done, value = self._answer(job)
        except Exception as error:  # noqa: BLE001 - it belongs to the task, and the thread goes on
            self._end(kill=True)
            job.future.set_exception(error)
            return
        if done:
            job.future.set_result(value)
        else:
            job.future.set_exception(value)

    def _answer(self, job: _Job) -> tuple[bool, Any]:
        """Return whether a call succeeded, and its result or error. Raises : WorkerLostError."""
        process, connection = self._started()
        new = job.function is not self._function
        with _Limit(process, self._seconds) as limit:
            try:
                connection.send_bytes(_dumps((job.function if new else None, job.arguments)))
                self._function = job.function
                # The connection comes first: a process may answer and end.
                wait([connection, process.sentinel])
                answer = connection.recv_bytes()
            except (EOFError, OSError) as error:
                if limit.passed:
                    reason = f"it took longer than {self._seconds:g} seconds"
                else:
                    process.join(_END_SECONDS)
                    reason = _how_it_ended(process.exitcode)
                raise WorkerLostError(reason) from error
        done, value = pickle.loads(answer)
        return done, value

    def _started(self) -> tuple[BaseProcess, Connection]:
        """Return the process, started if there is none, and the connection to it."""
        if self._process is not None and not self._process.is_alive():
            self._end()  # it ended between two tasks
        code = None
        for _ in range(_STARTS):
            if self._process is not None and self._connection is not None:
                return self._process, self._connection
            code = self._start()
        if self._process is not None and self._connection is not None:
            return self._process, self._connection
        if code is None:
            raise WorkerLostError("its process was not ready in time, or ended too early")
        if code < 0:
            raise WorkerLostError(_how_it_ended(code))
        raise EquipoiseError(
            f"worker processes do not start: of {_STARTS} in a row none was ready, and of the last "
            f"{_how_it_ended(code)}. A script must be importable: what it does belongs under "
            '`if __name__ == "__main__":`'
        )

    def _start(self) -> int | None:
        """Start a process and wait for it; return with which status it ended if it is not ready."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, are_options_named()), name="equipoise-worker"
        )
        with self._lock:
            if self._closed:
                raise WorkerLostError("the pool was shut down")
            try:
                process.start()
            except BrokenPipeError:  # killed before it had read what it is to do
                ours.close()
                theirs.close()
                return None
            self._process, self._connection, self._function = process, ours, None
        # With its other end open here, a dead process would not close the connection.
        theirs.close()
        try:
            if wait([ours, process.sentinel], START_SECONDS):
                ours.recv_bytes()
                return None
        except (EOFError, OSError):
            process.join(_END_SECONDS)
        code = process.exitcode
        self._end(kill=True)
        return code

    def _end(self, *, kill: bool = False) -> None:
        """End the process: one that is idle ends when its connection is closed."""
        with self._lock:
            process, connection = self._process, self._connection
            self._process = self._connection = self._function = None
        if connection is not None:
            connection.close()
        if process is not None:
            if not kill:
                process.join(_END_SECONDS)
            process.kill()
            process.join(_END_SECONDS)
            with suppress(ValueError):  # the kernel has not ended it yet
                process.close()


class _Limit:
    """A limit of time, after which a process is killed, whatever it or its pipe is doing.

    A worker may be stopped while it takes its arguments or sends its answer, and this process then
    waits in the middle of a message, where no wait has a limit of its own.

    seconds : None for no limit
    passed : whether the process was killed
    """

    def __init__(self, process: BaseProcess, seconds: float | None) -> None:
        self.passed = False
        self._process = process
        self._timer = None if seconds is None else threading.Timer(seconds, self._kill)

    def _kill(self) -> None:
        self.passed = True
        with suppress(ValueError):  # it has ended, and was closed, in this moment
            self._process.kill()

    def __enter__(self) -> _Limit:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _how_it_ended(code: int | None) -> str:
    """Return how a process ended, as the end of a sentence."""
    if code is None:
        return "it stopped answering"
    if code >= 0:
        return f"its process ended with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ", maybe because there was too little memory" if name == "SIGKILL" else ""
    return f"its process was ended by {name}{hint}"


def _dumps(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def _serve(connection: Connection, named: bool) -> None:
    """Carry out calls in a worker process until the connection is closed.

    named : whether messages name options, as in the process that started this one
    """
    with options_named(named):
        _carry_out(connection)


def _carry_out(connection: Connection) -> None:
    # Ctrl-C goes to all processes of a terminal; the main process decides when these end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    function: Callable[..., Any] | None = None
    with suppress(EOFError, OSError):
        connection.send_bytes(b"")
        while True:
            new, arguments = pickle.loads(connection.recv_bytes())
            try:
                if new is not None:
                    function = None  # its memory, before the new one is made
                    function = pickle.loads(new)
                    new = None
                connection.send_bytes(_call(function, arguments))
            except (EOFError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - sent to the main process
                connection.send_bytes(_failure(error))


def _call(function: Callable[..., Any] | None, arguments: bytes) -> bytes:
    """Return the result of a call, or its error, as bytes."""
    if function is None:
        raise EquipoiseError("the function of this task could not be loaded")
    args, kwargs = pickle.loads(arguments)
    try:
        value = function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - it is raised again in the main process
        if not isinstance(error, EquipoiseError):
            error.add_note(traceback.format_exc())
        return _failure(error)
    return _dumps((True, value))


def _failure(error: Exception) -> bytes:
    """Return an error as bytes that the main process can load."""
    try:
        data = _dumps((False, error))
        pickle.loads(data)
    except Exception:  # noqa: BLE001 - whatever an exception holds
        return _dumps((False, EquipoiseError(f"{type(error).__name__}: {error}")))
    return data


def _end_with_parent() -> None:
    """End this process when the process that started it ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
