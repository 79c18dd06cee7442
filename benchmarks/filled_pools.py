"""Databases with a small and a large pool, filled once and kept in a folder between runs.

The pools `small` (10,000 matches, 2,000 players) and `large` (1,000,000 matches, 200,000 players)
have duels rated by glicko2, spread over two years. Every player has one match; the players of the
others are drawn with weights, so that some play thousands of matches. The stronger player wins as
often as the difference of their skills says. A pool that is only half filled is continued.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from report import ROOT

sys.path.append(str(ROOT / "tests"))

from equipoise.messages.matches import MatchRequest, TeamRequest
from equipoise.messages.pools import PoolRequest
from equipoise.pools.pool.pools import create_pool
from equipoise.pools.posting.posting import Post, post_matches
from equipoise.pools.posting.running import StateCache
from equipoise.pools.replay.states import keep_checkpoints
from equipoise.store.connection import Store, open_store
from equipoise.store.pools import find_pool
from trials.postgres import is_installed, kept_postgres


class PoolSize(NamedTuple):
    """A pool to fill: its name, and how many matches and players it gets."""

    name: str
    matches: int
    players: int


SMALL = PoolSize("small", 10_000, 2_000)
LARGE = PoolSize("large", 1_000_000, 200_000)

#: Matches of one post, and the first and last time: two years up to 2025, seconds since 1970.
_POSTED = 5_000
_FROM, _UNTIL = 1_672_531_200, 1_735_689_600
#: Player number n is drawn with weight (n + 1) to minus this power.
_SKEW = 0.6
#: Skills are normal; a difference of 400 points is odds of 10 to 1.
_SPREAD = 250.0

_FIRST = (
    *("Amber", "Brisk", "Calm", "Daring", "Eager", "Fierce", "Gentle", "Happy", "Icy", "Jolly"),
    *("Keen", "Lucky", "Misty", "Noble", "Odd", "Proud", "Quiet", "Rapid", "Silver", "Tiny"),
)
_SECOND = (
    *("otter", "falcon", "badger", "heron", "lynx", "marten", "newt", "osprey", "puma", "quail"),
    *("raven", "stoat", "tiger", "urchin", "viper", "walrus", "yak", "zebra", "wolf", "bear"),
)


def name_of(player: int) -> str:
    """Return the id of a player by number: two words and the number, as people choose names."""
    return f"{_FIRST[player % 20]}_{_SECOND[player // 20 % 20]}{player}"


def drawn_matches(size: PoolSize) -> Iterator[list[MatchRequest]]:
    """Give the matches of a pool in the order of their times, some thousands at a time."""
    rng = np.random.default_rng(size.matches)
    skill = rng.normal(0.0, _SPREAD, size.players)
    weights = np.arange(1, size.players + 1) ** -_SKEW
    pairs = rng.choice(size.players, (size.matches, 2), p=weights / weights.sum())
    # Everybody plays: pairs of a shuffled list, at places drawn among the others.
    everybody = rng.permutation(size.players)[: size.players // 2 * 2].reshape(-1, 2)
    pairs[rng.choice(size.matches, len(everybody), replace=False)] = everybody
    same = pairs[:, 0] == pairs[:, 1]
    pairs[same, 1] = (pairs[same, 1] + 1) % size.players
    difference = skill[pairs[:, 1]] - skill[pairs[:, 0]]
    wins = rng.random(size.matches) < 1.0 / (1.0 + 10.0 ** (difference / 400.0))
    times = np.linspace(_FROM, _UNTIL, size.matches).astype(np.int64).tolist()
    rows = zip(pairs.tolist(), wins.tolist(), times, strict=True)
    piece = []
    for number, ((first, second), won, when) in enumerate(rows):
        teams = [
            TeamRequest([name_of(first)], rank=0 if won else 1),
            TeamRequest([name_of(second)], rank=1 if won else 0),
        ]
        piece.append(MatchRequest(f"m{number}", teams, when))
        if len(piece) == _POSTED:
            yield piece
            piece = []
    yield piece


def fill(store: Store, size: PoolSize) -> None:
    """Fill a pool, or continue where filling it ended."""
    now = time.time_ns() // 1000
    create_pool(store, size.name, PoolRequest(system="glicko2", public=True), now)
    with store.read() as connection:
        record = find_pool(connection, size.name)
    there, cache = 0 if record is None else record.matches, StateCache()
    began, done = time.perf_counter(), 0
    for piece in drawn_matches(size):
        done += len(piece)
        if done <= there or not piece:
            continue
        post_matches(store, size.name, [Post(piece, detailed=False)], now, cache)
        keep_checkpoints(store, size.name)
        if done % 100_000 == 0:
            print(f"  {size.name}: {done:,} matches, {time.perf_counter() - began:.0f} s")


@contextmanager
def filled_databases(
    folder: Path, only: str = "", sizes: tuple[PoolSize, ...] = (SMALL, LARGE)
) -> Iterator[dict[str, str]]:
    """Give the addresses of filled databases by the names of their kinds.

    folder : in which they are kept; only : SQLite or PostgreSQL, "" for both
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    with ExitStack() as stack:
        if only in ("", "SQLite"):
            found["SQLite"] = f"sqlite:///{folder.resolve()}/pools.db"
        if only in ("", "PostgreSQL") and is_installed():
            postgres = stack.enter_context(kept_postgres(folder.resolve() / "postgres"))
            found["PostgreSQL"] = postgres.kept_database("pools")
        for url in found.values():
            store = open_store(url)
            try:
                for size in sizes:
                    fill(store, size)
            finally:
                store.close()
        yield found


def main() -> None:
    """Fill the databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the databases are kept")
    parser.add_argument("--only", default="", help="SQLite or PostgreSQL")
    options = parser.parse_args()
    with filled_databases(options.folder, options.only) as found:
        print("\n".join(found.values()))


if __name__ == "__main__":
    main()
