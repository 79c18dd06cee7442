"""Questions to a pool of the service: what to expect of a match, how to split a lobby.

A lobby that is posted to a pool: who is known, who is new, who belongs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

import numpy as np
from sqlalchemy import Connection

from equipoise.analysis import clock
from equipoise.analysis.files.balance import SplitRequest, message_of, split_lobby
from equipoise.analysis.files.predict import ComingMatch, predicted
from equipoise.arrays import Flags, Floats, Ids
from equipoise.data.lobby import ONCE, Lobby
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
from equipoise.rating.lineup import lobby_prediction
from equipoise.rating.player_state import unpack_players
from equipoise.rating.pool_state import PoolState, newcomers_told
from equipoise.rating.system import RatingColumns
from equipoise.store import ratings
from equipoise.store.connection import Store
from equipoise.store.pools import PoolRecord, get_pool
from equipoise.teams.lobby.lobby_split import Objective
from equipoise.wording import counted


def posted_lobby(players: Sequence[BalancePlayer | Id]) -> list[BalancePlayer]:
    """Return the players of a lobby with text for ids.

    Raises : InvalidDataError where somebody cannot be told from the others
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


def lobby_in_pool(lobby: Sequence[BalancePlayer], known: PoolState, at: float | None) -> Lobby:
    """Return the lobby with the numbers of those who are known, and of newcomers.

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
    )


def _numbers(
    lobby: Sequence[BalancePlayer], now: RatingColumns, newcomer: Flags
) -> dict[str, Floats]:
    """Return rating, deviation and, where the system has one, effective rating of all.

    now : columns of the lobby's players; newcomer : who has what the lobby says, if it does
    """
    found: dict[str, Floats] = {
        name: now[name].copy()
        for name in ("rating", "deviation", "effective_rating")
        if name in now
    }
    if np.isnan(found["deviation"]).all():
        # Of a system that has no deviations.
        found["deviation"] = np.zeros(len(lobby))
    for row in np.flatnonzero(newcomer).tolist():
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


def predict_in_pool(
    store: Store, pool: str, request: PredictRequest, *, now: int | None = None
) -> PredictMessage:
    """Return what a pool's system expects of a match between its players, and newcomers.

    now : microseconds since 1970, for a match without a time; None reads the clock
    Raises : NotFoundError for the pool, InvalidDataError, InvalidParameterError, ConvergenceError
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
    at = _time_asked(request.at, known, rules, now)
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
            where=f"in pool {pool!r}",
        )
    )


def balance_in_pool(
    store: Store, pool: str, request: BalanceRequest, *, now: int | None = None
) -> BalanceMessage:
    """Return a lobby of a pool's players, and of newcomers, as fair teams.

    now : microseconds since 1970, where no time is asked for; None reads the clock
    Raises : NotFoundError for the pool, InvalidDataError, InvalidParameterError, ConvergenceError
    """
    _check_balance(request)
    lobby = posted_lobby(request.players)
    with store.read() as connection:
        record = get_pool(connection, pool)
        rules = rules_of(record.settings)
        known = _known_players(connection, record, rules, [str(one.player) for one in lobby])
    at = _time_asked(request.at, known, rules, now)
    waiting = lobby_in_pool(lobby, known, None if at is None else days(at))
    answer = split_lobby(
        waiting,
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
        lambda rows: lobby_prediction(known, waiting, rows),
    )
    told = newcomers_told(waiting.newcomers, [], f"in pool {pool!r}")
    return message_of(replace(answer, at=written(at, rules), notes=tuple(told)))


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
        raise InvalidParameterError(
            f"{name} must name at most {counted(most, 'player')}; got {count:,}"
        )


def _check_ids(players: Sequence[str]) -> None:
    """Refuse ids that no player can have. Raises : InvalidDataError."""
    problems = [
        Problem("", line, "player", rule, player[:200])
        for line, player in enumerate(players, start=1)
        if (rule := id_fault(player)) is not None
    ]
    if problems:
        count = len(problems)
        raise InvalidDataError(problems, f"{count} problem{'' if count == 1 else 's'} in the teams")


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


def _time_asked(
    at: Moment | None, known: PoolState, rules: PoolRules, now: int | None
) -> int | None:
    """Return the time for which something is asked, microseconds since 1970; None without times.

    Where none is given it is now, or that of the last match if that is said to be later.

    Raises : InvalidParameterError where the pool has no times, or somebody has played since
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
