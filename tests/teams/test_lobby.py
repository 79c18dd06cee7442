"""Lobbies and chances as values, and lobbies without an answer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.data.lobby import Lobby
from equipoise.data.prediction import win_probability
from equipoise.data.ratings import Ratings
from equipoise.errors import (
    ConvergenceError,
    InvalidDataError,
    InvalidParameterError,
    NotFoundError,
)
from equipoise.teams import split_search
from equipoise.teams.lobby_split import balance


def ratings(**extra: np.ndarray) -> Ratings:
    return Ratings(
        player_ids=np.array([3, 5, 9]),
        rating=np.array([1500.0, 1400.0, 1600.0]),
        deviation=np.array([60.0, 70.0, 80.0]),
        matches=np.array([1, 1, 1]),
        last_time=np.full(3, np.nan),
        extra=extra,
    )


def test_a_lobby_of_rated_players_takes_their_effective_rating() -> None:
    effective = np.array([1510.0, 1390.0, 1600.0])
    lobby = Lobby.from_ratings(ratings(effective_rating=effective), [9, "3"])
    assert lobby.player_ids.tolist() == [9, 3]
    assert lobby.strength.tolist() == [1600.0, 1510.0]
    assert Lobby.from_ratings(ratings(), [9, 3]).strength.tolist() == [1600.0, 1500.0]


def test_somebody_without_a_rating_is_named() -> None:
    with pytest.raises(NotFoundError, match="not among the 3 rated players: 4, x"):
        Lobby.from_ratings(ratings(), [3, 4, "x"])
    known = replace(ratings(), player_ids=np.array(["ann", "ben", "cyd"], dtype=object))
    with pytest.raises(NotFoundError, match=r"Ann; did you mean ann\?"):
        Lobby.from_ratings(known, ["Ann", "ben"])


def test_deviations_may_be_left_out() -> None:
    lobby = Lobby(player_ids=np.array([1, 2]), rating=np.array([1500.0, 1400.0]))
    assert lobby.deviation.tolist() == [0.0, 0.0]
    assert balance(lobby).notes == (
        "The lobby has no deviations: it is balanced by rating alone (deviation 0).",
    )


def test_a_system_without_deviations_counts_as_sure() -> None:
    unsure = replace(ratings(), deviation=np.full(3, np.nan))
    assert Lobby.from_ratings(unsure, [3, 5]).deviation.tolist() == [0.0, 0.0]


def test_columns_of_a_lobby_are_its_own() -> None:
    rating = np.array([1500.0, 1400.0])
    lobby = Lobby(player_ids=[1, 2], rating=rating, deviation=[60, 60])  # type: ignore[arg-type]
    rating[0] = 0
    assert lobby.rating.tolist() == [1500.0, 1400.0]
    with pytest.raises(ValueError, match="read-only"):
        lobby.rating[0] = 1


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"must have shape \(2,\)"):
        Lobby(player_ids=np.array([1, 2]), rating=np.zeros(3), deviation=np.zeros(2))


def test_a_chance_is_that_of_readings_a15() -> None:
    """logistic(g(sqrt(phi_A^2 + phi_B^2)) (mu_A - mu_B)), worked out by hand."""
    rating = np.array([1600.0, 1500.0, 1400.0])
    deviation = np.array([100.0, 50.0, 80.0])
    phi_a = math.hypot(100, 50) / 2 / 173.7178
    phi_b = 80 / 173.7178
    g = 1 / math.sqrt(1 + 3 * (phi_a**2 + phi_b**2) / math.pi**2)
    wanted = 1 / (1 + math.exp(-g * (1550 - 1400) / 173.7178))
    assert win_probability(rating, deviation, [[0, 1], [2]])[0] == pytest.approx(wanted, abs=1e-14)


# --- lobbies without an answer say why ---------------------------------------------------------


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
