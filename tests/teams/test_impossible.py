"""Lobbies without an answer say why, in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.data.lobby import Lobby
from equipoise.errors import ConvergenceError, InvalidDataError, InvalidParameterError
from equipoise.teams import split_search
from equipoise.teams.lobby_split import balance


def lobby(count: int, **columns: Any) -> Lobby:
    for name in ("party", "team"):
        if name in columns:
            filled = [*columns[name], *[None] * (count - len(columns[name]))]
            columns[name] = np.array(filled, dtype=object)
    return Lobby(
        player_ids=np.arange(count),
        rating=np.linspace(1800, 1200, count),
        deviation=np.full(count, 80.0),
        **columns,
    )


@pytest.mark.parametrize(
    ("waiting", "teams", "message"),
    [
        (
            lobby(6, party=["p"] * 4),
            2,
            "party 'p' has 4 players, but the largest team has 3 places .6 players in 2 teams.",
        ),
        (lobby(24, team=["red"] * 23), 2, "23 players are locked to team 'red', but the largest"),
        (
            lobby(6, team=["red", "blue", "green"]),
            2,
            r"locked to 3 teams \(blue, green and red\), but there are only 2 teams",
        ),
        (
            lobby(8, party=["p", "p", "p"], team=["red", None, None, "red", "red"]),
            2,
            "0, 1, 2, 3 and 4 must stay together through parties and locks: 5 players",
        ),
        (
            lobby(8, party=["p", "p"], team=["red", None, "red"], avoid=((1, 2),)),
            2,
            "1 and 2 avoid each other, but parties and locks keep them together",
        ),
        (
            lobby(6, avoid=((0, 1), (1, 2), (2, 0))),
            2,
            "two teams cannot separate all of these players.* 0, 1 and 2",
        ),
        (lobby(6, party=["p", "p", "q", "q", "r", "r"]), 2, "no split into teams of 3 and 3"),
        (lobby(9, avoid=tuple((0, i) for i in range(1, 9))), 3, "no split into teams of 3, 3 and"),
    ],
)
def test_what_is_never_waived_leaves_no_answer(waiting: Lobby, teams: int, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message) as caught:
        balance(waiting, teams)
    assert caught.value.problems == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teams": 1}, "teams must be a whole number from 2; got 1"),
        ({"teams": 7}, "teams must be at most 6"),
        ({"uncertainty_weight": float("nan")}, "uncertainty_weight must be a finite number from 0"),
        ({"objective": "median"}, "objective must be one of chance, mean, sum"),
        ({"objective": "chance"}, "objective must be 'mean' or 'sum', without a system"),
        ({"alternatives": -1}, "alternatives"),
        ({"steps": -1}, "steps"),
        ({"seed": -1}, "seed"),
        ({"time_limit": -1.0}, "time_limit"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        balance(lobby(6), **options)


def test_as_many_teams_as_players_is_a_split() -> None:
    assert balance(lobby(4), 4).teams == ((0,), (1,), (2,), (3,))


def test_placing_gives_up_honestly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tries run out, nothing is claimed to be proved."""
    monkeypatch.setattr(split_search, "MOST_TRIED", 1)
    waiting = lobby(12, party=["a"] * 3 + ["b"] * 3 + ["c"] * 3)
    with pytest.raises(ConvergenceError, match="placing parties"):
        balance(waiting, 4)
