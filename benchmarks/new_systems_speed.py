"""How fast are the home advantage, rating periods, partial play and the federations' systems?

Every row is a replay of the same duels, or of the same matches of two teams of three, by two
systems in turns in one process: a turn of the first, then one of the second, and so on. The figures
are the medians of the processor time of a match over all turns, and the median of the ratios of
neighbouring turns. Kernels are compiled before.

A system at home is measured beside itself on neutral ground; the matches are the same, and in each
the first team is at home. The packages glicko2 and openskill rate the same duels one call after the
other, as their users do, in the same turns. They have no call for a whole history, so this compares
ways of working and not formulas. The other systems have no peer here.

    python benchmarks/new_systems_speed.py --peers PEERS/lib/python3.11/site-packages
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from report import Part, pace, report_parts

PLAYERS, MATCHES, TURNS = 500, 20_000, 7

#: Matches that a peer rates in a turn.
PEER_MATCHES = 2_000

#: Systems with a home advantage.
AT_HOME = (
    "elo",
    "glicko",
    "glicko2",
    "lichess",
    "stephenson",
    "plackett-luce",
    "bradley-terry",
    "thurstone-mosteller",
    "trueskill",
    "trueskill-spb",
    "team-glicko2",
)

#: Systems with partial play.
IN_SHARES = (
    "plackett-luce",
    "bradley-terry",
    "thurstone-mosteller",
    "trueskill",
    "trueskill-spb",
)

#: Systems that are new, each beside an older one of its kind.
NEW = {
    "lichess": "glicko2",
    "stephenson": "glicko",
    "fide": "elo",
    "dwz": "elo",
    "egf": "elo",
    "uscf": "elo",
    "thurstone-mosteller": "bradley-terry",
}


def matches(size: int, *, home: bool) -> History:
    """Return matches of two teams of this size, a tenth of them drawn, 20 a day."""
    rng = np.random.default_rng(11)
    # Steps that together are shorter than the circle of players name nobody twice.
    steps = rng.integers(1, PLAYERS // (2 * size), (MATCHES, 2 * size))
    steps[:, 0] = rng.integers(0, PLAYERS, MATCHES)
    player = (np.cumsum(steps, axis=1) % PLAYERS).reshape(-1)
    second = np.where(rng.random(MATCHES) < 0.1, 0, 1)
    first_wins = rng.random(MATCHES) < 0.5
    ranks = np.where(first_wins[:, None], np.c_[0 * second, second], np.c_[second, 0 * second])
    team = np.tile(np.repeat([0, 1], size), MATCHES)
    return History(
        match_ids=np.arange(MATCHES),
        player_ids=np.arange(PLAYERS),
        offsets=2 * size * np.arange(MATCHES + 1),
        player=player,
        team=team,
        rank=np.repeat(ranks, size, axis=1).reshape(-1).astype(np.int64),
        time=(20_000 * MICROSECONDS_PER_DAY + np.arange(MATCHES) * MICROSECONDS_PER_DAY // 20),
        time_kind="date",
        share=rng.uniform(0.5, 1.0, len(player)) if size > 1 else None,
        attributes={"at_home": (team == 0).astype(np.float64)} if home else {},
    )


def replaying(name: str, history: History, **parameters: Any) -> Callable[[], float]:
    """Return what replays a history and returns the processor seconds of a match."""
    system = eq.make_system(name, parameters)

    def once() -> float:
        start = time.process_time()
        eq.replay(system, history)
        return (time.process_time() - start) / MATCHES

    return once


def in_turns(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float, float]:
    """Return (microseconds of the first, of the second, ratio of the second to the first)."""
    first()
    second()
    times = [(first(), second()) for _ in range(TURNS)]
    one, other = (1e6 * median(each) for each in zip(*times, strict=True))
    return one, other, median(after / before for before, after in times)


def row(*named: str, measured: tuple[float, float, float]) -> tuple[str, ...]:
    """Return a row of a table, and print it."""
    one, other, ratio = measured
    found = (*named, f"{one:.2f}", f"{other:.2f}", f"{ratio:.2f}")
    print(*found, sep="  ", flush=True)
    return found


def home(names: set[str]) -> Part:
    """Return the table of a fixed and a learned home advantage."""
    history, rows = matches(1, home=True), []
    for name in AT_HOME:
        if name in names:
            plain = replaying(name, history)
            for how, more in (
                ("fixed", {"home_advantage": 60.0}),
                ("learned", {"learn_home_advantage": True}),
            ):
                measured = in_turns(plain, replaying(name, history, **more))
                rows.append(row(f"`{name}`", how, measured=measured))
    columns = ("system", "home advantage", "neutral, us", "at home, us", "ratio")
    return Part("Duels with a home advantage", columns, rows)


def periods(names: set[str]) -> Part:
    """Return the table of rating periods."""
    history, rows = matches(1, home=False), []
    for name in ("glicko", "glicko2"):
        if name in names:
            measured = in_turns(
                replaying(name, history, period_days=None), replaying(name, history, period_days=30)
            )
            rows.append(row(f"`{name}`", measured=measured))
    columns = ("system", "period is a match, us", "period of 30 days, us", "ratio")
    return Part("Duels in rating periods", columns, rows)


def shares(names: set[str]) -> Part:
    """Return the table of partial play."""
    history, rows = matches(3, home=False), []
    for name in IN_SHARES:
        if name in names:
            measured = in_turns(replaying(name, history), replaying(name, history, shares="play"))
            rows.append(row(f"`{name}`", measured=measured))
    columns = ("system", "shares=off, us", "shares=play, us", "ratio")
    return Part("Teams of three with partial play", columns, rows)


def new(names: set[str]) -> Part:
    """Return the table of the new systems."""
    history, rows = matches(1, home=False), []
    for name, other in NEW.items():
        if name in names:
            one, mine, ratio = in_turns(replaying(other, history), replaying(name, history))
            found = row(f"`{other}`", f"`{name}`", measured=(one, mine, ratio))
            rows.append((*found, f"{1e6 / mine:,.0f}"))
    columns = ("beside", "new", "beside, us", "new, us", "ratio", "new, duels a second")
    return Part("Duels by the new systems", columns, rows)


def of_peer(players: list[Any], history: History, rate: Callable[[Any, Any, bool], Any]) -> float:
    """Return the processor seconds of a duel by a peer.

    rate : rate(players, (first, second), tied), which changes the list; the first is the winner
    """
    pairs = history.player[: 2 * PEER_MATCHES].reshape(-1, 2).tolist()
    ranks = history.rank[: 2 * PEER_MATCHES].reshape(-1, 2).tolist()
    duels = [
        (p if r[0] <= r[1] else p[::-1], r[0] == r[1]) for p, r in zip(pairs, ranks, strict=True)
    ]
    start = time.process_time()
    for pair, tied in duels:
        rate(players, pair, tied)
    return (time.process_time() - start) / PEER_MATCHES


def glicko2_peer() -> tuple[Callable[[], Any], Callable[[Any, Any, bool], None]]:
    """Return how the package glicko2 makes a player and rates a duel."""

    def duel(players: Any, pair: Any, tied: bool) -> None:
        first, second = players[pair[0]], players[pair[1]]
        before = first.rating, first.rd
        first.update_player([second.rating], [second.rd], [0.5 if tied else 1.0])
        second.update_player([before[0]], [before[1]], [0.5 if tied else 0.0])

    return importlib.import_module("glicko2").Player, duel


def openskill_peer() -> tuple[Callable[[], Any], Callable[[Any, Any, bool], None]]:
    """Return how openskill makes a player and rates a duel."""
    model = importlib.import_module("openskill.models").ThurstoneMostellerFull()

    def duel(players: Any, pair: Any, tied: bool) -> None:
        teams = [[players[pair[0]]], [players[pair[1]]]]
        after = model.rate(teams, ranks=[0, 0 if tied else 1])
        players[pair[0]], players[pair[1]] = after[0][0], after[1][0]

    return model.rating, duel


def peers(names: set[str]) -> Part:
    """Return the table of packages that rate one duel after the other."""
    history, rows = matches(1, home=False), []
    for name, package, made in (
        ("lichess", "glicko2", glicko2_peer),
        ("thurstone-mosteller", "openskill", openskill_peer),
    ):
        if name in names:
            newcomer, duel = made()

            def theirs(newcomer: Any = newcomer, duel: Any = duel) -> float:
                return of_peer([newcomer() for _ in range(PLAYERS)], history, duel)

            measured = in_turns(replaying(name, history), theirs)
            rows.append(row(f"`{name}`", package, measured=measured))
    columns = ("Equipoise, replay", "peer, one by one", "ours, us", "peer's, us", "ratio")
    return Part("Peers", columns, rows)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", help="site-packages of an environment with the peers")
    parser.add_argument("--system", action="append", help="only this system")
    asked = parser.parse_args()
    if asked.peers:
        sys.path.append(asked.peers)
    names = set(asked.system or (*AT_HOME, *IN_SHARES, *NEW))
    before, found = pace(), []
    for part in (new, *([peers] if asked.peers else []), home, periods, shares):
        one = part(names)
        if one.rows:
            speed = f"A loop of 2,000,000 steps took {before:.0f} ms before and {pace():.0f} after."
            found.append(one)
            # What is there is kept if a later part is stopped.
            ended = [*found[:-1], one._replace(note=speed)]
            report_parts("new_systems_speed", (__doc__ or "").strip(), ended)


if __name__ == "__main__":
    main()
