"""The service as a process: where it listens, what it says, how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

import httpx

from equipoise.errors import InvalidParameterError, NotFoundError
from equipoise.web.serve import serve
from equipoise.web.settings import ServiceSettings

#: It starts processes, and waits for their ends.
pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from equipoise.web.serve import serve
from equipoise.web.settings import ServiceSettings

serve(ServiceSettings(database=sys.argv[1]), port=0)
"""


def test_it_listens_answers_and_ends_when_asked(tmp_path: Path) -> None:
    """It says where, writes a line of JSON an event, and ends with status 0."""
    database = f"sqlite:///{tmp_path / 'service.db'}"
    command = [sys.executable, "-c", PROGRAM, database]
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


def test_it_says_why_it_cannot_listen(tmp_path: Path) -> None:
    settings = ServiceSettings(database=f"sqlite:///{tmp_path / 'service.db'}")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidParameterError, match=r"cannot listen on 127\.0\.0\.1"):
            serve(settings, port=taken.getsockname()[1])
    with pytest.raises(InvalidParameterError, match="port must be"):
        serve(settings, port=70_000)


NO_START = """
import sys
import equipoise.web.serve as serving
from equipoise.web.settings import ServiceSettings

async def application(scope, receive, send):
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no disk"})

serving.served_application = lambda settings: application
serving.serve(ServiceSettings(database=sys.argv[1]), port=0)
"""


def test_it_ends_with_status_1_where_it_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_START, f"sqlite:///{tmp_path / 'service.db'}"]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "no disk" in ended.stderr


def test_it_says_what_is_wrong_with_the_database(tmp_path: Path) -> None:
    """Once, before it listens."""
    with pytest.raises(NotFoundError):
        serve(ServiceSettings(database=f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}"), port=0)
