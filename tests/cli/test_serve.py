"""equipoise serve: it starts with a demo, answers, and ends without leaving anything behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trials.server import free_port

#: It starts processes, and waits for their ends.
pytestmark = pytest.mark.slow

#: Seconds that a start may take on a machine that is busy, kernels compiled.
_STARTING = 300.0


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Give an environment with a folder of its own for what is thrown away."""
    (tmp_path / "thrown").mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EQUIPOISE_")}
    return {**kept, "TMPDIR": str(tmp_path / "thrown")}


@pytest.fixture
def demo(tmp_path: Path, environment: dict[str, str]) -> Iterator[tuple[Any, str]]:
    """Give a demo that runs, and its address."""
    port = free_port()
    command = [sys.executable, "-m", "equipoise", "serve", "--demo", "--port", str(port)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--set", "log_level=warning"], stderr=log, cwd=tmp_path, env=environment
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(process, f"{address}/readyz", tmp_path / "log")
        yield process, address
    finally:
        process.kill()
        process.wait()


def _wait(process: Any, address: str, log: Path) -> None:
    until = time.monotonic() + _STARTING
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)


def test_the_demo_can_be_read_by_anybody_and_leaves_nothing(
    demo: tuple[Any, str], tmp_path: Path
) -> None:
    """Its database is made, filled from the sample, and gone with the service."""
    process, address = demo
    with urllib.request.urlopen(
        f"{address}/v1/pools/demo/leaderboard?limit=1", timeout=120
    ) as found:
        board = json.load(found)
    assert board["players_in_pool"] == 120
    assert board["players"][0]["player"] == "jade-kite"
    assert board["players"][0]["rating"] == pytest.approx(2301.61, abs=0.005)
    assert f"{address}/v1/pools/demo/leaderboard" in (tmp_path / "log").read_text()
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0
    assert list((tmp_path / "thrown").iterdir()) == []
    assert not (tmp_path / "equipoise.db").exists()
