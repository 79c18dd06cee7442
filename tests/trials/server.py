"""The service as it is run, in processes of its own, that may be killed and started again."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from equipoise.client import Client, Retries
from equipoise.messages.pools import PoolRequest

#: Seconds that a start may take; the first on a machine compiles kernels.
STARTING = 300.0
#: Seconds that a graceful end may take.
ENDING = 120.0

#: Below those of connections that go out (Linux: 32,768 and up), of which one could take the port
#: of a server while that is down.
_PORTS = range(12_000, 32_000)
_steps = iter(_PORTS)

#: A client that outlives a killed server: it waits until it is back.
PATIENT = Retries(attempts=400, first=0.02, longest=0.25)


class Server:
    """`equipoise serve` on a port of its own, in a process group of its own.

    database : URL; settings : environment variables beside ours
    log : file that gets what the server says
    """

    def __init__(
        self,
        database: str,
        log: Path,
        *,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.database = database
        self.log = log
        self.port = free_port()
        # Where kernels are not compiled yet, the first match takes longer than a request may.
        self._settings = {"EQUIPOISE_REQUEST_SECONDS": "120", **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address of the service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Number of its first process, which serves and writes."""
        return 0 if self._process is None else self._process.pid

    def client(self, key: str | None, retries: Retries = PATIENT) -> Client:
        """Return a client that has this key."""
        return Client(self.url, key, retries=retries, timeout=130.0)

    def start(self) -> float:
        """Start, and return the seconds until it is ready."""
        started = time.perf_counter()
        command = [sys.executable, "-m", "equipoise", "serve", "--database", self.database]
        command += ["--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env={**os.environ, **self._settings},
                start_new_session=True,
            )
        while not self.is_ready():
            if self._process.poll() is not None:
                raise RuntimeError(f"the server ended at once:\n{self.log.read_text()[-4000:]}")
            if time.perf_counter() - started > STARTING:
                self.kill()
                raise RuntimeError(f"the server was never ready:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.02)
        return time.perf_counter() - started

    def is_ready(self) -> bool:
        """Tell whether it can do its work."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30.0)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def kill(self) -> None:
        """Kill all its processes with SIGKILL, and wait until they are gone."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
            _wait_until_free(self.port)

    def stop(self) -> int:
        """Ask it to end, and return its exit status."""
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(ENDING)
        finally:
            self.kill_rest()

    def kill_rest(self) -> None:
        """Kill what is left of it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def memory(self) -> float:
        """Return the resident memory of its first process, megabytes."""
        if self._process is None:
            return 0.0
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def processor_time(self) -> float:
        """Return the seconds of processor time that its first process has used."""
        if self._process is None:
            return 0.0
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(
    database: str, log: Path, *, settings: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Give a server that runs, and end it."""
    server = Server(database, log, settings=settings)
    server.start()
    try:
        yield server
    finally:
        server.kill_rest()


@contextmanager
def running_together(
    database: str, folder: Path, services: int, *, settings: Mapping[str, str] | None = None
) -> Iterator[list[Server]]:
    """Give several services on one database, and end them."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(running(database, folder / f"server{at}.log", settings=settings))
            for at in range(services)
        ]


def make_key(
    database: str, role: str, pool: str | None = None, *, expires: int | None = None
) -> str:
    """Return the secret of a new key, which is made in the database itself."""
    from equipoise.store.connection import open_store
    from equipoise.store.keys import create_key

    store = open_store(database)
    try:
        return create_key(store, f"trial {role}", role, pool, expires, time.time_ns() // 1000)[1]
    finally:
        store.close()


def new_pool(client: Client, name: str, request: PoolRequest) -> None:
    """Create a pool, and wait until its kernels are compiled and it takes posts."""
    client.create_pool(name, request)
    wait_for_kernels(client, name)


def wait_for_kernels(client: Client, name: str) -> None:
    """Wait until the process that a client is connected to takes posts to a pool."""
    until = time.perf_counter() + STARTING
    while (status := client.pool(name).kernels) != "ready":
        if status == "failed" or time.perf_counter() > until:
            raise RuntimeError(f"the kernels of pool {name} were not compiled: {status}")
        time.sleep(0.1)


def free_port() -> int:
    """Return a port that nobody listens on; each process looks at a place of its own, once."""
    for step in _steps:
        port = _PORTS[(97 * os.getpid() + step) % len(_PORTS)]
        with socket.socket() as taken, suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("no port is free")


def is_open(port: int) -> bool:
    """Tell whether somebody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_until_free(port: int) -> None:
    """Wait until its other processes, too, have let go of the port."""
    for _ in range(500):
        if not is_open(port):
            return
        time.sleep(0.01)
    raise RuntimeError(f"a killed server still listens on port {port}")
