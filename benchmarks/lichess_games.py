"""Does `lichess` give a real player's rating progress on Lichess?

Reads the rated standard games of one player and one speed from a PGN that Lichess exports, in the
order of their times. It starts with the rating shown before the first game of a range of years and
never looks at the player's shown ratings again: each game is rated by `lichess` from the rating
that it has computed so far. Two things are compared with the PGN: the rating before each game, and
the change by each game.

A PGN shows ratings without their fraction and no deviations: half a point is added, opponents get
the deviation 60, and the player starts at the least one, 45, unless told otherwise. The volatility
is not shown either, so there are two rows: 0.09, at which Lichess starts new accounts today, and
0.06, at which it started old ones.

    python benchmarks/lichess_games.py GAMES.pgn --player NAME --years 2020 --years 2021-2023
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import equipoise as eq
from report import report

#: Deviation of opponents, rating points, and volatilities that are tried.
OPPONENT, VOLATILITIES = 60.0, (0.09, 0.06)

#: Longest games of a speed: seconds of the clock and of 40 increments, as Lichess names them.
SPEEDS = {
    "bullet": (30, 180),
    "blitz": (180, 480),
    "rapid": (480, 1500),
    "classical": (1500, 10**9),
}

SCORES = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


class Game(NamedTuple):
    """A game as the player saw it."""

    time: datetime
    white: bool
    score: float
    rating: int
    opponent: int
    change: int


def games_of(pgn: Path, player: str, speed: str) -> list[Game]:
    """Return the rated games of a player at a speed, in order."""
    every: list[dict[str, str]] = []
    for line in pgn.read_text(encoding="utf-8").splitlines():
        tag = re.fullmatch(r'\[(\w+) "(.*)"\]', line)
        if tag and tag[1] == "Event":
            every.append({})
        if tag:
            every[-1][tag[1]] = tag[2]
    shortest, longest = SPEEDS[speed]
    found = []
    for tags in every:
        clock = tags.get("TimeControl", "").partition("+")
        if tags.get("Variant", "Standard") != "Standard" or not clock[2].isdecimal():
            continue
        seconds = int(clock[0]) + 40 * int(clock[2])
        if "WhiteRatingDiff" not in tags or not shortest <= seconds < longest:
            continue
        white = tags["White"] == player
        own, other = ("White", "Black") if white else ("Black", "White")
        score = SCORES[tags["Result"]]
        found.append(
            Game(
                datetime.fromisoformat(
                    f"{tags['UTCDate'].replace('.', '-')}T{tags['UTCTime']}"
                ).replace(tzinfo=UTC),
                white,
                score if white else 1.0 - score,
                int(tags[f"{own}Elo"]),
                int(tags[f"{other}Elo"]),
                int(tags[f"{own}RatingDiff"]),
            )
        )
    return sorted(found, key=lambda game: game.time)


def row_of(
    games: Sequence[Game], years: str, deviation: float, volatility: float, advantage: float
) -> list[str]:
    """Return how far the ratings of a range of years are from those shown."""
    first, _, last = years.partition("-")
    part = [game for game in games if int(first) <= game.time.year <= int(last or first)]
    system = eq.Lichess(home_advantage=advantage)
    player = system.rating(part[0].rating + 0.5, deviation, volatility=volatility)
    apart, changes = [], []
    for game in part:
        apart.append(abs(int(player.rating) - game.rating))
        opponent = system.rating(game.opponent + 0.5, OPPONENT)
        home = (0 if game.white else 1) if advantage else None
        after, _ = system.rate(
            [player, opponent], scores=[game.score, 1.0 - game.score], time=game.time, home=home
        )
        changes.append(abs(round(after.rating - player.rating) - game.change))
        player = after
    count = len(part)
    return [
        years,
        f"{volatility:g}",
        f"{count:,}",
        f"{100 * sum(one == 0 for one in changes) / count:.1f}",
        f"{100 * sum(one <= 1 for one in changes) / count:.1f}",
        f"{max(changes)}",
        f"{sum(apart) / count:.1f}",
        f"{max(apart)}",
        f"{apart[-1]}",
    ]


def main() -> None:
    """Compare and report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("pgn", type=Path)
    options.add_argument("--player", required=True)
    options.add_argument("--speed", default="blitz", choices=sorted(SPEEDS))
    options.add_argument("--years", action="append", required=True, help="2020, or 2021-2023")
    options.add_argument("--deviation", type=float, default=45.0, help="of the player at first")
    options.add_argument("--home-advantage", type=float, default=0.0)
    options.add_argument("--source", default="", help="where the PGN is from, for the report")
    given = options.parse_args()
    games = games_of(given.pgn, given.player, given.speed)
    rows = [
        row_of(games, years, given.deviation, volatility, given.home_advantage)
        for years in given.years
        for volatility in VOLATILITIES
    ]
    question = (
        "Does `lichess` give a real player's rating progress on Lichess? The rated standard "
        f"{given.speed} games of one account{given.source and f' ({given.source})'}. Each row "
        "starts with the rating shown before its first game, and goes on from its own ratings. "
        f"The player begins with the deviation {given.deviation:g}. Opponents have the rating "
        f"shown and the deviation {OPPONENT:g}; White's advantage is {given.home_advantage:g} "
        "points. Distances are in rating points."
    )
    columns = (
        "years",
        "volatility at first",
        "games",
        "changes equal, %",
        "within 1, %",
        "farthest change",
        "mean distance of ratings",
        "largest",
        "at last",
    )
    report("lichess_games", question, columns, rows)


if __name__ == "__main__":
    main()
