"""Exact results of queueing: Poisson arrivals, a match as soon as possible.

Source: by hand; the proofs of the first rows are short (after a match the remainder modulo n is
uniform), the others are stationary distributions of small Markov chains. With 10^6 tickets standard
errors are about 0.2 %. Fast tests have fewer tickets, and bounds of about five standard errors.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from equipoise.data.matchmaking import MatchOption
from equipoise.matchmaking.compiled import EXPIRED, GAVE_UP, MATCHED, WAITING
from equipoise.matchmaking.measures import mean_waiting
from equipoise.matchmaking.simulation import SimulatedDay
from matchmaking.queues import day, ruleset, steady

MANY = 1e6
pytestmark = pytest.mark.no_kernel


def waits(found: SimulatedDay) -> np.ndarray:
    """Return the waits of all who left the queue."""
    left = found.outcome.status != WAITING
    return (found.outcome.left - found.people.created)[left]


@pytest.mark.parametrize(
    ("size", "interval", "tickets", "within"),
    [
        (1, 0.0, 1e5, 0.02),
        (1, 2.0, 1e5, 0.02),
        pytest.param(1, 0.0, MANY, 0.01, marks=pytest.mark.nightly),
        pytest.param(1, 2.0, MANY, 0.01, marks=pytest.mark.nightly),
        pytest.param(5, 0.0, MANY, 0.01, marks=pytest.mark.nightly),
        pytest.param(3, 4.0, MANY, 0.01, marks=pytest.mark.nightly),
    ],
)
def test_solos_wait_for_the_others_of_a_match(
    size: int, interval: float, tickets: float, within: float
) -> None:
    """Mean (n - 1)/(2l) + D/2, and the variance for D = 0."""
    found, n, rate = day(ruleset(size), steady(1.0, tickets, interval=interval)), 2 * size, 1.0
    wait = waits(found)
    assert wait.mean() == pytest.approx((n - 1) / (2 * rate) + interval / 2, rel=within)
    if interval == 0:
        variance = ((n * n - 1) / 3 - (n - 1) ** 2 / 4) / rate**2
        assert wait.var() == pytest.approx(variance, rel=2.5 * within)


@pytest.mark.slow
def test_quantiles_of_one_against_one() -> None:
    wait = waits(day(ruleset(), steady(1.0, MANY)))
    assert np.quantile(wait, 0.95) == pytest.approx(math.log(10), rel=0.01)
    assert np.quantile(wait, 0.99) == pytest.approx(math.log(50), rel=0.01)
    assert np.mean(wait == 0) == pytest.approx(0.5, abs=0.001)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0), (8.0, 1.0, 1.0)])
def test_classes_that_never_mix_wait_for_their_own(shares: tuple[float, ...]) -> None:
    """k/(2l), whatever the shares."""
    rules = ruleset(match_options=(MatchOption("class", "all"),))
    wait = waits(day(rules, steady(1.0, MANY, classes=shares)))
    assert wait.mean() == pytest.approx(3 / 2, rel=0.01)


@pytest.mark.slow
def test_both_sides_must_be_flexed() -> None:
    """Tolerance 0 until T, then none: T + 1/(2l) + D/2."""
    rules = ruleset(1, 0.0, flexed=[(10, 1e9)])
    wait = waits(day(rules, steady(1.0, MANY, interval=0.5)))
    assert wait.mean() == pytest.approx(10 + 0.5 + 0.25, rel=0.01)


@pytest.mark.parametrize(
    ("tickets", "within"), [(1e5, 0.04), pytest.param(MANY, 0.01, marks=pytest.mark.nightly)]
)
def test_impatient_tickets_give_up(tickets: float, within: float) -> None:
    """Mean over all 1/(2l + h), share that gives up h/(2l + h)."""
    model = steady(1.0, tickets, patience="exponential", patience_mean=5.0)
    found = day(ruleset(), model)
    assert waits(found).mean() == pytest.approx(1 / 2.2, rel=within)
    assert np.mean(found.outcome.status == GAVE_UP) == pytest.approx(0.2 / 2.2, rel=within)


@pytest.mark.slow
def test_tickets_expire() -> None:
    """Mean over all ((1 - e)/l)/(2 - e), expired e/(2 - e)."""
    found, e = day(ruleset(), steady(1.0, MANY, expires_after=0.7)), math.exp(-0.7)
    assert waits(found).mean() == pytest.approx((1 - e) / (2 - e), rel=0.01)
    assert np.mean(found.outcome.status == EXPIRED) == pytest.approx(e / (2 - e), rel=0.01)


@pytest.mark.slow
def test_two_roles_with_impatience() -> None:
    """The birth-and-death chain of extra tanks and healers, rates 1 and 0.7, impatience 0.2."""
    a, b, h = 1.0, 0.7, 0.2

    def tail(up: float, down: float) -> np.ndarray:
        steps = np.arange(1, 400)
        return np.cumprod(up / (down + steps * h))

    tanks, healers = tail(a, b), tail(b, a)
    empty = 1 / (1 + tanks.sum() + healers.sum())
    steps = np.arange(1, 400)
    waiting = [empty * float((steps * part).sum()) for part in (tanks, healers)]
    rules = ruleset(match_options=(MatchOption("class", "unique"),))
    model = steady(a + b, 1.7e6, classes=(a, b), patience="exponential", patience_mean=1 / h)
    # Queues of a role last, so waits depend on each other: four days instead of one.
    found = [day(rules, model, seed) for seed in range(4)]
    wait = np.concatenate([one.outcome.left - one.people.created for one in found])
    status = np.concatenate([one.outcome.status for one in found])
    groups = np.concatenate([one.people.group for one in found])
    for group, rate in enumerate((a, b)):
        chosen = (groups == group) & (status != WAITING)
        assert wait[chosen].mean() == pytest.approx(waiting[group] / rate, rel=0.01)
        gave_up = status[chosen] == GAVE_UP
        assert gave_up.mean() == pytest.approx(h * waiting[group] / rate, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solos", "duos", "waits_of"),
    [
        (1.0, 1.0, (7 / 8, 5 / 16)),
        (2.0, 1.0, (19 / 36, 2 / 9)),
        (1.0, 2.0, (13 / 18, 7 / 36)),
        (4.0, 1.0, (61 / 200, 7 / 50)),
    ],
)
def test_two_against_two_with_solos_and_duos(
    solos: float, duos: float, waits_of: tuple[float, float]
) -> None:
    """Six states: 0 to 3 solos; 0 or 1 solo with a duo."""
    model = steady(solos + duos, 2 * MANY, party_sizes=(solos, duos))
    found = day(ruleset(2), model)
    wait = found.outcome.left - found.people.created
    for size, expected in enumerate(waits_of, start=1):
        chosen = (found.people.size == size) & (found.outcome.status == MATCHED)
        assert wait[chosen].mean() == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("variation", [0.0, 1.5])
def test_matches_that_run_are_their_rate_times_their_length(variation: float) -> None:
    """Whatever the distribution of the length; with 5 * 10^5 matches of 1500 s in 10^6 s."""
    found = day(ruleset(), steady(1.0, MANY, match_variation=variation))
    start = found.outcome.time
    stop = np.minimum(start + found.people.length[found.outcome.pivot], found.end)
    rate = len(start) / found.end
    # The day begins without matches: those that began before it are missing.
    assert np.sum(stop - start) / found.end == pytest.approx(rate * 1500, rel=0.01)


def test_books_balance() -> None:
    """Little's law over the day with exact areas; everybody is counted once."""
    rules = ruleset(1, 30.0, flexed=[(30, 100.0)])
    model = steady(0.3, 2e4, interval=1.0, patience="weibull", patience_mean=60, expires_after=90)
    found = day(rules, model)
    status = found.outcome.status
    left = np.where(status == WAITING, found.end, found.outcome.left)
    rate = len(status) / found.end
    assert (left >= found.people.created).all()
    assert mean_waiting(found) == pytest.approx(
        rate * (left - found.people.created).mean(), rel=1e-9
    )
    counts = [np.sum(status == one) for one in (MATCHED, GAVE_UP, EXPIRED, WAITING)]
    assert sum(counts) == len(status)
    assert all(counts[:3])
    assert counts[0] == 2 * len(found.outcome.time)
