"""Processes that calculate, so that a calculation can be ended.

A thread cannot be ended from outside. A calculation in a thread would continue after its request
got 504 or its client left, and the service would wait for it when it stops. A process is killed,
and another one replaces it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.store.connection import Store, open_store
from equipoise.web.http.errors import OverloadedError, TimedOutError, TooLargeError
from equipoise.web.monitoring import Metrics, configure_logs
from equipoise.web.settings import ServiceSettings

P = ParamSpec("P")
T = TypeVar("T")


#: What a process sends when it is ready for its first request, and when it has got a request.
READY, BEGUN = b"ready", b"begun"

#: Problems of an input that are sent to the parent; the sentence of the error has their number.
MOST_PROBLEMS = 1_000

_GAMES = b"white,black,result\nana,bo,1-0\nbo,cy,1/2-1/2\ncy,ana,1-0\n"
_RANKINGS = b"match,player,rank\n1,a,1\n1,b,2\n2,b,1\n2,a,2\n"


class Work(NamedTuple):
    """A function with its arguments; with_store : whether its first argument is the store."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    with_store: bool


class Failed(NamedTuple):
    """An exception in parts: those of its classes that check their arguments cannot be pickled."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    fields: dict[str, Any]

    def exception(self) -> BaseException:
        """Return the exception."""
        error = self.kind.__new__(self.kind, *self.args)
        error.args = self.args
        error.__dict__.update(self.fields)
        return error


class OutOfMemory(NamedTuple):
    """The answer of a process that needed more memory than it may have."""


def calculate(
    requests: Connection, lifeline: Connection, database: str, memory_bytes: int, level: str
) -> None:
    """Answer requests until the connection is closed.

    lifeline : is closed when the parent ends, however that happens
    memory_bytes : memory that the process may use beyond what it uses at its start
    """
    # The parent decides when a process ends. A signal to all processes of the service must not end
    # calculations that may be finished.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    configure_logs(level)
    _prepare(database)
    _limit_memory(memory_bytes)
    with suppress(EOFError, OSError):
        requests.send_bytes(READY)
        while True:
            request = requests.recv_bytes()
            requests.send_bytes(BEGUN)
            requests.send_bytes(_answer_to(request, database))


def _answer_to(request: bytes, database: str) -> bytes:
    """Return the result of a function, or its exception, as bytes."""
    try:
        work: Work = pickle.loads(request)
        args = (_store(database), *work.args) if work.with_store else work.args
        return pickle.dumps(work.function(*args, **work.kwargs), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return pickle.dumps(OutOfMemory())
    except Exception as error:  # noqa: BLE001 - it is raised again in the parent
        if isinstance(error, InvalidDataError):
            error.problems = error.problems[:MOST_PROBLEMS]
        if not isinstance(error, EquipoiseError):
            error.add_note(traceback.format_exc())
        return pickled_error(error)


def pickled_error(error: Exception) -> bytes:
    """Return an exception as bytes, in parts."""
    try:
        return pickle.dumps(Failed(type(error), error.args, error.__dict__))
    except Exception:  # noqa: BLE001 - whatever an exception holds
        return pickle.dumps(Failed(RuntimeError, (repr(error),), {}))


@cache
def _store(database: str) -> Store:
    """Return the database, which the parent has brought to the current schema."""
    return open_store(database, migrate=False)


def _end_with_parent(lifeline: Connection) -> None:
    """End the process when its parent has ended."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _prepare(database: str) -> None:
    """Open the database and load kernels, so that the first request does not wait for them."""
    import io

    from equipoise.analysis.performance import PerformanceRequest, StrengthsRequest
    from equipoise.analysis.performance.computation import estimate_strengths, rate_performance
    from equipoise.analysis.requests import HistoryRequest

    with suppress(EquipoiseError):
        _store(database)
    with suppress(EquipoiseError):
        rate_performance(PerformanceRequest(games=io.BytesIO(_GAMES), format="csv"))
    with suppress(EquipoiseError):
        history = HistoryRequest(source=io.BytesIO(_RANKINGS), format="csv")
        estimate_strengths(StrengthsRequest(history=history))


def _limit_memory(memory_bytes: int) -> None:
    """Limit the memory for data. Linux only: other systems do not count it."""
    if sys.platform != "linux":
        return
    import resource

    with open("/proc/self/status", encoding="ascii") as status:
        used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (used + memory_bytes, most))


log = logging.getLogger(__name__)

#: Modules that a process has from its start, shared with all others.
_PRELOADED = [
    "equipoise.web.api",
    "equipoise.analysis.performance.computation",
    "equipoise.web.page",
    "equipoise.web.forking",
]
#: Seconds after which a process that did not start is tried again.
_PAUSE = 1.0
#: Seconds for a killed process to end.
_ENDING = 5.0


class _NotBegunError(Exception):
    """A process had ended before it got a request."""


class _CalculationProcess:
    """A process, and the connection over which it gets requests. Its methods block.

    pid : its number
    """

    def __init__(self, settings: ServiceSettings) -> None:
        if sys.platform == "win32":
            context = multiprocessing.get_context("spawn")
        else:
            # A process is a copy of one that has our modules: ready sooner, and most of its memory
            # is shared.
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(_PRELOADED)
        self._requests, requests = context.Pipe()
        self._using = threading.Lock()
        # However this process ends, our end is closed, and the other end notices.
        lifeline, self._lifeline = context.Pipe(duplex=False)
        self._process = context.Process(
            target=calculate,
            args=(
                requests,
                lifeline,
                settings.database,
                settings.calculation_bytes,
                settings.log_level,
            ),
            name="equipoise-calculation",
            daemon=True,
        )
        self._process.start()
        self.pid = self._process.pid or 0
        requests.close()
        lifeline.close()

    def wait_until_ready(self) -> None:
        """Wait until it can take a request. Raises : EOFError, OSError if it has ended."""
        if self._requests.recv_bytes() != READY:
            raise OSError("a calculation process did not start")

    def result_of(self, work: Work) -> Any:
        """Return its answer.

        Raises : _NotBegunError if it had ended before; EOFError, OSError if it ended meanwhile
        """
        with self._using:
            try:
                self._requests.send_bytes(pickle.dumps(work, pickle.HIGHEST_PROTOCOL))
                self._requests.recv_bytes()
            except (EOFError, OSError):
                raise _NotBegunError from None
            answer = self._requests.recv_bytes()
        return pickle.loads(answer)

    def kill_at_once(self) -> None:
        """End it, without waiting for its end."""
        with contextlib.suppress(ValueError):  # it has ended, and was closed
            self._process.kill()

    def kill(self) -> object:
        """End it, and return its exit status; None if it was closed before."""
        with contextlib.suppress(ValueError):
            self._process.kill()
            self._process.join(_ENDING)
            return self._process.exitcode
        return None

    def close(self) -> None:
        """Close the connections of a process that has ended."""
        # Another thread may still read from it, for a caller that is gone.
        with self._using:
            self._requests.close()
        self._lifeline.close()
        with contextlib.suppress(ValueError):  # it has not ended after all
            self._process.close()

    def memory(self) -> int:
        """Return its resident memory, bytes; 0 where that is unknown."""
        with contextlib.suppress(OSError, ValueError):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        return 0


class CalculationProcesses:
    """As many processes as the setting `calculators` says. Work beyond the queue is refused."""

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._most = settings.calculators + settings.queued_calculations
        self._under_way = 0
        self._idle: asyncio.Queue[_CalculationProcess] = asyncio.Queue()
        #: All processes, also those that start or calculate.
        self._all: set[_CalculationProcess] = set()
        self._starting: set[asyncio.Task[None]] = set()
        # A thread for each process that calculates, starts or is ended.
        self._threads = ThreadPoolExecutor(3 * settings.calculators, "equipoise-calculating")
        self._closed = False

    def open(self) -> None:
        """Start the processes, without waiting for them."""
        # Otherwise the interpreter would wait for them at its end.
        atexit.register(self._kill_all)
        for _ in range(self._settings.calculators):
            self._start_one()

    @property
    def pids(self) -> list[int]:
        """Return the numbers of all processes."""
        return [worker.pid for worker in self._all]

    async def run(self, work: Work) -> Any:
        """Return the result of a function. If the caller is cancelled, the calculation ends.

        Raises : OverloadedError, TimedOutError; TooLargeError if it needs too much memory; what the
            function raises
        """
        if self._under_way >= self._most:
            raise OverloadedError("the queue for calculating is full; try again later")
        seconds = self._settings.request_seconds
        with self._counted():
            try:
                async with asyncio.timeout(seconds) as limit:
                    result = await self._result_of(work)
            except TimeoutError:
                if not limit.expired():
                    raise
                sentence = f"the calculation took longer than {seconds:g} s"
                raise TimedOutError(sentence, 2.0) from None
        if isinstance(result, Failed):
            raise result.exception()
        if isinstance(result, OutOfMemory):
            raise self._too_much_memory()
        return result

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _result_of(self, work: Work) -> Any:
        """Return the answer of the next idle process."""
        while True:
            with contextlib.suppress(_NotBegunError):
                return await self._result_from(await self._idle.get(), work)

    async def _result_from(self, process: _CalculationProcess, work: Work) -> Any:
        loop = asyncio.get_running_loop()
        try:
            result = await loop.run_in_executor(self._threads, process.result_of, work)
        except (EOFError, OSError):
            status = await loop.run_in_executor(self._threads, process.kill)
            self._replace(process)
            log.warning("a calculation process ended with status %s", status)
            # Libraries abort if they get no memory, and Linux kills what uses too much.
            if status in (-signal.SIGABRT, -signal.SIGKILL):
                raise self._too_much_memory() from None
            raise RuntimeError(f"a calculation process ended with status {status}") from None
        except BaseException:
            self._replace(process)
            raise
        self._metrics.calculation_memory.set(max(worker.memory() for worker in self._all))
        self._idle.put_nowait(process)
        return result

    def _too_much_memory(self) -> TooLargeError:
        megabytes = self._settings.calculation_bytes // 1_000_000
        return TooLargeError(f"the calculation needs more than {megabytes:,} MB of memory")

    def _start_one(self, instead: _CalculationProcess | None = None) -> None:
        """Start a process in the background, after the end of another."""
        task = asyncio.create_task(self._started(instead))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    def _replace(self, process: _CalculationProcess) -> None:
        process.kill_at_once()
        self._start_one(process)

    async def _started(self, instead: _CalculationProcess | None) -> None:
        loop = asyncio.get_running_loop()
        if instead is not None:
            await loop.run_in_executor(self._threads, self._end, instead)
        while not self._closed:
            try:
                self._idle.put_nowait(await loop.run_in_executor(self._threads, self._start))
            except (EOFError, OSError, RuntimeError):
                if not self._closed:
                    log.exception("a calculation process did not start")
                    await asyncio.sleep(_PAUSE)
            else:
                return

    def _start(self) -> _CalculationProcess:
        """Return a new process that is ready. Raises : EOFError, OSError."""
        process = _CalculationProcess(self._settings)
        self._all.add(process)
        if self._closed:
            process.kill()
        try:
            process.wait_until_ready()
        except BaseException:
            self._end(process)
            raise
        return process

    def _end(self, process: _CalculationProcess) -> None:
        """End a process and close its connections."""
        self._all.discard(process)
        process.kill()
        process.close()

    def _kill_all(self) -> None:
        for process in list(self._all):
            process.kill()

    async def close(self) -> None:
        """End all processes, even if they are calculating."""
        self._closed = True
        await asyncio.to_thread(self._kill_all)
        await asyncio.gather(*self._starting, return_exceptions=True)
        for process in list(self._all):
            await asyncio.to_thread(self._end, process)
        self._threads.shutdown(wait=True)
        atexit.unregister(self._kill_all)
