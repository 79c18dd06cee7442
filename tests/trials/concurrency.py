"""Trial: many clients post at once about the same players; every update must be there, in order.

Each client posts matches of its own, one by one and in small arrays. At the end the ratings, and
those that each single post was answered with, are what the library makes of the log in its order.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from equipoise.client import Client, Retries
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import MatchMessage, MatchRequest
from equipoise.messages.pools import PoolRequest
from trials.crash import wait_until_replayed
from trials.matches import differences, logged, replayed, stored, team_games, traced
from trials.server import Server, make_key, new_pool, running_together, wait_for_kernels

POOL = "crowd"
SYSTEM = "team-glicko2"
#: Matches of one post after the other: single ones, and now and then an array.
SIZES = (1, 1, 1, 1, 1, 1, 1, 1, 3)


@dataclass(slots=True)
class ConcurrencyResult:
    """What a concurrency trial found; all lists are empty where nothing is wrong.

    refused : errors that the service answered, 5xx among them
    missing : matches that are not in the log once
    different : players whose rating is not that of the library
    answered_otherwise : matches whose answer is not what the library makes of them
    """

    matches: int
    clients: int
    refused: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    answered_otherwise: list[str] = field(default_factory=list)
    compared: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Share:
    """What one client posts, and what it was answered."""

    matches: Sequence[MatchRequest]
    answers: list[MatchMessage] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def post(self, client: Client) -> None:
        """Post all; runs in a thread of its own."""
        waiting = iter(self.matches)
        with client:
            # A service that has not yet seen a new pool loads its kernels at the first request.
            wait_for_kernels(client, POOL)
            for size in cycle(SIZES):
                part = list(islice(waiting, size))
                if not part:
                    return
                try:
                    if size == 1:
                        self.answers.append(client.post_match(POOL, part[0]))
                    else:
                        client.post_matches(POOL, part)
                except EquipoiseError as error:
                    self.errors.append(f"{error.code}: {error}")


def concurrency_trial(
    database: str,
    folder: Path,
    *,
    matches: int,
    clients: int = 16,
    services: int = 1,
    seed: int = 1,
) -> ConcurrencyResult:
    """Run the trial and return what it found.

    services : on the database; the clients take turns to choose one
    """
    # Times differ by client, so that they reach the log out of order and "append" must order them.
    content = team_games(matches, 60, 3, random.Random(seed))
    shares = [_Share(content[i::clients]) for i in range(clients)]
    result = ConcurrencyResult(matches, clients)
    with running_together(database, folder, services) as servers:
        key = make_key(database, "writer", POOL)
        with servers[0].client(make_key(database, "admin")) as admin:
            new_pool(admin, POOL, PoolRequest(system=SYSTEM, late="append"))
            _post_at_once(servers, key, shares, result)
            wait_until_replayed(admin, POOL)
            _judge(admin, content, shares, result)
    return result


def _post_at_once(
    servers: Sequence[Server], key: str, shares: Sequence[_Share], result: ConcurrencyResult
) -> None:
    once = Retries(attempts=1)
    threads = [
        threading.Thread(target=share.post, args=(server.client(key, once),))
        for share, server in zip(shares, cycle(servers), strict=False)
    ]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result.seconds = time.perf_counter() - started
    result.refused = [error for share in shares for error in share.errors]


def _judge(
    client: Client,
    content: Sequence[MatchRequest],
    shares: Sequence[_Share],
    result: ConcurrencyResult,
) -> None:
    lines = logged(client, POOL)
    by_id = {str(match.match): match for match in content}
    result.missing = sorted(set(by_id).symmetric_difference(line.match for line in lines))
    if len(lines) != len(by_id):
        result.missing.append(f"{len(lines)} matches in the log of {len(by_id)}")
    in_order = [by_id[line.match] for line in lines]
    expected = replayed(in_order, SYSTEM)
    result.different = [name for name, _, _ in differences(stored(client, POOL), expected)]
    trace = traced(in_order, SYSTEM)
    for answer in (answer for share in shares for answer in share.answers):
        result.compared += 1
        told = {
            one.player: (_hex(one.rating_before), _hex(one.rating), _hex(one.deviation))
            for team in answer.teams
            for one in team.players
        }
        if told != trace[answer.match]:
            result.answered_otherwise.append(answer.match)


def _hex(value: float | None) -> str:
    return "" if value is None else value.hex()
