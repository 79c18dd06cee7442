"""Questions to a pool of the service: what to expect of a match, how to split a lobby."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast, get_args

import numpy as np
from sqlalchemy import Connection

from equipoise.arrays import Floats, Ids
from equipoise.balance.lobby_split import Objective
from equipoise.data.lobby import ONCE, Lobby
from equipoise.errors import (
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
    require,
)
from equipoise.messages.balance import BalanceMessage
from equipoise.messages.matches import Id, Moment
from equipoise.messages.predict import PredictMessage
from equipoise.messages.service_requests import BalancePlayer, BalanceRequest, PredictRequest
from equipoise.rating.pool_state import PoolState
from equipoise.rating.state_bytes import unpack_players
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.workflows.balance import SplitRequest, message_of, split_lobby
from equipoise.workflows.match_history import time_kind
from equipoise.workflows.pools import rules_of, written
from equipoise.workflows.posted_matches import PoolRules, days, id_fault, id_text, moment
from equipoise.workflows.predict import ComingMatch, predicted
from equipoise.workflows.rating_batch import object_array

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
    lobby = [_lobby_player(one) for one in request.players]
    _check_lobby(lobby)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        known = _known_players(connection, record, rules, [str(one.player) for one in lobby])
    at = _time_asked(request.at, known, rules)
    answer = split_lobby(
        _lobby(lobby, known, None if at is None else days(at)),
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
    packed = ratings.states_of(connection, pool.id, pool.generation, players)
    state = unpack_players(rules.system, list(packed.values()))
    state.shared = {name: values.copy() for name, values in pool.shared.items()}
    return PoolState(
        system=rules.system,
        player_ids=object_array(list(packed)),
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


def _lobby_player(one: BalancePlayer | Id) -> BalancePlayer:
    """Return a player of a lobby with text for an id."""
    if not isinstance(one, BalancePlayer):
        return BalancePlayer(player=id_text(one))
    return BalancePlayer(
        player=id_text(one.player),
        rating=one.rating,
        deviation=one.deviation,
        party=None if one.party is None else id_text(one.party),
        team=one.team,
        avoid=[id_text(other) for other in one.avoid],
    )


def _check_lobby(lobby: Sequence[BalancePlayer]) -> None:
    """Refuse a lobby of which no row can be told from the others. Raises : InvalidDataError."""
    problems = []
    seen: set[str] = set()
    for line, one in enumerate(lobby, start=1):
        player = str(one.player)
        if (rule := id_fault(player)) is not None:
            problems.append(Problem("", line, "player", rule, player[:200]))
        if player in seen:
            problems.append(Problem("", line, "player", ONCE, repr(player)))
        seen.add(player)
        if one.team is not None and one.team < 1:
            rule = "must be the number of a team, from 1"
            problems.append(Problem("", line, "team", rule, str(one.team)))
    if problems:
        count = len(problems)
        head = f"{count} problem{'' if count == 1 else 's'} in the lobby"
        raise InvalidDataError(problems, head)


def _lobby(lobby: Sequence[BalancePlayer], known: PoolState, at: float | None) -> Lobby:
    """Return the lobby with the numbers of those who are known, and of newcomers.

    Raises : InvalidDataError
    """
    numbers = _numbers(lobby, known, at)
    parties = [one.party for one in lobby]
    locks = [None if one.team is None else str(one.team) for one in lobby]
    return Lobby(
        player_ids=object_array([str(one.player) for one in lobby]),
        rating=numbers["rating"],
        deviation=numbers["deviation"],
        effective_rating=numbers.get("effective_rating"),
        party=_labels(parties),
        team=_labels(locks),
        avoid=tuple((str(one.player), str(other)) for one in lobby for other in one.avoid),
    )


def _numbers(
    lobby: Sequence[BalancePlayer], known: PoolState, at: float | None
) -> dict[str, Floats]:
    """Return rating, deviation and, where the system has one, effective rating of all."""
    rows = {player: row for row, player in enumerate(known.player_ids.tolist())}
    newcomer = len(rows)
    state = known.state.copy()
    state.grow(newcomer + 1)
    places = np.array([rows.get(str(one.player), newcomer) for one in lobby], dtype=np.int64)
    now = known.system.at(state, places, at)
    found: dict[str, Floats] = {
        name: now[name].copy()
        for name in ("rating", "deviation", "effective_rating")
        if name in now
    }
    if np.isnan(found["deviation"]).all():
        # Of a system that has no deviations.
        found["deviation"] = np.zeros(len(lobby))
    for row in np.flatnonzero(places == newcomer).tolist():
        one = lobby[row]
        if one.rating is not None:
            found["rating"][row] = one.rating
            if "effective_rating" in found:
                # Nobody without a match has form.
                found["effective_rating"][row] = one.rating
        if one.deviation is not None:
            found["deviation"][row] = one.deviation
    return found


def _labels(values: Sequence[Any]) -> Ids | None:
    """Return labels as a column; None where nobody has one."""
    return None if all(value is None for value in values) else object_array(values)
