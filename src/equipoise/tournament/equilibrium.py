"""Performance rating equilibrium of a tournament: from games to perfect performance ratings.

Source: [PRE]_. Additions: a scale or another curve, an advantage of colour, draws as results of
their own, held ratings, a prior (READINGS C).

The additive constant. Ratings stay in equilibrium when all players of a component move by the same
number. The document selects the equilibrium that x <- f(x) reaches from equal ratings, whose mean
drifts a little during the iteration ([PRE]_ sec. 4). Near the equilibrium f is linear, and the mean
weighted by d_i = sum_j w_ij psi'(x_i - x_j) no longer changes, so it is computed after a few steps.
(The iteration itself need not converge: for a match of two teams it alternates forever.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.games import LARGEST, Games
from equipoise.display import Tabular
from equipoise.errors import NoEquilibriumError, NotFoundError, require
from equipoise.tournament.curves import Curve, CurveName, curve_of
from equipoise.tournament.newton import means_by
from equipoise.tournament.pairs import Pairs, gather_pairs, with_prior
from equipoise.tournament.solving import (
    LARGEST_ADVANTAGE,
    Fit,
    PerformanceFunction,
    Question,
    against_equals,
    check_scale,
    fit,
)
from equipoise.tournament.uncertainty import SuperiorityPrior, Uncertainty, player_rows
from equipoise.wording import counted

if TYPE_CHECKING:
    import polars as pl


#: Which of the equilibria, which differ by a constant. "equal": the one that x <- f(x) reaches from
#: equal ratings; "mean": the one with a given plain mean; "initial": the one that x <- f(x) reaches
#: from the ratings before the tournament. "document" is an earlier name of "equal".
Select: TypeAlias = Literal["equal", "mean", "initial", "document"]
Advantage: TypeAlias = float | Literal["estimate"]
Draws: TypeAlias = Literal["ignore", "davidson"]

#: Largest prior, in drawn games; with more, all players are average to the last digit.
MOST_PRIOR = 1e6
#: Least number of them. Shares of fewer would be 0 in floating point.
LEAST_PRIOR = 1e-100
#: Steps of x <- f(x), after which the weighted mean changes by about a millionth of a point.
PLAIN_STEPS = 10
#: The steps end earlier when no player is further from the equilibrium, rating points over the
#: scale: a step changes the weighted mean by the square of that distance.
NEAR = 0.3
#: Accuracy of f, rating points over the scale: after a last step of this length the error of
#: Newton's method is its square over about a hundred points.
_TOLERANCE = 0.03


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Equilibrium(Tabular):
    """Perfect performance ratings: with them, all scores are as expected.

    player_ids : shape (N,); every column is in this order
    rating : shape (N,), PPR, rating points; NaN for players without games
    expected, scored, played : shape (N,), points expected at these ratings, points made, and games
    component : shape (N,), from 0: players connected by games; -1 without games
    relative : whether a component has no known level, so its mean or the average player of a prior
        is 0
    iterations, inner_iterations : of Newton's method, and of conjugate gradients within it
    residual : largest difference of scored and expected points of a player who is not held; drawn
        games of a prior are included
    colour_advantage : rating points added to white; draw_parameter : nu, NaN without draws
    curve, scale : the curve of expected scores, and its scale
    uncertainty : standard errors, covariances, superiority; rows are players

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> found = eq.performance_equilibrium(games, anchor=2557)
    >>> found.residual < 1e-9
    True
    >>> round(float(found.rating.max()), 1)
    2805.8
    """

    player_ids: Ids
    rating: Floats
    expected: Floats
    scored: Floats
    played: Floats
    component: Ints
    relative: bool
    iterations: int
    inner_iterations: int
    residual: float
    colour_advantage: float
    draw_parameter: float
    curve: Curve
    scale: float
    uncertainty: Uncertainty

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player, in their order; NaN is null."""
        import polars as pl

        return pl.DataFrame(
            {
                "player": self.player_ids.tolist(),
                "rating": self.rating,
                "expected": self.expected,
                "scored": self.scored,
                "played": self.played,
                "component": self.component,
            }
        ).fill_nan(None)

    def _in_words(self) -> str:
        players = counted(len(self.player_ids), "player")
        return f"{players}, residual {self.residual:.1e} points"

    def errors(self, rows: Ints | None = None) -> Floats:
        """Return standard errors, rating points; see `Uncertainty.errors`."""
        if rows is None:
            return self.uncertainty.errors()[: len(self.rating)]
        return self.uncertainty.errors(player_rows(rows, len(self.rating)))

    def superiority(self, rows: Ints, prior: SuperiorityPrior = "field") -> Floats:
        """Return the probability that rows[i] is better than rows[j]; see `Uncertainty`."""
        return self.uncertainty.superiority(player_rows(rows, len(self.rating)), prior)


@checks_arguments("scale", "anchor", "anchors", "prior")
def performance_equilibrium(
    games: Games,
    *,
    curve: CurveName | Curve | Callable[[Floats], Floats] = "elo",
    scale: float = 1.0,
    select: Select = "equal",
    anchor: float | None = None,
    anchors: Mapping[Any, float] | None = None,
    prior: float = 0.0,
    colour_advantage: Advantage = 0.0,
    draws: Draws = "ignore",
    threads: int = 1,
) -> Equilibrium:
    """Return the ratings that predict every player's score.

    curve : "elo", "normal", "laplace", "cauchy", a curve, or a function of the difference of
      ratings over the scale
    scale : beta, in (0, 20]; 1 is Elo's 400 points
    select : the additive constant, see `Select`
    anchor : average rating, instead of the mean of the initial ratings
    anchors : id -> rating at which that player is held
    prior : drawn games of every player against an average player, from 0; this player is held at
        the average or, with held players and no anchor, is rated like the others
    colour_advantage : rating points of white, or "estimate"
    draws : "davidson" models draws separately, with an estimated parameter
    threads : number of threads; it never changes a result
    Raises : NoEquilibriumError   some players took every point of others; `.sweeps` names them
    Raises : InvalidParameterError, NotFoundError, ConvergenceError
    Raises : InvalidDataError   advantage or draw parameter cannot be estimated

    Examples
    --------
    >>> games = eq.Games.from_arrays(["ann"], ["bob"], [6.5], weight=[10])
    >>> eq.performance_equilibrium(games).rating.round(1).tolist()
    [53.8, -53.8]
    """
    _check(games, curve, scale, anchor, prior, colour_advantage, draws)
    modelled = known_draws(games) if draws == "davidson" else games
    coloured = colour_advantage != 0.0
    pairs = gather_pairs(modelled, coloured=coloured)
    # The last player is that of a prior.
    virtual = prior > 0 and games.rows > 0
    if virtual:
        pairs = with_prior(pairs, games.players, prior, coloured=coloured)
    initial = np.concatenate([games.initial, np.full(int(virtual), np.nan)])
    fixed = np.concatenate([_held(games, anchors or {}), np.full(int(virtual), np.nan)])
    if virtual:
        plays = pairs.played(len(fixed)) > 0
        average, relative = average_rating(initial, np.where(plays, 0, -1), anchor)
        # The average player has half the points of all. Held players give the level, so the games
        # place it among them; without any, it is held at the average.
        if anchor is not None or not np.any(plays & ~np.isnan(fixed)):
            fixed[-1] = average[-1]
    component = _component(pairs, games, fixed)
    if not virtual:
        average, relative = average_rating(initial, component, anchor)
    question = Question(
        pairs=pairs,
        players=len(fixed),
        component=component,
        curve=curve_of(curve),
        scale=scale,
        fixed=fixed,
        real=(pairs.first < games.players) & (pairs.second < games.players),
        threads=threads,
    )
    solved = fit(question, advantage=colour_advantage, draws=draws)
    # Without any rating the mean is 0, exactly (READINGS C2).
    ratings = _placed(question, solved, "mean" if relative else select, average, initial)
    free = not np.isnan(fixed[-1]) if virtual else bool(np.any(_loose(question)))
    return _result(games, question, solved, ratings, relative and free)


def known_draws(games: Games) -> Games:
    """Return the games with draws known where each row is one game: half a point is a draw."""
    if games.draws is not None or (games.weight is not None and np.any(games.weight != 1.0)):
        return games
    if not np.all(np.isin(games.points, (0.0, 0.5, 1.0))):
        return games
    return replace(games, draws=(games.points == 0.5).astype(np.float64))


def _check(
    games: Games,
    curve: object,
    scale: float,
    anchor: float | None,
    prior: float,
    colour_advantage: Advantage,
    draws: Draws,
) -> None:
    """Refuse parameters that are out of range or contradict one another."""
    check_scale(scale)
    known = anchor is None or abs(anchor) <= LARGEST
    require(known, "anchor", f"from -{LARGEST:g} to {LARGEST:g}", anchor)
    allowed = prior == 0 or LEAST_PRIOR <= prior <= MOST_PRIOR
    require(allowed, "prior", f"0, or from {LEAST_PRIOR:g} to {MOST_PRIOR:g} games", prior)
    if not isinstance(colour_advantage, str):
        fits = abs(colour_advantage) <= LARGEST_ADVANTAGE * scale
        require(fits, "colour_advantage", 'rating points, or "estimate"', colour_advantage)
    usable = games.coloured or colour_advantage == 0.0
    require(usable, "colour_advantage", "0 if colours are not known", colour_advantage)
    compatible = draws == "ignore" or curve == "elo"
    require(compatible, "curve", "elo with draws=davidson, which extends it", curve)


def _held(games: Games, anchors: Mapping[Any, float]) -> Floats:
    """Return the ratings that are held, shape (N,), NaN elsewhere."""
    held = np.full(games.players, np.nan)
    if not anchors:
        return held
    row_of = {player: row for row, player in enumerate(games.player_ids.tolist())}
    for player, rating in anchors.items():
        if player not in row_of:
            raise NotFoundError(f"player {player!r}, whose rating is to be held, has no games")
        fits = abs(rating) <= LARGEST
        require(fits, "anchors", f"ratings from -{LARGEST:g} to {LARGEST:g}", rating)
        held[row_of[player]] = rating
    return held


def _component(pairs: Pairs, games: Games, fixed: Floats) -> Ints:
    """Return every player's component. Raises : NoEquilibriumError if there are sweeps."""
    from equipoise.tournament.existence import existence

    held = np.flatnonzero(~np.isnan(fixed))
    solvable = existence(pairs, len(fixed), contracted=held if len(held) else None)
    if not solvable.exists:
        raise NoEquilibriumError(solvable.sweeps_of(games.player_ids))
    return solvable.component


def _loose(question: Question) -> Flags:
    """Return which players are in a component without held players, shape (N,)."""
    component, fixed = question.component, question.fixed
    held = np.zeros(question.players, dtype=np.bool_) if fixed is None else ~np.isnan(fixed)
    anchored = np.bincount(component + 1, held) > 0
    return np.asarray((component >= 0) & ~anchored[component + 1], dtype=np.bool_)


def _placed(
    question: Question, solved: Fit, select: Select, average: Floats, initial: Floats
) -> Floats:
    """Return the ratings with the selected constant, in components without held players."""
    loose, ratings = _loose(question), solved.solution.ratings
    if not np.any(loose):
        return ratings
    inside = loose[question.pairs.first]
    placed = select_equilibrium(
        question.pairs if np.all(inside) else question.pairs.where(inside),
        np.where(loose, ratings, np.nan),
        question.component,
        curve=solved.curve,
        scale=question.scale,
        advantage=solved.advantage,
        select=select,
        average=average,
        initial=initial,
        threads=question.threads,
    )
    return np.where(loose, placed, ratings)


def _result(
    games: Games, question: Question, solved: Fit, ratings: Floats, relative: bool
) -> Equilibrium:
    """Return the equilibrium, without the player of a prior."""
    size, real = games.players, question.real
    pairs = question.pairs if np.all(real) else question.pairs.where(real)
    t = (ratings[pairs.first] - ratings[pairs.second] + solved.advantage) / question.scale
    curve, weight = solved.curve, pairs.weight
    expected = pairs.summed(weight * curve.expected(t), weight * curve.expected(-t), size)
    uncertainty = Uncertainty(
        question.pairs,
        ratings,
        question.component,
        curve=curve,
        scale=question.scale,
        advantage=solved.advantage,
        held=None if question.fixed is None else ~np.isnan(question.fixed),
        games=games,
        threads=question.threads,
    )
    return Equilibrium(
        player_ids=games.player_ids,
        rating=ratings[:size],
        expected=expected,
        scored=pairs.scored(size),
        played=pairs.played(size),
        component=question.component[:size],
        relative=relative,
        iterations=solved.solution.iterations,
        inner_iterations=solved.solution.inner_iterations,
        residual=solved.solution.residual,
        colour_advantage=solved.advantage,
        draw_parameter=solved.nu,
        curve=curve,
        scale=question.scale,
        uncertainty=uncertainty,
    )


def average_rating(
    initial: Floats, component: Ints, anchor: float | None = None
) -> tuple[Floats, bool]:
    """Return the average of every player's component, shape (N,), and whether ratings are relative.

    A component without a rated player has the average of the tournament. If no player is rated, the
    average is 0 and ratings are relative.

    initial : shape (N,), ratings before the tournament, NaN if unrated
    component : shape (N,), -1 for players without games, who do not count
    anchor : average to use instead, in every component
    """
    if anchor is not None:
        return np.full(len(initial), float(anchor)), False
    rated = ~np.isnan(initial) & (component >= 0)
    if not np.any(rated):
        return np.zeros(len(initial)), True
    label = np.where(component < 0, 0, component)
    size = int(np.max(label)) + 1
    count = np.bincount(label, rated, size)
    total = np.bincount(label, np.where(rated, initial, 0.0), size)
    average = np.where(count > 0, total / np.maximum(count, 1.0), np.mean(initial[rated]))
    return np.asarray(np.where(component < 0, np.mean(initial[rated]), average[label])), False


def select_equilibrium(
    pairs: Pairs,
    shape: Floats,
    component: Ints,
    *,
    curve: Curve,
    scale: float = 1.0,
    advantage: float = 0.0,
    select: Select = "equal",
    average: Floats,
    initial: Floats,
    threads: int = 1,
) -> Floats:
    """Return the equilibrium with the selected constant, shape (N,), NaN where `shape` is.

    shape : shape (N,), any equilibrium; it has all players with pairs
    component : shape (N,), -1 for players without games; the players of a component move together
    average : shape (N,), of every player's component, see `average_rating`
    initial : shape (N,), ratings before the tournament, NaN if unrated; for "initial" only
    Raises : InvalidParameterError, ConvergenceError
    """
    counted = np.isfinite(shape) & (component >= 0)
    label = np.where(counted, component, np.max(component, initial=-1) + 1)
    centred = np.where(counted, shape - means_by(label, shape, counted), 0.0)
    shift = np.zeros(len(shape))
    if select != "mean":
        begin = np.zeros(len(shape))
        guess = None
        if select == "initial":
            begin = np.where(np.isnan(initial), 0.0, initial - average)
        else:
            played = pairs.played(len(shape))
            guess = scale * against_equals(played, pairs.scored(len(shape)))
        function = PerformanceFunction(
            pairs, len(shape), curve=curve, scale=scale, advantage=advantage, threads=threads
        )
        t = (centred[pairs.first] - centred[pairs.second] + advantage) / scale
        slope = pairs.weight * curve.slope(t)
        weight = pairs.summed(slope, slope, len(shape))
        shift = _drift(function, begin, guess, centred, weight, label, scale)
    return np.where(counted, centred + shift + average, np.nan)


def _drift(
    function: PerformanceFunction,
    begin: Floats,
    guess: Floats | None,
    centred: Floats,
    weight: Floats,
    label: Ints,
    scale: float,
) -> Floats:
    """Return how far above `centred` x <- f(x) ends, for the component of every player."""
    x, start = begin, guess
    total = np.bincount(label, weight)
    for _ in range(PLAIN_STEPS):
        x = np.nan_to_num(function(x, _TOLERANCE, start))
        above, start = x - centred, None
        drift = (np.bincount(label, weight * above) / np.where(total > 0, total, 1.0))[label]
        if np.max(np.abs(np.where(weight > 0, above - drift, 0.0)), initial=0.0) < NEAR * scale:
            break
    return np.asarray(drift, dtype=np.float64)
