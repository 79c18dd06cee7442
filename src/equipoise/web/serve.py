"""Running the service in one process or several, until a signal stops it."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import wait
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from equipoise.errors import InvalidParameterError, require
from equipoise.store.connection import checked_url, open_store
from equipoise.store.keys import list_keys
from equipoise.web.http.connections import ServerConfig, limits_of
from equipoise.web.monitoring import FOLDER_VARIABLE, configure_logs
from equipoise.web.settings import ServiceSettings, environment_of
from equipoise.web.tracing import check_installed
from equipoise.web.writing import owners

log = logging.getLogger(__name__)

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8000
_BACKLOG = 2048

#: A worker that ends this often within this many seconds is not restarted: the service stops.
MOST_ENDS = 5
ENDS_WITHIN = 600.0
#: Files that a process may have open, if the system allows as many.
_DESCRIPTORS = 8_192
_HTTPTOOLS = "equipoise.web.http.connections:LimitedHttpTools"
_H11 = "equipoise.web.http.connections:LimitedH11"
_FACTORY = "equipoise.web.application:application_from_environment"
#: Seconds between two looks at the workers, and for a worker to answer.
_LOOK, _ANSWER = 0.5, 5.0
#: Seconds for a new worker to answer first: it imports everything, from a disk that may be slow.
_START = 120.0
#: Exit status of a process that was not finished when its grace ended.
UNFINISHED = 3


def serve(
    settings: ServiceSettings,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    workers: int = 1,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish active requests and commit all accepted posts.

    port : 0 for any free port; the address is printed on standard error
    workers : number of processes; each has a writer, and the database orders their transactions
    Raises : InvalidParameterError if it cannot listen on the port or lacks a library; what
        `open_store` raises; SystemExit with status 1 if a process does not start or keeps ending
    """
    require(0 <= port < 65_536, "port", "from 0 to 65535", port)
    require(1 <= workers <= 64, "workers", "from 1 to 64", workers)
    configure_logs(settings.log_level)
    if settings.tracing:
        check_installed()
    # Problems of the database are reported here, once, and not by every process.
    store = open_store(settings.database)
    weakness = store.weakness()
    fresh = not list_keys(store)
    store.close()
    if weakness is not None:
        log.warning("%s", weakness)
    listening = _listen(host, port)
    try:
        with _environment(settings, workers):
            _announce(listening, settings)
            if fresh:
                _say_how_to_get_a_key(settings)
            _run(settings, listening, workers)
    finally:
        listening.close()


def _run(settings: ServiceSettings, listening: socket.socket, workers: int) -> None:
    limits = limits_of(settings, _raise_descriptors())
    config = ServerConfig(_FACTORY, limits, factory=True, workers=workers, **_options(settings))
    if workers > 1:
        supervisor = Supervisor(config, sockets=[listening], grace=settings.grace_seconds)
        supervisor.run()
        if supervisor.failed:
            raise SystemExit(1)
        return
    server = _PunctualServer(config, settings.grace_seconds)
    # At its end the server raises the signal that stopped it once more. That must not end this
    # process before it has cleaned up.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        log.debug("stopped from the keyboard")
    finally:
        signal.signal(signal.SIGTERM, before)
    if not server.started:
        raise SystemExit(1)


class _PunctualServer(uvicorn.Server):
    """A server whose process ends at the end of its grace, also if it is not finished.

    Requests are cancelled before. But a thread may wait for a lock of the database, or for a
    receiver of webhooks, and a thread cannot be ended.
    """

    def __init__(self, config: uvicorn.Config, grace: float) -> None:
        super().__init__(config)
        self._grace = grace
        self._timer: threading.Timer | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end, after a signal."""
        super().handle_exit(sig, frame)
        if self._timer is None:
            self._timer = threading.Timer(self._grace, self._end_at_once)
            self._timer.daemon = True
            self._timer.start()

    def _end_at_once(self) -> None:
        _log_unfinished(os.getpid(), self._grace)
        os._exit(UNFINISHED)

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        try:
            super().run(sockets)
        finally:
            if self._timer is not None:
                self._timer.cancel()


def _log_unfinished(pid: int | None, grace: float) -> None:
    log.warning(
        "process %s was not finished %g s after the signal to stop, and was ended: see "
        "`grace_seconds`",
        pid,
        grace,
    )


class Supervisor(Multiprocess):
    """Starts the worker processes and replaces one that ends, unless it keeps ending.

    uvicorn replaces a worker whenever it ends. A worker that cannot work would be started for ever,
    and only the log would show it. This class gives up, so that whatever started the service sees
    the failure. It also notices a signal at once, where uvicorn looks twice a second and waits for
    answers of workers in between, and it ends workers that are not finished after their grace.

    grace : seconds from a signal to the end of all workers
    failed : whether it gave up
    """

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], grace: float) -> None:
        super().__init__(config, sockets)
        self.failed = False
        self._grace = grace
        self._ends: dict[int, deque[float]] = {}
        self._starting: dict[Process, float] = {}
        self._woken, self._wake = Pipe(duplex=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._notice)

    def _notice(self, number: int, frame: FrameType | None) -> None:
        """Note a signal, and end the waiting of the main thread, which may hold a lock here."""
        self.signal_queue.append(number)
        self._wake.send_bytes(b"")

    def run(self) -> None:
        """Run the workers until a signal."""
        log.info("started the parent process %s", os.getpid())
        self.init_processes()
        while not self.should_exit.is_set():
            wait([self._woken], _LOOK)
            self.handle_signals()
            self.keep_subprocess_alive()
        self.terminate_all()
        self.join_all()
        log.info("stopped the parent process %s", os.getpid())

    def join_all(self) -> None:
        """Wait for the workers, and end those that are not finished in time."""
        until = time.monotonic() + self._grace
        for worker in self.processes:
            worker.process.join(max(0.0, until - time.monotonic()))
            if worker.process.is_alive():
                _log_unfinished(worker.pid, self._grace)
                worker.process.kill()
                worker.process.join()

    def init_processes(self) -> None:
        """Start all workers."""
        super().init_processes()
        for process in self.processes:
            self._await_first_answer(process)

    def _await_first_answer(self, process: Process) -> None:
        """Ask a new worker once, and note since when."""
        process.parent_conn.send(b"ping")
        self._starting[process] = time.monotonic()

    def _answers(self, process: Process) -> bool:
        """Return whether a worker answers in time; True if a signal comes meanwhile.

        A worker that has not answered yet is not waited for, so that the others are looked at.
        """
        if not process.process.is_alive():
            return False
        since = self._starting.get(process)
        try:
            if since is None:
                process.parent_conn.send(b"ping")
            ready = wait([process.parent_conn, self._woken], _ANSWER if since is None else 0.0)
            if process.parent_conn in ready:
                process.parent_conn.recv()
                self._starting.pop(process, None)
        except (OSError, EOFError):
            return False
        return bool(ready) or (since is not None and time.monotonic() - since < _START)

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or no longer answer."""
        for place, process in enumerate(self.processes):
            if self.should_exit.is_set() or self.signal_queue:
                return
            if self._answers(process):
                continue
            if process.process.is_alive():
                log.warning("worker process %s does not answer and is ended", process.pid)
            self._starting.pop(process, None)
            process.kill()
            process.join()
            if not self._may_restart(place, process):
                self.failed = True
                self.should_exit.set()
                return
            log.warning("worker process %s ended with %s", process.pid, _status(process.exitcode))
            self.processes[place] = Process(self.config, self.sockets)
            self.processes[place].start()
            self._await_first_answer(self.processes[place])

    def _may_restart(self, place: int, process: Process) -> bool:
        """Return whether the worker at this place is restarted; if not, log why."""
        if process.exitcode == STARTUP_FAILURE:
            log.error("worker process %s did not start; the service stops", process.pid)
            return False
        now = time.monotonic()
        ends = self._ends.setdefault(place, deque(maxlen=MOST_ENDS))
        ends.append(now)
        if len(ends) < MOST_ENDS or now - ends[0] > ENDS_WITHIN:
            return True
        log.error(
            "a worker process ended %d times within %.0f s, last with %s; the service stops",
            MOST_ENDS,
            now - ends[0],
            _status(process.exitcode),
        )
        return False


def _status(code: int | None) -> str:
    """Return how a process ended, in words."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
    return f"status {code}"


def _options(settings: ServiceSettings) -> dict[str, Any]:
    return {
        "http": _HTTPTOOLS if find_spec("httptools") else _H11,
        "loop": "uvloop" if find_spec("uvloop") else "asyncio",
        "ws": "none",
        "lifespan": "on",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": list(settings.proxies),
        # The rest of the time is for closing.
        "timeout_graceful_shutdown": max(
            settings.grace_seconds - 1.0, 0.5 * settings.grace_seconds
        ),
        "timeout_keep_alive": settings.keep_alive_seconds,
        "backlog": _BACKLOG,
    }


def _raise_descriptors() -> int:
    """Raise the number of files that this process may have open, and return it.

    The processes that it starts have the same number.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        log.warning("the number of open files stays at %d: it cannot be raised", soft)
        return soft
    return wanted


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises : InvalidParameterError."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            # While processes start, connections wait and are not refused.
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
    except (OSError, UnicodeError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidParameterError(f"cannot listen on {host}, port {port}: {reason}") from error
    listening.set_inheritable(True)
    return listening


def _announce(listening: socket.socket, settings: ServiceSettings) -> None:
    """Print or log the address on which the service listens."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    if sys.stderr.isatty():
        sys.stderr.write(f"Equipoise listens on http://{shown}:{port} (its API: /docs)\n")
        sys.stderr.flush()
    else:
        log.info("listening on http://%s:%s", shown, port)


def _say_how_to_get_a_key(settings: ServiceSettings) -> None:
    """Print or log how the first key of a database is made."""
    url = checked_url(settings.database).render_as_string()
    command = f"equipoise db keys create --name admin --role admin --database {shlex.quote(url)}"
    if sys.stderr.isatty():
        sys.stderr.write(f"There is no key yet. Create one: {command}\n")
        sys.stderr.flush()
    else:
        log.info("there is no key yet; create one: %s", command)


@contextmanager
def _environment(settings: ServiceSettings, workers: int) -> Iterator[None]:
    """Set the variables that server processes read; several share a folder for their metrics."""
    variables = environment_of(settings) | {owners.WORKERS: str(workers)}
    with ExitStack() as stack:
        if workers > 1 and FOLDER_VARIABLE not in os.environ:
            folder = tempfile.TemporaryDirectory(prefix="equipoise-metrics-")
            variables[FOLDER_VARIABLE] = stack.enter_context(folder)
        if workers > 1 and sys.platform != "win32":
            # Only this user can read it, as whoever sends posts there is trusted.
            sockets = stack.enter_context(tempfile.TemporaryDirectory(prefix="equipoise-workers-"))
            if owners.folder_fits(sockets):
                variables[owners.FOLDER] = sockets
            else:
                log.warning(
                    "posts are not passed on between workers: TMPDIR is too long, %s", sockets
                )
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
