"""The properties that section 4.1 of the Elo-MMR paper asks of diffusion (Theorem 4.1)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.rating.elo_mmr import EloMMR
from rating.histories import RHOS, Belief, examples, spellings

#: Relative: products and sums of a few positive numbers.
ROUNDING = 1e-12

pasts = st.lists(st.floats(1000, 2000), min_size=1, max_size=8)
sizes = st.floats(1, 10_000)


@st.composite
def beliefs(draw: st.DrawFn, *, finite: bool = False) -> Belief:
    """Draw a player with a past."""
    rho = draw(st.sampled_from([rho for rho in RHOS if math.isfinite(rho) or not finite]))
    return Belief(EloMMR(rho=rho, **draw(spellings()))).play(draw(pasts))


def weights(belief: Belief) -> list[float]:
    """Return w_0 and all w_k."""
    return [belief.gaussian[1], *belief.terms()[1].tolist()]


@examples(100)
@given(beliefs(), sizes)
def test_diffusion_preserves_the_rating(belief: Belief, gamma2: float) -> None:
    """Rating preservation: the rating stays, and stays the mode of the belief."""
    before = belief.rating
    belief.diffuse(gamma2)
    assert belief.rating == before
    # dL/ds changes sign within the documented tolerance of a rating (READINGS B6).
    assert belief.gradient(before - 1e-9) < 0 < belief.gradient(before + 1e-9)


@examples(100)
@given(beliefs(), sizes)
def test_diffusion_adds_its_size_to_the_variance(belief: Belief, gamma2: float) -> None:
    """Correct magnitude, as equation (9) measures it: by the weights of all terms."""
    before = 1 / math.fsum(weights(belief))
    belief.diffuse(gamma2)
    assert belief.variance == pytest.approx(before + gamma2, rel=ROUNDING)
    assert 1 / math.fsum(weights(belief)) == pytest.approx(before + gamma2, rel=ROUNDING)


@examples(100)
@given(beliefs(), sizes, sizes)
def test_two_diffusions_are_one_of_their_summed_size(
    belief: Belief, first: float, second: float
) -> None:
    """Composability: the same Gaussian and the same logistic terms, one by one."""
    at_once = belief.copy()
    at_once.diffuse(first + second)
    belief.diffuse(first)
    belief.diffuse(second)
    assert belief.gaussian == pytest.approx(at_once.gaussian, rel=ROUNDING)
    assert weights(belief) == pytest.approx(weights(at_once), rel=ROUNDING)
    np.testing.assert_array_equal(belief.terms()[0], at_once.terms()[0])


@examples(100)
@given(beliefs(finite=True))
def test_no_diffusion_changes_nothing(belief: Belief) -> None:
    """Zero diffusion, for rho < inf: the posterior stays, term by term."""
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


def certain(rho: float, past: list[float]) -> Belief:
    """Return a player whose deviation is about 1e-100 after these performances, in units of it.

    Around 0, because 1500 + 1e-100 is 1500 in floats.
    """
    limit = 1e-100
    system = EloMMR(weight_limit=0.2, sigma_limit=limit, rho=rho, initial_rating=0.0)
    return Belief(system, rating=0.0, deviation=3 * limit).play([p * limit for p in past])


units = st.lists(st.floats(-3, 3), min_size=1, max_size=8)


@examples(50)
@given(units, st.sampled_from([0.04, 1.0, math.inf]), sizes)
def test_after_certainty_the_belief_is_the_diffusion_alone(
    past: list[float], rho: float, gamma2: float
) -> None:
    """Zero uncertainty, for rho > 0: a Gaussian of moments (mu, gamma^2) without a past.

    A deviation of 1e-100 points is zero enough even for rho = 0.04: kappa^rho < 1e-7.
    """
    belief = certain(rho, past)
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
@given(beliefs(), sizes)
def test_decay_and_transfer_are_those_of_algorithm_2(belief: Belief, gamma2: float) -> None:
    """Logistic weights fall by kappa^(1 + rho); what transfer takes is Gaussian, at the rating."""
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
