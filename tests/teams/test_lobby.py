"""Lobbies and chances as values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from equipoise.data.lobby import Lobby
from equipoise.data.prediction import win_probability
from equipoise.data.ratings import Ratings
from equipoise.errors import InvalidDataError, NotFoundError
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
    plain = ratings()
    unsure = Ratings(
        player_ids=plain.player_ids,
        rating=plain.rating,
        deviation=np.full(3, np.nan),
        matches=plain.matches,
        last_time=plain.last_time,
        extra={},
    )
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
