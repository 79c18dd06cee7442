"""Do the error bars of PPR hold what they promise, with few and with many draws?

Round robins are drawn at known ratings. A game between players who expect E and 1 - E is drawn with
the chance 4 d E (1 - E), at most 2E and 2 (1 - E), and won so that the expected score is E. The
rating of a player, relative to the mean, should lie within 1.96 standard errors of the truth 95
times of 100. "As coins" are the same errors without the dispersion, which take every game for a
coin. "Lowest" is the player whose bar holds least often. Tournaments in which some group took every
point of the others have no equilibrium and are not counted.

Is the player found on top as likely to be better than the second as superiority says? Ten players,
whose ratings are normal, play round robins without draws. "Field" is superiority with the prior of
the field, "flat" with a flat one, in 1,000 tournaments. "True" needs no ratings, as points order
the players of a round robin: of 400,000 tournaments, its error is at most 0.1 points. Those without
an equilibrium are not counted; with nine games each and a spread of 200, they are half. "Error" is
that of the difference.

With the argument `ratings`, only the bars of bradley-terry are measured: see `RATINGS`.
"""

from __future__ import annotations

import math
import sys
from itertools import product
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.games import Games
from equipoise.data.history import History
from equipoise.errors import NoEquilibriumError
from equipoise.evaluate.leaderboard_errors import duel_errors
from equipoise.rating.replay import replay
from equipoise.rating.systems.weng_lin import BradleyTerry
from equipoise.tournament.curves import ELO_RATE, EloCurve
from equipoise.tournament.equilibrium import performance_equilibrium
from report import Part, report, report_parts

#: What results/error_bars_of_ratings.md says of itself.
RATINGS = """\
Do the bars of bradley-terry in `leaderboard` cover the strengths? Pools of players whose strengths
are normal with a spread, in Elo points, and do not change, play matches of two. Errors are relative
to the mean of the pool, on the scale of the system's own predictions ("ten to one" is the mean
number of its points at these odds). "Results" are the bars of `leaderboard`, from all results;
"deviation" are 1.96 deviations, which all other tables, charts and pages show. "Best" is the
strongest player, or the outlier. "Width" is the mean half-width. "Uneven" is a pool in which the
first player plays seven times as often as the last; "outlier" one in which a player is 600 points
better than drawn. The prior of the spread was chosen on pools of 6, 8, 10, 12 and 20 players with
other seeds, without outliers and draws. Pools of 15 and 17 players, and the uneven one without an
outlier, were not looked at before.
"""
WITHIN = 1.959963984540054
#: Tournaments with ratings in a line of the best two; those without, in batches.
RATED, BATCHES, BATCH = 1_000, 20, 20_000
#: Players of them.
PLAYERS = 10


class Design(NamedTuple):
    """A round robin of players whose ratings are spread evenly over -reach to reach."""

    players: int
    rounds: int
    reach: float
    tournaments: int


DESIGNS = (
    Design(20, 2, 150.0, 600),
    Design(20, 2, 250.0, 600),
    Design(10, 1, 100.0, 1500),
    Design(11, 1, 150.0, 1500),
    Design(12, 1, 200.0, 1500),
)
DRAWS = (0.0, 0.3, 0.6)


def drawn(design: Design, draws: float, truth: Floats, rng: np.random.Generator) -> Games:
    """Return the games of one tournament."""
    one, other = (np.tile(side, design.rounds) for side in np.triu_indices(design.players, 1))
    expected = EloCurve().expected(truth[one] - truth[other])
    rest = 1.0 - expected
    chance = np.minimum(4.0 * draws * expected * rest, 2.0 * np.minimum(expected, rest))
    win = expected - 0.5 * chance
    shown = rng.random(len(one))
    points = np.where(shown < win, 1.0, np.where(shown < win + chance, 0.5, 0.0))
    return Games(player_ids=np.arange(design.players), white=one, black=other, points=points)


def line(design: Design, draws: float) -> tuple[str, ...]:
    """Return a line of the table."""
    truth = np.linspace(-design.reach, design.reach, design.players)
    rng = np.random.default_rng(1)
    held, coins, dispersions = [], [], []
    for _ in range(design.tournaments):
        try:
            found = performance_equilibrium(drawn(design, draws, truth, rng))
        except NoEquilibriumError:
            continue
        away = np.abs(found.rating - found.rating.mean() - truth)
        errors, dispersion = found.errors(), found.uncertainty.dispersion(0)
        held.append(away <= WITHIN * errors)
        coins.append(away <= WITHIN * errors / math.sqrt(dispersion))
        dispersions.append(dispersion)
    name = {1: "single", 2: "double"}[design.rounds]
    return (
        f"{design.players} players, {name}, +-{design.reach:.0f}",
        f"{100 * draws:.0f} %",
        f"{(design.players - 1) * design.rounds}",
        f"{len(held):,}",
        f"{np.mean(held):.3f}",
        f"{np.mean(held, axis=0).min():.3f}",
        f"{np.mean(coins):.3f}",
        f"{np.mean(dispersions):.3f}",
    )


def in_order(rounds: int, spread: float) -> tuple[float, int]:
    """Return how often the better of the best two is on top, and of how many tournaments.

    A group took every point of the others if the best k players made all that they could.
    """
    rng = np.random.default_rng(7)
    one, other = np.triu_indices(PLAYERS, 1)
    best = np.arange(1, PLAYERS)
    most = rounds * best * (PLAYERS - 0.5 * (best + 1))
    right = []
    for _ in range(BATCHES):
        truth = rng.normal(0.0, spread, (BATCH, PLAYERS))
        won = rng.binomial(rounds, EloCurve().expected(truth[:, one] - truth[:, other]))
        points = np.zeros((BATCH, PLAYERS))
        for game, (first, second) in enumerate(zip(one, other, strict=True)):
            points[:, first] += won[:, game]
            points[:, second] += rounds - won[:, game]
        order = np.argsort(-points, axis=1)
        made = np.cumsum(np.take_along_axis(points, order, axis=1), axis=1)[:, :-1]
        top = np.take_along_axis(truth, order[:, :2], axis=1)[np.all(made < most, axis=1)]
        right.append(top[:, 0] > top[:, 1])
    whole = np.concatenate(right)
    return float(np.mean(whole)), len(whole)


def superiority(rounds: int, spread: float) -> tuple[str, ...]:
    """Return a line of the table of the best two players."""
    rng = np.random.default_rng(1)
    design = Design(PLAYERS, rounds, 0.0, RATED)
    found: list[tuple[float, ...]] = []
    while len(found) < design.tournaments:
        try:
            one = performance_equilibrium(drawn(design, 0.0, rng.normal(0.0, spread, PLAYERS), rng))
        except NoEquilibriumError:
            continue
        best = np.argsort(-one.rating)[:2]
        found.append(tuple(one.superiority(best, prior)[0, 1] for prior in ("field", "flat")))
    field, flat = np.mean(found, axis=0)
    true, tournaments = in_order(rounds, spread)
    error = math.hypot(
        np.std(found, axis=0)[0] / math.sqrt(RATED), math.sqrt(true * (1 - true) / tournaments)
    )
    shares = (f"{100 * share:.1f} %" for share in (field, flat, true))
    return (
        f"{(PLAYERS - 1) * rounds}",
        f"{spread:.0f}",
        *shares,
        f"{100 * (field - true):+.1f}",
        f"{100 * error:.2f}",
    )


class Pool(NamedTuple):
    """A pool of players whose strengths are normal.

    spread : Elo points
    uneven : logarithm of how much more often the first player plays than the last
    outlier : Elo points by which the first player is better than drawn
    draws : chance of a draw between equals
    """

    players: int
    matches: int
    spread: float
    words: str = ""
    uneven: float = 0.0
    outlier: float = 0.0
    draws: float = 0.0


POOLS = (
    *(Pool(*one) for one in product((6, 10, 20), (200, 600, 2000), (100.0, 200.0, 400.0))),
    *(Pool(*one) for one in ((8, 300, 300.0), (15, 400, 50.0), (17, 1000, 150.0))),
    Pool(12, 600, 200.0, "uneven", uneven=math.log(7.0)),
    Pool(20, 400, 100.0, "outlier", outlier=600.0),
    Pool(20, 2000, 100.0, "outlier", outlier=600.0),
    Pool(12, 300, 100.0, "uneven, outlier plays least", uneven=-math.log(7.0), outlier=600.0),
    Pool(10, 400, 200.0, "30 % draws", draws=0.3),
    Pool(10, 400, 200.0, "60 % draws", draws=0.6),
)
#: Pools of every kind: with ten players, the error of the coverage is 0.6 points.
DRAWN_POOLS = 200


def matches_of(pool: Pool, truth: Floats, rng: np.random.Generator) -> Games:
    """Return the matches of one pool, one after the other."""
    chance = np.exp(-pool.uneven * np.arange(pool.players) / (pool.players - 1))
    # The first two of a random order by Gumbel's rule are drawn without replacement.
    keys = np.log(chance) + rng.gumbel(size=(pool.matches, pool.players))
    one, other = np.argsort(-keys, axis=1)[:, :2].T
    expected = EloCurve().expected(truth[one] - truth[other])
    drawn = np.minimum(4.0 * pool.draws * expected * (1.0 - expected), 2.0 * expected)
    drawn = np.minimum(drawn, 2.0 * (1.0 - expected))
    shown, win = rng.random(pool.matches), expected - 0.5 * drawn
    points = np.where(shown < win, 1.0, np.where(shown < win + drawn, 0.5, 0.0))
    return Games(player_ids=np.arange(pool.players), white=one, black=other, points=points)


def history_of(games: Games) -> History:
    """Return games as the matches of a history."""
    points = np.stack([games.points, 1.0 - games.points], axis=1)
    return History(
        match_ids=np.arange(1, len(points) + 1),
        player_ids=games.player_ids,
        offsets=2 * np.arange(len(points) + 1),
        player=np.stack([games.white, games.black], axis=1).ravel(),
        team=np.tile([0, 1], len(points)),
        rank=(points < points[:, ::-1]).astype(np.int64).ravel(),
    )


def covered(pool: Pool) -> tuple[str, ...]:
    """Return a line of the table of bars of bradley-terry."""
    rng, system = np.random.default_rng(1), BradleyTerry()
    found, widths, units = [], [], []
    for _ in range(DRAWN_POOLS):
        truth = rng.normal(0.0, pool.spread, pool.players)
        truth[0] += pool.outlier
        games = matches_of(pool, truth, rng)
        ratings = replay(system, history_of(games)).ratings
        scale = system.outlook(ratings.rating, ratings.deviation).scale
        by_results, unit = duel_errors(games, ratings.rating, scale, 0.95)
        strength = truth * ELO_RATE * unit
        away = np.abs(ratings.rating - ratings.rating.mean() - strength + strength.mean())
        width = np.array([by_results, WITHIN * ratings.deviation])
        best = 0 if pool.outlier else int(np.argmax(truth))
        found.append([*np.mean(away <= width, axis=1), *(away <= width)[:, best]])
        widths.append(width.mean(axis=1))
        units.append(unit)
    shares = [f"{100 * share:.1f} %" for share in np.mean(found, axis=0)]
    half = [f"{one:.0f}" for one in np.mean(widths, axis=0)]
    return (
        f"{pool.players}",
        f"{pool.matches:,}",
        f"{pool.spread:.0f}",
        pool.words,
        f"{math.log(10.0) * np.mean(units):.0f}",
        *(shares[0], shares[2], half[0], shares[1], shares[3], half[1]),
    )


def report_ratings() -> None:
    """Measure and report the bars of bradley-terry."""
    columns = (
        *("players", "matches", "spread", "pool", "ten to one"),
        *("results", "best", "width", "deviation", "best", "width"),
    )
    report("error_bars_of_ratings", RATINGS.strip(), columns, [covered(pool) for pool in POOLS])


def main() -> None:
    """Measure and report."""
    report_ratings()
    if "ratings" in sys.argv[1:]:
        return
    rows = [line(design, draws) for design in DESIGNS for draws in DRAWS]
    columns = (
        "round robin",
        "draws between equals",
        "games each",
        "tournaments",
        "coverage",
        "lowest",
        "as coins",
        "dispersion",
    )
    best = [superiority(rounds, spread) for rounds in (1, 2, 4) for spread in (50.0, 100.0, 200.0)]
    heads = ("games each", "spread", "field", "flat", "true", "field less true", "error")
    parts = [Part("Error bars", columns, rows), Part("The best two", heads, best)]
    report_parts("error_bars", (__doc__ or "").strip(), parts)


if __name__ == "__main__":
    main()
