"""Questions to a pool of the service: what to expect of a match, how to split a lobby."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast, get_args

import numpy as np
from sqlalchemy import Connection

from equipoise.balance.lobby_split import Objective
from equipoise.errors import (
    InvalidParameterError,
    NotFoundError,
    require,
)
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.matches import Moment
from equipoise.messages.predict import PredictMessage
from equipoise.messages.service_requests import BalanceRequest, PredictRequest
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state_bytes import unpack_players
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.workflows.balance import SplitRequest, message_of, split_lobby
from equipoise.workflows.match_history import object_array, time_kind
from equipoise.workflows.pool_lobby import lobby_in_pool, posted_lobby
from equipoise.workflows.pools import rules_of, written
from equipoise.workflows.posted_matches import PoolRules, days, id_text, moment
from equipoise.workflows.predict import ComingMatch, predicted

#: What an answer may take: players of a match, matches sampled and players drawn for them,
#: players for whom places are tried, and teams up to which every place is.
PREDICTED_PLAYERS = 1_000
SAMPLES = 100_000
DRAWN = 20_000_000
WHAT_IF = 20
_ALL_PLACES = 100

#: Players of a lobby, further splits, and seconds after which a search ends.
LOBBY = 200
ALTERNATIVES = 100
_SEARCH_SECONDS = 5.0

#: Unknown players named in an error; the rest is only counted.
_NAMED = 20


def predict_in_pool(store: Store, pool: str, request: PredictRequest) -> PredictMessage:
    """Return what a pool's system expects of a match between its players.

    Raises : NotFoundError for players that the pool does not know, InvalidParameterError,
        ConvergenceError
    """
    teams = [[id_text(player) for player in team] for team in request.teams]
    players = [player for team in teams for player in team]
    wanted = [id_text(player) for player in request.what_if]
    _check_prediction(request, len(players))
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        known = _known_players(connection, record, rules, players)
    missing = sorted(set(players) - set(known.player_ids.tolist()))
    if missing:
        raise NotFoundError(f"{_unknown(missing)} in pool {pool!r}")
    at = _time_asked(request.at, known, rules)
    return predicted(
        ComingMatch(
            pool=known,
            teams=teams,
            at=None if at is None else days(at),
            shown_at=written(at, rules),
            home=request.home,
            samples=request.samples,
            seed=request.seed,
            players=wanted,
            all_places=_ALL_PLACES,
        )
    )


def balance_in_pool(store: Store, pool: str, request: BalanceRequest) -> BalanceMessage:
    """Return a lobby of a pool's players, and of newcomers, as fair teams.

    Raises : NotFoundError for the pool, InvalidDataError, InvalidParameterError, ConvergenceError
    """
    _check_balance(request)
    lobby = posted_lobby(request.players)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        known = _known_players(connection, record, rules, [str(one.player) for one in lobby])
    at = _time_asked(request.at, known, rules)
    answer = split_lobby(
        lobby_in_pool(lobby, known, None if at is None else days(at)),
        SplitRequest(
            teams=request.teams,
            size=request.size,
            objective=cast(Objective, request.objective),
            uncertainty_weight=request.uncertainty_weight,
            top_two=request.top_two,
            uneven=request.uneven,
            alternatives=request.alternatives,
            seed=request.seed,
            time_limit=_SEARCH_SECONDS,
        ),
    )
    return message_of(answer)


def _check_prediction(request: PredictRequest, players: int) -> None:
    """Refuse what would take too long. Raises : InvalidParameterError."""
    _at_most("teams", players, PREDICTED_PLAYERS)
    _at_most("what_if", len(request.what_if), WHAT_IF)
    require(request.seed >= 0, "seed", "at least 0", request.seed)
    if request.samples is None:
        return
    rule = f"from 1 to {SAMPLES}"
    require(1 <= request.samples <= SAMPLES, "samples", rule, request.samples)
    drawn = request.samples * players
    require(drawn <= DRAWN, "samples times players", f"at most {DRAWN}", drawn)


def _check_balance(request: BalanceRequest) -> None:
    """Refuse what would take too long, or means nothing. Raises : InvalidParameterError."""
    _at_most("players", len(request.players), LOBBY)
    rule = f"from 0 to {ALTERNATIVES}"
    require(0 <= request.alternatives <= ALTERNATIVES, "alternatives", rule, request.alternatives)
    objectives = get_args(Objective)
    named = " or ".join(repr(one) for one in objectives)
    require(request.objective in objectives, "objective", named, request.objective)
    require(request.size is None or request.size >= 1, "size", "at least 1", request.size)


def _at_most(name: str, count: int, most: int) -> None:
    if count > most:
        raise InvalidParameterError(f"{name} must name at most {most} players; got {count}")


def _unknown(missing: Sequence[str]) -> str:
    """Return who is not known, the first of them by name."""
    named = ", ".join(repr(one) for one in missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return f"no player{'s' if len(missing) > 1 else ''} {named}{more}"


def _known_players(
    connection: Connection, pool: PoolRecord, rules: PoolRules, players: Iterable[str]
) -> PoolState:
    """Return the state of those of these players who have one."""
    known = ratings.states_of(connection, pool.id, pool.generation, players)
    state = unpack_players(rules.system, [one.state for one in known.values()])
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    return PoolState(
        system=rules.system,
        player_ids=object_array(list(known)),
        state=state,
        rated=np.zeros(0, np.int64),
        last_time=pool.last_time if rules.timed else None,
        time_kind=time_kind(rules),
    )


def _time_asked(at: Moment | None, known: PoolState, rules: PoolRules) -> int | None:
    """Return the time for which something is asked, microseconds since 1970.

    Raises : InvalidParameterError where the pool has no times, or somebody has played since
    """
    if at is None:
        return None
    if not rules.timed:
        raise InvalidParameterError("at must be left out: this pool has no times")
    when = moment(at, "at")
    played = known.system.at(known.state, np.arange(len(known.player_ids)), None)["last_time"]
    # Times are kept in days as float64, exact to a microsecond.
    since = known.player_ids[np.flatnonzero(played > days(when + 1))].tolist()
    if since:
        raise InvalidParameterError(f"at must not be before the last match of {since[0]}; got {at}")
    return when
