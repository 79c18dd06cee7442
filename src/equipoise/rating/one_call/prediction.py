"""The prediction of a match between ratings: reads the call, checks it, and asks the system."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.one_match import OneMatch, history_of
from equipoise.data.prediction import Prediction
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.one_call.match import (
    check_time,
    facts_of_ratings,
    who_is_at_home,
    with_draw_probability,
)
from equipoise.rating.one_call.rating import SystemFacts
from equipoise.rating.one_call.teams import Teams, values_of
from equipoise.rating.one_match import state_of
from equipoise.rating.predicting.lineup import team_prediction
from equipoise.rating.state import State
from equipoise.rating.system import own_deviations

if TYPE_CHECKING:
    from equipoise.rating.base_system import System


def predict(
    system: System,
    given: Teams,
    time: Any,
    home: int | None,
    draw_rate: float | None,
    draw_probability: Any,
    share: Any,
    beta: float | None,
    gamma: float | None,
) -> Prediction:
    """Return the prediction for teams of ratings; see `System.predict`."""
    facts = facts_of_ratings(system, given.players)
    numbers = [one._numbers for one in given.players]
    if draw_probability is not None:
        system = _with_draws(system, draw_probability, given)
    more: dict[str, Any] = {"share": () if share is None else _shares(system, share, given)}
    at = None if time is None else check_time(system, facts, numbers, time)
    more |= own_deviations(system.name, facts.able, beta, gamma)
    match = coming_match(system, facts, given.sizes, at, home)._replace(**more)
    if facts.plain_rating and facts.plain_deviation:
        # Reading a state of these players would give the same two columns.
        rating, deviation = np.array([row[:2] for row, _ in numbers]).T
        now = {"rating": rating, "deviation": deviation}
        return predicted(system, facts, _NO_POOL, match, draw_rate, now)
    return predicted(system, facts, state_of(system, numbers), match, draw_rate)


def coming_match(
    system: System, facts: SystemFacts, sizes: Sequence[int], at: int | None, home: int | None
) -> OneMatch:
    """Return a match that has not been played, its teams in the order of their numbers.

    at : microseconds since 1970
    home : number of the team at home
    Raises : InvalidParameterError
    """
    at_home = who_is_at_home(system, facts.able, sizes, home)
    return OneMatch(sizes, range(len(sizes)), time=at, at_home=at_home)


def _with_draws(system: System, draw_probability: Any, given: Teams) -> System:
    """Return the system with the draw probability of a match. Raises : InvalidParameterError."""
    if len(given.sizes) > 2:
        raise InvalidParameterError(
            "draw_probability must be left out for more than two teams, because their prediction "
            f"has no draws; got {draw_probability!r}"
        )
    found: System = with_draw_probability(system, draw_probability, given.players, given.sizes)
    return found


def _shares(system: System, share: Any, given: Teams) -> list[float]:
    """Return how much of the match each player takes part in. Raises : InvalidParameterError."""
    if not system.predicts_shares:
        raise InvalidParameterError(
            f"share must be left out, because predictions of {system.name} do not use it"
        )
    listed = [1.0 if math.isnan(one) else one for one in values_of("share", share, given, 0, 1)]
    team = np.repeat(np.arange(len(given.sizes)), given.sizes)
    most = np.bincount(team, listed).min()
    require(most > 0, "share", "above 0 for a player of every team", share)
    return listed


def predicted(
    system: System,
    facts: SystemFacts,
    state: State,
    match: OneMatch,
    draw_rate: float | None,
    now: Mapping[str, Floats] | None = None,
) -> Prediction:
    """Return the prediction for the players of a state, team after team.

    state : of the players; it also says how often two teams have drawn
    match : without a time, every player is as of the last match
    now : ratings and deviations of the players, if they are known without reading the state
    """
    if now is None:
        day = None if match.time is None else match.time / MICROSECONDS_PER_DAY
        now = system.at(state, np.arange(state.players), day)
    return team_prediction(
        system,
        state,
        now["rating"],
        now["deviation"],
        np.repeat(np.arange(len(match.sizes)), match.sizes),
        match=history_of([match]) if match.at_home or match.has_own_deviations else None,
        draw_rate=draw_rate,
        share=np.array(match.share) if match.share else None,
        able=facts.able,
    )


#: The state of no players, where nobody has counted draws.
_NO_POOL = State(initial={}, table=np.zeros((0, 0)))
