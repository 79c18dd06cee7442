"""Rounds with a beta or a gamma of their own: the columns `beta` and `gamma` of a history."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from drawing import examples
from equipoise.data.history import LEAST_BETA, MOST_BETA, MOST_GAMMA
from equipoise.errors import InvalidDataError, InvalidParameterError
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMX
from rating.histories import (
    Contest,
    contests,
    every_model,
    history_of,
    newcomers,
    rate,
    run,
)
from rating.test_elo_mmr_reference import SLOW, Model, rate_slowly
from test_every_system import assert_parts_sum_to_the_change

BAR = math.sqrt(3.0) / math.pi

#: A season of three players, as a table.
SEASON = {
    "match": [1, 1, 1, 2, 2, 2, 3, 3],
    "player": ["ann", "ben", "cid", "ann", "ben", "cid", "ann", "cid"],
    "rank": [1, 2, 3, 2, 1, 3, 1, 2],
}
BETAS = [150.0, 150.0, 150.0, None, None, None, 400.0, 400.0]
GAMMAS = [None, None, None, 0.0, 0.0, 0.0, 90.0, 90.0]


def season(**columns: Any) -> eq.History:
    """Return the season with further columns."""
    return eq.read_history({**SEASON, **columns})


def test_two_rounds_of_elo_mmx_by_hand() -> None:
    """Ties of two, for which every equation has a closed form; numbers chosen for whole roots.

    Round 1, gamma 0 and beta 300: no diffusion, delta^2 = sigma^2 + beta^2 = 500^2 and 325^2, and
    the zero of the sum of (x - mu)/delta^2 is the mean of the ratings with weights 1/delta^2. The
    belief is the mean of rating and performance with weights 1/sigma^2 and 1/beta^2: of a
    0.36 and 0.64, with sigma = 400 300/500 = 240.
    Round 2, gamma 70 and beta 600: sigma of a is 250 = sqrt(240^2 + 70^2), and delta 650.
    """
    system = EloMMX(beta=77.0, gamma=11.0)
    state = newcomers(system, [1600.0, 1200.0], [400.0, 125.0])
    trace = rate(system, state, history_of([Contest((0, 1), (0, 0), beta=300.0, gamma=0.0)]))
    p = (1600 / 250_000 + 1200 / 105_625) / (1 / 250_000 + 1 / 105_625)
    np.testing.assert_allclose(trace["performance"], p, rtol=1e-14)
    a, b = 0.36 * 1600 + 0.64 * p, (90_000 * 1200 + 15_625 * p) / 105_625
    np.testing.assert_allclose(trace["rating"], [a, b], rtol=1e-14)
    np.testing.assert_allclose(trace["deviation"], [240.0, 125 * 300 / 325], rtol=1e-14)

    trace = rate(system, state, history_of([Contest((0, 1), (0, 0), beta=600.0, gamma=70.0)]))
    of_b = (125 * 300 / 325) ** 2 + 70**2
    p = (a / 650**2 + b / (of_b + 600**2)) / (1 / 650**2 + 1 / (of_b + 600**2))
    np.testing.assert_allclose(trace["performance"], p, rtol=1e-14)
    np.testing.assert_allclose(trace["rating"][0], (600**2 * a + 250**2 * p) / 650**2, rtol=1e-14)
    np.testing.assert_allclose(trace["deviation"][0], 250 * 600 / 650, rtol=1e-14)


@every_model
@examples(60)
@given(st.data())
def test_the_reference_gets_the_same_for_rounds_of_very_different_noise(
    model: Model, data: st.DataObject
) -> None:
    """The scale of the newest performance is not that of the others: `_search_scale`."""
    beta = st.sampled_from([None, 5.0, 60.0, 3e3])
    gamma = st.sampled_from([None, 0.0, 1e-3, 300.0])
    played = [
        one._replace(beta=data.draw(beta), gamma=data.draw(gamma))
        for one in data.draw(contests(max_players=5, max_contests=5))
    ]
    rho = data.draw(st.sampled_from([0.0, 1.0, 8.0, math.inf]))
    state, _ = run(model(rho=rho), played)
    slow = SLOW[model](rho=rho)
    rate_slowly(slow, played)
    for row in range(state.players):
        player = slow.player(row)
        rating, deviation = state.column("rating")[row], state.column("deviation")[row]
        assert rating == pytest.approx(player.rating, rel=1e-9, abs=1e-6)
        assert deviation == pytest.approx(player.deviation, rel=1e-9)


# A step to infinity leads to bisection (`newton_step`); compiled kernels do not warn of it.
@pytest.mark.filterwarnings("ignore:overflow encountered in scalar divide:RuntimeWarning")
@every_model
@examples(60)
@given(st.data())
def test_whatever_is_accepted_can_be_rated(model: Model, data: st.DataObject) -> None:
    """And so can the matches after it.

    The reference is no help: rounding decides a tie of players a million scales apart.
    """
    beta = st.sampled_from([None, LEAST_BETA, 1.0, MOST_BETA])
    gamma = st.sampled_from([None, 0.0, 1e3, MOST_GAMMA])
    played = [
        one._replace(beta=data.draw(beta), gamma=data.draw(gamma))
        for one in data.draw(contests(max_players=5, max_contests=8, capped=True))
    ]
    rho = data.draw(st.sampled_from([0.0, 1.0, 30.0, math.inf]))
    history = history_of(played)
    state, _ = run(model(rho=rho), played)
    assert np.isfinite(state.column("rating")).all()
    assert (state.column("deviation") > 0).all()
    rate(model(rho=rho), state, _bare(history))
    assert np.isfinite(state.column("rating")).all()


@every_model
def test_a_rating_far_from_all_performances_is_found(model: Model) -> None:
    """Both pulls are larger than what is left of the start by more than the digits of a number."""
    played = [
        Contest((0, 1), (0, 1), beta=LEAST_BETA, gamma=1000.0),
        Contest((0, 1), (0, 0), ceiling=1500.0, beta=LEAST_BETA, gamma=0.0),
    ]
    state, trace = run(model(rho=0.0) if model is eq.EloMMR else model(), played)
    before, after = trace["rating"][:2], state.column("rating")
    assert before.max() - before.min() > 100.0
    assert before.min() <= after.min() <= after.max() <= before.max()


def _bare(history: eq.History) -> eq.History:
    return dataclasses.replace(history, beta=None, gamma=None)


@every_model
def test_one_match_at_a_time_is_the_replay(model: Model) -> None:
    """`rate` and `Pool.rate` take both as arguments, and give the bits of the columns."""
    history = season(beta=BETAS, gamma=GAMMAS)
    wanted = eq.replay(model(), history).ratings
    system, pool = model(), eq.Pool(model())
    ratings = {name: system.rating() for name in ("ann", "ben", "cid")}
    for names, own in (
        (("ann", "ben", "cid"), {"beta": 150.0}),
        (("ben", "ann", "cid"), {"gamma": 0.0}),
        (("ann", "cid"), {"beta": 400.0, "gamma": 90.0}),
    ):
        ratings |= system.rate({name: ratings[name] for name in names}, **own)
        pool.rate(list(names), **own)
    for name, rating in zip(wanted.player_ids, wanted.rating, strict=True):
        assert ratings[name].rating == rating
        assert pool[name].rating == rating
    assert pool.state.digests.tolist() == eq.replay(model(), history).state.digests.tolist()


@every_model
def test_a_prediction_of_a_match_takes_them(model: Model) -> None:
    """Of ratings and of names; and what is expected after each place is what a match gives."""
    system = model(beta=200.0, gamma=35.0)
    high, low = system.rating(1700, 60), system.rating(1500, 80)
    found = system.predict([high, low], beta=600.0, gamma=0.0)
    variance = 60.0**2 + 80.0**2 + 2 * 600.0**2
    z = 200.0 / math.sqrt(variance) / (1.0 if system.gaussian else BAR)
    normal = 0.5 * math.erfc(-z / math.sqrt(2))
    wanted = normal if system.gaussian else 1 / (1 + math.exp(-z))
    assert found.expected[0] == pytest.approx(wanted, rel=1e-12)
    assert found.expected[0] < system.predict([high, low]).expected[0]

    pool = eq.replay(system, season()).state
    teams = [["ann"], ["cid"]]
    noisy = eq.predict(system, pool, teams, beta=600.0)
    assert noisy.expected[0] < eq.predict(system, pool, teams).expected[0]
    after = eq.what_if(system, pool, teams, "ann", beta=600.0)
    played = eq.Pool(system)
    for names in (["ann", "ben", "cid"], ["ben", "ann", "cid"], ["ann", "cid"]):
        played.rate(names)
    assert after.rating[0] == played.rate(["ann", "cid"], beta=600.0)["ann"].rating


@every_model
def test_an_explanation_has_the_deviation_of_the_round(model: Model) -> None:
    history = season(beta=BETAS, gamma=GAMMAS)
    found = eq.explain(model(), history, "ann")
    quantities = {one.name: one.value for one in found.quantities}
    assert quantities["deviation of a performance"] == pytest.approx(400.0)
    assert_parts_sum_to_the_change(found)
    before = eq.replay(model(), history.slice(0, 2)).ratings
    deviation = dict(zip(before.player_ids, before.deviation, strict=True))["ann"]
    assert quantities["deviation after diffusion"] == pytest.approx(math.hypot(deviation, 90.0))


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        ("beta", 0.0, "must be from 0.01 to 1e6"),
        ("beta", -200.0, "must be from 0.01 to 1e6"),
        ("beta", 2e6, "must be from 0.01 to 1e6"),
        ("gamma", -1.0, "must be from 0 to 1e6"),
        ("gamma", 2e6, "must be from 0 to 1e6"),
        ("gamma", "much", "must be a number"),
    ],
)
def test_values_out_of_range_are_refused(column: str, value: Any, rule: str) -> None:
    """By the reader, by a replay of a history made by hand, and by `rate`."""
    with pytest.raises(InvalidDataError, match=rule):
        season(**{column: [value] * 8})
    if isinstance(value, str):
        return
    made = dataclasses.replace(season(), **{column: np.full(3, value)})
    with pytest.raises(InvalidDataError, match=rule):
        eq.replay(EloMMR(), made)
    system = EloMMX()
    with pytest.raises(InvalidParameterError, match=f"{column} must be a number from"):
        system.rate([system.rating(), system.rating()], **{column: value})


@pytest.mark.parametrize("system", [eq.Glicko2(), eq.TrueSkill(), eq.Codeforces(beta=300.0)])
def test_other_systems_refuse_them(system: Any) -> None:
    """Whatever their own beta is: it means something else."""
    duels = season(beta=BETAS).slice(2, 3)
    with pytest.raises(InvalidDataError, match="cannot rate a beta for each match") as refused:
        eq.replay(system, duels)
    assert "systems that can: elo-mmr, elo-mmx" in str(refused.value)
    with pytest.raises(InvalidParameterError, match="gamma must be left out, because"):
        system.rate([system.rating(), system.rating()], gamma=3.0)
    with pytest.raises(InvalidParameterError, match="beta must be left out, because"):
        eq.Pool(system).rate(["ann", "ben"], beta=300.0)
    with pytest.raises(InvalidParameterError, match="beta must be left out, because"):
        system.predict([system.rating(), system.rating()], beta=300.0)
    assert eq.replay(system, _bare(duels)).rated_matches == 1
