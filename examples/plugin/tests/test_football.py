"""Football Elo by hand."""

from __future__ import annotations

import io

import pytest

import equipoise as eq
from equipoise_football import FootballElo

SEASON = """\
match,time,player,rank,goals,side
1,2024-08-01,Ayr,1,4,home
1,2024-08-01,Bute,2,1,away
2,2024-08-08,Bute,1,2,home
2,2024-08-08,Ayr,1,2,away
"""


def test_two_matches_by_hand() -> None:
    """1: W = 1/(1 + 10^(-100/400)), G = 14/8. 2: a draw, Bute at home."""
    season = io.BytesIO(SEASON.encode())
    history = eq.read_history(season, format="csv", columns={"performance": "goals"})
    done = eq.replay(eq.make_system("football-elo"), history)
    gain = 20 * 14 / 8 * (1 - 1 / (1 + 10 ** (-100 / 400)))
    ayr, bute = 1500 + gain, 1500 - gain
    back = 20 * (0.5 - 1 / (1 + 10 ** (-(ayr - bute - 100) / 400)))
    assert dict(zip(done.ratings.player_ids, done.ratings.rating, strict=True)) == pytest.approx(
        {"Ayr": ayr + back, "Bute": bute - back}
    )


def test_a_wrong_parameter_is_refused() -> None:
    with pytest.raises(eq.InvalidParameterError, match="k must be positive; got 0"):
        FootballElo(k=0)
    with pytest.raises(eq.InvalidParameterError, match="entry must be 'fixed'"):
        FootballElo(entry="learned")
