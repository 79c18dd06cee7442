"""Trial: matches are posted while the primary of PostgreSQL is killed and its standby takes over.

The services run on an address that names both servers, or moves, and are not started again. Clients
post, and note what was acknowledged. The primary is killed with all its processes, and the standby
promoted at once. What was acknowledged before must be in the log. At the end every match is there
once, and the ratings are those of the library, bit for bit.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.client import Client
from equipoise.messages.pools import PoolRequest
from trials.crash import CLIENTS, POOL, SYSTEM, CrashResult, Poster, judge, verified
from trials.matches import duels, logged
from trials.moving_address import MovingAddress, moving_address
from trials.server import Server, make_key, new_pool
from trials.standby import StandbyPair, standby_pair

#: Seconds after the kill within which posts must be acknowledged again.
_PATIENCE = 120.0


@dataclass(slots=True)
class FailoverResult(CrashResult):
    """What a failover trial found, beside that of a crash trial.

    before : matches acknowledged when the primary was killed
    promotion : seconds from the kill until the standby said that it is the primary
    gap : seconds from the kill until a post was acknowledged again
    unready : seconds from the kill until `/readyz` was 200 again; 0 if it never was anything else
    processes : of the services, before and after
    """

    before: int = 0
    promotion: float = 0.0
    gap: float = 0.0
    unready: float = 0.0
    processes: tuple[list[int], list[int]] = ((), ())  # type: ignore[assignment]


def failover_trial(
    folder: Path, *, matches: int, services: int = 1, moves: bool = False, seed: int = 1
) -> FailoverResult:
    """Run the trial with two new servers, and return what it found.

    services : on the database, each with some of the clients
    moves : the services have one address, which leads to the standby as soon as the primary is
        dead, thus before it takes writes; otherwise their address names both servers
    """
    content = duels(matches, 200, random.Random(seed))
    result = FailoverResult(matches, 1)
    with standby_pair() as pair, moving_address(pair.primary.port) as address:
        pair.primary.query("CREATE DATABASE trial")
        database = pair.address("trial")
        if moves:
            database = f"postgresql+psycopg://postgres@127.0.0.1:{address.port}/trial"
        servers = [Server(database, folder / f"server{at}.log") for at in range(services)]
        try:
            for server in servers:
                server.start()
            key = make_key(database, "admin")
            with servers[0].client(key) as client:
                new_pool(client, POOL, PoolRequest(system=SYSTEM, late="append"))
                posters = [
                    Poster(servers[i % services], key, content[i::CLIENTS]) for i in range(CLIENTS)
                ]
                started = time.perf_counter()
                for poster in posters:
                    poster.thread.start()
                voided = _fail_over(pair, address, servers, client, posters, result)
                for poster in posters:
                    poster.thread.join()
                    result.interrupted += poster.interrupted
                    if poster.error is not None:
                        raise poster.error
                result.seconds = time.perf_counter() - started
                judge(client, content, voided, result)
                result.processes = (result.processes[0], _processes(servers))
            for server in servers:
                server.stop()
            result.different += verified(database)
        finally:
            for server in servers:
                server.kill_rest()
    return result


def _fail_over(
    pair: StandbyPair,
    address: MovingAddress,
    servers: Sequence[Server],
    client: Client,
    posters: Sequence[Poster],
    result: FailoverResult,
) -> set[str]:
    """Kill the primary in the middle of the matches; return the match that was voided before."""
    while _acknowledged(posters) < 0.4 * result.matches:
        if not any(poster.thread.is_alive() for poster in posters):
            raise RuntimeError("the clients stopped before the primary was killed")
        time.sleep(0.002)
    result.processes = (_processes(servers), [])
    victim = posters[0].acknowledged[0]
    client.void_match(POOL, victim, "trial")
    acknowledged = {name for poster in posters for name in poster.acknowledged}
    killed = time.perf_counter()
    watch = threading.Thread(target=_watch_readiness, args=(servers[0], killed, result))
    watch.start()
    pair.primary.kill()
    address.target = pair.standby.port
    time.sleep(0.05)
    # What was under way may have been answered since; what comes from now on is of the new primary.
    result.before = before = _acknowledged(posters)

    def promote() -> None:
        pair.standby.promote()
        result.promotion = time.perf_counter() - killed

    promoting = threading.Thread(target=promote)
    promoting.start()
    while _acknowledged(posters) == before:
        if time.perf_counter() - killed > _PATIENCE:
            raise RuntimeError(f"nothing was acknowledged within {_PATIENCE:.0f} s")
        time.sleep(0.002)
    result.gap = time.perf_counter() - killed
    promoting.join()
    watch.join()
    result.lost = sorted(acknowledged - {line.match for line in logged(client, POOL)})
    return {victim}


def _watch_readiness(server: Server, killed: float, result: FailoverResult) -> None:
    """Note when the service is ready again, after it was not for a while."""
    steady = 0
    while steady < 40 and time.perf_counter() - killed < _PATIENCE:
        if server.is_ready():
            steady += 1
        else:
            steady, result.unready = 0, time.perf_counter() - killed
        time.sleep(0.05)


def _acknowledged(posters: Sequence[Poster]) -> int:
    return sum(len(poster.acknowledged) for poster in posters)


def _processes(servers: Sequence[Server]) -> list[int]:
    return [server.pid for server in servers]
