"""A coming match of a pool: its teams, what a system expects of them, and how even it is.

Source: [TS]_. It is the probability that the performances of all teams meet within a small margin,
divided by what it would be if the ratings were equal and certain, in the limit of a margin of 0.

`match_quality` has normal performances that add up within a team, as in both TrueSkill systems.
With c_t the sum of the ratings of team t, s_t^2 the variance of its performance and b_t^2 that of
players whose skill is certain, the performances of all teams meet at one point with the density

    D(c, s) = integral of prod_t phi((x - c_t)/s_t)/s_t dx,      quality = D(c, s)/D(0, b).

With w_t = 1/s_t^2, W their sum, and m the mean of c weighted by w, this is

    quality = prod_t (b_t/s_t) sqrt(sum_t 1/b_t^2/W) exp(-1/2 sum_t w_t (c_t - m)^2).

For two players it is equation (7) of [TS]_. The drift that a match adds is not counted there, nor
here. If a player takes part in a share q of the match, the performance counts q times, so its mean
is multiplied by q and its variances by q^2.

`estimated_quality` is the same ratio for two teams of any other system, whose outlook says that
the difference d of two performances has the centre c and the scale s. With f the density of the
curve, and b the scale if all ratings were certain,

    quality = (f(c/s)/s)/(f(0)/b).

For the logistic curve this is b/s times 4 E (1 - E), E the win probability. So it is also the
estimated draw probability (`rating.state`) over that of equals, times b/s for the uncertainty. For
the normal curve it is the formula above. More than two teams have none: their performances are
known by pairs only.

`lineup` and `lobby_of` check players of a pool, `team_prediction` predicts the scores of teams. For
two teams it also predicts wins and draws. A system that models draws (`ModelsDraws`) has a margin m
of the difference d of two performances:

    win = P(d > m),   draw = P(|d| <= m),   expected = win + draw/2.

For other systems E, the win probability of a pair without draws, is the expected score, and the
draw probability is estimated from the draws seen before:

    draw = min(4 r E (1 - E), 2 E, 2 (1 - E)),   win = E - draw/2,

where r is the draw probability of equal teams: in earlier matches (`DRAWS`), or as given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.lobby import Lobby
from equipoise.data.outlook import Outlook, TeamModel, chance, team_mean_outlook
from equipoise.data.prediction import ESTIMATE, GIVEN, TEAM_MEAN, Prediction
from equipoise.data.times import days_of
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.calibration_curve import (
    CALIBRATION,
    calibrated_range,
    corrected,
    corrected_sums,
    experience_of,
)
from equipoise.rating.contexts import in_context
from equipoise.rating.one_call.call import check_named_once, coming_match
from equipoise.rating.one_match import OneMatch, history_of
from equipoise.rating.pool_state import PoolState, check_ids
from equipoise.rating.state import LEAST_MATCHES, State, check_draw_rate, counted_matches
from equipoise.rating.state import draw_rate as draw_rate_of
from equipoise.rating.system import (
    Capabilities,
    ModelsDraws,
    RatingSystem,
    models_draws,
)
from equipoise.wording import counted


def match_quality(centre: Floats, variance: Floats, certain: Floats) -> float:
    """Return the match quality of teams with normal performances.

    centre : shape (teams,), sums of the ratings
    variance, certain : shape (teams,), of performances, with and without uncertain ratings
    """
    weight = 1.0 / variance
    mean = (weight * centre).sum() / weight.sum()
    shape = 0.5 * np.log(certain / variance).sum()
    shape += 0.5 * math.log((1.0 / certain).sum() / weight.sum())
    return math.exp(shape - 0.5 * float((weight * (centre - mean) ** 2).sum()))


def certain_scale(certain: Outlook, sizes: Sequence[int]) -> float:
    """Return the scale of the difference of two teams whose ratings are certain.

    It is that of `Outlook.of_teams`, in plain Python, which is faster for so few numbers.

    certain : of the players, with deviations of 0; sizes : number of players of each team
    """
    own = [scale * scale - certain.shared for scale in certain.scale.tolist()]
    first, second = sum(own[: sizes[0]]), sum(own[sizes[0] :])
    if certain.team == "mean":
        first, second = first / sizes[0] ** 2, second / sizes[1] ** 2
    return math.sqrt(2.0 * certain.shared + first + second)


def estimated_quality(outlook: Outlook, least: float) -> float:
    """Return the match quality of two teams by the density of their difference.

    outlook : of the teams; least : scale of their difference if all ratings were certain
    """
    scale = math.hypot(*outlook.scale.tolist())
    # A deviation of 0 takes away all of the scale where it is the noise, as in `topcoder`.
    narrower = least / scale if least > 0.0 else 1.0
    first, second = outlook.centre.tolist()
    z = (first - second) / scale
    if outlook.curve == "normal":
        return narrower * math.exp(-0.5 * z * z)
    # From the smaller probability, so that it keeps its digits.
    odds = math.exp(-abs(z))
    tail = odds / (1.0 + odds)
    return narrower * 4.0 * tail * (1.0 - tail)


#: Days.
_MICROSECOND = 1.0 / MICROSECONDS_PER_DAY


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lineup:
    """The players and teams of a coming match.

    state : of the n players, team after team; newcomers have the state of newcomers
    player_ids : shape (n,)
    known : shape (n,), whether the pool knows the player
    one : the match, its teams in the order of their numbers
    """

    state: State
    player_ids: Ids
    known: Flags
    one: OneMatch

    @property
    def team(self) -> Ints:
        """The number of each player's team, shape (n,)."""
        return np.repeat(np.arange(self.teams), self.one.sizes)

    @property
    def teams(self) -> int:
        """Number of teams."""
        return len(self.one.sizes)

    @property
    def time(self) -> int | None:
        """Time of the match in microseconds since 1970; None without times."""
        return self.one.time

    @property
    def day(self) -> float | None:
        """Time of the match in days since 1970."""
        return None if self.time is None else self.time / MICROSECONDS_PER_DAY

    @property
    def newcomers(self) -> tuple[Any, ...]:
        """Ids of the players whom the pool does not know."""
        return tuple(self.player_ids[~self.known].tolist())

    def match(self, rank: Ints) -> History:
        """Return a history of this match only, with its players numbered as in `player_ids`.

        rank : shape (teams,), dense from 0
        """
        ranked = self.one._replace(ranks=rank.tolist())
        return history_of([ranked], [self.player_ids.tolist()])


def lineup(
    system: RatingSystem,
    pool: PoolState,
    teams: Sequence[Sequence[object]],
    *,
    at: float | None = None,
    home: int | None = None,
    any_teams: bool = False,
    beta: float | None = None,
    gamma: float | None = None,
    context: str | None = None,
) -> Lineup:
    """Return teams of player ids as a match of a pool; unknown players are newcomers.

    at : time of the match in days since 1970; None: that of the pool's last match
    home : number of the team that plays at home, for systems with `home_advantage`
    any_teams : whether to accept teams that the system cannot rate
    beta, gamma : deviations of the match's own
    context : of the match, for systems with `context_deviation`
    Raises : InvalidParameterError
    """
    for team in teams:
        if isinstance(team, str | bytes):
            # Each of its letters would be a newcomer.
            raise InvalidParameterError(
                f"teams must be lists of player ids; got {team!r}: write [{team!r}]"
            )
    sizes = [len(team) for team in teams]
    require(len(sizes) >= 2, "teams", "at least two", len(sizes))
    require(min(sizes) >= 1, "teams", "of at least one player each", min(sizes))
    if not any_teams:
        _check_teams(system, sizes)
    players = [player for team in teams for player in team]
    check_ids("teams", players)
    check_named_once([str(player) for player in players])
    state, ids, known = pool.with_newcomers(players)
    _check_not_earlier(system.at(state, np.arange(len(ids)), None)["last_time"], ids, at)
    return Lineup(
        state=state,
        player_ids=ids,
        known=known,
        one=coming_match(
            system,
            system.capabilities,
            sizes,
            pool.last_time if at is None else round(at * MICROSECONDS_PER_DAY),
            home=home,
            context=context,
            beta=beta,
            gamma=gamma,
        ),
    )


def of_match(
    system: RatingSystem,
    state: State,
    rating: Floats,
    deviation: Floats,
    context: str | None,
) -> tuple[Floats, Floats]:
    """Return ratings and deviations of the players of a state in the context of a match.

    rating, deviation : of their general parts
    """
    if context is None:
        return rating, deviation
    rows = np.arange(state.players)
    return in_context(state, rows, rating, deviation, system.context_deviation, context)  # type: ignore[attr-defined]


def predicted(
    system: RatingSystem,
    state: State,
    match: OneMatch,
    draw_rate: float | None,
    *,
    able: Capabilities | None = None,
    now: Mapping[str, Floats] | None = None,
    calibrates: bool = False,
) -> Prediction:
    """Return the prediction of a match for the players of a state, team after team.

    state : of the players; it also says how often two teams have drawn
    match : without a time, every player is as of the last match
    now : ratings and deviations of the players, if they are known without reading the state
    calibrates : whether a curve that the pool has learned corrects the chances
    """
    if now is None:
        day = None if match.time is None else match.time / MICROSECONDS_PER_DAY
        now = system.at(state, np.arange(state.players), day)
    rating, deviation = of_match(system, state, now["rating"], now["deviation"], match.context)
    return team_prediction(
        system,
        state,
        rating,
        deviation,
        np.repeat(np.arange(len(match.sizes)), match.sizes),
        match=history_of([match]) if match.at_home or match.has_own_deviations else None,
        draw_rate=draw_rate,
        share=np.array(match.share) if match.share else None,
        able=able,
        earlier=now["matches"] if calibrates else None,
    )


@checks_arguments()
def lobby_of(
    state: PoolState, players: Sequence[object], *, at: float | date | None = None
) -> Lobby:
    """Return players of a pool as a lobby; unknown players are newcomers, and the lobby says so.

    The lobby has the model of the system, so `balance` makes teams by their chances to win.
    The effective rating is that of the system if it has one, else the rating; players of a
    system without deviations have deviation 0. Ids may come as text for numbers.

    at : time for which ratings are read, a date or a date-time (UTC without a zone) or days since
        1970; None: that of the pool's last match
    Raises : InvalidDataError        a player is named twice, or fewer than two are named
    Raises : InvalidParameterError   a player has played since `at`

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> pool = eq.replay(eq.Glicko2(), league).state
    >>> lobby = eq.lobby_of(pool, ["ada", "ben", "cem", "dia"])
    >>> eq.balance(lobby).teams
    (('ada', 'ben'), ('cem', 'dia'))
    """
    check_ids("players", players)
    known_players, ids, known = state.with_newcomers(players)
    day = days_of(at)
    if day is None and state.last_time is not None:
        day = state.last_time / MICROSECONDS_PER_DAY
    now = state.system.at(known_players, np.arange(len(ids)), day)
    _check_not_earlier(now["last_time"], ids, day)
    return Lobby(
        player_ids=ids,
        rating=now["rating"],
        deviation=np.nan_to_num(now["deviation"], nan=0.0),
        effective_rating=now.get("effective_rating"),
        newcomers=tuple(ids[~known].tolist()),
        model=team_model(state),
    )


def _check_not_earlier(last: Floats, ids: Ids, at: float | None) -> None:
    """Refuse a time before a player's last match: the state does not have earlier ratings.

    last : days since 1970, NaN if there is no time
    Raises : InvalidParameterError
    """
    # Times are kept in days as float64, exact to a microsecond.
    later = np.flatnonzero(last > (math.inf if at is None else at + _MICROSECOND))
    if len(later):
        who = ids[later[:1]].tolist()[0]
        raise InvalidParameterError(f"at must not be before the last match of {who}")


def _check_teams(system: RatingSystem, sizes: Sequence[int]) -> None:
    """Refuse teams that the system cannot rate. Raises : InvalidParameterError."""
    most, largest = system.capabilities.max_teams, system.capabilities.max_team_size
    require(
        most is None or len(sizes) <= most, "teams", f"at most {most} for {system.name}", len(sizes)
    )
    require(
        largest is None or max(sizes) <= largest,
        "teams",
        f"of at most {counted(largest or 0, 'player')} for {system.name}",
        max(sizes),
    )


def team_prediction(
    system: RatingSystem,
    state: State,
    rating: Floats,
    deviation: Floats,
    team: Ints,
    *,
    match: History | None = None,
    draw_rate: float | None = None,
    share: Floats | None = None,
    able: Capabilities | None = None,
    earlier: Floats | None = None,
) -> Prediction:
    """Return the prediction for teams of players with these ratings.

    Teams that the system cannot rate are compared by their mean ratings (READINGS A15).

    state : of the pool; it says how often two teams have drawn
    rating, deviation : shape (n,), as of the time of the match; NaN for no deviation
    team : shape (n,), the team of each player, numbered from 0 without gaps
    match : the match, so that a home advantage and own deviations count
    draw_rate : draw probability of equals, for systems that do not model draws; None: that of the
      pool
    share : shape (n,), by which performances count where they add up; None: all count once
    able : `system.capabilities`, where the caller has them already
    earlier : shape (n,), matches of each player so far: a pool that has learned a curve calibrates
        the chances by it. None: chances are as the system predicts them
    Raises : InvalidParameterError for a draw rate that would change nothing
    """
    sizes: list[int] = np.bincount(team).tolist()
    rated = (system.capabilities if able is None else able).fits(sizes)
    models = rated and models_draws(system)
    by = system.name if rated else TEAM_MEAN
    players = _players(system, state, rating, deviation, match, rated)
    started = players.centre
    if share is not None:
        players = replace(players, centre=share * players.centre, scale=share * players.scale)
    outlook = players.of_teams(team, len(sizes))
    if draw_rate is not None:
        _check_needed(system, draw_rate, len(sizes), models)
    quality, quality_by = None, None
    if models:
        quality = _modelled_quality(system, outlook, deviation, team, share)
        quality_by = None if quality is None else by
    if quality is None and rated and len(sizes) == 2:
        has_own = match is not None and (match.beta is not None or match.gamma is not None)
        certain = system.outlook(rating, np.zeros(len(team)), match if has_own else None)
        quality, quality_by = estimated_quality(outlook, certain_scale(certain, sizes)), ESTIMATE
    uncalibrated, known_to = None, None
    if rated and earlier is not None and CALIBRATION in state.shared:
        uncalibrated = _expected(system, outlook, started, rated)
        stored, plain = state.shared[CALIBRATION], outlook
        outlook = corrected(stored, plain, team, earlier)

        def first_expected(numbers: Floats) -> float:
            """Return the expected score of the first of two teams with a curve of these numbers."""
            return _expected(system, corrected(numbers, plain, team, earlier), started, rated)[0]

        if len(sizes) == 2:
            known_to = calibrated_range(stored, first_expected)
    if len(sizes) == 2 and models and models_draws(system):
        # The system rates the match with the head starts in the ratings.
        prediction = _modelled(system, outlook, started, quality, quality_by)
        return replace(prediction, uncalibrated=uncalibrated, calibrated_range=known_to)
    expected = tuple(outlook.expected().tolist())
    win, draw, draw_by, note = None, None, None, ""
    if len(sizes) == 2:
        rate = draw_rate_of(state) if draw_rate is None else float(draw_rate)
        if rate is None:
            note = _why_unknown(by, counted_matches(state))
        else:
            draw = estimated_draw(rate, *expected)
            # Rounding must not make a probability negative.
            win = tuple(max(share - 0.5 * draw, 0.0) for share in expected)
            draw_by = ESTIMATE if draw_rate is None else GIVEN
    return Prediction(
        expected=expected,
        outlook=outlook,
        by=by,
        win=win,
        draw=draw,
        draw_by=draw_by,
        quality=quality,
        quality_by=quality_by,
        draw_note=note,
        uncalibrated=uncalibrated,
        calibrated_range=known_to,
    )


def expected_scores(
    system: RatingSystem,
    state: State,
    rating: Floats,
    deviation: Floats,
    sizes: Sequence[Sequence[int]],
    able: Capabilities,
    match: History | None = None,
) -> list[tuple[float, ...]]:
    """Return `expected` of `team_prediction` for several matches, without what else it says.

    Answers to posts and lists of matches have it, so matches are predicted together.

    rating, deviation : of the players of all matches, match after match and team after team
    sizes : of each match the numbers of players of its teams
    match : of a single match, so that a home advantage and own deviations count
    """
    ends = list(accumulate(map(len, sizes), initial=0))
    flat = list(chain.from_iterable(sizes))
    rated = [able.fits(own) for own in sizes]
    starts = list(accumulate(map(sum, sizes), initial=0))
    if any(rated) and not all(rated):
        return [
            expected_scores(system, state, rating[low:high], deviation[low:high], [own], able)[0]
            for own, (low, high) in zip(sizes, pairwise(starts), strict=True)
        ]
    players = _players(system, state, rating, deviation, match, all(rated))
    outlook = players.of_teams(np.arange(len(flat)).repeat(flat), len(flat))
    modelled = all(rated) and models_draws(system)
    if modelled:
        return [
            _expected(system, outlook.of(*teams), players.centre[slice(*members)], True)
            for teams, members in zip(pairwise(ends), pairwise(starts), strict=True)
        ]
    if len(flat) == 2 * len(sizes):
        return list(map(tuple, outlook.in_pairs().tolist()))
    return [tuple(outlook.of(*teams).expected().tolist()) for teams in pairwise(ends)]


def _players(
    system: RatingSystem,
    state: State,
    rating: Floats,
    deviation: Floats,
    match: History | None,
    rated: bool,
) -> Outlook:
    """Return how players perform; rated : whether the system can rate their teams."""
    if rated:
        players: Outlook = _settled(system, state).outlook(rating, deviation, match)
        return players
    return team_mean_outlook(rating, np.nan_to_num(deviation, nan=0.0))


def _expected(
    system: RatingSystem, outlook: Outlook, started: Floats, rated: bool
) -> tuple[float, ...]:
    """Return the expected scores of teams; started : centres of players, with head starts."""
    if rated and len(outlook.centre) == 2 and models_draws(system):
        return _modelled(system, outlook, started, None, None).expected
    return tuple(outlook.expected().tolist())


def _settled(system: Any, state: State) -> Any:
    """Return a system with what the pool has learned of its home advantage; others unchanged."""
    return system.settled(state) if hasattr(system, "settled") else system


def _check_needed(system: RatingSystem, draw_rate: float, teams: int, models: bool) -> None:
    """Refuse a draw rate that is none, or that changes nothing. Raises : InvalidParameterError."""
    check_draw_rate(draw_rate)
    if models:
        raise InvalidParameterError(
            f"draw_rate must be left out, because {system.name} models draws by its parameters; "
            f"got {draw_rate!r}"
        )
    if teams > 2:
        raise InvalidParameterError(
            f"draw_rate must be left out for more than two teams; got {draw_rate!r} for {teams}"
        )


@lru_cache
def _why_unknown(by: str, have: int) -> str:
    """Return why there is no draw probability, and how to get one.

    have : number of matches of two teams in the pool
    """
    return (
        f"no win and draw probability: {by} does not model draws, and estimates them from "
        f"{LEAST_MATCHES} earlier matches of two teams in a pool (so far {have}); "
        "draw_rate, the draw probability of equals, can be given instead"
    )


def _modelled_quality(
    system: RatingSystem,
    outlook: Outlook,
    deviation: Floats,
    team: Ints,
    share: Floats | None,
) -> float | None:
    """Return the match quality by the model of a system with draws, None where it has none."""
    beta = getattr(system, "beta", None)
    if beta is None or outlook.team != "sum":
        return None
    part: Floats = np.ones(len(team)) if share is None else share
    members, uncertain = (
        np.bincount(team, each).astype(np.float64) for each in (part**2, (part * deviation) ** 2)
    )
    certain = members * float(beta) ** 2
    # The centres of the outlook have the head starts of a team at home.
    return match_quality(outlook.centre, certain + uncertain, certain)


def estimated_draw(rate: float, first: float, second: float) -> float:
    """Return min(4 r E (1 - E), 2 E, 2 (1 - E)); first and second are E and 1 - E."""
    return min(4.0 * rate * first * second, 2.0 * first, 2.0 * second)


def _modelled(
    system: ModelsDraws,
    outlook: Outlook,
    rating: Floats,
    quality: float | None,
    quality_by: str | None,
) -> Prediction:
    """Return the prediction of a system that models draws for two teams.

    rating : of the players of both teams, with head starts
    """
    difference = outlook.centre[0] - outlook.centre[1]
    scale = math.hypot(*outlook.scale.tolist())
    margin = _margin(system, rating)
    win = chance((np.array([difference, -difference]) - margin) / scale, outlook.curve)
    # Without a margin there is no draw, not one of what rounding leaves.
    draw = max(1.0 - float(win.sum()), 0.0) if margin > 0.0 else 0.0
    return Prediction(
        expected=tuple((win + 0.5 * draw).tolist()),
        outlook=outlook,
        by=system.name,
        win=tuple(win.tolist()),
        draw=draw,
        draw_by=system.name,
        quality=quality,
        quality_by=quality_by,
    )


def _margin(system: ModelsDraws, rating: Floats) -> float:
    """Return the largest difference of two teams that is a draw.

    rating : of the players of both teams, with head starts
    """
    if getattr(system, "draw_rule", "constant") == "constant":
        return system.draw_margin(len(rating))
    return system.draw_margin(len(rating), float(rating.mean()))


def team_model(pool: PoolState) -> TeamModel:
    """Return how the system of a pool predicts teams on neutral ground, as `predict` does."""
    model = system_model(pool.system, pool.state)
    if CALIBRATION not in pool.state.shared:
        return model
    return replace(
        model,
        experience=lambda ids: experience_of(_earlier(pool, ids)),
        correct=partial(corrected_sums, pool.state.shared[CALIBRATION]),
    )


def _earlier(pool: PoolState, ids: Ids) -> Floats:
    """Return the matches of players of a pool so far; newcomers have none."""
    state, known, _ = pool.with_newcomers(ids.tolist())
    matches: Floats = pool.system.at(state, np.arange(len(known)), None)["matches"]
    return matches


def system_model(system: RatingSystem, state: State | None = None) -> TeamModel:
    """Return how a system predicts teams on neutral ground.

    state : of a pool, for what it has learned of its home advantage
    """
    return TeamModel(
        by=system.name,
        fits=system.capabilities.fits,
        outlook=(system if state is None else _settled(system, state)).outlook,
        margin=partial(_margin, system) if models_draws(system) else _no_draws,
    )


def _no_draws(rating: Floats) -> float:
    return 0.0


def lobby_prediction(state: PoolState, lobby: Lobby, teams: Sequence[Sequence[int]]) -> Prediction:
    """Return the prediction of a pool's system for teams of a lobby, as `predict` makes it.

    teams : rows of the lobby, team by team
    """
    rows = np.array([row for team in teams for row in team], np.int64)
    number = np.repeat(np.arange(len(teams)), [len(team) for team in teams])
    earlier = None
    if CALIBRATION in state.state.shared:
        earlier = _earlier(state, lobby.player_ids)[rows]
    prediction = team_prediction(
        state.system,
        state.state,
        lobby.rating[rows],
        lobby.deviation[rows],
        number,
        earlier=earlier,
    )
    return replace(prediction, newcomers=lobby.newcomers)
