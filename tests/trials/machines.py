"""A Dask scheduler and its workers as programs of their own, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from equipoise.errors import UnavailableError
from equipoise.parallel.cluster import connect

#: Seconds after which something is broken, however slow the machine is.
LONG = 120.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Machines:
    """A scheduler and workers as programs of their own, ended with the block."""

    def __init__(self, log: Path, host: str, *options: str, port: int | None = None) -> None:
        self.address = f"{host}:{port or free_port()}"
        self._log, self._options = log, options
        self._running: list[subprocess.Popen[bytes]] = []
        self.port = int(self.address.rpartition(":")[2])
        self.scheduler = self._start(
            "dask_scheduler", "--host", host, "--port", str(self.port), "--no-show"
        )

    def work(self, *options: str, address: str | None = None) -> subprocess.Popen[bytes]:
        return self._start("dask_worker", address or self.address, "--nthreads", "1", *options)

    def _start(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            started = subprocess.Popen(
                [
                    *(sys.executable, "-m", f"distributed.cli.{program}"),
                    *("--no-dashboard", *options, *self._options),
                ],
                stdout=log,
                stderr=log,
                cwd=self._log.parent,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
            )
        self._running.append(started)
        return started

    def __enter__(self) -> Machines:
        return self

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._running):
            one.terminate()
        for one in self._running:
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def wait_for_worker(address: str) -> None:
    """Wait until a scheduler is there and has a worker."""
    deadline = time.monotonic() + LONG
    while True:
        try:
            with connect(address, seconds=LONG):
                return
        except UnavailableError as error:
            waits = any(one in str(error) for one in ("has no workers", "no connection to"))
            if not waits or time.monotonic() > deadline:
                raise
