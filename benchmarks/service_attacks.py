"""What do requests cost that are made to hurt the service, and who waits meanwhile?

Every attack is one request to set known ratings, from an administrator of one pool. While it is
answered, matches of another pool are voided one after the other, without a pause. Measured are the
answer, its seconds and size, the most memory of the server and of its largest process for
calculations, the longest time of a void, and how many failed. The database is SQLite.

Then known ratings of 50,000 players are replaced until that is refused.
Measured are the replacements, by how much they let the database grow, and the voids as above.
"""

from __future__ import annotations

import http.client
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from report import ROOT, Part, report_parts

sys.path.append(str(ROOT / "tests"))  # the server is that of the tests

from equipoise.messages.pools import PoolRequest
from equipoise.pools.records import MOST_PLAYERS
from trials.matches import duels
from trials.server import Server, make_key, new_pool, running

#: Bytes of the largest body that the service reads.
BODY = 10_000_000
VOIDED = 4_000
#: Replacements after which they are taken to have no bound.
MOST_REPLACEMENTS = 60
#: Players whose ratings are replaced.
REPLACED = 50_000

COLUMNS = (
    *("attack", "status", "seconds", "answer, kB", "server, MB", "calculation, MB"),
    *("longest void, s", "voids", "failed"),
)
GROWTH = (
    *("replacements", "refused with", "longest, s", "database grew, MB"),
    *("longest void, s", "voids", "failed"),
)


def filled(head: bytes, line: bytes) -> bytes:
    """Return a table of short lines, as large as a body may be."""
    return head + line * ((BODY - len(head)) // len(line))


def attacks() -> dict[str, tuple[str, bytes]]:
    """Return the media type and body of each attack."""
    one = b'{"player":1,"rating":1},'
    listed = one * ((BODY - 20) // len(one))
    again = one * MOST_PLAYERS
    return {
        "lines of one letter": ("text/csv", filled(b"player,rating\n", b"a\n")),
        "empty lines": ("text/csv", filled(b"player,rating\na,1\n", b"\n")),
        "no number on 1,900,000 lines": ("text/csv", b"player,rating\n" + b"a,b\n" * 1_900_000),
        "a player on 1,900,000 lines": ("text/csv", b"player,rating\n" + b"1,1\n" * 1_900_000),
        "a quote that never ends": ("text/csv", b'player,rating\n"' + b"1,1\n" * 1_900_000),
        f"{MOST_PLAYERS:,} bad lines": ("text/csv", b"player,rating\n" + b"a,b\n" * MOST_PLAYERS),
        "a list, too long": ("application/json", b'{"ratings":[' + listed[:-1] + b"]}"),
        "a list that repeats a player": ("application/json", b'{"ratings":[' + again[:-1] + b"]}"),
    }


@dataclass
class Voids:
    """Voids of another pool while something else happens."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0


class Attacked:
    """A service with a pool to attack, and one whose matches are voided."""

    def __init__(self, server: Server, key: str) -> None:
        self._server, self._key = server, key
        self._next = 0

    def ask(self, method: str, path: str, media: str, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=130.0)
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": media}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def put(self, pool: str, media: str, body: bytes) -> tuple[int, bytes]:
        """Set known ratings."""
        return self.ask("PUT", f"/v1/pools/{pool}/initial-ratings", media, body)

    @contextmanager
    def voids(self) -> Iterator[Voids]:
        """Void matches of the other pool until the block ends."""
        found, stop = Voids(), threading.Event()

        def go() -> None:
            while not stop.is_set():
                path = f"/v1/pools/other/matches/m{self._next}/void"
                self._next += 1
                began = time.perf_counter()
                status, _ = self.ask("POST", path, "application/json", b'{"reason":""}')
                found.seconds.append(time.perf_counter() - began)
                found.failed += status != 200

        thread = threading.Thread(target=go)
        thread.start()
        time.sleep(0.3)
        try:
            yield found
        finally:
            stop.set()
            thread.join()


def memory(process: int) -> float:
    """Return the most resident memory of a process so far, MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return float(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def reset_memory(process: int) -> None:
    """Begin to count the most memory of a process anew."""
    Path(f"/proc/{process}/clear_refs").write_text("5")


class Watch:
    """The most memory of all processes below the server, sampled: they may end meanwhile."""

    def __init__(self, server: Server) -> None:
        import psutil

        self._process, self._errors = psutil.Process(server.pid), psutil.Error
        self.most = 0.0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Sample until the block ends."""
        stop = threading.Event()

        def go() -> None:
            while not stop.wait(0.05):
                for child in self._process.children(recursive=True):
                    try:
                        self.most = max(self.most, child.memory_info().rss / 1e6)
                    except self._errors:  # it ends just now
                        continue

        thread = threading.Thread(target=go)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def attack(attacked: Attacked, server: Server, name: str, media: str, body: bytes) -> list[str]:
    """Return what one attack did, as a row."""
    reset_memory(server.pid)
    watch = Watch(server)
    with watch.watching(), attacked.voids() as voids:
        began = time.perf_counter()
        status, answer = attacked.put("attacked", media, body)
        seconds = time.perf_counter() - began
    return [
        name,
        str(status),
        f"{seconds:.2f}",
        f"{len(answer) / 1000:,.0f}",
        f"{memory(server.pid):,.0f}",
        f"{watch.most:,.0f}",
        f"{max(voids.seconds):.2f}",
        str(len(voids.seconds)),
        str(voids.failed),
    ]


def replace(attacked: Attacked, folder: Path) -> list[str]:
    """Replace known ratings until that is refused; return what that did, as a row."""
    times, replaced, status, before = [], 0, 200, size(folder)
    with attacked.voids() as voids:
        while status == 200 and replaced < MOST_REPLACEMENTS:
            rows = "".join(f"player{row},{1500 + replaced}\n" for row in range(REPLACED))
            began = time.perf_counter()
            status, _ = attacked.put("replaced", "text/csv", b"player,rating\n" + rows.encode())
            times.append(time.perf_counter() - began)
            replaced += status == 200
    return [
        str(replaced),
        "nothing" if status == 200 else str(status),
        f"{max(times):.2f}",
        f"{size(folder) - before:,.0f}",
        f"{max(voids.seconds):.2f}",
        str(len(voids.seconds)),
        str(voids.failed),
    ]


def size(folder: Path) -> float:
    """Return the size of the database, MB."""
    return sum(path.stat().st_size for path in folder.glob("service.db*")) / 1e6


def main() -> None:
    """Attack a service of its own, and report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder / 'service.db'}"
        settings = {"EQUIPOISE_REQUEST_SECONDS": "30", "EQUIPOISE_PAGE": "false"}
        with running(url, folder / "log", settings=settings) as server:
            key = make_key(url, "admin")
            client = server.client(key)
            for pool in ("attacked", "replaced", "other"):
                new_pool(client, pool, PoolRequest(system="elo"))
            client.post_matches("other", duels(VOIDED, 200, random.Random(1)))
            attacked = Attacked(server, key)
            rows = [
                attack(attacked, server, name, media, body)
                for name, (media, body) in attacks().items()
            ]
            grown = replace(attacked, folder)
    question = (__doc__ or "").strip()
    parts = [Part("One request", COLUMNS, rows), Part("Replacements", GROWTH, [grown])]
    report_parts("service_attacks", question, parts)


if __name__ == "__main__":
    main()
