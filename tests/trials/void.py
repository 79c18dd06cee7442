"""Trial: a match in the middle of a long log is voided while clients post and read.

The pool is replayed and swapped in the background. Measured are the seconds until that is done,
the longest time between two acknowledgements of a client that posts without a pause, and the
longest that a page of the leaderboard took.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from equipoise.client import Client, Retries
from equipoise.errors import EquipoiseError
from equipoise.messages.matches import MatchRequest
from equipoise.messages.pools import PoolRequest
from trials.matches import differences, duels, logged, replayed, stored
from trials.server import make_key, new_pool, running

POOL = "long"
SYSTEM = "glicko2"
PLAYERS = 2000
#: Seconds of posting before and after the replay.
AROUND = 1.0


@dataclass(slots=True)
class VoidResult:
    """What a void trial measured, in seconds, and what it found wrong.

    quiet_gap : longest time between two acknowledgements before the void
    gap : the same from the void until after the swap
    read : longest time of a read from the void until after the swap; reads : how many there were
    generations : that reads saw, in their order
    """

    matches: int
    replayed: float = 0.0
    quiet_gap: float = 0.0
    gap: float = 0.0
    read: float = 0.0
    reads: int = 0
    posted: int = 0
    changed: int = 0
    loaded: float = 0.0
    generations: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Steady:
    """Asks again and again in a thread of its own, and notes when each answer came."""

    ask: Callable[[int], int]
    stop: threading.Event = field(default_factory=threading.Event)
    times: list[float] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Ask until told to stop."""
        self.times.append(time.perf_counter())
        while not self.stop.is_set():
            try:
                self.answers.append(self.ask(len(self.answers)))
            except EquipoiseError as error:
                self.errors.append(f"{error.code}: {error}")
                return
            self.times.append(time.perf_counter())

    def longest(self, since: float, until: float) -> float:
        """Return the longest time between two answers, any part of which lies in the interval."""
        pairs = zip(self.times, self.times[1:], strict=False)
        return max((after - before for before, after in pairs if after > since and before < until))


def void_trial(database: str, folder: Path, *, matches: int, seed: int = 1) -> VoidResult:
    """Run the trial and return what it measured."""
    rng = random.Random(seed)
    content = duels(matches, PLAYERS, rng)
    later = duels(100_000, PLAYERS, rng, prefix="later")
    result = VoidResult(matches)
    with running(database, folder / "server.log") as server:
        key = make_key(database, "admin")
        with server.client(key, Retries(attempts=1)) as client:
            new_pool(client, POOL, PoolRequest(system=SYSTEM, late="append"))
            started = time.perf_counter()
            for _ in client.stream_matches(POOL, content):
                pass
            result.loaded = time.perf_counter() - started
            _disturb(client, server.client(key, Retries(attempts=1)), content, later, result)
            _judge(client, [*content, *later], str(content[matches // 2].match), result)
    return result


def _disturb(
    client: Client,
    other: Client,
    content: Sequence[MatchRequest],
    later: Sequence[MatchRequest],
    result: VoidResult,
) -> None:
    """Void a match while one client posts and another reads."""
    poster = _Steady(lambda number: other.post_match(POOL, later[number]).seq)
    reader = _Steady(lambda _: client.leaderboard(POOL, limit=50).generation)
    threads = [threading.Thread(target=steady.run) for steady in (poster, reader)]
    for thread in threads:
        thread.start()
    time.sleep(AROUND)
    voided = time.perf_counter()
    amendment = client.void_match(POOL, content[len(content) // 2].match, "trial")
    while amendment.status == "pending" and time.perf_counter() - voided < 60:
        time.sleep(0.02)
        amendment = client.amendment(POOL, amendment.seq or 0)
    swapped = time.perf_counter()
    time.sleep(AROUND)
    for steady in (poster, reader):
        steady.stop.set()
    for thread in threads:
        thread.join()
    other.close()
    result.replayed = swapped - voided
    result.quiet_gap = poster.longest(0.0, voided)
    result.gap = poster.longest(voided, swapped + AROUND)
    result.read = reader.longest(voided, swapped + AROUND)
    result.reads, result.posted = len(reader.answers), len(poster.answers)
    result.generations = sorted(set(reader.answers))
    result.errors = poster.errors + reader.errors
    result.changed = 0 if amendment.difference is None else amendment.difference.changed
    if amendment.status != "done":
        result.errors.append(f"the amendment is {amendment.status}")


def _judge(
    client: Client, content: Sequence[MatchRequest], voided: str, result: VoidResult
) -> None:
    by_id = {str(match.match): match for match in content}
    order = [line.match for line in logged(client, POOL) if line.match != voided]
    expected = replayed([by_id[name] for name in order], SYSTEM)
    result.different = [name for name, _, _ in differences(stored(client, POOL), expected)]
