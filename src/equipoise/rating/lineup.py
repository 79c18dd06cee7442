"""Teams of a pool that are about to meet: checked, and as the match that they would play.

What a system expects of teams: scores, and of two teams wins and draws.

A system that models draws (`ModelsDraws`) says how far apart two teams may perform and draw still:

    win = P(d > m),   draw = P(|d| <= m),   expected = win + draw/2,

d being the difference of the performances, m the margin. For the others E, the chance of a pair
with draws left out, is what is expected, and draws are estimated from those seen before:

    draw = min(4 r E (1 - E), 2 E, 2 (1 - E)),   win = E - draw/2,

r being the chance of a draw of equals in the matches before (`draws`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Flags, Floats, Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History, TimeKind
from equipoise.data.lobby import Lobby
from equipoise.data.prediction import (
    ESTIMATE,
    TEAM_MEAN,
    Outlook,
    Prediction,
    chance,
    team_mean_outlook,
)
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.draws import draw_rate
from equipoise.rating.pool_state import PoolState, check_ids
from equipoise.rating.state import State
from equipoise.rating.system import ModelsDraws, RatingSystem
from equipoise.wording import counted


def can_rate(system: RatingSystem, sizes: Sequence[int]) -> bool:
    """Return whether a system can rate a match of teams of these sizes."""
    able = system.capabilities
    return (able.max_teams is None or len(sizes) <= able.max_teams) and (
        able.max_team_size is None or max(sizes) <= able.max_team_size
    )


def team_prediction(
    system: RatingSystem,
    state: State,
    rating: Floats,
    deviation: Floats,
    team: Ints,
    *,
    match: History | None = None,
) -> Prediction:
    """Return what is expected of teams of players with these ratings.

    Teams that the system cannot rate are compared by their mean ratings (READINGS A15).

    state : of the pool: how often two teams have drawn
    rating, deviation : shape (n,), as of the time of the match; NaN for no deviation
    team : shape (n,), the number of each one's team, from 0 without gaps
    match : the match itself, so that a home advantage counts
    """
    sizes = np.bincount(team)
    if can_rate(system, sizes.tolist()):
        by, players = system.name, system.outlook(rating, deviation, match)
    else:
        by, players = TEAM_MEAN, team_mean_outlook(rating, np.nan_to_num(deviation, nan=0.0))
    outlook = players.of_teams(team, len(sizes))
    expected = outlook.expected()
    if len(sizes) != 2:
        return Prediction(expected=expected, outlook=outlook, by=by)
    if by != TEAM_MEAN and isinstance(system, ModelsDraws):
        return _modelled(system, outlook, len(team))
    rate = draw_rate(state)
    if rate is None:
        return Prediction(expected=expected, outlook=outlook, by=by)
    draw = estimated_draw(rate, *expected.tolist())
    return Prediction(
        expected=expected,
        outlook=outlook,
        by=by,
        # Rounding must leave no chance below 0.
        win=np.maximum(expected - 0.5 * draw, 0.0),
        draw=draw,
        draw_by=ESTIMATE,
    )


def estimated_draw(rate: float, first: float, second: float) -> float:
    """Return min(4 r E (1 - E), 2 E, 2 (1 - E)); first and second are E and 1 - E."""
    return min(4.0 * rate * first * second, 2.0 * first, 2.0 * second)


def _modelled(system: ModelsDraws, outlook: Outlook, players: int) -> Prediction:
    """Return what a system that models draws expects of two teams."""
    apart = outlook.centre[0] - outlook.centre[1]
    scale = math.hypot(*outlook.scale.tolist())
    margin = system.draw_margin(players)
    win = chance((np.array([apart, -apart]) - margin) / scale, outlook.curve)
    draw = max(1.0 - float(win.sum()), 0.0)
    return Prediction(
        expected=win + 0.5 * draw,
        outlook=outlook,
        by=system.name,
        win=win,
        draw=draw,
        draw_by=system.name,
    )


#: In days.
_MICROSECOND = 1.0 / MICROSECONDS_PER_DAY


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lineup:
    """Who meets whom.

    state : of the n players, team after team; newcomers as they begin
    team : shape (n,), the number of each one's team
    player_ids : shape (n,)
    known : shape (n,), whether the pool knows the player
    teams : how many there are
    home : number of the team that plays at home; None on neutral ground
    time : of the match, microseconds since 1970; None without times
    """

    state: State
    team: Ints
    player_ids: Ids
    known: Flags
    teams: int
    home: int | None
    time: int | None
    time_kind: TimeKind

    @property
    def day(self) -> float | None:
        """Time of the match in days since 1970."""
        return None if self.time is None else self.time / MICROSECONDS_PER_DAY

    @property
    def newcomers(self) -> tuple[Any, ...]:
        """Ids of the players whom the pool does not know."""
        return tuple(self.player_ids[~self.known].tolist())

    def match(self, rank: Ints) -> History:
        """Return a history of this one match, its players numbered as they stand here.

        rank : shape (teams,), dense from 0
        """
        count = len(self.team)
        return History(
            match_ids=np.zeros(1, np.int64),
            player_ids=self.player_ids,
            offsets=np.array([0, count]),
            player=np.arange(count),
            team=self.team,
            rank=rank[self.team],
            time=None if self.time is None else np.array([self.time]),
            time_kind=self.time_kind,
            attributes={"at_home": (self.team == self.home).astype(np.float64)},
        )


def lineup(
    system: RatingSystem,
    pool: PoolState,
    teams: Sequence[Sequence[object]],
    *,
    at: float | None = None,
    home: int | None = None,
    any_teams: bool = False,
) -> Lineup:
    """Return teams of player ids as a match of a pool; unknown players are newcomers.

    at : time of the match in days since 1970; None: that of the pool's last match
    home : number of the team that plays at home, for systems with `home_advantage`
    any_teams : whether teams may be such that the system cannot rate them
    Raises : InvalidParameterError
    """
    for team in teams:
        if isinstance(team, str | bytes):
            # Its letters would be so many newcomers.
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
    seen: set[str] = set()
    for player in players:
        if str(player) in seen:
            raise InvalidParameterError(f"nobody may be named twice in a match; {player} is")
        seen.add(str(player))
    if home is not None:
        require(0 <= home < len(teams), "home", "the number of a team", home)
        if getattr(system, "home_advantage", 0.0) == 0.0:
            raise InvalidParameterError(f"{system.name} as it is set knows no home advantage")
    state, ids, known = pool.with_newcomers(players)
    _check_not_earlier(system.at(state, np.arange(len(ids)), None)["last_time"], ids, at)
    return Lineup(
        state=state,
        team=np.repeat(np.arange(len(teams)), sizes),
        player_ids=ids,
        known=known,
        teams=len(teams),
        home=home,
        time=pool.last_time if at is None else round(at * MICROSECONDS_PER_DAY),
        time_kind=pool.time_kind,
    )


@checks_arguments()
def lobby_of(state: PoolState, players: Sequence[object], *, at: float | None = None) -> Lobby:
    """Return players of a pool as a lobby; unknown players are newcomers, and the lobby says so.

    The effective rating is that of the system where it has one, else the rating; players of a
    system without deviations have deviation 0. Ids may come as text for numbers.

    at : time in days since 1970 for which ratings are read; None: that of the pool's last match
    Raises : InvalidDataError        somebody is named twice, or fewer than two are named
    Raises : InvalidParameterError   somebody has played since `at`
    """
    check_ids("players", players)
    known_players, ids, known = state.with_newcomers(players)
    if at is None and state.last_time is not None:
        at = state.last_time / MICROSECONDS_PER_DAY
    now = state.system.at(known_players, np.arange(len(ids)), at)
    _check_not_earlier(now["last_time"], ids, at)
    return Lobby(
        player_ids=ids,
        rating=now["rating"],
        deviation=np.nan_to_num(now["deviation"], nan=0.0),
        effective_rating=now.get("effective_rating"),
        newcomers=tuple(ids[~known].tolist()),
    )


def lobby_prediction(state: PoolState, lobby: Lobby, teams: Sequence[Sequence[int]]) -> Prediction:
    """Return what the system of a pool expects of teams of a lobby, as `predict` does.

    teams : rows of the lobby, team by team
    """
    rows = np.array([row for team in teams for row in team], np.int64)
    number = np.repeat(np.arange(len(teams)), [len(team) for team in teams])
    found = team_prediction(
        state.system, state.state, lobby.rating[rows], lobby.deviation[rows], number
    )
    return replace(found, newcomers=lobby.newcomers)


def _check_not_earlier(last: Floats, ids: Ids, at: float | None) -> None:
    """Refuse a time before somebody's last match: what was known then is not in the state.

    last : days since 1970, NaN where there is no time
    Raises : InvalidParameterError
    """
    # Times are kept in days as float64, exact to a microsecond.
    later = np.flatnonzero(last > (math.inf if at is None else at + _MICROSECOND))
    if len(later):
        who = ids[later[:1]].tolist()[0]
        raise InvalidParameterError(f"at must not be before the last match of {who}")


def _check_teams(system: RatingSystem, sizes: Sequence[int]) -> None:
    """Refuse what the system cannot rate. Raises : InvalidParameterError."""
    if can_rate(system, sizes):
        return
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
