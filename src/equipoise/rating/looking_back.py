"""Ratings in hindsight: who was how good when, judged by all results, later ones included.

Source: R. Coulom, Whole-History Rating: A Bayesian Rating System for Players of Time-Varying
Strength, 2008. The skill of a player is a Wiener process that begins with a normal distribution;
ratings are its most probable course, given all results. Newton's method finds them. The part of
the Hessian for the ratings of one player is tridiagonal. Solving it for each player alone is linear
in the number of participations; it is the preconditioner of conjugate gradients for all players.

The process has the numbers of a system, and a pair of players has its chance F((a - b)/s):

    elo      F logistic; the variance P = K s of a rating and its drift per match P x/(1 - x),
             x = K/(4 s), with which K is the steady gain of a Kalman filter between equals
    glicko   F logistic; initial_deviation, drift and drift_per_day
    elo-mmx  F normal, s^2 = 2 beta^2; initial_deviation, gamma and drift_per_day

A match of n has all pairs up to ten players, else sixteen opponents of each, evenly spread over the
places. The pairs of a player count together as one game (elo), as n - 1 games (glicko), or as
min(n - 1, pi) games (elo-mmx): between equals, pi pairs tell as much as a performance.

Departures: Coulom moves one player after the other, which took thousands of turns for football.
Second derivatives are expected, not observed ones, which differ for the normal curve only.
Coulom's deviations take all other ratings as known. Here a game tells h/(1 + h v), where h is its
second derivative and v the opponent's variance by all other games: messages, repeated until they
agree (belief propagation). They are exact without cycles of games, and 2 % low for 200 players with
20 games each. Of the level of all players together they leave out most of what is unknown.
`max_deviation` is not used, and a weight of a match counts its pairs that often.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise._jit import inner_kernel, kernel
from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.history import History
from equipoise.data.ratings import Trace
from equipoise.errors import ConvergenceError, InvalidParameterError, require
from equipoise.numeric.functions import score_curve
from equipoise.rating.elo_mmr.elo_mmr import EloMMX
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.elo import Elo
from equipoise.rating.systems.glicko import Glicko

#: Most players of a match of which all pairs count, and opponents ahead of each in larger ones.
_ALL_PAIRS, _AHEAD = 10, 8
#: Steps of Newton's method, and the largest move at which they end, in scales of a chance.
_STEPS, _TOLERANCE = 100, 1e-8
#: Turns of all players within a step, and the part of its squared residual at which they end.
_TURNS, _CONJUGATE = 3000, 1e-12
#: Largest relative change of a variance at which its turns end.
_CHANGE = 1e-6
#: Largest move of a rating in a step, in scales of a chance.
_LARGEST_STEP = 3.0
#: Parameters that change ratings in a way that hindsight has no model of, and their neutral values.
_UNUSED = {
    "learn_home_advantage": False,
    "context_deviation": 0.0,
    "margin_rule": "off",
    "period_days": None,
    "entry": "fixed",
    "hold_level": 0.0,
}


class Process(NamedTuple):
    """What a system says of skills and pairs.

    variance : of the first rating; drift, drift_per_day : that a match and a day add, points^2
    scale : of the chance of a pair, points; normal : whether its curve is normal, else logistic
    most_games : as how many games a match of many players counts for one of them, at most
    """

    variance: float
    drift: float
    drift_per_day: float
    scale: float
    normal: bool
    most_games: float


class Skills(NamedTuple):
    """V ratings of P players, a rating for every time at which it may have changed.

    first : shape (P + 1,), the ratings of a player
    drift : shape (V,), variance since the player's rating before; the first has that of the process
    rating, variance : shape (V,), less the initial rating; changed in place
    """

    first: Ints
    drift: Floats
    rating: Floats
    variance: Floats


class Games(NamedTuple):
    """Every game twice, once for each side, by rating.

    first : shape (V + 1,), the games of a rating
    other : rating of the opponent; twin : the same game from the other side
    score : 0, 1/2 or 1; weight : how often it counts; lead : head start over the opponent, points
    """

    first: Ints
    other: Ints
    twin: Ints
    score: Floats
    weight: Floats
    lead: Floats


@inner_kernel
def _look(skills: Skills, games: Games, process: Process, told: Floats, gradient: Floats) -> None:
    """Set the information of each game, and the gradient of the log posterior, shape (V,)."""
    for player in range(len(skills.first) - 1):
        for k in range(skills.first[player], skills.first[player + 1]):
            gradient[k] = 0.0
            for g in range(games.first[k], games.first[k + 1]):
                z = skills.rating[k] + games.lead[g] - skills.rating[games.other[g]]
                z /= process.scale
                p, ratio = score_curve(z, process.normal)
                gradient[k] += games.weight[g] * (games.score[g] - p) * ratio / process.scale
                told[g] = games.weight[g] * p * (1.0 - p) * (ratio / process.scale) ** 2
            if k == skills.first[player]:
                gradient[k] -= skills.rating[k] / skills.drift[k]
            else:
                force = (skills.rating[k] - skills.rating[k - 1]) / skills.drift[k]
                gradient[k] -= force
                gradient[k - 1] += force


@inner_kernel
def _eliminate(
    skills: Skills, games: Games, player: int, told: Floats, diagonal: Floats, pivot: Floats
) -> None:
    """Set the diagonal of a player's part of the Hessian, and its pivots, both of shape (V,)."""
    start = skills.first[player]
    for k in range(start, skills.first[player + 1]):
        diagonal[k] = 1.0 / skills.drift[k]
        for g in range(games.first[k], games.first[k + 1]):
            diagonal[k] += told[g]
        pivot[k] = diagonal[k]
        if k > start:
            # The rating before has its part of the drift in its diagonal and its pivot.
            diagonal[k - 1] += 1.0 / skills.drift[k]
            pivot[k - 1] += 1.0 / skills.drift[k]
            pivot[k] -= 1.0 / (skills.drift[k] ** 2 * pivot[k - 1])


@inner_kernel
def _solve_players(skills: Skills, pivot: Floats, right: Floats, x: Floats) -> None:
    """Solve the parts of the Hessian of all players, without what connects them."""
    for player in range(len(skills.first) - 1):
        start, stop = skills.first[player], skills.first[player + 1]
        for k in range(start, stop):
            x[k] = right[k]
            if k > start:
                x[k] += x[k - 1] / (skills.drift[k] * pivot[k - 1])
        for k in range(stop - 1, start - 1, -1):
            if k < stop - 1:
                x[k] += x[k + 1] / skills.drift[k + 1]
            x[k] /= pivot[k]


@inner_kernel
def _multiply(
    skills: Skills, games: Games, told: Floats, diagonal: Floats, x: Floats, y: Floats
) -> None:
    """Set y to the product of the Hessian and x."""
    for player in range(len(skills.first) - 1):
        start = skills.first[player]
        for k in range(start, skills.first[player + 1]):
            y[k] = diagonal[k] * x[k]
            for g in range(games.first[k], games.first[k + 1]):
                y[k] -= told[g] * x[games.other[g]]
            if k > start:
                y[k] -= x[k - 1] / skills.drift[k]
                y[k - 1] -= x[k] / skills.drift[k]


@kernel
def _find_ratings(skills: Skills, games: Games, process: Process) -> tuple[int, float]:
    """Set the most probable ratings; return the steps and the last move."""
    told, rows = np.zeros(len(games.other)), len(skills.rating)
    gradient, diagonal, pivot = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    part, towards, image = np.zeros(rows), np.zeros(rows), np.zeros(rows)
    steps, largest = 0, math.inf
    while largest > _TOLERANCE * process.scale and steps < _STEPS:
        steps += 1
        _look(skills, games, process, told, gradient)
        for player in range(len(skills.first) - 1):
            _eliminate(skills, games, player, told, diagonal, pivot)
        move = np.zeros(rows)
        _solve_players(skills, pivot, gradient, part)
        towards[:] = part
        power = (gradient * part).sum()
        least = _CONJUGATE * power
        for _ in range(_TURNS):
            if power <= least:
                break
            _multiply(skills, games, told, diagonal, towards, image)
            length = power / (towards * image).sum()
            move += length * towards
            gradient -= length * image
            _solve_players(skills, pivot, gradient, part)
            before, power = power, (gradient * part).sum()
            towards *= power / before
            towards += part
        largest = np.abs(move).max() if rows else 0.0
        skills.rating[:] += min(1.0, _LARGEST_STEP * process.scale / max(largest, 1e-300)) * move
    return steps, largest


@kernel
def _find_variances(skills: Skills, games: Games, process: Process) -> tuple[int, float]:
    """Set the variances; return the turns of all players and the last relative change."""
    rows = len(skills.rating)
    known, diagonal, pivot = np.zeros(len(games.other)), np.zeros(rows), np.zeros(rows)
    _look(skills, games, process, known, np.zeros(rows))
    told = known.copy()
    turns, changed = 0, math.inf
    while changed > _CHANGE and turns < _TURNS:
        turns, changed = turns + 1, 0.0
        for player in range(len(skills.first) - 1):
            _eliminate(skills, games, player, told, diagonal, pivot)
            # Pivots from the other end; with both, the diagonal of the inverse.
            behind = 0.0
            for k in range(skills.first[player + 1] - 1, skills.first[player] - 1, -1):
                behind = diagonal[k] - behind
                variance = 1.0 / (pivot[k] + behind - diagonal[k])
                changed = max(changed, abs(variance - skills.variance[k]) / variance)
                skills.variance[k] = variance
                behind = 1.0 / (skills.drift[k] ** 2 * behind)
                for g in range(games.first[k], games.first[k + 1]):
                    others = 1.0 / variance - told[g]
                    told[games.twin[g]] = known[g] / (1.0 + known[g] / others)
    return turns, changed


@kernel
def _pairs_of(offsets: Ints, most_games: float) -> tuple[Ints, Ints, Floats]:
    """Return the participations of both sides of each pair, and how often it counts."""
    count = 0
    for m in range(len(offsets) - 1):
        n = offsets[m + 1] - offsets[m]
        count += n * (n - 1) // 2 if n <= _ALL_PAIRS else n * _AHEAD
    one, other = np.empty(count, np.int64), np.empty(count, np.int64)
    weight, at = np.empty(count), 0
    for m in range(len(offsets) - 1):
        start, n = offsets[m], offsets[m + 1] - offsets[m]
        games = min(n - 1.0, most_games)
        for i in range(n):
            for turn in range(n - 1 - i if n <= _ALL_PAIRS else _AHEAD):
                ahead = 1 + turn
                if n > _ALL_PAIRS:
                    # Halves of a ring: the other half is on the way back.
                    ahead = 1 + int((turn + 0.5) * (n - 1) / (2 * _AHEAD))
                one[at], other[at] = start + i, start + (i + ahead) % n
                weight[at] = games / (n - 1 if n <= _ALL_PAIRS else 2 * _AHEAD)
                at += 1
    return one, other, weight


@checks_arguments()
def look_back(system: RatingSystem, history: History) -> Trace:
    """Return the rating of every player in every match as all results of the history show it.

    It says who was how good when, and it is no forecast: each rating knows the later results. Its
    columns are `rating` and `deviation`, and `plot` draws them.

    system : Elo, Glicko or EloMMX; `tune` finds parameters
    history : of matches of single players
    Raises : InvalidParameterError, InvalidDataError, ConvergenceError

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> hindsight = eq.look_back(eq.Glicko(), league)
    >>> hindsight.to_polars().columns
    ['match', 'time', 'player', 'team', 'rank', 'rating', 'deviation']
    """
    process = _process_of(system)
    check_fit(system, history)
    require(
        bool(np.array_equal(history.teams(), history.sizes())),
        "history",
        "of single players to look back",
        "teams",
    )
    counted = np.repeat(system.capabilities.rated(history), history.sizes())
    skills, rating_of = _skills_of(process, history, counted)
    games = _games_of(process, history, counted, rating_of, _leads(system, history))
    steps, moved = _find_ratings(skills, games, process)
    if not moved <= _TOLERANCE * process.scale:
        raise ConvergenceError("ratings in hindsight", steps, moved)
    turns, changed = _find_variances(skills, games, process)
    if not changed <= _CHANGE:
        raise ConvergenceError("deviations in hindsight", turns, changed)
    columns = {}
    first: float = system.initial_rating  # type: ignore[attr-defined]
    for name, values in (
        ("rating", first + skills.rating),
        ("deviation", np.sqrt(skills.variance)),
    ):
        columns[name] = np.full(history.participations, np.nan)
        columns[name][counted] = values[rating_of]
    return Trace(history, columns)


def _process_of(system: RatingSystem) -> Process:
    """Return the process of a system. Raises : InvalidParameterError."""
    if not isinstance(system, Elo | Glicko | EloMMX):
        raise InvalidParameterError(
            f"{system.name} has no model to look back with: use elo, glicko or elo-mmx"
        )
    for name, neutral in _UNUSED.items():
        value = getattr(system, name, neutral)
        require(value == neutral, name, f"{neutral} to look back", value)
    if isinstance(system, EloMMX):
        weight, limit = system.limits()
        beta2, gamma2 = (1.0 + 1.0 / weight) * limit**2, weight * limit**2
        scale = math.sqrt(2.0 * beta2)
        variance = system.initial_deviation**2
        return Process(variance, gamma2, system.drift_per_day, scale, True, math.pi)
    if isinstance(system, Glicko):
        scale, variance = 400.0 / math.log(10.0), system.initial_deviation**2
        drift = system.drift**2
        return Process(variance, drift, system.drift_per_day, scale, False, math.inf)
    scale = system.scale / math.log(10.0)
    gain = system.k / (4.0 * scale)
    require(gain < 1.0, "k", f"less than {4.0 * scale:.0f} to look back", system.k)
    variance = system.k * scale
    return Process(variance / (1.0 - gain), variance * gain / (1.0 - gain), 0.0, scale, False, 1.0)


def _leads(system: RatingSystem, history: History) -> Floats:
    """Return the head start of every participation, rating points."""
    nothing = np.zeros(history.participations)
    return system.outlook(nothing, nothing, history).centre


def _skills_of(process: Process, history: History, counted: Flags) -> tuple[Skills, Ints]:
    """Return the skills of the players, and the rating of each participation that is counted."""
    rows = np.flatnonzero(counted)
    rows = rows[np.argsort(history.player[rows], kind="stable")]
    player, match = history.player[rows], history.match_rows()[rows]
    begins = np.append(True, player[1:] != player[:-1])[: len(rows)]
    drift = np.full(len(rows), process.drift)
    if process.drift_per_day > 0.0:
        days = history.days()[match]
        drift[1:] += process.drift_per_day * np.diff(days)
    drift[begins] = process.variance
    # Matches between which a skill cannot change have one rating.
    moves = begins | (drift > 0.0)
    rating_of = np.empty(history.participations, np.int64)
    rating_of[rows] = np.cumsum(moves) - 1
    ratings = int(moves.sum())
    first = np.searchsorted(player[moves], np.arange(history.players + 1))
    skills = Skills(first, drift[moves], np.zeros(ratings), np.ones(ratings))
    return skills, rating_of[counted]


def _games_of(
    process: Process, history: History, counted: Flags, rating_of: Ints, lead: Floats
) -> Games:
    """Return the games of the matches that are counted."""
    match, rank = history.match_rows()[counted], history.rank[counted]
    # By place, so that the opponents in large matches are spread over the places.
    order = np.lexsort((rank, match))
    match, rank, lead = match[order], rank[order], lead[counted][order]
    rating = rating_of[order]
    offsets = np.append(np.flatnonzero(np.diff(match, prepend=-1)), len(match))
    one, other, weight = _pairs_of(offsets, process.most_games)
    weight *= history.weights()[match[one]]
    score = 0.5 * (rank[one] < rank[other]) + 0.5 * (rank[one] <= rank[other])
    ahead = lead[one] - lead[other]
    own = np.concatenate([rating[one], rating[other]])
    by_rating = np.argsort(own, kind="stable")
    at = np.empty(len(own), np.int64)
    at[by_rating] = np.arange(len(own))
    opponent = np.concatenate([rating[other], rating[one]])
    twin = np.concatenate([at[len(one) :], at[: len(one)]])
    return Games(
        np.searchsorted(own[by_rating], np.arange(int(rating_of.max(initial=-1)) + 2)),
        opponent[by_rating],
        twin[by_rating],
        np.concatenate([score, 1.0 - score])[by_rating],
        np.concatenate([weight, weight])[by_rating],
        np.concatenate([ahead, -ahead])[by_rating],
    )
