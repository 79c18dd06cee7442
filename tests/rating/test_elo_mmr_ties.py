"""Weights of a tie, w_l and w_v of footnote 2 of [EM]_: the definition, and the two known cases."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.rating.elo_mmr.belief import SCALE_OF_DEVIATION

MODELS = [eq.EloMMR, eq.EloMMX]


def contests() -> eq.History:
    """Return three contests of 7 with ties at the top, in the middle and at the end."""
    ranks = [[1, 1, 2, 3, 3, 4, 4], [1, 2, 2, 2, 3, 4, 4], [1, 1, 1, 2, 3, 3, 3]]
    players = list("abcdefg")
    return eq.read_history(
        {
            "match": [match for match in range(3) for _ in players],
            "player": players * 3,
            "rank": [rank for row in ranks for rank in row],
        }
    )


def ratings(system: eq.RatingSystem) -> np.ndarray:
    return eq.replay(system, contests()).ratings.rating


@pytest.mark.parametrize("model", MODELS)
def test_halves_are_split_ties(model):
    """[EM]_ footnote 2: in particular w_l = w_v = 1/2."""
    found = ratings(model(tie_loss=0.5, tie_win=0.5))
    assert np.allclose(found, ratings(model(split_ties=True)), rtol=0, atol=1e-8)


def test_ones_are_a_win_plus_a_loss():
    """For the logistic density f'/f is the loss plus the win; for the normal one it is not."""
    found = ratings(eq.EloMMR(tie_loss=1.0, tie_win=1.0))
    assert np.allclose(found, ratings(eq.EloMMR()), rtol=0, atol=1e-8)
    normal = ratings(eq.EloMMX(tie_loss=1.0, tie_win=1.0))
    assert np.max(np.abs(normal - ratings(eq.EloMMX()))) > 0.1


def test_performances_are_zeros_of_the_printed_sum():
    """Q of Theorem 3.2 with d = w_l l + w_v v, for the first contest of newcomers."""
    system = eq.EloMMR(tie_loss=0.3, tie_win=0.8)
    trace = eq.replay(system, contests(), trace=True).trace
    weight, limit = system.limits()
    sigma2 = 350.0**2 + weight * limit**2
    bar = SCALE_OF_DEVIATION * np.sqrt(sigma2 + (1 + 1 / weight) * limit**2)
    rank = np.array([1, 1, 2, 3, 3, 4, 4])
    for i, p in enumerate(trace.columns["performance"][:7]):
        below = 1 / (1 + np.exp(-(p - 1500.0) / bar))
        terms = [
            0.3 * -below + 0.8 * (1 - below)
            if other == rank[i]
            else 1 - below
            if other > rank[i]
            else -below
            for other in rank
        ]
        assert sum(terms) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_a_tie_that_counts_more_as_a_win_raises_performances(model):
    more, less = (
        eq.replay(model(tie_loss=1 - won, tie_win=won), contests(), trace=True).trace
        for won in (0.6, 0.4)
    )
    assert np.all(more.columns["performance"][:7] > less.columns["performance"][:7])


@pytest.mark.parametrize("model", MODELS)
def test_the_explanation_adds_up(model):
    found = eq.explain(model(tie_loss=0.3, tie_win=0.8), contests(), "c")
    assert sum(one.change for one in found.contributions) == pytest.approx(found.change, abs=1e-9)
    assert all(np.isfinite(one.effect) for one in found.opponents)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"tie_loss": 0.5}, "together"),
        ({"tie_loss": 0.5, "tie_win": 0.0}, "tie_win must be above 0 and at most 1"),
        ({"tie_loss": 1.5, "tie_win": 0.5}, "tie_loss must be above 0 and at most 1"),
        ({"tie_loss": 0.5, "tie_win": 0.5, "split_ties": True}, "cannot be combined"),
    ],
)
def test_weights_that_cannot_be_are_refused(parameters, said):
    with pytest.raises(eq.InvalidParameterError, match=said):
        eq.EloMMR(**parameters)


def test_a_state_without_weights_is_what_it_was():
    """A later parameter at its default is not written."""
    pool = eq.replay(eq.EloMMR(), contests()).state
    assert b"tie_loss" not in pool.to_bytes()
    weighted = eq.replay(eq.EloMMR(tie_loss=0.5, tie_win=0.25), contests()).state
    assert eq.PoolState.from_bytes(weighted.to_bytes(), "pool").system == weighted.system
