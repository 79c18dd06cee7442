"""Performance ratings by ratings of opponents: FIDE's tables, TPR, CPR, recursive and linear.

Source: FIDE Handbook B.02, Rating Regulations [FIDE]_, 8.1 (table 8.1b in the editions before 2022,
8.1.2 after) for the expected score of a difference of ratings, and 8.3 for the change: K times the
sum of points minus expected scores. Dated rules differ in the differences above 400 points (8.3.1):
"2022-01", from 1 January 2022: they count as 400, but for the stronger player only in the one game
with the largest difference. "2024-03", from 1 March 2024: they count as 400 in every game.
"2025-10", from 1 October 2025: the same, but players rated 2650 or more use the true difference.

Departures: K is given. The cap of K for many games in one period (8.3.3) is not applied, nor is the
result rounded, because both depend on all tournaments of a period. Fractional ratings, which FIDE
does not have, are rounded first.

`Results` has, for every player, the opponents' ratings and the points made, which is all that the
formulas need. Games against an opponent without a rating are left out, with their points, as FIDE
does (Handbook B.02): they do not show how strong a player was.

Tournament performance rating (TPR), the rating that would have predicted a player's score.
Source: [PRE]_ Def. 4, (3), with the curve and scale of Def. 1 and 3.
Departures: a player's equation is solved for the smaller of points made and points lost, and in
logarithms. So it keeps its accuracy near 0 % and 100 %, where a sum of expected scores close to the
number of games has lost its digits, and Newton's method needs few steps: the logarithm of the sum
is concave, and nearly straight in the tail.

Complete performance rating (CPR) and the linear one, from average opponent and score.
Source: [CPR]_ for the CPR; the linear one is the "algorithm of 400" of chess organisers,
(sum of opponents' ratings + 400 (wins - losses))/games.
Departures: `scale` is beta of [PRE]_ Def. 3; it multiplies every distance from the average.

FIDE's performance rating, the average opponent plus a number from a table.
Source: [FIDE]_ B.02 for the table of fractional score and rating difference, C.07 for the tie-break
called TPR there: average rating of opponents, rounded, plus dp.
Departures: none by default; `rounded` = False keeps the average as it is.

Source: [RP]_, and the authors' program PyRP for what the paper leaves open: the correction is
FIDE's rating difference of the score in per cent, minus its mean over all games.
Departures: their iteration starts from the players' ratings; here all start from the average
rating, each player counted once, so that ratings affect the result by one constant only, as for the
PPR (if all play equally many games, both starts are the same). It is solved as the linear system
that its limit satisfies. So it is also defined where the iteration alternates between two results,
as in a match of two teams: there it is the mean of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from equipoise.arguments import as_array, checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.fide_tables import DIFFERENCES, STEPS
from equipoise.data.games import LARGEST, Games
from equipoise.errors import ConvergenceError, NotFoundError, require
from equipoise.numeric.graph import components
from equipoise.tournament.curves import Curve, CurveName, curve_of
from equipoise.tournament.pairs import Pairs, gather_pairs
from equipoise.wording import counted

RatingRules: TypeAlias = Literal["2022-01", "2024-03", "2025-10"]

#: Largest difference that counts, for players below `_TRUE_FROM`.
_LARGEST = 400.0
_TRUE_FROM = 2650.0
#: Largest K that is accepted; FIDE's are 40, 20 and 10.
_MOST_K = 1_000.0

#: Rating points of a tenfold in the odds of a game, and of a win in the linear formula.
POINTS = 400.0

#: Last step of a search for the TPR, in rating points times the scale.
TOLERANCE = 1e-10
MOST_STEPS = 200
_MOST_DOUBLINGS = 60

#: Largest error of a player's equation, rating points.
RECURSIVE_TOLERANCE = 1e-9
#: Players up to which the system is solved by elimination, else by conjugate gradients.
DENSE_PLAYERS = 400
MOST_RECURSIVE_STEPS = 20_000


def half_up(values: Floats) -> Floats:
    """Return the nearest whole numbers, 0.5 rounded upwards."""
    return np.asarray(np.floor(values + 0.5))


def percent_expected(difference: Floats) -> Floats:
    """Return FIDE's expected score in per cent, of whole differences of ratings, any shape."""
    above = 50.0 + np.searchsorted(STEPS, np.abs(difference), side="right")
    return np.asarray(np.where(difference < 0, 100.0 - above, above))


@checks_arguments("k_factor")
def fide_rating_change(
    games: Games, k_factor: float | Mapping[Any, float], *, rules: RatingRules = "2025-10"
) -> Floats:
    """Return the change of every player's rating by FIDE's table, shape (N,), not rounded.

    Only games against rated opponents count. NaN for players without a rating or without such a
    game, and for players without a K.

    k_factor : K of all players, above 0; or id -> K
    rules : date from which the rules of differences above 400 points hold: "2022-01", "2024-03" or
        "2025-10"
    Raises : InvalidParameterError, NotFoundError

    Examples
    --------
    >>> ratings = {"ann": 2000, "ben": 1900}
    >>> games = eq.Games.from_arrays(["ann"], ["ben"], [1], rating=ratings)
    >>> eq.fide_rating_change(games, 20).round(1).tolist()
    [7.2, -7.2]
    """
    factor = _factors(games, k_factor)
    weight = games.weights
    of_white, of_black = games.ratings_of_sides()
    player = np.concatenate([games.white, games.black])
    own = half_up(np.concatenate([of_white, of_black]))
    other = half_up(np.concatenate([of_black, of_white]))
    points = np.concatenate([games.points, weight - games.points])
    number = np.concatenate([weight, weight])
    known = ~np.isnan(own) & ~np.isnan(other)
    player, own, other = player[known], own[known], other[known]
    points, number = points[known], number[known]
    gap = own - other
    expected = number * percent_expected(np.clip(gap, -_LARGEST, _LARGEST))
    if rules == "2022-01":
        # Of the games of a stronger player, the one with the largest difference is cut.
        large = gap > _LARGEST
        true = percent_expected(gap)
        cut = np.zeros(len(gap))
        order = np.lexsort((-gap, player))
        first = np.ones(len(gap), dtype=np.bool_)
        first[1:] = np.diff(player[order]) != 0
        cut[order[first]] = np.minimum(1.0, number[order[first]])
        single = cut * percent_expected(np.full(len(gap), _LARGEST))
        expected = np.where(large, single + (number - cut) * true, expected)
    elif rules == "2025-10":
        expected = np.where(own >= _TRUE_FROM, number * percent_expected(gap), expected)
    total = np.bincount(player, points - expected / 100.0, games.players)
    rated = np.bincount(player, number, games.players) > 0
    return np.asarray(np.where(rated, factor * total, np.nan), np.float64)


def _factors(games: Games, k_factor: float | Mapping[Any, float]) -> Floats:
    """Return K of every player, NaN if unknown. Raises : InvalidParameterError, NotFoundError."""
    rule = f"above 0 and at most {_MOST_K:g}"
    if not isinstance(k_factor, Mapping):
        require(0 < k_factor <= _MOST_K, "k_factor", rule, k_factor)
        return np.full(games.players, float(k_factor))
    row_of = {player: row for row, player in enumerate(games.player_ids.tolist())}
    factor = np.full(games.players, np.nan)
    for name, value in k_factor.items():
        if name not in row_of:
            raise NotFoundError(f"k_factor names {name!r}, who is not a player of the tournament")
        require(0 < value <= _MOST_K, "k_factor", rule, value)
        factor[row_of[name]] = value
    return factor


#: Rounding errors of differences, in units of the largest one.
_ROUNDING = 8 * np.finfo(np.float64).eps

#: dp for a score of 0, 1, ... 100 per cent; dp(p) = -dp(1 - p).
RATING_DIFFERENCE: Floats = np.concatenate([-DIFFERENCES[:0:-1], DIFFERENCES])
RATING_DIFFERENCE.setflags(write=False)


class Results(NamedTuple):
    """E results against rated opponents; a game between two rated players has two results.

    player : shape (E,), row of the player whose result it is, below `players`
    opponent : shape (E,), rating of the opponent before the game
    points, lost : shape (E,), points that the player made and did not make, not both 0
    players : N, which includes players without results

    Examples
    --------
    >>> eq.results_of_player([2600, 2500, 2450], [1, 0.5, 0])
    <Results: 3 results of 1 player>
    """

    player: Ints
    opponent: Floats
    points: Floats
    lost: Floats
    players: int

    def __repr__(self) -> str:
        """Return the numbers of results and players."""
        results = counted(len(self.player), "result")
        return f"<Results: {results} of {counted(self.players, 'player')}>"

    def total(self, values: Floats) -> Floats:
        """Return the sum of values, shape (E,), over each player's results, shape (N,)."""
        sums = np.bincount(self.player, values, self.players)
        return np.asarray(sums, dtype=np.float64)


class Tally(NamedTuple):
    """Totals of N players over all their games against rated opponents; each of shape (N,).

    average : mean rating of the opponents over games, NaN without games
    games, points, lost : k, m and k - m
    """

    average: Floats
    games: Floats
    points: Floats
    lost: Floats


def results_of(games: Games) -> Results:
    """Return the results of all players of a tournament.

    An opponent's rating is the one given with the game, else the one before the tournament.
    """
    weight = games.weights
    white, black = games.ratings_of_sides()
    every = Results(
        player=np.concatenate([games.white, games.black]),
        opponent=np.concatenate([black, white]),
        points=np.concatenate([games.points, weight - games.points]),
        lost=np.concatenate([weight - games.points, games.points]),
        players=games.players,
    )
    return _rated(every)


def as_results(source: Results | Games) -> Results:
    """Return results; games are converted."""
    return results_of(source) if isinstance(source, Games) else source


@checks_arguments("opponents", "points", "weights")
def results_of_player(
    opponents: Sequence[float] | Floats,
    points: Sequence[float] | Floats,
    weights: Sequence[float] | Floats | None = None,
) -> Results:
    """Return the results of one player, who has row 0.

    opponents : shape (G,), ratings, NaN if an opponent has none
    points : shape (G,), points made in each game, from 0 to its weight
    weights : shape (G,), number of games of each result, above 0; None: 1 each
    Raises : InvalidParameterError   a rule is broken

    Examples
    --------
    >>> results = eq.results_of_player([2600, 2500, 2450], [1, 0.5, 0])
    >>> eq.tournament_performance(results).round(1).tolist()
    [2516.4]
    """
    opponent = as_array("opponents", opponents, np.float64)
    taken = as_array("points", points, np.float64)
    weight = np.ones(taken.shape) if weights is None else as_array("weights", weights, np.float64)
    shape = opponent.shape
    require(opponent.ndim == 1, "opponents", "one rating for each game", shape)
    require(taken.shape == shape, "points", f"of shape {shape}", taken.shape)
    require(weight.shape == shape, "weights", f"of shape {shape}", weight.shape)
    require(not (np.abs(opponent) > LARGEST).any(), "opponents", f"within {LARGEST:.0f}", opponents)
    require(bool(((weight > 0) & (weight < np.inf)).all()), "weights", "numbers above 0", weights)
    within = (taken >= 0) & (taken <= weight)
    require(bool(within.all()), "points", "from 0 to the number of games", points)
    return _rated(Results(np.zeros(len(taken), np.int64), opponent, taken, weight - taken, 1))


def tally_of(results: Results) -> Tally:
    """Return the average opponent, games and points of every player."""
    weight = results.points + results.lost
    games = results.total(weight)
    with np.errstate(invalid="ignore"):
        average = results.total(weight * results.opponent) / games
    return Tally(average, games, results.total(results.points), results.total(results.lost))


def _rated(results: Results) -> Results:
    """Return the results against opponents with a rating."""
    known = ~np.isnan(results.opponent)
    if known.all():
        return results
    player, opponent = results.player[known], results.opponent[known]
    return Results(player, opponent, results.points[known], results.lost[known], results.players)


def require_scale(scale: float) -> None:
    """Refuse a scale that is not above 0. Raises : InvalidParameterError."""
    require(0 < scale < np.inf, "scale", "a number above 0", scale)


def average_opponent(results: Results | Games) -> Floats:
    """Return the mean rating of every player's rated opponents, shape (N,).

    Every game counts with its weight: an opponent met twice counts twice. NaN without such a game.
    """
    return tally_of(as_results(results)).average


@checks_arguments("scale")
def complete_performance(results: Results | Games, *, scale: float = 1.0) -> Floats:
    """Return the complete performance rating (CPR) [CPR]_, shape (N,), finite at 0 % and 100 %.

    It is the rating that does not change by the player's games and one more game: a draw against
    a player of the same rating. NaN without a game against a rated opponent.

    scale : beta, above 0
    Raises : InvalidParameterError   `scale` is out of range

    Examples
    --------
    >>> won = eq.results_of_player([2600, 2500, 2450], [1, 1, 1])
    >>> eq.complete_performance(won).round(1).tolist()
    [2967.4]
    """
    require_scale(scale)
    average, games, points, lost = tally_of(as_results(results))
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = (games + 1) / games
        # log10((k + 1/2 - m)/(m + 1/2)), and k - m is what was lost.
        distance = factor * POINTS * np.log10((lost + 0.5) / (points + 0.5))
        return np.asarray(average - scale * distance)


@checks_arguments("scale")
def linear_performance(results: Results | Games, *, scale: float = 1.0) -> Floats:
    """Return average + 400 (2 m - k)/k, shape (N,); NaN without a game against a rated opponent.

    scale : beta, above 0
    Raises : InvalidParameterError   `scale` is out of range

    Examples
    --------
    >>> results = eq.results_of_player([2600, 2500, 2450], [1, 1, 0])
    >>> eq.linear_performance(results).round(1).tolist()
    [2650.0]
    """
    require_scale(scale)
    average, games, points, lost = tally_of(as_results(results))
    with np.errstate(invalid="ignore"):
        return np.asarray(average + scale * POINTS * (points - lost) / games)


def rating_difference(points: Floats, games: Floats) -> Floats:
    """Return FIDE's dp of scores, which are rounded to whole per cent, 0.5 upwards.

    points, games : any shape; NaN if there are no games
    """
    with np.errstate(invalid="ignore"):
        # 100 m/k, not 100 (m/k): for whole and half points, halves are exact.
        percent = half_up(100.0 * points / games)
    known = np.isfinite(percent)
    difference = RATING_DIFFERENCE[np.where(known, percent, 0.0).astype(np.int64)]
    return np.asarray(np.where(known, difference, np.nan))


@checks_arguments()
def fide_performance(results: Results | Games, *, rounded: bool = True) -> Floats:
    """Return the performance rating by FIDE's table, shape (N,).

    NaN without a game against a rated opponent; 800 points from the average at 0 % and 100 %.

    rounded : round the average opponent to a whole number, 0.5 upwards, as FIDE does

    Examples
    --------
    >>> results = eq.results_of_player([2600, 2500, 2450], [1, 0.5, 0])
    >>> eq.fide_performance(results).tolist()
    [2517.0]
    """
    average, games, points, _ = tally_of(as_results(results))
    base = half_up(average) if rounded else average
    return np.asarray(base + rating_difference(points, games))


class _Equations(NamedTuple):
    """sum over a player's results of weight psi(u - opponent) = target, for n players.

    Ratings are relative to the average opponent, in units of the scale, and mirrored for players
    who made more than half of the points: their target is the points lost.

    player, opponent, weight : shape (E,); target : shape (n,)
    """

    player: Ints
    opponent: Floats
    weight: Floats
    target: Floats

    def sums(self, curve: Curve, u: Floats) -> tuple[Floats, Floats]:
        """Return the left sides at u, shape (n,), and their slopes."""
        t = u[self.player] - self.opponent
        total = np.bincount(self.player, self.weight * curve.expected(t), len(u))
        slope = np.bincount(self.player, self.weight * curve.slope(t), len(u))
        return np.asarray(total, np.float64), np.asarray(slope, np.float64)

    def only(self, rows: Ints) -> _Equations:
        """Return the equations of some players."""
        number = np.full(len(self.target), -1)
        number[rows] = np.arange(len(rows))
        player = number[self.player]
        kept = player >= 0
        return _Equations(player[kept], self.opponent[kept], self.weight[kept], self.target[rows])


@checks_arguments("scale")
def tournament_performance(
    results: Results | Games,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
) -> Floats:
    """Return the tournament performance rating (TPR) [PRE]_ (3), shape (N,).

    NaN if no rating predicts the score: at 0 %, at 100 %, and without rated opponents.

    curve, scale : psi and beta; beta above 0
    Raises : InvalidParameterError   `scale` is out of range, or there is no such curve
    Raises : ConvergenceError        the equations could not be solved, which no known input does

    Examples
    --------
    >>> results = eq.results_of_player([2600, 2500, 2450], [1, 1, 0])
    >>> eq.tournament_performance(results).round(1).tolist()
    [2640.6]
    """
    require_scale(scale)
    return solve_tpr(as_results(results), curve_of(curve), scale)


def solve_tpr(results: Results, curve: Curve, scale: float, most_steps: int = MOST_STEPS) -> Floats:
    """Return the TPR of every player, shape (N,); NaN if no rating predicts the score."""
    tally = tally_of(results)
    rows = np.flatnonzero((tally.points > 0) & (tally.lost > 0))
    answer = np.full(results.players, np.nan)
    if len(rows):
        side = np.where(tally.points > tally.lost, -1.0, 1.0)
        equations = _equations(results, tally, side, scale).only(rows)
        root = _solve(equations, curve, most_steps)
        answer[rows] = tally.average[rows] + scale * side[rows] * root
    return answer


def _equations(results: Results, tally: Tally, side: Floats, scale: float) -> _Equations:
    difference = results.opponent - tally.average[results.player]
    return _Equations(
        player=results.player,
        opponent=side[results.player] * difference / scale,
        weight=results.points + results.lost,
        target=np.minimum(tally.points, tally.lost),
    )


class _Search(NamedTuple):
    """The search for the roots of some players; each of shape (n,).

    rows : of these players among all; u : current values; low, high : bounds of the roots
    least : the search ends with a step of at most this length
    """

    rows: Ints
    u: Floats
    low: Floats
    high: Floats
    least: Floats

    def only(self, left: Ints) -> _Search:
        """Return the search for some of the players."""
        return _Search._make(column[left] for column in self)


def _solve(equations: _Equations, curve: Curve, most_steps: int) -> Floats:
    """Return the root u of every equation: Newton's method, halving where it leaves the bracket."""
    search = _begin(equations, curve)
    answer = search.u.copy()
    worst = np.inf
    for _ in range(most_steps):
        rows, u, low, high, least = search
        gap, newton = _newton(equations, curve, u)
        low, high = np.where(gap < 0, u, low), np.where(gap > 0, u, high)
        inside = (newton > low) & (newton < high)
        after = np.where(gap == 0, u, np.where(inside, newton, (low + high) / 2))
        answer[rows] = after
        left = np.flatnonzero(np.abs(after - u) > least)
        if not len(left):
            return answer
        worst = float(np.abs(gap[left]).max())
        search = _Search(rows, after, low, high, least)
        # Solved equations are dropped once they are more than half.
        if 2 * len(left) < len(rows):
            equations, search = equations.only(left), search.only(left)
    raise ConvergenceError("tournament performance", most_steps, worst)


def _begin(equations: _Equations, curve: Curve) -> _Search:
    """Return a search that starts from the roots for the Elo curve and average opponents."""
    low, high = _bracket(equations, curve)
    games = np.bincount(equations.player, equations.weight, len(low))
    odds = equations.target / (games - equations.target)
    u = np.clip(POINTS * np.log10(odds), low, high)
    widest = np.maximum(np.abs(low), np.abs(high))
    least = np.maximum(TOLERANCE, _ROUNDING * widest)
    return _Search(np.arange(len(u)), np.asarray(u), low, high, least)


def _newton(equations: _Equations, curve: Curve, u: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of sums over targets, and the next values by Newton's method."""
    total, slope = equations.sums(curve, u)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gap = np.log(total / equations.target)
        return gap, u - gap * total / slope


def _bracket(equations: _Equations, curve: Curve) -> tuple[Floats, Floats]:
    """Return bounds below and above every root.

    The strongest opponent is above: at that rating at least half of the points are expected, and no
    target is more.
    """
    count = len(equations.target)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, equations.player, equations.opponent)
    np.maximum.at(high, equations.player, equations.opponent)
    share = equations.target / np.bincount(equations.player, equations.weight, count)
    reach = np.full(count, POINTS)
    for _ in range(_MOST_DOUBLINGS):
        short = curve.expected(-reach) > share
        if not short.any():
            # A margin for rounding of the sums.
            return low - 1.01 * reach, high + 1.0
        reach = np.where(short, 2 * reach, reach)
    raise ConvergenceError("tournament performance", _MOST_DOUBLINGS, float(share.min()))


#: The rating points of a score p: by FIDE's table; by the inverse of the Elo curve, which is not
#: defined at 0 % and 100 %; or 400 (2 p - 1).
Correction: TypeAlias = Literal["fide", "elo", "linear"]


@checks_arguments("anchor", "scale")
def recursive_performance(
    games: Games,
    *,
    correction: Correction = "fide",
    anchor: float | None = None,
    scale: float = 1.0,
) -> Floats:
    """Return the recursive performance [RP]_ of every player, shape (N,).

    In every component (players connected by games) the mean over games is `anchor`, else the
    average rating of its rated players, else 0. NaN without games, and with the Elo curve for all
    players of a component in which a player has 0 % or 100 %.

    scale : beta, above 0; it multiplies the corrections
    Raises : InvalidParameterError   `scale` or `correction` is out of range
    Raises : ConvergenceError        the system could not be solved

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> round(float(eq.recursive_performance(games, anchor=2557).max()), 1)
    2787.3
    """
    return solve_recursive(games, correction=correction, anchor=anchor, scale=scale)


def solve_recursive(
    games: Games,
    *,
    correction: Correction = "fide",
    anchor: float | None = None,
    scale: float = 1.0,
    dense_players: int = DENSE_PLAYERS,
    most_steps: int = MOST_RECURSIVE_STEPS,
) -> Floats:
    """Return what `recursive_performance` does, with limits of both ways to solve the system."""
    require_scale(scale)
    pairs = gather_pairs(games)
    played, points = games.played(), games.scored()
    component = components(pairs.first, pairs.second, games.players)
    worth = scale * _worth(points, played, correction)
    # Without the mean, which would be added in every iteration, the system has a solution.
    surplus = worth - _mean(worth, played, component)
    solvable = np.isfinite(surplus)
    centred = np.where(solvable, surplus, 0.0)
    if games.players <= dense_players:
        ratings = _eliminate(pairs, played, centred, component)
    else:
        ratings = _conjugate_gradients(pairs, played, centred, most_steps)
    level = _level(games.initial, component, anchor)
    ratings += level - _mean(ratings, played, component)
    return np.asarray(np.where(solvable, ratings, np.nan))


def _worth(points: Floats, played: Floats, correction: Correction) -> Floats:
    """Return the rating points of scores, NaN if they are not defined, shape (N,)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if correction == "fide":
            return rating_difference(points, played)
        if correction == "linear":
            return np.asarray(POINTS * (2 * points - played) / played)
        worth = POINTS * np.log10(points / (played - points))
        return np.asarray(np.where(np.isfinite(worth), worth, np.nan))


def _mean(values: Floats, weight: Floats, component: Ints) -> Floats:
    """Return the weighted mean over each player's component, shape (N,); NaN of weight 0."""
    weighed = np.where(weight > 0, values, 0.0) * weight
    with np.errstate(invalid="ignore"):
        mean = np.bincount(component, weighed) / np.bincount(component, weight)
    return np.asarray(mean[component], dtype=np.float64)


def _level(initial: Floats, component: Ints, anchor: float | None) -> Floats:
    """Return the mean rating that each player's component is given, shape (N,)."""
    if anchor is not None:
        require(bool(np.isfinite(anchor)), "anchor", "a number", anchor)
        return np.full(len(initial), float(anchor))
    return np.nan_to_num(_mean(initial, (~np.isnan(initial)).astype(np.float64), component))


def _eliminate(pairs: Pairs, played: Floats, surplus: Floats, component: Ints) -> Floats:
    """Return x with x_i = (mean of x over the opponents of i) + surplus_i, up to constants.

    Multiplied by the number of games it is K x - W x = K surplus: symmetric, and singular by one
    constant for each component only.
    """
    matrix = np.diag(played)
    np.subtract.at(matrix, (pairs.first, pairs.second), pairs.weight)
    np.subtract.at(matrix, (pairs.second, pairs.first), pairs.weight)
    # Sets the sum of every component to 0; the right side does not determine it.
    same = component[:, None] == component[None, :]
    return np.asarray(np.linalg.solve(matrix + same, played * surplus))


def _conjugate_gradients(pairs: Pairs, played: Floats, surplus: Floats, most_steps: int) -> Floats:
    """Return a solution by conjugate gradients, each equation weighed by its number of games."""
    weight = np.where(played > 0, played, 1.0)
    x, rest = np.zeros(len(played)), played * surplus
    direction, before = np.zeros(len(played)), 1.0
    for _ in range(most_steps):
        scaled = rest / weight
        if np.abs(scaled).max() <= RECURSIVE_TOLERANCE:
            return x
        now = float(rest @ scaled)
        direction = scaled + (now / before) * direction
        product = played * direction - _over_games(pairs, direction)
        step = now / float(direction @ product)
        x, rest, before = x + step * direction, rest - step * product, now
    raise ConvergenceError("recursive performance", most_steps, float(np.abs(scaled).max()))


def _over_games(pairs: Pairs, values: Floats) -> Floats:
    """Return for each player the sum of a value of the opponents over the games."""
    size = len(values)
    total = np.bincount(pairs.first, pairs.weight * values[pairs.second], size)
    total += np.bincount(pairs.second, pairs.weight * values[pairs.first], size)
    return np.asarray(total, dtype=np.float64)
