"""Questions to a pool: the prediction of a match, and the best split of a lobby.

Both combine the states of the pool's players with newcomers, and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sqlalchemy import Connection

from equipoise.analysis import clock
from equipoise.analysis.files.balance import message_of, split_lobby
from equipoise.analysis.files.predict import ComingMatch, predicted
from equipoise.analysis.requests.teams import SplitRequest
from equipoise.arrays import Flags, Floats, Ids
from equipoise.data.lobby import ONCE, Lobby, Objective
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem, require
from equipoise.messages.matches import Id, Moment
from equipoise.messages.questions import (
    BalancePlayer,
    BalanceRequest,
    PredictMessage,
    PredictRequest,
)
from equipoise.messages.teams import BalanceMessage
from equipoise.pools.pool.rules import PoolRules, days, id_fault, id_text, moment, rules_of, written
from equipoise.pools.posting.match_history import object_array, time_kind
from equipoise.rating.player_state import unpack_players
from equipoise.rating.pool_state import PoolState, newcomers_note
from equipoise.rating.predicting.lineup import lobby_prediction, team_model
from equipoise.rating.system import RatingColumns
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.wording import counted

#: Limits of a prediction: players of the match, sampled matches, players drawn for them, players
#: with a what-if, and teams up to which a what-if has every place.
PREDICTED_PLAYERS = 1_000
SAMPLES = 100_000
DRAWN = 20_000_000
WHAT_IF = 20
_ALL_PLACES = 100

#: Limits of a split: players of the lobby, further splits, and seconds of the search.
LOBBY = 200
ALTERNATIVES = 100
_SEARCH_SECONDS = 5.0


def predict_in_pool(
    store: Store, pool: str, request: PredictRequest, *, now: int | None = None
) -> PredictMessage:
    """Return the prediction of a match between players of a pool and newcomers.

    now : microseconds since 1970, for a match without a time; None reads the clock
    Raises : NotFoundError for the pool; InvalidDataError, InvalidParameterError, ConvergenceError
    """
    teams = [[id_text(player) for player in team] for team in request.teams]
    players = [player for team in teams for player in team]
    wanted = [id_text(player) for player in request.what_if]
    _check_prediction(request, len(players))
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        known = _known_players(connection, record, rules, players)
    _check_ids(players)
    at = _time_of_request(request.at, known, rules, now)
    return predicted(
        ComingMatch(
            pool=known,
            teams=teams,
            at=None if at is None else days(at),
            shown_at=written(at, rules),
            home=request.home,
            draw_rate=request.draw_rate,
            samples=request.samples,
            seed=request.seed,
            players=wanted,
            all_places=_ALL_PLACES,
            where=f"in pool {pool!r}",
        )
    )


def _check_prediction(request: PredictRequest, players: int) -> None:
    """Check the limits of a prediction. Raises : InvalidParameterError."""
    _at_most("teams", players, PREDICTED_PLAYERS)
    _at_most("what_if", len(request.what_if), WHAT_IF)
    require(request.seed >= 0, "seed", "at least 0", request.seed)
    if request.samples is None:
        return
    rule = f"from 1 to {SAMPLES}"
    require(1 <= request.samples <= SAMPLES, "samples", rule, request.samples)
    drawn = request.samples * players
    require(drawn <= DRAWN, "samples times players", f"at most {DRAWN}", drawn)


def _check_ids(players: Sequence[str]) -> None:
    """Check ids of players. Raises : InvalidDataError."""
    problems = [
        Problem("", line, "player", rule, player[:200])
        for line, player in enumerate(players, start=1)
        if (rule := id_fault(player)) is not None
    ]
    if problems:
        raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the teams")


def balance_in_pool(
    store: Store, pool: str, request: BalanceRequest, *, now: int | None = None
) -> BalanceMessage:
    """Return the fairest teams of a lobby of a pool's players and newcomers.

    now : microseconds since 1970, for a request without a time; None reads the clock
    Raises : NotFoundError for the pool; InvalidDataError, InvalidParameterError, ConvergenceError
    """
    _check_balance(request)
    lobby = posted_lobby(request.players)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        known = _known_players(connection, record, rules, [str(one.player) for one in lobby])
    at = _time_of_request(request.at, known, rules, now)
    waiting = lobby_in_pool(lobby, known, None if at is None else days(at))
    answer = split_lobby(
        waiting,
        SplitRequest(
            teams=request.teams,
            size=request.size,
            objective=cast(Objective | None, request.objective),
            uncertainty_weight=request.uncertainty_weight,
            top_two=request.top_two,
            uneven=request.uneven,
            alternatives=request.alternatives,
            seed=request.seed,
            time_limit=_SEARCH_SECONDS,
        ),
        lambda rows: lobby_prediction(known, waiting, rows),
    )
    notes = newcomers_note(waiting.newcomers, [], f"in pool {pool!r}")
    return message_of(replace(answer, at=written(at, rules), notes=tuple(notes)))


def _check_balance(request: BalanceRequest) -> None:
    """Check the limits of a split. Raises : InvalidParameterError."""
    _at_most("players", len(request.players), LOBBY)
    rule = f"from 0 to {ALTERNATIVES}"
    require(0 <= request.alternatives <= ALTERNATIVES, "alternatives", rule, request.alternatives)
    require(request.size is None or request.size >= 1, "size", "at least 1", request.size)


def posted_lobby(players: Sequence[BalancePlayer | Id]) -> list[BalancePlayer]:
    """Return the players of a lobby with text for ids.

    Raises : InvalidDataError if an id is invalid or not unique
    """
    lobby = [_lobby_player(one) for one in players]
    _check_lobby(lobby)
    return lobby


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
    """Check the ids and locks of a lobby. Raises : InvalidDataError."""
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
        raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the lobby")


def lobby_in_pool(lobby: Sequence[BalancePlayer], known: PoolState, at: float | None) -> Lobby:
    """Return the lobby with the numbers of its players, newcomers included.

    Raises : InvalidDataError
    """
    state, ids, is_known = known.with_newcomers([one.player for one in lobby])
    numbers = _numbers(lobby, known.system.at(state, np.arange(len(ids)), at), ~is_known)
    parties = [one.party for one in lobby]
    locks = [None if one.team is None else str(one.team) for one in lobby]
    return Lobby(
        player_ids=ids,
        rating=numbers["rating"],
        deviation=numbers["deviation"],
        effective_rating=numbers.get("effective_rating"),
        party=_labels(parties),
        team=_labels(locks),
        avoid=tuple((str(one.player), str(other)) for one in lobby for other in one.avoid),
        newcomers=tuple(ids[~is_known].tolist()),
        model=team_model(known),
    )


def _numbers(
    lobby: Sequence[BalancePlayer], now: RatingColumns, newcomer: Flags
) -> dict[str, Floats]:
    """Return rating, deviation and, if the system has one, effective rating of all players.

    now : columns of the lobby's players
    newcomer : players whose rating and deviation the lobby may give
    """
    found: dict[str, Floats] = {
        name: now[name].copy()
        for name in ("rating", "deviation", "effective_rating")
        if name in now
    }
    if np.isnan(found["deviation"]).all():
        # The system has no deviations.
        found["deviation"] = np.zeros(len(lobby))
    for row in np.flatnonzero(newcomer).tolist():
        one = lobby[row]
        if one.rating is not None:
            found["rating"][row] = one.rating
            if "effective_rating" in found:
                # A newcomer has no form.
                found["effective_rating"][row] = one.rating
        if one.deviation is not None:
            found["deviation"][row] = one.deviation
    return found


def _labels(values: Sequence[Any]) -> Ids | None:
    """Return labels as a column, None if there are none."""
    return None if all(value is None for value in values) else object_array(values)


def _at_most(name: str, count: int, most: int) -> None:
    if count > most:
        raise InvalidParameterError(
            f"{name} must name at most {counted(most, 'player')}; got {count:,}"
        )


def _known_players(
    connection: Connection, pool: PoolRecord, rules: PoolRules, players: Iterable[str]
) -> PoolState:
    """Return the state of those players who are in the pool."""
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


def _time_of_request(
    at: Moment | None, known: PoolState, rules: PoolRules, now: int | None
) -> int | None:
    """Return the time of a request, microseconds since 1970; None in a pool without times.

    Without a time it is now, or the time of the last match if that is later.

    Raises : InvalidParameterError if the pool has no times, or if a player has played since
    """
    if at is None:
        if not rules.timed:
            return None
        present = clock.now() if now is None else now
        return present if known.last_time is None else max(present, known.last_time)
    if not rules.timed:
        raise InvalidParameterError("at must be left out: this pool has no times")
    when = moment(at, "at")
    played = known.system.at(known.state, np.arange(len(known.player_ids)), None)["last_time"]
    # Times are kept in days as float64, exact to a microsecond.
    since = known.player_ids[np.flatnonzero(played > days(when + 1))].tolist()
    if since:
        raise InvalidParameterError(f"at must not be before the last match of {since[0]}; got {at}")
    return when
