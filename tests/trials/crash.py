"""Trial: matches are posted while the server is killed again and again; nothing may be lost.

Clients post each its share, by single matches, arrays and streams, and note what the service
acknowledged. After every kill and restart all that was acknowledged before must be in the log. At
the end every match is there once, and the ratings are those of the library, bit for bit.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Literal, TypeAlias

from equipoise.client import Client, Retries
from equipoise.errors import EquipoiseError, UnavailableError
from equipoise.messages.matches import MatchRequest
from equipoise.messages.pools import PoolRequest
from trials.matches import differences, duels, logged, replayed, stored
from trials.server import Server, make_key, new_pool

POOL = "crash"
SYSTEM = "glicko2"
CLIENTS = 4
#: Matches in an array, and in a stream.
ARRAY, STREAM = 25, 200
#: Seconds for which a service is stopped: longer than PostgreSQL leaves it the lock of a pool
#: (`SILENCE` in web.writer).
_STOPPED = 2.5
#: What a trial does to the services.
Hit: TypeAlias = Literal["all", "kill", "stop"]


@dataclass(slots=True)
class CrashResult:
    """What a crash trial found; all lists are empty where nothing is wrong.

    lost : acknowledged matches that were not in the log after a restart
    missing, twice : of all matches, at the end
    different : players whose rating is not that of the library
    interrupted : requests that were under way and got no answer
    gaps : longest pauses of acknowledgements while one service was stopped, or after it was killed,
        seconds by hit
    restart : seconds from the start of a killed server until it is ready
    """

    matches: int
    kills: int
    lost: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    voided: int = 0
    interrupted: int = 0
    restart: list[float] = field(default_factory=list)
    gaps: dict[Hit, list[float]] = field(default_factory=dict)
    seconds: float = 0.0


class Poster:
    """Posts matches one request after the other; without an answer it posts the same again."""

    def __init__(self, server: Server, key: str, matches: Sequence[MatchRequest]) -> None:
        self._server = server
        self._key = key
        self._matches = matches
        self.acknowledged: list[str] = []
        self.interrupted = 0
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            with self._server.client(self._key, Retries(attempts=1)) as client:
                waiting = iter(self._matches)
                for size, send in cycle(_ways(client)):
                    part = list(islice(waiting, size))
                    if not part:
                        return
                    self._post(part, send)
        except BaseException as error:  # noqa: BLE001  # raised by the thread that waits
            self.error = error

    def _post(self, part: Sequence[MatchRequest], send: _Send) -> None:
        while part:
            try:
                for count in send(part):
                    self.acknowledged += [str(match.match) for match in part[:count]]
                    part = part[count:]
            except UnavailableError as error:
                self.interrupted += "no connection" not in str(error)
                time.sleep(0.02)


#: Posts matches, and gives how many more are recorded each time that the service says so.
_Send = Callable[[Sequence[MatchRequest]], Iterator[int]]


def _ways(client: Client) -> list[tuple[int, _Send]]:
    """Return the ways to post, each with how many matches it takes."""

    def single(part: Sequence[MatchRequest]) -> Iterator[int]:
        client.post_match(POOL, part[0])
        yield 1

    def array(part: Sequence[MatchRequest]) -> Iterator[int]:
        client.post_matches(POOL, part)
        yield len(part)

    def stream(part: Sequence[MatchRequest]) -> Iterator[int]:
        before = 0
        for line in client.stream_matches(POOL, part):
            yield line.through - before
            before = line.through

    ways: list[tuple[int, _Send]] = [(1, single)] * ARRAY
    return [*ways, (ARRAY, array), (STREAM, stream)]


def crash_trial(
    database: str,
    folder: Path,
    *,
    matches: int,
    kills: int,
    voids: bool = True,
    services: int = 1,
    hits: Sequence[Hit] = ("all",),
    seed: int = 1,
) -> CrashResult:
    """Run the trial and return what it found.

    services : on the database, each with some of the clients
    hits : what is done in turn: "all" kills all services and starts them again, "kill" kills one
        and starts it again, "stop" stops one for longer than others wait for it
    voids : a match is voided right before every kill, so that a replay is under way
    """
    rng = random.Random(seed)
    content = duels(matches, 200, rng)
    servers = [Server(database, folder / f"server{at}.log") for at in range(services)]
    result = CrashResult(matches, kills)
    started = time.perf_counter()
    try:
        for server in servers:
            server.start()
        key = make_key(database, "admin")
        with servers[0].client(key) as client:
            new_pool(client, POOL, PoolRequest(system=SYSTEM, late="append"))
            posters = [
                Poster(servers[i % services], key, content[i::CLIENTS]) for i in range(CLIENTS)
            ]
            for poster in posters:
                poster.thread.start()
            voided = _kill_often(servers, client, posters, result, voids, hits, rng)
            for poster in posters:
                poster.thread.join()
                result.interrupted += poster.interrupted
                if poster.error is not None:
                    raise poster.error
            result.seconds = time.perf_counter() - started
            judge(client, content, voided, result)
        for server in servers:
            server.stop()
        result.different += verified(database)
    finally:
        for server in servers:
            server.kill_rest()
    return result


def _kill_often(
    servers: Sequence[Server],
    client: Client,
    posters: Sequence[Poster],
    result: CrashResult,
    voids: bool,
    hits: Sequence[Hit],
    rng: random.Random,
) -> set[str]:
    """Hit services at even progress; return the matches that were voided."""
    tried: set[str] = set()
    for kill in range(1, result.kills + 1):
        goal = result.matches * kill / (result.kills + 1)
        while sum(len(poster.acknowledged) for poster in posters) < goal:
            if not any(poster.thread.is_alive() for poster in posters):
                break
            time.sleep(0.002)
        if voids:
            victim = rng.choice(posters[0].acknowledged)
            if victim not in tried:
                tried.add(victim)
                client.void_match(POOL, victim, "trial")
        time.sleep(rng.uniform(0.0, 0.05))
        hit = hits[kill % len(hits)]
        struck = servers if hit == "all" else [rng.choice(servers)]
        for server in struck:
            if hit == "stop":
                os.killpg(server.pid, signal.SIGSTOP)
            else:
                server.kill()
        if hit != "all":
            result.gaps.setdefault(hit, []).append(_longest_pause(posters, _STOPPED))
        acknowledged = {name for poster in posters for name in poster.acknowledged}
        for server in struck:
            if hit == "stop":
                os.killpg(server.pid, signal.SIGCONT)
            else:
                result.restart.append(server.start())
        result.lost += sorted(acknowledged - {line.match for line in logged(client, POOL)})
    return tried


def _longest_pause(posters: Sequence[Poster], seconds: float) -> float:
    """Return how long nothing was acknowledged, at the longest, in the seconds from now."""
    began = last = time.perf_counter()
    count = sum(len(poster.acknowledged) for poster in posters)
    gap = 0.0
    while time.perf_counter() - began < seconds:
        now = sum(len(poster.acknowledged) for poster in posters)
        if now > count:
            gap, last, count = max(gap, time.perf_counter() - last), time.perf_counter(), now
        if not any(poster.thread.is_alive() for poster in posters):
            return gap  # the rest is no pause
        time.sleep(0.005)
    return max(gap, time.perf_counter() - last)


def judge(
    client: Client, content: Sequence[MatchRequest], voided: set[str], result: CrashResult
) -> None:
    """Compare what is stored with what was posted, and with what the library makes of it."""
    wait_until_replayed(client, POOL, seconds=600.0)
    lines = logged(client, POOL)
    names = [line.match for line in lines]
    result.missing = sorted({str(match.match) for match in content} - set(names))
    result.twice = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    by_id = {str(match.match): match for match in content}
    result.voided = sum(line.status == "void" for line in lines)
    if {line.match for line in lines if line.status == "void"} != voided:
        result.different.append("the voided matches")
    in_order = [by_id[line.match] for line in lines]
    expected = replayed(_with_rated_times(in_order, voided), SYSTEM)
    result.different += [name for name, _, _ in differences(stored(client, POOL), expected)]


def verified(database: str) -> list[str]:
    """Return what `equipoise verify` finds different."""
    command = [sys.executable, "-m", "equipoise", "verify", "--database", database, "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    pools = json.loads(done.stdout)["pools"] if done.stdout else []
    found = [told for pool in pools for told in pool["differences"]]
    return found if done.returncode == 0 else [*found, f"verify: status {done.returncode}"]


def _with_rated_times(matches: Sequence[MatchRequest], voided: set[str]) -> list[MatchRequest]:
    """Return the matches that count, each at the time at which it was appended."""
    import msgspec

    last = 0
    found = []
    for match in matches:
        last = max(last, int(match.time or 0))
        if str(match.match) not in voided:
            found.append(msgspec.structs.replace(match, time=last))
    return found


def wait_until_replayed(client: Client, pool: str, seconds: float = 60.0) -> float:
    """Wait until nothing is pending in a pool, and return the seconds that it took."""
    started = time.perf_counter()
    while client.pool(pool).pending:
        if time.perf_counter() - started > seconds:
            raise EquipoiseError(f"{pool} was still not replayed after {seconds:g} s")
        time.sleep(0.01)
    return time.perf_counter() - started
