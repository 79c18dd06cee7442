"""Error bars of ratings: by the strengths of duels, or by resampled histories.

The deviation of an online system says how far the next result moves a rating, not how far off the
rating is. Here every strength has a posterior, given all results: that of Bradley and Terry, where
the players come from one normal field of unknown spread. The bar of a player is as wide as needed
for the strength to lie within it with the wanted probability, wherever in it the rating lies.

For every spread the posterior is taken to be normal. Its mean is the mode, moved by the skewness to
first order: V sum l''' v/2, with the covariance V at the mode and, for each pair, the third
derivative l''' of the log-likelihood and the variance v of the difference. Its covariance is that
at the mean. Spreads have the weights of their marginal likelihood, by Laplace's method, and of a
prior, half of a normal distribution.

Ties are half a win. They make scores vary less than coins do, by a factor phi: the likelihood has
the power 1/phi. With T ties and the sum S of the squares of scores less expected ones,
phi = (S + 1/4)/(S + T/4 + 1/4), because a tie takes 1/4 from the variance of a coin. The 1/4 of one
more game keeps phi above 0 if all tie.

A system without deviations says nothing on how certain its ratings are. The bootstrap does: draw as
many matches as there are, with replacement, rate them in the order of the history, and see how much
the ratings of each player vary. This is the variation by the luck of which matches were played and
how they ended. It is not the distance to a strength that the ratings have yet to reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import erf, sqrt
from typing import Any, Final, NamedTuple

import numpy as np

from equipoise.arrays import Floats, Ints
from equipoise.data.games import Games
from equipoise.data.history import COLUMNS, History
from equipoise.numeric.workers import Workers
from equipoise.rating.replay import check_fit, pieces
from equipoise.rating.state import start_counting
from equipoise.rating.system import RatingSystem
from equipoise.tournament.newton import laplacian
from equipoise.tournament.pairs import Pairs, gather_pairs

#: Players up to which this takes about a second: the matrices are dense.
MOST_PLAYERS: Final = 300
#: Spreads of the field, natural logarithms of odds: 17 to 1,040 Elo points.
_SPREADS = np.geomspace(0.1, 6.0, 10).tolist()
#: Standard deviation of the prior of the spread, 260 Elo points.
_PRIOR = 1.5
#: The spread with which the variance of scores is estimated.
_USUAL = 1.0
#: Newton's steps to a mode, the longest, and the last one.
_MAX_STEPS, _LONGEST, _LAST_STEP = 100, 2.0, 1e-8
#: Halvings of the interval of a half-width: to a billionth of it.
_HALVINGS = 40

_erf = np.frompyfunc(erf, 1, 1)

#: Least number of resampled histories with matches of a player, for a deviation of their ratings.
_LEAST_ROUNDS = 10


class _Posterior(NamedTuple):
    """Strengths in a field, natural logarithms of odds; fit : logarithm of marginal likelihood."""

    mean: Floats
    covariance: Floats
    fit: float


def duel_errors(
    games: Games, rating: Floats, scale: Floats, confidence: float
) -> tuple[Floats, float]:
    """Return half the widths of the error bars, and the rating points of a logarithm of odds.

    rating : shape (P,), of the players of the games
    scale : shape (P,), of the performances that the system expects of them, as in `Outlook`

    Both are relative to the players who have played; others have NaN. The points are those of the
    system's own predictions for two players of the mean variance.
    """
    rows = np.flatnonzero(games.played() > 0)
    rating, players = rating[rows], len(rows)
    unit = sqrt(2.0 * float(np.mean(scale[rows] ** 2)))
    pairs = gather_pairs(games)
    first, second = (np.searchsorted(rows, players) for players in (pairs.first, pairs.second))
    pairs = pairs._replace(first=first, second=second)
    strength = _posterior(pairs, players, _USUAL).mean
    score = games.points / games.weights
    white, black = (np.searchsorted(rows, players) for players in (games.white, games.black))
    missing = score - _logistic(strength[white] - strength[black])
    coins = float(np.sum(games.weights * missing**2)) + 0.25
    phi = coins / (coins + 0.25 * float(np.sum(games.weights[score == 0.5])))
    pairs = pairs._replace(weight=pairs.weight / phi, points=pairs.points / phi)
    fields = [_posterior(pairs, players, spread) for spread in _SPREADS]
    log_weights = np.array([field.fit for field in fields])
    # A geometric step is as wide as its spread.
    log_weights += np.log(_SPREADS) - 0.5 * np.square(_SPREADS) / _PRIOR**2
    weights = np.exp(log_weights - log_weights.max())
    shift = (rating - rating.mean()) / unit
    away = np.array([field.mean - field.mean.mean() - shift for field in fields])
    centre = np.eye(players) - 1.0 / players
    error = np.sqrt([np.diag(centre @ field.covariance @ centre) for field in fields])
    errors = np.full(games.players, np.nan)
    errors[rows] = unit * _half_widths(away, error, weights / weights.sum(), confidence)
    return errors, unit


def _logistic(t: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-t)))


def _posterior(pairs: Pairs, players: int, spread: float) -> _Posterior:
    """Return the posterior of the strengths in a field of this spread."""
    first, second, weight, points, _ = pairs
    prior = np.eye(players) / spread**2

    def at(strength: Floats) -> tuple[Floats, Floats, Floats]:
        """Return differences, slopes of expected points, and the Hessian."""
        t = strength[first] - strength[second]
        slope = weight * _logistic(t) * _logistic(-t)
        return t, slope, laplacian(pairs, slope, players) + prior

    mode, longest = np.zeros(players), np.inf
    for _ in range(_MAX_STEPS):
        t, slope, hessian = at(mode)
        if longest < _LAST_STEP:
            break
        missing = points - weight * _logistic(t)
        gradient = pairs.summed(missing, -missing, players) - mode / spread**2
        step = np.linalg.solve(hessian, gradient)
        longest = float(np.max(np.abs(step)))
        mode = mode + step * min(1.0, _LONGEST / longest if longest else 1.0)
    lost = points * np.logaddexp(0.0, -t) + (weight - points) * np.logaddexp(0.0, t)
    fit = -float(np.sum(lost)) - 0.5 * float(mode @ mode) / spread**2
    fit -= 0.5 * float(np.linalg.slogdet(hessian)[1]) + players * float(np.log(spread))
    covariance = np.linalg.inv(hessian)
    own = np.diag(covariance)
    variance = own[first] + own[second] - 2.0 * covariance[first, second]
    skew = 0.5 * slope * np.tanh(0.5 * t) * variance
    mean = mode + covariance @ pairs.summed(skew, -skew, players)
    return _Posterior(mean, np.asarray(np.linalg.inv(at(mean)[2]), np.float64), fit)


def _half_widths(away: Floats, error: Floats, weights: Floats, confidence: float) -> Floats:
    """Return how far from 0 a mixture of normal distributions has this share.

    away, error : shape (spreads, P), means and deviations; weights : shape (spreads,)
    """
    low, high = np.zeros(away.shape[1]), np.max(np.abs(away) + 40.0 * error, axis=0)
    for _ in range(_HALVINGS):
        half = 0.5 * (low + high)
        above, below = (
            _erf((end - away) / (sqrt(2.0) * error)).astype(np.float64) for end in (half, -half)
        )
        enough = weights @ (0.5 * (above - below)) >= confidence
        low, high = np.where(enough, low, half), np.where(enough, half, high)
    return np.asarray(high, np.float64)


class RatingsAfter(NamedTuple):
    """Ratings of the P players of a history after some of its matches, each of shape (K, P).

    deviation : NaN if the system has none; matches : rated so far
    """

    rating: Floats
    deviation: Floats
    matches: Floats


def ratings_after(
    system: RatingSystem, history: History, stops: Ints, workers: Workers | None = None
) -> RatingsAfter:
    """Return the ratings after the first `stops[k]` matches, for each k.

    stops : shape (K,), never decreasing
    Raises : ConvergenceError
    """
    state = system.initial(0)
    state.grow(history.players)
    start_counting(state)
    everyone = np.arange(history.players)
    ratings = np.full((3, len(stops), history.players), np.nan)
    rated = 0
    for number, stop in enumerate(stops.tolist()):
        for low, high in pieces(history, rated, stop):
            system.run(state, history, low, high, None, workers)
        rated = stop
        columns = system.at(state, everyone, None)
        for part, name in zip(ratings, RatingsAfter._fields, strict=True):
            part[number] = columns[name]
    return RatingsAfter(*ratings)


def bootstrap_deviations(
    system: RatingSystem,
    history: History,
    stops: Ints,
    *,
    rounds: int,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """Return the standard deviation of every player's rating over resampled histories.

    stops : as in `ratings_after`; of a resampled history, the drawn ones of these matches count
    rounds : number of resampled histories
    progress : called with (rounds done, rounds)
    Returns : shape (K, P); NaN where fewer than ten of the histories have a match of the player
    Raises : ConvergenceError
    """
    check_fit(system, history)
    rng = np.random.default_rng(seed)
    ratings = np.full((rounds, len(stops), history.players), np.nan)
    with Workers(threads) as workers:
        for number in range(rounds):
            drawn = np.sort(rng.integers(0, history.matches, history.matches))
            ends = np.searchsorted(drawn, stops)
            after = ratings_after(system, some_matches(history, drawn), ends, workers)
            ratings[number] = np.where(after.matches > 0, after.rating, np.nan)
            if progress is not None:
                progress(number + 1, rounds)
    known = np.sum(~np.isnan(ratings), axis=0)
    enough = known >= _LEAST_ROUNDS
    deviations = np.full(enough.shape, np.nan)
    deviations[enough] = np.nanstd(ratings[:, enough], axis=0, ddof=1)
    return deviations


def some_matches(history: History, chosen: Ints) -> History:
    """Return some matches of a history with the same players, renumbered from 1.

    chosen : numbers of matches, never decreasing; one may be there several times
    """
    sizes = history.sizes()[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.arange(offsets[-1]) + np.repeat(history.offsets[chosen] - offsets[:-1], sizes)
    taken = {"match": chosen, "participation": rows}
    columns: dict[str, Any] = {
        name: column[taken[of]]
        for name, of in COLUMNS.items()
        if of in taken and (column := getattr(history, name)) is not None
    }
    for name in ("statistics", "attributes"):
        columns[name] = {key: values[rows] for key, values in getattr(history, name).items()}
    columns |= {"match_ids": np.arange(1, len(chosen) + 1), "offsets": offsets}
    return replace(history, **columns)
