"""A player's rating after each possible place in a coming match.

The system rates the match once for every place, on a copy of the players' states, so the result is
exact for any system. The other teams finish in the order of their ratings, as in [EM]_ Theorem 5.5
(READINGS B13).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.arguments import checks_arguments
from equipoise.arrays import Floats, Ints
from equipoise.data.ratings import InitialRatings, Ratings
from equipoise.data.times import days_of
from equipoise.display import Tabular, name_in_words, number_in_words
from equipoise.errors import InvalidParameterError, NotFoundError, require
from equipoise.rating.pool_state import PoolState
from equipoise.rating.predicting import Lineup, lineup
from equipoise.rating.replay import check_system, starting_pool
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from equipoise.wording import counted, did_you_mean

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class WhatIf(Tabular):
    """A player's rating after each possible result of their team.

    player : id, int or str
    team : number of the player's team
    rating_before, deviation_before : rating points; NaN for no deviation
    place : shape (m,), from 1
    tied : shape (m,), number of other teams in that place: 1 for a draw of two teams, else 0
    rating, deviation : shape (m,), after a match with this result

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> pool = eq.replay(eq.Elo(), league).state
    >>> found = eq.what_if(eq.Elo(), pool, [["ada"], ["ben"]])
    >>> found.change.round(1).tolist()
    [0.6, -15.4, -31.4]
    """

    player: Any
    team: int
    rating_before: float
    deviation_before: float
    place: Ints
    tied: Ints
    rating: Floats
    deviation: Floats

    @property
    def change(self) -> Floats:
        """The change of rating for each result, shape (m,)."""
        return self.rating - self.rating_before

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each result; NaN is null."""
        import polars as pl

        return pl.DataFrame(
            {
                "place": self.place,
                "tied": self.tied,
                "rating": self.rating,
                "change": self.change,
                "deviation": self.deviation,
            }
        ).fill_nan(None)

    def _in_words(self) -> str:
        low, high = (float(bound) for bound in (self.change.min(), self.change.max()))
        before = number_in_words(self.rating_before)
        return f"{name_in_words(self.player)}, {before} now, from {low:+,.1f} to {high:+,.1f}"


@checks_arguments()
def what_if(
    system: RatingSystem,
    state: PoolState,
    teams: Sequence[Sequence[object]],
    player: object = None,
    *,
    at: float | date | None = None,
    home: int | None = None,
    places: Sequence[int] | None = None,
    initial: InitialRatings | Ratings | None = None,
    progress: Callable[[int, int], None] | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    context: str | None = None,
) -> WhatIf:
    """Return a player's rating after each place of the player's team, exactly.

    The other teams finish in the order of their ratings, equal ones in the order given. There are
    no ties, except the draw of two teams if the system rates draws. Every place takes as long as
    rating the match.

    player : id; None takes the first of the first team
    at : time of the match, a date or a date-time (UTC without a zone) or days since 1970; None:
        that of the pool's last match
    home : number of the team that plays at home, for systems with `home_advantage`
    beta, gamma, context : as for `predict`
    places : from 1; None takes all
    initial : known ratings with which players begin, before the first match of the pool
    progress : called with (places done, total)
    Players who are not in the pool are newcomers.

    Raises : NotFoundError for a player who is not in the match, InvalidParameterError for teams
        that the system cannot rate and for a system that did not make the state, ConvergenceError

    Examples
    --------
    >>> league = eq.read_history("examples/league.csv")
    >>> pool = eq.replay(eq.Elo(), league).state
    >>> eq.what_if(eq.Elo(), pool, [["ada"], ["ben"]], "ben").rating.round(1).tolist()
    [1190.2, 1174.2, 1158.2]
    """
    check_system(state, system)
    state = starting_pool(system, initial, state=state) or state
    field = lineup(
        system, state, teams, at=days_of(at), home=home, beta=beta, gamma=gamma, context=context
    )
    if state.last_time is not None and field.time is not None and field.time < state.last_time:
        raise InvalidParameterError("the match must not be before the last match of the state")
    who = _position(field, player)
    results = _results(_others(system, field, who), int(field.team[who]), places)
    if field.teams == 2 and places is None and system.capabilities.draws:
        results.insert(1, _Result(1, 1, np.zeros(2, np.int64)))
    known = field.state
    before = _read(system, known, who, field.day)
    after = np.empty((len(results), 2))
    played, every = known.copy(), np.arange(known.players)
    for i, result in enumerate(results):
        # Restoring the state is faster than a new copy, which needs new memory.
        played.put(every, known)
        system.run(played, field.match(result.rank), 0, 1)
        after[i] = _read(system, played, who, field.day)
        if progress is not None:
            progress(i + 1, len(results))
    return WhatIf(
        player=field.player_ids[[who]].tolist()[0],
        team=int(field.team[who]),
        rating_before=before[0],
        deviation_before=before[1],
        place=np.array([result.place for result in results]),
        tied=np.array([result.tied for result in results]),
        rating=after[:, 0],
        deviation=after[:, 1],
    )


class _Result(NamedTuple):
    """A result: the player's place, the number of other teams in it, the rank of every team."""

    place: int
    tied: int
    rank: Ints


def _results(others: Ints, own: int, places: Sequence[int] | None) -> list[_Result]:
    """Return the results with the player's team in these places and the others in this order."""
    teams = len(others) + 1
    wanted = range(1, teams + 1) if places is None else places
    for place in wanted:
        require(1 <= place <= teams, "places", f"from 1 to {teams}", place)
    results = []
    for place in wanted:
        rank = np.empty(teams, np.int64)
        rank[np.insert(others, place - 1, own)] = np.arange(teams)
        results.append(_Result(place, 0, rank))
    return results


def _others(system: RatingSystem, field: Lineup, who: int) -> Ints:
    """Return the numbers of the other teams, the highest rated first."""
    now = system.at(field.state, np.arange(len(field.team)), None)
    players = system.outlook(now["rating"], now["deviation"])
    strength = players.of_teams(field.team, field.teams).centre
    order = np.argsort(-strength, kind="stable")
    others: Ints = order[order != field.team[who]]
    return others


def _position(field: Lineup, player: object) -> int:
    """Return the row of a player in the line-up. Raises : NotFoundError."""
    if player is None:
        return 0
    positions = np.flatnonzero(field.player_ids.astype(str) == str(player))
    if not len(positions):
        hint = did_you_mean([player], field.player_ids)
        raise NotFoundError(
            f"{player} is not among the {counted(len(field.team), 'player')} named{hint}"
        )
    return int(positions[0])


def _read(system: RatingSystem, state: State, who: int, at: float | None) -> tuple[float, float]:
    """Return (rating, deviation) of one player."""
    columns = system.at(state, np.array([who]), at)
    return float(columns["rating"][0]), float(columns["deviation"][0])
