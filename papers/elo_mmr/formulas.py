"""Equations (1) to (10) and the unnumbered formulas of Elo-MMR, beside what the package has.

Source: [EM]_ sections 2 to 4; numbers in brackets are its equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Floats
from equipoise.rating.elo_mmr.elo_mmr import EloMMX
from equipoise.rating.replay import replay
from papers.elo_mmr.as_printed import BAR, Player, rate_round
from papers.elo_mmr.fields import (
    BETA,
    GAMMA,
    Belief,
    history_of,
    random_belief,
    random_field,
    random_ranks,
    rate_once,
    system,
)
from papers.items import Facts
from papers.lines import Line, agrees, beyond, holds, largest, never, stated

#: Rating points; both sides solve their equations to 1e-9 or better (READINGS B6).
_POINTS = 1e-7
_ROUNDING = 1e-9
_PLAYERS = 8
RHOS = (0.0, 0.04, 1.0, math.inf)


class Compared(NamedTuple):
    """Largest differences between the package and the printed algorithms, in points."""

    performance: float
    rating: float
    deviation: float
    cases: int


@cache
def algorithms(cases: int, seed: int, *, own: bool = False) -> Compared:
    """Rate random contests by Algorithms 1 to 3 as printed, and by the package.

    own : with another beta and gamma in each round
    """
    rng, drawn = np.random.default_rng(seed), np.random.default_rng(seed + 29)
    worst, count = [0.0] * 3, 0
    for rho in RHOS:
        contests, done = [], 0
        while done < max(cases // len(RHOS), 8):
            n = int(rng.integers(2, _PLAYERS + 1))
            contests.append((rng.permutation(_PLAYERS)[:n], random_ranks(rng, n)))
            done += n
        of = system(rho=rho, initial_deviation=300.0)
        history = history_of(contests, _PLAYERS)
        beta, gamma = np.full(len(contests), BETA), np.full(len(contests), GAMMA)
        if own:
            beta, gamma = drawn.uniform(50, 500, len(beta)), drawn.uniform(0, 120, len(beta))
            history = replace(history, beta=beta, gamma=gamma)
        found = replay(of, history, trace=True)
        assert found.trace is not None
        trace = found.trace.columns
        printed = [Player(1500.0, 300.0) for _ in range(_PLAYERS)]
        row = 0
        for number, (member, ranks) in enumerate(contests):
            field = [printed[i] for i in member]
            p = rate_round(field, ranks.tolist(), float(beta[number]), float(gamma[number]), rho)
            for k, one in enumerate(field):
                worst[0] = largest(worst[0], abs(p[k] - trace["performance"][row]))
                worst[1] = largest(worst[1], abs(one.mu - trace["rating"][row]))
                worst[2] = largest(worst[2], abs(one.sigma - trace["deviation"][row]))
                row += 1
        count += row
    performance, rating, deviation = worst
    return Compared(performance, rating, deviation, count)


def diffusion_as_printed(facts: Facts) -> list[Line]:
    """Return lines on Algorithm 2: every weight and the Gaussian mean, after one diffusion."""
    rng, mean, weights = np.random.default_rng(facts.seed + 12), 0.0, 0.0
    cases = max(facts.cases // 4, 5)
    for number in range(cases):
        belief = random_belief(rng, system(rho=RHOS[number % len(RHOS)]))
        (centre, weight), (p, w, _) = belief.gaussian, belief.terms()
        printed = Player(belief.rating, math.sqrt(belief.variance))
        printed.p, printed.w = [centre, *p.tolist()], [weight, *w.tolist()]
        gamma = float(rng.uniform(1, 100))
        printed.diffuse(gamma, RHOS[number % len(RHOS)])
        belief.diffuse(gamma**2)
        (centre, weight), (p, w, _) = belief.gaussian, belief.terms()
        # Terms without weight may be gone.
        kept = np.array(printed.w[1:])[len(printed.w) - 1 - len(w) :]
        lost = math.fsum(printed.w[1 : len(printed.w) - len(w)])
        mean = largest(mean, abs(centre - printed.p[0]))
        apart = [lost, abs(weight - printed.w[0]), *np.abs(kept - w).tolist()]
        weights = largest(weights, largest(*apart) * belief.variance)
    return [
        agrees("p_0, points", mean, _POINTS, cases, of="player"),
        agrees("every weight, of the total", weights, _ROUNDING, cases, of="player"),
    ]


def rounds(facts: Facts) -> list[Line]:
    """Return lines on the algorithms with a beta and a gamma for each round."""
    found = algorithms(facts.cases, facts.seed, own=True)
    return [
        agrees(
            f"another beta and gamma each round: {name}, points",
            getattr(found, name),
            _POINTS,
            found.cases,
            of="participation",
        )
        for name in ("performance", "rating", "deviation")
    ]


def algorithm(facts: Facts, names: tuple[str, ...]) -> list[Line]:
    """Return lines on the algorithms, rho 0, 0.04, 1 and infinity together."""
    found = algorithms(facts.cases, facts.seed)
    return [
        agrees(f"{name}, points", getattr(found, name), _POINTS, found.cases, of="participation")
        for name in names
    ]


def _beliefs(facts: Facts, count: int) -> list[Belief]:
    """Return random players under all rho, and under the Gaussian model."""
    rng, found = np.random.default_rng(facts.seed + 7), []
    systems = [*(system(rho=rho) for rho in RHOS), system(EloMMX)]
    for number in range(count):
        found.append(random_belief(rng, systems[number % len(systems)]))
    return found


def mode(facts: Facts) -> list[Line]:
    """Return a count of ratings that are not the maximum of the posterior [5], [7], [8]."""
    wrong, found = 0, _beliefs(facts, max(facts.cases // 4, 5))
    for belief in found:
        at = belief.rating
        wrong += not belief.slope(at - 1e-6) < 0 < belief.slope(at + 1e-6)
        grid = at + np.linspace(-1500, 1500, 601)
        best = belief.log_density(np.array([at]))[0]
        wrong += not belief.log_density(grid).max() <= best + 1e-9
    return [never("a rating is not the maximum of the posterior", wrong, len(found), of="player")]


def derivative(facts: Facts) -> list[Line]:
    """Return a line on (8): the slope of -ln of (7), by differences."""
    worst, found = 0.0, _beliefs(facts, max(facts.cases // 4, 5))
    for belief in found:
        for s in belief.rating + np.array([-700.0, -50.0, 0.0, 120.0, 900.0]):
            h = 1e-2
            around = belief.log_density(np.array([s - h, s + h]))
            numeric = -(around[1] - around[0]) / (2 * h)
            worst = largest(worst, abs(numeric - belief.slope(s)))
    return [agrees("dL/ds, against differences of -ln (7)", worst, 1e-7, 5 * len(found))]


def uncertainty(facts: Facts) -> list[Line]:
    """Return lines on (9), and on the true moments of (7)."""
    worst, found = 0.0, _beliefs(facts, max(facts.cases // 4, 5))
    ratios, apart = [], []
    for belief in found:
        weights = belief.gaussian[1] + math.fsum(belief.terms()[1])
        worst = largest(worst, abs(1 / math.sqrt(weights) - math.sqrt(belief.variance)))
        if not belief.system.gaussian:
            mean, deviation = moments(belief)
            ratios.append(math.sqrt(belief.variance) / deviation)
            apart.append(abs(mean - belief.rating))
    return [
        agrees("sigma, points", worst, _POINTS, len(found), of="player"),
        beyond(
            "sigma of (9) over the deviation of (7)",
            f"{min(ratios):.2f} to {max(ratios):.2f}, mean {np.mean(ratios):.3f}",
            reason="(9) is exact for Gaussian factors; for logistic ones it is an estimate. The "
            "deviation of (7) is integrated numerically.",
        ),
        beyond(
            "mean of (7), apart from its mode",
            f"{np.mean(apart):.1f} points on average, at most {max(apart):.0f}",
            reason="Section 2 allows any statistic; the mode is used, as in the paper.",
        ),
    ]


def moments(belief: Belief) -> tuple[float, float]:
    """Return mean and standard deviation of the posterior (7), by the trapezoidal rule."""
    reach = 12 * math.sqrt(belief.variance)
    s = belief.rating + np.linspace(-reach, reach, 4001)
    density = belief.log_density(s)
    mass = np.exp(density - density.max())
    mass /= mass.sum()
    mean = float((mass * s).sum())
    return mean, math.sqrt(float((mass * (s - mean) ** 2).sum()))


def convolution(facts: Facts) -> list[Line]:
    """Return lines on (6): the prior of a performance, in both models."""
    x = np.linspace(-4000.0, 4000.0, 4001)
    step = x[1] - x[0]
    worst, logistic = 0.0, 0.0
    for sigma in (40.0, 80.0, 160.0, 350.0):
        prior = np.exp(-0.5 * (x / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
        normal = np.exp(-0.5 * (x / BETA) ** 2) / (BETA * math.sqrt(2 * math.pi))
        delta = math.hypot(sigma, BETA)
        exact = np.convolve(prior, normal, "same") * step
        ours = np.exp(-0.5 * (x / delta) ** 2) / (delta * math.sqrt(2 * math.pi))
        worst = largest(worst, float(np.abs(exact - ours).max() * delta))
        bar = BAR * BETA
        peaked = 1 / (4 * bar * np.cosh(np.clip(x / (2 * bar), -300, 300)) ** 2)
        mixed = np.cumsum(np.convolve(prior, peaked, "same")) * step * step
        # Half of the last step, so that the sum is the integral up to x.
        mixed -= 0.5 * step * np.gradient(mixed, step)
        heuristic = 0.5 * (1 + np.tanh(x / (2 * BAR * delta)))
        logistic = largest(logistic, float(np.abs(mixed - heuristic).max()))
    return [
        agrees("Gaussian model: f_i, relative", worst, 1e-9, 4),
        beyond(
            "logistic model: largest error of F_i by the heuristic",
            f"{logistic:.3f}",
            reason="Section 3.1 replaces the convolution of a Gaussian and a logistic density by a "
            "logistic one of the same moments; the error is that of a probability.",
        ),
    ]


def diffused(facts: Facts) -> list[Line]:
    """Return lines on (10): the diffusion integral for a Gaussian belief."""
    rng, worst = np.random.default_rng(facts.seed + 11), 0.0
    cases = max(facts.cases // 4, 5)
    for _ in range(cases):
        belief = random_belief(rng, system(EloMMX))
        before, rating = belief.variance, belief.rating
        gamma2 = float(rng.uniform(1, 10_000))
        belief.diffuse(gamma2)
        worst = largest(
            worst, abs(belief.variance / (before + gamma2) - 1), abs(belief.rating - rating)
        )
    return [
        agrees("Gaussian model: mean and variance after diffusion", worst, _ROUNDING, cases),
        stated(
            "logistic model",
            "The integral is intractable there; Algorithm 2 takes its place, and theorem-4.1 "
            "checks its properties.",
        ),
    ]


# --- section 3.1 -----------------------------------------------------------------------------


class Curve(NamedTuple):
    """ln f, ln F and ln(1 - F) of a performance with mean 0 and deviation 1."""

    log_density: Callable[[float], float]
    log_below: Callable[[float], float]
    log_above: Callable[[float], float]


def _logistic_tail(x: float) -> float:
    """Return -ln(1 + e^x) for x below some hundred."""
    return -(x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x)))


LOGISTIC = Curve(
    lambda x: -math.log(4 * BAR) - 2 * math.log(math.cosh(x / (2 * BAR))),
    lambda x: _logistic_tail(-x / BAR),
    lambda x: _logistic_tail(x / BAR),
)
NORMAL = Curve(
    lambda x: -0.5 * x * x,
    lambda x: math.log(0.5 * math.erfc(-x / math.sqrt(2))),
    lambda x: math.log(0.5 * math.erfc(x / math.sqrt(2))),
)
CAUCHY = Curve(
    lambda x: -math.log1p(x * x),
    lambda x: math.log(0.5 + math.atan(x) / math.pi),
    lambda x: math.log(0.5 - math.atan(x) / math.pi),
)


def ldv(curve: Curve, x: float) -> tuple[float, float, float]:
    """Return l, d and v as derivatives of the logarithms, by central differences."""
    h = 1e-5

    def slope(of: Callable[[float], float]) -> float:
        return (of(x + h) - of(x - h)) / (2 * h)

    return slope(curve.log_above), slope(curve.log_density), slope(curve.log_below)


def logistic_functions(facts: Facts) -> list[Line]:
    """Return lines on F_i, f_i, their two relations, and d = l + v."""
    rng, worst, slip = np.random.default_rng(facts.seed), np.zeros(4), 0
    for _ in range(facts.cases):
        mu, delta = float(rng.normal(1500, 300)), float(rng.uniform(100, 400))
        x, bar = mu + float(rng.normal(0, 2)) * delta, BAR * delta
        y = (x - mu) / bar
        big = 0.5 * (1 + math.tanh(y / 2))
        as_fraction = 1 / (1 + math.exp(y))
        f = 1 / (4 * bar) / math.cosh(y / 2) ** 2
        slip += abs(big - as_fraction) > 1e-9
        worst[0] = largest(worst[0], abs(math.exp(y) / (bar * (1 + math.exp(y)) ** 2) - f) * bar)
        worst[1] = largest(worst[1], abs(f - big * (1 - big) / bar) * bar)
        lost, tied, won = (one / delta for one in ldv(LOGISTIC, (x - mu) / delta))
        worst[2] = largest(worst[2], abs(tied - (lost + won)) * delta)
        worst[3] = largest(worst[3], abs(tied - (1 - 2 * big) / bar) * delta)
    return [
        holds(
            "F as a fraction is F by tanh",
            "the same",
            "the same" if slip == 0 else f"different in {slip:,} of {facts.cases:,} cases",
            slip == 0,
            reason="A slip in the sign of the exponent: 1/(1 + e^(x - mu)) is 1 - F. The form with "
            "tanh is right, and used (reading B1).",
        ),
        agrees("f as a fraction is f by sech", float(worst[0]), _ROUNDING, facts.cases),
        agrees("F' = f = F (1 - F)/delta", float(worst[1]), _ROUNDING, facts.cases),
        agrees("f' = f (1 - 2F)/delta", float(worst[3]), 1e-7, facts.cases),
        agrees("d = l + v: a tie is a win and a loss", float(worst[2]), 1e-7, facts.cases),
    ]


def weighted_mean(facts: Facts) -> list[Line]:
    """Return lines on section 3.2: the rating is a weighted mean, and the range of its weights."""
    worst, found, outside = 0.0, _beliefs(facts, max(facts.cases // 4, 5)), 0
    most = 0.0
    for belief in found:
        if belief.system.gaussian:
            continue
        mean, weight = belief.gaussian
        p, w, _ = belief.terms()
        # As printed, times the multiplicity of section 4.1.
        z = (belief.rating - p) * math.pi / math.sqrt(12 * belief.beta2)
        share = np.where(z == 0, 1.0, np.tanh(z) / np.where(z == 0, 1.0, z)) * math.pi**2 / 6
        total = weight * mean + math.fsum(w * share * p)
        worst = largest(worst, abs(total / (weight + math.fsum(w * share)) - belief.rating))
        outside += int(((share > math.pi**2 / 6 * (1 + 1e-12)) | (share <= 0)).sum())
        most = max(most, float(share.max(initial=0.0)))
    return [
        agrees("mu as a weighted mean, points", worst, 1e-6, len(found), of="player"),
        holds(
            "w_k is at most pi^2/6 times 1/beta_k^2",
            f"{math.pi**2 / 6:.3f}",
            f"at most {most:.3f}",
            outside == 0,
        ),
    ]


def expected_rank(facts: Facts) -> list[Line]:
    """Return a line on section 3.1: at a performance, expected and observed rank are equal.

    Weighted by 1/delta: sum (1 - F_j)/delta_j is the same for the expectation and, a tie of i with
    itself and others counting as both a win and a loss, for the observation.
    """
    rng, worst = np.random.default_rng(facts.seed + 3), 0.0
    cases = max(facts.cases // 4, 5)
    for _ in range(cases):
        ratings, deviations, ranks = random_field(rng)
        found = rate_once(system(), ratings, deviations, ranks)["performance"]
        bar = BAR * np.sqrt(deviations**2 + GAMMA**2 + BETA**2)
        for i, p in enumerate(found):
            above = 1 / (1 + np.exp((p - ratings) / bar))
            tied = ranks == ranks[i]
            expected = math.fsum((1 - above)[ranks <= ranks[i]] / bar[ranks <= ranks[i]])
            observed = math.fsum(above[ranks >= ranks[i]] / bar[ranks >= ranks[i]])
            worst = largest(worst, abs(expected - observed) * float(bar[tied].min()))
    return [agrees("Q_i at our performance", worst, 1e-8, cases, of="contest")]


def densities(facts: Facts) -> tuple[Floats, Floats, Floats]:
    """Return (x, L_2, L_R) of Figure 1."""
    x = np.linspace(-5, 5, 401)
    y = np.abs(np.pi * x / np.sqrt(12))
    return x, x * x / 2, 2 * (y + np.log1p(np.exp(-2 * y)) - np.log(2))
