"""What does size cost? Reads of a pool of a million matches beside those of one of 10,000.

One worker (`equipoise serve`) has both pools in one database: `small` (10,000 matches, 2,000
players) and `large` (1,000,000 matches, 200,000 players), duels rated by glicko2. The databases are
filled once (benchmarks/filled_pools.py) and kept. Both pools take turns, round after round; the
figures are medians over the rounds, in milliseconds. "One at a time" is the p50 of one connection,
"16 connections" is the p99 of 16 connections, each with one request under way
(benchmarks/load_client.py); client and service share the cores. "Processor" is the processor time
of the service for one of these requests, on which other work on the machine has little effect.
Half of the players asked for are drawn among all, half by how often they play, so that players
with thousands of matches are among them. Explanations are of matches at five places of the log,
each of another match.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from filled_pools import LARGE, SMALL, PoolSize, filled_databases, name_of
from load_client import Load, request, run_load

from report import ROOT, Part, report_parts

sys.path.append(str(ROOT / "tests"))

from trials.server import Server, make_key, running

CONNECTIONS = 16
#: Places of the log whose matches are explained, and matches at each of them.
PLACES, EXPLAINED = (0.05, 0.25, 0.5, 0.75, 0.999), 5
#: Ratios that are wanted at most: of the p50, and of the p99 with 16 connections.
WANTED_P50, WANTED_P99 = 2.0, 3.0

#: A request of a pool, drawn at random.
Draw = Callable[[PoolSize, random.Random, str], bytes]


def drawn_player(size: PoolSize, rng: random.Random) -> str:
    """Return a player: any, or one of those who play most."""
    if rng.random() < 0.5:
        return name_of(rng.randrange(size.players))
    return name_of(min(int(size.players * rng.random() ** 2.5), size.players - 1))


def _get(path: Callable[[PoolSize, random.Random], str]) -> Draw:
    return lambda size, rng, key: request("GET", path(size, rng), key)


def _search(size: PoolSize, rng: random.Random) -> str:
    """Return a search as people type it: the beginning of a name, a word in it, or all of it."""
    name = drawn_player(size, rng)
    text = rng.choice([name, name[:6].lower(), name.partition("_")[2][:4], name[3:9]])
    return f"/pools/{size.name}/leaderboard?search={quote(text)}"


def _suggest(size: PoolSize, rng: random.Random) -> str:
    name = drawn_player(size, rng)
    return f"/pools/{size.name}/names?text={quote(name[: rng.randint(1, len(name))])}"


def _predict(size: PoolSize, rng: random.Random, key: str) -> bytes:
    """Return the question for a prediction of a duel."""
    names = rng.sample(range(size.players), 2)
    body = msgspec.json.encode({"teams": [[name_of(one)] for one in names]})
    return request("POST", f"/v1/pools/{size.name}/predict", key, body)


def _balance(size: PoolSize, rng: random.Random, key: str) -> bytes:
    """Return the question for two teams of ten players."""
    names = rng.sample(range(size.players), 10)
    body = msgspec.json.encode({"players": [name_of(one) for one in names], "teams": 2})
    return request("POST", f"/v1/pools/{size.name}/balance", key, body)


READS: dict[str, Draw] = {
    "player (API)": _get(
        lambda size, rng: f"/v1/pools/{size.name}/players/{drawn_player(size, rng)}"
    ),
    "player's matches (API)": _get(
        lambda size, rng: f"/v1/pools/{size.name}/players/{drawn_player(size, rng)}/history"
    ),
    "player's page": _get(
        lambda size, rng: f"/pools/{size.name}/players/{drawn_player(size, rng)}"
    ),
    "search of names (page)": _get(_search),
    "suggested names": _get(_suggest),
    "pool's page": _get(lambda size, rng: f"/pools/{size.name}"),
    "prediction": _predict,
    "teams of ten": _balance,
    "leaderboard (page)": _get(lambda size, rng: f"/pools/{size.name}/leaderboard"),
    "leaderboard around a player (page)": _get(
        lambda size, rng: f"/pools/{size.name}/leaderboard?around={drawn_player(size, rng)}"
    ),
}


class Times(NamedTuple):
    """Milliseconds of one round: p50 one at a time, p99 with 16 connections, processor time."""

    alone: float
    together: float
    processor: float


def checked(load: Load, what: str) -> Load:
    """Return a load of which everything was answered well, or end."""
    if set(load.statuses) != {200}:
        raise SystemExit(f"{what}: answered with {dict(load.statuses)}")
    return load


def one_round(
    server: Server, key: str, read: str, size: PoolSize, seed: int, seconds: float
) -> Times:
    """Return the times of one kind of read from one pool."""
    rng = random.Random(seed)
    drawn: Iterator[bytes] = cycle([READS[read](size, rng, key) for _ in range(4_000)])
    alone = run_load(server.port, drawn, connections=1, seconds=0.5 * seconds)
    before = server.processor_time()
    together = run_load(server.port, drawn, connections=CONNECTIONS, seconds=seconds)
    # Explanations of pages that did not wait for them end first.
    time.sleep(1.0)
    for load in (alone, together):
        checked(load, f"{size.name}, {read}")
    spent = 1000.0 * (server.processor_time() - before) / len(together.latencies)
    return Times(alone.quantile(0.5), together.quantile(0.99), spent)


def explained(server: Server, key: str, size: PoolSize, place: float, seed: int) -> float:
    """Return the median milliseconds of explanations of matches at a place of the log."""
    rng = random.Random(seed)
    first = min(int(place * size.matches), size.matches - 200)
    asked = []
    with server.client(key) as client:
        for number in rng.sample(range(first, first + 200), EXPLAINED):
            match = client.match(size.name, f"m{number}")
            player = match.teams[0].players[0].player
            path = f"/v1/pools/{size.name}/players/{player}/explain?match=m{number}"
            asked.append(request("GET", path, key))
    load = run_load(server.port, iter(asked), connections=1)
    return checked(load, "explanation").quantile(0.5)


def ratio_row(what: str, small: list[Times], large: list[Times]) -> tuple[str, ...]:
    """Return what was measured of one kind of read as a row."""
    cells = [what]
    for at in range(3):
        ours, theirs = [one[at] for one in large], [one[at] for one in small]
        ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
        cells += [f"{median(theirs):.1f}", f"{median(ours):.1f}", f"{ratio:.2f}"]
    return tuple(cells)


def measure(
    name: str, database: str, rounds: int, seconds: float, reads: list[str]
) -> tuple[Part, Part]:
    """Return the tables of one database."""
    found: dict[tuple[str, str], list[Times]] = {}
    whys: dict[tuple[str, float], list[float]] = {}
    # All requests come from one address, which has a limit by default.
    settings = {"EQUIPOISE_ADDRESS_RATE": "0"}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(database, Path(folder) / "log", settings=settings) as server,
    ):
        key = make_key(database, "admin")
        # The first round loads kernels and fills caches; it is not counted.
        for turn in range(rounds + 1):
            if turn == 1:
                found.clear()
                whys.clear()
            for read in reads:
                for size in (SMALL, LARGE):
                    times = one_round(server, key, read, size, turn, seconds)
                    found.setdefault((read, size.name), []).append(times)
            for place in PLACES:
                for size in (SMALL, LARGE):
                    milliseconds = explained(server, key, size, place, turn)
                    whys.setdefault((size.name, place), []).append(milliseconds)
    rows = [ratio_row(read, found[read, "small"], found[read, "large"]) for read in reads]
    columns = (
        *("read", "10,000: p50", "1,000,000: p50", f"ratio (wanted {WANTED_P50:g})"),
        *("10,000: p99, 16", "1,000,000: p99, 16", f"ratio (wanted {WANTED_P99:g})"),
        *("10,000: processor", "1,000,000: processor", "ratio"),
    )
    why_rows = [
        (f"{size.matches:,}", *(f"{median(whys[size.name, place]):.1f}" for place in PLACES))
        for size in (SMALL, LARGE)
    ]
    why_columns = ("explanation, matches in the pool", *(f"at {100 * one:g} %" for one in PLACES))
    return Part(name, columns, rows), Part(f"{name}, explanations", why_columns, why_rows)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the databases are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="of each load with 16 connections"
    )
    parser.add_argument("--only", default="", help="SQLite or PostgreSQL")
    parser.add_argument("--reads", default="", help="a part of the names of the reads to measure")
    options = parser.parse_args()
    busy = f"Load average before it began: {os.getloadavg()[0]:.1f}."
    reads = [one for one in READS if options.reads in one]
    parts: list[Part] = []
    with filled_databases(options.folder, options.only) as found:
        for name, url in found.items():
            parts += measure(name, url, options.rounds, options.seconds, reads)
    report_parts("large_pools", f"{(__doc__ or '').strip()} {busy}", parts)


if __name__ == "__main__":
    main()
