"""Elo-MMR with the nearest opponents only, as the papers show what it loses."""

from __future__ import annotations

import numpy as np
import pytest
from papers.elo_mmr.fields import BETA, GAMMA, MODELS, history_of, random_field, rate_once, system
from papers.elo_mmr.nearest import nearest

from equipoise.rating.elo_mmr.elo_mmr import EloMMRParameters
from equipoise.rating.replay import replay
from reference.elo_mmr import Player, SlowEloMMR, SlowEloMMX

SLOW = {"elo-mmr": SlowEloMMR, "elo-mmx": SlowEloMMX}

every_model = pytest.mark.parametrize("model", MODELS)


@every_model
@pytest.mark.parametrize("opponents", [1, 4, 20])
def test_only_the_nearest_rated_opponents_count(
    model: type[EloMMRParameters], opponents: int
) -> None:
    """[EM]_ section 5.3, READINGS B6: as many opponents as named, and those as near as the last."""
    rng = np.random.default_rng(opponents)
    for rounded in (False, True):
        ratings, deviations, ranks = random_field(rng)
        ratings = np.round(ratings, -2) if rounded else ratings
        slow = SLOW[model.name](beta=BETA, gamma=GAMMA, rate_all_ties=True, opponents=opponents)
        for row, (mu, sigma) in enumerate(zip(ratings, deviations, strict=True)):
            slow.players[row] = Player(mu, sigma, p_0=mu, w_0=1 / sigma**2)
        by_hand = slow.rate(range(len(ranks)), ranks.tolist())
        found = rate_once(nearest(opponents, model), ratings, deviations, ranks)
        for name in ("performance", "rating", "deviation"):
            np.testing.assert_allclose(found[name], getattr(by_hand, name), rtol=0, atol=1e-7)


@every_model
def test_newcomers_are_equally_near(model: type[EloMMRParameters]) -> None:
    """Nobody is nearer than anybody else, so few opponents are all opponents."""
    history = history_of([(np.arange(40), np.repeat(np.arange(20), 2))], 40)
    few, every = (replay(one, history).ratings for one in (nearest(3, model), system(model)))
    np.testing.assert_allclose(few.rating, every.rating, rtol=0, atol=1e-7)


def test_few_opponents_let_a_worse_place_show_a_better_performance() -> None:
    """Theorem 5.2 needs all opponents: the last beats nobody near, the first loses to nobody near.

    Three of 1500, of 2000 and of 2500 each, and those rated highest come in last. With the two
    nearest opponents everybody is held against equals alone.
    """
    field = np.repeat([1500.0, 2000.0, 2500.0], 3), np.full(9, 80.0), np.arange(9)
    few, every = (rate_once(one, *field)["performance"] for one in (nearest(2), system()))
    assert np.all(np.diff(every) < 0)
    assert few[8] > few[0]
