"""Trial: readers that take an export slowly while clients post.

An old transaction that reads keeps SQLite from using its write-ahead log (WAL) again, so an export
that lasts as long as its reader lets the WAL grow without end.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from equipoise.client import Retries
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import MatchRequest, ParticipationRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from trials.server import Server, make_key, new_pool, running

POOL = "long"
#: Characters of a note in every match, so that few matches make a long log.
_NOTE = "x" * 2000
#: Matches of one stream.
_LINES = 2000
#: Bytes that a slow reader takes at a time; it then pauses for a quarter of a second.
_BITE = 4096
_PAUSE = 0.25


@dataclass(slots=True)
class SlowReaders:
    """What a trial measured.

    wal : largest size of the WAL, bytes; 0 for PostgreSQL
    posted : matches acknowledged while the slow readers read, in `seconds`
    third : seconds until the export of another key was complete; None if it was refused
    log : of the service
    """

    wal: int = 0
    posted: int = 0
    seconds: float = 0.0
    third: float | None = None
    log: str = ""


class _SlowReader(threading.Thread):
    """Takes an export at 16 kB/s, until it is cut off or told to stop."""

    def __init__(self, server: Server, key: str, what: str) -> None:
        super().__init__(daemon=True)
        self._stop_reading = threading.Event()
        self._socket = socket.socket()
        # Before connecting: the kernel takes little more than the reader does.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * _BITE)
        self._socket.connect(("127.0.0.1", server.port))
        self._socket.settimeout(120.0)
        self._socket.sendall(
            f"GET /v1/pools/{POOL}/export?what={what} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {key}\r\n\r\n".encode()
        )

    def run(self) -> None:
        with suppress(OSError):
            while not self._stop_reading.is_set() and self._socket.recv(_BITE):
                time.sleep(_PAUSE)

    def end(self) -> None:
        """End the connection."""
        self._stop_reading.set()
        self.join()
        self._socket.close()


def _matches(first: int, count: int) -> list[MatchRequest]:
    """Return duels of a few hundred players, each with a long note."""

    def one(player: int) -> ParticipationRequest:
        return ParticipationRequest(f"p{player}", attributes={"note": _NOTE})

    return [
        MatchRequest(
            f"m{number}",
            [TeamRequest([one(number % 500)], 0), TeamRequest([one(500 + number % 499)], 1)],
        )
        for number in range(first, first + count)
    ]


def slow_readers_trial(
    url: str,
    folder: Path,
    *,
    before: int,
    seconds: float,
    what: str = "log",
    settings: Mapping[str, str] | None = None,
    until: Callable[[str], bool] = lambda log: False,
    enough: float = float("inf"),
) -> SlowReaders:
    """Post while two readers of one key take an export slowly; another key exports as well.

    before : matches in the pool at first; seconds : of posting; settings : of the service
    until : ends the posting sooner, once it holds for the log of the service
    enough : matches after which the posting ends sooner
    """
    found = SlowReaders()
    wal, log = Path(url.removeprefix("sqlite:///") + "-wal"), folder / "server.log"
    with running(url, log, settings=settings) as server, ExitStack() as stack:
        first, second = make_key(url, "admin"), make_key(url, "reader")
        client = stack.enter_context(server.client(first))
        new_pool(client, POOL, PoolRequest(system="elo"))
        for at in range(0, before, _LINES):
            client.post_matches(POOL, _matches(at, _LINES))
        readers = [_SlowReader(server, first, what) for _ in range(2)]
        for reader in readers:
            reader.start()
        began, at = time.monotonic(), before
        other = threading.Thread(target=_export, args=(server, second, folder, found), daemon=True)
        other.start()
        while time.monotonic() - began < seconds and at - before < enough:
            if until(log.read_text()):
                break
            client.post_matches(POOL, _matches(at, _LINES))
            at += _LINES
            found.wal = max(found.wal, wal.stat().st_size if wal.exists() else 0)
        found.posted, found.seconds = at - before, time.monotonic() - began
        other.join()
        for reader in readers:
            reader.end()
    found.log = log.read_text()
    return found


def _export(server: Server, key: str, folder: Path, found: SlowReaders) -> None:
    """Export the log with another key, a little after the slow readers began."""
    time.sleep(1.0)
    began = time.monotonic()
    path = folder / "third.ndjson"
    with suppress(EquipoiseError), server.client(key, Retries(attempts=1)) as client:
        client.export(POOL, path, "log", "ndjson")
        found.third = time.monotonic() - began
        lines = path.read_bytes().splitlines()
        head = msgspec.json.decode(lines[0])
        numbers = [msgspec.json.decode(line)["seq"] for line in lines[1:]]
        if numbers != list(range(1, head["entries"] + 1)):
            raise AssertionError("the export is not one state of the log")
