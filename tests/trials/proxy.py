"""HAProxy with our configuration, in front of servers on this machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trials.server import Server, free_port, is_open

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"


def haproxy() -> str | None:
    """Return the program, None if it is not installed."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")


def configuration(port: int, servers: Sequence[int]) -> str:
    """Return our configuration with the ports of this machine."""
    text = CONFIGURATION.read_text(encoding="utf-8").replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    for example, there in zip(("127.0.0.1:8001", "127.0.0.1:8002"), servers, strict=True):
        assert example in text
        text = text.replace(example, f"127.0.0.1:{there}")
    return text


@contextmanager
def proxied(servers: Sequence[Server]) -> Iterator[int]:
    """Give the port of HAProxy in front of two servers, and end it."""
    program = haproxy()
    assert program is not None
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "haproxy.cfg"
        path.write_text(configuration(port, [one.port for one in servers]), encoding="utf-8")
        process = subprocess.Popen([program, "-db", "-f", str(path)], stderr=subprocess.DEVNULL)
        try:
            until = time.monotonic() + 30.0
            while not is_open(port):
                if time.monotonic() > until or process.poll() is not None:
                    raise RuntimeError("HAProxy did not start")
                time.sleep(0.02)
            yield port
        finally:
            process.terminate()
            process.wait()
