"""Against choix, another implementation of maximum likelihood for the same curve without draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.data.games import Games
from equipoise.tournament.equilibrium import performance_equilibrium


@pytest.mark.parametrize("seed", range(2))
def test_ratings_are_those_of_choix(seed):
    """opt_pairwise, told to go on until nothing changes; its unit is 400/ln 10 points."""
    choix = pytest.importorskip("choix", reason="choix is not installed")
    rng = np.random.default_rng(seed)
    players, games = 25, 400
    skill = rng.normal(0, 150, players)
    white = rng.integers(0, players, games)
    black = (white + rng.integers(1, players, games)) % players
    won = rng.random(games) < 1 / (1 + 10 ** ((skill[black] - skill[white]) / 400))
    # Everybody beats the next around a ring, so that nobody is swept.
    ring = rng.permutation(players)
    white, black = np.r_[white, ring], np.r_[black, np.roll(ring, 1)]
    won = np.r_[won, np.ones(players, dtype=bool)]
    data = Games(player_ids=np.arange(players), white=white, black=black, points=won)
    found = performance_equilibrium(data, select="mean", anchor=0.0)
    winners, losers = np.where(won, white, black), np.where(won, black, white)
    pairs = list(zip(winners.tolist(), losers.tolist(), strict=True))
    theirs = choix.opt_pairwise(players, pairs, alpha=0.0, method="Newton-CG", tol=1e-12)
    points = (theirs - theirs.mean()) * 400 / math.log(10)
    # 1e-8 of its units, which is as close as SciPy's minimiser comes.
    assert np.max(np.abs(points - found.rating)) < 5e-6
