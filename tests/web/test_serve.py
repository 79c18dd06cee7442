"""The service as a process: where it listens, what it says, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

import httpx

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.web.serve import serve
from equipoise.web.settings import ServiceSettings
from trials.server import running

#: It starts processes, and waits for their ends.
pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from equipoise.web.serve import serve
from equipoise.web.settings import ServiceSettings

serve(ServiceSettings(database=sys.argv[1]), port=0, workers=int(sys.argv[2]))
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_it_listens_answers_and_ends_when_asked(tmp_path: Path, workers: int) -> None:
    """It says where, writes a line of JSON an event, and ends with status 0."""
    database = f"sqlite:///{tmp_path / 'service.db'}"
    command = [sys.executable, "-c", PROGRAM, database, str(workers)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first, hint = (json.loads(process.stderr.readline())["message"] for _ in range(2))
        found = re.search(r"http://127\.0\.0\.1:\d+", first)
        assert found is not None
        assert "equipoise db keys create" in hint  # there is no key
        assert database in hint
        try:
            # Connections wait in the queue of the socket until a process takes them.
            assert httpx.get(f"{found[0]}/healthz", timeout=120).json() == {"status": "ok"}
            page = httpx.get(f"{found[0]}/metrics", timeout=120).text
            assert (
                'equipoise_requests_total{method="GET",route="/healthz",status="200"} 1.0' in page
            )
        finally:
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=120)[::-1]
    assert process.returncode == 0
    events = [json.loads(line) for line in rest.splitlines()]
    assert {"answered"} <= {event["message"] for event in events}
    assert all(event["level"] != "error" for event in events)


def test_workers_end_after_their_parent_was_killed(tmp_path: Path) -> None:
    """With all their processes: the port is free again."""
    with running(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "log", workers=2) as server:
        port = server.port
        os.kill(server.pid, signal.SIGKILL)
        ends = time.monotonic() + 60.0
        while _listens(port):
            assert time.monotonic() < ends, "workers still listen"
            time.sleep(0.1)
    assert "the process that started the workers has ended" in (tmp_path / "log").read_text()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_it_says_why_it_cannot_listen(tmp_path: Path) -> None:
    settings = ServiceSettings(database=f"sqlite:///{tmp_path / 'service.db'}")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidParameterError, match=r"cannot listen on 127\.0\.0\.1"):
            serve(settings, port=taken.getsockname()[1])
    with pytest.raises(InvalidParameterError, match="port must be"):
        serve(settings, port=70_000)


def test_it_says_what_is_wrong_with_the_database(tmp_path: Path) -> None:
    """Once, before any process is started."""
    with pytest.raises(NotFoundError):
        serve(ServiceSettings(database=f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}"), port=0)


FAILING = """
import sys
import equipoise.web.serve as serving
from equipoise.web.settings import ServiceSettings

serving._FACTORY = sys.argv[2]
serving.serve(ServiceSettings(database=sys.argv[1]), port=0, workers=2)
"""

WORKER = """
import os, threading

def ends():
    "An application whose process ends soon after it has started."
    threading.Timer(0.2, os._exit, [7]).start()
    return application

def raises():
    raise RuntimeError("no application")

async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            kind = (await receive())["type"]
            await send({"type": kind + ".complete"})
"""


@pytest.mark.parametrize(("factory", "said"), [("ends", "status 7"), ("raises", "status 1")])
def test_it_stops_where_a_worker_keeps_ending(tmp_path: Path, factory: str, said: str) -> None:
    """With status 1 and the reason, so that whatever started it sees the failure."""
    (tmp_path / "worker.py").write_text(WORKER)
    database = f"sqlite:///{tmp_path / 'service.db'}"
    ended = subprocess.run(
        [sys.executable, "-c", FAILING, database, f"worker:{factory}"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1
    messages = [
        json.loads(line)["message"] for line in ended.stderr.splitlines() if line.startswith("{")
    ]
    last = [one for one in messages if "the service stops" in one]
    assert len(last) == 1
    assert said in last[0]
    # Of two workers one has ended five times, and was started again four times.
    assert 4 <= sum("worker process" in one and "ended with" in one for one in messages) <= 8


def test_a_worker_that_ends_now_and_then_is_started_again(tmp_path: Path) -> None:
    """A crash of one process does not end the service."""
    command = [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path / 'service.db'}", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found is not None
        try:
            assert httpx.get(f"{found[0]}/healthz", timeout=120).status_code == 200
            workers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            if not workers.exists():
                pytest.skip("needs /proc to find the workers")
            first = [int(one) for one in workers.read_text().split()]
            killed = max(first)
            os.kill(killed, signal.SIGKILL)
            for line in process.stderr:
                if "ended with signal SIGKILL" in line:
                    break
            assert httpx.get(f"{found[0]}/healthz", timeout=120).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=120)
    assert process.returncode == 0


def test_a_worker_may_take_its_time_to_start(tmp_path: Path) -> None:
    """On a busy machine imports take longer than the five seconds in which a worker must answer."""
    slow = "import sys, time\nif 'spawn_main' in str(sys.orig_argv):\n    time.sleep(7)\n"
    (tmp_path / "sitecustomize.py").write_text(slow)
    command = [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path / 'service.db'}", "2"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    log = tmp_path / "log"
    with (
        log.open("w") as file,
        subprocess.Popen(command, stderr=file, env=environment) as process,
    ):
        try:
            until = time.monotonic() + 120
            while "Application startup complete" not in log.read_text():
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.1)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=120)
    assert "ended" not in log.read_text()
    assert process.returncode == 0
