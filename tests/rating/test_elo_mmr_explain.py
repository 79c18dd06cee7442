"""Explanations of both models: what a result moved, what is remembered, how far one can move."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from equipoise.arrays import Ints
from equipoise.data.explanation import Explanation
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from equipoise.rating.explaining import explain_change
from equipoise.rating.single_match import NAMED_OPPONENTS
from rating.histories import (
    RHOS,
    Contest,
    Entrants,
    contests,
    entrants,
    every_model,
    history_of,
    newcomers,
    one_contest,
    parameters,
    rate,
    systems,
)
from reference.elo_mmr import SlowEloMMR, SlowEloMMX

Model = type[EloMMRParameters]

SLOW: dict[Model, type[SlowEloMMR]] = {EloMMR: SlowEloMMR, EloMMX: SlowEloMMX}


def explained(system: EloMMRParameters, field: Entrants, row: int) -> Explanation:
    """Explain the only contest of these players to one of them."""
    state = newcomers(system, field.ratings, field.deviations)
    return explain_change(system, state, one_contest(field.ranks), 0, row)


# --- what a result moved ---------------------------------------------------------------------


@pytest.mark.slow
@every_model
@examples(60)
@given(entrants(low=1200, high=1800), st.data())
def test_the_effect_of_a_result_is_its_term_over_the_slope_of_all(
    model: Model, field: Entrants, data: st.DataObject
) -> None:
    """Theorem 3.2 to first order: all terms and one's own sum to 0; the reference's terms."""
    # Fields wider than ten curves have gaps so flat that a difference does not find the slope.
    system = data.draw(systems(model, least_beta=60.0), label="system")
    row = data.draw(st.integers(0, len(field.ranks) - 1), label="row")
    found = explained(system, field, row)
    slow = SLOW[model](split_ties=system.split_ties)
    assert system.beta is not None
    assert system.gamma is not None
    scales = slow.scale * np.sqrt(
        np.array(field.deviations) ** 2 + system.gamma**2 + system.beta**2
    )
    (performance,) = (one.value for one in found.quantities if one.name == "performance")

    def terms(x: float) -> np.ndarray:
        order = np.sign(np.array(field.ranks) - field.ranks[row])
        return np.array(
            [
                math.fsum(slow.terms(x, field.ratings[j], scales[j], order[j]))
                for j in range(len(order))
            ]
        )

    step = 1e-3
    slope = (terms(performance - step) - terms(performance + step)).sum() / (2 * step)
    expected = terms(performance) / slope
    assert math.fsum(expected) == pytest.approx(0.0, abs=1e-6)
    assert len(found.opponents) == min(len(expected) - 1, NAMED_OPPONENTS)
    for opponent in found.opponents:
        assert opponent.player != row
        assert opponent.effect == pytest.approx(expected[opponent.player], rel=1e-5, abs=1e-6)
    effects = [opponent.effect for opponent in found.opponents]
    assert math.fsum(effects) == pytest.approx(-expected[row], rel=1e-5, abs=1e-6)
    assert np.all(np.diff(np.abs(effects)) <= 0)


@every_model
def test_the_opponents_of_an_explanation_are_those_of_the_match(model: Model) -> None:
    """Places from 1, scores and chances: against a weaker who won, an equal, and a stronger."""
    field = Entrants([1500.0, 1300.0, 1500.0, 1700.0], [100.0] * 4, [1, 0, 1, 2])
    found = explained(model(), field, 0)
    by_player = {one.player: one for one in found.opponents}
    assert {p: one.rank for p, one in by_player.items()} == {1: 1, 2: 2, 3: 4}
    assert {p: one.score for p, one in by_player.items()} == {1: 0.0, 2: 0.5, 3: 1.0}
    assert by_player[1].expected > by_player[2].expected == 0.5 > by_player[3].expected
    assert by_player[1].effect < 0 < by_player[3].effect
    assert found.expected == pytest.approx(np.mean([one.expected for one in found.opponents]))
    assert [one.rating for p, one in sorted(by_player.items())] == field.ratings[1:]


def test_the_opponents_with_the_largest_effects_are_named() -> None:
    """One weak winner among thirty."""
    field = Entrants([1500.0] * 29 + [900.0], [100.0] * 30, [1] * 29 + [0])
    named = explained(EloMMR(), field, 0).opponents
    assert (len(named), named[0].player) == (NAMED_OPPONENTS, 29)


# --- how far one can move --------------------------------------------------------------------


@examples(60)
@given(
    contests(smallest=2, max_players=6, timed=True, weighted=True),
    st.sampled_from(RHOS),
    st.booleans(),
)
def test_the_bounds_of_a_change_are_those_of_theorem_5_7(
    played: list[Contest], rho: float, drifting: bool
) -> None:
    """With w_0 and w_k of the slow reference, after the diffusion of the round (READINGS B13)."""
    options = {"rho": rho, "drift_per_day": 2.0 if drifting else 0.0, "rate_all_ties": True}
    system, slow = EloMMR(**options), SlowEloMMR(**options)
    *earlier, last = played
    for one in earlier:
        slow.rate(one.players, one.ranks, time=one.time, weight=one.weight)
    history = history_of(played)
    state = system.initial(history.players)
    rate(system, state, history, 0, len(earlier))
    weight, limit = slow.limits()
    weight *= last.weight
    beta = math.sqrt((1 + 1 / weight) * limit**2 + slow.drift_per_day / weight)
    for k, name in enumerate(last.players):
        player = slow.player(name)
        slow.diffuse(player, weight * limit**2 + slow.drift(player, last.time))
        push = math.pi / (beta * math.sqrt(3))
        logistic = math.fsum(term.weight for term in player.terms)
        least = push / (player.w_0 + math.pi**2 / 6 * logistic)
        most = push / player.w_0
        found = explain_change(system, state, history, len(earlier), int(history.offsets[-2]) + k)
        # Without logistic terms the two are one, and attained up to rounding.
        for bound in (found.largest_change, -found.least_change):
            assert least * (1 - 1e-9) <= bound <= most * (1 + 1e-9)
        assert found.least_change < found.rating - found.rating_before < found.largest_change


def test_a_gaussian_rating_has_no_bounds() -> None:
    """Theorem 5.7 has no counterpart there: NaN says so."""
    found = explained(EloMMX(), Entrants([1500.0, 1600.0], [100.0] * 2, [0, 1]), 0)
    assert math.isnan(found.least_change)
    assert math.isnan(found.largest_change)


@every_model
def test_a_ceiling_caps_what_counts_and_not_what_was_shown(model: Model) -> None:
    """READINGS B8: the winner performs above the ceiling; the rating moves towards the ceiling."""
    system = model()
    free, capped = (
        history_of([Contest((0, 1, 2), (0, 1, 2), ceiling=ceiling)]) for ceiling in (None, 1510.0)
    )
    state = system.initial(3)
    shown, held = (
        explain_change(system, state, free, 0, 0),
        explain_change(system, state, capped, 0, 0),
    )
    values = {one.name: one.value for one in held.quantities}
    assert values["performance"] == pytest.approx(shown.remembered[0].performance, abs=1e-9)
    assert values["performance"] > values["performance ceiling"] == 1510.0
    assert held.remembered[0].performance == 1510.0
    assert 0 < held.rating - 1500.0 < 10.0
    if model is EloMMR:
        # Nothing better than the ceiling can be thought of.
        assert held.largest_change == pytest.approx(held.rating - 1500.0, abs=1e-9)
        assert held.least_change == pytest.approx(shown.least_change, abs=1e-9)


# --- what is remembered ----------------------------------------------------------------------


def performances_of(trace: dict[str, np.ndarray], player: Ints, row: int) -> list[float]:
    """Return the rated performances of the player of a participation up to it, newest first."""
    rows = np.flatnonzero(player[: row + 1] == player[row])
    return [one for one in trace["performance"][rows][::-1].tolist() if not math.isnan(one)]


@every_model
@examples(60)
@given(contests(timed=True, weighted=True, capped=True, max_players=6), parameters())
def test_what_is_remembered_is_what_the_matches_named_have_shown(
    model: Model, played: list[Contest], chosen: dict[str, float]
) -> None:
    """Newest first, with the id and the time of the match that each performance comes from.

    Matches that changed nothing are passed over; the last entry is the prior and what has faded
    into it, without a match.
    """
    system, history = model(**chosen), history_of(played)
    trace = rate(system, system.initial(history.players), history)
    state = system.initial(history.players)
    for m, contest in enumerate(played):
        for row in range(history.offsets[m], history.offsets[m + 1]):
            if math.isnan(trace["rating"][row]):
                continue
            *newest, prior = explain_change(system, state, history, m, row).remembered
            shown = performances_of(trace, history.player, row)
            assert len(newest) <= len(shown)
            assert [one.performance for one in newest] == pytest.approx(
                shown[: len(newest)], abs=1e-9
            )
            assert newest[0].match == m
            assert prior.match is None
            assert math.isnan(prior.time)
            for one in newest:
                assert history.player[row] in played[one.match].players
                assert one.time == played[one.match].time
            forgets = system.gaussian or math.isinf(system.rho)
            if forgets or "remembered" in chosen:
                assert len(newest) <= (1 if forgets else chosen["remembered"])
            else:
                assert len(newest) == len(shown)
        rate(system, state, history, m, m + 1)
        assert contest.time is not None
