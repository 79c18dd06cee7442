"""Questions to the ratings of a pool: predictions, teams, and why a rating changed.

Both combine the states of the pool's players with newcomers, and change nothing.

The states of the match's players right before it are made from partial checkpoints, or else the
state of the whole pool from the last checkpoint. The rating system explains the change from them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec
import numpy as np
from sqlalchemy import Connection

from equipoise.analysis.balance import SplitRequest
from equipoise.analysis.balance.computation import message_of, split_lobby
from equipoise.analysis.explain.computation import explain_message, with_statistics
from equipoise.analysis.predict.computation import ComingMatch, predicted
from equipoise.arrays import Flags, Floats, Ids
from equipoise.data.explanation import Explanation
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.lobby import ONCE, Lobby, Objective
from equipoise.errors import (
    EquipoiseError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
    Problem,
    require,
)
from equipoise.messages.histories import ExplainMessage
from equipoise.messages.matches import Id, MatchRequest, Moment, ParticipationRequest, TeamRequest
from equipoise.messages.questions import (
    BalanceMessage,
    BalancePlayer,
    BalanceRequest,
    PredictMessage,
    PredictRequest,
)
from equipoise.pools.pool.pools import read_pool
from equipoise.pools.pool.rules import PoolRules, days, id_fault, id_text, moment, written
from equipoise.pools.posting.rating import (
    LoggedMatch,
    history_of,
    object_array,
    players_of,
    time_kind,
)
from equipoise.pools.posting.running import RunningPool
from equipoise.pools.records import Amendments, amendments_of, renames_rated
from equipoise.pools.replay.states import PoolPast
from equipoise.rating.calibration_curve import CALIBRATION, LearnedCurve
from equipoise.rating.contexts import CONTEXT
from equipoise.rating.explaining import explain_change, why_unrated
from equipoise.rating.pool_state import PoolState, newcomers_note
from equipoise.rating.predicting import lobby_prediction, team_model, team_prediction
from equipoise.rating.state import COUNT, unpack_players
from equipoise.rating.system import RatingColumns, RatingSystem
from equipoise.store import changes, log, ratings, schema
from equipoise.store.connection import Store
from equipoise.store.log import LogRecord
from equipoise.store.pools import PoolRecord, rated_through
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
    _check_prediction(request, len(players))
    with read_pool(store, pool) as (connection, record, rules):
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
            context=request.context,
            draw_rate=request.draw_rate,
            samples=request.samples,
            seed=request.seed,
            players=[id_text(player) for player in request.what_if],
            all_places=_ALL_PLACES,
            where=f"in pool {pool!r}",
        )
    )


def chances_now(
    store: Store, pool: str, player: str, others: Sequence[str], *, now: int | None = None
) -> list[tuple[float, float]] | None:
    """Return the chances of a player and of each other one if they met now, as `predict` answers.

    now : as for `predict_in_pool`
    None if the pool's system cannot predict these matches. Raises : NotFoundError for the pool
    """
    with read_pool(store, pool) as (connection, record, rules):
        if rules.fault:
            return None
        known = _known_players(connection, record, rules, [player, *others])
    at = _time_of_request(None, known, rules, now)
    state, ids, _ = known.with_newcomers([player, *others])
    try:
        numbers = rules.system.at(state, np.arange(len(ids)), None if at is None else days(at))
        chances = []
        for row in range(1, len(ids)):
            pair = np.array([0, row])
            rating, deviation = numbers["rating"][pair], numbers["deviation"][pair]
            earlier = numbers["matches"][pair]
            prediction = team_prediction(
                rules.system, state, rating, deviation, np.arange(2), earlier=earlier
            )
            chances.append((prediction.expected[0], prediction.expected[1]))
    except EquipoiseError:
        return None
    return chances


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
    with read_pool(store, pool) as (connection, record, rules):
        known = _known_players(connection, record, rules, [str(member.player) for member in lobby])
    at = _time_of_request(request.at, known, rules, now)
    waiting = lobby_in_pool(lobby, known, at)
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


def ratings_in_pool(
    store: Store, pool: str, players: Sequence[str], *, now: int | None = None
) -> tuple[RatingSystem, dict[Id, tuple[float, float]], LearnedCurve | None]:
    """Return the system of a pool, (rating, deviation) of players, and the curve of the pool.

    Newcomers are included. The rating is the effective rating where the system has one.
    Raises : NotFoundError for the pool; InvalidDataError for invalid ids
    """
    _check_ids(players)
    lobby = posted_lobby(list(players))
    with read_pool(store, pool) as (connection, record, rules):
        known = _known_players(connection, record, rules, players)
    at = _time_of_request(None, known, rules, now)
    resolved = lobby_in_pool(lobby, known, at)
    rating = resolved.rating if resolved.effective_rating is None else resolved.effective_rating
    numbers = zip(rating.tolist(), resolved.deviation.tolist(), strict=True)
    curve = None
    if CALIBRATION in known.state.shared:
        state, ids, _ = known.with_newcomers(list(players))
        earlier = known.system.at(state, np.arange(len(ids)), None)["matches"].tolist()
        curve = LearnedCurve(
            known.state.shared[CALIBRATION], dict(zip(players, earlier, strict=True))
        )
    return known.system, dict(zip(players, numbers, strict=True)), curve


def _check_balance(request: BalanceRequest) -> None:
    """Check the limits of a split. Raises : InvalidParameterError."""
    _at_most("players", len(request.players), LOBBY)
    rule = f"from 0 to {ALTERNATIVES}"
    require(0 <= request.alternatives <= ALTERNATIVES, "alternatives", rule, request.alternatives)
    require(request.size is None or request.size >= 1, "size", "at least 1", request.size)


def posted_lobby(players: Sequence[BalancePlayer | Id]) -> list[BalancePlayer]:
    """Return the players of a lobby with text for ids.

    Raises : InvalidDataError if an id is invalid or not unique, or a lock is none
    """
    lobby, problems = [], []
    seen: set[str] = set()
    for line, posted in enumerate(players, start=1):
        member = posted if isinstance(posted, BalancePlayer) else BalancePlayer(posted)
        player = id_text(member.player)
        if (rule := id_fault(player)) is not None:
            problems.append(Problem("", line, "player", rule, player[:200]))
        if player in seen:
            problems.append(Problem("", line, "player", ONCE, repr(player)))
        seen.add(player)
        if member.team is not None and member.team < 1:
            rule = "must be the number of a team, from 1"
            problems.append(Problem("", line, "team", rule, str(member.team)))
        party = None if member.party is None else id_text(member.party)
        avoid: list[Id] = [id_text(other) for other in member.avoid]
        lobby.append(msgspec.structs.replace(member, player=player, party=party, avoid=avoid))
    if problems:
        raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the lobby")
    return lobby


def lobby_in_pool(lobby: Sequence[BalancePlayer], known: PoolState, time: int | None) -> Lobby:
    """Return the lobby with the numbers of its players, newcomers included.

    time : microseconds since 1970; None in a pool without times
    Raises : InvalidDataError
    """
    at = None if time is None else days(time)
    state, ids, is_known = known.with_newcomers([member.player for member in lobby])
    numbers = _numbers(lobby, known.system.at(state, np.arange(len(ids)), at), ~is_known)
    locks = [None if member.team is None else str(member.team) for member in lobby]
    return Lobby(
        player_ids=ids,
        rating=numbers["rating"],
        deviation=numbers["deviation"],
        effective_rating=numbers.get("effective_rating"),
        party=_labels([member.party for member in lobby]),
        team=_labels(locks),
        avoid=tuple((str(member.player), str(other)) for member in lobby for other in member.avoid),
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
    numbers: dict[str, Floats] = {
        name: now[name].copy()
        for name in ("rating", "deviation", "effective_rating")
        if name in now
    }
    if np.isnan(numbers["deviation"]).all():
        # The system has no deviations.
        numbers["deviation"] = np.zeros(len(lobby))
    for row in np.flatnonzero(newcomer).tolist():
        member = lobby[row]
        if member.rating is not None:
            numbers["rating"][row] = member.rating
            if "effective_rating" in numbers:
                # A newcomer has no form.
                numbers["effective_rating"][row] = member.rating
        if member.deviation is not None:
            numbers["deviation"][row] = member.deviation
    return numbers


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
    """Return the state of those players who are in the pool, by present or earlier id."""
    renames = renames_rated(connection, pool)
    present = {player: renames.get(player, player) for player in players}
    rows = ratings.states_of(connection, pool.id, pool.generation, {*present.values()})
    known = {player: rows[now].state for player, now in present.items() if now in rows}
    state = unpack_players(rules.system, list(known.values()))
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
        present = schema.now() if now is None else now
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


_logger = logging.getLogger(__name__)


def explain_player(
    store: Store, pool: str, player: str, match: str | None = None
) -> ExplainMessage:
    """Return why a match changed a player's rating, in parts that add up to the stored change.

    match : None takes the last one that did
    Raises : NotFoundError; InvalidDataError where the match changed nothing
    """
    with read_pool(store, pool) as (connection, record, rules):
        ratings.get_rating(connection, record, player)
        # While a replay is pending, the stored changes are those of the last replay.
        through = rated_through(connection, record)
        amendments = amendments_of(connection, record, through)
        if match is None:
            last = changes.changes_of_player(connection, record, player, None, 1)
            ids = log.match_ids(connection, record.id, [row.seq for row in last])
            if not ids:
                raise InvalidDataError([], f"no match of {player} changed a rating")
            (match,) = ids.values()
        logged = log.get_match(connection, record, match)
        rated = _rated(logged, amendments, player)
        past = PoolPast(connection, record, rules, amendments)
        explanation = _explained_quickly(past, rated, player)
        if explanation is None:
            before = past.running_before(rated.position).pool_state()
            explanation = _explained_from(past, before, rated, player)
    message = explain_message(explanation, lambda time: _written_days(time, rules))
    played = amendments.time_played(str(logged.match), logged.posted_time)
    return msgspec.structs.replace(message, played=written(played, rules))


def _explained_quickly(past: PoolPast, match: LoggedMatch, player: str) -> Explanation | None:
    """Return the explanation made from partial checkpoints; None without those it needs.

    Raises : InvalidDataError
    """
    stored = changes.changes_of_match(past.connection, past.pool, match.position)
    if player not in stored:
        # The system did not rate it, and the reason needs no states.
        _explained_from(past, RunningPool.start(past.rules).pool_state(), match, player)
        return None
    before = past.players_before(match.position)
    if before is None:
        return None
    explanation = _explained_from(past, before, match, player)
    row = stored[player]
    if (row.rating_before, row.rating) == (explanation.rating_before, explanation.rating):
        return explanation
    _logger.warning("pool %s: partial checkpoints disagree with the changes", past.pool.name)
    return None


def _rated(logged: LogRecord, amendments: Amendments, player: str) -> LoggedMatch:
    """Return a match as it was rated. Raises : NotFoundError, InvalidDataError."""
    match = amendments.match(logged)
    name = str(logged.match)
    if player not in players_of(match.request):
        raise NotFoundError(f"{player} did not take part in match {name}")
    disqualified = amendments.eligibility.disqualified(match)
    reason = None
    if name in amendments.void:
        reason = "it is void"
    elif logged.needs_replay and logged.seq > amendments.through:
        reason = "it was late and waits for a replay"
    elif not match.request.rated:
        reason = "it was posted as not rated"
    elif player in disqualified and disqualified[player].effect != "keep":
        reason = f"{player} was disqualified"
    else:
        voiding = [name for name, by in disqualified.items() if by.effect == "void"]
        if voiding:
            reason = f"{voiding[0]} was disqualified, and the match does not count"
    if reason is not None:
        raise InvalidDataError([], f"match {name} did not change the rating of {player}: {reason}")
    return amendments.eligibility.rated_part(match) or match


def _earlier(
    past: PoolPast, before: PoolState, player: str, match: LoggedMatch
) -> list[LoggedMatch]:
    """Return the matches whose performances the state of a player holds, oldest first.

    Only their ids and times are needed: each has one opponent as a placeholder.
    """
    runs, known = before.state.runs, before.player_ids.tolist()
    if runs is None or player not in known or CONTEXT in past.rules.able.uses:
        return []
    count = int(runs.spans[known.index(player), COUNT])
    rows = changes.changes_of_player(past.connection, past.pool, player, match.position, count)
    ids = log.match_ids(past.connection, past.pool.id, [row.seq for row in rows])
    other = next((name for name in players_of(match.request) if name != player), player)
    teams = [TeamRequest(players=[name], rank=rank) for rank, name in enumerate((player, other))]
    return [
        LoggedMatch(row.seq, row.time, MatchRequest(match=ids[row.seq], teams=teams))
        for row in reversed(rows)
    ]


def _explained_from(
    past: PoolPast, before: PoolState, match: LoggedMatch, player: str
) -> Explanation:
    """Return the explanation that the system gives. Raises : InvalidDataError."""
    rules, earlier = past.rules, _earlier(past, before, player, match)
    names = players_of(match.request)
    ids = list(dict.fromkeys([*before.player_ids.tolist(), *names]))
    before.state.grow(len(ids))
    rows = {name: row for row, name in enumerate(ids)}
    history = history_of([*earlier, match], rows, object_array(ids), rules)
    where = len(earlier)
    reason = why_unrated(rules.system, history, where)
    if reason is not None:
        raise InvalidDataError([], f"match {match.request.match} changed no rating: {reason}")
    row = int(history.offsets[where]) + names.index(player)
    explanation = explain_change(rules.system, before.state, history, where, row)
    weights = rules.settings.statistics
    if weights and "performance" in rules.able.uses:
        members = (member for team in match.request.teams for member in team.players)
        details = (member for member in members if isinstance(member, ParticipationRequest))
        posted = next((one.statistics for one in details if one.player == player), {})
        values = {name: posted.get(name, math.nan) for name in weights}
        explanation = with_statistics(explanation, values, weights)
    return explanation


def _written_days(time: float, rules: PoolRules) -> int | str | None:
    """Return days since 1970 as the pool writes times; None for NaN."""
    return None if np.isnan(time) else written(round(time * MICROSECONDS_PER_DAY), rules)
