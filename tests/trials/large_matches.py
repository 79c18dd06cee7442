"""Trial: a match of very many players is posted and read, and a post of one is given up.

The readers have no key. Meanwhile `/healthz` is asked and small matches are posted, as a service
does that others use.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from trials.server import Server, make_key, new_pool, running

POOL = "contests"


def large_match(match: str, players: int, first: int = 0) -> MatchRequest:
    """Return a contest; its players are `p000000` and on, from the winner `first` on."""
    names = [f"p{(first + place) % players:06d}" for place in range(players)]
    teams = [TeamRequest([name], place) for place, name in enumerate(names, 1)]
    return MatchRequest(match, teams)


@dataclass(slots=True)
class LargeMatches:
    """What a trial measured; times are seconds.

    posted : time of each large post; NaN where it was not acknowledged
    page, message : bytes of the page of a match, and of its JSON
    pages : pages that the readers got; refused : answers that told them to come later
    health : times of `/healthz` while they read
    posts : times of small posts meanwhile; failed : those that were not acknowledged
    given_up : status of the post that took longer than a request may
    end : time from SIGTERM, right after that answer, to the end of the service
    recorded : whether the match of that post is in the pool afterwards
    again : status of the same post afterwards
    """

    posted: list[float] = field(default_factory=list)
    page: int = 0
    message: int = 0
    pages: int = 0
    refused: int = 0
    health: list[float] = field(default_factory=list)
    posts: list[float] = field(default_factory=list)
    failed: int = 0
    given_up: int = 0
    end: float = 0.0
    recorded: bool = False
    again: int = 0


def large_matches_trial(
    url: str,
    folder: Path,
    *,
    players: int,
    large: int = 3,
    readers: int = 12,
    seconds: float = 10.0,
    patience: float = 1.0,
    system: str = "elo-mmr",
    found: LargeMatches | None = None,
) -> LargeMatches:
    """Post large matches, read one from many threads, and give up the post of another.

    large : matches posted; seconds : of reading; patience : of the request that is given up
    found : gets the results, also if the trial ends early
    """
    found = LargeMatches() if found is None else found
    key = make_key(url, "admin")
    # A busy machine may take longer than the 30 s of a request.
    given = {"EQUIPOISE_REQUEST_SECONDS": "120", "EQUIPOISE_ADDRESS_RATE": "1000000"}
    with _serving(url, folder, given, system, key) as server:
        name = ""  # The last one that was acknowledged is read.
        for number in range(large):
            began = time.monotonic()
            status, _ = _post(server, key, large_match(f"large-{number}", players, number))
            found.posted.append(time.monotonic() - began if status == 200 else float("nan"))
            if status == 200:
                name = f"large-{number}"
        page, api = f"/pools/{POOL}/matches/{name}", f"/v1/pools/{POOL}/matches/{name}"
        found.page, found.message = len(_get(server, page)[1]), len(_get(server, api)[1])
        _read_while_posting(server, key, page, readers, seconds, found)
        server.stop()
    given["EQUIPOISE_REQUEST_SECONDS"] = f"{patience:g}"
    last = large_match("given-up", players, large)
    with _serving(url, folder, given, system, key) as server:
        found.given_up, _ = _post(server, key, last)
        began = time.monotonic()
        server.stop()
        found.end = time.monotonic() - began
    given["EQUIPOISE_REQUEST_SECONDS"] = "120"
    with _serving(url, folder, given, system, key) as server:
        found.recorded = _get(server, f"/v1/pools/{POOL}/matches/given-up")[0] == 200
        found.again, _ = _post(server, key, last)
        server.stop()
    return found


@contextmanager
def _serving(
    url: str, folder: Path, settings: Mapping[str, str], system: str, key: str
) -> Iterator[Server]:
    """Give a server that runs, with the pool."""
    with running(url, folder / "server.log", settings=settings) as server:
        with server.client(key) as client:
            new_pool(client, POOL, PoolRequest(system=system, public=True))
        yield server


def _read_while_posting(
    server: Server, key: str, page: str, readers: int, seconds: float, found: LargeMatches
) -> None:
    """Read a page from many threads, ask for the health, and post small matches."""
    until, lock = time.monotonic() + seconds, threading.Lock()

    def repeat(once: Callable[[int], None], pause: float) -> None:
        number = 0
        while time.monotonic() < until:
            once(number)
            number += 1
            time.sleep(pause)

    def read(number: int) -> None:
        status, _ = _get(server, page)
        with lock:
            found.pages += status == 200
            found.refused += status in (429, 503)

    def ask(number: int) -> None:
        began = time.monotonic()
        _get(server, "/healthz")
        found.health.append(time.monotonic() - began)

    def post(number: int) -> None:
        began = time.monotonic()
        status, _ = _post(server, key, large_match(f"small-{number}", 2))
        found.posts.append(time.monotonic() - began)
        found.failed += status != 200

    work = [(read, 0.0)] * readers + [(ask, 0.02), (post, 0.1)]
    threads = [threading.Thread(target=repeat, args=one, daemon=True) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _post(server: Server, key: str, match: MatchRequest) -> tuple[int, bytes]:
    import msgspec

    body = msgspec.json.encode(match)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return _ask(server, "POST", f"/v1/pools/{POOL}/matches", body, headers)


def _get(server: Server, path: str) -> tuple[int, bytes]:
    return _ask(server, "GET", path, None, {})


def _ask(
    server: Server, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
) -> tuple[int, bytes]:
    """Return the status and the content of an answer; status 0 if there was none."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=180.0)
    try:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def percentile(values: list[float], part: float) -> float:
    """Return the value that this part of the values do not exceed; NaN for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")
