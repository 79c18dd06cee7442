"""Kernels of the pools: loaded from disk, or compiled in a separate process.

Numba compiles a kernel at its first use. Without a cache on disk, this takes seconds to minutes and
holds Python's lock. So this process only loads kernels, by rating a throw-away pool. If one is not
on disk, another process compiles it: `python -m equipoise.web.kernels`. Until then, posts to pools
that need it get 503, and everything else is answered as usual.
"""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import msgspec

from equipoise._jit import cache_folder, has_kernels, keeps_kernels
from equipoise.messages.pools import KernelStatus, PoolMessage, PoolRequest
from equipoise.pools.pool.pools import pool_messages
from equipoise.pools.precompiling import is_cached, precompile
from equipoise.store.connection import Store
from equipoise.web.http.errors import CompilingError

log = logging.getLogger(__name__)

#: Seconds after which a compiling process is ended, and the longest pause after failures.
_LONGEST, _LONGEST_PAUSE = 900.0, 60.0
#: Seconds that the end of the service waits for a thread.
_ENDING = 5.0
#: Seconds that a request waits until the disk was searched. This takes less than one per system,
#: and several on a busy machine; whoever is refused would wait for ten.
_PATIENCE = 15.0
#: Seconds after which a post that was refused may be tried again. The client of this package, which
#: makes six attempts, then waits for most systems.
_RETRY = 10.0
#: Processor priority of the compiling process: the service comes first.
_NICE = 5
#: A compiling process holds the lock of this file, so that others on the machine wait for it.
_LOCK = "compiling.lock"


def request_of(pool: PoolMessage) -> PoolRequest:
    """Return a request with the settings of a pool that decide which kernels it uses."""
    return PoolRequest(
        system=pool.system,
        parameters={name: value for name, value in pool.parameters.items() if value is not None},
        times=pool.times,  # type: ignore[arg-type]
    )


@dataclass(slots=True)
class _Kernels:
    """The kernels of one system with certain parameters.

    checked : done once it is known whether they are on disk
    tried : whether they are loaded, or were compiled at least once without success
    not_before : when to compile them, seconds of the monotonic clock
    """

    request: PoolRequest
    status: KernelStatus = "compiling"
    failure: str | None = None
    failures: int = 0
    not_before: float = 0.0
    tried: bool = False
    checked: Future[None] = field(default_factory=Future)


class Kernels:
    """Loads and compiles the kernels of all pools.

    One thread looks on disk, so that a new pool waits for no other. A second one waits for the
    processes that compile, one after another.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[bytes, _Kernels] = {}
        self._lock = threading.Lock()
        self._to_check: queue.SimpleQueue[_Kernels | None] = queue.SimpleQueue()
        self._changed = threading.Event()
        self._stopping = threading.Event()
        self._first: list[_Kernels] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._threads = (
            # The end of the process does not wait for a compiler in one of them.
            threading.Thread(target=self._check_all, name="equipoise-kernels", daemon=True),
            threading.Thread(target=self._compile_all, name="equipoise-compiling", daemon=True),
        )

    def start(self) -> None:
        """Start the threads with the kernels of all pools."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads, and the process that compiles."""
        self._stopping.set()
        self._changed.set()
        self._to_check.put(None)
        with self._lock:
            process = self._process
        if process is not None:
            process.kill()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_ENDING)

    @property
    def ready(self) -> bool:
        """Return whether the kernels of all pools that existed at the start are loaded.

        Kernels that cannot be compiled count as well once that was tried: other pools can work.
        """
        first = self._first
        return first is not None and all(kernels.tried for kernels in first)

    def want(self, request: PoolRequest) -> None:
        """Load the kernels of a pool, or compile them."""
        self._of(request)

    def are_loaded(self, request: PoolRequest) -> bool:
        """Return whether the kernels of a pool are loaded; otherwise load or compile them."""
        return self._of(request).status == "ready"

    async def check(self, request: PoolRequest) -> None:
        """Check that posts to a pool can be rated at once. Raises : CompilingError."""
        kernels = await self._checked(request)
        if kernels.status == "ready":
            return
        system = request.system
        if kernels.failure is None:
            raise CompilingError(f"the kernels of {system} are being compiled; try again", _RETRY)
        wait = max(_RETRY, kernels.not_before - time.monotonic())
        raise CompilingError(
            f"the kernels of {system} could not be compiled: {kernels.failure}; the service tries "
            "again",
            wait,
        )

    async def described(self, pool: PoolMessage) -> PoolMessage:
        """Return the message of a pool with the status of its kernels."""
        return _described(pool, await self._checked(request_of(pool)))

    def known_of(self, pool: PoolMessage) -> PoolMessage:
        """Return the message of a pool with what is known of its kernels now."""
        kernels = self._of(request_of(pool))
        return _described(pool, kernels) if kernels.checked.done() else pool

    async def _checked(self, request: PoolRequest) -> _Kernels:
        """Return the kernels of a pool once they were looked for, or after a few seconds."""
        kernels = self._of(request)
        if not kernels.checked.done():
            await asyncio.wait({asyncio.wrap_future(kernels.checked)}, timeout=_PATIENCE)
        return kernels

    def _of(self, request: PoolRequest) -> _Kernels:
        kind = msgspec.json.encode([request.system, request.parameters], order="deterministic")
        with self._lock:
            kernels = self._known.get(kind)
            if kernels is None:
                kernels = self._known[kind] = _Kernels(request)
                # A request that leaves does not cancel it.
                kernels.checked.set_running_or_notify_cancel()
                self._to_check.put(kernels)
        return kernels

    def _check_all(self) -> None:
        """Look on disk for the kernels of all pools, then for those that are wanted."""
        while not self._stopping.is_set() and self._first is None:
            try:
                self._first = [self._of(request_of(pool)) for pool in pool_messages(self._store)]
            except Exception:
                log.exception("the pools cannot be read")
                self._stopping.wait(1.0)
        while (kernels := self._to_check.get()) is not None and not self._stopping.is_set():
            try:
                if has_kernels() and is_cached(kernels.request):
                    self._loaded(kernels)
            except Exception:
                log.exception("the kernels of %s cannot be loaded", kernels.request.system)
            kernels.checked.set_result(None)
            self._changed.set()

    def _loaded(self, kernels: _Kernels) -> None:
        kernels.status, kernels.failure, kernels.tried = "ready", None, True

    def _compile_all(self) -> None:
        while not self._stopping.is_set():
            self._changed.clear()
            missing = [kernels for kernels in list(self._known.values()) if _is_missing(kernels)]
            missing.sort(key=lambda kernels: kernels.not_before)
            pause = missing[0].not_before - time.monotonic() if missing else None
            if pause is None or pause > 0:
                self._changed.wait(pause)
                continue
            self._compile(missing[0])

    def _compile(self, kernels: _Kernels) -> None:
        system, started = kernels.request.system, time.perf_counter()
        kernels.status = "compiling"
        try:
            if keeps_kernels():
                self._run_process(kernels.request)
            # Where nothing can be kept on disk, they are compiled in this thread.
            if not keeps_kernels() or not is_cached(kernels.request):
                precompile(kernels.request)
        except Exception as error:
            if self._stopping.is_set():
                return
            kernels.failures += 1
            kernels.status, kernels.failure, kernels.tried = "failed", str(error)[:300], True
            kernels.not_before = time.monotonic() + min(
                _LONGEST_PAUSE, 2.0 ** min(kernels.failures, 10)
            )
            if isinstance(error, CompileProcessError):
                log.error("the kernels of %s could not be compiled: %s", system, error)
            else:
                log.exception("the kernels of %s could not be compiled", system)
        else:
            self._loaded(kernels)
            log.info("%s kernels compiled in %.1f s", system, time.perf_counter() - started)

    def _run_process(self, request: PoolRequest) -> None:
        """Compile the kernels of a pool in another process. Raises : CompileProcessError."""
        with self._lock:
            if self._stopping.is_set():
                raise CompileProcessError("the service stops")
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "equipoise.web.kernels"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        try:
            _, output = process.communicate(msgspec.json.encode(request), timeout=_LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise CompileProcessError(f"it took longer than {_LONGEST:g} s") from None
        finally:
            with self._lock:
                self._process = None
        if process.returncode:
            raise CompileProcessError(_end_of(process.returncode, output))


class CompileProcessError(Exception):
    """A process that compiles kernels has failed; the message says why."""


def _described(pool: PoolMessage, kernels: _Kernels) -> PoolMessage:
    if kernels.status == "ready":
        return pool
    return msgspec.structs.replace(pool, kernels=kernels.status, kernels_failure=kernels.failure)


def _is_missing(kernels: _Kernels) -> bool:
    return kernels.checked.done() and kernels.status != "ready"


def _end_of(status: int, output: bytes) -> str:
    """Return how a process ended, in words, with the last line that it wrote."""
    if status < 0:
        with suppress(ValueError):
            return f"the compiling process was ended by signal {signal.Signals(-status).name}"
    lines = output.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"the compiling process ended with status {status}: {last}"


@contextmanager
def _alone() -> Iterator[None]:
    """Wait for other processes that compile, where the system has locks of files."""
    folder = cache_folder()
    if folder is None or sys.platform == "win32":
        yield
        return
    import fcntl

    with (folder / _LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Compile the kernels of the pool whose request is on standard input."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=PoolRequest)
    with _alone():
        precompile(request)


if __name__ == "__main__":
    main()
