"""Balancing a lobby: read the players, make teams, predict their match, write a table.

Options may add newcomers, parties and avoid pairs to a lobby. Problems with them name the option
and the player, and then nothing is changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from equipoise.analysis.balance import Additions, BalanceRequest, SplitRequest
from equipoise.analysis.requests import shared
from equipoise.data.history import MICROSECONDS_PER_DAY
from equipoise.data.lobby import DEVIATION, LARGEST, ONCE, RATING, Balance, Lobby
from equipoise.data.prediction import Prediction, team_mean_prediction
from equipoise.data.times import as_written
from equipoise.errors import InvalidDataError, InvalidParameterError, Problem
from equipoise.formats.names import read_synonyms
from equipoise.formats.players import read_lobby_noting, read_lobby_of
from equipoise.formats.sources import is_saved_state
from equipoise.formats.table import format_of
from equipoise.formats.times import check_time_format, moment
from equipoise.formats.writing import check_target, write_table
from equipoise.messages.conversion import to_message
from equipoise.messages.questions import BalanceMessage
from equipoise.teams.lobby_split import balance
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.rating.pool_state import PoolState


PARTY, AVOID, NEWCOMER = "--party", "--avoid", "--newcomer"
DEFAULT_RATING, DEFAULT_DEVIATION = "--default-rating", "--default-deviation"

IN_LOBBY = "must be a player of the lobby"
NOT_YET = "must not have a rating already"
ONE_PARTY = "must be in one party only"
SEVERAL = "must name at least two players"

#: Notes on a table of ratings, which is used as it is.
_AS_OF_LAST = "deviations are as of each player's last match"
_OF_NO_SYSTEM = (
    "the table does not name the system of its ratings, so win probabilities compare mean "
    "ratings on the Elo scale; with a saved state (--state), its system predicts"
)

#: Returns the prediction for teams, given the rows of their players in the lobby.
Predict = Callable[[Sequence[Sequence[int]]], Prediction]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BalanceAnswer:
    """The lobby, its teams, and the prediction of their match.

    at : time for which ratings were read; None if the lobby has them
    newcomers : a note on players of whom nothing is known, who may be misspelt
    notes : further notes
    """

    lobby: Lobby
    balance: Balance
    prediction: Prediction
    at: int | str | None = None
    newcomers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def balance_lobby(request: BalanceRequest) -> BalanceAnswer:
    """Read a lobby, balance, write. Raises : EquipoiseError, and then nothing was written."""
    if request.state is None and is_saved_state(request.ratings):
        # A state has ratings too, and says how newcomers start.
        request = replace(request, state=str(request.ratings), ratings=None)
    if request.state is not None:
        check_state(request.state, "--state", "--ratings")
    if request.output is not None:
        check_target(request.output)
    answer = _split(_with_known_names(request))
    answer = replace(answer, notes=(*request.names.notes, *answer.notes))
    if request.output is not None:
        write_table(table_of(answer), request.output, raw=request.raw)
    return answer


def _with_known_names(request: BalanceRequest) -> BalanceRequest:
    """Return a request in which the players of a state or table have the names that it has."""
    if request.names.synonyms is None or request.players is None:
        return request
    known, added = read_synonyms(request.names.synonyms), request.additions

    def named(players: Sequence[str]) -> list[str]:
        return [known.get(player, player) for player in players]

    parties, avoid = map(named, added.parties), map(named, added.avoid)
    newcomers = tuple(named(added.newcomers))
    added = replace(added, newcomers=newcomers, parties=[*parties], avoid=[*avoid])
    return replace(request, players=named(request.players), additions=added)


def split_lobby(
    lobby: Lobby, request: SplitRequest, predict: Predict | None = None
) -> BalanceAnswer:
    """Return the teams of a lobby and the prediction of their match.

    predict : by the system that rated the players; None compares mean ratings (READINGS A15)
    Raises : EquipoiseError
    """
    result = balance(lobby, _teams(request, lobby), **shared(request, balance))
    row_of = {player: row for row, player in enumerate(lobby.player_ids.tolist())}
    rows = [[row_of[player] for player in team] for team in result.teams]
    if predict is None:
        prediction = team_mean_prediction(lobby.rating, lobby.deviation, rows)
    else:
        prediction = predict(rows)
    return BalanceAnswer(lobby=lobby, balance=result, prediction=prediction)


def table_of(answer: BalanceAnswer) -> pl.DataFrame:
    """Return one row for each player: the team from 1, ratings, and the columns of the lobby."""
    lobby = answer.lobby
    row_of = {player: row for row, player in enumerate(lobby.player_ids.tolist())}
    teams = answer.balance.teams
    rows = [row_of[player] for team in teams for player in team]
    columns: dict[str, object] = {
        "team": [number for number, team in enumerate(teams, start=1) for _ in team],
        "player": lobby.player_ids[rows].tolist(),
        "rating": lobby.rating[rows],
        "deviation": lobby.deviation[rows],
        "effective_rating": lobby.strength[rows],
    }
    for name, labels in (("party", lobby.party), ("locked", lobby.team)):
        if labels is not None:
            columns[name] = pl.Series(labels[rows].tolist(), dtype=pl.String)
    return pl.DataFrame(columns)


def message_of(answer: BalanceAnswer) -> BalanceMessage:
    """Return the JSON message."""
    result, expects = answer.balance, answer.prediction
    return to_message(
        BalanceMessage,
        result,
        win_probability=expects.expected,
        expected=expects.expected,
        win=expects.win,
        draw=expects.draw,
        draw_by=expects.draw_by,
        by=expects.by,
        newcomers=expects.newcomers,
        uncalibrated=expects.uncalibrated,
        calibrated_range=expects.calibrated_range,
        at=answer.at,
        notes=[*answer.newcomers, *result.notes, *answer.notes],
    )


def _split(request: BalanceRequest) -> BalanceAnswer:
    """Return the teams of the lobby of a request.

    Raises : InvalidParameterError if it names no lobby or several; EquipoiseError
    """
    sources = [request.state is not None, request.ratings is not None]
    from_players = any(sources) or request.players is not None
    if (request.lobby is None) != from_players or all(sources):
        raise InvalidParameterError(
            "give either a LOBBY, or --ratings with --players, or --state with --players; "
            """--players names them, such as --players 'ann,ben' or --players '"Doe, Jane",ben'"""
        )
    if request.at is not None and request.state is None:
        raise InvalidParameterError(
            "--at needs --state: a table of ratings already belongs to one time"
        )
    if request.calibrate is not None and request.state is None:
        raise InvalidParameterError("--calibrate needs --state: other ratings have no system")
    added = request.additions
    check_defaults(added, from_state=request.state is not None)
    if request.lobby is not None:
        lobby, read_as = read_lobby_noting(
            request.lobby, format=request.format, default_deviation=added.default_deviation
        )
        answer = _split_with(lobby, request)
        return replace(answer, notes=(*read_as, *answer.notes))
    if request.players is None or not any(sources):
        raise InvalidParameterError(
            "--players needs the ratings of --state or --ratings, and these need --players"
        )
    if request.state is not None:
        return _split_of_state(request.state, request.players, request)
    lobby, read_as = read_lobby_of(
        request.ratings,
        request.players,
        format=request.format,
        default_deviation=added.default_deviation,
    )
    notes = (*read_as, _OF_NO_SYSTEM, *((_AS_OF_LAST,) if lobby.deviation.any() else ()))
    return replace(_split_with(lobby, request), notes=notes)


def _split_with(lobby: Lobby, request: BalanceRequest) -> BalanceAnswer:
    """Return the teams of a lobby of a file, with what the request adds."""
    added = request.additions
    lobby = with_constraints(with_newcomers(lobby, added), added)
    answer = split_lobby(lobby, request.split)
    return replace(answer, prediction=replace(answer.prediction, newcomers=lobby.newcomers))


def _split_of_state(path: str, players: Sequence[str], request: BalanceRequest) -> BalanceAnswer:
    """Return the teams of players of a saved state. Raises : EquipoiseError."""
    # Imported here, because a lobby alone needs no compiled code.
    from equipoise.analysis.reading import learn_curve, unused_at, unused_notes
    from equipoise.rating.pool_state import PoolState, newcomers_note
    from equipoise.rating.predicting import lobby_of, lobby_prediction

    state = PoolState.load(path)
    if request.calibrate is not None:
        learn_curve(state, request.calibrate)
    added = request.additions
    check_newcomers(added.newcomers, state.player_ids.tolist())
    lobby = lobby_of(state, [*players, *added.newcomers], at=_day(state, request))
    lobby = with_constraints(lobby, added)
    answer = split_lobby(lobby, request.split, lambda rows: lobby_prediction(state, lobby, rows))
    known = state.player_ids.tolist()
    # Nobody has to be told of newcomers whom the command names.
    unnamed = [player for player in lobby.newcomers if str(player) not in added.newcomers]
    newcomers = newcomers_note(unnamed, known, f"among the {counted(len(known), 'rated player')}")
    unused = unused_at(state.system) if request.at is not None else []
    notes = unused_notes({state.system.name: unused}, strict=False)
    at = _shown_at(state, request.at)
    return replace(answer, at=at, newcomers=tuple(newcomers), notes=tuple(notes))


def _day(state: PoolState, request: BalanceRequest) -> float | None:
    """Return the time of the request in days since 1970, None for that of the last match."""
    if request.at is None:
        return None
    if state.last_time is None:
        had = "none" if state.last_order is None else "an order without dates"
        raise InvalidParameterError(f"--at needs a state with dates; its history had {had}")
    when = moment(request.at, "--at", check_time_format(request.time_format))
    return when / MICROSECONDS_PER_DAY


def _shown_at(state: PoolState, at: str | None) -> int | str | None:
    """Return the time for which ratings were read, as text or in seconds as in the history."""
    if at is not None or state.last_time is None:
        return at
    shown = as_written(np.array([state.last_time]), state.time_kind)[0]
    return int(shown) if state.time_kind == "seconds" else str(shown)


def _teams(request: SplitRequest, lobby: Lobby) -> int:
    """Return the number of teams."""
    if request.size is None:
        return 2 if request.teams is None else request.teams
    if request.teams is not None:
        raise InvalidParameterError("size cannot be combined with teams")
    teams = math.ceil(lobby.players / request.size)
    if teams < 2:
        raise InvalidParameterError(
            f"size must leave two teams or more of {lobby.players} players; got {request.size}"
        )
    return teams


def check_state(path: str, option: str, other: str) -> None:
    """Refuse a table in the place of a saved state. Raises : InvalidParameterError.

    other : the option that reads a table
    """
    if Path(path).is_file() and format_of(Path(path)) is not None:
        raise InvalidParameterError(
            f"{option} takes a state that `equipoise rate --save` wrote (.npz); {path} is a table: "
            f"use {other} {path}"
        )


def refuse_defaults(rating: float | None, deviation: float | None, state: str) -> None:
    """Refuse defaults out of range, and those of players of a saved state.

    state : what has the rating and deviation of newcomers, in words; "" for none
    Raises : InvalidParameterError
    """
    for option, value, low, rule in (
        (DEFAULT_RATING, rating, -LARGEST, RATING),
        (DEFAULT_DEVIATION, deviation, 0.0, DEVIATION),
    ):
        if value is None:
            continue
        if state:
            raise InvalidParameterError(
                f"{option} cannot be combined with {state}, which has the rating and deviation of "
                "newcomers"
            )
        if not low <= value <= LARGEST:
            raise InvalidParameterError(f"{option} {rule}; got {value}")


def check_defaults(added: Additions, from_state: bool) -> None:
    """Refuse defaults that are out of range, missing or of no use.

    from_state : whether the players come from a saved state
    Raises : InvalidParameterError
    """
    refuse_defaults(added.default_rating, added.default_deviation, "--state" if from_state else "")
    if added.newcomers and not from_state and added.default_rating is None:
        raise InvalidParameterError(
            f"{NEWCOMER} {added.newcomers[0]} needs {DEFAULT_RATING}: a lobby and a table of "
            "ratings do not say how newcomers start; a saved state does (--state)"
        )
    if added.default_rating is not None and not added.newcomers:
        raise InvalidParameterError(f"{DEFAULT_RATING} needs {NEWCOMER}")


def check_newcomers(newcomers: Sequence[str], known: Sequence[object]) -> None:
    """Refuse newcomers who are known or named twice. Raises : InvalidDataError."""
    rated = {str(player) for player in known}
    problems, seen = [], set()
    for newcomer in newcomers:
        if newcomer in rated or newcomer in seen:
            problems.append(_problem(NEWCOMER, ONCE if newcomer in seen else NOT_YET, newcomer))
        seen.add(newcomer)
    _refuse(problems)


def with_newcomers(lobby: Lobby, added: Additions) -> Lobby:
    """Return the lobby with the newcomers, who have the default rating and deviation.

    Raises : InvalidParameterError   the lobby has deviations, and there is no default
    Raises : InvalidDataError        newcomers are in the lobby or named twice
    """
    if not added.newcomers:
        return lobby
    check_newcomers(added.newcomers, lobby.player_ids.tolist())
    deviation = added.default_deviation
    if deviation is None and lobby.deviation.any():
        raise InvalidParameterError(
            f"{NEWCOMER} {added.newcomers[0]} needs {DEFAULT_DEVIATION}: the other players have "
            "deviations"
        )
    count = len(added.newcomers)
    ratings = np.full(count, added.default_rating)
    ids = _as_ids(lobby, added.newcomers)
    none = np.full(count, None, dtype=object)
    return replace(
        lobby,
        player_ids=np.array([*lobby.player_ids.tolist(), *ids], dtype=object),
        rating=np.concatenate([lobby.rating, ratings]),
        deviation=np.concatenate([lobby.deviation, np.full(count, deviation or 0.0)]),
        effective_rating=np.concatenate([lobby.strength, ratings]),
        party=None if lobby.party is None else np.concatenate([lobby.party, none]),
        team=None if lobby.team is None else np.concatenate([lobby.team, none]),
        newcomers=(*lobby.newcomers, *ids),
    )


def with_constraints(lobby: Lobby, added: Additions) -> Lobby:
    """Return the lobby with the parties and avoid pairs. Raises : InvalidDataError."""
    if not added.parties and not added.avoid:
        return lobby
    ids = lobby.player_ids.tolist()
    row_of = {str(player): row for row, player in enumerate(ids)}
    _refuse([*_unknown(PARTY, added.parties, row_of), *_unknown(AVOID, added.avoid, row_of)])
    labels = [None] * len(ids) if lobby.party is None else lobby.party.tolist()
    _refuse(list(_add_parties(added.parties, row_of, labels)))
    pairs = [
        (ids[row_of[a]], ids[row_of[b]]) for group in added.avoid for a, b in combinations(group, 2)
    ]
    try:
        return replace(
            lobby,
            party=np.array(labels, dtype=object) if added.parties else lobby.party,
            avoid=(*lobby.avoid, *pairs),
        )
    except InvalidDataError as error:
        # The rules of a lobby: who avoid each other are in no party or locked team together.
        option = AVOID if added.avoid else PARTY
        raise InvalidDataError(
            [
                Problem(
                    option,
                    None,
                    f"player {ids[(problem.line or 1) - 1]}",
                    problem.rule,
                    problem.got,
                )
                for problem in error.problems
            ],
            error.summary,
        ) from None


def _add_parties(
    parties: Sequence[Sequence[str]], row_of: dict[str, int], labels: list[str | None]
) -> Iterator[Problem]:
    """Set the labels of the players of parties; yield players who are in another one."""
    for party in parties:
        label = " + ".join(party)
        while label in labels:
            # A label of the table that reads the same.
            label += " +"
        for player in party:
            row = row_of[player]
            if labels[row] is not None:
                yield _problem(PARTY, f"{ONE_PARTY}, and is in {labels[row]!r}", player)
            labels[row] = label


def _unknown(
    option: str, groups: Sequence[Sequence[str]], row_of: dict[str, int]
) -> Iterator[Problem]:
    """Yield groups of fewer than two players, and players who are unknown or named twice."""
    for group in groups:
        if len(group) < 2:
            yield _problem(option, SEVERAL, *group)
        for at, player in enumerate(group):
            if player not in row_of:
                yield _problem(option, f"{IN_LOBBY} ({counted(len(row_of), 'player')})", player)
            elif player in group[:at]:
                yield _problem(option, ONCE, player)


def _as_ids(lobby: Lobby, newcomers: Sequence[str]) -> list[Any]:
    """Return ids as numbers if the lobby has numbers and all newcomers are numbers too."""
    numbers = lobby.player_ids.dtype.kind == "i"
    if numbers and all(
        re.fullmatch(r"0|-?[1-9]\d{0,17}", newcomer, re.ASCII) for newcomer in newcomers
    ):
        return [int(newcomer) for newcomer in newcomers]
    return list(newcomers)


def _problem(option: str, rule: str, got: str) -> Problem:
    return Problem(option, None, "player", rule, repr(got))


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the lobby")
