"""Balancing a lobby: read who waits, make teams, add their chances, write them down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from equipoise.balance.lobby_split import Objective, balance
from equipoise.data.lobby import Lobby
from equipoise.data.split import Balance
from equipoise.data.win_probability import win_probability
from equipoise.errors import InvalidParameterError
from equipoise.formats.lobby import read_lobby, read_lobby_of
from equipoise.formats.writing import check_target, write_table
from equipoise.messages.balance import AlternativeMessage, BalanceMessage, ConstraintMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest:
    """How to split a lobby.

    teams : number of teams; size : of the largest team, instead
    The others are parameters of `equipoise.balance`.
    """

    teams: int | None = None
    size: int | None = None
    objective: Objective = "mean"
    uncertainty_weight: float = 0.8
    top_two: bool = True
    uneven: bool = True
    alternatives: int = 5
    seed: int = 0
    time_limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceRequest(SplitRequest):
    """Whom to split, and how.

    lobby : path or stream of a lobby; or else
    ratings, players : path or stream of a table of ratings, and ids
    format : how either is written, where its name does not tell
    output : path of a table of the teams
    """

    lobby: object = None
    ratings: object = None
    players: Sequence[str] | None = None
    format: str | None = None
    output: str | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BalanceAnswer:
    """The lobby, its teams, and every team's chance to win."""

    lobby: Lobby
    balance: Balance
    win_probability: list[float]


def balance_lobby(request: BalanceRequest) -> BalanceAnswer:
    """Read, balance, write. Raises : EquipoiseError, and then nothing was written."""
    if request.output is not None:
        check_target(request.output)
    answer = split_lobby(_lobby(request), request)
    if request.output is not None:
        write_table(table_of(answer), request.output)
    return answer


def split_lobby(lobby: Lobby, request: SplitRequest) -> BalanceAnswer:
    """Return the teams of a lobby with their chances. Raises : EquipoiseError."""
    result = balance(
        lobby,
        _teams(request, lobby),
        uncertainty_weight=request.uncertainty_weight,
        objective=request.objective,
        top_two=request.top_two,
        uneven=request.uneven,
        alternatives=request.alternatives,
        seed=request.seed,
        time_limit=request.time_limit,
    )
    row_of = {one: row for row, one in enumerate(lobby.player_ids.tolist())}
    rows = [[row_of[one] for one in team] for team in result.teams]
    chances = win_probability(lobby.rating, lobby.deviation, rows)
    return BalanceAnswer(lobby=lobby, balance=result, win_probability=chances)


def table_of(answer: BalanceAnswer) -> pl.DataFrame:
    """Return a row a player: the number of the team from 1, and what is known of the player."""
    lobby = answer.lobby
    row_of = {one: row for row, one in enumerate(lobby.player_ids.tolist())}
    teams = answer.balance.teams
    rows = [row_of[one] for team in teams for one in team]
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
    """Return the answer as machines are shown it."""
    result = answer.balance
    return BalanceMessage(
        teams=[list(team) for team in result.teams],
        objective=result.objective,
        rating_difference=result.rating_difference,
        deviation_difference=result.deviation_difference,
        win_probability=answer.win_probability,
        constraints=[
            ConstraintMessage(one.name, one.status, one.objective_without)
            for one in result.constraints
        ],
        alternatives=[
            AlternativeMessage(
                [list(team) for team in one.teams],
                one.objective,
                one.rating_difference,
                one.deviation_difference,
            )
            for one in result.alternatives
        ],
        bound=result.bound,
        gap=result.gap,
    )


def _lobby(request: BalanceRequest) -> Lobby:
    """Return the lobby asked for. Raises : InvalidParameterError where it is not clear which."""
    from_ratings = request.ratings is not None or request.players is not None
    if (request.lobby is None) != from_ratings:
        raise InvalidParameterError("give either a LOBBY, or --ratings with --players")
    if request.lobby is not None:
        return read_lobby(request.lobby, format=request.format)
    if request.ratings is None or request.players is None:
        raise InvalidParameterError(
            "--ratings says where ratings are and --players who waits: give both"
        )
    return read_lobby_of(request.ratings, request.players, format=request.format)


def _teams(request: SplitRequest, lobby: Lobby) -> int:
    """Return the number of teams."""
    if request.size is None:
        return 2 if request.teams is None else request.teams
    if request.teams is not None:
        raise InvalidParameterError("--teams and --size say the same: give one of them")
    teams = math.ceil(lobby.players / request.size)
    if teams < 2:
        raise InvalidParameterError(
            f"--size must leave two teams or more of {lobby.players} players; got {request.size}"
        )
    return teams
