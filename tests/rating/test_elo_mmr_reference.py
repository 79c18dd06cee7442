"""The fast Elo-MMR and Elo-MMR-chi against the slow ones, on histories that use every option."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from drawing import examples
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.state import COUNT, State
from rating.histories import (
    Contest,
    Trace,
    assert_same_bits,
    bits,
    contests,
    every_model,
    full_histories,
    parameters,
    run,
)
from reference.elo_mmr import Round, SlowEloMMR, SlowEloMMX

# Rating points. Both solve the same equations; these bound what rounding does to ill-conditioned
# ones (rho = 0 with far-apart performances), not an approximation.
TOLERANCE = 1e-7

Model = type[EloMMRParameters]

SLOW: dict[Model, type[SlowEloMMR]] = {EloMMR: SlowEloMMR, EloMMX: SlowEloMMX}


def rate_slowly(slow: SlowEloMMR, played: Sequence[Contest]) -> list[Round | None]:
    """Rate contests by the reference."""
    return [
        slow.rate(
            contest.players,
            contest.ranks,
            time=contest.time,
            weight=contest.weight,
            ceiling=contest.ceiling,
            beta=contest.beta,
            gamma=contest.gamma,
        )
        for contest in played
    ]


def assert_same_trace(trace: Trace, rounds: Sequence[Round | None], sizes: Sequence[int]) -> None:
    """Compare everything that contests did; NaN where a contest changes nothing."""
    for name, fast in trace.items():
        slow = [
            getattr(a_round, name) if a_round else [math.nan] * size
            for a_round, size in zip(rounds, sizes, strict=True)
        ]
        np.testing.assert_allclose(fast, np.concatenate(slow), rtol=0, atol=TOLERANCE, err_msg=name)


def assert_same_players(state: State, slow: SlowEloMMR) -> None:
    """Compare what is known of every player at the end."""
    for row in range(state.players):
        player = slow.player(row)
        assert abs(state.column("rating")[row] - player.rating) <= TOLERANCE
        assert abs(state.column("deviation")[row] - player.deviation) <= TOLERANCE
        assert state.column("matches")[row] == player.matches


@every_model
@examples(250)
@given(
    contests(timed=True, weighted=True, capped=True, rounds=True, max_contests=8),
    parameters(),
)
def test_every_rating_equals_that_of_the_slow_reference(
    model: Model, played: list[Contest], chosen: dict[str, float]
) -> None:
    """Algorithms 1-3 with ties, weights, own deviations, drift, ceilings, short memory (B1-B8)."""
    note(f"{chosen}")
    slow = SLOW[model](**chosen)
    rounds = rate_slowly(slow, played)
    state, trace = run(model(**chosen), played)
    assert_same_trace(trace, rounds, [len(contest.players) for contest in played])
    assert_same_players(state, slow)


@examples(60)
@given(full_histories, parameters(remembered=False), st.sampled_from([0.0, 0.3, math.inf]))
def test_what_a_gaussian_belief_cannot_use_changes_no_bit_of_it(
    played: list[Contest], chosen: dict[str, float], rho: float
) -> None:
    """One Gaussian is all there is [EM]_ section 4: whatever is transferred or remembered."""
    state, trace = run(EloMMX(**chosen), played)
    for other in ({"rho": rho}, {"remembered": 1}, {"rho": rho, "remembered": 3}):
        other_state, other_trace = run(EloMMX(**{**chosen, **other}), played)
        assert_same_bits(other_state, state)
        for name, column in trace.items():
            np.testing.assert_array_equal(other_trace[name], column, err_msg=name)
    assert not any(len(column) for column in bits(state)[2:]), "it remembers performances"


@pytest.mark.parametrize(
    ("weight_limit", "rounds"), [(0.2, 300), pytest.param(1.5, 200, marks=pytest.mark.slow)]
)
def test_folding_old_terms_does_not_show(weight_limit: float, rounds: int) -> None:
    """In long histories most terms are folded into the Gaussian one (NUMERICS 2).

    What is folded weighs 1e-13 of the total, so a performance 1,000 points off moves the rating
    by 1e-10; terms folded earlier have decayed. The reference keeps every term. With the large
    weight the common decay of a player's terms passes 1e-140 and is written into them.
    """
    rng = np.random.default_rng(20)
    players = 4
    played = [
        Contest(tuple(range(players)), tuple(rng.integers(0, players, players).tolist()))
        for _ in range(rounds)
    ]
    options = {"weight_limit": weight_limit, "rho": 1.0, "rate_all_ties": True}
    fast, slow = EloMMR(**options), SlowEloMMR(**options)
    state, trace = run(fast, played)
    slow_rounds = rate_slowly(slow, played)
    assert state.runs.spans[:, COUNT].max() < rounds / 2, "nothing was folded"
    assert len(slow.player(0).terms) == rounds
    for name in ("rating", "performance"):
        expected = np.concatenate([getattr(a_round, name) for a_round in slow_rounds if a_round])
        np.testing.assert_allclose(trace[name], expected, rtol=0, atol=1e-9, err_msg=name)
