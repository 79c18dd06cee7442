"""The table of a tournament: all performance ratings of every player, and why some are missing.

Source: [PRE]_; READINGS C. If the tournament has no equilibrium, each class of players who all took
points off one another, directly or through others, is solved by itself, from the games within it.
Sweeps between classes give one-sided bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ints
from equipoise.data.games import Games
from equipoise.data.tournament import (
    STATUSES,
    Standing,
    Superiority,
    TournamentPerformance,
)
from equipoise.errors import ConvergenceError, NoEquilibriumError, NotFoundError, require
from equipoise.numeric.graph import components
from equipoise.tournament.curves import Curve, CurveName, curve_of
from equipoise.tournament.equilibrium import (
    Advantage,
    Draws,
    Equilibrium,
    Select,
    performance_equilibrium,
)
from equipoise.tournament.existence import (
    Existence,
    existence,
    explain,
    named,
    one_sided_bounds,
    sweep_differences,
)
from equipoise.tournament.formulas import (
    RatingRules,
    Results,
    average_opponent,
    complete_performance,
    fide_performance,
    fide_rating_change,
    linear_performance,
    recursive_performance,
    results_of,
    tournament_performance,
)
from equipoise.tournament.newton import means_by
from equipoise.tournament.pairs import gather_pairs
from equipoise.tournament.tie_break_parts import Pairing, TieBreakRules, Unplayed
from equipoise.tournament.tie_breaks import TieBreak, places_by, tournament_points
from equipoise.tournament.tie_breaks import tie_breaks as breaks_of
from equipoise.tournament.uncertainty import DENSE_PLAYERS, SuperiorityPrior
from equipoise.wording import counted

#: Optional columns.
Extra: TypeAlias = Literal["linear", "recursive"]
EXTRA: tuple[Extra, ...] = ("linear", "recursive")

#: Number of the best players who are compared with one another, and whose errors are computed in a
#: large tournament, unless players are named.
FIRST_PLAYERS = 20
#: Largest confidence; beyond it a normal approximation is meaningless.
MOST_SURE = 1.0 - 1e-9
#: Largest number of players compared in one matrix.
MOST_COMPARED = 1_000


@checks_arguments(
    "scale", "anchor", "anchors", "prior", "confidence", "also", "tie_breaks", "k_factor"
)
def performance(
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
    confidence: float = 0.95,
    superiority: bool = False,
    superiority_prior: SuperiorityPrior = "field",
    players: Sequence[Any] = (),
    also: Sequence[Extra] = (),
    tie_breaks: Sequence[TieBreak] = (),
    unplayed: Unplayed = "fide",
    pairing: Pairing = "auto",
    tie_break_rules: TieBreakRules = "2026-03",
    by_points: bool = False,
    k_factor: float | Mapping[Any, float] | None = None,
    rating_rules: RatingRules = "2025-10",
    strict: bool = False,
    threads: int = 1,
) -> TournamentPerformance:
    """Return the performance ratings of a tournament, with errors, bounds and reasons.

    curve : "elo", "normal", "laplace", "cauchy", a curve, or a function of the difference of
      ratings over the scale
    scale : beta, in (0, 20]; 1 is Elo's 400 points
    select : the additive constant: "equal", "mean" or "initial" (READINGS C2)
    anchor : average rating, instead of that of the players before the tournament
    anchors : id -> rating at which that player is held; without an `anchor`, they set the level of
        a prior and of recursive performances too
    prior : drawn games of every player against an average player; above 0 the PPR are not an
        equilibrium
    colour_advantage : rating points of white, or "estimate"
    draws : "ignore" counts them as half a win, "davidson" models them
    confidence : of errors and bounds, in (0, 1)
    superiority : compare `players` (by default the first 20) with one another
    superiority_prior : "field", the players of a component are normal with the spread that their
      ratings show; "flat", they may be of any strength, so those on top seem surer than they are
    players : ids of players to compare, whose errors are also computed in large components; in
      components of up to 3,000 players, all players have errors
    also : "linear", "recursive": further columns
    tie_breaks : names of tie-breaks, which are further columns, with the `place` by points and then
      by them, and the `score` with byes and forfeits
    unplayed, pairing, tie_break_rules : how rounds without a game count in tie-breaks, as
      `equipoise.tie_breaks` takes them
    by_points : order the table by `place`, not by PPR
    k_factor, rating_rules : FIDE's K, of all players or id -> K, for a column `fide_change`, and
      the date of the rules: as `equipoise.fide_rating_change` takes them
    strict : raise an error if there is no equilibrium
    threads : number of threads; it never changes a result
    Raises : NoEquilibriumError   `strict`, and some players took every point of others
    Raises : InvalidParameterError, NotFoundError, ConvergenceError
    Raises : InvalidDataError     advantage or draw parameter cannot be estimated

    Examples
    --------
    >>> games = eq.read_games("examples/interzonal1970.csv")
    >>> found = eq.performance(games, anchor=2557)
    >>> found
    <TournamentPerformance: 24 players, the best Fischer>
    >>> round(found.table["ppr"][0], 1)
    2805.8
    """
    require(
        0 < confidence <= MOST_SURE, "confidence", f"above 0 and at most {MOST_SURE}", confidence
    )
    for name in also:
        require(name in EXTRA, "also", f"one of {', '.join(EXTRA)}", name)
    anchors = dict(anchors or {})
    breaks = _standings(
        games,
        tie_breaks,
        breaks_of(games, tie_breaks, unplayed=unplayed, pairing=pairing, rules=tie_break_rules),
        tournament_points(games, unplayed),
        by_points,
    )
    change = {}
    if k_factor is not None:
        change["fide_change"] = fide_rating_change(games, k_factor, rules=rating_rules)
    chosen = rows_of(games, players)
    held = rows_of(games, list(anchors))
    pairs = gather_pairs(games)
    structure = existence(pairs, games.players, contracted=held if len(held) else None)
    solvable = structure.exists or prior > 0
    if strict and not solvable:
        raise NoEquilibriumError(structure.sweeps_of(games.player_ids))
    solved = performance_equilibrium(
        games if solvable else _within_classes(games, structure),
        curve=curve,
        scale=scale,
        select=select,
        anchor=anchor,
        anchors=anchors,
        prior=prior,
        colour_advantage=colour_advantage,
        draws=draws,
        threads=threads,
    )
    curve_used = curve_of(curve) if math.isnan(solved.draw_parameter) else solved.curve
    rating, unplaced = solved.rating, np.zeros(games.players, np.bool_)
    if not solvable:
        rating, unplaced = _beside_held(structure, held, list(anchors.values()), solved)
    by = np.zeros(0)
    if not structure.exists:
        by = sweep_differences(structure, pairs, rating, curve_used, scale, confidence)
    context = _Context(games, structure, solved, scale, confidence, rating, by)
    results = results_of(games)
    # TPR compares with ratings before the tournament, so its curve does not model draws.
    tpr = tournament_performance(results, curve=curve, scale=scale)
    standing = _standing(context, results, tpr, solvable, held, unplaced)
    extra = {}
    if "linear" in also:
        extra["linear"] = linear_performance(results, scale=scale)
    if "recursive" in also:
        column = recursive_performance(games, anchor=anchor, scale=scale)
        if anchor is None and len(held):
            anchored = np.full(games.players, np.nan)
            anchored[held] = list(anchors.values())
            label, missing = components(games.white, games.black, games.players), anchored - column
            column = column + means_by(label, missing, ~np.isnan(missing))
        extra["recursive"] = column
    table = TournamentPerformance(
        player_ids=games.player_ids,
        standing=standing,
        exists=structure.exists,
        components=structure.components,
        sweeps=structure.sweeps_of(games.player_ids, by),
        reasons=_reasons(structure, games, held, unplaced),
        relative=solved.relative and not _is_placed(structure, standing, held),
        confidence=confidence,
        colour_advantage=solved.colour_advantage,
        draw_parameter=solved.draw_parameter,
        prior=prior,
        held=tuple(games.player_ids[held].tolist()),
        by_points=by_points,
        extra={**extra, **breaks, **change},
    )
    if not superiority and not _is_large(solved):
        return table
    return _with_chosen(table, solved, chosen, superiority_prior if superiority else None)


def _standings(
    games: Games,
    names: Sequence[TieBreak],
    breaks: Mapping[str, Floats],
    points: Floats,
    wanted: bool,
) -> dict[str, Floats]:
    """Return the columns of tie-breaks: the place, the points with byes and forfeits, and each.

    wanted : whether the place is, even without tie-breaks
    """
    if not names and not wanted:
        return {}
    values = [breaks[name] for name in dict.fromkeys(names)]
    ascending = [name == "direct-encounter" for name in dict.fromkeys(names)]
    columns = {"place": places_by(points, values, ascending).astype(np.float64)}
    if not np.array_equal(points, games.scored()):
        columns["score"] = points
    return columns | {name.replace("-", "_"): values for name, values in breaks.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Context:
    """The values from which the columns of the table are computed.

    rating : shape (N,), PPRs or, without an equilibrium, those within classes
    differences : of the levels of classes, for every sweep
    """

    games: Games
    found: Existence
    solved: Equilibrium
    scale: float
    confidence: float
    rating: Floats
    differences: Floats


def rows_of(games: Games, ids: Sequence[Any]) -> Ints:
    """Return the rows of players. Raises : NotFoundError   it names all unknown players."""
    row_of = (
        {str(player): row for row, player in enumerate(games.player_ids.tolist())} if ids else {}
    )
    missing = [str(player) for player in ids if str(player) not in row_of]
    if missing:
        raise NotFoundError(
            f"not among the {counted(games.players, 'player')}: {', '.join(missing)}"
        )
    return np.array([row_of[str(player)] for player in ids], dtype=np.int64)


def _within_classes(games: Games, existence: Existence) -> Games:
    """Return the games between players of the same class."""
    kept = existence.class_of[games.white] == existence.class_of[games.black]
    columns = ("white", "black", "points", "weight", "white_rating", "black_rating", "draws")
    values = {name: getattr(games, name) for name in columns}
    fewer = {name: value[kept] for name, value in values.items() if value is not None}
    return replace(games, rounds=None, **fewer)


def _beside_held(
    existence: Existence, held: Ints, ratings_held: Sequence[float], solved: Equilibrium
) -> tuple[Floats, Flags]:
    """Return ratings within classes, and which players' class has no known level; each (N,).

    Held players have their ratings also if they have no games within their class. They are all in
    one class. Only sweeps link it to the other classes of its component, so if no average is known,
    the ratings of these classes have a meaning only within them.
    """
    rating, unplaced = solved.rating.copy(), np.zeros(len(solved.rating), np.bool_)
    plays = existence.class_of[held] >= 0
    rating[held[plays]] = np.asarray(ratings_held, dtype=np.float64)[plays]
    if solved.relative and np.any(plays):
        first = held[plays][0]
        unplaced = (existence.component == existence.component[first]) & (
            existence.class_of != existence.class_of[first]
        )
    return rating, unplaced


def _is_placed(existence: Existence, standing: Standing, held: Ints) -> bool:
    """Return whether all players with a rating are in the component of the held players."""
    known = ~(np.isnan(standing.ppr) & np.isnan(standing.class_ppr))
    return bool(np.all(np.isin(existence.component[known], existence.component[held])))


def _standing(
    context: _Context, results: Results, tpr: Floats, solvable: bool, held: Ints, unplaced: Flags
) -> Standing:
    """Return the columns of the table."""
    games, solved, scale = context.games, context.solved, context.scale
    played, scored = games.played(), games.scored()
    whole = np.ones(games.players, np.bool_) if solvable else _whole(context.found)
    ppr = np.where(whole & (played > 0), context.rating, np.nan)
    in_class = np.full(games.players, np.nan)
    if solvable == context.found.exists:
        in_class = np.where(unplaced, np.nan, context.rating)
    lower = upper = np.full(games.players, np.nan)
    if not solvable:
        rating, by = context.rating, context.differences
        lower, upper = one_sided_bounds(context.found, rating, by, unplaced)
    error = np.where(unplaced, np.nan, half_width(context.confidence) * _errors(solved))
    error[held[played[held] > 0]] = 0.0
    return Standing(
        games=played,
        points=scored,
        expected=np.where(np.isnan(ppr), np.nan, solved.expected),
        rating=games.initial,
        average_opponent=average_opponent(results),
        tpr=tpr,
        cpr=complete_performance(results, scale=scale),
        fide=fide_performance(results),
        ppr=ppr,
        error=error,
        class_ppr=in_class,
        lower=lower,
        upper=upper,
        component=context.found.component,
        class_of=context.found.class_of,
        status=_status(played, scored, _whole(context.found)),
    )


def half_width(confidence: float) -> float:
    """Return the half width of the confidence interval of a normal variable, in standard errors."""
    return NormalDist().inv_cdf(0.5 + 0.5 * confidence)


def _whole(existence: Existence) -> Flags:
    """Return which players are in a component of one class, shape (N,)."""
    top = np.full(existence.components + 1, -1)
    np.maximum.at(top, existence.component + 1, existence.class_of)
    least = np.full(existence.components + 1, existence.classes)
    np.minimum.at(least, existence.component + 1, existence.class_of)
    return np.asarray((top == least)[existence.component + 1] & (existence.component >= 0))


def _errors(solved: Equilibrium, rows: Ints | None = None) -> Floats:
    """Return standard errors; NaN if they cannot be computed, which does not affect ratings."""
    try:
        return solved.errors(rows)
    except ConvergenceError:
        count = len(solved.rating) if rows is None else len(rows)
        return np.full(count, np.nan)


def _status(played: Floats, scored: Floats, whole: Flags) -> Ints:
    """Return the index into STATUSES of every player.

    whole : shape (N,), whether the player is in a component of one class
    """
    number = {name: index for index, name in enumerate(STATUSES)}
    status = np.full(len(played), number["swept"])
    status[scored == played] = number["all-won"]
    status[scored == 0] = number["none-won"]
    status[whole] = number["ok"]
    status[played == 0] = number["no-games"]
    return status.astype(np.int64)


def _reasons(existence: Existence, games: Games, held: Ints, unplaced: Flags) -> tuple[str, ...]:
    """Return why ratings exist or not, as sentences; held players count as one player."""
    head, *others = explain(existence, games.player_ids)
    if existence.exists and len(held) > 1:
        head = "Finite ratings predict the score of every player whose rating is not held."
    if np.any(unplaced):
        others.append(
            f"Only the class of {named(games.player_ids, held)} has a known level. Ratings in "
            "other classes are unknown, but sweeps may bound them from one side."
        )
    return (head, *others)


def _is_large(solved: Equilibrium) -> bool:
    """Return whether errors were left out because a component is large."""
    sizes = np.bincount(solved.component[solved.component >= 0])
    return bool(len(sizes) and sizes.max() > DENSE_PLAYERS)


def _with_chosen(
    table: TournamentPerformance,
    solved: Equilibrium,
    named: Ints,
    prior: SuperiorityPrior | None,
) -> TournamentPerformance:
    """Return the table with the errors and, with a prior, the superiority of chosen players."""
    order = table.order
    rated = order[~np.isnan(solved.rating[order])]
    chosen = rated[:FIRST_PLAYERS] if not len(named) else order[np.isin(order, named)]
    standing, error = table.standing, table.standing.error.copy()
    shown = chosen[~(np.isnan(standing.ppr) & np.isnan(standing.class_ppr))[chosen]]
    shown = shown[np.isnan(error[shown])]
    error[shown] = half_width(table.confidence) * _errors(solved, shown)
    table = replace(table, standing=replace(table.standing, error=error))
    if prior is None:
        return table
    require(
        len(chosen) <= MOST_COMPARED, "players", f"at most {MOST_COMPARED} to compare", len(chosen)
    )
    probability = solved.superiority(chosen, prior)
    probability[np.diag_indices(len(chosen))] = np.nan
    return replace(
        table, superiority=Superiority(rows=chosen, probability=probability, prior=prior)
    )
