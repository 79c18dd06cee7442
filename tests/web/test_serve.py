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
        first = json.loads(process.stderr.readline())
        found = re.search(r"http://127\.0\.0\.1:\d+", first["message"])
        assert found is not None
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


def test_it_says_what_is_wrong_with_the_database(tmp_path: Path) -> None:
    """Once, before any process is started."""
    with pytest.raises(NotFoundError):
        serve(ServiceSettings(database=f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}"), port=0)
