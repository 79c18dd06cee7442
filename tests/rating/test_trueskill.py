"""Both TrueSkill systems: against the trueskill package, integration, and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from drawing import WITHOUT_JIT
from equipoise.errors import ConvergenceError
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem
from equipoise.rating.systems.trueskill import TrueSkill, TrueSkillSPb
from rating.histories import one_contest, standing
from rating.test_weng_lin import Match
from reference.trueskill_exact import duel

UNIT = 60.0


@pytest.mark.parametrize(("teams", "largest"), [(2, 1), (2, 5), (8, 1), (16, 1), (16, 4), (5, 3)])
def test_the_trueskill_package_gives_the_same_ratings(teams: int, largest: int) -> None:
    """trueskill (BSD) at its defaults, ties and uneven teams included, within 1e-4 of its scale.

    The difference is its stopping after ten passes; ours go on until nothing moves.
    """
    package: Any = pytest.importorskip("trueskill")
    peer = package.TrueSkill(mu=25, sigma=25 / 3, beta=25 / 6, tau=25 / 300, draw_probability=0.1)
    system = TrueSkill(
        initial_rating=25 * UNIT,
        initial_deviation=25 / 3 * UNIT,
        beta=25 / 6 * UNIT,
        drift=25 / 300 * UNIT,
    )
    for seed in range(15):
        match = Match(np.random.default_rng(seed), teams, largest, 400.0)
        state = match.rated(system)
        sides = [
            [package.Rating(mu=m / UNIT, sigma=s / UNIT) for m, s in team] for team in match.teams()
        ]
        rated = peer.rate(sides, ranks=match.ranks.tolist(), min_delta=1e-10)
        players = [player for side in rated for player in side]
        mu, sigma = state.column("rating") / UNIT, state.column("deviation") / UNIT
        np.testing.assert_allclose(mu, [one.mu for one in players], rtol=0, atol=1e-4)
        np.testing.assert_allclose(sigma, [one.sigma for one in players], rtol=0, atol=1e-4)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("mean", [(1500.0, 1500.0), (1300.0, 1800.0), (1800.0, 1300.0)])
def test_a_duel_is_the_exact_posterior(mean: tuple[float, float], tied: bool) -> None:
    """With one factor message passing is exact: moments by integration, good to half a point.

    The grid has a point every 2; what lies between 2 of them at the margin is lost or gained.
    """
    deviation = (200.0, 120.0)
    system = TrueSkill(drift=0.0, draw_probability=0.3)
    state = rated(system, mean, deviation, [0, 0] if tied else [0, 1])
    margin = system.settings().margin
    means, deviations = duel(mean, deviation, 175.0, margin, tied)
    np.testing.assert_allclose(state.column("rating"), means, rtol=0, atol=0.5)
    np.testing.assert_allclose(state.column("deviation"), deviations, rtol=0, atol=0.5)


@pytest.mark.parametrize("mean", [(1500.0, 1500.0), (1300.0, 1800.0), (1800.0, 1300.0)])
def test_places_of_narrow_width_are_a_duel_won(mean: tuple[float, float]) -> None:
    """As eps goes to 0 a team's performance is its place: the exact posterior again.

    For two newcomers with the defaults this is 1500 +- 178, where the authors' program says 126.
    """
    deviation = (200.0, 120.0)
    system = TrueSkillSPb(sigma_drift=0.0, eps=0.01, convergence_eps=1e-9)
    state = rated(system, mean, deviation, [0, 1])
    means, deviations = duel(mean, deviation, 175.0, 0.0, False)
    np.testing.assert_allclose(state.column("rating"), means, rtol=0, atol=0.5)
    np.testing.assert_allclose(state.column("deviation"), deviations, rtol=0, atol=0.5)


def test_a_contest_of_thousands_with_a_large_tie_converges() -> None:
    """4,000 players, 1,500 of them tied for last; a tenth of them as plain Python."""
    count = 400 if WITHOUT_JIT else 4000
    ranks = np.minimum(np.arange(count), 5 * count // 8).tolist()
    rng = np.random.default_rng(1)
    for system in (TrueSkillSPb(eps=0.5), TrueSkill(draw_probability=0.01)):
        state = rated(system, rng.normal(1500, 300, count).tolist(), [150.0] * count, ranks)
        assert np.all(np.isfinite(state.table[:, :2]))
        assert np.all(state.column("deviation") < 160.0)


@pytest.mark.parametrize("apart", [300.0, 3000.0, 30000.0])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_places_that_were_never_in_doubt_change_nobody(count: int, apart: float) -> None:
    """Further apart than any performance reaches, results say nothing: only the drift is left.

    The places then hear nothing of one another: their precision is 0, or what rounding leaves.
    """
    system = TrueSkillSPb(eps=11.5, beta=40.0, sigma_drift=10.0)
    mean, deviation = -apart * np.arange(count), np.full(count, 20.0)
    state = rated(system, mean, deviation, list(range(count)))
    # 300 points are 4.7 deviations of a difference, less the places' width 4.
    tolerance = 0.5 if apart < 1000.0 else 1e-9 * apart
    np.testing.assert_allclose(state.column("rating"), mean, rtol=0, atol=tolerance)
    widened = np.sqrt(20.0**2 + 10.0**2)
    np.testing.assert_allclose(state.column("deviation"), widened, rtol=0, atol=tolerance)


def test_the_trace_without_expected_scores_is_the_same_otherwise() -> None:
    """A backtest asks for what was known before only: no sum over the field is taken."""
    history = Match(np.random.default_rng(3), 8, 1, 400.0).history()
    wanted = ("rating_before", "deviation_before", "rating", "deviation")
    traces = []
    for names in (wanted, (*wanted, "expected")):
        trace = {name: np.full(history.participations, np.nan) for name in names}
        system = TrueSkillSPb()
        system.run(system.initial(history.players), history, 0, 1, trace)
        traces.append(trace)
    for name in wanted:
        np.testing.assert_array_equal(traces[0][name], traces[1][name])
    assert np.isfinite(traces[1]["expected"]).all()


def test_messages_that_do_not_settle_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """No match is known that does this, so the kernel is made to say that one did."""
    monkeypatch.setattr(TrueSkillSPb, "loop", staticmethod(lambda *arguments: (0, 0.25)))
    what = r"messages of trueskill-spb, match 0, did not converge in 2000 .*residual 0.25"
    with pytest.raises(ConvergenceError, match=what):
        rated(TrueSkillSPb(), [1500.0, 1700.0, 1600.0], [100.0] * 3, [0, 1, 2])


def rated(system: RatingSystem, mean: Any, deviation: Any, ranks: list[int]) -> State:
    """Return the state after one match of single players."""
    state = standing(system, rating=mean, deviation=deviation)
    system.run(state, one_contest(ranks), 0, 1)
    return state
