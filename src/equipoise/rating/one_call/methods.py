"""The methods of every system that need no pool: `rating`, `rate` and `predict`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np

from equipoise.data.prediction import Prediction
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.one_call.call import (
    DrawProbability,
    Teams,
    check_once,
    check_time,
    coming_match,
    facts_of_ratings,
    flat_teams,
    match_of,
    values_of,
    with_draw_probability,
)
from equipoise.rating.one_call.rating import Rating, known_rating
from equipoise.rating.one_match import rate_match, rate_once, state_of
from equipoise.rating.predicting import predicted
from equipoise.rating.state import State

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


def _with_draws(system: System, draw_probability: Any, lobby: Teams) -> System:
    """Return the system with the draw probability of a match. Raises : InvalidParameterError."""
    if len(lobby.sizes) > 2:
        raise InvalidParameterError(
            "draw_probability must be left out for more than two teams, because their prediction "
            f"has no draws; got {draw_probability!r}"
        )
    with_draws: System = with_draw_probability(system, draw_probability, lobby.players, lobby.sizes)
    return with_draws


def _shares(system: System, share: Any, lobby: Teams) -> list[float]:
    """Return how much of the match each player takes part in. Raises : InvalidParameterError."""
    if not system.predicts_shares:
        raise InvalidParameterError(
            f"share must be left out, because predictions of {system.name} do not use it"
        )
    listed = [
        1.0 if math.isnan(value) else value for value in values_of("share", share, lobby, 0, 1)
    ]
    team = np.repeat(np.arange(len(lobby.sizes)), lobby.sizes)
    most = np.bincount(team, listed).min()
    require(most > 0, "share", "above 0 for a player of every team", share)
    return listed


#: The state of no players, where nobody has counted draws.
_NO_POOL = State(initial={}, table=np.zeros((0, 0)))


_Name = TypeVar("_Name")

#: Ranks or scores: one for each team, or a dict of the names of single players.
Result: TypeAlias = Sequence[Any] | Mapping[Any, Any]

#: One number for each player in the shape of the teams, None if there is none.
PlayerValues: TypeAlias = (
    Sequence[float | None]
    | Mapping[Any, float | None]
    | Sequence[Sequence[float | None]]
    | Sequence[Mapping[Any, float | None]]
)

#: Teams of ratings in any of their shapes.
RatedTeams: TypeAlias = (
    Sequence[Rating]
    | Mapping[Any, Rating]
    | Sequence[Sequence[Rating]]
    | Sequence[Mapping[Any, Rating]]
)


class MatchArguments(TypedDict, total=False):
    """What a call may say of a match that is rated; see `OneCall.rate`."""

    ranks: Result | None
    scores: Result | None
    weight: float
    time: date | float | None
    performance: PlayerValues | None
    share: PlayerValues | None
    performance_ceiling: float | None
    beta: float | None
    gamma: float | None
    home: int | None
    context: str | None


class RatedMatch(MatchArguments, total=False):
    """What a call without a pool may say of a match."""

    draw_probability: DrawProbability | None


class OneCall:
    """Rates and predicts one match between ratings, without a pool, a file or a history."""

    __slots__ = ()

    @property
    def learned_in_pool(self) -> str:
        """What the system learns over the matches of a pool; "" if players are all it knows."""
        return self._learned_of_newcomers

    @property
    def _learned_of_newcomers(self) -> str:
        """What `rating.newcomers` and `rating.head_start` learn; "" if both are turned off."""
        system = cast("System", self)
        if system.learns_entry:
            return "the entry (entry='learned')"
        if system.holds_level:
            return f"the level (hold_level={system.hold_level:g})"
        if system.learns_advantage:
            return "the home advantage (learn_home_advantage=True)"
        return ""

    def rating(
        self,
        rating: float | None = None,
        deviation: float | None = None,
        *,
        volatility: float | None = None,
        matches: int | None = None,
    ) -> Rating:
        """Return the rating of a newcomer, or of a player of whom only these numbers are known.

        rating, deviation : rating points; what is left out is that of a newcomer
        volatility : internal scale, for systems that have it
        matches : number of earlier matches, which some systems use
        Raises : InvalidParameterError for what the system does not have, and for a system that
            needs a `Pool`

        Examples
        --------
        >>> import equipoise as eq
        >>> eq.Glicko2().rating()
        <Rating 1500.0, deviation 350.0, glicko2>
        >>> eq.Glicko2().rating(1720, 60, volatility=0.05).volatility
        0.05
        """
        return known_rating(cast("System", self), rating, deviation, volatility, matches)

    @overload
    def rate(
        self,
        teams: Sequence[Rating],
        **match: Unpack[RatedMatch],
    ) -> list[Rating]: ...

    @overload
    def rate(
        self,
        teams: Mapping[_Name, Rating],
        **match: Unpack[RatedMatch],
    ) -> dict[_Name, Rating]: ...

    @overload
    def rate(
        self,
        teams: Sequence[Sequence[Rating]],
        **match: Unpack[RatedMatch],
    ) -> list[list[Rating]]: ...

    @overload
    def rate(
        self,
        teams: Sequence[Mapping[_Name, Rating]],
        **match: Unpack[RatedMatch],
    ) -> list[dict[_Name, Rating]]: ...

    def rate(
        self,
        teams: Any,
        *,
        ranks: Result | None = None,
        scores: Result | None = None,
        weight: float = 1.0,
        time: date | float | None = None,
        performance: PlayerValues | None = None,
        share: PlayerValues | None = None,
        performance_ceiling: float | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        home: int | None = None,
        context: str | None = None,
        draw_probability: DrawProbability | None = None,
    ) -> Any:
        """Return the ratings after a match, in the shape of the teams; nothing given is changed.

        Calls one after another give the bits of a replay of the same matches. Without ranks and
        scores the teams are in the order of the result, the winner first. A match that a system
        skips, because three or more all tied, returns the very ratings that were given; of a rated
        match every rating has one more in `matches`.

        teams : single players, `[a, b, c]`; teams, `[[a, b], [c]]`; or dicts of names to ratings in
            place of either list; one object may stand for several players only before its first
            match
        ranks : place of each team, lower is better, equal is a tie: any values that compare,
            but not text
        scores : of each team instead of ranks, higher is better, equal is a tie
        weight : how much the match counts
        time : of the match: a date-time, in UTC without a zone; a date, which is its beginning in
            UTC; or a number of days since 1970. Needed once a player's last match had one, and
            never before it
        performance : of each player, in the shape of the teams (team-glicko2)
        share : how much of the match each player took part in, from 0 to 1, in the shape of the
            teams (team-glicko2)
        performance_ceiling : the highest performance that the match can show (elo-mmr, elo-mmx,
            codeforces, topcoder)
        beta, gamma : deviations of a performance and of the change of skill in this match, rating
            points, instead of those of the system (elo-mmr, elo-mmx)
        home : number of the team at home, from 0, where home is worth something; None: neutral
        context : of the match, such as its surface or map (systems with context_deviation)
        draw_probability : of this match instead of that of the system (trueskill): a number, or a
            function of the ratings of two teams, `function(first, second)`, that returns one
        Raises : InvalidParameterError; ConvergenceError

        Examples
        --------
        >>> import equipoise as eq
        >>> system = eq.Glicko2()
        >>> winner, loser = system.rate([system.rating(1500, 200), system.rating(1400, 30)])
        >>> winner
        <Rating 1563.6, deviation 175.4, glicko2>
        >>> system = eq.PlackettLuce()
        >>> red = {"ada": system.rating(), "bo": system.rating()}
        >>> red, blue = system.rate([red, {"cy": system.rating(1600, 90)}], scores=[3, 5])
        >>> blue["cy"]
        <Rating 1613.4, deviation 90.1, plackett-luce>
        """
        system = cast("System", self)
        lobby = flat_teams(teams)
        facts = facts_of_ratings(system, lobby.players)
        able, rates = facts.able, system
        if draw_probability is not None:
            rates = with_draw_probability(system, draw_probability, lobby.players, lobby.sizes)
            able = rates.capabilities
        if len(set(map(id, lobby.players))) < len(lobby.players):
            check_once(lobby.players)
        numbers = [rating._numbers for rating in lobby.players]
        at = check_time(system, facts, numbers, time)
        told = ranks, scores, weight, performance, share, performance_ceiling, beta, gamma, home
        match = match_of(system, able, lobby, at, *told, context)
        if able.skips_all_tied and max(match.ranks) == 0 and len(match.ranks) > 2:
            return lobby.shaped(lobby.players)
        # The memory of a system is kept for its next match, which one made for a match has not.
        rated = rate_match if rates is system else rate_once
        return lobby.shaped(Rating._each(facts, rated(rates, numbers, match)))

    def predict(
        self,
        teams: RatedTeams,
        *,
        time: date | float | None = None,
        home: int | None = None,
        draw_rate: float | None = None,
        draw_probability: DrawProbability | None = None,
        share: PlayerValues | None = None,
        beta: float | None = None,
        gamma: float | None = None,
        context: str | None = None,
    ) -> Prediction:
        """Return what the system expects of a match between ratings.

        Teams that the system cannot rate are compared by their mean ratings.

        teams : as for `rate`
        time : of the match, as for `rate`; None: every rating is as of its last match
        home : number of the team at home, from 0, where home is worth something; None: neutral
        draw_rate : how likely equal teams draw, from 0 to 1, for the probabilities of a win and a
            draw of two teams in a system that does not model draws; such as `Pool.draw_rate`
        draw_probability : of this match of two teams, as for `rate` (trueskill)
        share : how much of the match each player takes part in, from 0 to 1, in the shape of the
            teams (trueskill, trueskill-spb)
        beta, gamma : of this match, as for `rate` (elo-mmr, elo-mmx)
        context : of this match, as for `rate`
        Raises : InvalidParameterError

        Examples
        --------
        >>> import equipoise as eq
        >>> system = eq.Elo()
        >>> system.predict([system.rating(1600), system.rating(1500)]).expected
        (0.6400649998028851, 0.3599350001971149)
        >>> system.predict([system.rating(1600), system.rating(1500)], draw_rate=0.3)
        <Prediction: expected 0.640, 0.360, win 0.502, 0.222, draw 0.276 (draw_rate), \
quality 0.922 (estimate), by elo>
        """
        system, lobby = cast("System", self), flat_teams(teams)
        facts = facts_of_ratings(system, lobby.players)
        numbers = [rating._numbers for rating in lobby.players]
        if draw_probability is not None:
            system = _with_draws(system, draw_probability, lobby)
        played = () if share is None else _shares(system, share, lobby)
        at = None if time is None else check_time(system, facts, numbers, time)
        match = coming_match(
            system,
            facts.able,
            lobby.sizes,
            at,
            home=home,
            context=context,
            beta=beta,
            gamma=gamma,
            share=played,
        )
        if facts.plain_rating and facts.plain_deviation and context is None:
            # Reading a state of these players would give the same two columns.
            rating, deviation = np.array([row[:2] for row, _ in numbers]).T
            now = {"rating": rating, "deviation": deviation}
            return predicted(system, _NO_POOL, match, draw_rate, able=facts.able, now=now)
        return predicted(system, state_of(system, numbers), match, draw_rate, able=facts.able)
