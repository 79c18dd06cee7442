"""The properties that section 4.1 of the Elo-MMR paper asks of diffusion (Theorem 4.1)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.elo_mmr.fields import Belief

from drawing import examples
from equipoise.rating.elo_mmr.elo_mmr import EloMMR, EloMMRParameters, EloMMX
from rating.histories import RHOS, every_model, spellings

Model = type[EloMMRParameters]

#: Relative: products and sums of a few positive numbers.
ROUNDING = 1e-12

pasts = st.lists(st.floats(1000, 2000), min_size=1, max_size=8)
sizes = st.floats(1, 10_000)


class Player(NamedTuple):
    """A system, and the performances of somebody in it.

    Strategies draw these and tests compute the belief, because hypothesis refuses a draw during
    which the global random state changes, and a kernel that compiles may take seconds.
    """

    system: EloMMRParameters
    past: list[float]

    def belief(self) -> Belief:
        return Belief(self.system).play(self.past)


@st.composite
def players(draw: st.DrawFn, model: Model = EloMMR, *, finite: bool = False) -> Player:
    """Draw a player with a past."""
    rho = draw(st.sampled_from([rho for rho in RHOS if math.isfinite(rho) or not finite]))
    return Player(model(rho=rho, **draw(spellings())), draw(pasts))


def weights(belief: Belief) -> list[float]:
    """Return w_0 and all w_k."""
    return [belief.gaussian[1], *belief.terms()[1].tolist()]


@every_model
@examples(100)
@given(st.data(), sizes)
def test_diffusion_preserves_the_rating(model: Model, data: st.DataObject, gamma2: float) -> None:
    """Rating preservation: the rating stays, and stays the mode of the belief."""
    belief = data.draw(players(model), label="player").belief()
    before = belief.rating
    belief.diffuse(gamma2)
    assert belief.rating == before
    # dL/ds changes sign within the documented tolerance of a rating (READINGS B6).
    assert belief.slope(before - 1e-9) < 0 < belief.slope(before + 1e-9)


@every_model
@examples(100)
@given(st.data(), sizes)
def test_diffusion_adds_its_size_to_the_variance(
    model: Model, data: st.DataObject, gamma2: float
) -> None:
    """Correct magnitude, as equation (9) measures it: by the weights of all terms."""
    belief = data.draw(players(model), label="player").belief()
    before = 1 / math.fsum(weights(belief))
    belief.diffuse(gamma2)
    assert belief.variance == pytest.approx(before + gamma2, rel=ROUNDING)
    assert 1 / math.fsum(weights(belief)) == pytest.approx(before + gamma2, rel=ROUNDING)


@every_model
@examples(100)
@given(st.data(), sizes, sizes)
def test_two_diffusions_are_one_of_their_summed_size(
    model: Model, data: st.DataObject, first: float, second: float
) -> None:
    """Composability: the same Gaussian and the same logistic terms, one by one."""
    belief = data.draw(players(model), label="player").belief()
    at_once = belief.copy()
    at_once.diffuse(first + second)
    belief.diffuse(first)
    belief.diffuse(second)
    assert belief.gaussian == pytest.approx(at_once.gaussian, rel=ROUNDING)
    assert weights(belief) == pytest.approx(weights(at_once), rel=ROUNDING)
    np.testing.assert_array_equal(belief.terms()[0], at_once.terms()[0])


@every_model
@examples(100)
@given(st.data())
def test_no_diffusion_changes_nothing(model: Model, data: st.DataObject) -> None:
    """Zero diffusion, for rho < inf and for one Gaussian: the posterior stays, term by term."""
    belief = data.draw(players(model, finite=model is EloMMR), label="player").belief()
    before, gaussian = weights(belief), belief.gaussian
    # Weights change by (1 + rho) gamma^2/sigma^2 of themselves, here at most 1e-14.
    belief.diffuse(1e-14 * belief.variance / 2)
    assert weights(belief) == pytest.approx(before, rel=ROUNDING)
    assert belief.gaussian == pytest.approx(gaussian, rel=ROUNDING)


@examples(50)
@given(spellings(), pasts)
def test_without_memory_even_no_diffusion_forgets_the_posterior(
    chosen: dict[str, float], past: list[float]
) -> None:
    """Zero diffusion fails for rho = inf, as the proof of Theorem 4.1 says."""
    belief = Belief(EloMMR(rho=math.inf, **chosen)).play(past)
    assert belief.terms()[1].sum() > 0
    belief.diffuse(1e-14 * belief.variance)
    assert belief.terms()[1].sum() == 0
    assert belief.gaussian[0] == pytest.approx(belief.rating, rel=ROUNDING)


def certain(rho: float, past: list[float], model: Model = EloMMR) -> Belief:
    """Return a player whose deviation is about 1e-100 after these performances, in units of it.

    Around 0, because 1500 + 1e-100 is 1500 in floats.
    """
    limit = 1e-100
    system = model(weight_limit=0.2, sigma_limit=limit, rho=rho, initial_rating=0.0)
    return Belief(system, rating=0.0, deviation=3 * limit).play([p * limit for p in past])


units = st.lists(st.floats(-3, 3), min_size=1, max_size=8)


@every_model
@examples(50)
@given(units, st.sampled_from([0.04, 1.0, math.inf]), sizes)
def test_after_certainty_the_belief_is_the_diffusion_alone(
    model: Model, past: list[float], rho: float, gamma2: float
) -> None:
    """Zero uncertainty, for rho > 0: a Gaussian of moments (mu, gamma^2) without a past.

    A deviation of 1e-100 points is zero enough even for rho = 0.04: kappa^rho < 1e-7.
    """
    belief = certain(rho, past, model)
    before = belief.rating
    belief.diffuse(gamma2)
    p_0, w_0 = belief.gaussian
    assert p_0 == pytest.approx(before, abs=1e-6 * 1e-100)
    assert 1 / w_0 == pytest.approx(gamma2, rel=1e-6)
    assert belief.terms()[1].sum() <= 1e-6 * w_0


@examples(50)
@given(units, sizes)
def test_with_all_memory_the_past_outlives_certainty(past: list[float], gamma2: float) -> None:
    """Zero uncertainty fails for rho = 0, as the proof of Theorem 4.1 says."""
    belief = certain(0.0, past)
    before = weights(belief)
    belief.diffuse(gamma2)
    after = weights(belief)
    shares = [weight / math.fsum(before) for weight in before]
    assert math.fsum(after[1:]) > 0.1 * math.fsum(after)
    assert [weight / math.fsum(after) for weight in after] == pytest.approx(shares, rel=ROUNDING)


@examples(50)
@given(players(), sizes)
def test_decay_and_transfer_are_those_of_algorithm_2(player: Player, gamma2: float) -> None:
    """Logistic weights fall by kappa^(1 + rho); what transfer takes is Gaussian, at the rating."""
    belief = player.belief()
    rho = belief.system.rho
    before, (p_0, w_0) = weights(belief), belief.gaussian
    kappa = 1 / (1 + gamma2 / belief.variance)
    kept = 0.0 if math.isinf(rho) else kappa**rho
    belief.diffuse(gamma2)
    # rho = inf drops the terms that have no weight left.
    expected = [kappa * kept * weight for weight in before[1:]] if kept else []
    assert belief.terms()[1].tolist() == pytest.approx(expected, rel=ROUNDING)
    transferred = (1 - kept) * math.fsum(before)
    mean = (kept * w_0 * p_0 + transferred * belief.rating) / (kept * w_0 + transferred)
    assert belief.gaussian[0] == pytest.approx(mean, rel=ROUNDING)
    # 1 - kept loses digits where kappa is near 1; gamma^2 is at least 1e-5 of the variance.
    assert belief.gaussian[1] == pytest.approx(kappa * (kept * w_0 + transferred), rel=1e-10)


@examples(100)
@given(spellings(), pasts, st.floats(30, 350))
def test_a_gaussian_belief_is_the_precision_weighted_mean_of_its_past(
    chosen: dict[str, float], past: list[float], deviation: float
) -> None:
    """[EM]_ section 4, normal factors: means and variances add up by induction.

    Written out from the end: a performance counts with 1/beta^2, and every diffusion multiplies all
    precisions before it by kappa = 1/(1 + gamma^2 P), P being their sum.
    """
    belief = Belief(EloMMX(**chosen), rating=1400.0, deviation=deviation)
    weights = [1 / deviation**2]
    for _ in past:
        kappa = 1 / (1 + belief.gamma2 * math.fsum(weights))
        weights = [kappa * weight for weight in weights] + [1 / belief.beta2]
    belief.play(past)
    mean = math.fsum(w * p for w, p in zip(weights, [1400.0, *past], strict=True))
    assert belief.rating == pytest.approx(mean / math.fsum(weights), rel=ROUNDING)
    assert belief.variance == pytest.approx(1 / math.fsum(weights), rel=ROUNDING)
    assert belief.gaussian == (belief.rating, pytest.approx(1 / belief.variance, rel=ROUNDING))
