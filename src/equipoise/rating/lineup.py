"""Teams of a pool that are about to meet: checked, and as the match that they would play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Ids, Ints
from equipoise.data.history import MICROSECONDS_PER_DAY, History, TimeKind
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.pool_state import PoolState
from equipoise.rating.system import RatingSystem


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lineup:
    """Who meets whom.

    rows : shape (n,), rows of the pool, team after team
    team : shape (n,), the number of each one's team
    player_ids : shape (n,)
    teams : how many there are
    home : number of the team that plays at home; None on neutral ground
    time : of the match, microseconds since 1970; None without times
    """

    rows: Ints
    team: Ints
    player_ids: Ids
    teams: int
    home: int | None
    time: int | None
    time_kind: TimeKind

    def match(self, rank: Ints) -> History:
        """Return a history of this one match, its players numbered as they stand here.

        rank : shape (teams,), dense from 0
        """
        count = len(self.rows)
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
) -> Lineup:
    """Return teams of player ids as rows of a pool.

    at : time of the match in days since 1970; None: that of the pool's last match
    home : number of the team that plays at home, for systems with `home_advantage`
    Raises : NotFoundError for players that the pool does not know, InvalidParameterError for
        teams that this system cannot rate
    """
    _check_teams(system, [len(team) for team in teams])
    rows = pool.rows([player for team in teams for player in team])
    if len(np.unique(rows)) < len(rows):
        twice = pool.player_ids[np.flatnonzero(np.bincount(rows) > 1)[0]]
        raise InvalidParameterError(f"nobody may be named twice in a match; {twice} is")
    if home is not None:
        require(0 <= home < len(teams), "home", "the number of a team", home)
        if getattr(system, "home_advantage", 0.0) == 0.0:
            raise InvalidParameterError(f"{system.name} as it is set knows no home advantage")
    return Lineup(
        rows=rows,
        team=np.repeat(np.arange(len(teams)), [len(team) for team in teams]),
        player_ids=pool.player_ids[rows],
        teams=len(teams),
        home=home,
        time=pool.last_time if at is None else round(at * MICROSECONDS_PER_DAY),
        time_kind=pool.time_kind,
    )


def _check_teams(system: RatingSystem, sizes: Sequence[int]) -> None:
    """Refuse what the system cannot rate. Raises : InvalidParameterError."""
    fits = system.capabilities
    most, largest = fits.max_teams, fits.max_team_size
    require(len(sizes) >= 2, "teams", "at least two", len(sizes))
    require(min(sizes) >= 1, "teams", "of at least one player each", min(sizes))
    require(
        most is None or len(sizes) <= most, "teams", f"at most {most} for {system.name}", len(sizes)
    )
    require(
        largest is None or max(sizes) <= largest,
        "teams",
        f"of at most {largest} players for {system.name}",
        max(sizes),
    )
