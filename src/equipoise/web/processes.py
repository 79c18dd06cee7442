"""Processes for long calculations. A calculation can be ended at any time, with its process.

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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from equipoise.web.calculation import READY, Failed, OutOfMemory, Work, calculate
from equipoise.web.http.errors import OverloadedError, TimedOutError, TooLargeError
from equipoise.web.monitoring import Metrics
from equipoise.web.settings import ServiceSettings

log = logging.getLogger(__name__)

#: Modules that a process has from its start, shared with all others.
_PRELOADED = [
    "equipoise.web.api",
    "equipoise.analysis.files.performance",
    "equipoise.analysis.files.strengths",
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
        return [one.pid for one in self._all]

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
        self._metrics.calculation_memory.set(max(one.memory() for one in self._all))
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
